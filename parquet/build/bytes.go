package build

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// maxAhead bounds the rows whose lengths or indices are held in scratch memory at once.
const maxAhead = 1 << 16

// dictionaryStep is how many string bytes are reserved for dictionary values without adding up their lengths.
const dictionaryStep = 256 << 10

// appendBytes appends up to n rows of an open page and returns how many: fewer if the array's string bytes end there.
func (c *Column) appendBytes(n int) (int, error) {
	o := &c.out
	n, valid, err := c.ready(n)
	if n == 0 || err != nil {
		return 0, err
	}
	ends := arrow.Int32Traits.CastFromBytes(o.vals.Buf())[o.pos+1:][:n]
	wrote, err := c.into(o.data.Buf()[o.used:], ends[:valid], o.used, valid)
	if err != nil {
		return 0, err
	}
	if valid < n {
		encoding.SpreadEnds(ends, int32(o.used), o.valid.Buf(), o.pos, n, valid)
	}
	o.used += wrote
	return n, nil
}

// ready marks up to n rows of an open page, prepares the byte strings of those that have one (valid) and makes room for their bytes.
// It returns fewer rows if the array's string bytes end there.
func (c *Column) ready(n int) (rows, valid int, err error) {
	o := &c.out
	n = min(n, maxAhead)
	if c.pg.Encoding.Dictionary() {
		n = min(n, max(dictionaryStep/max(c.dict.text.MaxLen, 1), 64), step)
	}
	levels, nulls := c.pg.levels, o.nulls
	if valid, err = c.mark(n); err != nil {
		return 0, 0, err
	}
	need, k, err := c.ahead(valid, int(c.opt.SoftBytes)-o.used, maxBytes-o.used)
	if err != nil {
		return 0, 0, err
	}
	if k < valid {
		if n, err = c.cutRows(n, k, levels, nulls); err != nil {
			return 0, 0, err
		}
		valid = k
	}
	c.reserve(need)
	return n, valid, nil
}

// cutRows takes back rows that were marked until only k values are left, and returns how many rows that makes.
func (c *Column) cutRows(n, k int, levels encoding.Bits, nulls int) (int, error) {
	o := &c.out
	if !c.pg.nulls {
		if o.valid != nil {
			encoding.ClearBits(o.valid.Buf(), o.pos+k, n-k)
		}
		return k, nil
	}
	rows := n
	if o.valid == nil { // a run of ones
		rows = k
	} else {
		b := o.valid.Buf()
		for at, seen := o.pos, 0; ; at, seen = at+1, seen+1 {
			at = encoding.NextOne(b, at, o.pos+n)
			if at == o.pos+n || seen == k {
				rows = at - o.pos
				break
			}
		}
		encoding.ClearBits(b, o.pos+rows, n-rows)
	}
	o.nulls = nulls + rows - k
	c.pg.levels = levels
	_, err := c.pg.levels.Skip(rows)
	return rows, err
}

// ahead prepares the next n byte strings of the page for into. It returns how many of them (k) stay within soft bytes all
// together, or the first alone if that stays within hard; and the bytes they need at most.
func (c *Column) ahead(n, soft, hard int) (need, k int, err error) {
	pg := &c.pg
	switch {
	case n == 0:
		return 0, 0, nil
	case pg.Encoding.Dictionary():
		return c.aheadIndices(n, soft, hard)
	case pg.Encoding == thrift.DeltaLengthByteArray:
		return c.aheadLengths(n, soft, hard)
	case pg.Encoding == thrift.DeltaByteArray:
		return c.aheadPrefixes(n, soft, hard)
	case c.plan.physical == thrift.FixedLenByteArray:
		w := c.plan.width
		k = fitEqual(n, w, soft, hard)
		return k * w, k, nil
	}
	return c.aheadPlain(n, soft, hard)
}

func fitEqual(n, width, soft, hard int) int {
	switch {
	case n*width <= soft:
		return n
	case soft >= width:
		return soft / width
	case width <= hard:
		return 1
	}
	return 0
}

// fit counts the lengths that stay within soft together.
func fit(lengths []int32, soft, hard int) (need, k int, err error) {
	for i, v := range lengths {
		if v < 0 {
			return 0, 0, errValues
		}
		if need+int(v) > soft && (i > 0 || int(v) > hard) {
			return need, i, nil
		}
		need += int(v)
	}
	return need, len(lengths), nil
}

// aheadIndices needs no look at the values as long as even the longest would fit; into checks the indices then.
func (c *Column) aheadIndices(n, soft, hard int) (need, k int, err error) {
	d := &c.dict
	mark := c.pg.indices
	c.s.idx = grow(c.s.idx, n)
	if err := c.pg.indices.Uint32(c.s.idx); err != nil {
		return 0, 0, err
	}
	if worst := n * d.text.MaxLen; worst <= soft && worst <= dictionaryStep {
		return worst, n, nil
	}
	if !encoding.Below(c.s.idx, d.n) {
		return 0, 0, errIndex
	}
	for k < n {
		l := d.text.Size(c.s.idx[k])
		if need+l > soft && (k > 0 || l > hard) {
			break
		}
		need, k = need+l, k+1
	}
	if k == n {
		return need, n, nil
	}
	c.pg.indices = mark
	return need, k, c.pg.indices.Skip(k)
}

func (c *Column) aheadLengths(n, soft, hard int) (need, k int, err error) {
	c.s.suffix = grow(c.s.suffix, n)
	mark := c.pg.delta
	if err := c.pg.delta.Int32(c.s.suffix); err != nil {
		return 0, 0, err
	}
	need, k, err = fit(c.s.suffix, soft, hard)
	if err == nil && k < n {
		c.pg.delta = mark
		err = c.pg.delta.Skip(k)
	}
	if err == nil && need > len(c.pg.body) {
		err = errValues
	}
	return need, k, err
}

func (c *Column) aheadPrefixes(n, soft, hard int) (need, k int, err error) {
	s := c.s
	s.prefix, s.suffix = grow(s.prefix, n), grow(s.suffix, n)
	markP, markS := c.pg.prefix, c.pg.delta
	if err := c.pg.prefix.Int32(s.prefix); err != nil {
		return 0, 0, err
	}
	if err := c.pg.delta.Int32(s.suffix); err != nil {
		return 0, 0, err
	}
	last, rest := len(s.prev), len(c.pg.body)
	for k < n {
		p, q := int(s.prefix[k]), int(s.suffix[k])
		if p < 0 || q < 0 || p > last || q > rest {
			return 0, 0, errPrefix
		}
		if need+p+q > soft && (k > 0 || p+q > hard) {
			break
		}
		last, rest = p+q, rest-q
		need, k = need+p+q, k+1
	}
	if k < n {
		c.pg.prefix, c.pg.delta = markP, markS
		if err := c.pg.prefix.Skip(k); err != nil {
			return 0, 0, err
		}
		return need, k, c.pg.delta.Skip(k)
	}
	return need, k, nil
}

func (c *Column) aheadPlain(n, soft, hard int) (need, k int, err error) {
	b := c.pg.body
	if len(b)/4 < n {
		return 0, 0, errValues
	}
	if worst := len(b) - 4*n; worst <= soft && n >= c.pg.left/4 {
		return worst, n, nil
	}
	for k < n {
		if len(b) < 4 {
			return 0, 0, errValues
		}
		l := int(le.Uint32(b))
		if l > len(b)-4 {
			return 0, 0, errValues
		}
		if need+l > soft && (k > 0 || l > hard) {
			break
		}
		need, k, b = need+l, k+1, b[4+l:]
	}
	return need, k, nil
}

// into writes the k byte strings that ahead prepared behind each other into dst, and their ends, counted from base.
func (c *Column) into(dst []byte, ends []int32, base, k int) (wrote int, err error) {
	pg := &c.pg
	switch {
	case k == 0:
		return 0, nil
	case pg.Encoding.Dictionary():
		wrote, ok := encoding.Strings(dst, ends, base, &c.dict.text, c.s.idx[:k])
		if !ok {
			return 0, errIndex
		}
		return wrote, nil
	case pg.Encoding == thrift.DeltaLengthByteArray:
		for i, v := range c.s.suffix[:k] {
			wrote += int(v)
			ends[i] = int32(base + wrote)
		}
		copy(dst, pg.body[:wrote])
		pg.body = pg.body[wrote:]
		return wrote, nil
	case pg.Encoding == thrift.DeltaByteArray:
		return c.prefixed(dst, ends, base, k), nil
	case c.plan.physical == thrift.FixedLenByteArray:
		return c.fixedInto(dst, ends, base, k)
	}
	read, wrote, ok := encoding.Plain(dst, ends, base, pg.body)
	if !ok {
		return 0, errValues
	}
	pg.body = pg.body[read:]
	return wrote, nil
}

// prefixed builds values of DELTA_BYTE_ARRAY, whose lengths aheadPrefixes has checked.
func (c *Column) prefixed(dst []byte, ends []int32, base, k int) int {
	s, pg := c.s, &c.pg
	prev, at := s.prev, 0
	for i := range k {
		p, q := int(s.prefix[i]), int(s.suffix[i])
		v := dst[at : at+p+q]
		copy(v, prev[:p])
		copy(v[p:], pg.body[:q])
		pg.body = pg.body[q:]
		prev, at = v, at+p+q
		ends[i] = int32(base + at)
	}
	s.prev = append(s.prev[:0], prev...)
	return at
}

func (c *Column) fixedInto(dst []byte, ends []int32, base, k int) (int, error) {
	w := c.plan.width
	n := k * w
	if c.pg.Encoding == thrift.ByteStreamSplit {
		if err := c.pg.split.Next(dst[:n]); err != nil {
			return 0, err
		}
	} else {
		if len(c.pg.body) < n {
			return 0, errValues
		}
		copy(dst, c.pg.body[:n])
		c.pg.body = c.pg.body[n:]
	}
	for i := range ends {
		ends[i] = int32(base + (i+1)*w)
	}
	return n, nil
}
