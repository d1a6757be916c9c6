package render

import (
	"encoding/base64"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// cell appends value i of one array, which is not NULL, to dst.
type cell func(dst []byte, i int) []byte

// style is how values are written.
type style struct {
	json    bool
	zone    *time.Location
	strings bool   // json: numbers beyond 2^53 as strings
	fault   *error // gets the first value that cannot be shown
}

// bind makes the cell of one array. Strings are copied into dst: an array of an SQL engine lives in memory that is not Go's.
func (s style) bind(f arrow.Field, a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }
	case *array.Int8:
		return ints(a.Int8Values())
	case *array.Int16:
		return ints(a.Int16Values())
	case *array.Int32:
		return ints(a.Int32Values())
	case *array.Int64:
		return s.wideInts(a.Int64Values())
	case *array.Uint8:
		return uints(a.Uint8Values())
	case *array.Uint16:
		return uints(a.Uint16Values())
	case *array.Uint32:
		return uints(a.Uint32Values())
	case *array.Uint64:
		return s.wideUints(a.Uint64Values())
	case *array.Float16:
		return func(dst []byte, i int) []byte { return s.float(dst, halfValue(a.Value(i).Uint16()), 32) }
	case *array.Float32:
		vals := a.Float32Values()
		return func(dst []byte, i int) []byte { return s.float(dst, float64(vals[i]), 32) }
	case *array.Float64:
		vals := a.Float64Values()
		return func(dst []byte, i int) []byte { return s.float(dst, vals[i], 64) }
	case array.StringLike:
		return func(dst []byte, i int) []byte { return s.text(dst, a.Value(i)) }
	}
	if c := s.bindVariant(f, a); c != nil {
		return c
	}
	if c := s.bindBytes(f, a); c != nil {
		return c
	}
	if c := s.bindDecimal(a); c != nil {
		return c
	}
	if c := s.bindTime(a); c != nil {
		return c
	}
	return s.bindNested(f, a)
}

func ints[T int8 | int16 | int32 | int64](vals []T) cell {
	return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(vals[i]), 10) }
}

func uints[T uint8 | uint16 | uint32 | uint64](vals []T) cell {
	return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(vals[i]), 10) }
}

// maxExact is the largest integer up to which a double holds all integers: what JavaScript and jq keep.
const maxExact = 1 << 53

func (s style) wideInts(vals []int64) cell {
	if !s.json || !s.strings {
		return ints(vals)
	}
	return func(dst []byte, i int) []byte {
		return quotedIf(vals[i] > maxExact || vals[i] < -maxExact, dst, func(dst []byte) []byte { return strconv.AppendInt(dst, vals[i], 10) })
	}
}

func (s style) wideUints(vals []uint64) cell {
	if !s.json || !s.strings {
		return uints(vals)
	}
	return func(dst []byte, i int) []byte {
		return quotedIf(vals[i] > maxExact, dst, func(dst []byte) []byte { return strconv.AppendUint(dst, vals[i], 10) })
	}
}

func quotedIf(quoted bool, dst []byte, write func([]byte) []byte) []byte {
	if !quoted {
		return write(dst)
	}
	return append(write(append(dst, '"')), '"')
}

// quotedCell puts a cell into quotes for json.
func (s style) quotedCell(c cell) cell {
	if !s.json {
		return c
	}
	return func(dst []byte, i int) []byte { return append(c(append(dst, '"'), i), '"') }
}

func (s style) float(dst []byte, v float64, bits int) []byte {
	if v-v != 0 {
		text := "NaN"
		switch {
		case v > 0:
			text = "Infinity"
		case v < 0:
			text = "-Infinity"
		}
		return quotedIf(s.json, dst, func(dst []byte) []byte { return append(dst, text...) })
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// halfValue widens an IEEE 754 half; arrow-go's own conversion loses subnormals.
func halfValue(bits uint16) float64 {
	exp, frac := int(bits>>10)&0x1f, float64(bits&0x3ff)
	v := math.Ldexp(frac+1024, exp-25)
	switch {
	case exp == 0:
		v = math.Ldexp(frac, -24)
	case exp == 0x1f && frac == 0:
		v = math.Inf(1)
	case exp == 0x1f:
		v = math.NaN()
	}
	if bits&0x8000 != 0 {
		v = -v
	}
	return v
}

func (s style) text(dst []byte, v string) []byte {
	if s.json {
		return appendJSONString(dst, v)
	}
	return append(dst, v...)
}

// bindBytes is for uuid and binary; nil if a is neither.
func (s style) bindBytes(f arrow.Field, a arrow.Array) cell {
	var value func(i int) []byte
	switch a := a.(type) {
	case *array.FixedSizeBinary:
		if isUUID(f) {
			return s.quotedCell(func(dst []byte, i int) []byte { return appendUUID(dst, a.Value(i)) })
		}
		value = a.Value
	case bytesArray:
		value = a.Value
	default:
		return nil
	}
	if s.json {
		return func(dst []byte, i int) []byte {
			return append(base64.StdEncoding.AppendEncode(append(dst, '"'), value(i)), '"')
		}
	}
	return func(dst []byte, i int) []byte {
		const digits = "0123456789ABCDEF"
		for _, b := range value(i) {
			dst = append(dst, '\\', 'x', digits[b>>4], digits[b&15])
		}
		return dst
	}
}

// isUUID knows the mark of Arrow's canonical extension type, on a field or as a registered type.
func isUUID(f arrow.Field) bool {
	if e, ok := f.Type.(arrow.ExtensionType); ok {
		return e.ExtensionName() == "arrow.uuid"
	}
	t, ok := f.Type.(*arrow.FixedSizeBinaryType)
	i := f.Metadata.FindKey("ARROW:extension:name")
	return ok && t.ByteWidth == 16 && i >= 0 && f.Metadata.Values()[i] == "arrow.uuid"
}

func appendUUID(dst, v []byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// bindDecimal is for decimals of any width; nil if a is none.
func (s style) bindDecimal(a arrow.Array) cell {
	t, ok := a.DataType().(arrow.DecimalType)
	if !ok {
		return nil
	}
	var small func(i int) (int64, bool)
	var full func(i int) *big.Int
	switch a := a.(type) {
	case *array.Decimal32:
		small = func(i int) (int64, bool) { return int64(a.Value(i)), true }
	case *array.Decimal64:
		small = func(i int) (int64, bool) { return int64(a.Value(i)), true }
	case *array.Decimal128:
		small = func(i int) (int64, bool) {
			v := a.Value(i)
			n := int64(v.LowBits())
			return n, v.HighBits() == n>>63
		}
		full = func(i int) *big.Int { return a.Value(i).BigInt() }
	case *array.Decimal256:
		small = func(int) (int64, bool) { return 0, false }
		full = func(i int) *big.Int { return a.Value(i).BigInt() }
	}
	scale := int(t.GetScale())
	return func(dst []byte, i int) []byte {
		var buf [96]byte
		digits := buf[:0]
		n, fits := small(i)
		if fits {
			digits = strconv.AppendInt(digits, n, 10)
		} else {
			digits = full(i).Append(digits, 10)
		}
		wide := s.json && s.strings && (!fits || n > maxExact || n < -maxExact)
		return quotedIf(wide, dst, func(dst []byte) []byte { return appendScaled(dst, digits, scale) })
	}
}

// appendScaled puts the point into the digits of an unscaled number.
func appendScaled(dst, digits []byte, scale int) []byte {
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	for ; scale < 0; scale++ {
		if digits[0] != '0' {
			digits = append(digits, '0')
		}
	}
	whole := len(digits) - scale
	if scale == 0 {
		return append(dst, digits...)
	}
	if whole <= 0 {
		dst = append(dst, '0', '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:whole]...)
	dst = append(dst, '.')
	return append(dst, digits[whole:]...)
}

// bindNested is for nested types, dictionaries and whatever is left.
func (s style) bindNested(f arrow.Field, a arrow.Array) cell {
	switch a := a.(type) {
	case array.ExtensionArray:
		g := f
		if !isUUID(f) {
			g.Type = a.Storage().DataType()
		}
		return s.bind(g, a.Storage())
	case *array.Dictionary:
		entries := s.bind(arrow.Field{Type: a.Dictionary().DataType(), Metadata: f.Metadata}, a.Dictionary())
		return func(dst []byte, i int) []byte {
			e := a.GetValueIndex(i)
			if a.Dictionary().IsNull(e) {
				return append(dst, "null"...)
			}
			return entries(dst, e)
		}
	}
	j := s
	j.json = true
	if c := j.bindJSON(a); c != nil {
		return c
	}
	return func(dst []byte, i int) []byte { return s.text(dst, a.ValueStr(i)) } // unions, run-end encoding
}

// isNull knows of NULL entries of a dictionary too.
func isNull(a arrow.Array, i int) bool {
	if a.IsNull(i) {
		return true
	}
	d, ok := a.(*array.Dictionary)
	return ok && d.Dictionary().IsNull(d.GetValueIndex(i))
}

// bytesArray is Binary, LargeBinary and BinaryView.
type bytesArray interface {
	arrow.Array
	Value(i int) []byte
}
