package variant

import (
	"encoding/binary"
	"math"
)

// encoder appends values to one buffer. Objects and arrays are written values first; their frame is put in front once its
// size is known.
type encoder struct {
	buf     []byte
	entries []entry // of the containers that are open, innermost last
}

// entry is an element of an open container.
type entry struct{ id, at int }

func (e *encoder) primitive(kind int) { e.buf = append(e.buf, byte(kind)<<2) }

func (e *encoder) bool(v bool) {
	if v {
		e.primitive(primTrue)
	} else {
		e.primitive(primFalse)
	}
}

// int writes size bytes of v behind the header.
func (e *encoder) int(kind int, v int64, size int) {
	e.primitive(kind)
	for range size {
		e.buf = append(e.buf, byte(v))
		v >>= 8
	}
}

func (e *encoder) float(v float32) {
	e.primitive(primFloat)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, math.Float32bits(v))
}

func (e *encoder) double(v float64) {
	e.primitive(primDouble)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v))
}

func (e *encoder) string(s []byte) {
	if len(s) < 64 {
		e.buf = append(e.buf, byte(len(s))<<2|basicShort)
	} else {
		e.primitive(primString)
		e.buf = binary.LittleEndian.AppendUint32(e.buf, uint32(len(s)))
	}
	e.buf = append(e.buf, s...)
}

func (e *encoder) binary(b []byte) {
	e.primitive(primBinary)
	e.buf = append(binary.LittleEndian.AppendUint32(e.buf, uint32(len(b))), b...)
}

func (e *encoder) uuid(b []byte) {
	e.primitive(primUUID)
	e.buf = append(e.buf, b...)
}

// decimal16 takes the two halves of a 128-bit number.
func (e *encoder) decimal16(scale int32, high int64, low uint64) {
	e.primitive(primDecimal16)
	e.buf = append(e.buf, byte(scale))
	e.buf = binary.LittleEndian.AppendUint64(e.buf, low)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(high))
}

func (e *encoder) decimal(kind int, scale int32, v int64, size int) {
	e.primitive(kind)
	e.buf = append(e.buf, byte(scale))
	for range size {
		e.buf = append(e.buf, byte(v))
		v >>= 8
	}
}

// open begins a container; its mark goes to add, object and array.
func (e *encoder) open() mark { return mark{len(e.buf), len(e.entries)} }

type mark struct{ at, entries int }

// add says that the next value is an element; of an object, the field with an id, in the order of names.
func (e *encoder) add(m mark, id int) {
	e.entries = append(e.entries, entry{id, len(e.buf) - m.at})
}

func (e *encoder) object(m mark) { e.close(m, true) }
func (e *encoder) array(m mark)  { e.close(m, false) }

func (e *encoder) close(m mark, object bool) {
	elements, size := e.entries[m.entries:], len(e.buf)-m.at
	offsetSize, idSize, countSize, large := width(size), 0, 1, 0
	if len(elements) > 255 {
		countSize, large = 4, 1
	}
	head := basicArray | (large<<2|(offsetSize-1))<<2
	if object {
		top := 0
		for _, x := range elements {
			top = max(top, x.id)
		}
		idSize = width(top)
		head = basicObject | (large<<4|(idSize-1)<<2|(offsetSize-1))<<2
	}
	frame := 1 + countSize + len(elements)*idSize + (len(elements)+1)*offsetSize
	e.buf = append(e.buf, make([]byte, frame)...)
	copy(e.buf[m.at+frame:], e.buf[m.at:m.at+size])
	out := appendLittle(append(e.buf[:m.at], byte(head)), len(elements), countSize)
	if object {
		for _, x := range elements {
			out = appendLittle(out, x.id, idSize)
		}
	}
	for _, x := range elements {
		out = appendLittle(out, x.at, offsetSize)
	}
	appendLittle(out, size, offsetSize)
	e.entries = e.entries[:m.entries]
}
