//go:build duckdb_arrow && cgo

package duckdb

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/lakescan/lakescan/expr"
)

// copyColumn copies rows [at, at+n) of an array into a vector of n rows, with their nulls.
func copyColumn(vec bindings.Vector, a arrow.Array, c copiedColumn, at, n int64) error {
	switch c.how {
	case copyVariant:
		return copyVariants(vec, a, at, n)
	case copyText, copyBytes:
		return copyTexts(vec, a, c, at, n)
	}
	d := a.Data()
	first := int64(d.Offset()) + at
	values := d.Buffers()[1].Bytes()
	to := bindings.VectorGetData(vec)
	switch c.how {
	case copyFixed:
		w := int64(c.width)
		copy(unsafe.Slice((*byte)(to), n*w), values[first*w:(first+n)*w])
	case copyBool:
		copyBits(unsafe.Slice((*byte)(to), n), values, first)
	case copyDecimal:
		copyDecimals(to, c.width, values[first*16:(first+n)*16])
	case copyUUID:
		copyUUIDs(unsafe.Slice((*byte)(to), n*16), values[first*16:(first+n)*16])
	case copyFixedSize:
		w := int64(c.width)
		copyFixedBytes(vec, values[first*w:(first+n)*w], c.width, n)
	case copyHalf:
		copyHalves(unsafe.Slice((*float32)(to), n), values[first*2:(first+n)*2])
	}
	if a.NullN() > 0 {
		copyValidity(vec, d.Buffers()[0].Bytes(), first, n)
	}
	return nil
}

// copyBits spreads n bits from bit first on over the bytes of dst.
func copyBits(dst, bits []byte, first int64) {
	for i := range dst {
		b := first + int64(i)
		dst[i] = bits[b>>3] >> (b & 7) & 1
	}
}

// copyDecimals narrows 16-byte little-endian integers; DuckDB's width holds every value of the precision.
func copyDecimals(to unsafe.Pointer, width int, values []byte) {
	n := len(values) / 16
	switch width {
	case 2:
		dst := unsafe.Slice((*int16)(to), n)
		for i := range dst {
			dst[i] = int16(binary.LittleEndian.Uint16(values[i*16:]))
		}
	case 4:
		dst := unsafe.Slice((*int32)(to), n)
		for i := range dst {
			dst[i] = int32(binary.LittleEndian.Uint32(values[i*16:]))
		}
	case 8:
		dst := unsafe.Slice((*int64)(to), n)
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(values[i*16:]))
		}
	default:
		copy(unsafe.Slice((*byte)(to), n*16), values)
	}
}

// copyUUIDs turns 16 big-endian bytes into DuckDB's form: a little-endian 128-bit integer with the top bit flipped, so that
// signed comparison orders like bytes.
func copyUUIDs(dst, values []byte) {
	for i := 0; i < len(values); i += 16 {
		hi := binary.BigEndian.Uint64(values[i:])
		lo := binary.BigEndian.Uint64(values[i+8:])
		binary.LittleEndian.PutUint64(dst[i:], lo)
		binary.LittleEndian.PutUint64(dst[i+8:], hi^1<<63)
	}
}

func copyHalves(dst []float32, values []byte) {
	for i := range dst {
		dst[i] = float32(expr.Half(binary.LittleEndian.Uint16(values[i*2:])))
	}
}

// copyVariants writes variants as JSON text, which DuckDB's JSON functions read.
func copyVariants(vec bindings.Vector, a arrow.Array, at, n int64) error {
	v, ok := a.(*extensions.VariantArray)
	if !ok {
		return fmt.Errorf("a variant column is a %T", a)
	}
	bindings.VectorEnsureValidityWritable(vec)
	mask := bindings.VectorGetValidity(vec)
	for i := range n {
		row := int(at + i)
		if v.Storage().IsNull(row) { // v.IsNull would take the variant null for it, too
			bindings.ValiditySetRowInvalid(mask, bindings.IdxT(i))
			continue
		}
		value, err := v.Value(row)
		if err != nil {
			return fmt.Errorf("variant: %w", err)
		}
		text, err := value.MarshalJSON()
		if err != nil {
			return fmt.Errorf("variant: %w", err)
		}
		bindings.VectorAssignStringElementLen(vec, bindings.IdxT(i), text)
	}
	return nil
}

// copyValidity copies n bits from bit first on; both sides keep bit i of byte i/8, lowest first.
func copyValidity(vec bindings.Vector, bits []byte, first, n int64) {
	bindings.VectorEnsureValidityWritable(vec)
	mask := unsafe.Slice((*byte)(bindings.VectorGetValidity(vec)), (n+63)/64*8)
	size := (n + 7) / 8
	if shift := first & 7; shift == 0 {
		copy(mask, bits[first>>3:first>>3+size])
	} else {
		from := bits[first>>3:]
		for i := range size {
			b := from[i] >> shift
			if i+1 < int64(len(from)) {
				b |= from[i+1] << (8 - shift)
			}
			mask[i] = b
		}
	}
	clear(mask[size:])
}
