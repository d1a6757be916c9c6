//go:build duckdb_arrow && cgo

package duckdb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// reference is one table reference of a statement, behind one view.
type reference struct {
	query.Reference
	key      string // argument of lakescan(key)
	view     string // name of the view, quoted and qualified
	syntax   plan.TableRef
	columns  []column // columns[0] is the hidden one
	once     []int    // columns that the only scan of the plan reads; nil = the plan has several, or none, or is not known
	hasTypes bool
	utc      bool // the session's zone is UTC
}

// column is one result column of lakescan(key). The hidden column stands first since DuckDB asks for column 0 when it needs
// no value but only the number of rows.
type column struct {
	name    string // in DuckDB; differs from the field's for names that are equal but for case
	field   arrow.Field
	logical bindings.LogicalType
	how     copyKind
	width   int   // bytes a value, for copyFixed and copyDecimal
	refusal error // of copyRefused
}

const hiddenName = "__n"

// makeColumns names the columns. DuckDB folds case, so "id" and "ID" cannot both have their own name; each then gets its
// place in the schema as a suffix, and neither answers to the common name: a wrong column is worse than an error. A name that
// SQL cannot write is replaced.
func (r *reference) makeColumns() {
	fields := r.Table.Schema().Fields()
	names := make([]string, len(fields))
	count := map[string]int{}
	for i, f := range fields {
		names[i] = writable(f.Name, i)
		count[strings.ToLower(names[i])]++
	}
	free := func(name string) string {
		for count[strings.ToLower(name)] > 0 {
			name += "_"
		}
		count[strings.ToLower(name)]++
		return name
	}
	r.columns = append(r.columns[:0], column{name: free(hiddenName)})
	for i, f := range fields {
		name := names[i]
		if count[strings.ToLower(name)] > 1 {
			name = free(fmt.Sprintf("%s_%d", name, i+1))
		}
		r.columns = append(r.columns, column{name: name, field: f})
	}
}

// writable is a column's name as an identifier: not empty, UTF-8, without zero bytes.
func writable(name string, i int) string {
	if name == "" {
		return fmt.Sprintf("column_%d", i+1)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), "\x00", "\u2400")
}

// viewSQL shows all columns but the hidden one.
func (r *reference) viewSQL() string {
	names := make([]string, 0, len(r.columns))
	for _, c := range r.columns[1:] {
		names = append(names, query.QuoteIdent(c.name))
	}
	return fmt.Sprintf("CREATE VIEW %s AS SELECT %s FROM %s(%s)", r.view, strings.Join(names, ", "), functionName, query.QuoteString(r.key))
}

// makeTypes finds DuckDB's type of every column. A column whose type DuckDB cannot hold looks like text, and is refused when
// a statement reads it: the others stay usable.
func (r *reference) makeTypes(in *instance) error {
	if r.hasTypes {
		return nil
	}
	for i := range r.columns {
		c := &r.columns[i]
		switch own := ownType(c.field); {
		case i == 0:
			c.logical = bindings.CreateLogicalType(bindings.TypeTinyInt)
		case own != bindings.TypeInvalid:
			c.logical = bindings.CreateLogicalType(own)
			c.how, c.width = howToCopy(c.field, own)
		default:
			logical, err := logicalType(in, exported(c.field))
			if err == nil && !r.utc && hasInstantNS(c.field.Type) {
				bindings.DestroyLogicalType(&logical)
				err = errors.New("its nanoseconds are shown as UTC without a zone, and the session's zone is another one; use UTC")
			}
			if err != nil {
				c.how, c.refusal = copyRefused, err
				logical = bindings.CreateLogicalType(bindings.TypeVarchar)
			} else {
				c.how, c.width = howToCopy(c.field, bindings.GetTypeId(logical))
			}
			c.logical = logical
		}
	}
	r.hasTypes = true
	return nil
}

// logicalType is DuckDB's type for an Arrow field, found by converting an empty batch, which is the only way of the C API.
func logicalType(in *instance, f arrow.Field) (t bindings.LogicalType, err error) {
	defer recovered(&err) // Arrow's builders panic on types that they do not know
	schema := arrow.NewSchema([]arrow.Field{f}, nil)
	conv, ed := bindings.SchemaFromArrow(in.conn, schema)
	defer bindings.DestroyArrowConvertedSchema(&conv)
	if err := taken(ed); err != nil {
		return t, err
	}
	b := array.NewBuilder(arrowmem.DefaultAllocator, f.Type)
	defer b.Release()
	empty := b.NewArray()
	defer empty.Release()
	rec := array.NewRecordBatch(schema, []arrow.Array{empty}, 0)
	defer rec.Release()
	chunk, ed := bindings.DataChunkFromArrow(in.conn, rec, conv)
	defer bindings.DestroyDataChunk(&chunk)
	if err := taken(ed); err != nil {
		return t, err
	}
	return bindings.VectorGetColumnType(bindings.DataChunkGetVector(chunk, 0)), nil
}

// refuse is the error for reading column c, nil if it can be read.
func (r *reference) refuse(c column) error {
	if c.how != copyRefused {
		return nil
	}
	return &query.Error{
		Class: query.ClassUnsupported, Err: c.refusal,
		Msg: fmt.Sprintf("column %s of %s has the type %s, which SQL cannot hold here", c.name, strings.Join(r.Name, "."), c.field.Type),
	}
}

func (r *reference) close() {
	for i := range r.columns {
		bindings.DestroyLogicalType(&r.columns[i].logical)
	}
}
