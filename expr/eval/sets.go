package eval

import (
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// numberSet is IN over fixed-width numbers: a bitmap where they lie close together, else a table with open addressing.
type numberSet struct {
	id    arrow.Type
	width int
	base  uint64   // the least member, as the bits of the type
	dense []uint64 // bit (x - base) in the arithmetic of the type
	span  uint64
	table []uint64
	none  uint64 // marks an empty slot; not a member
	shift int
}

// maxDense is the largest bitmap: 64 KiB stays in the second-level cache.
const maxDense = 1 << 19

func newNumberSet(t arrow.DataType, lits []expr.Literal) kernel {
	t = expr.ValueType(t)
	s := &numberSet{id: t.ID(), width: t.(arrow.FixedWidthDataType).BitWidth() / 8}
	keys := make([]uint64, len(lits))
	for i, l := range lits {
		switch v := l.Value.(type) {
		case int64:
			keys[i] = uint64(v) & s.ones()
		case uint64:
			keys[i] = v
		case float64:
			keys[i] = floatKey(v)
		case *big.Int:
			keys[i] = uint64(v.Int64()) & s.ones()
		}
	}
	lo := slices.MinFunc(lits, expr.Literal.Compare)
	hi := slices.MaxFunc(lits, expr.Literal.Compare)
	if _, isFloat := lo.Value.(float64); !isFloat {
		s.base = keys[slices.IndexFunc(lits, func(l expr.Literal) bool { return l.Compare(lo) == 0 })]
		s.span = (keys[slices.IndexFunc(lits, func(l expr.Literal) bool { return l.Compare(hi) == 0 })] - s.base) & s.ones()
		if s.span < maxDense {
			s.dense = make([]uint64, s.span/64+1)
			for _, k := range keys {
				d := (k - s.base) & s.ones()
				s.dense[d/64] |= 1 << (d % 64)
			}
			return s
		}
	}
	s.fillTable(keys)
	return s
}

func (s *numberSet) ones() uint64 { return math.MaxUint64 >> (64 - 8*s.width) }

// floatKey gives equal floats equal bits; NaN is never a member.
func floatKey(v float64) uint64 { return math.Float64bits(v + 0) }

func (s *numberSet) fillTable(keys []uint64) {
	size := bits.Len(uint(len(keys))) + 1 // at most half full
	s.table, s.shift = make([]uint64, 1<<size), 64-size
	sorted := slices.Sorted(slices.Values(keys))
	for _, k := range sorted {
		if k == s.none {
			s.none++
		}
	}
	for i := range s.table {
		s.table[i] = s.none
	}
	for _, k := range keys {
		i := s.slot(k)
		for s.table[i] != s.none && s.table[i] != k {
			i = (i + 1) & (len(s.table) - 1)
		}
		s.table[i] = k
	}
}

func (s *numberSet) slot(k uint64) int { return int(k * 0x9e3779b97f4a7c15 >> s.shift) }

func (s *numberSet) has(k uint64) bool {
	if k == s.none {
		return false
	}
	for i := s.slot(k); ; i = (i + 1) & (len(s.table) - 1) {
		if s.table[i] == k {
			return true
		}
		if s.table[i] == s.none {
			return false
		}
	}
}

func (s *numberSet) cost() int { return 3 }

func (s *numberSet) run(_ *frame, v view, rows []uint64) error {
	switch s.id {
	case arrow.FLOAT16:
		return probe(v, rows, func(x uint16) bool { return s.has(floatKey(expr.Half(x))) })
	case arrow.FLOAT32:
		return probe(v, rows, func(x float32) bool { return s.has(floatKey(float64(x))) })
	case arrow.FLOAT64:
		return probe(v, rows, func(x float64) bool { return s.has(floatKey(x)) })
	}
	switch s.width {
	case 1:
		return runSet[uint8](s, v, rows)
	case 2:
		return runSet[uint16](s, v, rows)
	case 4:
		return runSet[uint32](s, v, rows)
	}
	return runSet[uint64](s, v, rows)
}

func runSet[T unsigned](s *numberSet, v view, rows []uint64) error {
	if s.dense == nil {
		return probe(v, rows, func(x T) bool { return s.has(uint64(x)) })
	}
	vals, err := fixed[T](v)
	if err != nil {
		return err
	}
	base := T(s.base)
	for w, open := range rows {
		if open == 0 {
			continue
		}
		p := vals[w*64 : min(w*64+64, len(vals))]
		var m uint64
		for i := len(p) - 1; i >= 0; i-- {
			d := uint64(p[i] - base)
			m <<= 1
			if d <= s.span {
				m |= s.dense[d/64] >> (d % 64) & 1
			}
		}
		rows[w] = open & m
	}
	return nil
}

// probe tests the open rows one by one.
func probe[T any](v view, rows []uint64, has func(T) bool) error {
	vals, err := fixed[T](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		for m := open; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			if !has(vals[w*64+i]) {
				open &^= 1 << i
			}
		}
		rows[w] = open
	}
	return nil
}

// wideSet is IN over wide decimals.
type wideSet[T wide] map[T]struct{}

func (wideSet[T]) cost() int { return 6 }

func (s wideSet[T]) run(_ *frame, v view, rows []uint64) error {
	return probe(v, rows, func(x T) bool { _, ok := s[x]; return ok })
}

func decimalIn(t arrow.DataType, lits []expr.Literal) kernel {
	switch expr.ValueType(t).ID() {
	case arrow.DECIMAL128:
		s := wideSet[[2]uint64]{}
		for _, l := range lits {
			s[[2]uint64(wideWords(l.Value.(*big.Int), 2))] = struct{}{}
		}
		return s
	case arrow.DECIMAL256:
		s := wideSet[[4]uint64]{}
		for _, l := range lits {
			s[[4]uint64(wideWords(l.Value.(*big.Int), 4))] = struct{}{}
		}
		return s
	}
	return newNumberSet(t, lits)
}
