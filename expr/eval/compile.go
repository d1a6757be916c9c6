package eval

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

type compiler struct{ schema *arrow.Schema }

var errUnbound = errors.New("eval: the predicate is not bound")

func (c *compiler) compile(e expr.Expr) (node, error) {
	switch x := e.(type) {
	case expr.Bool:
		return constant(x), nil
	case expr.Unknown:
		return constant(false), nil
	case expr.And:
		args, err := c.all(x)
		if err != nil {
			return nil, err
		}
		return and(fuse(args)), nil
	case expr.Or:
		args, err := c.all(x)
		return or(args), err
	case expr.CompareColumns:
		return c.compareColumns(x)
	case expr.IsNull:
		col, err := c.place(x.Col)
		return isNull{col, x.Negated}, err
	case expr.Not, nil:
		return nil, errUnbound
	}
	return c.leaf(e)
}

// all compiles the arguments of AND or OR, cheap ones first.
func (c *compiler) all(args []expr.Expr) ([]node, error) {
	out := make([]node, len(args))
	for i, a := range args {
		var err error
		if out[i], err = c.compile(a); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b node) int { return cmp.Compare(a.cost(), b.cost()) })
	return out, nil
}

// fuse joins ranges over one column, as BETWEEN makes them, into one pass.
func fuse(args []node) []node {
	var out []node
next:
	for _, a := range args {
		l, ok := a.(leaf)
		r, isRange := l.test.(intRange)
		if ok && isRange && !l.negated {
			for i, b := range out {
				m, _ := b.(leaf)
				if s, ok := m.test.(intRange); ok && !m.negated && slices.Equal(l.col.path, m.col.path) {
					out[i] = leaf{col: l.col, test: r.intersect(s)}
					continue next
				}
			}
		}
		out = append(out, a)
	}
	return out
}

func (c *compiler) leaf(e expr.Expr) (node, error) {
	var l leaf
	var col expr.Column
	var err error
	switch x := e.(type) {
	case expr.Compare:
		col = x.Col
		if t := c.short(col); t != nil {
			l.test, l.negated, err = compareShort(t, x)
		} else {
			l.test, l.negated, err = compareKernel(x)
		}
	case expr.In:
		col, l.negated = x.Col, x.Negated
		if t := c.short(col); t != nil {
			l.test, err = inShort(t, x)
		} else {
			l.test, err = inKernel(x)
		}
	case expr.IsNaN:
		col, l.negated = x.Col, x.Negated
		l.test, err = floatKernel(x.Col.Type, floatNaN, 0)
	case expr.StartsWith:
		col, l.negated = x.Col, x.Negated
		l.test = newText(prefix(x.Prefix), 4)
	case expr.Like:
		col, l.negated = x.Col, x.Negated
		var p *expr.LikePattern
		if p, err = expr.CompileLike(x.Pattern); err == nil {
			l.test = newText(tester(p.Match), 16)
		}
	case expr.Match:
		col, l.negated = x.Col, x.Negated
		if x.Matcher == nil {
			return nil, fmt.Errorf("eval: %s has no analyzer", x)
		}
		l.test = newText(tester(x.Matcher.Match), 64)
	default:
		return nil, fmt.Errorf("eval: no evaluation of %T", e)
	}
	if err != nil {
		return nil, err
	}
	l.col, err = c.column(col)
	return l, err
}

// compareKernel says op with a kernel that may have to be negated: x >= v is not x < v, in an order where every two values
// can be compared.
func compareKernel(x expr.Compare) (k kernel, negated bool, err error) {
	t := x.Col.Type
	if t == nil || x.Lit.Value == nil || x.Lit.Type == nil || !arrow.TypeEqual(expr.ValueType(t), x.Lit.Type) {
		return nil, false, errUnbound
	}
	op := x.Op
	switch op {
	case expr.NE, expr.GE, expr.GT:
		op, negated = op.Negate(), true
	}
	switch v := x.Lit.Value.(type) {
	case bool:
		if op != expr.EQ {
			return nil, false, errUnbound // Bind says every comparison of booleans as an equality
		}
		return boolean(v), negated, nil
	case int64, uint64:
		k = newRange(t, op, v)
	case float64:
		k, err = floatKernel(t, [...]floatOp{expr.EQ: floatEQ, expr.LT: floatLT, expr.LE: floatLE}[op], v)
	case *big.Int:
		k = decimalKernel(t, op, v)
	case string:
		k = textCompare(op, v)
	case []byte:
		k = textCompare(op, string(v))
	default:
		return nil, false, fmt.Errorf("eval: a literal of type %s holds a Go %T", x.Lit.Type, v)
	}
	return k, negated, err
}

func inKernel(x expr.In) (kernel, error) {
	if len(x.Lits) == 0 {
		return nil, errUnbound
	}
	for _, l := range x.Lits {
		if l.Value == nil || x.Col.Type == nil || !arrow.TypeEqual(expr.ValueType(x.Col.Type), l.Type) {
			return nil, errUnbound
		}
	}
	switch x.Lits[0].Value.(type) {
	case string, []byte:
		return textIn(x.Lits), nil
	case float64, int64, uint64:
		return newNumberSet(x.Col.Type, x.Lits), nil
	case *big.Int:
		return decimalIn(x.Col.Type, x.Lits), nil
	}
	return nil, fmt.Errorf("eval: no IN over a %s", x.Col.Type)
}
