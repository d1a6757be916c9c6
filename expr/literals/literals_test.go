package literals_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/literals"
)

func TestArray(t *testing.T) {
	t.Parallel()
	ten := big.NewInt(1000)
	fixed := &arrow.FixedSizeBinaryType{ByteWidth: 2}
	for _, c := range []struct {
		t    arrow.DataType
		v    any
		want string // what Arrow says of the value; "!" = refused
	}{
		{nil, nil, "(null)"},
		{arrow.PrimitiveTypes.Int8, nil, "(null)"},
		{arrow.PrimitiveTypes.Int8, int64(-128), "-128"},
		{arrow.PrimitiveTypes.Int16, int64(-3), "-3"},
		{arrow.PrimitiveTypes.Int32, int64(math.MaxInt32), "2147483647"},
		{arrow.PrimitiveTypes.Int64, int64(math.MinInt64), "-9223372036854775808"},
		{arrow.PrimitiveTypes.Uint8, uint64(255), "255"},
		{arrow.PrimitiveTypes.Uint16, uint64(7), "7"},
		{arrow.PrimitiveTypes.Uint32, uint64(math.MaxUint32), "4294967295"},
		{arrow.PrimitiveTypes.Uint64, uint64(math.MaxUint64), "18446744073709551615"},
		{arrow.FixedWidthTypes.Float16, 1.5, "1.5"},
		{arrow.PrimitiveTypes.Float32, 0.25, "0.25"},
		{arrow.PrimitiveTypes.Float64, math.Inf(-1), "-Inf"},
		{arrow.FixedWidthTypes.Boolean, true, "true"},
		{arrow.FixedWidthTypes.Date32, int64(1), "1970-01-02"},
		{arrow.FixedWidthTypes.Date64, int64(86400000), "1970-01-02"},
		{arrow.FixedWidthTypes.Time32s, int64(61), "00:01:01"},
		{arrow.FixedWidthTypes.Time64us, int64(1), "00:00:00.000001"},
		{arrow.FixedWidthTypes.Timestamp_s, int64(1), "1970-01-01T00:00:01Z"},
		{&arrow.Decimal32Type{Precision: 9, Scale: 2}, ten, "10"},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, ten, "10"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, ten, "10"},
		{&arrow.Decimal256Type{Precision: 76, Scale: 2}, ten, "10"},
		{arrow.BinaryTypes.String, "a", "a"},
		{arrow.BinaryTypes.LargeString, "a", "a"},
		{arrow.BinaryTypes.StringView, "a", "a"},
		{arrow.BinaryTypes.Binary, []byte("a"), "YQ=="},
		{arrow.BinaryTypes.LargeBinary, []byte("a"), "YQ=="},
		{arrow.BinaryTypes.BinaryView, []byte("a"), "YQ=="},
		{fixed, []byte("ab"), "YWI="},
		{fixed, []byte("abc"), "!"},
		{fixed, "ab", "!"},
		{arrow.PrimitiveTypes.Int32, "1", "!"},
		{arrow.PrimitiveTypes.Int32, uint64(1), "!"},
		{arrow.PrimitiveTypes.Int32, 1.0, "!"},
		{arrow.BinaryTypes.String, int64(1), "!"},
		{arrow.FixedWidthTypes.Boolean, int64(1), "!"},
		{arrow.PrimitiveTypes.Uint8, int64(1), "!"},
		{arrow.PrimitiveTypes.Float64, ten, "!"},
		{arrow.PrimitiveTypes.Float64, true, "!"},
		{arrow.PrimitiveTypes.Float64, struct{}{}, "!"},
		{arrow.ListOf(arrow.PrimitiveTypes.Int32), int64(1), "!"},
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		a, err := literals.Array(mem, expr.Literal{Type: c.t, Value: c.v})
		got := "!"
		if err == nil {
			got = a.ValueStr(0)
			if a.Len() != 1 {
				t.Errorf("%v: %d values", c.t, a.Len())
			}
			a.Release()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%v of %T: %q, want %q (%v)", c.t, c.v, got, c.want, err)
		}
		mem.AssertSize(t, 0)
	}
}

// What is refused leaves the builder as it was.
func TestAppendRefused(t *testing.T) {
	t.Parallel()
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	if err := literals.Append(b, "x"); err == nil || b.Len() != 0 {
		t.Errorf("%v, %d values", err, b.Len())
	}
}
