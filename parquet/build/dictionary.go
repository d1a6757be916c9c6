package build

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// dictState is the chunk's dictionary; it lives as long as the chunk, whatever pages come between.
type dictState struct {
	page page.Page
	met  bool
	open bool
	kept bool // page.Body is a copy
	n    int
	mem  []byte // of the page, from opt.Pages
	vals []byte // entries in the array's width, sinkFixed
	text encoding.Entries

	buf   *arrowmem.Buffer // of Raw, if views refer to it
	views []byte           // entries as views, which name buffer at of their array
	at    int              // 0 = views are not made
	arr   arrow.Array      // entries as an array, for arrays of indices
}

func (d *dictState) release() {
	if d.buf != nil {
		d.buf.Release()
	}
	if d.arr != nil {
		d.arr.Release()
	}
}

// openDictionary decodes the dictionary page when the first page needs it.
func (c *Column) openDictionary() error {
	d := &c.dict
	if d.open {
		return nil
	}
	if !d.met {
		return fmt.Errorf("%w: dictionary indices without a dictionary page", ErrCorrupt)
	}
	p := &d.page
	if p.Encoding != thrift.Plain && p.Encoding != thrift.PlainDictionary {
		return fmt.Errorf("%w: dictionary page encoded as %v", ErrCorrupt, p.Encoding)
	}
	if err := c.sized(p); err != nil {
		return err
	}
	verified, err := c.verify(p)
	if err != nil {
		return err
	}
	var b []byte
	// The dictionary outlives the bytes at hand, so it is never left where it lies.
	if c.codec != thrift.Uncompressed && (len(p.Body) > 0 || p.UncompressedSize > 0) {
		b = c.dictMemory(int(p.UncompressedSize))
		if err := c.dec.Decode(c.codec, b, p.Body, verified); err != nil {
			return err
		}
	} else {
		b = c.dictMemory(len(p.Body))
		copy(b, p.Body)
	}
	d.open, d.page.Body = true, nil
	if d.buf != nil {
		trim(d.buf, d.buf.Len())
	}
	if c.plan.physical == thrift.ByteArray {
		return c.openStrings(b, int(p.NumValues))
	}
	return c.openFixed(b, int(p.NumValues))
}

// dictMemory is where the dictionary page is decompressed to.
func (c *Column) dictMemory(n int) []byte {
	if c.plan.sink == sinkView {
		c.dict.buf = c.buffer(n)
		return c.dict.buf.Bytes()
	}
	if !c.later { // with luck the chunk ends with this call
		c.s.dict = growBytes(c.s.dict, n)
		return c.s.dict
	}
	return c.lasting(&c.dict.mem, &c.s.dict, n)
}

func (c *Column) openFixed(b []byte, n int) error {
	plan := c.plan
	if int64(n)*int64(plan.width) > int64(len(b)) {
		return fmt.Errorf("%w: dictionary of %d entries in %d bytes", ErrCorrupt, n, len(b))
	}
	d := &c.dict
	d.n = n
	b = b[: n*plan.width : cap(b)]
	switch {
	case plan.Bytes():
		if int64(n)*int64(plan.width) > math.MaxUint32 {
			return &TooLargeError{What: "dictionary", Need: int64(n) * int64(plan.width), Budget: math.MaxUint32}
		}
		c.s.offs = grow(c.s.offs, n+1)
		for i := range c.s.offs {
			c.s.offs[i] = uint32(i * plan.width)
		}
		d.text = encoding.Entries{Raw: b, Starts: c.s.offs, MaxLen: plan.width}
	case plan.conv.kind == convNone:
		d.vals = b
	default:
		c.s.conv = growBytes(c.s.conv, n*plan.outWidth)
		d.vals = c.s.conv
		return plan.apply(d.vals, b, n)
	}
	return nil
}

// openStrings finds the entries of a dictionary of byte arrays.
func (c *Column) openStrings(b []byte, n int) error {
	if n > len(b)/4 {
		return fmt.Errorf("%w: dictionary of %d entries in %d bytes", ErrCorrupt, n, len(b))
	}
	d := &c.dict
	d.n = n
	c.s.offs = grow(c.s.offs, n+1)
	starts := c.s.offs
	at, longest := 0, 0
	for i := range n {
		if len(b)-at < 4 {
			return errValues
		}
		k := int(le.Uint32(b[at:]))
		if k > len(b)-at-4 {
			return fmt.Errorf("%w: dictionary entry of %d bytes, %d left", ErrCorrupt, k, len(b)-at-4)
		}
		starts[i] = uint32(at)
		at += 4 + k
		longest = max(longest, k)
	}
	starts[n] = uint32(at)
	d.text = encoding.Entries{Raw: b, Starts: starts, Gap: 4, MaxLen: longest}
	if c.plan.sink == sinkFixed {
		return c.convertStrings()
	}
	return nil
}

// convertStrings makes fixed-width entries of byte arrays.
func (c *Column) convertStrings() error {
	d, w := &c.dict, c.plan.outWidth
	if int64(d.n)*int64(w) > c.opt.MaxPage {
		return &TooLargeError{What: "dictionary", Need: int64(d.n) * int64(w), Budget: c.opt.MaxPage}
	}
	c.s.conv = growBytes(c.s.conv, d.n*w)
	d.vals = c.s.conv
	for i := range d.n {
		if err := c.plan.applyBytes(d.vals[i*w:(i+1)*w], d.text.Entry(uint32(i))); err != nil {
			return err
		}
	}
	return nil
}
