//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// layout says how the columns of a batch become the vectors of a chunk. It is fixed when the scan opens and then only read.
type layout struct {
	copied []copiedColumn
	lent   []lentColumn
	hidden []int // vectors without a value

	schema *arrow.Schema // of lent, as DuckDB is told of it
	conv   bindings.ArrowConvertedSchema

	fields  []arrow.Field                // what a batch must have
	checked atomic.Pointer[arrow.Schema] // the schema that passed last
}

// copiedColumn is column from of the batch, copied into vector to.
type copiedColumn struct {
	from, to int
	how      copyKind
	width    int
}

// lentColumn goes through the C data interface.
type lentColumn struct {
	from, to int
	compact  bool           // a slice must be copied first, see compacted
	retype   arrow.DataType // the type that DuckDB is told, nil = the array's own
}

// makeLayout matches the reader's columns with the vectors.
func (s *scan) makeLayout(got *arrow.Schema) error {
	l := &s.layout
	if got.NumFields() != len(s.columns) {
		return fmt.Errorf("table %s: a scan of %d columns gave %d", strings.Join(s.ref.Name, "."), len(s.columns), got.NumFields())
	}
	for _, c := range s.columns {
		l.fields = append(l.fields, s.ref.columns[c].field)
	}
	var lent []arrow.Field
	for to, w := range s.wanted {
		if w <= 0 || w >= len(s.ref.columns) {
			l.hidden = append(l.hidden, to)
			continue
		}
		c, from := s.ref.columns[w], slices.Index(s.columns, w)
		if c.how != copyArrow {
			l.copied = append(l.copied, copiedColumn{from: from, to: to, how: c.how, width: c.width})
			if shortDecimal(got.Field(from).Type, c.field.Type) {
				l.fields[from].Type = got.Field(from).Type
				l.copied[len(l.copied)-1].how = copyFixed
			}
			continue
		}
		lent = append(lent, exported(c.field))
		out := lentColumn{from: from, to: to, compact: hasStruct(c.field.Type)}
		if hasInstantNS(c.field.Type) {
			out.retype = exportedType(c.field.Type)
		}
		l.lent = append(l.lent, out)
	}
	if err := l.match(got); err != nil {
		return fmt.Errorf("table %s: %w", strings.Join(s.ref.Name, "."), err)
	}
	if len(lent) == 0 {
		return nil
	}
	l.schema = arrow.NewSchema(lent, nil)
	conv, ed := bindings.SchemaFromArrow(s.fn.in.conn, l.schema)
	if err := taken(ed); err != nil {
		return err
	}
	l.conv = conv
	return nil
}

// shortDecimal reports that a decimal comes in the 64 bits that DuckDB keeps it in.
func shortDecimal(got, want arrow.DataType) bool {
	g, ok := got.(*arrow.Decimal64Type)
	w, wide := want.(*arrow.Decimal128Type)
	return ok && wide && g.Precision == w.Precision && g.Scale == w.Scale && decimalWidth(w.Precision) == 8
}

func (l *layout) close() { bindings.DestroyArrowConvertedSchema(&l.conv) }

// check refuses a batch that is not what the scan promised: its buffers would be read with the wrong width.
func (l *layout) check(b arrow.RecordBatch) error {
	s := b.Schema()
	if l.checked.Load() == s {
		return nil
	}
	if err := l.match(s); err != nil {
		return err
	}
	l.checked.Store(s)
	return nil
}

func (l *layout) match(s *arrow.Schema) error {
	if s.NumFields() != len(l.fields) {
		return fmt.Errorf("a batch has %d columns, not %d", s.NumFields(), len(l.fields))
	}
	for i, f := range l.fields {
		if g := s.Field(i); g.Name != f.Name || !arrow.TypeEqual(g.Type, f.Type) {
			return fmt.Errorf("column %d of a batch is %s %s, not %s %s", i, g.Name, g.Type, f.Name, f.Type)
		}
	}
	return nil
}

// fit returns how many of n rows from at on make one chunk.
func (l *layout) fit(b arrow.RecordBatch, at, n int64) int64 {
	for _, c := range l.copied {
		if c.how == copyText || c.how == copyBytes {
			n = fitTexts(b.Column(c.from), c.width, at, n)
		}
	}
	return n
}

// write copies or lends rows [at, at+n) of a batch.
func (l *layout) write(conn bindings.Connection, chunk bindings.DataChunk, b arrow.RecordBatch, at, n int64) error {
	for _, c := range l.copied {
		vec := bindings.DataChunkGetVector(chunk, bindings.IdxT(c.to))
		if err := copyColumn(vec, b.Column(c.from), c, at, n); err != nil {
			return err
		}
	}
	for _, to := range l.hidden {
		clearVector(bindings.DataChunkGetVector(chunk, bindings.IdxT(to)), n)
	}
	if len(l.lent) == 0 {
		return nil
	}
	return l.lend(conn, chunk, b, at, n)
}

// zero gives n rows without a value.
func (l *layout) zero(chunk bindings.DataChunk, vectors int, n int64) {
	for i := range vectors {
		clearVector(bindings.DataChunkGetVector(chunk, bindings.IdxT(i)), n)
	}
}

// clearVector writes n zeros into the hidden column (one byte a value).
func clearVector(vec bindings.Vector, n int64) {
	clear(unsafe.Slice((*byte)(bindings.VectorGetData(vec)), n))
}

// lend hands the remaining columns over without copying their values. DuckDB holds the arrays until it drops the vectors.
func (l *layout) lend(conn bindings.Connection, chunk bindings.DataChunk, b arrow.RecordBatch, at, n int64) error {
	columns := make([]arrow.Array, len(l.lent))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range l.lent {
		columns[i] = array.NewSlice(b.Column(c.from), at, at+n)
		if c.compact {
			if err := compacted(&columns[i]); err != nil {
				return err
			}
		}
		if c.retype != nil {
			d := retyped(columns[i].Data(), c.retype)
			columns[i].Release()
			columns[i] = array.MakeFromData(d)
			d.Release()
		}
	}
	rec := array.NewRecordBatch(l.schema, columns, n)
	defer rec.Release()
	from, ed := bindings.DataChunkFromArrow(conn, rec, l.conv)
	if err := taken(ed); err != nil {
		return err
	}
	defer bindings.DestroyDataChunk(&from)
	for i, c := range l.lent {
		bindings.VectorReferenceVector(bindings.DataChunkGetVector(chunk, bindings.IdxT(c.to)), bindings.DataChunkGetVector(from, bindings.IdxT(i)))
	}
	return nil
}

// compacted replaces a slice by a copy that starts at 0. arrow-go exports a sliced struct with the offset on the parent and
// on its children, and DuckDB then applies it twice; a test shows that it still does.
func compacted(a *arrow.Array) error {
	if (*a).Data().Offset() == 0 && !nestedOffset((*a).Data()) {
		return nil
	}
	c, err := array.Concatenate([]arrow.Array{*a}, arrowmem.DefaultAllocator)
	if err != nil {
		return err
	}
	(*a).Release()
	*a = c
	return nil
}

func nestedOffset(d arrow.ArrayData) bool {
	for _, c := range d.Children() {
		if c.Offset() != 0 || nestedOffset(c) {
			return true
		}
	}
	return false
}
