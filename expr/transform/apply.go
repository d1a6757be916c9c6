package transform

import (
	"math"
	"math/big"
	"math/bits"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Apply returns the partition value of v; ok is false if the transform does not take v's type, is Unknown, or its result
// does not fit 64 bits. NULL gives NULL. The value follows the rules of expr.Literal.
func (t Transform) Apply(v expr.Literal) (out expr.Literal, ok bool) {
	out.Type = t.Result(v.Type)
	if out.Type == nil {
		return out, false
	}
	if v.Value == nil || t.Kind == Void {
		return out, true
	}
	switch t.Kind {
	case Identity:
		return v, true
	case Bucket:
		h, ok := hash(v)
		out.Value = int64((int32(h) & math.MaxInt32) % t.N)
		return out, ok
	case Truncate:
		out.Value, ok = t.truncate(v.Value)
		return out, ok
	}
	n, ok := t.period(v)
	out.Value = n
	return out, ok
}

func (t Transform) truncate(v any) (any, bool) {
	w := int64(t.N)
	switch v := v.(type) {
	case int64:
		m := floorMod(v, w)
		return v - m, v >= math.MinInt64+m
	case *big.Int:
		width := big.NewInt(w)
		m := new(big.Int).Mod(v, width) // Euclidean, so never negative
		return m.Sub(v, m), true
	case string:
		return cutRunes(v, int(t.N)), true
	case []byte:
		return v[:min(len(v), int(t.N))], true
	}
	return nil, false
}

// cutRunes keeps the first n code points; a byte that is not UTF-8 counts as one.
func cutRunes(s string, n int) string {
	for i := 0; i < len(s); n-- {
		if n == 0 {
			return s[:i]
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s
}

// period counts whole years, months, days or hours since 1970.
func (t Transform) period(v expr.Literal) (int64, bool) {
	n, ok := v.Value.(int64)
	if !ok {
		return 0, false
	}
	var perDay int64
	switch typ := v.Type.(type) {
	case *arrow.Date32Type:
		perDay = 1
	case *arrow.TimestampType:
		perDay = unitsPerSecond(typ.Unit) * 86400
	default:
		return 0, false
	}
	switch t.Kind {
	case Hour:
		if perDay == 1 {
			return 0, false
		}
		return floorDiv(n, perDay/24), true
	case Day:
		return floorDiv(n, perDay), true
	}
	year, month := civil(floorDiv(n, perDay))
	if t.Kind == Year {
		return year - 1970, true
	}
	return (year-1970)*12 + month - 1, true
}

// civil is the proleptic Gregorian year and month (1 to 12) of a day count since 1970-01-01. A cycle of 400 years has
// 146 097 days; counting years from March puts the leap day last.
func civil(days int64) (year, month int64) {
	days += 719468 // from 0000-03-01
	era := floorDiv(days, 146097)
	doe := days - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	month = (5*doy+2)/153 + 3
	year = yoe + era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	return year, month
}

func unitsPerSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// micros converts a time or timestamp to microseconds, rounding down.
func micros(v int64, u arrow.TimeUnit) (int64, bool) {
	per := unitsPerSecond(u)
	if per > 1e6 {
		return floorDiv(v, per/1e6), true
	}
	hi, lo := bits.Mul64(uint64(max(v, -v)), uint64(1e6/per))
	return v * (1e6 / per), hi == 0 && lo <= math.MaxInt64 && v != math.MinInt64
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// hash is the 32-bit hash of the specification's appendix B. Int and long agree, as do the encodings of one instant.
func hash(v expr.Literal) (uint32, bool) {
	switch x := v.Value.(type) {
	case int64:
		switch typ := v.Type.(type) {
		case *arrow.TimestampType:
			us, ok := micros(x, typ.Unit)
			return hashLong(us), ok
		case *arrow.Time64Type:
			us, ok := micros(x, typ.Unit)
			return hashLong(us), ok
		case *arrow.Time32Type:
			us, ok := micros(x, typ.Unit)
			return hashLong(us), ok
		}
		return hashLong(x), true
	case *big.Int:
		return murmur3(TwosComplement(x)), true
	case string:
		return murmur3([]byte(x)), true
	case []byte:
		return murmur3(x), true
	}
	return 0, false
}

func hashLong(v int64) uint32 {
	var b [8]byte
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return murmur3(b[:])
}

// TwosComplement is the shortest big-endian two's complement form of v, at least one byte.
func TwosComplement(v *big.Int) []byte {
	switch v.Sign() {
	case 0:
		return []byte{0}
	case 1:
		b := v.Bytes()
		if b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	// -v-1 has the inverted bits of v.
	b := new(big.Int).Not(v).Bytes()
	if len(b) == 0 || b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	for i := range b {
		b[i] = ^b[i]
	}
	return b
}

// murmur3 is the 32-bit x86 variant with seed 0 (A. Appleby, public domain).
func murmur3(b []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := uint32(0), uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		h ^= bits.RotateLeft32(k*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var k uint32
	for i := len(b) - 1; i >= 0; i-- {
		k = k<<8 | uint32(b[i])
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
