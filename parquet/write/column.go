package write

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// column gathers one leaf's entries of a chunk of rows and writes them.
type column struct {
	*leaf
	pieces []entries
	nans   int64 // of the file
	page   int64 // value bytes in the page at work
	rows   int64 // rows in it

	def, rep []int16
	bools    []bool
	i32      []int32
	i64      []int64
	f32      []float32
	f64      []float64
	bytes    []parquet.ByteArray
	fixed    []parquet.FixedLenByteArray
	buf      []byte // of values that had to be converted
}

// batch is a chunk's entries ready to be written: dense values in one of the slices of column, by the physical type.
type batch struct {
	def, rep []int16
	values   int // present ones
	entries  int
	size     int64 // bytes of the values
	write    func(cw file.ColumnChunkWriter, from, to int, def, rep []int16) error
}

// chunk writes the gathered entries of n rows. Pages end where they hold PageBytes or PageRows, at ends of chunks unless the
// values are wide.
// It returns the bytes of the values.
func (c *column) chunk(cw file.ColumnChunkWriter, n int, o *Options) (size int64, err error) {
	b, err := c.gather(cw)
	c.pieces = c.pieces[:0]
	if err != nil {
		return 0, err
	}
	parts := max(1, min(int((b.size+o.PageBytes-1)/o.PageBytes), n))
	per := (n + parts - 1) / parts
	partSize := b.size / int64(parts)
	entry, value := 0, 0
	for row := 0; row < n; row += per {
		if c.page+partSize > o.PageBytes {
			if err := c.endPage(cw); err != nil {
				return 0, err
			}
		}
		end, last := b.span(c.leaf, entry, min(per, n-row))
		values := 0
		if c.maxDef == 0 {
			values = end - entry
		} else {
			for _, d := range b.def[entry:end] {
				if d == c.maxDef {
					values++
				}
			}
		}
		if err := b.write(cw, value, value+values, part(b.def, entry, end), part(b.rep, entry, end)); err != nil {
			return 0, err
		}
		entry, value = end, value+values
		c.rows += int64(last)
		c.page += partSize
		if c.page >= o.PageBytes || c.rows >= o.PageRows {
			if err := c.endPage(cw); err != nil {
				return 0, err
			}
		}
	}
	return b.size, nil
}

func part(levels []int16, from, to int) []int16 {
	if levels == nil {
		return nil
	}
	return levels[from:to]
}

// span finds the entry behind the next n rows.
func (b *batch) span(l *leaf, from, n int) (end, rows int) {
	if l.maxRep == 0 {
		return from + n, n
	}
	for end = from; end < len(b.rep); end++ {
		if b.rep[end] == 0 {
			if rows == n {
				break
			}
			rows++
		}
	}
	return end, rows
}

// endPage flushes the page at work, if it has rows.
func (c *column) endPage(cw file.ColumnChunkWriter) error {
	if c.rows == 0 {
		return nil
	}
	c.rows, c.page = 0, 0
	f, ok := cw.(interface{ FlushCurrentPage() error })
	if !ok {
		return fmt.Errorf("%w: %T cannot end a page", ErrUnsupported, cw)
	}
	return f.FlushCurrentPage()
}

// gather joins the pieces.
func (c *column) gather(cw file.ColumnChunkWriter) (batch, error) {
	var b batch
	for i := range c.pieces {
		b.entries += c.pieces[i].len()
	}
	if len(c.pieces) == 1 {
		b.def, b.rep = c.pieces[0].def, c.pieces[0].rep
	} else {
		c.def, c.rep = c.def[:0], c.rep[:0]
		for _, p := range c.pieces {
			c.def, c.rep = append(c.def, p.def...), append(c.rep, p.rep...)
		}
		b.def, b.rep = c.def, c.rep
	}
	if c.maxDef == 0 {
		b.def = nil
	}
	if c.maxRep == 0 {
		b.rep = nil
	}
	return b, c.typed(&b, cw)
}

// typed gathers the values in the physical type and says how they are written.
func (c *column) typed(b *batch, cw file.ColumnChunkWriter) (err error) {
	switch w := cw.(type) {
	case *file.BooleanColumnChunkWriter:
		c.bools = c.bools[:0]
		c.each(func(a arrow.Array, i int) { c.bools = append(c.bools, a.(*array.Boolean).Value(i)) })
		b.set(len(c.bools), 1, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(c.bools[from:to], def, rep))
		})
	case *file.Int32ColumnChunkWriter:
		var v []int32
		v, err = c.int32s()
		b.set(len(v), 4, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(v[from:to], def, rep))
		})
	case *file.Int64ColumnChunkWriter:
		var v []int64
		v, err = c.int64s()
		b.set(len(v), 8, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(v[from:to], def, rep))
		})
	case *file.Float32ColumnChunkWriter:
		v := numbers(c, &c.f32, func(a arrow.Array) []float32 { return a.(*array.Float32).Float32Values() })
		for _, x := range v {
			if x != x {
				c.nans++
			}
		}
		b.set(len(v), 4, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(v[from:to], def, rep))
		})
	case *file.Float64ColumnChunkWriter:
		v := numbers(c, &c.f64, func(a arrow.Array) []float64 { return a.(*array.Float64).Float64Values() })
		for _, x := range v {
			if x != x {
				c.nans++
			}
		}
		b.set(len(v), 8, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(v[from:to], def, rep))
		})
	case *file.ByteArrayColumnChunkWriter:
		return c.byteArrays(b, w)
	case *file.FixedLenByteArrayColumnChunkWriter:
		err = c.fixedArrays()
		b.set(len(c.fixed), c.length, func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
			return wrote(w.WriteBatch(c.fixed[from:to], def, rep))
		})
	default:
		err = fmt.Errorf("%w: %T", ErrUnsupported, cw)
	}
	return err
}

func (b *batch) set(n, width int, write func(cw file.ColumnChunkWriter, from, to int, def, rep []int16) error) {
	b.values, b.size, b.write = n, int64(n)*int64(width), write
}

func wrote(_ int64, err error) error { return err }

// numbers are the values of all pieces: the array's own memory if there is one piece without gaps.
func numbers[T any](c *column, scratch *[]T, of func(arrow.Array) []T) []T {
	if p := c.pieces[0]; len(c.pieces) == 1 && p.at == nil {
		if _, ok := p.values.(*array.Dictionary); !ok {
			return of(p.values)[p.from : p.from+p.n]
		}
	}
	out := (*scratch)[:0]
	for _, p := range c.pieces {
		values, at := p.plain()
		src := of(values)
		if at == nil {
			out = append(out, src[p.from:p.from+p.n]...)
			continue
		}
		for _, i := range at {
			if i >= 0 {
				out = append(out, src[i])
			}
		}
	}
	*scratch = out
	return out
}

// plain resolves a dictionary: its values, and where in them the entries lie.
func (e entries) plain() (arrow.Array, []int32) {
	d, ok := e.values.(*array.Dictionary)
	if !ok {
		return e.values, e.at
	}
	at := make([]int32, e.len())
	for i := range at {
		k := int32(e.from + i)
		if e.at != nil {
			k = e.at[i]
		}
		if at[i] = k; k >= 0 {
			at[i] = int32(d.GetValueIndex(int(k)))
		}
	}
	return d.Dictionary(), at
}

// each visits the present values of all pieces.
func (c *column) each(f func(a arrow.Array, i int)) {
	for _, p := range c.pieces {
		values, at := p.plain()
		if at == nil {
			for i := p.from; i < p.from+p.n; i++ {
				f(values, i)
			}
			continue
		}
		for _, i := range at {
			if i >= 0 {
				f(values, int(i))
			}
		}
	}
}

func (c *column) int32s() ([]int32, error) {
	switch values, _ := c.pieces[0].plain(); values.(type) {
	case *array.Int32:
		return numbers(c, &c.i32, func(a arrow.Array) []int32 { return a.(*array.Int32).Int32Values() }), nil
	case *array.Date32:
		return numbers(c, &c.i32, func(a arrow.Array) []int32 { return cast[int32](a) }), nil
	case *array.Uint32, *array.Time32:
		return numbers(c, &c.i32, func(a arrow.Array) []int32 { return cast[int32](a) }), nil
	}
	c.i32 = c.i32[:0]
	var failed error
	c.each(func(a arrow.Array, i int) {
		switch a := a.(type) {
		case *array.Int8:
			c.i32 = append(c.i32, int32(a.Value(i)))
		case *array.Int16:
			c.i32 = append(c.i32, int32(a.Value(i)))
		case *array.Uint8:
			c.i32 = append(c.i32, int32(a.Value(i)))
		case *array.Uint16:
			c.i32 = append(c.i32, int32(a.Value(i)))
		case *array.Decimal128:
			v := a.Value(i)
			if v.HighBits() != int64(v.LowBits())>>63 || int64(v.LowBits()) != int64(int32(v.LowBits())) {
				failed = fmt.Errorf("parquet/write: column %q: a decimal beyond its precision", c.field.Name)
			}
			c.i32 = append(c.i32, int32(v.LowBits()))
		default:
			failed = unsupported(c.field)
		}
	})
	return c.i32, failed
}

// cast reads an array's fixed-width buffer as integers of the same width.
func cast[T int32 | int64](a arrow.Array) []T {
	d := a.Data()
	if d.Buffers()[1] == nil {
		return nil
	}
	return arrow.GetData[T](d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
}

func (c *column) int64s() ([]int64, error) {
	switch values, _ := c.pieces[0].plain(); values.(type) {
	case *array.Int64:
		return numbers(c, &c.i64, func(a arrow.Array) []int64 { return a.(*array.Int64).Int64Values() }), nil
	case *array.Uint64, *array.Time64, *array.Timestamp:
		return numbers(c, &c.i64, func(a arrow.Array) []int64 { return cast[int64](a) }), nil
	}
	c.i64 = c.i64[:0]
	var failed error
	c.each(func(a arrow.Array, i int) {
		d, ok := a.(*array.Decimal128)
		if !ok {
			failed = unsupported(c.field)
			return
		}
		v := d.Value(i)
		if v.HighBits() != int64(v.LowBits())>>63 {
			failed = fmt.Errorf("parquet/write: column %q: a decimal beyond its precision", c.field.Name)
		}
		c.i64 = append(c.i64, int64(v.LowBits()))
	})
	return c.i64, failed
}

// byteArrays hands over the array's own bytes and offsets where the encoder takes them.
func (c *column) byteArrays(b *batch, w *file.ByteArrayColumnChunkWriter) error {
	if p := c.pieces[0]; len(c.pieces) == 1 && p.at == nil && w.SupportsArrowOffsets() {
		if off, data, ok := offsets32(p.values); ok {
			off = off[p.from : p.from+p.n+1]
			b.values, b.size = p.n, int64(off[p.n]-off[0])+4*int64(p.n)
			b.write = func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
				if w.SupportsArrowOffsets() {
					return wrote(w.WriteBatchArrow(data, off[from:to+1], def, rep))
				}
				return wrote(w.WriteBatch(c.slices(data, off[from:to+1]), def, rep))
			}
			return nil
		}
	}
	c.bytes = c.bytes[:0]
	var failed error
	size := int64(0)
	c.each(func(a arrow.Array, i int) {
		var v []byte
		switch a := a.(type) {
		case *array.Binary:
			v = a.Value(i)
		case *array.String:
			v = bytesOf(a.Value(i))
		case *array.LargeBinary:
			v = a.Value(i)
		case *array.LargeString:
			v = bytesOf(a.Value(i))
		case *array.BinaryView:
			v = a.Value(i)
		case *array.StringView:
			v = bytesOf(a.Value(i))
		default:
			failed = unsupported(c.field)
		}
		size += int64(len(v)) + 4
		c.bytes = append(c.bytes, v)
	})
	b.values, b.size = len(c.bytes), size
	b.write = func(_ file.ColumnChunkWriter, from, to int, def, rep []int16) error {
		return wrote(w.WriteBatch(c.bytes[from:to], def, rep))
	}
	return failed
}

// slices cuts bytes at offsets.
func (c *column) slices(data []byte, off []int32) []parquet.ByteArray {
	c.bytes = c.bytes[:0]
	for i := range len(off) - 1 {
		c.bytes = append(c.bytes, data[off[i]:off[i+1]])
	}
	return c.bytes
}

// offsets32 gives offsets of a string or binary array, and the bytes that they point into.
func offsets32(a arrow.Array) (off []int32, data []byte, ok bool) {
	switch a := a.(type) {
	case *array.String:
		off = a.ValueOffsets()
	case *array.Binary:
		off = a.ValueOffsets()
	}
	if len(off) == 0 {
		return nil, nil, false
	}
	if b := a.Data().Buffers()[2]; b != nil {
		data = b.Bytes()
	}
	return off, data, true
}

// bytesOf is a string's memory.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (c *column) fixedArrays() error {
	c.fixed, c.buf = c.fixed[:0], c.buf[:0]
	var failed error
	converted := false
	c.each(func(a arrow.Array, i int) {
		switch a := a.(type) {
		case *array.FixedSizeBinary:
			c.fixed = append(c.fixed, a.Value(i))
			return
		case *array.Float16:
			c.buf = binary.LittleEndian.AppendUint16(c.buf, a.Value(i).Uint16())
			if f := a.Value(i).Float32(); f != f {
				c.nans++
			}
		case *array.Decimal128:
			v := a.Value(i)
			c.buf, failed = appendDecimal(c.buf, c.length, failed, c.field, uint64(v.HighBits()), v.LowBits())
		case *array.Decimal256:
			w := a.Value(i).Array()
			c.buf, failed = appendDecimal(c.buf, c.length, failed, c.field, w[3], w[2], w[1], w[0])
		default:
			failed = unsupported(c.field)
		}
		converted = true
	})
	if converted && failed == nil {
		for at := 0; at < len(c.buf); at += c.length {
			c.fixed = append(c.fixed, c.buf[at:at+c.length])
		}
	}
	return failed
}

// appendDecimal writes the low n bytes of a big-endian two's complement number, given by words from the highest.
func appendDecimal(dst []byte, n int, failed error, f arrow.Field, words ...uint64) ([]byte, error) {
	var all [32]byte
	b := all[:0]
	for _, w := range words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) < n {
		b = append([]byte{sign}, b...)
	}
	cut := len(b) - n
	for _, x := range b[:cut] {
		if x != sign || byte(int8(b[cut])>>7) != sign {
			failed = fmt.Errorf("parquet/write: column %q: a decimal beyond its precision", f.Name)
		}
	}
	return append(dst, b[cut:]...), failed
}
