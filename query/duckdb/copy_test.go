//go:build duckdb_arrow && cgo

package duckdb

import (
	"math"
	"testing"
)

// Half floats of every kind, subnormal ones too, are the numbers they stand for (IEEE 754, binary16).
func TestHalvesAreExact(t *testing.T) {
	t.Parallel()
	cases := map[uint16]float32{0: 0, 1: 0x1p-24, 0x03ff: 0x3ffp-24, 0x0400: 0x1p-14, 0x3c00: 1, 0xc100: -2.5, 0x7bff: 65504, 0x7c00: float32(math.Inf(1)), 0x8001: -0x1p-24}
	for bits, want := range cases {
		var got [1]float32
		copyHalves(got[:], []byte{byte(bits), byte(bits >> 8)})
		if got[0] != want {
			t.Errorf("%04x: %g, want %g", bits, got[0], want)
		}
	}
}
