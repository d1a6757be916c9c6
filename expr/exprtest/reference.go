package exprtest

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"sort"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Truth is FALSE, unknown or TRUE, in this order.
type Truth int8

// The three values.
const (
	False Truth = iota
	Unknown
	True
)

// Value is what a row holds in a column: nil = NULL, else the Go type that expr.Literal documents for Type.
type Value struct {
	Type  arrow.DataType
	Value any
}

// Evaluate is the reference. get returns the value of a column; a tree may be bound or not. Like is judged by its own
// backtracking matcher, Match by its Matcher.
func Evaluate(e expr.Expr, get func(expr.Column) Value) Truth {
	switch x := e.(type) {
	case expr.Bool:
		return truth(bool(x))
	case expr.Unknown:
		return Unknown
	case expr.Not:
		return True - Evaluate(x.X, get)
	case expr.And:
		out := True
		for _, a := range x {
			out = min(out, Evaluate(a, get))
		}
		return out
	case expr.Or:
		out := False
		for _, a := range x {
			out = max(out, Evaluate(a, get))
		}
		return out
	case expr.IsNull:
		return truth((get(x.Col).Value == nil) != x.Negated)
	case expr.CompareColumns:
		a, b := get(x.Left), get(x.Right)
		if a.Value == nil || b.Value == nil {
			return Unknown
		}
		return truth(x.Op.Holds(compareValues(a, b)))
	}
	return leaf(e, get)
}

func leaf(e expr.Expr, get func(expr.Column) Value) Truth {
	v := get(expr.Columns(e)[0])
	if v.Value == nil {
		return Unknown
	}
	switch x := e.(type) {
	case expr.Compare:
		if x.Lit.Value == nil {
			return Unknown
		}
		return truth(x.Op.Holds(compareLiteral(v, x.Lit)))
	case expr.In:
		out := False
		for _, l := range x.Lits {
			if l.Value == nil {
				out = max(out, Unknown)
			} else if compareLiteral(v, l) == 0 {
				out = True
			}
		}
		return negate(out, x.Negated)
	case expr.IsNaN:
		f, _ := v.Value.(float64)
		return negate(truth(f != f), x.Negated)
	case expr.StartsWith:
		return negate(truth(strings.HasPrefix(text(v.Value), x.Prefix)), x.Negated)
	case expr.Like:
		return negate(truth(like([]rune(x.Pattern), []rune(text(v.Value)))), x.Negated)
	case expr.Match:
		return negate(truth(x.Matcher.Match([]byte(text(v.Value)))), x.Negated)
	}
	panic(fmt.Sprintf("exprtest: %T", e))
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

func negate(t Truth, neg bool) Truth {
	if neg {
		return True - t
	}
	return t
}

func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v.(string)
}

func like(p, s []rune) bool {
	switch {
	case len(p) == 0:
		return len(s) == 0
	case p[0] == '%':
		return like(p[1:], s) || len(s) > 0 && like(p, s[1:])
	case len(s) == 0:
		return false
	case p[0] == '_':
		return like(p[1:], s[1:])
	case p[0] == '\\':
		return p[1] == s[0] && like(p[2:], s[1:])
	}
	return p[0] == s[0] && like(p[1:], s[1:])
}

// rank orders the values of all numeric and temporal types: class -1 = -Inf, 0 = a number, 1 = +Inf, 2 = NaN.
type rank struct {
	class int
	r     *big.Rat
}

func (a rank) cmp(b rank) int {
	if a.class != b.class || a.class != 0 {
		return a.class - b.class
	}
	return a.r.Cmp(b.r)
}

func floatRank(v float64) rank {
	switch {
	case v != v:
		return rank{class: 2}
	case math.IsInf(v, 1):
		return rank{class: 1}
	case math.IsInf(v, -1):
		return rank{class: -1}
	}
	return rank{r: new(big.Rat).SetFloat64(v)}
}

func rankOf(t arrow.DataType, v any) rank {
	switch v := v.(type) {
	case float64:
		return floatRank(v)
	case uint64:
		return rank{r: new(big.Rat).SetInt(new(big.Int).SetUint64(v))}
	case bool:
		if v {
			return rank{r: big.NewRat(1, 1)}
		}
		return rank{r: new(big.Rat)}
	case *big.Int:
		r, _ := new(big.Rat).SetString(fmt.Sprintf("%se%d", v, -t.(arrow.DecimalType).GetScale()))
		return rank{r: r}
	}
	r := new(big.Rat).SetInt64(v.(int64))
	switch t := t.(type) {
	case *arrow.Date32Type:
		r.Mul(r, big.NewRat(86400, 1))
	case *arrow.Date64Type:
		r.Mul(r, big.NewRat(1, 1000))
	case arrow.TemporalWithUnit:
		r.Mul(r, []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1e3), big.NewRat(1, 1e6), big.NewRat(1, 1e9)}[t.TimeUnit()])
	}
	return rank{r: r}
}

func compareValues(a, b Value) int {
	switch a.Value.(type) {
	case string, []byte:
		return bytes.Compare([]byte(text(a.Value)), []byte(text(b.Value)))
	}
	return rankOf(a.Type, a.Value).cmp(rankOf(b.Type, b.Value))
}

// compareLiteral rounds an exact literal to a float column's type where it fits that type.
func compareLiteral(v Value, l expr.Literal) int {
	switch v.Value.(type) {
	case string, []byte:
		return compareValues(v, Value{l.Type, l.Value})
	}
	b := rankOf(l.Type, l.Value)
	if _, isFloat := l.Value.(float64); !isFloat {
		switch v.Type.ID() {
		case arrow.FLOAT32:
			if f, _ := b.r.Float32(); !math.IsInf(float64(f), 0) {
				b = floatRank(float64(f))
			}
		case arrow.FLOAT64:
			f, _ := b.r.Float64()
			b = floatRank(f)
		case arrow.FLOAT16:
			b = halfRank(b)
		}
	}
	return rankOf(v.Type, v.Value).cmp(b)
}

// halves are the finite halves from 0 up.
var halves = sync.OnceValue(func() []*big.Rat {
	var out []*big.Rat
	for bits := range uint16(0x7c00) {
		out = append(out, new(big.Rat).SetFloat64(expr.Half(bits)))
	}
	return out
})

// halfRank gives the nearest half, the even one on a tie; a number that rounds beyond them all stays as it is.
func halfRank(b rank) rank {
	abs := new(big.Rat).Abs(b.r)
	i := sort.Search(len(halves()), func(i int) bool { return halves()[i].Cmp(abs) >= 0 })
	if abs.Cmp(big.NewRat(65520, 1)) >= 0 {
		return b
	}
	if i == len(halves()) {
		i--
	} else if i > 0 {
		up := new(big.Rat).Sub(halves()[i], abs)
		down := new(big.Rat).Sub(abs, halves()[i-1])
		if c := down.Cmp(up); c < 0 || c == 0 && i%2 == 1 {
			i--
		}
	}
	if b.r.Sign() < 0 {
		return rank{r: new(big.Rat).Neg(halves()[i])}
	}
	return rank{r: halves()[i]}
}
