package prune

import (
	"slices"
	"strings"

	"github.com/lakescan/lakescan/expr"
)

// Evaluate judges a bound filter; evidence is asked for each column that a leaf reads. A function that is not known is Some.
func Evaluate(e expr.Expr, evidence func(expr.Column) Evidence) expr.Verdict {
	switch x := e.(type) {
	case nil:
		return expr.All
	case expr.Bool:
		return verdict(!bool(x), bool(x))
	case expr.Unknown:
		return expr.None
	case expr.And:
		out := expr.All
		for _, a := range x {
			switch Evaluate(a, evidence) {
			case expr.None:
				return expr.None
			case expr.Some:
				out = expr.Some
			}
		}
		return out
	case expr.Or:
		out := expr.None
		for _, a := range x {
			switch Evaluate(a, evidence) {
			case expr.All:
				return expr.All
			case expr.Some:
				out = expr.Some
			}
		}
		return out
	case expr.CompareColumns:
		return verdict(evidence(x.Left).AllNull || evidence(x.Right).AllNull, false)
	}
	return leaf(e, evidence)
}

func verdict(none, all bool) expr.Verdict {
	switch {
	case none:
		return expr.None
	case all:
		return expr.All
	}
	return expr.Some
}

func leaf(e expr.Expr, evidence func(expr.Column) Evidence) expr.Verdict {
	switch x := e.(type) {
	case expr.Compare:
		return compare(x, evidence(x.Col))
	case expr.In:
		return in(x, evidence(x.Col))
	case expr.IsNull:
		ev := evidence(x.Col)
		if x.Negated {
			return verdict(ev.AllNull, ev.NoNulls)
		}
		return verdict(ev.NoNulls, ev.AllNull)
	case expr.IsNaN:
		ev := evidence(x.Col)
		if x.Negated {
			return verdict(ev.AllNullOrNaNs || ev.AllNull, ev.NoNaNs && ev.NoNulls)
		}
		return verdict(ev.NoNaNs || ev.AllNull, ev.AllNaN)
	case expr.StartsWith:
		return startsWith(x, evidence(x.Col))
	case expr.Like:
		return like(x, evidence(x.Col))
	case expr.Match:
		return verdict(evidence(x.Col).AllNull, false)
	}
	return expr.Some
}

// compare: NaN is above every number, so it satisfies > and <>, but no literal here is NaN.
func compare(x expr.Compare, e Evidence) expr.Verdict {
	v := x.Lit
	if e.AllNull || v.Value == nil {
		return expr.None
	}
	switch x.Op {
	case expr.LT:
		return verdict(e.notBelow(v) || e.AllNullOrNaNs, e.below(v) && e.NoNulls && e.NoNaNs)
	case expr.LE:
		return verdict(e.above(v) || e.AllNullOrNaNs, e.notAbove(v) && e.NoNulls && e.NoNaNs)
	case expr.GT:
		return verdict(e.notAbove(v) && e.NoNaNs, e.above(v) && e.NoNulls || e.AllNaN)
	case expr.GE:
		return verdict(e.below(v) && e.NoNaNs, e.notBelow(v) && e.NoNulls || e.AllNaN)
	case expr.EQ:
		return verdict(e.outside(v) || e.AllNullOrNaNs, e.exactly(v) && e.NoNulls && e.NoNaNs)
	case expr.NE:
		return verdict(e.exactly(v) && e.NoNaNs, e.outside(v) && e.NoNulls || e.AllNaN)
	}
	return expr.Some
}

// in: the literals are sorted, any number of them; NaN may be the last.
func in(x expr.In, e Evidence) expr.Verdict {
	switch {
	case e.AllNull:
		return expr.None
	case len(x.Lits) == 0:
		return expr.Some
	}
	lits, nan := x.Lits, false
	if f, ok := lits[len(lits)-1].Value.(float64); ok && f != f {
		lits, nan = lits[:len(lits)-1], true
	}
	// The first literal that is not below the bounds; all are outside if it is above them, or if there is none.
	i := 0
	if e.Lower.Value != nil {
		i, _ = slices.BinarySearchFunc(lits, e.Lower, expr.Literal.Compare)
	}
	outside := i == len(lits) || e.below(lits[i])
	only := !outside && e.exactly(lits[i])
	numbersOut, numbersIn := outside || e.AllNullOrNaNs, only
	nansOut, nansIn := !nan || e.NoNaNs, nan || e.NoNaNs
	if x.Negated {
		return verdict(numbersIn && nansIn || nan && e.AllNullOrNaNs, e.NoNulls && (outside || e.AllNaN) && nansOut)
	}
	return verdict(numbersOut && nansOut, e.NoNulls && (numbersIn && nansIn || nan && e.AllNaN))
}

func startsWith(x expr.StartsWith, e Evidence) expr.Verdict {
	if e.AllNull {
		return expr.None
	}
	never, always := prefixed(x.Prefix, e)
	if x.Negated {
		return verdict(always, never && e.NoNulls)
	}
	return verdict(never, always && e.NoNulls)
}

// prefixed says whether no value, or every value, that is not NULL starts with p.
func prefixed(p string, e Evidence) (never, always bool) {
	lower, okLower := asBytes(e.Lower)
	upper, okUpper := asBytes(e.Upper)
	never = okUpper && upper < p || okLower && lower[:min(len(lower), len(p))] > p
	always = okLower && okUpper && strings.HasPrefix(lower, p) && strings.HasPrefix(upper, p)
	return never, always || p == ""
}

func asBytes(l expr.Literal) (string, bool) {
	switch v := l.Value.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// like uses the text before the first wildcard.
func like(x expr.Like, e Evidence) expr.Verdict {
	if e.AllNull {
		return expr.None
	}
	p, ok := LikePrefix(x.Pattern)
	if !ok || p == "" {
		return expr.Some
	}
	never, _ := prefixed(p, e)
	if x.Negated {
		return verdict(false, never && e.NoNulls)
	}
	return verdict(never, false)
}

// LikePrefix is the text that every match of a LIKE pattern starts with; ok is false for a pattern that is malformed.
func LikePrefix(pattern string) (prefix string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '%', '_':
			return b.String(), true
		case '\\':
			if i++; i == len(pattern) {
				return "", false
			}
			b.WriteByte(pattern[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
