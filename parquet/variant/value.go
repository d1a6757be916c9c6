package variant

import (
	"bytes"
	"fmt"
	"slices"
)

// Basic types, the low two bits of a value's first byte.
const (
	basicPrimitive = iota
	basicShort
	basicObject
	basicArray
)

// Primitive types, the upper six bits.
const (
	primNull = iota
	primTrue
	primFalse
	primInt8
	primInt16
	primInt32
	primInt64
	primDouble
	primDecimal4
	primDecimal8
	primDecimal16
	primDate
	primTimestamp
	primTimestampNTZ
	primFloat
	primBinary
	primString
	primTime
	primTimestampNanos
	primTimestampNanosNTZ
	primUUID
)

// primitiveSize is the bytes behind the header; binary and string have a length there.
var primitiveSize = [...]int{0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, -1, -1, 8, 8, 8, 16}

// Size is the bytes that the value at the start of b takes. What lies inside arrays and objects is not looked at.
func Size(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, fmt.Errorf("%w: an empty value", ErrCorrupt)
	}
	n := 0
	switch high := int(b[0] >> 2); b[0] & 3 {
	case basicShort:
		n = 1 + high
	case basicPrimitive:
		if high >= len(primitiveSize) {
			return 0, fmt.Errorf("%w: primitive type %d", ErrUnsupported, high)
		}
		if n = 1 + primitiveSize[high]; n == 0 {
			size, ok := little(b, 1, 4)
			if !ok {
				return 0, short(b)
			}
			n = 5 + size
		}
	default:
		c, err := parseContainer(b)
		if err != nil {
			return 0, err
		}
		n = c.end
	}
	if n > len(b) {
		return 0, short(b)
	}
	return n, nil
}

func short(b []byte) error {
	return fmt.Errorf("%w: a value goes on beyond its %d bytes", ErrCorrupt, len(b))
}

// container is the frame of an object or array.
type container struct {
	b                  []byte
	n                  int // elements
	ids, offsets, base int // where they begin
	idSize, offsetSize int
	end                int
}

func parseContainer(b []byte) (c container, err error) {
	c.b = b
	high := int(b[0] >> 2)
	c.offsetSize = high&3 + 1
	large := high >> 2 & 1
	if b[0]&3 == basicObject {
		c.idSize, large = high>>2&3+1, high>>4&1
	}
	countSize := 1 + 3*large
	n, ok := little(b, 1, countSize)
	if !ok || n > len(b) {
		return c, short(b)
	}
	c.n, c.ids = n, 1+countSize
	c.offsets = c.ids + n*c.idSize
	c.base = c.offsets + (n+1)*c.offsetSize
	size, ok := little(b, c.base-c.offsetSize, c.offsetSize)
	if !ok || c.base > len(b) || size > len(b)-c.base {
		return c, short(b)
	}
	c.end = c.base + size
	return c, nil
}

// element is the i-th value.
func (c container) element(i int) ([]byte, error) {
	off, ok := little(c.b, c.offsets+i*c.offsetSize, c.offsetSize)
	if !ok || off > c.end-c.base {
		return nil, fmt.Errorf("%w: an element beyond its container", ErrCorrupt)
	}
	v := c.b[c.base+off : c.end : c.end]
	n, err := Size(v)
	return v[:n:n], err
}

// field of an object.
type field struct {
	name  []byte
	id    int
	value []byte
}

// fields lists those of an object in the order of their names.
func fields(dst []field, m Metadata, b []byte) ([]field, error) {
	if len(b) == 0 || b[0]&3 != basicObject {
		return dst, fmt.Errorf("%w: a value that is no object beside shredded fields", ErrCorrupt)
	}
	c, err := parseContainer(b)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	for i := range c.n {
		id, _ := little(b, c.ids+i*c.idSize, c.idSize)
		if id >= len(m.names) {
			return dst, fmt.Errorf("%w: field id %d of %d names", ErrCorrupt, id, len(m.names))
		}
		v, err := c.element(i)
		if err != nil {
			return dst, err
		}
		dst = append(dst, field{m.names[id], id, v})
	}
	slices.SortFunc(dst[from:], func(a, b field) int { return bytes.Compare(a.name, b.name) })
	return dst, nil
}
