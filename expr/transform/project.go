package transform

import (
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Inclusive projects a bound leaf on a source column to a predicate on the partition value: if the leaf is TRUE for a row,
// the result is TRUE for the row's partition value. ok is false if nothing is known of it. part names the partition value;
// its type must be that of Result. (Specification, "Scan Planning": inclusive projection.)
//
// It holds for what writers wrote, not only for what Apply gives: old ones truncated years to hours toward zero, and cutting
// the least integers to a width wraps around.
func (t Transform) Inclusive(leaf expr.Expr, part expr.Column) (projected expr.Expr, ok bool) {
	switch t.Kind {
	case Unknown, Void:
		return nil, false
	case Identity:
		return onColumn(leaf, part)
	}
	if l, ok := leaf.(expr.IsNull); ok {
		return expr.IsNull{Col: part, Negated: l.Negated}, true
	}
	switch t.Kind {
	case Bucket:
		return t.bucket(leaf, part)
	case Truncate:
		return t.cut(leaf, part)
	}
	return t.time(leaf, part)
}

// Strict is the other direction: if the result is TRUE for a partition value, the leaf is TRUE for each row of it.
func (t Transform) Strict(leaf expr.Expr, part expr.Column) (projected expr.Expr, ok bool) {
	// What is not TRUE for the negated leaf's projection can hold no row of the negated leaf. Rows without a value have no
	// partition value either, and no predicate but IS NULL is TRUE there, in both worlds.
	opposite, ok := negate(leaf)
	if !ok {
		return nil, false
	}
	in, ok := t.Inclusive(opposite, part)
	if !ok {
		return nil, false
	}
	return negate(in)
}

// onColumn is the same predicate on another column.
func onColumn(leaf expr.Expr, c expr.Column) (expr.Expr, bool) {
	switch l := leaf.(type) {
	case expr.Compare:
		l.Col = c
		return l, true
	case expr.In:
		l.Col = c
		return l, true
	case expr.IsNull:
		l.Col = c
		return l, true
	case expr.IsNaN:
		l.Col = c
		return l, true
	case expr.StartsWith:
		l.Col = c
		return l, true
	case expr.Like:
		l.Col = c
		return l, true
	}
	return nil, false
}

var opposites = map[expr.Op]expr.Op{expr.EQ: expr.NE, expr.NE: expr.EQ, expr.LT: expr.GE, expr.GE: expr.LT, expr.GT: expr.LE, expr.LE: expr.GT}

// negate gives NOT e for trees of leaves on one column, unknown staying unknown.
func negate(e expr.Expr) (expr.Expr, bool) {
	switch l := e.(type) {
	case expr.Compare:
		l.Op = opposites[l.Op]
		return l, true
	case expr.In:
		l.Negated = !l.Negated
		return l, true
	case expr.IsNull:
		l.Negated = !l.Negated
		return l, true
	case expr.IsNaN:
		l.Negated = !l.Negated
		return l, true
	case expr.StartsWith:
		l.Negated = !l.Negated
		return l, true
	case expr.Like:
		l.Negated = !l.Negated
		return l, true
	case expr.Or:
		out, ok := negateAll(l)
		return expr.And(out), ok
	case expr.And:
		out, ok := negateAll(l)
		return expr.Or(out), ok
	}
	return nil, false
}

func negateAll(args []expr.Expr) ([]expr.Expr, bool) {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		var ok bool
		if out[i], ok = negate(a); !ok {
			return nil, false
		}
	}
	return out, true
}

// values are the literals that a leaf compares for equality, nil if it is no (not negated) equality.
func values(leaf expr.Expr) []expr.Literal {
	switch l := leaf.(type) {
	case expr.Compare:
		if l.Op == expr.EQ {
			return []expr.Literal{l.Lit}
		}
	case expr.In:
		if !l.Negated {
			return l.Lits
		}
	}
	return nil
}

// oneOf is part IN lits, for any number of them.
func oneOf(part expr.Column, lits []expr.Literal) expr.Expr {
	slices.SortFunc(lits, expr.Literal.Compare)
	lits = slices.CompactFunc(lits, func(a, b expr.Literal) bool { return a.Compare(b) == 0 })
	if len(lits) == 1 {
		return expr.Compare{Op: expr.EQ, Col: part, Lit: lits[0]}
	}
	return expr.In{Col: part, Lits: lits}
}

func (t Transform) bucket(leaf expr.Expr, part expr.Column) (expr.Expr, bool) {
	lits := values(leaf)
	if lits == nil {
		return nil, false
	}
	out := make([]expr.Literal, len(lits))
	for i, l := range lits {
		b, ok := t.Apply(l)
		if !ok {
			return nil, false
		}
		out[i] = b
	}
	return oneOf(part, out), true
}

// cut projects onto truncate[W], which is monotone: cut(x) <= x, and x <= y gives cut(x) <= cut(y).
func (t Transform) cut(leaf expr.Expr, part expr.Column) (expr.Expr, bool) {
	if lits := values(leaf); lits != nil {
		out := make([]expr.Literal, len(lits))
		for i, l := range lits {
			c, ok := t.cutValue(l)
			if !ok {
				return nil, false
			}
			out[i] = c
		}
		return oneOf(part, out), true
	}
	switch l := leaf.(type) {
	case expr.StartsWith:
		return t.cutPrefix(l, part)
	case expr.Compare:
		return t.cutCompare(l, part)
	}
	return nil, false
}

func (t Transform) cutCompare(l expr.Compare, part expr.Column) (expr.Expr, bool) {
	lit, op := l.Lit, l.Op
	if n, ok := next(lit); ok && op == expr.GT {
		lit = n // x > lit is x >= next; without a next value x > lit still gives cut(x) >= cut(lit)
	}
	bound, ok := t.cutValue(lit)
	if !ok {
		return nil, false
	}
	switch op {
	case expr.GT, expr.GE:
		return expr.Compare{Op: expr.GE, Col: part, Lit: bound}, true
	case expr.LT, expr.LE:
		if op == expr.LT && bound.Compare(lit) != 0 { // else the literal begins a stretch, which lies wholly outside
			op = expr.LE
		}
		return expr.Disj(append(t.wrapped(lit, part), expr.Compare{Op: op, Col: part, Lit: bound})...), true
	}
	return nil, false
}

func (t Transform) cutPrefix(l expr.StartsWith, part expr.Column) (expr.Expr, bool) {
	length := utf8.RuneCountInString(l.Prefix)
	if part.Type.ID() != arrow.STRING {
		length = len(l.Prefix)
	}
	if length <= int(t.N) {
		return expr.StartsWith{Col: part, Prefix: l.Prefix, Negated: l.Negated}, true
	}
	if l.Negated {
		return nil, false
	}
	lit := expr.Literal{Type: part.Type, Value: l.Prefix}
	if part.Type.ID() != arrow.STRING {
		lit.Value = []byte(l.Prefix)
	}
	bound, ok := t.Apply(lit)
	return expr.Compare{Op: expr.EQ, Col: part, Lit: bound}, ok
}

// cutValue cuts a literal. Integers whose result lies below the type's range, now or before the column was widened, were
// wrapped to its upper end by their writers: nothing is known of them.
func (t Transform) cutValue(l expr.Literal) (expr.Literal, bool) {
	c, ok := t.Apply(l)
	if v, isInt := l.Value.(int64); isInt && v >= math.MinInt32 && c.Value.(int64) < math.MinInt32 {
		return c, false
	}
	return c, ok
}

// wrapped accepts the partition values that the least integers may have wrapped to: they lie less than W below the greatest
// integer of the column's width, and of the narrower one that a long may have had before.
func (t Transform) wrapped(l expr.Literal, part expr.Column) []expr.Expr {
	if _, ok := l.Value.(int64); !ok {
		return nil
	}
	compare := func(op expr.Op, v int64) expr.Expr {
		return expr.Compare{Op: op, Col: part, Lit: expr.Literal{Type: part.Type, Value: v}}
	}
	int32s := compare(expr.GT, math.MaxInt32-int64(t.N))
	if l.Type.ID() == arrow.INT32 {
		return []expr.Expr{int32s}
	}
	return []expr.Expr{expr.And{int32s, compare(expr.LE, math.MaxInt32)}, compare(expr.GT, math.MaxInt64-int64(t.N))}
}

// next is the least value above a discrete one.
func next(l expr.Literal) (expr.Literal, bool) {
	switch v := l.Value.(type) {
	case int64:
		if l.Type.ID() == arrow.INT32 && v == math.MaxInt32 || v == math.MaxInt64 {
			return l, false
		}
		l.Value = v + 1
		return l, true
	case *big.Int:
		l.Value = new(big.Int).Add(v, big.NewInt(1))
		return l, true
	}
	return l, false
}

// time projects onto years, months, days and hours, which are monotone. A writer of old truncated toward zero: before 1970 it
// gave the next higher value for all instants but the first of a period.
func (t Transform) time(leaf expr.Expr, part expr.Column) (expr.Expr, bool) {
	if lits := values(leaf); lits != nil {
		var out []expr.Literal
		for _, l := range lits {
			p, ok := t.Apply(l)
			if !ok {
				return nil, false
			}
			out = append(out, p)
			if higher, ok := t.towardZero(l, p); ok {
				out = append(out, higher)
			}
		}
		return oneOf(part, out), true
	}
	l, ok := leaf.(expr.Compare)
	if !ok {
		return nil, false
	}
	v, ok := l.Lit.Value.(int64)
	if !ok {
		return nil, false
	}
	switch l.Op {
	case expr.LT, expr.LE:
		if l.Op == expr.LT && v > math.MinInt64 {
			l.Lit.Value = v - 1
		}
		bound, ok := t.Apply(l.Lit)
		if higher, old := t.towardZero(l.Lit, bound); ok && old {
			bound = higher
		}
		return expr.Compare{Op: expr.LE, Col: part, Lit: bound}, ok
	case expr.GT, expr.GE:
		if l.Op == expr.GT && v < math.MaxInt64 {
			l.Lit.Value = v + 1
		}
		bound, ok := t.Apply(l.Lit)
		return expr.Compare{Op: expr.GE, Col: part, Lit: bound}, ok
	}
	return nil, false
}

// towardZero is the value that an old writer may have given instead of p. The day of a date was never computed.
func (t Transform) towardZero(source, p expr.Literal) (expr.Literal, bool) {
	v, ok := p.Value.(int64)
	if !ok || v >= 0 || t.Kind == Day && source.Type.ID() == arrow.DATE32 {
		return p, false
	}
	p.Value = v + 1
	return p, true
}
