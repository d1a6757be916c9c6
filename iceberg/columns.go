package iceberg

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/source/resolve"
)

// Names of the metadata columns. A table's own column of the same name goes before them.
const (
	ColumnFile        = "_file"      // the data file's location, as recorded
	ColumnPosition    = "_pos"       // the row's position in its file
	ColumnSpecID      = "_spec_id"   // partition spec of the file
	ColumnPartition   = "_partition" // its partition, as a struct of the fields of all specs
	ColumnRowID       = "_row_id"    // row lineage; null before format version 3
	ColumnLastUpdated = "_last_updated_sequence_number"
)

// metadataColumns are the reserved fields as Arrow's.
func metadataColumns(m *meta.Metadata, s *meta.Schema) []arrow.Field {
	column := func(id int, name string, t arrow.DataType, nullable bool) arrow.Field {
		return expr.WithFieldID(arrow.Field{Name: name, Type: t, Nullable: nullable}, id)
	}
	return []arrow.Field{
		column(resolve.FileID, ColumnFile, arrow.BinaryTypes.String, false),
		column(resolve.PositionID, ColumnPosition, arrow.PrimitiveTypes.Int64, false),
		column(resolve.SpecIDID, ColumnSpecID, arrow.PrimitiveTypes.Int32, false),
		column(resolve.PartitionID, ColumnPartition, PartitionStruct(m, s), false),
		column(resolve.RowIDID, ColumnRowID, arrow.PrimitiveTypes.Int64, true),
		column(resolve.LastSeqID, ColumnLastUpdated, arrow.PrimitiveTypes.Int64, true),
	}
}

// PartitionStruct is the union of the partition fields of all specs, by id: the type of ColumnPartition.
func PartitionStruct(m *meta.Metadata, s *meta.Schema) *arrow.StructType {
	return manifest.PartitionStruct(m, s)
}

// columns is what a scan reads, resolved.
type columns struct {
	output *arrow.Schema // as selected
	bind   *arrow.Schema // all columns and the metadata columns, for the filter
	leaves []int         // ids of the table's leaves that the output needs
}

// selectColumns resolves the names of a select list; none = all columns. A name is a column, or a path into structs written
// with dots; a selected field of a struct gives the struct with that field alone, and several fields of one struct give one
// column.
func selectColumns(m *meta.Metadata, s *meta.Schema, names []string, caseSensitive bool) (*columns, error) {
	all := s.Arrow().Fields()
	for _, f := range metadataColumns(m, s) {
		if !slices.ContainsFunc(all, func(a arrow.Field) bool { return a.Name == f.Name }) {
			all = append(all, f)
		}
	}
	c := &columns{bind: arrow.NewSchema(all, nil)}
	if names == nil {
		for _, f := range s.Fields {
			if err := f.Refusal(); err != nil {
				return nil, err
			}
			c.leaves = f.Leaves(c.leaves)
		}
		c.output = s.Arrow()
		return c, nil
	}
	want, tops := map[int]bool{}, []int(nil)
	for _, name := range names {
		col, err := resolveName(name, c.bind, caseSensitive)
		if err != nil {
			return nil, err
		}
		want[col.ID] = true
		top := topLevel(c.bind, col.Path[0])
		if !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	var out []arrow.Field
	for _, id := range tops {
		f, isTable := s.Field(id)
		if !isTable {
			i := slices.IndexFunc(all, func(a arrow.Field) bool { got, _ := expr.FieldID(a); return got == id })
			out = append(out, all[i])
			continue
		}
		f, _ = f.Prune(func(id int) bool { return want[id] })
		if err := f.Refusal(); err != nil {
			return nil, err
		}
		c.leaves = f.Leaves(c.leaves)
		out = append(out, f.Arrow())
	}
	c.output = arrow.NewSchema(out, nil)
	return c, nil
}

func topLevel(s *arrow.Schema, name string) int {
	id, _ := expr.FieldID(s.Field(s.FieldIndices(name)[0]))
	return id
}

// resolveName finds a column by its whole name, else by the path that its dots make, or its quotes: the rule of filters, case included.
func resolveName(name string, s *arrow.Schema, caseSensitive bool) (expr.Column, error) {
	o := expr.BindOptions{CaseSensitive: caseSensitive}
	col, _, err := expr.ResolveColumn(expr.Col(name), s, o)
	if err == nil || ambiguous(err) {
		return col, selectError(err)
	}
	if strings.Contains(name, `"`) {
		if quoted, perr := expr.ParseColumn(name); perr == nil {
			col, _, err = expr.ResolveColumn(quoted, s, o)
			return col, selectError(err)
		}
	}
	if !strings.Contains(name, ".") {
		return col, selectError(err)
	}
	for _, path := range splits(name) {
		col, _, perr := expr.ResolveColumn(expr.Col(path...), s, o)
		if perr == nil || ambiguous(perr) {
			return col, selectError(perr)
		}
	}
	return col, selectError(err)
}

// splits are the paths that a name with dots may mean, those with the longest first parts first: a dot may belong to a name.
func splits(name string) [][]string {
	if strings.Count(name, ".") > 8 {
		return [][]string{strings.Split(name, ".")}
	}
	var out [][]string
	for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
		head, rest := name[:i], name[i+1:]
		out = append(out, []string{head, rest})
		for _, more := range splits(rest) {
			out = append(out, append([]string{head}, more...))
		}
	}
	return out
}

func ambiguous(err error) bool {
	b, ok := errors.AsType[*expr.BindError](err)
	return ok && len(b.Candidates) > 0
}

// selectError says that the name stood in the select list.
func selectError(err error) error {
	b, ok := errors.AsType[*expr.BindError](err)
	if !ok {
		return err
	}
	return &SelectError{b}
}

// SelectError is a name of the select list that fits no column, or several.
type SelectError struct{ *expr.BindError }

func (e *SelectError) Error() string {
	return "select" + strings.TrimPrefix(e.BindError.Error(), "filter")
}

// Unwrap makes it an expr.ErrBind.
func (e *SelectError) Unwrap() error { return e.BindError }

// bindFilter binds a filter, and refuses one on a column whose values have no order or equality of ours. The columns are
// judged as written: binding may fold a column away.
func (c *columns) bindFilter(e expr.Expr, s *meta.Schema, o expr.BindOptions) (expr.Expr, error) {
	for _, col := range expr.Columns(e) {
		if col, _, err := expr.ResolveColumn(col, c.bind, o); err == nil {
			if err := filterable(col.ID, s); err != nil {
				return nil, err
			}
		}
	}
	return expr.Bind(e, c.bind, o)
}

func filterable(id int, s *meta.Schema) error {
	f, ok := s.Field(id)
	if !ok {
		return nil
	}
	if f.Type.Kind == meta.Variant || f.Type.Kind == meta.Geometry {
		return &meta.UnsupportedError{Ability: "a filter on a " + f.Type.String() + " column", Where: "column " + f.Name}
	}
	return f.Refusal()
}

// defaults are the initial defaults of every field that the table ever had: filters and delete keys reach beyond the output.
// One that cannot be read matters only if its column is read.
func defaults(m *meta.Metadata, s *meta.Schema, read []int) (map[int]expr.Literal, error) {
	out := map[int]expr.Literal{}
	var add func(fields []meta.Field, current bool) error
	add = func(fields []meta.Field, current bool) error {
		for _, f := range fields {
			if _, done := out[f.ID]; !done {
				lit, ok, err := f.Default()
				if err != nil && current && slices.ContainsFunc(f.Leaves(nil), func(id int) bool { return slices.Contains(read, id) }) {
					return fmt.Errorf("iceberg: %w", err)
				}
				if ok {
					out[f.ID] = lit
				}
			}
			if err := add(f.Type.Fields, current); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(s.Fields, true); err != nil {
		return nil, err
	}
	for _, old := range slices.Backward(m.Schemas) {
		if err := add(old.Fields, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}
