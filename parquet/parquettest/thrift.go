package parquettest

import (
	"encoding/binary"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// compact writes Thrift's compact protocol.
type compact struct {
	b    []byte
	last []int16 // id of the field before, of each open struct
}

const (
	tTrue, tFalse, tByte, tI32, tI64, tBinary, tList, tStruct = 1, 2, 3, 5, 6, 8, 9, 12
)

func (c *compact) begin() { c.last = append(c.last, 0) }

func (c *compact) end() {
	c.b = append(c.b, 0)
	c.last = c.last[:len(c.last)-1]
}

func (c *compact) varint(v uint64) { c.b = binary.AppendUvarint(c.b, v) }
func (c *compact) zigzag(v int64)  { c.varint(uint64(v<<1) ^ uint64(v>>63)) }
func (c *compact) raw(b []byte)    { c.varint(uint64(len(b))); c.b = append(c.b, b...) }

func (c *compact) field(id int16, typ byte) {
	last := &c.last[len(c.last)-1]
	if d := id - *last; d > 0 && d < 16 {
		c.b = append(c.b, byte(d)<<4|typ)
	} else {
		c.b = append(c.b, typ)
		c.zigzag(int64(id))
	}
	*last = id
}

func (c *compact) i32(id int16, v int32)     { c.field(id, tI32); c.zigzag(int64(v)) }
func (c *compact) i64(id int16, v int64)     { c.field(id, tI64); c.zigzag(v) }
func (c *compact) bytes(id int16, v []byte)  { c.field(id, tBinary); c.raw(v) }
func (c *compact) string(id int16, v string) { c.bytes(id, []byte(v)) }

func (c *compact) bool(id int16, v bool) {
	if v {
		c.field(id, tTrue)
	} else {
		c.field(id, tFalse)
	}
}

// structure writes a struct field.
func (c *compact) structure(id int16, f func()) {
	c.field(id, tStruct)
	c.group(f)
}

// group writes a struct without a field header: a list's element, or the outermost one.
func (c *compact) group(f func()) {
	c.begin()
	f()
	c.end()
}

// list writes a list field of n elements.
func (c *compact) list(id int16, typ byte, n int, f func(i int)) {
	c.field(id, tList)
	if n < 15 {
		c.b = append(c.b, byte(n)<<4|typ)
	} else {
		c.b = append(c.b, 15<<4|typ)
		c.varint(uint64(n))
	}
	for i := range n {
		f(i)
	}
}

// pageHeader writes a header; Raw.Version tells v1 from v2 for data pages.
func pageHeader(h *thrift.PageHeader) []byte {
	var c compact
	c.group(func() {
		c.i32(1, int32(h.Type))
		c.i32(2, h.UncompressedSize)
		c.i32(3, h.CompressedSize)
		if h.HasCRC {
			c.i32(4, int32(h.CRC))
		}
		switch h.Type {
		case thrift.DataPage:
			c.structure(5, func() {
				c.i32(1, h.NumValues)
				c.i32(2, int32(h.Encoding))
				c.i32(3, int32(h.DefinitionEncoding))
				c.i32(4, int32(h.RepetitionEncoding))
			})
		case thrift.DictionaryPage:
			c.structure(7, func() {
				c.i32(1, h.NumValues)
				c.i32(2, int32(h.Encoding))
			})
		case thrift.DataPageV2:
			c.structure(8, func() {
				c.i32(1, h.NumValues)
				c.i32(2, h.NumNulls)
				c.i32(3, h.NumRows)
				c.i32(4, int32(h.Encoding))
				c.i32(5, h.DefinitionLength)
				c.i32(6, h.RepetitionLength)
				if h.Plain {
					c.bool(7, false)
				}
			})
		}
	})
	return c.b
}

func (c *compact) element(e *thrift.SchemaElement, root bool) {
	c.group(func() {
		if e.HasType {
			c.i32(1, int32(e.Type))
			if e.TypeLength != 0 {
				c.i32(2, e.TypeLength)
			}
		}
		if !root {
			c.i32(3, int32(e.Repetition))
		}
		c.string(4, e.Name)
		if !e.HasType {
			c.i32(5, e.NumChildren)
		}
		if e.Converted != thrift.NoConverted {
			c.i32(6, int32(e.Converted))
		}
		if e.Scale != 0 {
			c.i32(7, e.Scale)
		}
		if e.Precision != 0 {
			c.i32(8, e.Precision)
		}
		if e.HasFieldID {
			c.i32(9, e.FieldID)
		}
		if e.Logical.Kind != thrift.NoLogical && e.Logical.Kind != thrift.LogicalInterval {
			c.structure(10, func() { c.logical(e.Logical) })
		}
	})
}

func (c *compact) logical(l thrift.Logical) {
	c.structure(int16(l.Kind), func() {
		switch l.Kind {
		case thrift.LogicalDecimal:
			c.i32(1, l.Scale)
			c.i32(2, l.Precision)
		case thrift.LogicalTime, thrift.LogicalTimestamp:
			c.bool(1, l.UTC)
			c.structure(2, func() { c.structure(int16(l.Unit), func() {}) })
		case thrift.LogicalInt:
			c.field(1, tByte)
			c.b = append(c.b, l.BitWidth)
			c.bool(2, l.Signed)
		}
	})
}

func statistics(c *compact, s *thrift.Statistics) {
	opt := func(id int16, b []byte) {
		if b != nil {
			c.bytes(id, b)
		}
	}
	opt(1, s.Max)
	opt(2, s.Min)
	if s.NullCount >= 0 {
		c.i64(3, s.NullCount)
	}
	if s.DistinctCount >= 0 {
		c.i64(4, s.DistinctCount)
	}
	opt(5, s.MaxValue)
	opt(6, s.MinValue)
	if s.NaNCount >= 0 {
		c.i64(9, s.NaNCount)
	}
}
