package nested

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Cut gives the rows [from, from+n) of an array as one that begins at offset 0, its children cut likewise. Values and string
// bytes are shared; offsets of lists, and bitmaps that do not begin at a byte, are copied. The caller releases the result.
func Cut(mem memory.Allocator, a arrow.Array, from, n int) arrow.Array {
	if from == 0 && n == a.Len() && a.Data().Offset() == 0 {
		a.Retain()
		return a
	}
	d := cut(mem, a.Data(), from, n)
	defer d.Release()
	return array.MakeFromData(d)
}

func cut(mem memory.Allocator, d arrow.ArrayData, from, n int) arrow.ArrayData {
	at := d.Offset() + from
	t := d.DataType()
	for {
		e, ok := t.(arrow.ExtensionType)
		if !ok {
			break
		}
		t = e.StorageType()
	}
	in := d.Buffers()
	bufs := make([]*memory.Buffer, len(in))
	defer func() {
		for _, b := range bufs {
			release(b)
		}
	}()
	nulls := 0
	if len(in) > 0 && in[0] != nil && d.NullN() != 0 {
		bufs[0], nulls = cutBits(mem, in[0], at, n), n-bitutil.CountSetBits(in[0].Bytes(), at, n)
	}
	var children []arrow.ArrayData
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	switch t := t.(type) {
	case *arrow.NullType:
		nulls = n
	case *arrow.BooleanType:
		bufs[1] = cutBits(mem, in[1], at, n)
	case *arrow.StructType:
		for _, c := range d.Children() {
			children = append(children, cut(mem, c, at, n))
		}
	case *arrow.ListType, *arrow.MapType:
		if in[1] == nil {
			children = append(children, cut(mem, d.Children()[0], 0, 0))
			break
		}
		off := arrow.Int32Traits.CastFromBytes(in[1].Bytes())[at : at+n+1]
		bufs[1] = rebase(mem, off)
		children = append(children, cut(mem, d.Children()[0], int(off[0]), int(off[n]-off[0])))
	case *arrow.StringType, *arrow.BinaryType:
		bufs[1] = share(in[1], 4*at, 4*(n+1))
		bufs[2] = in[2]
		if in[2] != nil {
			in[2].Retain()
		}
	case *arrow.DictionaryType:
		return array.NewSliceData(d, int64(from), int64(from+n))
	case arrow.FixedWidthDataType:
		w := t.BitWidth() / 8
		bufs[1] = share(in[1], w*at, w*n)
	default: // nothing that this reader makes
		return array.NewSliceData(d, int64(from), int64(from+n))
	}
	return array.NewData(d.DataType(), n, bufs, children, nulls, 0)
}

// share is nil for the missing buffer of an empty array.
func share(b *memory.Buffer, from, n int) *memory.Buffer {
	if b == nil {
		return nil
	}
	return memory.SliceBuffer(b, from, n)
}

// cutBits shares the bytes where the bits begin at one.
func cutBits(mem memory.Allocator, b *memory.Buffer, at, n int) *memory.Buffer {
	if at%8 == 0 || b == nil {
		return share(b, at/8, (n+7)/8)
	}
	out := memory.NewResizableBuffer(mem)
	out.Resize((n + 7) / 8)
	clear(out.Bytes())
	bitutil.CopyBitmap(b.Bytes(), at, n, out.Bytes(), 0)
	return out
}

func rebase(mem memory.Allocator, off []int32) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(4 * len(off))
	to := arrow.Int32Traits.CastFromBytes(b.Bytes())
	for i, o := range off {
		to[i] = o - off[0]
	}
	return b
}
