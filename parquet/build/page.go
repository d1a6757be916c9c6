package build

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// direct decompresses a PLAIN page of fixed width, as wide as the array's values, into the array itself. It reports false
// if the page is not of that kind or turns out to hold nulls; the page is then open or unread.
//
// In a v1 page the levels come before the values. When all rows have values they are one short run, which lands on the
// values before and is taken off again:
//
//	array   … v7 v8 v9 | …            save the last bytes, decompress the page over them,
//	page         [levels] v10 v11 …   check the levels, put the bytes back
func (c *Column) direct() (bool, error) {
	p, plan := &c.pg.Page, c.plan
	if plan.sink != sinkFixed || plan.conv.kind != convNone || p.Encoding != thrift.Plain || c.codec == thrift.Uncompressed || p.Plain {
		return false, nil
	}
	n := c.pg.left
	if p.Type == thrift.DataPageV2 {
		return c.directV2(n)
	}
	pre := int(p.UncompressedSize) - n*plan.width
	at := c.out.head + c.out.pos*plan.outWidth
	if pre < 0 || pre > at || pre > 16 || plan.nullable && pre < 5 || !plan.nullable && pre != 0 || plan.nullable && p.DefinitionEncoding != thrift.RLE {
		return false, nil
	}
	if err := c.sized(p); err != nil {
		return false, err
	}
	verified, err := c.verify(p)
	if err != nil {
		return false, err
	}
	buf := c.out.vals.Buf()
	var save [16]byte
	copy(save[:pre], buf[at-pre:at])
	dst := buf[at-pre : at+n*plan.width]
	if err := c.dec.Decode(c.codec, dst, p.Body, verified); err != nil {
		return false, err
	}
	if plan.nullable && !onesOnly(dst[:pre], n) {
		c.later = false
		b := c.pageMemory(len(dst))
		copy(b, dst)
		copy(buf[at-pre:at], save[:pre])
		return false, c.openV1(b)
	}
	copy(buf[at-pre:at], save[:pre])
	c.present(n)
	return true, nil
}

// onesOnly reports whether the levels of a v1 page, with their length, are one run of ones for n rows.
func onesOnly(b []byte, n int) bool {
	if len(b) < 5 || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-4) {
		return false
	}
	h, k := binary.Uvarint(b[4:])
	return k > 0 && h&1 == 0 && h>>1 >= uint64(n) && 4+k < len(b) && b[4+k] == 1
}

func (c *Column) directV2(n int) (bool, error) {
	p, plan := &c.pg.Page, c.plan
	parts, size, err := p.SplitV2()
	if err != nil {
		return false, err
	}
	if size != n*plan.width || len(parts.Repetition) > 0 {
		return false, nil
	}
	if plan.nullable {
		var levels encoding.Bits
		levels.Init(parts.Definition)
		if !levels.Ones(n) {
			return false, nil
		}
	}
	if err := c.sized(p); err != nil {
		return false, err
	}
	verified, err := c.verify(p)
	if err != nil {
		return false, err
	}
	at := c.out.head + c.out.pos*plan.outWidth
	if err := c.dec.Decode(c.codec, c.out.vals.Buf()[at:at+size], parts.Values, verified); err != nil {
		return false, err
	}
	c.present(n)
	return true, nil
}

// present marks n rows that all have values, and counts them as done.
func (c *Column) present(n int) {
	if c.out.valid != nil {
		encoding.SetBits(c.out.valid.Buf(), c.out.pos, n)
	}
	c.out.pos += n
}

// openPage verifies, decompresses and splits the page at the cursor. With keep set some of its rows will be read by a later
// call, when the bytes at hand may be others: nothing of them is referred to then.
func (c *Column) openPage(keep bool) error {
	maxDef := 0
	if c.plan.nullable {
		maxDef = 1
	}
	parts, err := c.parts(0, maxDef, keep)
	if err != nil {
		return err
	}
	return c.start(parts)
}

// parts verifies, decompresses and splits the page at the cursor, for a column with these highest levels.
func (c *Column) parts(maxRep, maxDef int, keep bool) (parts page.Parts, err error) {
	p := &c.pg.Page
	c.later = keep
	if err := c.sized(p); err != nil {
		return parts, err
	}
	verified, err := c.verify(p)
	if err != nil {
		return parts, err
	}
	if keep {
		c.keepBody()
	}
	if p.Type == thrift.DataPageV2 {
		var size int
		if parts, size, err = p.SplitV2(); err != nil {
			return parts, err
		}
		if len(parts.Repetition) > 0 && maxRep == 0 {
			return parts, fmt.Errorf("%w: repetition levels in a column that has none", ErrCorrupt)
		}
		if c.codec != thrift.Uncompressed && !p.Plain && (size > 0 || len(parts.Values) > 0) {
			b := c.pageMemory(size)
			err = c.dec.Decode(c.codec, b, parts.Values, verified)
			parts.Values = b
		}
		return parts, err
	}
	body := p.Body
	if c.codec != thrift.Uncompressed && (p.UncompressedSize > 0 || len(body) > 0) {
		b := c.pageMemory(int(p.UncompressedSize))
		if err := c.dec.Decode(c.codec, b, body, verified); err != nil {
			return parts, err
		}
		body = b
	}
	return p.SplitV1(body, maxRep, maxDef)
}

// pageMemory is where a page is decompressed to: scratch memory, or a buffer of its own if views will refer to it.
func (c *Column) pageMemory(n int) []byte {
	if c.viewable() {
		c.dropPage()
		c.pg.buf = c.buffer(n)
		return c.pg.buf.Bytes()
	}
	if !c.later {
		c.call.page = growBytes(c.call.page, n)
		return c.call.page
	}
	return c.lasting(&c.page, &c.s.page, n)
}

// keepBody copies what would stay in the bytes at hand: an uncompressed page, the levels of version 2.
func (c *Column) keepBody() {
	if c.codec != thrift.Uncompressed && c.pg.Type == thrift.DataPage {
		return
	}
	c.copyBody()
}

func (c *Column) copyBody() {
	p := &c.pg.Page
	c.s.kept = growBytes(c.s.kept, len(p.Body))
	copy(c.s.kept, p.Body)
	p.Body = c.s.kept
}

func (c *Column) openV1(body []byte) error {
	maxDef := 0
	if c.plan.nullable {
		maxDef = 1
	}
	parts, err := c.pg.SplitV1(body, 0, maxDef)
	if err != nil {
		return err
	}
	return c.start(parts)
}

// start makes the decoders of levels and values ready.
func (c *Column) start(parts page.Parts) error {
	pg := &c.pg
	pg.open, pg.nulls = true, c.plan.nullable
	if c.plan.nullable {
		if pg.Type == thrift.DataPage && pg.DefinitionEncoding == thrift.BitPacked {
			if err := c.oldLevels(parts.Definition); err != nil {
				return err
			}
		} else {
			pg.levels.Init(parts.Definition)
			if pg.levels.Ones(pg.left) {
				pg.nulls = false
			}
		}
	}
	return c.startValues(parts.Values)
}

// oldLevels turns BIT_PACKED levels, most significant bit first, around.
func (c *Column) oldLevels(b []byte) error {
	flipped := make([]byte, len(b))
	for i, x := range b {
		flipped[i] = bits.Reverse8(x)
	}
	return c.pg.levels.InitPlain(flipped, c.pg.left)
}

func (c *Column) startValues(b []byte) (err error) {
	pg := &c.pg
	pg.body = b
	plan := c.plan
	bytes := plan.physical == thrift.ByteArray
	switch e := pg.Encoding; {
	case e == thrift.Plain && plan.sink == sinkBool:
		return pg.bits.InitPlain(b, len(b)*8)
	case e == thrift.Plain:
		c.ownValues()
		return nil
	case e.Dictionary() && plan.sink != sinkBool:
		return c.startIndices(b)
	case e == thrift.RLE && plan.sink == sinkBool:
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return fmt.Errorf("%w: booleans of impossible length", ErrCorrupt)
		}
		pg.bits.InitBooleans(b[4:][:binary.LittleEndian.Uint32(b)])
		return nil
	case e == thrift.DeltaBinaryPacked && (plan.physical == thrift.Int32 || plan.physical == thrift.Int64):
		return pg.delta.Init(b)
	case e == thrift.ByteStreamSplit && plan.width > 0 && plan.physical != thrift.Int96:
		return pg.split.Init(b, plan.width)
	case e == thrift.DeltaLengthByteArray && bytes:
		if err = pg.delta.Init(b); err == nil {
			pg.body, err = pg.delta.End()
		}
		return err
	case e == thrift.DeltaByteArray && (bytes || plan.physical == thrift.FixedLenByteArray):
		c.s.prev = c.s.prev[:0]
		if err = pg.prefix.Init(b); err != nil {
			return err
		}
		if b, err = pg.prefix.End(); err != nil {
			return err
		}
		if err = pg.delta.Init(b); err == nil {
			pg.body, err = pg.delta.End()
		}
		return err
	case e > thrift.ByteStreamSplit || e == 1:
		return fmt.Errorf("%w: encoding %v", ErrUnsupported, e)
	}
	return fmt.Errorf("%w: encoding %v of %v values", ErrCorrupt, pg.Encoding, plan.physical)
}

func (c *Column) startIndices(b []byte) error {
	if err := c.openDictionary(); err != nil {
		return err
	}
	if len(b) == 0 { // a page of nulls may leave out the width
		return c.pg.indices.Init(nil, 1)
	}
	return c.pg.indices.Init(b[1:], uint(b[0]))
}

// mark turns the levels of the next n rows into validity bits and returns how many rows have values.
func (c *Column) mark(n int) (int, error) {
	o := &c.out
	if !c.pg.nulls {
		if o.valid != nil {
			encoding.SetBits(o.valid.Buf(), o.pos, n)
		}
		return n, nil
	}
	if c.pg.levels.Ones(n) {
		if o.valid != nil {
			encoding.SetBits(o.valid.Buf(), o.pos, n)
		}
		return n, nil
	}
	valid, err := c.pg.levels.Append(c.bitmap(), o.pos, n)
	o.nulls += n - valid
	return valid, err
}
