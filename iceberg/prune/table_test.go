package prune

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
)

// The corners that random filters seldom reach.
func TestVerdictsOnEvidence(t *testing.T) {
	t.Parallel()
	float, text := arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	num := func(v float64) expr.Literal { return expr.Literal{Type: float, Value: v} }
	str := func(v string) expr.Literal { return expr.Literal{Type: text, Value: v} }
	x, s := expr.Column{Path: []string{"x"}, ID: 1, Type: float}, expr.Column{Path: []string{"s"}, ID: 2, Type: text}
	one := Evidence{Lower: num(1), Upper: num(1)}
	with := func(e Evidence, change func(*Evidence)) Evidence { change(&e); return e }
	pure := with(one, func(e *Evidence) { e.NoNulls, e.NoNaNs = true, true })
	noNulls := with(one, func(e *Evidence) { e.NoNulls = true })
	nans := Evidence{NoNulls: true, AllNaN: true, AllNullOrNaNs: true}
	nan := num(math.NaN())
	ab := Evidence{Lower: str("ab"), Upper: str("abz"), NoNulls: true, NoNaNs: true}
	abNulls := with(ab, func(e *Evidence) { e.NoNulls = false })
	for _, c := range []struct {
		leaf expr.Expr
		ev   Evidence
		want expr.Verdict
	}{
		{expr.Compare{Op: expr.NE, Col: x, Lit: num(1)}, one, expr.Some},
		{expr.Compare{Op: expr.NE, Col: x, Lit: num(1)}, pure, expr.None},
		{expr.Compare{Op: expr.NE, Col: x, Lit: num(2)}, noNulls, expr.All},
		{expr.Compare{Op: expr.NE, Col: x, Lit: num(2)}, nans, expr.All},
		{expr.Compare{Op: expr.GT, Col: x, Lit: num(2)}, nans, expr.All},
		{expr.Compare{Op: expr.GT, Col: x, Lit: num(2)}, noNulls, expr.Some}, // NaN is above every number, and bounds leave it out
		{expr.Compare{Op: expr.GE, Col: x, Lit: num(2)}, noNulls, expr.Some},
		{expr.Compare{Op: expr.GT, Col: x, Lit: num(2)}, pure, expr.None},
		{expr.Compare{Op: expr.GE, Col: x, Lit: num(2)}, pure, expr.None},
		{expr.Compare{Op: expr.GE, Col: x, Lit: num(2)}, nans, expr.All},
		{expr.Compare{Op: expr.LT, Col: x, Lit: num(2)}, nans, expr.None},
		{expr.Compare{Op: expr.EQ, Col: x, Lit: num(2)}, nans, expr.None},
		{expr.Compare{Op: expr.EQ, Col: x, Lit: num(1)}, noNulls, expr.Some},
		{expr.IsNaN{Col: x}, nans, expr.All},
		{expr.IsNaN{Col: x, Negated: true}, nans, expr.None},
		{expr.IsNaN{Col: x, Negated: true}, pure, expr.All},
		{expr.IsNaN{Col: x, Negated: true}, noNulls, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(1), nan}}, noNulls, expr.All},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}}, noNulls, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}}, pure, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}}, nans, expr.All},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), num(3)}}, noNulls, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), num(3)}}, nans, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(1), num(3)}}, noNulls, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(1), num(3)}}, pure, expr.All},
		{expr.In{Col: x, Lits: []expr.Literal{num(0), num(3)}}, Evidence{Upper: num(1), NoNaNs: true}, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), num(3)}}, Evidence{Upper: num(1), NoNaNs: true}, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}, Negated: true}, noNulls, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}, Negated: true}, pure, expr.All},
		{expr.In{Col: x, Lits: []expr.Literal{num(1), nan}, Negated: true}, noNulls, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), nan}, Negated: true}, nans, expr.None},
		{expr.In{Col: x, Lits: []expr.Literal{num(1), num(3)}, Negated: true}, noNulls, expr.Some},
		{expr.In{Col: x, Lits: []expr.Literal{num(2), num(3)}, Negated: true}, nans, expr.All},
		{expr.In{Col: x}, pure, expr.Some},
		{expr.StartsWith{Col: s, Prefix: ""}, Evidence{NoNulls: true}, expr.All},
		{expr.StartsWith{Col: s, Prefix: "", Negated: true}, Evidence{}, expr.None},
		{expr.StartsWith{Col: s, Prefix: "ab"}, ab, expr.All},
		{expr.StartsWith{Col: s, Prefix: "ab"}, abNulls, expr.Some},
		{expr.StartsWith{Col: s, Prefix: "abc"}, ab, expr.Some},
		{expr.StartsWith{Col: s, Prefix: "b"}, ab, expr.None},
		{expr.StartsWith{Col: s, Prefix: "aa"}, ab, expr.None},
		{expr.StartsWith{Col: s, Prefix: "aa", Negated: true}, ab, expr.All},
		{expr.StartsWith{Col: s, Prefix: "aa", Negated: true}, abNulls, expr.Some},
		{expr.StartsWith{Col: s, Prefix: "ab", Negated: true}, abNulls, expr.None},
		{expr.Like{Col: s, Pattern: `b\%%x`}, ab, expr.None},
		{expr.Like{Col: s, Pattern: "ab%x"}, ab, expr.Some},
		{expr.Like{Col: s, Pattern: "b_", Negated: true}, ab, expr.All},
		{expr.Like{Col: s, Pattern: "b_", Negated: true}, abNulls, expr.Some},
		{expr.Like{Col: s, Pattern: "%x", Negated: true}, ab, expr.Some},
		{expr.Like{Col: s, Pattern: "b_", Negated: true}, Evidence{AllNull: true}, expr.None},
		{expr.Match{Col: s, Kind: "match", Text: "w"}, Evidence{AllNull: true}, expr.None},
		{expr.Match{Col: s, Kind: "match", Text: "w"}, ab, expr.Some},
		{expr.CompareColumns{Left: x, Right: x}, Evidence{AllNull: true}, expr.None},
		{expr.CompareColumns{Left: x, Right: x}, pure, expr.Some},
		{expr.Unknown{}, pure, expr.None},
		{nil, pure, expr.All},
	} {
		if got := Evaluate(c.leaf, func(expr.Column) Evidence { return c.ev }); got != c.want {
			t.Errorf("%v over %+v: %v, want %v", c.leaf, c.ev, got, c.want)
		}
	}
}

func TestSummariesWithoutNaNCounts(t *testing.T) {
	t.Parallel()
	float := arrow.PrimitiveTypes.Float64
	for said, want := range map[manifest.Tri]bool{manifest.No: true, manifest.Yes: false, manifest.Unsaid: false} {
		if got := FromSummary(float, manifest.Summary{ContainsNaN: said}).NoNaNs; got != want {
			t.Errorf("%v: %v", said, got)
		}
	}
	if !FromSummary(arrow.PrimitiveTypes.Int64, manifest.Summary{ContainsNaN: manifest.Unsaid}).NoNaNs {
		t.Error("integers have no NaN")
	}
}

func TestLikePrefix(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{"abc%": "abc", "a_": "a", `a\%b%`: "a%b", "%": "", "": "", `\\x`: `\x`} {
		if got, ok := LikePrefix(pattern); !ok || got != want {
			t.Errorf("%q: %q %v", pattern, got, ok)
		}
	}
	if _, ok := LikePrefix(`a\`); ok {
		t.Error("a lone escape was taken")
	}
}
