package thrift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrMalformed is the class of every fault found by this package.
var ErrMalformed = errors.New("thrift: malformed")

// Wire types of the compact protocol.
const (
	wireStop   = 0
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireI16    = 4
	wireI32    = 5
	wireI64    = 6
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
	wireUUID   = 13
)

const maxDepth = 64

// cursor walks bytes and latches the first fault: after it, every read gives zero values and every loop ends.
type cursor struct {
	b     []byte
	pos   int
	depth int
	err   error
}

func (c *cursor) fail(reason string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s at byte %d", ErrMalformed, reason, c.pos)
	}
	c.pos = len(c.b)
}

// uvarint is an unsigned LEB128 number of at most 64 bits.
func (c *cursor) uvarint() uint64 {
	if c.pos < len(c.b) && c.b[c.pos] < 0x80 {
		c.pos++
		return uint64(c.b[c.pos-1])
	}
	return c.uvarintLong()
}

func (c *cursor) uvarintLong() uint64 {
	v, n := binary.Uvarint(c.b[c.pos:])
	if n <= 0 {
		c.fail("bad varint")
		return 0
	}
	c.pos += n
	return v
}

func (c *cursor) i64() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (c *cursor) i32() int32 {
	v := c.i64()
	if v != int64(int32(v)) {
		c.fail("integer wider than 32 bits")
		return 0
	}
	return int32(v)
}

// u32 is an i32 field that may not be negative (sizes, counts).
func (c *cursor) u32() int32 {
	v := c.i32()
	if v < 0 {
		c.fail("negative size")
		return 0
	}
	return v
}

func (c *cursor) u64() int64 {
	v := c.i64()
	if v < 0 {
		c.fail("negative size or offset")
		return 0
	}
	return v
}

// code is an enum value; anything that does not fit becomes the largest, which no enum uses.
func (c *cursor) code() uint8 {
	v := c.i32()
	if v < 0 || v > math.MaxUint8 {
		return math.MaxUint8
	}
	return uint8(v)
}

func (c *cursor) i8() int8 {
	if c.pos >= len(c.b) {
		c.fail("short")
		return 0
	}
	c.pos++
	return int8(c.b[c.pos-1])
}

// bytes points into the input.
func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.b)-c.pos) {
		c.fail("length beyond the end")
		return nil
	}
	s := c.b[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return s
}

// field gives the next field of a struct; wire type 0 ends it. last is the id before, 0 at the start.
func (c *cursor) field(last *int16) (id int16, wire uint8) {
	if c.pos >= len(c.b) {
		c.fail("struct without an end")
		return 0, wireStop
	}
	h := c.b[c.pos]
	c.pos++
	if h == 0 {
		return 0, wireStop
	}
	wire = h & 15
	if d := h >> 4; d != 0 {
		*last += int16(d)
		return *last, wire
	}
	v := c.i64()
	if v != int64(int16(v)) {
		c.fail("field id out of range")
		return 0, wireStop
	}
	*last = int16(v)
	return *last, wire
}

// list gives the element type and count; each element takes at least one byte.
func (c *cursor) list() (wire uint8, n int) {
	if c.pos >= len(c.b) {
		c.fail("short")
		return 0, 0
	}
	h := c.b[c.pos]
	c.pos++
	u := uint64(h >> 4)
	if u == 15 {
		u = c.uvarint()
	}
	if u > uint64(len(c.b)-c.pos) {
		c.fail("list longer than the bytes left")
		return 0, 0
	}
	return h & 15, int(u)
}

// listOf is a list whose elements must have the wire type; an empty list may say anything.
func (c *cursor) listOf(wire uint8) int {
	w, n := c.list()
	if n > 0 && w != wire {
		c.fail("list of an unexpected type")
		return 0
	}
	return n
}

func (c *cursor) enter() bool {
	c.depth++
	if c.depth > maxDepth {
		c.fail("nested too deeply")
		return false
	}
	return c.err == nil
}

func (c *cursor) leave() { c.depth-- }

func (c *cursor) drop(n int) {
	if n > len(c.b)-c.pos {
		c.fail("short")
		return
	}
	c.pos += n
}

// skip passes over a field's value.
func (c *cursor) skip(wire uint8) {
	switch wire {
	case wireTrue, wireFalse:
	case wireByte:
		c.drop(1)
	case wireI16, wireI32, wireI64:
		c.uvarint()
	case wireDouble:
		c.drop(8)
	case wireUUID:
		c.drop(16)
	case wireBinary:
		c.bytes()
	case wireList, wireSet:
		w, n := c.list()
		c.skipElements(w, n)
	case wireMap:
		c.skipMap()
	case wireStruct:
		c.skipStruct()
	default:
		c.fail("unknown wire type")
	}
}

func (c *cursor) skipElements(wire uint8, n int) {
	if !c.enter() {
		return
	}
	for i := 0; i < n && c.err == nil; i++ {
		c.skipElement(wire)
	}
	c.leave()
}

// skipElement differs from skip in booleans, which take a byte in lists and maps.
func (c *cursor) skipElement(wire uint8) {
	if wire == wireTrue || wire == wireFalse {
		wire = wireByte
	}
	c.skip(wire)
}

func (c *cursor) skipMap() {
	n := c.uvarint()
	if n == 0 {
		return
	}
	if n > uint64(len(c.b)-c.pos) {
		c.fail("map longer than the bytes left")
		return
	}
	kv := uint8(c.i8())
	if !c.enter() {
		return
	}
	for i := uint64(0); i < n && c.err == nil; i++ {
		c.skipElement(kv >> 4)
		c.skipElement(kv & 15)
	}
	c.leave()
}

func (c *cursor) skipStruct() {
	if !c.enter() {
		return
	}
	var last int16
	for {
		_, w := c.field(&last)
		if w == wireStop {
			break
		}
		c.skip(w)
	}
	c.leave()
}

func isInt(wire uint8) bool { return wire >= wireI16 && wire <= wireI64 }

func isBool(wire uint8) bool { return wire == wireTrue || wire == wireFalse }

// union reads a union whose members matter by their id only; 0 = none or more than one.
func (c *cursor) union() (id int16) {
	if !c.enter() {
		return 0
	}
	var last int16
	for seen := 0; ; seen++ {
		f, w := c.field(&last)
		if w == wireStop {
			break
		}
		c.skip(w)
		if id = f; seen > 0 {
			id = 0
		}
	}
	c.leave()
	return id
}
