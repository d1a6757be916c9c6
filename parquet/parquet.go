// Package parquet turns Parquet bytes into Arrow. It does no I/O and starts no goroutine; it imports expr and memory only.
// Fetching, scheduling and joining are source's.
package parquet

import (
	"context"
	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// RowSelection is the name used outside.
type RowSelection = rowsel.Selection

// Options: arrays come from Allocator (source gives one that charges the budget until the last Release); scratch is
// reserved on Decoded before it is allocated.
type Options struct {
	Allocator arrowmem.Allocator
	Decoded   *memory.Elastic
	UnitBytes int64
}

// Column is one wanted output field and where its values come from; source/resolve makes the tree.
//
//   - Path names a node of the file's schema, from the root: values are read from it and converted to Output.Type.
//   - Path nil: every value is Const (a nil Const, or one with a nil Value, gives typed nulls), at any depth; a child of an
//     absent parent row is null all the same.
//   - Children follow Output.Type's children (struct fields; the element of a list; key and value of a map), only for nested types.
//   - Position true: the row's absolute position in the file (int64), computed before rows are dropped; used for _pos and _row_id.
type Column struct {
	Output   arrow.Field
	Path     []string
	Const    *expr.Literal
	Position bool
	Children []Column
}

// Bind makes a Reader for the wanted columns. filter is bound (field ids of the columns' Output, nested leaves included) and
// only chooses Part 0 and prunes; evaluating it on rows is the caller's. Filter columns must be among cols.
func (*Footer) Bind(cols []Column, filter expr.Expr, o Options) (*Reader, error) { panic(0) }

// Reader is immutable and shared by workers.
type Reader struct{ _ int }

// Part names the waves of a row group: 0 filter columns, 1 the rest, 2 page index, 3 Bloom filters.
type Part uint8

// Need is one column chunk that a Range serves.
type Need struct{ RowGroup, Column int }

// Range to fetch; Need lets source decode a column as soon as its bytes land.
type Range struct {
	Off, Len int64
	Need     []Need
}

// Cost of the link, measured by source.
type Cost struct{ GapBytes, MaxBytes int64 }

// Bytes gives fetched ranges; a miss is an error, never I/O. The slice is valid until the unit is closed.
type Bytes interface {
	Slice(off, n int64) ([]byte, error)
}

// Prune uses the evidence at hand (ev may be nil: the footer alone).
func (*Reader) Prune(rg int, ev Bytes) (expr.Verdict, rowsel.Selection) { panic(0) }

// Ranges plans one wave.
func (*Reader) Ranges(rg int, p Part, sel rowsel.Selection, c Cost) []Range { panic(0) }

// Open prepares a row group; Units cuts it into windows of at most UnitBytes.
func (*Reader) Open(rg int, sel rowsel.Selection) ([]*Unit, error) { panic(0) }

// Unit is one window of rows. Decode calls for different columns may run at once; Next follows when all are done.
type Unit struct{ _ int }

func (*Unit) Columns(p Part) []int { return nil }

// Decode is the work item (unit, column); ctx is checked per page.
func (*Unit) Decode(ctx context.Context, col int, b Bytes) error { panic(0) }

// Narrow applies the late filter before the rest is decoded.
func (*Unit) Narrow(sel rowsel.Selection) {}

// Next returns io.EOF at the end. The caller owns the batch and releases it.
func (*Unit) Next(rows int) (arrow.RecordBatch, error) { panic(0) }

// Close frees scratch, not the batches handed out.
func (*Unit) Close() {}
