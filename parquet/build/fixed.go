package build

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// step is how many values are decoded at once where they pass through scratch memory.
const step = 4096

// appendFixed appends n rows of an open page: values dense at first, then moved to their rows.
func (c *Column) appendFixed(n int) error {
	valid, err := c.mark(n)
	if err != nil {
		return err
	}
	o, w := &c.out, c.plan.outWidth
	out := o.fixed()[o.pos*w : (o.pos+n)*w]
	if err := c.fixedValues(out[:valid*w], valid); err != nil {
		return err
	}
	if valid < n {
		encoding.Spread(out, o.valid.Buf(), o.pos, n, valid, w)
	}
	return nil
}

// fixedValues decodes the next n values into dst.
func (c *Column) fixedValues(dst []byte, n int) error {
	pg, plan := &c.pg, c.plan
	if pg.Encoding.Dictionary() {
		return pg.indices.Gather(dst, c.dict.vals, plan.outWidth)
	}
	if plan.physical == thrift.ByteArray {
		return c.fixedFromBytes(dst, n)
	}
	if pg.Encoding == thrift.Plain {
		k := n * plan.width
		if len(pg.body) < k {
			return errValues
		}
		b := pg.body[:k]
		pg.body = pg.body[k:]
		return plan.apply(dst, b, n)
	}
	if plan.conv.kind == convNone {
		return c.storedValues(dst, n)
	}
	for n > 0 {
		k := min(n, step)
		c.s.tmp = growBytes(c.s.tmp, k*plan.width)
		if err := c.storedValues(c.s.tmp, k); err != nil {
			return err
		}
		if err := plan.apply(dst, c.s.tmp, k); err != nil {
			return err
		}
		dst, n = dst[k*plan.outWidth:], n-k
	}
	return nil
}

// storedValues decodes n values of fixed width as they are stored, for encodings other than PLAIN and dictionaries.
func (c *Column) storedValues(dst []byte, n int) error {
	pg := &c.pg
	switch pg.Encoding {
	case thrift.DeltaBinaryPacked:
		if c.plan.width == 4 {
			return pg.delta.Int32(arrow.Int32Traits.CastFromBytes(dst[:4*n]))
		}
		return pg.delta.Int64(arrow.Int64Traits.CastFromBytes(dst[:8*n]))
	case thrift.ByteStreamSplit:
		return pg.split.Next(dst[:n*c.plan.width])
	}
	return c.fixedFromPrefixes(dst, n)
}

// fixedFromPrefixes: DELTA_BYTE_ARRAY of fixed-length values.
func (c *Column) fixedFromPrefixes(dst []byte, n int) error {
	w := c.plan.width
	for n > 0 {
		k := min(n, step)
		need, k, err := c.ahead(k, k*w, k*w)
		if err != nil {
			return err
		}
		if k == 0 || need != k*w {
			return errFixed
		}
		c.s.ends = grow(c.s.ends, k)
		c.prefixed(dst[:k*w], c.s.ends, 0, k)
		for i, e := range c.s.ends {
			if int(e) != (i+1)*w {
				return errFixed
			}
		}
		dst, n = dst[k*w:], n-k
	}
	return nil
}

// fixedFromBytes converts byte arrays one by one.
func (c *Column) fixedFromBytes(dst []byte, n int) error {
	w := c.plan.outWidth
	for n > 0 {
		k := min(n, step)
		need, k, err := c.ahead(k, 1<<20, int(min(c.opt.MaxPage, maxBytes)))
		if err != nil {
			return err
		}
		if k == 0 {
			return errRange
		}
		c.s.tmp, c.s.ends = growBytes(c.s.tmp, need), grow(c.s.ends, k)
		if _, err := c.into(c.s.tmp, c.s.ends, 0, k); err != nil {
			return err
		}
		from := 0
		for i, e := range c.s.ends {
			if err := c.plan.applyBytes(dst[i*w:(i+1)*w], c.s.tmp[from:e]); err != nil {
				return err
			}
			from = int(e)
		}
		dst, n = dst[k*w:], n-k
	}
	return nil
}

// appendBools appends n rows of an open page.
func (c *Column) appendBools(n int) error {
	valid, err := c.mark(n)
	if err != nil {
		return err
	}
	o := &c.out
	if valid == n {
		_, err = c.pg.bits.Append(o.vals.Buf(), o.pos, n)
		return err
	}
	c.s.bits = grow(c.s.bits, (valid+7)/8+16)
	clear(c.s.bits)
	if _, err = c.pg.bits.Append(c.s.bits, 0, valid); err != nil {
		return err
	}
	encoding.SpreadBits(o.vals.Buf(), o.valid.Buf(), o.pos, n, c.s.bits)
	return nil
}
