// Package resolve turns a file schema and the table's schema into a column plan. It imports no parent.
package resolve

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
)

// Names is a table's name mapping, shared by its tasks; nil = none.
type Names struct{ _ int }

// Input of one file.
type Input struct {
	Want      *arrow.Schema
	Names     *Names
	Constants map[int]expr.Literal
	Defaults  map[int]expr.Literal
}

// Columns applies iceberg.md 11.
func Columns(f *parquet.Footer, in Input) ([]parquet.Column, error) { panic(0) }
