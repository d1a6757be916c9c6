package expr

import "testing"

// HalfBits is the inverse of Half for every half; NaN is one.
func TestHalfBits(t *testing.T) {
	t.Parallel()
	for i := range 1 << 16 {
		bits := uint16(i)
		v := Half(bits)
		got := HalfBits(v)
		if v != v {
			bits = 0x7e00
		}
		if got != bits {
			t.Fatalf("HalfBits(%v) = %#x, want %#x", v, got, bits)
		}
	}
	for _, c := range []struct{ v, want float64 }{{1e9, 65504}, {65504.5, 65504}, {-1e9, -65504}, {1.0001, 1}} {
		if got := Half(HalfBits(c.v)); got != c.want {
			t.Errorf("%v: %v, want %v", c.v, got, c.want)
		}
	}
}
