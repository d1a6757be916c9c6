package expr

import (
	"math"
	"math/big"
	"sort"
)

// Arrow-go's float16 reads subnormal halves as float32 subnormals, 2^102 times too small, so the arithmetic is done here.

// maxHalf is the bit pattern of the greatest finite half, 65504.
const maxHalf = 0x7bff

// Half is the value of an IEEE 754 half-precision float.
func Half(bits uint16) float64 {
	exp, frac := int(bits>>10)&0x1f, float64(bits&0x3ff)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 0x1f:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(frac+1024, exp-25)
	}
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

// HalfBits is the inverse of Half: the bits of a half of value v, and of the greatest half not above v where v is none. All NaN are one.
func HalfBits(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign = 0x8000
	}
	switch {
	case v != v:
		return 0x7e00
	case v == 0:
		return sign
	case math.IsInf(v, 0):
		return sign | (maxHalf + 1)
	}
	i := halfRank(math.Max(v, -65504))
	if i < 0 {
		return uint16(-i) | 0x8000
	}
	return uint16(i)
}

// rankedHalf is the i-th finite half counted from 0, for i in ±maxHalf.
func rankedHalf(i int) float64 {
	if i < 0 {
		return Half(uint16(-i) | 0x8000)
	}
	return Half(uint16(i))
}

// halfRank is the rank of the greatest finite half not above v; v is at least the least one.
func halfRank(v float64) int {
	return sort.Search(2*maxHalf+1, func(n int) bool { return rankedHalf(n-maxHalf) > v }) - 1 - maxHalf
}

func floorHalf(v float64) float64 { return rankedHalf(halfRank(v)) }

// nearestHalf rounds to the nearest half, ties to even; ok is false where that is infinite.
func nearestHalf(r *big.Rat) (float64, bool) {
	v, _ := r.Float64()
	if math.Abs(v) >= 65520 { // halfway between the greatest half and what would follow it
		return v, false
	}
	i := halfRank(math.Max(v, -65504))
	below := rankedHalf(i)
	if i == maxHalf {
		return below, true
	}
	above := rankedHalf(i + 1)
	twice := new(big.Rat).Add(r, r)
	middle := new(big.Rat).Add(new(big.Rat).SetFloat64(below), new(big.Rat).SetFloat64(above))
	if c := twice.Cmp(middle); c < 0 || c == 0 && i%2 == 0 {
		return below, true
	}
	return above, true
}
