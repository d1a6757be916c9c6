package build

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
)

// Compact copies the rows of rising, disjoint ranges, n in all, out of an array that a Column made. The result is new; a
// stays the caller's.
func Compact(mem arrowmem.Allocator, a arrow.Array, ranges iter.Seq2[int64, int64], n int) arrow.Array {
	d := a.Data()
	c := compactor{mem: mem, ranges: ranges, n: n, base: d.Offset()}
	if d.DataType().ID() == arrow.NULL {
		return array.NewNull(n)
	}
	bufs := make([]*arrowmem.Buffer, len(d.Buffers()))
	nulls := 0
	if v := d.Buffers()[0]; v != nil && d.NullN() > 0 {
		var ones int
		bufs[0], ones = c.bits(v.Bytes())
		nulls = n - ones
	}
	storage := d.DataType()
	if e, ok := storage.(arrow.ExtensionType); ok {
		storage = e.StorageType()
	}
	switch t := storage.(type) {
	case *arrow.BooleanType:
		bufs[1], _ = c.bits(d.Buffers()[1].Bytes())
	case *arrow.StringType, *arrow.BinaryType:
		bufs[1], bufs[2] = c.strings(d.Buffers()[1].Bytes(), d.Buffers()[2].Bytes())
	case arrow.FixedWidthDataType:
		bufs[1] = c.fixed(d.Buffers()[1].Bytes(), t.Bytes())
	}
	out := array.NewData(d.DataType(), n, bufs, nil, nulls, 0)
	defer out.Release()
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(out)
}

type compactor struct {
	mem    arrowmem.Allocator
	ranges iter.Seq2[int64, int64]
	n      int
	base   int
}

func (c *compactor) buffer(n int) *arrowmem.Buffer {
	b := arrowmem.NewResizableBuffer(c.mem)
	b.Reserve(n + slack)
	trim(b, n)
	return b
}

func (c *compactor) bits(src []byte) (*arrowmem.Buffer, int) {
	b := c.buffer((c.n + 7) / 8)
	clear(b.Buf())
	pos, ones := 0, 0
	for from, to := range c.ranges {
		k := int(to - from)
		ones += encoding.CopyBits(b.Buf(), pos, src, c.base+int(from), k)
		pos += k
	}
	return b, ones
}

func (c *compactor) fixed(src []byte, width int) *arrowmem.Buffer {
	b := c.buffer(c.n * width)
	dst := b.Bytes()
	for from, to := range c.ranges {
		dst = dst[copy(dst, src[(c.base+int(from))*width:(c.base+int(to))*width]):]
	}
	return b
}

func (c *compactor) strings(offsets, src []byte) (ends, data *arrowmem.Buffer) {
	in := arrow.Int32Traits.CastFromBytes(offsets)[c.base:]
	size := 0
	for from, to := range c.ranges {
		size += int(in[to] - in[from])
	}
	ends, data = c.buffer(4*(c.n+1)), c.buffer(size)
	out, dst := arrow.Int32Traits.CastFromBytes(ends.Bytes()), data.Bytes()
	out[0] = 0
	at, used := 1, int32(0)
	for from, to := range c.ranges {
		shift := used - in[from]
		for _, e := range in[from+1 : to+1] {
			out[at] = e + shift
			at++
		}
		used += int32(copy(dst[used:], src[in[from]:in[to]]))
	}
	return ends, data
}
