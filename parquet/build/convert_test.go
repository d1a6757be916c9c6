package build

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

func i32(v ...int32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func i64(v ...int64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func f32(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// i96 is nanoseconds of a day and a Julian day.
func i96(nanos int64, day int32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(nanos)), uint32(day))
}

func unit(k thrift.LogicalKind, u thrift.Unit) thrift.Logical {
	return thrift.Logical{Kind: k, Unit: u, UTC: true}
}

func integer(bits uint8, signed bool) thrift.Logical {
	return thrift.Logical{Kind: thrift.LogicalInt, BitWidth: bits, Signed: signed}
}

func dec(p, s int32) thrift.Logical {
	return thrift.Logical{Kind: thrift.LogicalDecimal, Precision: p, Scale: s}
}

// TestQ12_Conversions at their edges: smallest and largest values, around zero and the epoch, overflow.
func TestQ12_Conversions(t *testing.T) {
	t.Parallel()
	ts := func(u arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: u} }
	us, ns, ms := ts(arrow.Microsecond), ts(arrow.Nanosecond), ts(arrow.Millisecond)
	d128 := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	d64 := func(p, s int32) arrow.DataType { return &arrow.Decimal64Type{Precision: p, Scale: s} }
	none := thrift.Logical{}
	for _, c := range []struct {
		name string
		node *schema.Node
		out  arrow.DataType
		body []byte
		want string // "error" = overflow
	}{
		{"int8", leaf(t, thrift.Int32, 0, integer(8, true), false), arrow.PrimitiveTypes.Int8, i32(-128, -1, 0, 127), "-128 -1 0 127"},
		{"uint16", leaf(t, thrift.Int32, 0, integer(16, false), false), arrow.PrimitiveTypes.Uint16, i32(0, 65535), "0 65535"},
		{"uint32", leaf(t, thrift.Int32, 0, integer(32, false), false), arrow.PrimitiveTypes.Uint32, i32(0, -1), "0 4294967295"},
		{"uint64", leaf(t, thrift.Int64, 0, integer(64, false), false), arrow.PrimitiveTypes.Uint64, i64(0, -1), "0 18446744073709551615"},
		{"int to long", leaf(t, thrift.Int32, 0, none, false), arrow.PrimitiveTypes.Int64, i32(math.MinInt32, -1, 0, math.MaxInt32), "-2147483648 -1 0 2147483647"},
		{"uint32 to long", leaf(t, thrift.Int32, 0, integer(32, false), false), arrow.PrimitiveTypes.Int64, i32(-1, 0, 1), "4294967295 0 1"},
		{"uint8 to int", leaf(t, thrift.Int32, 0, integer(8, false), false), arrow.PrimitiveTypes.Int32, i32(255, 0), "255 0"},
		{"int16 to long", leaf(t, thrift.Int32, 0, integer(16, true), false), arrow.PrimitiveTypes.Int64, i32(-32768, 32767), "-32768 32767"},
		{
			"float to double", leaf(t, thrift.Float, 0, none, false), arrow.PrimitiveTypes.Float64, f32(0.5, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32),
			"0.5 -0 -Inf 3.4028234663852886e+38 1.401298464324817e-45",
		},
		{
			"date to timestamp[us]", leaf(t, thrift.Int32, 0, thrift.Logical{Kind: thrift.LogicalDate}, false), us, i32(-1, 0, 1, 2932896),
			"1969-12-31 00:00:00.000000 1970-01-01 00:00:00.000000 1970-01-02 00:00:00.000000 9999-12-31 00:00:00.000000",
		},
		{"date to timestamp[us], overflow", leaf(t, thrift.Int32, 0, thrift.Logical{Kind: thrift.LogicalDate}, false), us, i32(math.MaxInt32), "error"},
		{"date to timestamp[ns], overflow", leaf(t, thrift.Int32, 0, thrift.Logical{Kind: thrift.LogicalDate}, false), ns, i32(-106752), "error"},
		{"ms to us", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Millis), false), us, i64(-1, 0, 1), "1969-12-31 23:59:59.999000 1970-01-01 00:00:00.000000 1970-01-01 00:00:00.001000"},
		{"ms to us, overflow", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Millis), false), us, i64(math.MaxInt64/1000 + 1), "error"},
		{"ms to us, underflow", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Millis), false), us, i64(math.MinInt64), "error"},
		{
			"ns to us by floor", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Nanos), false), us, i64(-1, -1000, -1001, 999, 1000),
			"1969-12-31 23:59:59.999999 1969-12-31 23:59:59.999999 1969-12-31 23:59:59.999998 1970-01-01 00:00:00.000000 1970-01-01 00:00:00.000001",
		},
		{"us to ms by floor", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Micros), false), ms, i64(-1, 999), "1969-12-31 23:59:59.999 1970-01-01 00:00:00.000"},
		{"time ms to us", leaf(t, thrift.Int32, 0, unit(thrift.LogicalTime, thrift.Millis), false), arrow.FixedWidthTypes.Time64us, i32(0, 86399999), "00:00:00.000000 23:59:59.999000"},
		{"time ms", leaf(t, thrift.Int32, 0, unit(thrift.LogicalTime, thrift.Millis), false), arrow.FixedWidthTypes.Time32ms, i32(0, 86399999), "00:00:00.000 23:59:59.999"},
		{"time ns to us", leaf(t, thrift.Int64, 0, unit(thrift.LogicalTime, thrift.Nanos), false), arrow.FixedWidthTypes.Time64us, i64(1999), "00:00:00.000001"},
		{"decimal in int32", leaf(t, thrift.Int32, 0, dec(9, 2), false), d128(12, 2), i32(math.MinInt32, -1, 0, 7), "-21474836.48 -0.01 0.00 0.07"},
		{"decimal in int64", leaf(t, thrift.Int64, 0, dec(18, 0), false), d128(18, 0), i64(math.MinInt64, -1, 0), "-9223372036854775808 -1 0"},
		{"decimal in one byte", leaf(t, thrift.FixedLenByteArray, 1, dec(2, 0), false), d128(2, 0), []byte{0x80, 0xff, 0, 0x7f}, "-128 -1 0 127"},
		{
			"decimal in 16 bytes", leaf(t, thrift.FixedLenByteArray, 16, dec(38, 0), false), d128(38, 0),
			append(append([]byte{0x80}, make([]byte, 15)...), append([]byte{0x7f}, strings.Repeat("\xff", 15)...)...),
			"-170141183460469231731687303715884105728 170141183460469231731687303715884105727",
		},
		{
			"decimal in 17 bytes", leaf(t, thrift.FixedLenByteArray, 17, dec(38, 0), false), d128(38, 0),
			append([]byte(strings.Repeat("\xff", 16)+"\x85"), append(make([]byte, 16), 9)...), "-123 9",
		},
		{"decimal in 17 bytes, too large", leaf(t, thrift.FixedLenByteArray, 17, dec(38, 0), false), d128(38, 0), append([]byte{1}, make([]byte, 16)...), "error"},
		{"decimal in 17 bytes, sign lost", leaf(t, thrift.FixedLenByteArray, 17, dec(38, 0), false), d128(38, 0), append([]byte{0, 0x80}, make([]byte, 15)...), "error"},
		{"short decimal in int32", leaf(t, thrift.Int32, 0, dec(9, 2), false), d64(12, 2), i32(math.MinInt32, -1, 0, 7), "-21474836.48 -0.01 0.00 0.07"},
		{"short decimal in int64", leaf(t, thrift.Int64, 0, dec(18, 0), false), d64(18, 0), i64(math.MinInt64, -1, 0), "-9223372036854775808 -1 0"},
		{"short decimal in three bytes", leaf(t, thrift.FixedLenByteArray, 3, dec(6, 1), false), d64(10, 1), []byte{0xff, 0xff, 0xfe, 1, 0, 0}, "-0.2 6553.6"},
		{"short decimal in 9 bytes", leaf(t, thrift.FixedLenByteArray, 9, dec(18, 0), false), d64(18, 0), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0}, "-16"},
		{"short decimal in 9 bytes, too large", leaf(t, thrift.FixedLenByteArray, 9, dec(18, 0), false), d64(18, 0), []byte{0, 0xff, 0, 0, 0, 0, 0, 0, 0}, "error"},
		{"float16", leaf(t, thrift.FixedLenByteArray, 2, thrift.Logical{Kind: thrift.LogicalFloat16}, false), arrow.FixedWidthTypes.Float16, []byte{0x00, 0x3c, 0x00, 0x80}, "1 -0"},
		{"int96 at the epoch", leaf(t, thrift.Int96, 0, none, false), us, append(i96(0, 2440588), i96(999, 2440587)...), "1970-01-01 00:00:00.000000 1969-12-31 00:00:00.000000"},
		{"int96 far", leaf(t, thrift.Int96, 0, none, false), us, append(i96(0, 2305448), i96(1, 5373484)...), "1600-01-01 00:00:00.000000 9999-12-31 00:00:00.000000"},
		{"int96 as ns", leaf(t, thrift.Int96, 0, none, false), ns, i96(86399999999999, 2440588), "1970-01-01 23:59:59.999999999"},
		{"int96 as ns, overflow", leaf(t, thrift.Int96, 0, none, false), ns, i96(0, 5373484), "error"},
		{"int96 as ms", leaf(t, thrift.Int96, 0, none, false), ms, i96(1999999, 2440588), "1970-01-01 00:00:00.001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := NewPlan(c.node, c.out)
			if err != nil {
				t.Fatal(err)
			}
			n := len(c.body) / plan.width
			pages := map[string][]page.Page{
				"plain": {dataPage(n, thrift.Plain, c.body)},
				"split": {dataPage(n, thrift.ByteStreamSplit, split(c.body, plan.width))},
			}
			idx := make([]uint32, n)
			for i := range idx {
				idx[i] = uint32(i)
			}
			pages["dictionary"] = []page.Page{dictionaryPage(n, c.body), dataPage(n, thrift.RLEDictionary, indices(5, idx...))}
			if plan.physical == thrift.Int96 {
				delete(pages, "split")
			}
			for enc, p := range pages {
				got, err := readAll(t, plan, p, n, 0, Options{})
				switch {
				case c.want == "error" && !errors.Is(err, ErrCorrupt):
					t.Errorf("%s: %q, %v", enc, got, err)
				case c.want != "error" && (err != nil || got != c.want):
					t.Errorf("%s: %q, %v; want %q", enc, got, err, c.want)
				}
			}
		})
	}
}

func split(b []byte, width int) []byte {
	n := len(b) / width
	out := make([]byte, len(b))
	for i := range n {
		for k := range width {
			out[k*n+i] = b[i*width+k]
		}
	}
	return out
}

// TestL26_DecimalsInByteArrays of any length, plain and as dictionary.
func TestL26_DecimalsInByteArrays(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(leaf(t, thrift.ByteArray, 0, dec(20, 2), false), &arrow.Decimal128Type{Precision: 38, Scale: 2})
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"\x00", "\xff", "\x7f", "\x80", "\x01\x00", "\xff\x00", strings.Repeat("\xff", 20) + "\x00", strings.Repeat("\x00", 20) + "\x05", ""}
	want := "0.00 -0.01 1.27 -1.28 2.56 -2.56 -2.56 0.05 0.00"
	body := plainStrings(values...)
	for name, pages := range map[string][]page.Page{
		"plain":      {dataPage(len(values), thrift.Plain, body)},
		"dictionary": {dictionaryPage(len(values), body), dataPage(len(values), thrift.RLEDictionary, indices(4, 0, 1, 2, 3, 4, 5, 6, 7, 8))},
	} {
		if got, err := readAll(t, plan, pages, len(values), 0, Options{}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := readAll(t, plan, []page.Page{dataPage(1, thrift.Plain, plainStrings("\x01"+strings.Repeat("\x00", 16)))}, 1, 0, Options{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("17 significant bytes: %v", err)
	}
}

func TestBigEndian(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 9))
	for range 5000 {
		v := make([]byte, 1+rnd.IntN(20))
		for i := range v {
			v[i] = []byte{0, 0xff, byte(rnd.Uint32())}[rnd.IntN(3)]
		}
		want := new(big.Int).SetBytes(v)
		if v[0]&0x80 != 0 {
			want.Sub(want, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		var dst [16]byte
		ok := bigEndian(dst[:], v)
		fits := want.BitLen() < 128 || want.Cmp(new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))) == 0
		if ok != fits {
			t.Fatalf("%x: %v; fits %v", v, ok, fits)
		}
		got := decimal128.New(int64(binary.LittleEndian.Uint64(dst[8:])), binary.LittleEndian.Uint64(dst[:]))
		if ok && got.BigInt().Cmp(want) != 0 {
			t.Fatalf("%x: %v; want %v", v, got.BigInt(), want)
		}
	}
}

// TestFloatKeepsNaN: widening keeps the bits of a NaN.
func TestFloatKeepsNaN(t *testing.T) {
	t.Parallel()
	for _, b := range []uint32{0x7fc00000, 0x7f800001, 0xffc12345, 0x7fa00000} {
		got := math.Float64bits(widenFloat(b))
		if want := uint64(b>>31)<<63 | 0x7ff<<52 | uint64(b&0x7fffff)<<29; got != want {
			t.Errorf("%08x: %016x; want %016x", b, got, want)
		}
	}
	for _, f := range []float32{0, 1, -3.5, math.MaxFloat32, float32(math.Inf(1)), math.SmallestNonzeroFloat32} {
		if got := widenFloat(math.Float32bits(f)); got != float64(f) {
			t.Errorf("%v: %v", f, got)
		}
	}
}

func TestPlan_RefusesWhatWouldChangeValues(t *testing.T) {
	t.Parallel()
	d := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	for name, c := range map[string]struct {
		node *schema.Node
		out  arrow.DataType
	}{
		"long to int":          {leaf(t, thrift.Int64, 0, thrift.Logical{}, false), arrow.PrimitiveTypes.Int32},
		"int to uint64":        {leaf(t, thrift.Int32, 0, thrift.Logical{}, false), arrow.PrimitiveTypes.Uint64},
		"double to float":      {leaf(t, thrift.Double, 0, thrift.Logical{}, false), arrow.PrimitiveTypes.Float32},
		"decimal narrowed":     {leaf(t, thrift.Int64, 0, dec(18, 2), false), d(17, 2)},
		"decimal rescaled":     {leaf(t, thrift.Int64, 0, dec(18, 2), false), d(20, 3)},
		"int as string":        {leaf(t, thrift.Int32, 0, thrift.Logical{}, false), arrow.BinaryTypes.String},
		"string as int":        {leaf(t, thrift.ByteArray, 0, thrift.Logical{}, false), arrow.PrimitiveTypes.Int32},
		"fixed of other width": {leaf(t, thrift.FixedLenByteArray, 4, thrift.Logical{}, false), &arrow.FixedSizeBinaryType{ByteWidth: 5}},
		"decimal as binary":    {leaf(t, thrift.ByteArray, 0, dec(9, 0), false), arrow.BinaryTypes.Binary},
		"timestamp as long":    {leaf(t, thrift.Int64, 0, unit(thrift.LogicalTimestamp, thrift.Micros), false), arrow.PrimitiveTypes.Int64},
	} {
		if _, err := NewPlan(c.node, c.out); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestL38_INT96 near both ends of the years users have, plain and dictionary, with nulls; far dates as Spark writes them.
func TestL38_INT96(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(leaf(t, thrift.Int96, 0, thrift.Logical{}, true), &arrow.TimestampType{Unit: arrow.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]int32{"1600-01-01": 2305448, "1969-12-31": 2440587, "1970-01-01": 2440588, "2263-01-01": 2547604, "3332-01-01": 2938048}
	var body []byte
	var want []string
	var idx []uint32
	valid := []bool{}
	for day, julian := range days {
		idx = append(idx, uint32(len(idx)))
		body = append(body, i96(1500, julian)...)
		want = append(want, day+" 00:00:00.000001", "(null)")
		valid = append(valid, true, false)
	}
	for name, pages := range map[string][]page.Page{
		"plain":      {dataPage(10, thrift.Plain, levels(valid), body)},
		"dictionary": {dictionaryPage(5, body), dataPage(10, thrift.RLEDictionary, levels(valid), indices(3, idx...))},
	} {
		if got, err := readAll(t, plan, pages, 10, 3, Options{}); err != nil || got != strings.Join(want, " ") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// Whole words give what the bytes one by one give, at every width and at the end of the input.
func TestBigEndiansAreBigEndianOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, to := range []int{4, 8, 16, 32} {
		for from := range 40 {
			for _, n := range []int{0, 1, 2, 3, 17} {
				src := make([]byte, n*from)
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				for i := range n { // beyond the width of the output only the sign may stand, for most
					for k := range max(from-to, 0) {
						src[i*from+k] = byte(int8(src[i*from+max(from-to, 0)]) >> 7)
					}
				}
				if n == 17 && from > 0 && r.IntN(2) == 0 {
					src[16*from] ^= 0x40 // the last one may not fit
				}
				want, got, fits := make([]byte, n*to), make([]byte, n*to), true
				for i := range n {
					fits = fits && bigEndian(want[i*to:(i+1)*to], src[i*from:(i+1)*from])
				}
				if ok := bigEndians(got, src, to, from); ok != fits || ok && !bytes.Equal(got, want) {
					t.Fatalf("%d values of %d bytes to %d: %v %x, want %v %x", n, from, to, ok, got, fits, want)
				}
			}
		}
	}
}
