//go:build duckdb_arrow && cgo

package duckdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// A DuckDB string takes 16 bytes of its vector: the length, then the text if it has at most 12 bytes, zero-padded, else its
// first 4 bytes and a pointer.
//
//	len 4 │ text 12                         len 4 │ head 4 │ pointer 8
//
// The texts of a chunk are copied as a whole into memory of the vector's own, and the strings then point into that: one call
// and one copy a chunk instead of one a string, and no lifetime to guard. (Pointing into Arrow's buffers would save the copy,
// but nothing ties them to the vector, which DuckDB may keep after the function has been called again.)
type duckString [2]uint64

const inlined = 12

// span is the texts of some rows: n+1 offsets into values, the first being base.
type span[O int32 | int64] struct {
	offsets []O
	values  []byte
}

// textSpan reads rows [at, at+n) of a string or binary array.
func textSpan[O int32 | int64](a arrow.Array, at, n int64) (s span[O], err error) {
	d := a.Data()
	first := int64(d.Offset()) + at
	raw := d.Buffers()[1].Bytes()
	size := int64(unsafe.Sizeof(O(0)))
	if int64(len(raw)) < (first+n+1)*size {
		return s, errOffsets
	}
	s.offsets = unsafe.Slice((*O)(unsafe.Pointer(&raw[first*size])), n+1)
	lo, hi := s.offsets[0], s.offsets[n]
	if lo == hi {
		return s, nil
	}
	values := d.Buffers()[2].Bytes()
	if lo < 0 || lo > hi || int64(hi) > int64(len(values)) {
		return s, errOffsets
	}
	s.values = values[lo:hi]
	return s, nil
}

var errOffsets = errors.New("the offsets of a string column do not fit its values")

// copyTexts writes rows [at, at+n) of a string or binary array, whose offsets have c.width bytes.
func copyTexts(vec bindings.Vector, a arrow.Array, c copiedColumn, at, n int64) error {
	var err error
	if c.width == 8 {
		err = copyTextsOf[int64](vec, a, c.how == copyText, at, n)
	} else {
		err = copyTextsOf[int32](vec, a, c.how == copyText, at, n)
	}
	if err == nil && a.NullN() > 0 {
		copyValidity(vec, a.Data().Buffers()[0].Bytes(), int64(a.Data().Offset())+at, n)
	}
	return err
}

func copyTextsOf[O int32 | int64](vec bindings.Vector, a arrow.Array, text bool, at, n int64) error {
	s, err := textSpan[O](a, at, n)
	if err != nil {
		return err
	}
	if text && !utf8.Valid(s.values) {
		if err := checkTexts(a, s, at); err != nil {
			return err
		}
	} else if text && !s.cutAtRunes() {
		if err := checkTexts(a, s, at); err != nil {
			return err
		}
	}
	out := unsafe.Slice((*duckString)(bindings.VectorGetData(vec)), n)
	base, err := s.keep(vec, out)
	if err != nil {
		return err
	}
	return s.write(out, base)
}

// cutAtRunes reports whether no boundary between two texts lies inside a character; with valid values all texts are valid.
func (s span[O]) cutAtRunes() bool {
	base := s.offsets[0]
	for _, o := range s.offsets {
		if i := int(o - base); i >= 0 && i < len(s.values) && !utf8.RuneStart(s.values[i]) {
			return false
		}
	}
	return true
}

// checkTexts looks at each text on its own: what lies under a null does not matter. DuckDB's functions believe that every
// text is UTF-8, so one that is not must not reach them.
func checkTexts[O int32 | int64](a arrow.Array, s span[O], at int64) error {
	base := s.offsets[0]
	for i := range len(s.offsets) - 1 {
		lo, hi := s.offsets[i]-base, s.offsets[i+1]-base
		if lo < 0 || lo > hi || int64(hi) > int64(len(s.values)) {
			return errOffsets
		}
		if !a.IsNull(int(at)+i) && !utf8.Valid(s.values[lo:hi]) {
			return fmt.Errorf("a text is not UTF-8: %.40q", s.values[lo:hi])
		}
	}
	return nil
}

// keep copies the values into the vector's memory and returns their address there; 0 if all texts fit into their strings.
func (s span[O]) keep(vec bindings.Vector, out []duckString) (uint64, error) {
	long := false
	for i := range out {
		if s.offsets[i+1]-s.offsets[i] > inlined {
			long = true
			break
		}
	}
	if !long {
		return 0, nil
	}
	if len(s.values) > math.MaxUint32 {
		return 0, fmt.Errorf("a text of %d bytes is more than SQL can hold", len(s.values))
	}
	bindings.UnsafeVectorAssignStringElementLen(vec, 0, s.values)
	return out[0][1], nil
}

// write makes the strings; the values start at address base.
func (s span[O]) write(out []duckString, base uint64) error {
	start := s.offsets[0]
	values := s.values
	lo := 0
	for i := range out {
		hi := int(s.offsets[i+1] - start)
		if lo > hi || hi > len(values) {
			return errOffsets
		}
		n := hi - lo
		switch {
		case n > inlined:
			head := uint64(binary.LittleEndian.Uint32(values[lo:]))
			out[i] = duckString{uint64(n) | head<<32, base + uint64(lo)}
		case lo+inlined <= len(values): // read 12 bytes and drop those behind the text
			head := uint64(binary.LittleEndian.Uint32(values[lo:]))
			tail := binary.LittleEndian.Uint64(values[lo+4:])
			m := &lowBytes[n&15]
			out[i] = duckString{uint64(n) | head&m[0]<<32, tail & m[1]}
		default:
			var b [16]byte
			copy(b[:inlined], values[lo:hi])
			head := uint64(binary.LittleEndian.Uint32(b[:]))
			out[i] = duckString{uint64(n) | head<<32, binary.LittleEndian.Uint64(b[4:])}
		}
		lo = hi
	}
	return nil
}

// lowBytes[n] keeps the first n of 4 + 8 bytes.
var lowBytes = func() (m [16][2]uint64) {
	for n := range inlined + 1 {
		m[n][0] = 1<<(8*min(n, 4)) - 1
		if n > 4 {
			m[n][1] = math.MaxUint64 >> (64 - 8*(n-4))
		}
	}
	return m
}()

// copyFixedBytes writes values of c.width bytes each.
func copyFixedBytes(vec bindings.Vector, values []byte, width int, n int64) {
	out := unsafe.Slice((*duckString)(bindings.VectorGetData(vec)), n)
	if width > inlined {
		bindings.UnsafeVectorAssignStringElementLen(vec, 0, values)
		base := out[0][1]
		for i := range out {
			head := uint64(binary.LittleEndian.Uint32(values[i*width:]))
			out[i] = duckString{uint64(width) | head<<32, base + uint64(i*width)}
		}
		return
	}
	for i := range out {
		var b [16]byte
		copy(b[:inlined], values[i*width:(i+1)*width])
		out[i] = duckString{uint64(width) | uint64(binary.LittleEndian.Uint32(b[:]))<<32, binary.LittleEndian.Uint64(b[4:])}
	}
}

// chunkBytes bounds the texts of one column in one chunk, which are copied: long ones make the chunk shorter.
const chunkBytes = 4 << 20

// fitTexts returns how many of n rows from at on have at most chunkBytes of text, at least 1.
func fitTexts(a arrow.Array, width int, at, n int64) int64 {
	d := a.Data()
	raw := d.Buffers()[1].Bytes()
	first := int64(d.Offset()) + at
	offset := func(i int64) int64 {
		if width == 8 {
			return int64(binary.LittleEndian.Uint64(raw[(first+i)*8:]))
		}
		return int64(int32(binary.LittleEndian.Uint32(raw[(first+i)*4:])))
	}
	start := offset(0)
	for n > 1 && offset(n)-start > chunkBytes {
		n = (n + 1) / 2
	}
	return n
}
