package eval

import (
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// A predicate is bound to the table's decimals of 128 bits; the batch may hold the same ones in 64 (source.Config.Short).

// short is the type of a column that holds the predicate's decimals in 64 bits, nil for any other.
func (c *compiler) short(col expr.Column) arrow.DataType {
	p, err := c.place(col)
	if err != nil || col.Type == nil {
		return nil
	}
	return shortOf(c.field(p.path).Type, expr.ValueType(col.Type))
}

func shortOf(got, want arrow.DataType) arrow.DataType {
	g, ok := got.(*arrow.Decimal64Type)
	w, wide := want.(*arrow.Decimal128Type)
	if !ok || !wide || g.Scale != w.Scale || g.Precision != w.Precision {
		return nil
	}
	return g
}

// compareShort is compareKernel; a literal beyond 64 bits lies beyond every value.
func compareShort(t arrow.DataType, x expr.Compare) (k kernel, negated bool, err error) {
	v, ok := x.Lit.Value.(*big.Int)
	if !ok || v == nil {
		return nil, false, errUnbound
	}
	op := x.Op
	switch op {
	case expr.NE, expr.GE, expr.GT:
		op, negated = op.Negate(), true
	}
	switch {
	case v.IsInt64():
		return newRange(t, op, v.Int64()), negated, nil
	case v.Sign() > 0 && op != expr.EQ:
		return newRange(t, expr.LE, int64(math.MaxInt64)), negated, nil
	}
	return nothing(t), negated, nil
}

func inShort(t arrow.DataType, x expr.In) (kernel, error) {
	var lits []expr.Literal
	for _, l := range x.Lits {
		v, ok := l.Value.(*big.Int)
		if !ok || v == nil {
			return nil, errUnbound
		}
		if v.IsInt64() {
			lits = append(lits, l)
		}
	}
	if len(lits) == 0 {
		return nothing(t), nil
	}
	return newNumberSet(t, slices.Clip(lits)), nil
}

// nothing holds for no value.
func nothing(t arrow.DataType) kernel { return newRange(t, expr.LT, int64(math.MinInt64)) }
