package build

import (
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// viewOutput is what the views of an array refer to: pages and the dictionary as they were decompressed, and string bytes put
// together here (output.data), where an encoding has no whole values to refer to. Each buffer has memory of its own, from the
// allocator of arrays: an array never holds the bytes that were fetched.
type viewOutput struct {
	bufs []*arrowmem.Buffer // one reference each; nil is the place of output.data
	data int                // the place of output.data, counted from 1; 0 = not there yet
	dict int                // the place of the dictionary's buffer, likewise
	held int64              // bytes of pages
	long int64              // of them, bytes of values that views refer to
}

func (v *viewOutput) release() {
	for _, b := range v.bufs {
		if b != nil {
			b.Release()
		}
	}
}

// add takes a reference to b and returns its place, counted from 1.
func (v *viewOutput) add(b *arrowmem.Buffer) int {
	if b != nil {
		b.Retain()
	}
	v.bufs = append(v.bufs, b)
	return len(v.bufs)
}

// viewable: views will refer to the values of the page at the cursor.
func (c *Column) viewable() bool { return c.plan.sink == sinkView && c.pg.Encoding == thrift.Plain }

// dropPage gives up the buffer of the page at the cursor; arrays that refer to it keep it.
func (c *Column) dropPage() {
	if c.pg.buf != nil {
		c.pg.buf.Release()
		c.pg.buf = nil
	}
	c.pg.bufAt = 0
}

// ownValues copies values out of the bytes at hand, unless they were decompressed.
func (c *Column) ownValues() {
	if !c.viewable() {
		return
	}
	if c.pg.buf != nil {
		trim(c.pg.buf, c.pg.buf.Len())
		return
	}
	b := c.pg.body
	c.pg.buf = c.buffer(len(b))
	trim(c.pg.buf, len(b))
	c.pg.body = c.pg.buf.Bytes()
	copy(c.pg.body, b)
}

// appendViews appends up to n rows of an open page as views.
func (c *Column) appendViews(n int) (int, error) {
	o := &c.out
	switch e := c.pg.Encoding; {
	case e == thrift.Plain, e.Dictionary():
	default:
		return c.copiedViews(n)
	}
	valid, err := c.mark(n)
	if err != nil {
		return 0, err
	}
	dst := o.vals.Buf()[o.pos*encoding.ViewWidth:][:n*encoding.ViewWidth]
	if valid > 0 {
		if err := c.viewsOf(dst[:valid*encoding.ViewWidth], valid); err != nil {
			return 0, err
		}
	}
	if valid < n {
		encoding.Spread(dst, o.valid.Buf(), o.pos, n, valid, encoding.ViewWidth)
	}
	return n, nil
}

// viewsOf makes the views of the next n values, n > 0.
func (c *Column) viewsOf(dst []byte, n int) error {
	pg, v := &c.pg, &c.out.views
	if pg.Encoding.Dictionary() {
		if v.dict == 0 {
			v.dict = v.add(c.dict.buf)
		}
		c.dictViews(v.dict)
		return pg.indices.Gather(dst, c.dict.views, encoding.ViewWidth)
	}
	if pg.bufAt == 0 {
		pg.bufAt = v.add(pg.buf)
		v.held += int64(pg.buf.Len())
	}
	at, number := pg.buf.Len()-len(pg.body), uint32(pg.bufAt-1)
	if c.plan.physical == thrift.ByteArray {
		read, long, ok := encoding.Views(dst, pg.body, at, number)
		if !ok {
			return errValues
		}
		pg.body = pg.body[read:]
		v.long += int64(long)
		return nil
	}
	w := c.plan.width
	if len(pg.body) < n*w {
		return errValues
	}
	for i := range n {
		encoding.View(dst[i*encoding.ViewWidth:], pg.body[i*w:], w, at+i*w, number)
	}
	pg.body = pg.body[n*w:]
	v.long += int64(n * w)
	return nil
}

// dictViews makes views of the dictionary's entries, for arrays in which its buffer has place at.
func (c *Column) dictViews(at int) {
	d := &c.dict
	if d.at == at {
		return
	}
	d.at = at
	c.s.conv = growBytes(c.s.conv, d.n*encoding.ViewWidth)
	d.views = c.s.conv
	for i := range d.n {
		from := int(d.text.Starts[i] + d.text.Gap)
		encoding.View(d.views[i*encoding.ViewWidth:], d.text.Raw[from:], d.text.Size(uint32(i)), from, uint32(at-1))
	}
}

// copiedViews is for encodings whose values are put together.
func (c *Column) copiedViews(n int) (int, error) {
	o := &c.out
	n, valid, err := c.ready(n)
	if n == 0 || err != nil {
		return 0, err
	}
	if o.views.data == 0 {
		o.views.data = o.views.add(nil)
	}
	c.s.ends = grow(c.s.ends, valid)
	wrote, err := c.into(o.data.Buf()[o.used:], c.s.ends, o.used, valid)
	if err != nil {
		return 0, err
	}
	dst := o.vals.Buf()[o.pos*encoding.ViewWidth:][:n*encoding.ViewWidth]
	data, from := o.data.Buf()[:o.used+wrote], o.used
	for i, end := range c.s.ends {
		encoding.View(dst[i*encoding.ViewWidth:], data[from:], int(end)-from, from, uint32(o.views.data-1))
		from = int(end)
	}
	if valid < n {
		encoding.Spread(dst, o.valid.Buf(), o.pos, n, valid, encoding.ViewWidth)
	}
	o.used += wrote
	return n, nil
}

// sparsePages: pages of which so little is referred to are not kept for it.
const sparsePages = 4

// viewBuffers gives the buffers that the views refer to, lent; dropOutput releases them.
func (c *Column) viewBuffers() []*arrowmem.Buffer {
	o := &c.out
	v := &o.views
	if v.data > 0 {
		trim(o.data, o.used)
		o.data.Retain()
		v.bufs[v.data-1] = o.data
	}
	if sparse(v.held, v.long) {
		c.gatherPages()
	}
	return v.bufs
}

// sparse reports that so little of what is held is referred to that it is better copied.
func sparse(held, referred int64) bool { return held > sparsePages*referred+64<<10 }

// gatherPages copies the values that lie in pages into a buffer of their own, and lets go of the pages.
func (c *Column) gatherPages() {
	o := &c.out
	v := &o.views
	page := func(i int) bool { return i != v.data-1 && i != v.dict-1 }
	var valid []byte
	if o.nulls > 0 {
		valid = o.valid.Buf()
	}
	into := c.buffer(int(v.long))
	bufs := gatherViews(into, o.vals.Bytes(), valid, v.bufs, page)
	for i, b := range v.bufs {
		if page(i) {
			b.Release()
		}
	}
	v.bufs = bufs
}

// gatherViews copies the values that lie in buffers for which move holds into one, which has room for them, and changes the views of
// all rows accordingly. valid nil = no nulls; the views of nulls are cleared. It returns the other buffers and into.
func gatherViews(into *arrowmem.Buffer, views, valid []byte, bufs []*arrowmem.Buffer, move func(int) bool) []*arrowmem.Buffer {
	kept := make([]uint32, len(bufs)) // new places
	var left []*arrowmem.Buffer
	for i, b := range bufs {
		if !move(i) {
			kept[i] = uint32(len(left))
			left = append(left, b)
		}
	}
	out := into.Bytes()[:0]
	for row := range len(views) / encoding.ViewWidth {
		w := views[row*encoding.ViewWidth:][:encoding.ViewWidth]
		k := int(le.Uint32(w))
		switch {
		case valid != nil && valid[row>>3]>>(row&7)&1 == 0:
			clear(w)
		case k <= encoding.Inline:
		default:
			i, at := int(le.Uint32(w[8:])), int(le.Uint32(w[12:]))
			if !move(i) {
				le.PutUint32(w[8:], kept[i])
				continue
			}
			le.PutUint32(w[8:], uint32(len(left)))
			le.PutUint32(w[12:], uint32(len(out)))
			out = append(out, bufs[i].Bytes()[at:at+k]...)
		}
	}
	trim(into, len(out))
	return append(left, into)
}
