// Package parquet turns Parquet bytes into Arrow.
//
// It does no I/O and starts no goroutine. It plans byte ranges, is given bytes, and returns arrays; fetching, scheduling
// and joining are source's:
//
//	Footer   ParseFooter(tail)             immutable, cached and shared
//	Reader   Footer.Bind(columns, filter)  immutable, shared by workers
//	         Prune, Ranges, Open           per row group
//	Unit     Decode(column) …, Next        a window of rows; all state is here
//
// A Footer and a Reader may be used by any number of goroutines. The units of one row group share a cursor a column:
// Decode of different columns may run at once, Decode of one column goes through the units in order. Batches belong to
// the caller of Next, who releases them; they are immutable.
//
// Whatever the bytes hold, the answer is right rows or an error of one of the classes ErrCorrupt, ErrUnsupported and
// ErrTooLarge: no length in a file is believed before it was checked against the bytes at hand.
package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// RowSelection is the name used outside.
type RowSelection = rowsel.Selection

// Options of a Reader. The zero value has the defaults of DefaultOptions.
type Options struct {
	// Allocator gives the memory of arrays; source gives one that charges the budget until the last Release. Nil = Arrow's.
	Allocator arrowmem.Allocator
	// Values gives the memory of flat columns, of which every byte that can be seen is written: it need not be cleared. Nil =
	// Allocator. If it is set, it also gives the memory of pages and dictionaries that more than one unit reads, so it should recycle
	// what is freed.
	Values arrowmem.Allocator
	pages  arrowmem.Allocator // Values if it was set
	// Decoded is charged for scratch memory (pages, dictionaries) while a column is being decoded. Nil = not counted.
	Decoded *memory.Elastic
	// UnitBytes bounds the arrays of a unit, by estimate.
	UnitBytes int64
	// BatchRows and BatchBytes bound a batch of Next.
	BatchRows  int
	BatchBytes int64
	// MaxPage bounds an uncompressed page: a larger one is ErrTooLarge before memory is taken for it.
	MaxPage int64
	// SkipCRC leaves out page checksums.
	SkipCRC bool
	// PruneOff switches evaluators off. Rows do not depend on it.
	PruneOff prune.Off
}

// DefaultOptions are those of a zero Options.
func DefaultOptions() Options {
	return Options{Allocator: arrowmem.DefaultAllocator, UnitBytes: 32 << 20, BatchRows: 65536, BatchBytes: 16 << 20, MaxPage: 512 << 20}
}

func (o Options) withDefaults() Options {
	d := DefaultOptions()
	if o.Allocator == nil {
		o.Allocator = d.Allocator
	}
	o.pages = o.Values
	if o.Values == nil {
		o.Values = o.Allocator
	}
	if o.UnitBytes <= 0 {
		o.UnitBytes = d.UnitBytes
	}
	if o.BatchRows <= 0 {
		o.BatchRows = d.BatchRows
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = d.BatchBytes
	}
	if o.MaxPage <= 0 {
		o.MaxPage = d.MaxPage
	}
	return o
}

// Column is one wanted output field and where its values come from; source/resolve makes the tree.
//
//   - Path names a node of the file's schema, from the root: values are read from it and converted to Output.Type.
//   - Path nil: every value is Const (a nil Const, or one with a nil Value, gives typed nulls), at any depth; a child of an
//     absent parent row is null all the same.
//   - Children follow Output.Type's children (struct fields; the element of a list; key and value of a map), only for nested types.
//   - Position true: the row's absolute position in the file (int64), computed before rows are dropped; used for _pos and _row_id.
//
// Path uses the names of Footer.Schema. Only its last name counts, among the fields of the parent; the element of a list
// and the key and value of a map are found by their place.
type Column struct {
	Output   arrow.Field
	Path     []string
	Const    *expr.Literal
	Position bool
	Children []Column
}

// Part names the waves of a row group.
type Part uint8

// Parts.
const (
	PartFilter Part = iota // columns of the filter
	PartRest               // the other columns
	PartIndex              // page index
	PartBloom              // Bloom filters
)

// Need is an output column that a Range serves.
type Need struct{ RowGroup, Column int }

// Range to fetch; Need lets source decode a column as soon as all of its ranges are there.
type Range struct {
	Off, Len int64
	Need     []Need
}

// Cost of the link, measured by source: ranges closer than GapBytes are fetched as one, of at most MaxBytes (0 = no bound)
// unless one column alone takes more.
type Cost struct{ GapBytes, MaxBytes int64 }

// Bytes gives fetched ranges; a miss is an error, never I/O. The slice is valid until the unit is closed.
type Bytes interface {
	Slice(off, n int64) ([]byte, error)
}
