package source

import (
	"iter"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source/resolve"
)

// List is a task stream over plain Parquet files, in the given order. filter is bound to the scan's schema; nil = none. Columns
// are found by field id where schema and file have one, else by name.
func List(files []object.Info, filter expr.Expr) iter.Seq2[Task, error] {
	names := resolve.PlainNames()
	return func(yield func(Task, error) bool) {
		for i, f := range files {
			if !yield(Task{Ordinal: i, File: f, FirstRowID: -1, Filter: filter, Names: names}, nil) {
				return
			}
		}
	}
}
