package prune

import (
	"math"
	"math/big"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Metrics is what is known of one column in a set of rows (a row group, a page). Counts are -1 where unknown, which is not
// zero. Lower and Upper are limits that no value that is neither null nor NaN lies beyond; a nil Value = no limit known.
type Metrics struct {
	Rows         int64 // nulls included
	Nulls, NaNs  int64
	Lower, Upper expr.Literal
}

// Unknown is what is known without evidence.
func Unknown(rows int64) Metrics { return Metrics{Rows: rows, Nulls: -1, NaNs: -1} }

// Constant is a column whose values are all the literal; of the literal's own type. With nullable set the value may be null
// in rows whose parent is absent.
func Constant(lit expr.Literal, rows int64, nullable bool) Metrics {
	m := Metrics{Rows: rows, Lower: lit, Upper: lit}
	switch {
	case lit.Value == nil:
		m.Nulls = rows
		return m
	case nullable:
		m.Nulls = -1
	}
	if f, ok := lit.Value.(float64); ok && math.IsNaN(f) {
		m.Lower, m.Upper, m.NaNs = expr.Literal{}, expr.Literal{}, rows
		if nullable {
			m.NaNs = -1
		}
	}
	return m
}

// Metrics reads the statistics of a chunk of the given number of rows.
func (c Column) Metrics(s thrift.Statistics, rows int64) Metrics {
	x := c.codec()
	m := c.counts(x, s.NullCount, s.NaNCount, rows)
	switch {
	case c.ordered(x) && (s.MinValue != nil || s.MaxValue != nil):
		return c.bounds(x, m, s.MinValue, s.MaxValue)
	case x.signed():
		return c.bounds(x, m, s.Min, s.Max)
	}
	return m
}

// ordered: min_value and max_value follow the order that the predicate compares by.
func (c Column) ordered(x codec) bool {
	return c.Order == thrift.OrderType || c.Order == thrift.OrderIEEE754 && x.form == formFloat
}

// counts drops those that cannot be true. Values below a list are no rows, so nothing is known of them.
func (c Column) counts(x codec, nulls, nans, rows int64) Metrics {
	m := Unknown(rows)
	if c.Node.Rep > 0 {
		return m
	}
	if nulls >= 0 && nulls <= rows {
		m.Nulls = nulls
	}
	if c.Node.Def == 0 {
		m.Nulls = 0
	}
	switch {
	case x.form != formFloat && x.form != formNone:
		m.NaNs = 0
	case x.form == formFloat && nans >= 0 && nans <= rows-max(m.Nulls, 0):
		m.NaNs = nans
	}
	return m
}

// bounds decodes both limits. They are dropped together when they contradict each other.
func (c Column) bounds(x codec, m Metrics, low, high []byte) Metrics {
	if c.Node.Rep > 0 || x.form == formNone {
		return m
	}
	bound := func(b []byte) expr.Literal {
		if b == nil {
			return expr.Literal{}
		}
		v, ok := x.value(b)
		if f, isFloat := v.(float64); !ok || isFloat && math.IsNaN(f) {
			return expr.Literal{}
		}
		return expr.Literal{Type: c.Type, Value: v}
	}
	lower, upper := bound(low), bound(high)
	if lower.Value != nil && upper.Value != nil && lower.Compare(upper) > 0 {
		return m
	}
	m.Lower, m.Upper = lower, upper
	return m
}

func (m Metrics) noNulls() bool   { return m.Nulls == 0 }
func (m Metrics) noNaNs() bool    { return m.NaNs == 0 }
func (m Metrics) allNull() bool   { return m.Nulls >= 0 && m.Nulls == m.Rows }
func (m Metrics) noNumbers() bool { return m.Nulls >= 0 && m.NaNs >= 0 && m.Nulls+m.NaNs >= m.Rows }
func (m Metrics) allNaN() bool    { return m.NaNs >= 0 && m.NaNs == m.Rows }

// below: every value lies below v; likewise the others. Without a bound none of them is known.
func (m Metrics) below(v expr.Literal) bool { return m.Upper.Value != nil && m.Upper.Compare(v) < 0 }

func (m Metrics) notAbove(v expr.Literal) bool {
	return m.Upper.Value != nil && m.Upper.Compare(v) <= 0
}

func (m Metrics) above(v expr.Literal) bool { return m.Lower.Value != nil && m.Lower.Compare(v) > 0 }

func (m Metrics) notBelow(v expr.Literal) bool {
	return m.Lower.Value != nil && m.Lower.Compare(v) >= 0
}
func (m Metrics) outside(v expr.Literal) bool    { return m.below(v) || m.above(v) }
func (m Metrics) constantly(v expr.Literal) bool { return m.notAbove(v) && m.notBelow(v) }

// verdict prefers None: with no row at all both may hold.
func verdict(none, all bool) expr.Verdict {
	switch {
	case none:
		return expr.None
	case all:
		return expr.All
	}
	return expr.Some
}

// leaf decides a predicate on this column; the table of proofs.
func (m Metrics) leaf(e expr.Expr) expr.Verdict {
	if m.Rows == 0 {
		return expr.None
	}
	switch e := e.(type) {
	case expr.IsNull:
		if e.Negated {
			return verdict(m.allNull(), m.noNulls())
		}
		return verdict(m.noNulls(), m.allNull())
	case expr.IsNaN:
		if e.Negated {
			return verdict(m.noNumbers(), m.noNaNs() && m.noNulls())
		}
		return verdict(m.noNaNs() || m.allNull(), m.allNaN())
	case expr.Compare:
		return m.compare(e.Op, e.Lit)
	case expr.In:
		return m.in(e)
	case expr.StartsWith:
		return m.startsWith(e.Prefix, e.Negated)
	case expr.Like:
		if e.Negated {
			return verdict(m.allNull(), false)
		}
		return verdict(m.startsWith(likePrefix(e.Pattern), false) == expr.None, false)
	case expr.Match:
		return verdict(m.allNull(), false)
	}
	return expr.Some
}

func (m Metrics) compare(op expr.Op, v expr.Literal) expr.Verdict {
	if m.allNull() {
		return expr.None
	}
	if f, ok := v.Value.(float64); ok && math.IsNaN(f) {
		return m.compareNaN(op)
	}
	if !m.comparable(v) {
		return expr.Some
	}
	switch op {
	case expr.EQ:
		return verdict(m.outside(v) || m.noNumbers(), m.constantly(v) && m.noNulls() && m.noNaNs())
	case expr.NE:
		return verdict(m.constantly(v) && m.noNaNs(), m.outside(v) && m.noNulls())
	case expr.LT:
		return verdict(m.notBelow(v) || m.noNumbers(), m.below(v) && m.noNulls() && m.noNaNs())
	case expr.LE:
		return verdict(m.above(v) || m.noNumbers(), m.notAbove(v) && m.noNulls() && m.noNaNs())
	case expr.GT:
		return verdict(m.notAbove(v) && m.noNaNs(), m.above(v) && m.noNulls())
	case expr.GE:
		return verdict(m.below(v) && m.noNaNs(), m.notBelow(v) && m.noNulls())
	}
	return expr.Some
}

// compareNaN: NaN equals itself and is above every number.
func (m Metrics) compareNaN(op expr.Op) expr.Verdict {
	switch op {
	case expr.EQ, expr.GE:
		return verdict(m.noNaNs(), m.allNaN())
	case expr.NE, expr.LT:
		return verdict(m.noNumbers(), m.noNaNs() && m.noNulls())
	case expr.LE:
		return verdict(false, m.noNulls())
	case expr.GT:
		return expr.None
	}
	return expr.Some
}

// comparable guards against a predicate bound to another type than the metrics were read for.
func (m Metrics) comparable(v expr.Literal) bool {
	for _, b := range []expr.Literal{m.Lower, m.Upper} {
		if b.Value != nil && !sameGoType(b.Value, v.Value) {
			return false
		}
	}
	return v.Value != nil
}

func (m Metrics) in(e expr.In) expr.Verdict {
	if m.allNull() {
		return expr.None
	}
	lits := e.Lits
	if n := len(lits); n > 8 && m.Lower.Value != nil && m.Upper.Value != nil && m.comparable(lits[0]) && m.comparable(lits[n-1]) {
		// Only literals within the bounds, and NaN, which is the last, can decide anything but "outside".
		from := sort.Search(n, func(i int) bool { return !m.above(lits[i]) })
		to := sort.Search(n, func(i int) bool { return m.below(lits[i]) })
		near := append([]expr.Literal{lits[0], lits[n-1]}, lits[from:max(from, to)]...)
		lits = near
	}
	op := expr.EQ
	if e.Negated {
		op = expr.NE
	}
	none, all := 0, 0
	for _, l := range lits {
		switch m.compare(op, l) {
		case expr.None:
			none++
		case expr.All:
			all++
		}
	}
	if e.Negated { // <> every one of them
		return verdict(none > 0, all == len(lits))
	}
	return verdict(none == len(lits), all > 0)
}

func (m Metrics) startsWith(prefix string, negated bool) expr.Verdict {
	if m.allNull() {
		return expr.None
	}
	lower, lok := text(m.Lower.Value)
	upper, uok := text(m.Upper.Value)
	apart := uok && upper < prefix || lok && lower[:min(len(lower), len(prefix))] > prefix
	within := prefix == "" || lok && uok && strings.HasPrefix(lower, prefix) && strings.HasPrefix(upper, prefix)
	if negated {
		return verdict(within, apart && m.noNulls())
	}
	return verdict(apart, within && m.noNulls())
}

func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// likePrefix is the literal text before the first wildcard.
func likePrefix(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '%' || c == '_':
			return b.String()
		case c == '\\' && i+1 < len(pattern):
			i++
			c = pattern[i]
		}
		b.WriteByte(c)
	}
	return b.String()
}

// compareColumns decides left op right by the metrics of both.
func compareColumns(op expr.Op, l, r Metrics) expr.Verdict {
	if l.allNull() || r.allNull() {
		return expr.None
	}
	for _, m := range []Metrics{l, r} {
		if !m.noNaNs() || m.Lower.Value == nil || m.Upper.Value == nil {
			return expr.Some
		}
	}
	if !sameGoType(l.Lower.Value, r.Lower.Value) || !arrow.TypeEqual(l.Lower.Type, r.Lower.Type) {
		return expr.Some
	}
	full := l.noNulls() && r.noNulls()
	less := l.Upper.Compare(r.Lower) < 0     // always <
	notMore := l.Upper.Compare(r.Lower) <= 0 // always <=
	greater := l.Lower.Compare(r.Upper) > 0  // always >
	notLess := l.Lower.Compare(r.Upper) >= 0 // always >=
	equal := notMore && notLess              // all one value
	switch op {
	case expr.EQ:
		return verdict(less || greater, equal && full)
	case expr.NE:
		return verdict(equal, (less || greater) && full)
	case expr.LT:
		return verdict(notLess, less && full)
	case expr.LE:
		return verdict(greater, notMore && full)
	case expr.GT:
		return verdict(notMore, greater && full)
	case expr.GE:
		return verdict(less, notLess && full)
	}
	return expr.Some
}

func sameGoType(a, b any) bool {
	switch a.(type) {
	case bool:
		_, ok := b.(bool)
		return ok
	case int64:
		_, ok := b.(int64)
		return ok
	case uint64:
		_, ok := b.(uint64)
		return ok
	case float64:
		_, ok := b.(float64)
		return ok
	case string:
		_, ok := b.(string)
		return ok
	case []byte:
		_, ok := b.([]byte)
		return ok
	case *big.Int:
		_, ok := b.(*big.Int)
		return ok
	}
	return false
}
