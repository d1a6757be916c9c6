//go:build duckdb_arrow && cgo

package duckdb

import (
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
	hasTypes bool
}

// column is one result column of lakescan(key). The hidden column stands first since DuckDB asks for column 0 when it needs
// no value but only the number of rows.
type column struct {
	name    string // in DuckDB; differs from the field's for names that are equal but for case
	field   arrow.Field
	logical bindings.LogicalType
	how     copyKind
	width   int // bytes a value, for copyFixed
}

const hiddenName = "__n"

// makeColumns names the columns. DuckDB folds case, so "id" and "ID" cannot both have their own name; each then gets its
// place in the schema as a suffix, and neither answers to the common name: a wrong column is worse than an error.
func (r *reference) makeColumns() {
	fields := r.Table.Schema().Fields()
	count := map[string]int{}
	for _, f := range fields {
		count[strings.ToLower(f.Name)]++
	}
	taken := func(name string) bool { return count[strings.ToLower(name)] > 0 }
	hidden := hiddenName
	for taken(hidden) {
		hidden += "_"
	}
	r.columns = append(r.columns[:0], column{name: hidden})
	for i, f := range fields {
		name := f.Name
		if count[strings.ToLower(name)] > 1 {
			name = fmt.Sprintf("%s_%d", f.Name, i+1)
			for taken(name) {
				name += "_"
			}
		}
		r.columns = append(r.columns, column{name: name, field: f})
	}
}

// viewSQL shows all columns but the hidden one.
func (r *reference) viewSQL() string {
	names := make([]string, 0, len(r.columns))
	for _, c := range r.columns[1:] {
		names = append(names, query.QuoteIdent(c.name))
	}
	return fmt.Sprintf("CREATE VIEW %s AS SELECT %s FROM %s(%s)", r.view, strings.Join(names, ", "), functionName, query.QuoteString(r.key))
}

// makeTypes finds DuckDB's type of every column by converting an empty batch, which is the only way that the C API has.
func (r *reference) makeTypes(in *instance) error {
	if r.hasTypes {
		return nil
	}
	fields := make([]arrow.Field, len(r.columns))
	fields[0] = arrow.Field{Name: r.columns[0].name, Type: arrow.PrimitiveTypes.Int8}
	for i, c := range r.columns[1:] {
		fields[i+1] = exported(c.field)
	}
	schema := arrow.NewSchema(fields, nil)
	conv, ed := bindings.SchemaFromArrow(in.conn, schema)
	if err := taken(ed); err != nil {
		return r.typeError(err)
	}
	defer bindings.DestroyArrowConvertedSchema(&conv)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
	defer b.Release()
	empty := b.NewRecordBatch()
	defer empty.Release()
	chunk, ed := bindings.DataChunkFromArrow(in.conn, empty, conv)
	if err := taken(ed); err != nil {
		return r.typeError(err)
	}
	defer bindings.DestroyDataChunk(&chunk)
	for i := range r.columns {
		c := &r.columns[i]
		c.logical = bindings.VectorGetColumnType(bindings.DataChunkGetVector(chunk, bindings.IdxT(i)))
		if i > 0 {
			c.how, c.width = howToCopy(c.field, bindings.GetTypeId(c.logical))
		}
		if c.how == copyUUID {
			bindings.DestroyLogicalType(&c.logical)
			c.logical = bindings.CreateLogicalType(bindings.TypeUUID)
		}
	}
	r.hasTypes = true
	return nil
}

func (r *reference) typeError(err error) error {
	return &query.Error{Class: query.ClassUnsupported, Msg: fmt.Sprintf("table %s has a type that the engine does not know", strings.Join(r.Name, ".")), Err: err}
}

func (r *reference) close() {
	for i := range r.columns {
		bindings.DestroyLogicalType(&r.columns[i].logical)
	}
}
