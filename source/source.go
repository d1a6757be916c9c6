// Package source is the hub: Task in, Batch out. It owns the window of reader futures, order, deletes and teardown.
// Contexts: Open's ctx bounds the scan; a ctx given to a method bounds that call. Close needs none and always joins.
// Arrow: a Batch is lent until the next step of the same iterator or reader; Retain what is kept, Release what was retained.
package source

import (
	"context"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source/deletes"
	"github.com/lakescan/lakescan/source/resolve"
	"iter"
	"log/slog"
)

// Task is one data file with all that is known before it is opened. Immutable; maps and pointers are shared.
type Task struct {
	Ordinal      int
	File         object.Info
	Rows         int64
	ColumnBytes  int64 // compressed bytes of the projected columns, 0 = unknown
	DataSequence int64
	FirstRowID   int64 // -1 = none
	SpecID       int
	Partition    map[int]expr.Literal // by partition field id
	Constants    map[int]expr.Literal // by field id, identity fields only
	Names        *resolve.Names
	Filter       expr.Expr // the file's residual, bound; nil = no row filter. The only row filter there is
	Select       parquet.RowSelection
	Deletes      deletes.Set
}

// Origin places a batch: file ordinal, row group, and the file position of each row (First for a dense batch).
type Origin struct {
	Ordinal, RowGroup int
	First             int64
	Positions         []int64 // nil = First, First+1, …
}

// Batch is lent. Deleted has a set bit per deleted row, only when Config.KeepDeleted is set; nil = none deleted.
type Batch struct {
	Record  arrow.RecordBatch
	Origin  Origin
	Deleted []byte
}

// Order of the output: 0 file order, 1 arrival. Depth: 0 auto, n, -1 off (the text forms are auto, n, 0).
// Event and Stats feed --stats, metrics and traces.
type (
	Order uint8
	Depth int
	Event struct{ Name string }
	Stats struct{ Files, Rows, Requests, Bytes int64 }
)

// Config of one scan. The output has the fields of Schema; filter and key columns are added inside and left out again.
type Config struct {
	Store       object.Store
	Lane        *prefetchpool.Lane // nil = depth 0; Reader.Close closes it
	Budget      *memory.Budget     // nil = unlimited, uncounted
	Schema      *arrow.Schema
	Defaults    map[int]expr.Literal // initial defaults by field id
	Depth       Depth                // max-files-to-prefetch
	StopsEarly  bool                 // LIMIT or a consumer that may stop: start at depth 1
	Limit       int64                // 0 = none
	BatchRows   int
	BatchBytes  int64
	Streams     int
	Order       Order
	KeepDeleted bool
	Allocator   arrowmem.Allocator // wrapped by source to charge Decoded until the last Release
	Logger      *slog.Logger
	OnEvent     func(Event)
	OnClose     func() // called once, when Close has joined everything
	NoPrune     bool   // read row groups and pages that statistics rule out; rows do not depend on it
	FooterTail  int64  // bytes of the first read of a large file; 0 = auto
}

// Open starts nothing at depth 0. Otherwise one goroutine of the scan, the claimer, ranges over tasks (which may wait for a
// manifest, so never under the window's lock) and fills the window. Breaking the range ends planning.
func Open(ctx context.Context, tasks iter.Seq2[Task, error], cfg Config) (*Reader, error) { panic(0) }

// Reader yields the scan once, by one of All, Next, RecordReader or Feed.
type Reader struct{ _ int }

// All ends after the first error.
func (*Reader) All() iter.Seq2[Batch, error] { panic(0) }

// Next returns io.EOF at the end; the batch is lent until the next call. One caller at a time, from any
// thread at depth > 0; at depth 0 it pulls the task iterator, and must stay off locked threads (iter.Pull, C callbacks).
func (*Reader) Next(ctx context.Context) (Batch, error) { panic(0) }

// RecordReader lends like Next; its last Release closes the scan.
func (*Reader) RecordReader() array.RecordReader { panic(0) }

func (*Reader) Schema() *arrow.Schema { return nil }
func (*Reader) Stats() Stats          { return Stats{} } // at any time

// Close cancels and joins the scan's own work, planning included; idempotent, from any state.
func (*Reader) Close() error { return nil }

// List is a task stream over plain Parquet files.
func List(files []object.Info, filter expr.Expr) iter.Seq2[Task, error] { panic(0) }

// NewFetcher adapts a lane and a store for iceberg and index; source fetches delete files through it too. Lane nil = inline.
func NewFetcher(l *prefetchpool.Lane, s object.Store) object.Fetcher { panic(0) }

// Sink takes one pass of a scan. Finish seals and publishes nothing; Abort is idempotent, waits, leaves no file.
type Sink interface {
	Part(stream int) (Part, error)
	Finish(ctx context.Context) error
	Abort()
}

// Part belongs to one goroutine: whole files, rows in file position order.
type Part interface {
	Write(ctx context.Context, b Batch) error // b is lent
	Wake() <-chan struct{}                    // a spill is asked for; nil = never spills
	Relieve(ctx context.Context) error        // honour it; called between batches and when Wake fires
	Close(ctx context.Context) error
}

// Feed drives every sink in one pass, a goroutine a stream (Streams 1 = the order of All); the first error aborts all.
func Feed(ctx context.Context, r *Reader, sinks ...Sink) error { panic(0) }

// Orders.
const (
	FileOrder    Order = 0
	ArrivalOrder Order = 1
)

// Depths; n > 0 is a fixed number of files.
const (
	Auto Depth = 0
	Off  Depth = -1
)
