package eval

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	num128 "github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
)

// A predicate picks the same rows of a decimal in 64 bits as of the one in 128 that it is bound to, also with literals that 64
// bits cannot hold.
func TestShortDecimals(t *testing.T) {
	t.Parallel()
	wide, short := &arrow.Decimal128Type{Precision: 18, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: 2}
	values := []int64{0, 1, -1, 7, 100, -100, math.MaxInt64, math.MinInt64, 999_999_999_999_999_999, -999_999_999_999_999_999}
	a := array.NewDecimal128Builder(arrowmem.DefaultAllocator, wide)
	b := array.NewDecimal64Builder(arrowmem.DefaultAllocator, short)
	for _, v := range values {
		a.Append(num128.FromI64(v))
		b.Append(decimal.Decimal64(v))
	}
	a.AppendNull()
	b.AppendNull()
	batch := func(x arrow.Array) arrow.RecordBatch {
		fields := []arrow.Field{expr.WithFieldID(arrow.Field{Name: "d", Type: x.DataType(), Nullable: true}, 1), expr.WithFieldID(arrow.Field{Name: "e", Type: x.DataType(), Nullable: true}, 2)}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), []arrow.Array{x, x}, int64(x.Len()))
	}
	in128, in64 := batch(a.NewArray()), batch(b.NewArray())

	far := new(big.Int).Lsh(big.NewInt(1), 64)
	var lits []expr.Literal
	for _, v := range []*big.Int{big.NewInt(0), big.NewInt(7), big.NewInt(-100), big.NewInt(math.MaxInt64), big.NewInt(math.MinInt64), far, new(big.Int).Neg(far)} {
		lits = append(lits, expr.Literal{Type: wide, Value: v})
	}
	col := expr.Column{ID: 1, Path: []string{"d"}, Type: wide}
	exprs := []expr.Expr{
		expr.In{Col: col, Lits: lits}, expr.In{Col: col, Lits: lits, Negated: true}, expr.In{Col: col, Lits: lits[5:]}, expr.In{Col: col, Lits: lits[5:], Negated: true},
	}
	for _, op := range []expr.Op{expr.EQ, expr.NE, expr.LT, expr.LE, expr.GT, expr.GE} {
		exprs = append(exprs, expr.CompareColumns{Op: op, Left: col, Right: expr.Column{ID: 2, Path: []string{"e"}, Type: wide}})
		for _, l := range lits {
			exprs = append(exprs, expr.Compare{Op: op, Col: col, Lit: l})
		}
	}
	pick := func(e expr.Expr, rec arrow.RecordBatch) []uint64 {
		ev, err := New(e, rec.Schema())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		var s Selection
		if err := ev.Eval(rec, &s); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		return slices.Clone(s.Words())
	}
	for _, e := range exprs {
		if got, want := pick(e, in64), pick(e, in128); !slices.Equal(got, want) {
			t.Errorf("%s: %b, want %b", e, got, want)
		}
	}
	rescaled := batch(array.NewDecimal64Builder(arrowmem.DefaultAllocator, &arrow.Decimal64Type{Precision: 18, Scale: 3}).NewArray())
	if _, err := New(expr.Compare{Op: expr.EQ, Col: col, Lit: lits[0]}, rescaled.Schema()); err == nil {
		t.Error("a decimal of another scale was taken")
	}
}
