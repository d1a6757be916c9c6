package build

import "github.com/lakescan/lakescan/parquet/thrift"

// skipSome passes over n rows of an open page, n < its rows.
func (c *Column) skipSome(n int) error {
	valid := n
	if c.pg.nulls {
		var err error
		if valid, err = c.pg.levels.Skip(n); err != nil {
			return err
		}
	}
	return c.skipValues(valid)
}

func (c *Column) skipValues(n int) error {
	pg, plan := &c.pg, c.plan
	switch e := pg.Encoding; {
	case plan.sink == sinkBool:
		_, err := pg.bits.Skip(n)
		return err
	case e.Dictionary():
		return pg.indices.Skip(n)
	case e == thrift.DeltaBinaryPacked:
		return pg.delta.Skip(n)
	case e == thrift.ByteStreamSplit:
		return pg.split.Skip(n)
	case e == thrift.Plain && plan.physical != thrift.ByteArray:
		if len(pg.body) < n*plan.width {
			return errValues
		}
		pg.body = pg.body[n*plan.width:]
		return nil
	}
	return c.skipBytes(n)
}

// skipBytes passes over byte strings; those of DELTA_BYTE_ARRAY are built, since the next one needs the one before.
func (c *Column) skipBytes(n int) error {
	limit := int(min(c.opt.MaxPage, maxBytes))
	for n > 0 {
		need, k, err := c.ahead(min(n, step), min(limit, 1<<20), limit)
		if err != nil {
			return err
		}
		if k == 0 {
			return errRange
		}
		switch c.pg.Encoding {
		case thrift.DeltaLengthByteArray:
			c.pg.body = c.pg.body[need:]
		case thrift.DeltaByteArray:
			c.s.tmp, c.s.ends = growBytes(c.s.tmp, need), grow(c.s.ends, k)
			c.prefixed(c.s.tmp, c.s.ends, 0, k)
		default:
			for range k { // lengths were not checked if a bound was enough
				if len(c.pg.body) < 4 {
					return errValues
				}
				l := int(le.Uint32(c.pg.body))
				if l > len(c.pg.body)-4 {
					return errValues
				}
				c.pg.body = c.pg.body[4+l:]
			}
		}
		n -= k
	}
	return nil
}
