package source

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/source/resolve"
)

// wanted is what is decoded of a file: the output, then what the filter and the delete keys need besides.
type wanted struct {
	schema *arrow.Schema
	output int   // the first fields are the output's
	keys   []int // columns of the delete keys, in their order
}

// want adds to the output the fields that filter reads and the key fields of deletes. all is the schema that filters are
// bound to.
func want(output, all *arrow.Schema, filter expr.Expr, keys []arrow.Field) (wanted, error) {
	w := wanted{output: output.NumFields()}
	if filter == nil && len(keys) == 0 {
		w.schema = output
		return w, nil
	}
	fields := output.Fields()
	fields = fields[:len(fields):len(fields)]
	if filter != nil {
		for _, c := range expr.Columns(filter) {
			if reaches(fields, c.ID) {
				continue
			}
			f, err := fieldOf(c, all)
			if err != nil {
				return w, err
			}
			fields = append(fields, f)
		}
	}
	for _, k := range keys {
		at := -1
		for i, f := range fields {
			if sameField(f, k) {
				at = i
				break
			}
		}
		if at < 0 {
			at = len(fields)
			fields = append(fields, k)
		}
		w.keys = append(w.keys, at)
	}
	w.schema = output
	if len(fields) > w.output {
		w.schema = arrow.NewSchema(fields, nil)
	}
	return w, nil
}

// sameField reports that a decoded column can stand for a key.
func sameField(f, key arrow.Field) bool {
	a, ok := expr.FieldID(f)
	b, _ := expr.FieldID(key)
	return ok && a == b && arrow.TypeEqual(f.Type, key.Type, arrow.CheckMetadata())
}

// reaches reports whether the leaf with the id lies in one of the fields, under structs alone: elements of lists and maps
// have no value of their own in a row.
func reaches(fields []arrow.Field, id int) bool {
	for _, f := range fields {
		if _, ok := path(f, id); ok {
			return true
		}
	}
	return false
}

// path finds a leaf and returns the field cut down to what leads to it.
func path(f arrow.Field, id int) (arrow.Field, bool) {
	if got, ok := expr.FieldID(f); ok && got == id {
		return f, true
	}
	st, ok := f.Type.(*arrow.StructType)
	if !ok {
		return f, false
	}
	for _, child := range st.Fields() {
		if cut, ok := path(child, id); ok {
			f.Type = arrow.StructOf(cut)
			return f, true
		}
	}
	return f, false
}

// fieldOf makes the field that a filter's column is read from.
func fieldOf(c expr.Column, all *arrow.Schema) (arrow.Field, error) {
	if all != nil {
		for _, f := range all.Fields() {
			if cut, ok := path(f, c.ID); ok {
				return cut, nil
			}
		}
	}
	if len(c.Path) != 1 || c.Type == nil {
		return arrow.Field{}, fmt.Errorf("source: filter column %v (id %d) is not in the schema", c.Path, c.ID)
	}
	return expr.WithFieldID(arrow.Field{Name: c.Path[0], Type: c.Type, Nullable: true}, c.ID), nil
}

// columns makes the column plan of one file.
func (w *wanted) columns(file *arrow.Schema, t *Task, defaults map[int]expr.Literal) (*resolve.Plan, error) {
	return resolve.New(file, resolve.Input{
		Want: w.schema, Names: t.Names, Constants: t.Constants, Defaults: defaults, File: t.File.Location.Recorded,
		SpecID: t.SpecID, Partition: t.Partition, FirstRowID: t.FirstRowID, DataSequence: t.DataSequence,
	})
}
