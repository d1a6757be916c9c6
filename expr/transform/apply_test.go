package transform

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

var (
	tInt    = arrow.PrimitiveTypes.Int32
	tLong   = arrow.PrimitiveTypes.Int64
	tString = arrow.BinaryTypes.String
	tBinary = arrow.BinaryTypes.Binary
	tDate   = arrow.FixedWidthTypes.Date32
	tTS     = &arrow.TimestampType{Unit: arrow.Microsecond}
	tTSNano = &arrow.TimestampType{Unit: arrow.Nanosecond}
	tTime   = arrow.FixedWidthTypes.Time64us
	tDec    = &arrow.Decimal128Type{Precision: 9, Scale: 2}
	tUUID   = &arrow.FixedSizeBinaryType{ByteWidth: 16}
)

// The hashes are those of the specification's appendix B.
func TestHashMatchesTheSpecification(t *testing.T) {
	t.Parallel()
	uuid := []byte{0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd, 0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7}
	day := time.Date(2017, 11, 16, 0, 0, 0, 0, time.UTC).Unix() / 86400
	at := time.Date(2017, 11, 16, 22, 31, 8, 0, time.UTC)
	for _, c := range []struct {
		name string
		typ  arrow.DataType
		v    any
		want int32
	}{
		{"int 34", tInt, int64(34), 2017239379},
		{"long 34", tLong, int64(34), 2017239379},
		{"decimal 14.20", tDec, big.NewInt(1420), -500754589},
		{"date", tDate, day, -653330422},
		{"time 22:31:08", tTime, (22*3600 + 31*60 + 8) * int64(1e6), -662762989},
		{"timestamp", tTS, at.UnixMicro(), -2047944441},
		{"timestamp + 1 us", tTS, at.UnixMicro() + 1, -1207196810},
		{"timestamp_ns", tTSNano, at.UnixNano(), -2047944441},
		{"timestamp_ns + 1001 ns", tTSNano, at.UnixNano() + 1001, -1207196810},
		{"string iceberg", tString, "iceberg", 1210000089},
		{"uuid", tUUID, uuid, 1488055340},
		{"fixed 00010203", &arrow.FixedSizeBinaryType{ByteWidth: 4}, []byte{0, 1, 2, 3}, -188683207},
		{"binary 00010203", tBinary, []byte{0, 1, 2, 3}, -188683207},
	} {
		got, ok := hash(expr.Literal{Type: c.typ, Value: c.v})
		if !ok || int32(got) != c.want {
			t.Errorf("%s: %d %v, want %d", c.name, int32(got), ok, c.want)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	us := func(y int, m time.Month, d, h int, extra int64) int64 {
		return time.Date(y, m, d, h, 0, 0, 0, time.UTC).UnixMicro() + extra
	}
	for _, c := range []struct {
		transform string
		typ       arrow.DataType
		in, want  any
	}{
		{"identity", tLong, int64(-7), int64(-7)},
		{"void", tLong, int64(-7), nil},
		{"year", tTS, us(1969, 12, 31, 23, 0), int64(-1)},
		{"year", tTS, us(1970, 1, 1, 0, -1), int64(-1)},
		{"year", tTS, us(1970, 1, 1, 0, 0), int64(0)},
		{"month", tTS, us(1970, 1, 1, 0, -1), int64(-1)},
		{"month", tTS, us(2017, 11, 16, 22, 0), int64(574)},
		{"day", tTS, us(1970, 1, 1, 0, -1), int64(-1)},
		{"day", tTSNano, int64(-1), int64(-1)},
		{"hour", tTS, us(1970, 1, 1, 0, -1), int64(-1)},
		{"hour", tTS, us(2017, 11, 16, 22, 5), int64(419686)},
		{"day", tDate, int64(-1), int64(-1)},
		{"month", tDate, int64(-1), int64(-1)},
		{"year", tDate, int64(-366), int64(-2)},
		{"truncate[10]", tInt, int64(1), int64(0)},
		{"truncate[10]", tInt, int64(-1), int64(-10)},
		{"truncate[10]", tInt, int64(-10), int64(-10)},
		{"truncate[3]", tString, "iceberg", "ice"},
		{"truncate[2]", tString, "äß水", "äß"},
		{"truncate[9]", tString, "ice", "ice"},
		{"truncate[1]", tString, "\U0001F600x", "\U0001F600"},
		{"bucket[16]", tInt, int64(34), int64(3)},
		{"day", tTS, nil, nil},
		{"bucket[16]", tInt, nil, nil},
	} {
		got, ok := Parse(c.transform).Apply(expr.Literal{Type: c.typ, Value: c.in})
		if !ok || got.Value != c.want {
			t.Errorf("%s(%v) = %v %v, want %v", c.transform, c.in, got.Value, ok, c.want)
		}
	}
	d, ok := Parse("truncate[50]").Apply(expr.Literal{Type: tDec, Value: big.NewInt(-1065)})
	if !ok || d.Value.(*big.Int).Int64() != -1100 {
		t.Errorf("truncate[50] of -10.65 = %v", d.Value)
	}
	if b, ok := Parse("truncate[1]").Apply(expr.Literal{Type: tBinary, Value: []byte{0, 0xFF}}); !ok || len(b.Value.([]byte)) != 1 {
		t.Errorf("truncate[1] of 00ff = %v", b.Value)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		transform string
		typ       arrow.DataType
		in        any
	}{
		{"zorder[3]", tInt, int64(1)},
		{"bucket[0]", tInt, int64(1)},
		{"bucket", tInt, int64(1)},
		{"bucket[3", tInt, int64(1)},
		{"identity[3]", tInt, int64(1)},
		{"bucket[3]", arrow.PrimitiveTypes.Float64, 1.0},
		{"hour", tDate, int64(1)},
		{"day", tLong, int64(1)},
		{"truncate[10]", tLong, int64(math.MinInt64)},
		{"truncate[10]", arrow.PrimitiveTypes.Float64, 1.0},
		{"bucket[4]", &arrow.TimestampType{Unit: arrow.Second}, int64(math.MinInt64)},
	} {
		if got, ok := Parse(c.transform).Apply(expr.Literal{Type: c.typ, Value: c.in}); ok {
			t.Errorf("%s(%v) = %v", c.transform, c.in, got.Value)
		}
		if s := Parse(c.transform).String(); s != c.transform {
			t.Errorf("%s prints as %s", c.transform, s)
		}
	}
}

// The calendar agrees with package time over 800 years around 1970 and at the ends of the range of dates.
func TestCalendar(t *testing.T) {
	t.Parallel()
	check := func(day int64) {
		y, m := civil(day)
		want := time.Unix(day*86400, 0).UTC()
		if y != int64(want.Year()) || m != int64(want.Month()) {
			t.Fatalf("day %d: %d-%d, want %s", day, y, m, want.Format("2006-01"))
		}
	}
	for day := int64(-146097); day <= 146097; day++ {
		check(day)
	}
	check(math.MinInt32)
	check(math.MaxInt32)
}

func TestTwosComplement(t *testing.T) {
	t.Parallel()
	for v, want := range map[int64][]byte{0: {0}, 1: {1}, 127: {127}, 128: {0, 128}, 255: {0, 255}, 256: {1, 0}, -1: {255}, -128: {128}, -129: {255, 127}, -256: {255, 0}, -32768: {128, 0}} {
		if got := TwosComplement(big.NewInt(v)); string(got) != string(want) {
			t.Errorf("%d: %x, want %x", v, got, want)
		}
	}
}
