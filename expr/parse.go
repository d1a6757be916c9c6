package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxDepth bounds the nesting of parentheses and NOT, and with it the stack of every walk over a parsed tree.
const maxDepth = 1000

// Parse reads the text form (see the package comment). Errors are *SyntaxError.
func Parse(text string) (Expr, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, toks: toks}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, p.fail(t, "expected AND, OR or the end")
	}
	return e, nil
}

// MustParse panics on a bad text; for constants in programs.
func MustParse(text string) Expr {
	e, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return e
}

// ParseColumn reads the name of a column: words or "quoted" names with dots between struct levels.
func ParseColumn(text string) (Column, error) {
	toks, err := lex(text)
	if err != nil {
		return Column{}, err
	}
	p := &parser{text: text, toks: toks}
	c, err := p.column()
	if err != nil {
		return Column{}, err
	}
	if t := p.peek(); t.kind != tokEOF {
		return Column{}, p.fail(t, "expected the end of the column name")
	}
	return c, nil
}

type parser struct {
	text  string
	toks  []token
	pos   int
	depth int
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) ahead(n int) token { return p.toks[min(p.pos+n, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

// take consumes the next token if it is the keyword.
func (p *parser) take(keyword string) bool {
	if p.peek().is(keyword) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) takeOp(op string) bool {
	if p.peek().op(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) fail(t token, format string, args ...any) error {
	return &SyntaxError{p.text, t.at, fmt.Sprintf(format, args...)}
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.fail(p.peek(), "nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (p *parser) or() (Expr, error) {
	var args Or
	for {
		e, err := p.and()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if !p.take("OR") {
			break
		}
	}
	if len(args) == 1 {
		return args[0], nil
	}
	return args, nil
}

func (p *parser) and() (Expr, error) {
	var args And
	for {
		e, err := p.not()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if !p.take("AND") {
			break
		}
	}
	if len(args) == 1 {
		return args[0], nil
	}
	return args, nil
}

func (p *parser) not() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if !p.take("NOT") {
		return p.pred()
	}
	call := p.isCall()
	e, err := p.not()
	if err != nil {
		return nil, err
	}
	if call {
		return negateCall(e), nil
	}
	return Not{e}, nil
}

// isCall: a word and a parenthesis open a call; a keyword cannot stand there.
func (p *parser) isCall() bool {
	t := p.peek()
	return t.kind == tokWord && !t.is("NOT") && p.ahead(1).op("(")
}

func negateCall(e Expr) Expr {
	switch x := e.(type) {
	case StartsWith:
		x.Negated = true
		return x
	case IsNaN:
		x.Negated = true
		return x
	case Match:
		x.Negated = true
		return x
	}
	return Not{e}
}

func (p *parser) pred() (Expr, error) {
	if p.takeOp("(") {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		if t := p.next(); !t.op(")") {
			return nil, p.fail(t, "expected )")
		}
		return e, nil
	}
	if p.isCall() {
		return p.call()
	}
	start := p.peek()
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.test(start, left)
}

// operand is a column, or a literal if col is nil.
type operand struct {
	col *Column
	lit Literal
}

func (p *parser) operand() (operand, error) {
	if l, ok, err := p.literal(); ok || err != nil {
		return operand{lit: l}, err
	}
	c, err := p.column()
	return operand{col: &c}, err
}

func (p *parser) column() (Column, error) {
	var c Column
	for {
		t := p.next()
		if t.kind != tokName && (t.kind != tokWord || slices.Contains(reserved, strings.ToUpper(t.text))) {
			return c, p.fail(t, "expected a column or a value")
		}
		c.Path = append(c.Path, t.text)
		if !p.takeOp(".") {
			return c, nil
		}
	}
}

// test reads what follows the left operand.
func (p *parser) test(start token, left operand) (Expr, error) {
	t := p.peek()
	if op, ok := cmpOps[t.text]; ok && t.kind == tokOp {
		p.next()
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		return p.compare(start, left, op, right)
	}
	if p.take("IS") {
		return p.is(left)
	}
	negated := p.take("NOT")
	var e Expr
	var err error
	switch {
	case p.take("IN"):
		e, err = p.in(start, left, negated)
	case p.take("BETWEEN"):
		e, err = p.between(start, left, negated)
	case p.take("LIKE"):
		e, err = p.like(start, left, negated)
	case negated:
		return nil, p.fail(p.peek(), "expected IN, BETWEEN or LIKE after NOT")
	case left.col != nil:
		return Compare{EQ, *left.col, Lit(true)}, nil
	default:
		return p.constant(start, left.lit)
	}
	return e, err
}

var cmpOps = map[string]Op{"=": EQ, "==": EQ, "<>": NE, "!=": NE, "<": LT, "<=": LE, ">": GT, ">=": GE}

func (p *parser) constant(start token, l Literal) (Expr, error) {
	switch v := l.Value.(type) {
	case nil:
		return Unknown{}, nil
	case bool:
		return Bool(v), nil
	}
	return nil, p.fail(start, "a value is not a condition: compare it with a column")
}

func (p *parser) compare(start token, left operand, op Op, right operand) (Expr, error) {
	switch {
	case left.col != nil && right.col != nil:
		return CompareColumns{op, *left.col, *right.col}, nil
	case left.col != nil:
		return Compare{op, *left.col, right.lit}, nil
	case right.col != nil:
		return Compare{op.Flip(), *right.col, left.lit}, nil
	}
	if left.lit.IsNull() || right.lit.IsNull() {
		return Unknown{}, nil
	}
	below, floor, exact, err := locate(arrow.Field{Type: left.lit.Type}, right.lit, nil)
	if err != nil {
		return nil, p.fail(start, "%v", err)
	}
	c := 1 // below: the right side is under every value of the left one's type
	if !below {
		// Not exact: the right side lies between floor and the next value.
		if c = left.lit.Compare(floor); c == 0 && !exact {
			c = -1
		}
	}
	return Bool(op.Holds(c)), nil
}

func (p *parser) is(left operand) (Expr, error) {
	negated := p.take("NOT")
	t := p.next()
	if left.col == nil {
		if t.is("NULL") {
			return Bool(left.lit.IsNull() != negated), nil
		}
		return nil, p.fail(t, "expected NULL")
	}
	switch {
	case t.is("NULL"):
		return IsNull{*left.col, negated}, nil
	case t.is("NAN"):
		return IsNaN{*left.col, negated}, nil
	}
	return nil, p.fail(t, "expected NULL or NAN")
}

// needColumn refuses a literal on the left of IN, BETWEEN and LIKE.
func (p *parser) needColumn(start token, left operand) (Column, error) {
	if left.col == nil {
		return Column{}, p.fail(start, "expected a column here")
	}
	return *left.col, nil
}

func (p *parser) in(start token, left operand, negated bool) (Expr, error) {
	col, err := p.needColumn(start, left)
	if err != nil {
		return nil, err
	}
	if t := p.next(); !t.op("(") {
		return nil, p.fail(t, "expected ( after IN")
	}
	var lits []Literal
	for {
		l, err := p.mustLiteral()
		if err != nil {
			return nil, err
		}
		lits = append(lits, l)
		if p.takeOp(")") {
			return In{col, lits, negated}, nil
		}
		if t := p.next(); !t.op(",") {
			return nil, p.fail(t, "expected , or )")
		}
	}
}

func (p *parser) between(start token, left operand, negated bool) (Expr, error) {
	col, err := p.needColumn(start, left)
	if err != nil {
		return nil, err
	}
	lo, err := p.mustLiteral()
	if err != nil {
		return nil, err
	}
	if !p.take("AND") {
		return nil, p.fail(p.peek(), "expected AND")
	}
	hi, err := p.mustLiteral()
	if err != nil {
		return nil, err
	}
	if negated {
		return Or{Compare{LT, col, lo}, Compare{GT, col, hi}}, nil
	}
	return And{Compare{GE, col, lo}, Compare{LE, col, hi}}, nil
}

func (p *parser) like(start token, left operand, negated bool) (Expr, error) {
	col, err := p.needColumn(start, left)
	if err != nil {
		return nil, err
	}
	t := p.next()
	if t.kind != tokString {
		return nil, p.fail(t, "expected a 'pattern'")
	}
	if _, err := CompileLike(t.text); err != nil {
		return nil, p.fail(t, "%v", err)
	}
	return Like{col, t.text, negated}, nil
}

// call reads name(column [, 'text']).
func (p *parser) call() (Expr, error) {
	name := p.next()
	fn := strings.ToLower(name.text)
	if fn == "match_any" {
		fn = KindMatch
	}
	known := append([]string{"starts_with", "isnan"}, MatchKinds...)
	if !slices.Contains(known, fn) {
		msg := fmt.Sprintf("no function %s in a filter", name.text)
		if near := Nearest(fn, known); len(near) > 0 {
			msg += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return nil, p.fail(name, "%s", msg)
	}
	p.next() // the parenthesis that isCall saw
	col, err := p.column()
	if err != nil {
		return nil, err
	}
	text := ""
	if fn != "isnan" {
		if t := p.next(); !t.op(",") {
			return nil, p.fail(t, "expected ,")
		}
		t := p.next()
		if t.kind != tokString {
			return nil, p.fail(t, "expected a 'text'")
		}
		text = t.text
	}
	if t := p.next(); !t.op(")") {
		return nil, p.fail(t, "expected )")
	}
	switch fn {
	case "isnan":
		return IsNaN{Col: col}, nil
	case "starts_with":
		return StartsWith{Col: col, Prefix: text}, nil
	}
	return Match{Kind: fn, Col: col, Text: text}, nil
}
