package prune

import (
	"encoding/binary"
	"math"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// MaxDictionary is the number of entries above which a dictionary is not worth a look.
const MaxDictionary = 1 << 16

// Dictionary holds every value that a chunk can have, nulls apart; it may hold more.
type Dictionary struct{ values []expr.Literal }

// NewDictionary reads the body of a dictionary page: n PLAIN values, decompressed. It is evidence only if every data page of
// the chunk is encoded with it (thrift.Chunk.DictionaryOnly); nil if it is too large, malformed, or not comparable.
func NewDictionary(c Column, plain []byte, n int) *Dictionary {
	x := c.codec()
	if x.form == formNone || n < 0 || n > MaxDictionary || c.Node.Rep > 0 {
		return nil
	}
	d := &Dictionary{values: make([]expr.Literal, 0, min(n, len(plain)))}
	for range n {
		width := x.physical.Width()
		switch x.physical {
		case thrift.FixedLenByteArray:
			width = x.length
		case thrift.ByteArray:
			if len(plain) < 4 {
				return nil
			}
			size := binary.LittleEndian.Uint32(plain)
			if plain = plain[4:]; size > math.MaxInt32 {
				return nil
			}
			width = int(size)
		case thrift.Boolean, thrift.Int96:
			return nil
		}
		if width > len(plain) {
			return nil
		}
		v, ok := x.value(plain[:width:width])
		if !ok {
			return nil
		}
		d.values = append(d.values, expr.Literal{Type: c.Type, Value: v})
		plain = plain[width:]
	}
	return d
}

// leaf tests the predicate on every entry. m tells about nulls.
func (d *Dictionary) leaf(e expr.Expr, m Metrics) expr.Verdict {
	test := matcher(e)
	if test == nil {
		return expr.Some
	}
	matched := 0
	for _, v := range d.values {
		if test(v) {
			matched++
		}
	}
	return verdict(matched == 0, matched == len(d.values) && m.noNulls())
}

// matcher decides the leaf on one value that is not null; nil if that is not this package's business.
func matcher(e expr.Expr) func(expr.Literal) bool {
	switch e := e.(type) {
	case expr.Compare:
		return func(v expr.Literal) bool { return sameGoType(v.Value, e.Lit.Value) && holds(e.Op, v.Compare(e.Lit)) }
	case expr.In:
		return func(v expr.Literal) bool {
			for _, l := range e.Lits {
				if sameGoType(v.Value, l.Value) && v.Compare(l) == 0 {
					return !e.Negated
				}
			}
			return e.Negated
		}
	case expr.IsNaN:
		return func(v expr.Literal) bool {
			f, ok := v.Value.(float64)
			return (ok && math.IsNaN(f)) != e.Negated
		}
	case expr.StartsWith:
		return func(v expr.Literal) bool {
			s, _ := text(v.Value)
			return (len(s) >= len(e.Prefix) && s[:len(e.Prefix)] == e.Prefix) != e.Negated
		}
	case expr.Like:
		p, err := expr.CompileLike(e.Pattern)
		if err != nil {
			return nil
		}
		return func(v expr.Literal) bool {
			s, _ := text(v.Value)
			return p.Match([]byte(s)) != e.Negated
		}
	}
	return nil
}

// holds tells if a comparison that came out as order satisfies op.
func holds(op expr.Op, order int) bool {
	switch op {
	case expr.EQ:
		return order == 0
	case expr.NE:
		return order != 0
	case expr.LT:
		return order < 0
	case expr.LE:
		return order <= 0
	case expr.GT:
		return order > 0
	default:
		return order >= 0
	}
}
