package build

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// output is the array being built.
type output struct {
	rows  int // capacity
	pos   int // rows done
	nulls int
	vals  *arrowmem.Buffer // values, offsets or bits; nil until the first row
	head  int              // bytes of vals before the first value, see direct
	valid *arrowmem.Buffer // nil until the first null
	data  *arrowmem.Buffer // string bytes
	used  int              // of data
	views viewOutput
	dict  dictOutput
}

// maxBytes is the most string bytes an array can hold: its offsets are 32 bits wide.
const maxBytes = 1<<31 - 1

func (c *Column) buffer(n int) *arrowmem.Buffer {
	b := arrowmem.NewResizableBuffer(c.opt.Allocator)
	b.Reserve(n + slack)
	b.ResizeNoShrink(n)
	return b
}

// fixed is the place of the values of fixed width.
func (o *output) fixed() []byte { return o.vals.Buf()[o.head:] }

// begin makes the value buffer for the rows announced.
func (c *Column) begin() {
	o := &c.out
	if o.vals != nil {
		return
	}
	switch c.plan.sink {
	case sinkFixed:
		if c.plan.nullable && c.plan.conv.kind == convNone && c.codec != thrift.Uncompressed {
			o.head = slack
		}
		o.vals = c.buffer(o.head + o.rows*c.plan.outWidth)
	case sinkBool:
		o.vals = c.buffer((o.rows + 7) / 8)
		clear(o.vals.Buf())
	case sinkBytes:
		o.vals = c.buffer(4 * (o.rows + 1))
		clear(o.vals.Buf()[:4])
	case sinkView:
		o.vals = c.buffer(encoding.ViewWidth * o.rows)
	case sinkDict:
		o.vals = c.buffer(4 * o.rows)
	case sinkNull:
		o.vals = c.buffer(0)
	}
}

// bitmap is the validity, with a bit set for every row so far.
func (c *Column) bitmap() []byte {
	o := &c.out
	if o.valid == nil {
		o.valid = c.buffer((o.rows + 7) / 8)
		clear(o.valid.Buf())
		encoding.SetBits(o.valid.Buf(), 0, o.pos)
	}
	return o.valid.Buf()
}

// reserve makes room for n more string bytes and the slack of kernels. The first time, and whenever that is too little, it
// makes room for all rows announced, by what a row has taken so far.
func (c *Column) reserve(n int) {
	o := &c.out
	if o.data == nil {
		o.data = arrowmem.NewResizableBuffer(c.opt.Allocator)
	}
	need := o.used + n + slack
	if o.data.Cap() >= need {
		return
	}
	guess := max(need, o.data.Cap()/4*5, o.used+int(c.bytesPerRow(n)*float64(o.rows-o.pos)*1.05))
	if limit := int(c.opt.SoftBytes); guess > limit {
		guess = max(limit, min(2*o.data.Cap(), maxBytes))
	}
	o.data.Reserve(max(need, guess))
}

// bytesPerRow estimates string bytes: by the rows so far, else by the dictionary's entries, else by the n bytes of the page at
// the cursor.
func (c *Column) bytesPerRow(n int) float64 {
	switch o, d := &c.out, &c.dict; {
	case o.pos > 0:
		return float64(o.used) / float64(o.pos)
	case c.pg.Encoding.Dictionary() && d.n > 0:
		return float64(len(d.text.Raw))/float64(d.n) - float64(d.text.Gap)
	default:
		return float64(n) / float64(max(c.pg.left, 1))
	}
}

// Rows is how many rows were appended since Begin.
func (c *Column) Rows() int { return c.out.pos }

// Begin starts an array of at most rows rows.
func (c *Column) Begin(rows int) {
	c.dropOutput()
	c.out.rows = rows
}

func (c *Column) dropOutput() {
	for _, b := range []*arrowmem.Buffer{c.out.vals, c.out.valid, c.out.data, c.out.dict.ends} {
		if b != nil {
			b.Release()
		}
	}
	c.out.views.release()
	c.pg.bufAt = 0
	c.out = output{}
}

// Finish returns the array of the rows appended since Begin; the caller releases it. Begin must follow before the next
// Append.
func (c *Column) Finish() arrow.Array {
	c.begin()
	o := &c.out
	if c.plan.sink == sinkNull {
		n := o.pos
		c.dropOutput()
		return array.NewNull(n)
	}
	bufs := []*arrowmem.Buffer{nil, o.vals}
	if o.nulls > 0 {
		bufs[0] = o.valid
		trim(o.valid, (o.pos+7)/8)
	}
	switch c.plan.sink {
	case sinkFixed:
		trim(o.vals, o.head+o.pos*c.plan.outWidth)
		if o.head > 0 {
			b := arrowmem.SliceBuffer(o.vals, o.head, o.pos*c.plan.outWidth)
			o.vals.Release()
			o.vals, bufs[1] = b, b
		}
	case sinkBool:
		trim(o.vals, (o.pos+7)/8)
	case sinkBytes:
		trim(o.vals, 4*(o.pos+1))
		if o.data == nil {
			o.data = c.buffer(0)
		}
		if waste := o.data.Cap() - o.used; waste > 1<<20 && waste > o.used/4 {
			o.data.Resize(o.used)
		}
		trim(o.data, o.used)
		bufs = append(bufs, o.data)
	case sinkView:
		trim(o.vals, encoding.ViewWidth*o.pos)
		bufs = append(bufs, c.viewBuffers()...)
	case sinkDict:
		trim(o.vals, 4*o.pos)
		return c.finishDict(bufs)
	}
	d := array.NewData(c.plan.Out, o.pos, bufs, nil, o.nulls, 0)
	arr := array.MakeFromData(d)
	d.Release()
	c.dropOutput()
	return arr
}

// trim sets a buffer's length and clears what a reader of whole words may see beyond it.
func trim(b *arrowmem.Buffer, n int) {
	b.ResizeNoShrink(n)
	buf := b.Buf()
	clear(buf[n:min(len(buf), (n+63)&^63)])
}
