package build

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
)

// dictOutput is the dictionary of an array of indices. As long as all pages have the chunk's dictionary, that is it, shared by
// the arrays of the chunk. Values of other pages are added without a search (a writer gives the dictionary up because values
// do not repeat), behind the chunk's entries if the array has met those:
//
//	entries of the chunk | values of plain pages, one for each row
//
// The bytes lie in output.data.
type dictOutput struct {
	ends *arrowmem.Buffer // of the array's own dictionary, n+1; nil = the chunk's serves
	n    int              // entries of its own
	base int              // where the chunk's entries begin
	used bool             // the chunk's entries are part of it
}

// appendIndices appends up to n rows of an open page as indices.
func (c *Column) appendIndices(n int) (int, error) {
	if c.pg.Encoding.Dictionary() {
		return n, c.chunkIndices(n)
	}
	return c.ownIndices(n)
}

func (c *Column) indices(n int) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(c.out.vals.Buf()[4*c.out.pos:][:4*n])
}

func (c *Column) spreadIndices(n, valid int) {
	if valid < n {
		o := &c.out
		encoding.Spread(o.vals.Buf()[4*o.pos:][:4*n], o.valid.Buf(), o.pos, n, valid, 4)
	}
}

// chunkIndices decodes indices straight into the array.
func (c *Column) chunkIndices(n int) error {
	o := &c.out
	valid, err := c.mark(n)
	if err != nil {
		return err
	}
	if idx := c.indices(valid); valid > 0 {
		if err := c.pg.indices.Uint32(idx); err != nil {
			return err
		}
		if !encoding.Below(idx, c.dict.n) {
			return errIndex
		}
		if err := c.useChunk(); err != nil {
			return err
		}
		if base := uint32(o.dict.base); base > 0 {
			for i := range idx {
				idx[i] += base
			}
		}
	}
	c.spreadIndices(n, valid)
	return nil
}

// useChunk makes the chunk's entries part of the array's dictionary.
func (c *Column) useChunk() error {
	o := &c.out
	if o.dict.used {
		return nil
	}
	o.dict.used = true
	if o.dict.ends == nil {
		return nil
	}
	o.dict.base = o.dict.n
	return c.addChunk()
}

// addChunk copies the chunk's entries behind those of the array's dictionary.
func (c *Column) addChunk() error {
	o, e := &c.out, &c.dict.text
	size := len(e.Raw) - c.dict.n*int(e.Gap)
	if o.used+size > maxBytes {
		return &TooLargeError{What: "string bytes of one dictionary", Need: int64(o.used + size), Budget: maxBytes}
	}
	c.reserve(size)
	ends := c.ownEnds(c.dict.n)
	for i := range ends {
		o.used += copy(o.data.Buf()[o.used:o.used+size], e.Entry(uint32(i)))
		ends[i] = int32(o.used)
		size -= e.Size(uint32(i))
	}
	o.dict.n += c.dict.n
	return nil
}

// ownEnds makes room for k more entries and gives the place of their ends.
func (c *Column) ownEnds(k int) []int32 {
	d := &c.out.dict
	if d.ends == nil {
		d.ends = c.buffer(4)
		clear(d.ends.Buf())
	}
	have := 4 * (d.n + 1)
	if need := have + 4*k + slack; need > d.ends.Cap() {
		d.ends.Reserve(max(need, 2*d.ends.Cap()))
	}
	d.ends.ResizeNoShrink(have + 4*k)
	return arrow.Int32Traits.CastFromBytes(d.ends.Bytes()[have:])
}

// ownIndices adds the values of another encoding to the array's dictionary.
func (c *Column) ownIndices(n int) (int, error) {
	o := &c.out
	if o.dict.ends == nil && o.dict.used {
		if err := c.addChunk(); err != nil {
			return 0, err
		}
	}
	n, valid, err := c.ready(n)
	if n == 0 || err != nil {
		return 0, err
	}
	wrote, err := c.into(o.data.Buf()[o.used:], c.ownEnds(valid), o.used, valid)
	if err != nil {
		return 0, err
	}
	for i, idx := 0, c.indices(valid); i < valid; i++ {
		idx[i] = uint32(o.dict.n + i)
	}
	c.spreadIndices(n, valid)
	o.dict.n += valid
	o.used += wrote
	return n, nil
}

// finishDict makes the array from its validity and indices.
func (c *Column) finishDict(bufs []*arrowmem.Buffer) arrow.Array {
	o := &c.out
	t := storageOf(c.plan.Out).(*arrow.DictionaryType)
	if o.dict.ends == nil && o.dict.used && c.dict.arr == nil {
		c.dict.arr = c.entries(t.ValueType)
	}
	var dict arrow.Array
	if o.dict.ends == nil && o.dict.used {
		dict = c.dict.arr
		dict.Retain()
	} else {
		dict = c.ownDictionary(t.ValueType)
	}
	d := array.NewDataWithDictionary(c.plan.Out, o.pos, bufs, o.nulls, 0, dict.Data().(*array.Data))
	arr := array.MakeFromData(d)
	d.Release()
	dict.Release()
	c.dropOutput()
	return arr
}

// ownDictionary is the array's dictionary as an array.
func (c *Column) ownDictionary(t arrow.DataType) arrow.Array {
	o := &c.out
	c.ownEnds(0)
	c.reserve(0)
	trim(o.dict.ends, 4*(o.dict.n+1))
	trim(o.data, o.used)
	return stringArray(t, o.dict.n, o.dict.ends, o.data)
}

// entries makes an array of the chunk's dictionary.
func (c *Column) entries(t arrow.DataType) arrow.Array {
	e, n := &c.dict.text, c.dict.n
	ends, data := c.buffer(4*(n+1)), c.buffer(len(e.Raw)-n*int(e.Gap))
	defer ends.Release()
	defer data.Release()
	to := arrow.Int32Traits.CastFromBytes(ends.Buf())
	used := 0
	to[0] = 0
	for i := range n {
		used += copy(data.Bytes()[used:], e.Entry(uint32(i)))
		to[i+1] = int32(used)
	}
	trim(ends, 4*(n+1))
	trim(data, used)
	return stringArray(t, n, ends, data)
}

func stringArray(t arrow.DataType, n int, ends, data *arrowmem.Buffer) arrow.Array {
	d := array.NewData(t, n, []*arrowmem.Buffer{nil, ends, data}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}
