package eval

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// view is rows [off, off+n) of an array's buffers. Working on the data below arrow.Array makes no objects and touches no lazily
// built state, so batches may be evaluated by several goroutines at once.
type view struct {
	d   arrow.ArrayData
	off int
	n   int
}

func viewOf(d arrow.ArrayData) view { return view{d, d.Offset(), d.Len()} }

// dict is the entries of a dictionary array.
func (v view) dict() (entries view, ok bool) {
	if v.d.DataType().ID() != arrow.DICTIONARY {
		return view{}, false
	}
	return viewOf(v.d.Dictionary()), true
}

func (v view) validity() []byte {
	if b := v.d.Buffers(); len(b) > 0 && b[0] != nil {
		return b[0].Bytes()
	}
	return nil
}

// buffer is the bytes of buffer i, which must hold rows of width bytes.
func (v view) buffer(i, width, extra int) ([]byte, error) {
	var b []byte
	if bufs := v.d.Buffers(); i < len(bufs) && bufs[i] != nil {
		b = bufs[i].Bytes()
	}
	if len(b) < (v.off+v.n+extra)*width {
		return nil, typeError("a %s array of %d rows from %d has %d bytes", v.d.DataType(), v.n, v.off, len(b))
	}
	return b, nil
}

// fixed is the values of a fixed-width array as T, which must have the width of its type.
func fixed[T any](v view) ([]T, error) {
	var zero T
	b, err := v.buffer(1, int(unsafe.Sizeof(zero)), 0)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))[v.off : v.off+v.n], nil
}

// column is where a column lies: the place among the batch's columns, then among the fields of each struct.
type column struct {
	path []int
	typ  arrow.DataType // of the values; nil = any
	name string
}

// place finds a column whose type does not matter.
func (c *compiler) place(col expr.Column) (column, error) {
	path := find(c.schema.Fields(), col.ID)
	if col.ID == 0 || path == nil {
		return column{}, typeError("no column %s (field %d)", col, col.ID)
	}
	return column{path: path, name: col.String()}, nil
}

func (c *compiler) column(col expr.Column) (column, error) {
	out, err := c.place(col)
	if err != nil {
		return out, err
	}
	out.typ = expr.ValueType(col.Type)
	f := c.field(out.path)
	if t := shortOf(f.Type, out.typ); t != nil {
		out.typ = t
		return out, nil
	}
	if got := expr.ValueType(f.Type); !alike(got, out.typ) {
		return column{}, typeError("column %s is a %s, the predicate is bound to a %s", col, got, out.typ)
	}
	return out, nil
}

func (c *compiler) field(path []int) arrow.Field {
	f := c.schema.Field(path[0])
	for _, i := range path[1:] {
		f = f.Type.(*arrow.StructType).Field(i)
	}
	return f
}

// alike: the same values in the same layout, or as views.
func alike(got, want arrow.DataType) bool {
	switch got.ID() {
	case arrow.STRING_VIEW:
		got = arrow.BinaryTypes.String
	case arrow.BINARY_VIEW:
		got = arrow.BinaryTypes.Binary
	}
	return arrow.TypeEqual(got, want) || got.ID() == arrow.STRING && want.ID() == arrow.STRING_VIEW || got.ID() == arrow.BINARY && want.ID() == arrow.BINARY_VIEW
}

func find(fields []arrow.Field, id int) []int {
	for i, f := range fields {
		if n, ok := expr.FieldID(f); ok && n == id {
			return []int{i}
		}
		if st, ok := f.Type.(*arrow.StructType); ok {
			if below := find(st.Fields(), id); below != nil {
				return append([]int{i}, below...)
			}
		}
	}
	return nil
}

// open narrows rows to those where the column is not NULL and returns the column. rows may be nil.
func (c column) open(f *frame, rows []uint64) (view, error) {
	if c.path[0] >= int(f.rec.NumCols()) {
		return view{}, typeError("no column %s in the batch", c.name)
	}
	v := viewOf(f.rec.Column(c.path[0]).Data())
	if v.n != f.n {
		return view{}, typeError("column %s has %d rows in a batch of %d", c.name, v.n, f.n)
	}
	for _, i := range c.path[1:] {
		if err := narrow(rows, v); err != nil {
			return view{}, err
		}
		kids := v.d.Children()
		if v.d.DataType().ID() != arrow.STRUCT || i >= len(kids) {
			return view{}, typeError("column %s is not in the batch's structs", c.name)
		}
		v = view{kids[i], kids[i].Offset() + v.off, v.n}
		if kids[i].Offset()+kids[i].Len() < v.off+v.n {
			return view{}, typeError("column %s is shorter than its struct", c.name)
		}
	}
	if got := expr.ValueType(v.d.DataType()); c.typ != nil && !alike(got, c.typ) {
		return view{}, typeError("column %s is a %s in the batch, the predicate is bound to a %s", c.name, got, c.typ)
	}
	return v, narrow(rows, v)
}

// narrow clears the bits of rows that are NULL in v.
func narrow(rows []uint64, v view) error {
	bitmap := v.validity()
	if len(bitmap) == 0 || v.d.NullN() == 0 {
		return nil
	}
	if len(bitmap)*8 < v.off+v.n {
		return typeError("a validity bitmap of %d bytes for %d rows from %d", len(bitmap), v.n, v.off)
	}
	for i := range rows {
		if rows[i] != 0 {
			rows[i] &= loadBits(bitmap, v.off+i*64)
		}
	}
	return nil
}

// loadBits is 64 bits of a bitmap from bit i on; what lies behind its end is zero.
func loadBits(b []byte, i int) uint64 {
	at, shift := i/8, i%8
	if at+9 <= len(b) {
		w := binary.LittleEndian.Uint64(b[at:]) >> shift
		if shift != 0 {
			w |= uint64(b[at+8]) << (64 - shift)
		}
		return w
	}
	var w uint64
	for k := 0; k < 9 && at+k < len(b); k++ {
		if n := 8*k - shift; n >= 0 {
			w |= uint64(b[at+k]) << n
		} else {
			w |= uint64(b[at+k]) >> -n
		}
	}
	return w
}

// isNull is IS NULL and IS NOT NULL.
type isNull struct {
	col     column
	negated bool
}

func (isNull) cost() int { return 1 }

func (p isNull) eval(f *frame, open, out []uint64) error {
	copy(out, open)
	v, err := p.col.open(f, out)
	if err != nil {
		return err
	}
	if dict, ok := v.dict(); ok && dict.d.NullN() != 0 {
		if err := gather(f, v, dict.n, out, func(rows []uint64) error { return narrow(rows, dict) }); err != nil {
			return err
		}
	}
	if !p.negated {
		for i := range out {
			out[i] = open[i] &^ out[i]
		}
	}
	return nil
}

// kernel is a test on the values of one column.
type kernel interface {
	// run clears the bits of rows, which are not NULL, whose value fails the test.
	run(f *frame, v view, rows []uint64) error
	cost() int
}

// leaf is a kernel on a column.
type leaf struct {
	col     column
	test    kernel
	negated bool
}

func (l leaf) cost() int { return l.test.cost() }

func (l leaf) eval(f *frame, open, out []uint64) error {
	copy(out, open)
	v, err := l.col.open(f, out)
	if err != nil || empty(out) {
		return err
	}
	entries, ok := v.dict()
	if !ok {
		return l.run(f, v, out)
	}
	if t, ok := l.test.(onText); ok && entries.n > 2*popcount(out) {
		return t.runIndexed(f, v, entries, out, l.negated)
	}
	return gather(f, v, entries.n, out, func(rows []uint64) error {
		if err := narrow(rows, entries); err != nil {
			return err
		}
		return l.run(f, entries, rows)
	})
}

func (l leaf) run(f *frame, v view, rows []uint64) error {
	if !l.negated {
		return l.test.run(f, v, rows)
	}
	passed := f.bitmap(len(rows))
	defer f.done(passed)
	copy(passed, rows)
	if err := l.test.run(f, v, passed); err != nil {
		return err
	}
	for i := range rows {
		rows[i] &^= passed[i]
	}
	return nil
}

// gather tests the entries of a dictionary once each and clears the rows whose entry fails.
func gather(f *frame, v view, n int, rows []uint64, test func(entries []uint64) error) error {
	entries := f.bitmap((n + 63) / 64)
	defer f.done(entries)
	if n > 0 {
		fill(entries, n)
	}
	if err := test(entries); err != nil {
		return err
	}
	switch v.d.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).BitWidth() {
	case 8:
		return gatherBits[uint8](v, entries, n, rows)
	case 16:
		return gatherBits[uint16](v, entries, n, rows)
	case 32:
		return gatherBits[uint32](v, entries, n, rows)
	}
	return gatherBits[uint64](v, entries, n, rows)
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

func gatherBits[T unsigned](v view, entries []uint64, n int, rows []uint64) error {
	index, err := fixed[T](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		for m := open; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			e := uint64(index[w*64+i])
			if e >= uint64(n) {
				return typeError("row %d points at entry %d of a dictionary of %d", w*64+i, e, n)
			}
			open &^= (^entries[e/64] >> (e % 64) & 1) << i
		}
		rows[w] = open
	}
	return nil
}
