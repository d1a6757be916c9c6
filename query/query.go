// Package query is SQL over the scan: the engine's interface, the statement's gate, explain. Engines live in sub-packages.
package query

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/source"
)

// ErrNoEngine answers a query in a build without an SQL engine.
var ErrNoEngine = errors.New("query: this build has no SQL engine")

// Engine runs SQL. One per client; safe for concurrent use; Close joins.
type Engine interface {
	Name() string                                                          // "duckdb 1.5.6"
	Prepare(ctx context.Context, st Statement, t Tables) (Prepared, error) // metadata only, no data file is opened
	Close() error
}

// Statement is one SELECT.
type Statement struct {
	SQL     string
	Params  map[string]any
	Version iceberg.Version
	Order   source.Order
	Memory  int64
}

// Tables is implemented by the facade; it caches per statement, so that one statement sees one snapshot.
type Tables interface {
	Load(ctx context.Context, name []string, v iceberg.Version) (Table, error) // name: parts as written, or one part that is a path
}

// Table is one table at one snapshot.
type Table interface {
	Schema() *arrow.Schema
	Rows() int64 // estimate; -1 = unknown
	Open(ctx context.Context, n Need) (*source.Reader, error)
	Count(ctx context.Context) (rows int64, exact bool, err error) // from metadata alone; answers RowsOnly
}

// Need is what one table reference asks.
type Need struct {
	Columns              []string
	Filter               expr.Expr // unbound; a hint: the engine filters again
	Limit                int64
	RowsOnly, StopsEarly bool
}

// Prepared is a planned statement.
type Prepared interface {
	Schema() *arrow.Schema
	Needs() []Need
	PlanText() string
	Run(ctx context.Context) (*Result, error)
	Close() error
}

// Result streams rows; a batch is lent until the next step.
type Result struct{ _ int }

func (*Result) Schema() *arrow.Schema                    { panic("query") }
func (*Result) All() iter.Seq2[arrow.RecordBatch, error] { panic("query") }
func (*Result) RecordReader() array.RecordReader         { panic("query") }
func (*Result) Close() error                             { panic("query") }
