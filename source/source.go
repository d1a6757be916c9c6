package source

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source/deletes"
	"github.com/lakescan/lakescan/source/resolve"
)

// Task is one data file with all that is known before it is opened. Immutable; maps and pointers are shared.
type Task struct {
	Ordinal      int
	File         object.Info
	Rows         int64 // recorded row count, 0 or less = unknown
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

// Origin places a batch: file ordinal, row group, and the file position of each row (First for a dense batch). With Config.FilterHint
// the positions mean nothing.
type Origin struct {
	Ordinal, RowGroup int
	First             int64
	Positions         []int64 // nil = First, First+1, …
}

// Batch is lent. Deleted has a set bit per deleted row (least significant bit first), only when Config.KeepDeleted is set; nil
// = none deleted.
type Batch struct {
	Record  arrow.RecordBatch
	Origin  Origin
	Deleted []byte
}

// Order of the output.
type Order uint8

// Orders. Both deliver the same batches; a file's own are always in order and never mixed with another's in one stream.
const (
	FileOrder    Order = iota // task order, the same at every depth
	ArrivalOrder              // whichever file is ready first
)

// String is the text form: file, arrival.
func (o Order) String() string {
	if o == ArrivalOrder {
		return "arrival"
	}
	return "file"
}

// ParseOrder reads the text form.
func ParseOrder(s string) (Order, error) {
	switch s {
	case "file":
		return FileOrder, nil
	case "arrival":
		return ArrivalOrder, nil
	}
	return 0, fmt.Errorf("source: order %q is neither file nor arrival", s)
}

// Depth is max-files-to-prefetch: how many files may be ahead of the one that is consumed.
type Depth int

// Depths; a positive number is itself.
const (
	Auto Depth = 0  // follow the link, the decoder and the consumer
	Off  Depth = -1 // fetch inline on the consumer's goroutine: no pool, no goroutine
)

// String is the text form: auto, 0 for Off, or the number.
func (d Depth) String() string {
	switch {
	case d == Auto:
		return "auto"
	case d < 0:
		return "0"
	}
	return strconv.Itoa(int(d))
}

// ParseDepth reads the text form: auto, or a number from 0 (off).
func ParseDepth(s string) (Depth, error) {
	if s == "auto" {
		return Auto, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxDepth {
		return 0, fmt.Errorf("source: depth %q is neither auto nor a number from 0 to %d", s, maxDepth)
	}
	if n == 0 {
		return Off, nil
	}
	return Depth(n), nil
}

const maxDepth = 1 << 16

// Config of one scan. The output has the fields of Schema; filter and key columns are added inside and left out again.
type Config struct {
	Store       object.Store
	Lane        *prefetchpool.Lane // nil = depth 0; Reader.Close closes it
	Budget      *memory.Budget     // nil = unlimited, uncounted
	Schema      *arrow.Schema
	Table       *arrow.Schema        // what filters are bound to, where it has more fields than Schema; nil = Schema
	Defaults    map[int]expr.Literal // initial defaults by field id
	Depth       Depth                // max-files-to-prefetch
	StopsEarly  bool                 // LIMIT or a consumer that may stop: start at depth 1
	Limit       int64                // 0 = none
	BatchRows   int                  // most rows of a batch; 0 = 65,536
	BatchBytes  int64                // about the most bytes of a batch; 0 = 16 MiB
	Streams     int                  // consumers that Feed drives; 0 = 1
	Order       Order
	Strings     Strings // layout of string and binary columns; Reader.Schema tells it
	Short       bool    // decimals of 10 to 18 digits come in 8 bytes (decimal64) instead of 16; those of the top level, as for Strings
	KeepDeleted bool
	FilterHint  bool               // the consumer applies the filters of tasks itself: rows that fail them may be delivered, where leaving them out costs more
	NoPrune     bool               // read row groups and pages that statistics rule out; rows do not depend on it
	FooterTail  int64              // bytes of the first read of a large file; 0 = by what the scan's footers needed
	Allocator   arrowmem.Allocator // gives zeros, unless it has a method Cleared that gives one which does (parquet/pool); nil = Arrow's
	Logger      *slog.Logger
	Snapshot    int64         // of the table, told in Stats; 0 = none
	Planned     time.Duration // what planning took before Open, told in the first event
	OnEvent     func(Event)   // told events one at a time, in order, and a file's claim before its first request; must not block, nor use the Reader but for Stats
	OnClose     func()        // called once, when Close has joined everything

	partBytes int64 // of row groups read in parts; 0 = the constant, below 0 = row groups stay whole
}

// Defaults of Config.
const (
	DefaultBatchRows  = 65_536
	DefaultBatchBytes = 16 << 20
)

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("source: "+format, args...))
		}
	}
	bad(c.Store != nil, "Store is nil")
	bad(c.Schema != nil, "Schema is nil")
	bad(c.Depth >= Off && c.Depth <= maxDepth, "Depth %d is not in [-1, %d]", c.Depth, maxDepth)
	bad(c.Limit >= 0, "Limit %d is negative", c.Limit)
	bad(c.BatchRows >= 0, "BatchRows %d is negative", c.BatchRows)
	bad(c.BatchBytes >= 0, "BatchBytes %d is negative", c.BatchBytes)
	bad(c.Streams >= 0, "Streams %d is negative", c.Streams)
	bad(c.FooterTail >= 0, "FooterTail %d is negative", c.FooterTail)
	bad(c.Strings <= StringsDictionary, "Strings %d is unknown", c.Strings)
	bad(c.Order <= ArrivalOrder, "Order %d is unknown", c.Order)
	bad(c.Lane == nil || c.Streams <= c.Lane.Streams(), "Streams %d is above the lane's", c.Streams)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.BatchRows == 0 {
		c.BatchRows = DefaultBatchRows
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = DefaultBatchBytes
	}
	c.Streams = max(c.Streams, 1)
	if c.Table == nil {
		c.Table = c.Schema
	}
	c.Schema = c.Strings.apply(c.Schema)
	if c.Short {
		c.Schema = shortDecimals(c.Schema)
	}
	if c.Lane == nil {
		c.Depth = Off
	}
	if c.Allocator == nil {
		c.Allocator = arrowmem.DefaultAllocator
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Errors.
var (
	// ErrClosed answers a step after Close.
	ErrClosed = errors.New("source: reader closed")
	// ErrUsed answers a second way of reading the same Reader.
	ErrUsed = errors.New("source: reader already read by other means")
)

// FileError names the file that a scan failed at.
type FileError struct {
	Ordinal  int
	Location string // as recorded
	Err      error
}

func (e *FileError) Error() string {
	if r, ok := e.Err.(*resolve.Error); ok && r.File == e.Location {
		return fmt.Sprintf("source: %s: %s", e.Location, r.Within())
	}
	return fmt.Sprintf("source: %s: %v", e.Location, e.Err)
}

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

// PanicError is a panic in a decoder or in the task iterator, caught where a goroutine of the scan would have died.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("source: panic: %v", e.Value) }

// Unwrap gives a panic's error value, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
