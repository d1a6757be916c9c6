package plan

import (
	"fmt"
	"strings"

	"github.com/lakescan/lakescan/expr"
)

// converter makes predicates over the columns of one scan.
type converter struct {
	opt     Options
	columns []Column // of the table function, by index
	types   []Type   // DuckDB's, by the same index
	unused  []string // conditions that were dropped
}

var comparisons = map[string]expr.Op{
	"COMPARE_EQUAL": expr.EQ, "COMPARE_NOTEQUAL": expr.NE,
	"COMPARE_LESSTHAN": expr.LT, "COMPARE_LESSTHANOREQUALTO": expr.LE,
	"COMPARE_GREATERTHAN": expr.GT, "COMPARE_GREATERTHANOREQUALTO": expr.GE,
}

// condition converts one conjunct of a filter. nil = nothing of it can be used; what was dropped is noted.
func (c *converter) condition(e node, in env) expr.Expr {
	noted := len(c.unused)
	p := c.predicate(e, in, true)
	if p == nil {
		c.unused = append(c.unused[:noted], c.text(e, in))
	}
	return p
}

// predicate converts a boolean expression; nil = it cannot be used.
//
// In positive position the result may be weaker: TRUE for at least the rows for which e is TRUE. Anywhere else, below NOT, it
// must be e itself in three-valued logic, since the negation of something weaker is something stronger, and loses rows.
func (c *converter) predicate(e node, in env, positive bool) expr.Expr {
	switch str(e, "expression_class") {
	case "BOUND_CONJUNCTION":
		return c.conjunction(e, in, positive)
	case "BOUND_COMPARISON":
		return c.comparison(e, in)
	case "BOUND_BETWEEN":
		return c.between(e, in)
	case "BOUND_OPERATOR":
		return c.operator(e, in, positive)
	case "BOUND_FUNCTION":
		return c.function(e, in, positive)
	case "BOUND_REF":
		return c.reference(e, in, positive)
	case "BOUND_CONSTANT":
		lit, ok := constant(object(e, "value"))
		switch v, isBool := lit.Value.(bool); {
		case ok && lit.IsNull():
			return expr.Unknown{}
		case ok && isBool:
			return expr.Bool(v)
		}
	}
	return nil
}

// conjunction is AND or OR. Only a positive AND may lose an argument.
func (c *converter) conjunction(e node, in env, positive bool) expr.Expr {
	and := str(e, "type") == "CONJUNCTION_AND"
	if !and && str(e, "type") != "CONJUNCTION_OR" {
		return nil
	}
	var parts []expr.Expr
	for _, kid := range objects(e, "children") {
		p := c.predicate(kid, in, positive)
		if p != nil {
			parts = append(parts, p)
			continue
		}
		if !and || !positive {
			return nil
		}
		c.unused = append(c.unused, c.text(kid, in))
	}
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) == 1:
		return parts[0]
	case and:
		return expr.And(parts)
	}
	return expr.Or(parts)
}

// reference is a boolean column, a computed one, or the mark of a MARK join.
func (c *converter) reference(e node, in env, positive bool) expr.Expr {
	i := index(e, "index")
	if i < 0 || i >= len(in) {
		return nil
	}
	switch x := in[i]; {
	case x.mark != nil:
		return x.mark
	case x.expr != nil:
		return c.predicate(x.expr, x.in, positive)
	}
	return c.truth(e, in)
}

// truth is a boolean value as a predicate.
func (c *converter) truth(e node, in env) expr.Expr {
	o, ok := c.operand(e, in)
	if !ok || !o.isColumn || o.cast || o.duck.ID != typeBoolean {
		return nil
	}
	return expr.Compare{Op: expr.EQ, Col: o.col, Lit: expr.Lit(true)}
}

func (c *converter) comparison(e node, in env) expr.Expr {
	left, ok1 := c.operand(object(e, "left"), in)
	right, ok2 := c.operand(object(e, "right"), in)
	if !ok1 || !ok2 {
		return nil
	}
	kind := str(e, "type")
	if kind == "COMPARE_DISTINCT_FROM" || kind == "COMPARE_NOT_DISTINCT_FROM" {
		return distinct(left, right, kind == "COMPARE_DISTINCT_FROM")
	}
	op, ok := comparisons[kind]
	if !ok {
		return nil
	}
	return related(left, op, right)
}

// related is "left op right" for columns and literals.
func related(left operand, op expr.Op, right operand) expr.Expr {
	switch {
	case left.isColumn && right.isColumn:
		if left.day || right.day || isStruct(left.typ) || isStruct(right.typ) {
			return nil
		}
		return expr.CompareColumns{Op: op, Left: left.col, Right: right.col}
	case right.isColumn:
		left, right, op = right, left, op.Flip()
	case !left.isColumn:
		return nil
	}
	if p, ok := compare(left, op, right.lit); ok {
		return p
	}
	return nil
}

// distinct is IS [NOT] DISTINCT FROM, which is never unknown.
func distinct(left, right operand, negated bool) expr.Expr {
	if !left.isColumn {
		left, right = right, left
	}
	if !left.isColumn || right.isColumn || isStruct(left.typ) {
		return nil
	}
	isNull := expr.IsNull{Col: left.col}
	if right.lit.IsNull() {
		isNull.Negated = negated
		return isNull
	}
	op := expr.EQ
	if negated {
		op = expr.NE
	}
	p, ok := compare(left, op, right.lit)
	switch {
	case !ok:
		return nil
	case negated:
		return expr.Or{isNull, p}
	}
	isNull.Negated = true
	return expr.And{isNull, p}
}

func (c *converter) between(e node, in env) expr.Expr {
	input, ok1 := c.operand(object(e, "input"), in)
	lower, ok2 := c.operand(object(e, "lower"), in)
	upper, ok3 := c.operand(object(e, "upper"), in)
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	op := func(key string, open, closed expr.Op) expr.Op {
		if inclusive, _ := e[key].(bool); inclusive {
			return closed
		}
		return open
	}
	p := related(input, op("lower_inclusive", expr.GT, expr.GE), lower)
	q := related(input, op("upper_inclusive", expr.LT, expr.LE), upper)
	if p == nil || q == nil {
		return nil
	}
	return expr.And{p, q}
}

func (c *converter) operator(e node, in env, positive bool) expr.Expr {
	kids := objects(e, "children")
	switch kind := str(e, "type"); {
	case kind == "OPERATOR_NOT" && len(kids) == 1:
		if p := c.predicate(kids[0], in, false); p != nil {
			return expr.Not{X: p}
		}
	case (kind == "OPERATOR_IS_NULL" || kind == "OPERATOR_IS_NOT_NULL") && len(kids) == 1:
		// a cast that keeps order is null exactly where its argument is
		if o, ok := c.operand(kids[0], in); ok && o.isColumn && !isStruct(o.typ) {
			return expr.IsNull{Col: o.col, Negated: kind == "OPERATOR_IS_NOT_NULL"}
		}
	case (kind == "COMPARE_IN" || kind == "COMPARE_NOT_IN") && len(kids) > 1:
		p := c.inList(kids, in)
		if p != nil && kind == "COMPARE_NOT_IN" {
			return expr.Not{X: p}
		}
		return p
	}
	return nil
}

func (c *converter) inList(kids []node, env env) expr.Expr {
	o, ok := c.operand(kids[0], env)
	if !ok || !o.isColumn {
		return nil
	}
	var lits []expr.Literal
	for _, k := range kids[1:] {
		v, ok := c.operand(k, env)
		if !ok || v.isColumn {
			return nil
		}
		lits = append(lits, v.lit)
	}
	if p, ok := in(o, lits); ok {
		return p
	}
	return nil
}

// function reads the tests of a text: a prefix is exact, the literal head of a LIKE pattern is weaker than the pattern.
func (c *converter) function(e node, in env, positive bool) expr.Expr {
	kids := objects(e, "children")
	if len(kids) != 2 {
		return nil
	}
	o, ok1 := c.operand(kids[0], in)
	arg, ok2 := c.operand(kids[1], in)
	text, ok3 := arg.lit.Value.(string)
	if !ok1 || !ok2 || !ok3 || !o.isColumn || o.cast || o.duck.ID != typeVarchar {
		return nil
	}
	switch str(e, "name") {
	case "prefix", "starts_with", "^@":
		return expr.StartsWith{Col: o.col, Prefix: text}
	case "~~":
		if head, _, _ := strings.Cut(text, "%"); positive {
			if head, _, _ = strings.Cut(head, "_"); head != "" {
				return expr.StartsWith{Col: o.col, Prefix: head}
			}
		}
	}
	return nil
}

// text is a condition as people read it; for explain only.
func (c *converter) text(e node, in env) string {
	kids := func(sep string) string {
		var parts []string
		for _, k := range objects(e, "children") {
			parts = append(parts, c.text(k, in))
		}
		return strings.Join(parts, sep)
	}
	switch str(e, "expression_class") {
	case "BOUND_REF":
		if i := index(e, "index"); i >= 0 && i < len(in) {
			switch x := in[i]; {
			case x.column >= 0 && x.column < len(c.columns):
				return c.columns[x.column].Name
			case x.expr != nil:
				return c.text(x.expr, x.in)
			case x.mark != nil:
				return x.mark.String()
			default:
				return "in (…)"
			}
		}
		return "?"
	case "BOUND_CONSTANT":
		if lit, ok := constant(object(e, "value")); ok {
			return literalText(lit)
		}
		return "?"
	case "BOUND_PARAMETER":
		return "$" + str(e, "identifier")
	case "BOUND_CAST":
		return fmt.Sprintf("%s::%s", c.text(object(e, "child"), in), typeOf(object(e, "return_type")).ID)
	case "BOUND_COMPARISON":
		op := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(str(e, "type"), "COMPARE_"), "_", " "))
		if o, ok := comparisons[str(e, "type")]; ok {
			op = o.String()
		}
		return fmt.Sprintf("%s %s %s", c.text(object(e, "left"), in), op, c.text(object(e, "right"), in))
	case "BOUND_BETWEEN":
		return fmt.Sprintf("%s between %s and %s", c.text(object(e, "input"), in), c.text(object(e, "lower"), in), c.text(object(e, "upper"), in))
	case "BOUND_CONJUNCTION":
		return "(" + kids(map[bool]string{true: " and ", false: " or "}[str(e, "type") == "CONJUNCTION_AND"]) + ")"
	case "BOUND_FUNCTION":
		return str(e, "name") + "(" + kids(", ") + ")"
	case "BOUND_OPERATOR":
		name := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(str(e, "type"), "OPERATOR_"), "COMPARE_"))
		return strings.ReplaceAll(name, "_", " ") + "(" + kids(", ") + ")"
	case "BOUND_CASE":
		return "case"
	}
	return strings.ToLower(strings.TrimPrefix(str(e, "expression_class"), "BOUND_"))
}

func literalText(l expr.Literal) string {
	if l.IsNull() {
		return "null"
	}
	return l.String()
}
