package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestExtremes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		typ      arrow.DataType
		json     string
		min, max any // nil = every value is NULL
	}{
		{"integers", arrow.PrimitiveTypes.Int32, `[3, null, -7, 5]`, int64(-7), int64(5)},
		{"unsigned", arrow.PrimitiveTypes.Uint8, `[200, 3]`, uint64(3), uint64(200)},
		{"text", arrow.BinaryTypes.String, `["b", null, "ab", "z"]`, "ab", "z"},
		{"booleans", arrow.FixedWidthTypes.Boolean, `[true, null, false]`, false, true},
		{"floats", arrow.PrimitiveTypes.Float64, `[1.5, -2]`, -2.0, 1.5},
		{"nulls", arrow.PrimitiveTypes.Int64, `[null, null]`, nil, nil},
		{"nothing", arrow.PrimitiveTypes.Int64, `[]`, nil, nil},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(err)
		}
		least, greatest, ok, err := Extremes(a)
		if err != nil || ok != (c.min != nil) || ok && (least.Value != c.min || greatest.Value != c.max) {
			t.Errorf("%s: %v, %v, %v, %v; want %v, %v", c.name, least.Value, greatest.Value, ok, err, c.min, c.max)
		}
		a.Release()
	}
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{1, math.NaN(), math.Inf(1)}, nil)
	a := b.NewArray()
	defer a.Release()
	if _, greatest, _, _ := Extremes(a); !math.IsNaN(greatest.Value.(float64)) {
		t.Errorf("greatest %v, want NaN: it is above every number", greatest.Value)
	}
}

// Half-precision floats below 2^-14 are subnormal, and arrow-go's own conversion makes them 2^102 times too small.
func TestExtremesOfSubnormalHalves(t *testing.T) {
	t.Parallel()
	b := array.NewFloat16Builder(memory.DefaultAllocator)
	b.Append(float16.FromBits(0x0001)) // 2^-24
	b.Append(float16.FromBits(0x03ff)) // 1023 * 2^-24
	a := b.NewArray()
	defer a.Release()
	least, greatest, ok, err := Extremes(a)
	if err != nil || !ok || least.Value != math.Ldexp(1, -24) || greatest.Value != math.Ldexp(1023, -24) {
		t.Errorf("%v, %v, %v, %v; want 2^-24 and 1023 * 2^-24", least.Value, greatest.Value, ok, err)
	}
}
