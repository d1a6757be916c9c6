package main

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
)

// profile says how the values of one column lie in one file: near a base, so that files and row groups have different bounds.
type profile struct {
	null    float64 // share of nulls
	special float64 // share of extremes
	base    float64 // 0..1, where in the type's usual range
	spread  int64   // distinct values
	sorted  bool
}

func randomProfile(r *rand.Rand) profile {
	return profile{
		null: []float64{0, 0, 0.1, 0.5, 1}[r.IntN(5)], special: []float64{0, 0, 0.02, 0.2}[r.IntN(4)],
		base: r.Float64(), spread: []int64{1, 3, 10, 1000}[r.IntN(4)], sorted: r.IntN(3) == 0,
	}
}

const (
	dateLow, dateHigh = -719162, 2932896 // 0001-01-01, 9999-12-31
	microsOfDay       = 86400_000_000
)

// limits are the least and the greatest value that the model writes for an integral type. Dates stay within four-digit years, which every reader can spell.
func limits(t *Type) (lo, hi int64) {
	switch t.Kind {
	case Int:
		return math.MinInt32, math.MaxInt32
	case Date:
		return dateLow, dateHigh
	case Time:
		return 0, microsOfDay - 1
	case Timestamp, Timestamptz:
		return dateLow * microsOfDay, (dateHigh+1)*microsOfDay - 1
	case TimestampNs, TimestamptzNs:
		return -9_000_000_000_000_000_000, 9_000_000_000_000_000_000
	}
	return math.MinInt64, math.MaxInt64
}

var words = []string{"", " ", "a", "ab", "abc", "b", "Zebra", "zebra", "it's", `say "x"`, "a.b", "café", "naïve", "日本語", "😀 smile", "100", "007", "null", "line\nbreak", "tab\t", "aaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaab", "\u00ff\u00ff", "~~~"}

// randomValue makes a value of a type that is not null.
func randomValue(r *rand.Rand, t *Type, p profile) any {
	special := r.Float64() < p.special
	step := int64(0)
	if p.spread > 0 {
		step = r.Int64N(p.spread)
	}
	switch t.Kind {
	case Bool:
		return r.IntN(2) == 0
	case Int, Long, Date, Time, Timestamp, Timestamptz, TimestampNs, TimestamptzNs:
		lo, hi := limits(t)
		if special {
			return []int64{lo, hi, max(lo, -1), 0, 1, lo + 1, hi - 1}[r.IntN(7)]
		}
		usual := map[Kind]float64{Int: 1000, Long: 1e6, Date: 40000, Time: microsOfDay / 2, Timestamp: 3e15, Timestamptz: 3e15, TimestampNs: 3e18, TimestamptzNs: 3e18}[t.Kind]
		unit := map[Kind]int64{Time: 1_000_001, Timestamp: 3_600_000_000 / 7, Timestamptz: 3_600_000_000 / 7, TimestampNs: 3_600_000_000_000 / 7, TimestamptzNs: 3_600_000_000_000 / 7}[t.Kind]
		if unit == 0 {
			unit = 1
		}
		return min(max(int64((p.base-0.5)*2*usual)+step*unit, lo), hi)
	case Float, Double:
		var f float64
		if special {
			f = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, math.NaN()}[r.IntN(9)]
		} else {
			f = (p.base-0.5)*100 + float64(step)/8
		}
		if t.Kind == Float {
			f = float64(float32(f))
		}
		return f
	case Decimal:
		top := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.P)), nil)
		if special {
			v := new(big.Int).Sub(top, big.NewInt(1))
			return []*big.Int{v, new(big.Int).Neg(v), new(big.Int), big.NewInt(-1)}[r.IntN(4)]
		}
		v := big.NewInt(int64((p.base-0.5)*2e6) + step)
		return v.Rem(v, top)
	case String:
		if special || p.spread < 100 {
			return words[(int(p.base*20)+int(step))%len(words)]
		}
		return words[int(p.base*20)%len(words)] + strings.Repeat(string(rune('a'+step%26)), int(step%7))
	case UUID, Fixed, Binary:
		n := map[Kind]int{UUID: 16, Fixed: t.N, Binary: int(step % 20)}[t.Kind]
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(int64(p.base*256) + step*int64(i))
			if special {
				out[i] = byte(r.IntN(2)) * 255
			}
		}
		return string(out)
	case Struct:
		out := map[int]any{}
		for _, f := range t.Fields {
			out[f.ID] = randomField(r, f, p)
		}
		return out
	case List:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, randomField(r, t.Fields[0], p))
		}
		return out
	}
	out := [][2]any{}
	seen := map[string]bool{}
	for range r.IntN(4) {
		p.spread = max(p.spread, 10)
		k := randomField(r, t.Fields[0], p)
		if s := string(valueText(nil, k, t.Fields[0].Type)); !seen[s] {
			seen[s] = true
			out = append(out, [2]any{k, randomField(r, t.Fields[1], p)})
		}
	}
	return out
}

func randomField(r *rand.Rand, f *Field, p profile) any {
	if !f.Required && r.Float64() < p.null {
		return nil
	}
	return randomValue(r, f.Type, p)
}
