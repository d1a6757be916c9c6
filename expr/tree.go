package expr

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Conj is the conjunction of args: nested Ands are flattened and constants folded, so the result may be any Expr; no
// arguments give TRUE.
func Conj(args ...Expr) Expr {
	var out And
	for _, a := range args {
		switch a := a.(type) {
		case And:
			out = append(out, a...)
		case Bool:
			if !a {
				return Bool(false)
			}
		default:
			out = append(out, a)
		}
	}
	switch len(out) {
	case 0:
		return Bool(true)
	case 1:
		return out[0]
	}
	return out
}

// Disj is the disjunction of args, folded like Conj; no arguments give FALSE.
func Disj(args ...Expr) Expr {
	var out Or
	for _, a := range args {
		switch a := a.(type) {
		case Or:
			out = append(out, a...)
		case Bool:
			if a {
				return Bool(true)
			}
		default:
			out = append(out, a)
		}
	}
	switch len(out) {
	case 0:
		return Bool(false)
	case 1:
		return out[0]
	}
	return out
}

// Conjuncts returns the parts that must all hold: the arguments of an And, nothing for TRUE (and nil), else e itself.
func Conjuncts(e Expr) []Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case And:
		return slices.Clone(e)
	case Bool:
		if e {
			return nil
		}
	}
	return []Expr{e}
}

// Rewrite returns e with f applied to each node, arguments first. And and Or are folded as by Conj and Disj.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case And:
		return f(Conj(rewriteAll(x, f)...))
	case Or:
		return f(Disj(rewriteAll(x, f)...))
	case Not:
		return f(Not{Rewrite(x.X, f)})
	}
	return f(e)
}

func rewriteAll(args []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = Rewrite(a, f)
	}
	return out
}

// Walk calls f for each node, parents first, and does not descend where f returns false.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	switch x := e.(type) {
	case And:
		for _, a := range x {
			Walk(a, f)
		}
	case Or:
		for _, a := range x {
			Walk(a, f)
		}
	case Not:
		Walk(x.X, f)
	}
}

// Columns returns the distinct columns that e reads, in order of first use: distinct by field id in a bound tree, by path in
// another one.
func Columns(e Expr) []Column {
	var out []Column
	add := func(c Column) {
		if !slices.ContainsFunc(out, func(o Column) bool {
			if o.ID != 0 || c.ID != 0 {
				return o.ID == c.ID
			}
			return slices.Equal(o.Path, c.Path)
		}) {
			out = append(out, c)
		}
	}
	Walk(e, func(e Expr) bool {
		switch x := e.(type) {
		case CompareColumns:
			add(x.Left)
			add(x.Right)
		default:
			if c, ok := leafColumn(e); ok {
				add(c)
			}
		}
		return true
	})
	return out
}

// leafColumn is the column of a leaf with one column.
func leafColumn(e Expr) (Column, bool) {
	switch x := e.(type) {
	case Compare:
		return x.Col, true
	case In:
		return x.Col, true
	case IsNull:
		return x.Col, true
	case IsNaN:
		return x.Col, true
	case StartsWith:
		return x.Col, true
	case Like:
		return x.Col, true
	case Match:
		return x.Col, true
	}
	return Column{}, false
}

// Equal reports whether two trees are the same, node by node; a NaN literal equals itself, and two matchers are equal if
// their Config is.
func Equal(a, b Expr) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case Bool, Unknown:
		return a == b
	case And:
		y, ok := b.(And)
		return ok && slices.EqualFunc(x, y, Equal)
	case Or:
		y, ok := b.(Or)
		return ok && slices.EqualFunc(x, y, Equal)
	case Not:
		y, ok := b.(Not)
		return ok && Equal(x.X, y.X)
	case CompareColumns:
		y, ok := b.(CompareColumns)
		return ok && x.Op == y.Op && sameColumn(x.Left, y.Left) && sameColumn(x.Right, y.Right)
	}
	return equalLeaf(a, b)
}

func equalLeaf(a, b Expr) bool {
	ca, _ := leafColumn(a)
	cb, ok := leafColumn(b)
	if !ok || !sameColumn(ca, cb) {
		return false
	}
	switch x := a.(type) {
	case Compare:
		y, ok := b.(Compare)
		return ok && x.Op == y.Op && x.Lit.Equal(y.Lit)
	case In:
		y, ok := b.(In)
		return ok && x.Negated == y.Negated && slices.EqualFunc(x.Lits, y.Lits, Literal.Equal)
	case IsNull:
		y, ok := b.(IsNull)
		return ok && x.Negated == y.Negated
	case IsNaN:
		y, ok := b.(IsNaN)
		return ok && x.Negated == y.Negated
	case StartsWith:
		y, ok := b.(StartsWith)
		return ok && x.Negated == y.Negated && x.Prefix == y.Prefix
	case Like:
		y, ok := b.(Like)
		return ok && x.Negated == y.Negated && x.Pattern == y.Pattern
	case Match:
		y, ok := b.(Match)
		return ok && x.Negated == y.Negated && x.Kind == y.Kind && x.Text == y.Text && sameMatcher(x.Matcher, y.Matcher)
	}
	return false
}

func sameMatcher(a, b Matcher) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Config() == b.Config()
}

func sameColumn(a, b Column) bool {
	return a.ID == b.ID && slices.Equal(a.Path, b.Path) && sameType(a.Type, b.Type)
}

func sameType(a, b arrow.DataType) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return arrow.TypeEqual(a, b)
}

// Col names a column by its path, one entry a struct level.
func Col(path ...string) Column { return Column{Path: path} }
