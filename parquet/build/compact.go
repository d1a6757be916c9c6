package build

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
)

// Compact copies the rows of rising, disjoint ranges, n in all, out of an array of this reader, nested ones included. The
// result begins at offset 0 and shares nothing; a stays the caller's.
func Compact(mem arrowmem.Allocator, a arrow.Array, ranges iter.Seq2[int64, int64], n int) arrow.Array {
	d := compact(mem, a.Data(), ranges, n)
	defer d.Release()
	return array.MakeFromData(d)
}

func compact(mem arrowmem.Allocator, d arrow.ArrayData, ranges iter.Seq2[int64, int64], n int) arrow.ArrayData {
	c := compactor{mem: mem, ranges: ranges, n: n, base: d.Offset()}
	in := d.Buffers()
	bufs := make([]*arrowmem.Buffer, len(in))
	var children []arrow.ArrayData
	defer func() {
		for _, b := range bufs {
			if b != nil {
				b.Release()
			}
		}
		for _, x := range children {
			x.Release()
		}
	}()
	nulls := 0
	if len(in) > 0 && in[0] != nil && d.NullN() != 0 { // of a slice the count is not known: -1
		var ones int
		bufs[0], ones = c.bits(in[0].Bytes())
		nulls = n - ones
	}
	switch t := storageOf(d.DataType()).(type) {
	case *arrow.DictionaryType:
		bufs[1] = c.fixed(in[1].Bytes(), t.Bytes())
		return array.NewDataWithDictionary(d.DataType(), n, bufs, nulls, 0, d.Dictionary().(*array.Data))
	case arrow.BinaryViewDataType:
		bufs[1] = c.fixed(in[1].Bytes(), encoding.ViewWidth)
		bufs = append(bufs[:2], c.viewed(bufs[0], bufs[1], in[2:])...)
	case *arrow.NullType:
		nulls = n
	case *arrow.BooleanType:
		bufs[1], _ = c.bits(in[1].Bytes())
	case *arrow.StringType, *arrow.BinaryType:
		bufs[1], bufs[2] = c.strings(in[1].Bytes(), in[2].Bytes())
	case *arrow.StructType:
		for _, x := range d.Children() {
			children = append(children, compact(mem, x, shifted(ranges, int64(c.base)), n))
		}
	case *arrow.ListType, *arrow.MapType:
		var elements iter.Seq2[int64, int64]
		var k int
		bufs[1], elements, k = c.lists(in[1].Bytes())
		children = append(children, compact(mem, d.Children()[0], elements, k))
	case arrow.FixedWidthDataType:
		bufs[1] = c.fixed(in[1].Bytes(), t.Bytes())
	}
	return array.NewData(d.DataType(), n, bufs, children, nulls, 0)
}

func shifted(ranges iter.Seq2[int64, int64], by int64) iter.Seq2[int64, int64] {
	if by == 0 {
		return ranges
	}
	return func(yield func(int64, int64) bool) {
		for from, to := range ranges {
			if !yield(from+by, to+by) {
				return
			}
		}
	}
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

// viewed gives the buffers that views refer to: those of the array before, or a copy of what the views need if that is little.
func (c *compactor) viewed(valid, views *arrowmem.Buffer, data []*arrowmem.Buffer) []*arrowmem.Buffer {
	var bits []byte
	if valid != nil {
		bits = valid.Bytes()
	}
	var held, long int64
	for _, b := range data {
		held += int64(b.Len())
	}
	for row := range c.n {
		k := le.Uint32(views.Bytes()[row*encoding.ViewWidth:])
		if k > encoding.Inline && (bits == nil || bits[row>>3]>>(row&7)&1 != 0) {
			long += int64(k)
		}
	}
	if sparse(held, long) {
		return gatherViews(c.buffer(int(long)), views.Bytes(), bits, data, func(int) bool { return true })
	}
	for _, b := range data {
		b.Retain()
	}
	return data
}

// ends copies offsets so that they begin at 0, and returns the last one.
func (c *compactor) ends(in []int32) (*arrowmem.Buffer, int) {
	b := c.buffer(4 * (c.n + 1))
	out := arrow.Int32Traits.CastFromBytes(b.Bytes())
	out[0] = 0
	at, used := 1, int32(0)
	for from, to := range c.ranges {
		shift := used - in[from]
		for _, e := range in[from+1 : to+1] {
			out[at] = e + shift
			at++
		}
		used += in[to] - in[from]
	}
	return b, int(used)
}

func (c *compactor) strings(offsets, src []byte) (ends, data *arrowmem.Buffer) {
	in := arrow.Int32Traits.CastFromBytes(offsets)[c.base:]
	ends, size := c.ends(in)
	data = c.buffer(size)
	dst := data.Bytes()
	for from, to := range c.ranges {
		dst = dst[copy(dst, src[in[from]:in[to]]):]
	}
	return ends, data
}

// lists gives the offsets of the lists kept, and the ranges of their elements.
func (c *compactor) lists(offsets []byte) (*arrowmem.Buffer, iter.Seq2[int64, int64], int) {
	in := arrow.Int32Traits.CastFromBytes(offsets)[c.base:]
	ends, n := c.ends(in)
	ranges := c.ranges
	return ends, func(yield func(int64, int64) bool) {
		for from, to := range ranges {
			if in[from] < in[to] && !yield(int64(in[from]), int64(in[to])) {
				return
			}
		}
	}, n
}
