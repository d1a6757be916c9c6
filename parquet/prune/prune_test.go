package prune

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// leafOf makes the column of a schema element, alone in its file.
func leafOf(t testing.TB, e thrift.SchemaElement, typ arrow.DataType) Column {
	t.Helper()
	e.Name, e.HasType = "c", true
	if e.Converted == 0 {
		e.Converted = thrift.NoConverted
	}
	tree, err := schema.New([]thrift.SchemaElement{{Name: "root", NumChildren: 1, Type: thrift.NoType, Converted: thrift.NoConverted}, e})
	if err != nil {
		t.Fatal(err)
	}
	return Column{Node: tree.Leaves[0], Order: thrift.OrderType, Type: typ}
}

func optional(p thrift.Type) thrift.SchemaElement {
	return thrift.SchemaElement{Type: p, Repetition: thrift.Optional}
}

// matches is the specification of a leaf on one value (nil = NULL), written apart from the code under test.
func matches(e expr.Expr, v any) bool {
	switch e := e.(type) {
	case expr.IsNull:
		return (v == nil) != e.Negated
	case expr.IsNaN:
		f, _ := v.(float64)
		return v != nil && (f != f) != e.Negated
	case expr.Compare:
		return v != nil && relation(v, e.Lit.Value, e.Op)
	case expr.In:
		return v != nil && slices.ContainsFunc(e.Lits, func(l expr.Literal) bool { return relation(v, l.Value, expr.EQ) }) != e.Negated
	case expr.StartsWith:
		s, _ := text(v)
		return v != nil && strings.HasPrefix(s, e.Prefix) != e.Negated
	case expr.Like: // patterns of this test end in %
		s, _ := text(v)
		return v != nil && strings.HasPrefix(s, strings.TrimSuffix(e.Pattern, "%")) != e.Negated
	case expr.And:
		return !slices.ContainsFunc(e, func(a expr.Expr) bool { return !matches(a, v) })
	case expr.Or:
		return slices.ContainsFunc(e, func(a expr.Expr) bool { return matches(a, v) })
	}
	panic(fmt.Sprintf("%T", e))
}

func relation(a, b any, op expr.Op) bool {
	less, equal := false, false
	switch a := a.(type) {
	case int64:
		less, equal = a < b.(int64), a == b.(int64)
	case uint64:
		less, equal = a < b.(uint64), a == b.(uint64)
	case bool:
		less, equal = !a && b.(bool), a == b.(bool)
	case float64:
		b := b.(float64)
		less, equal = a < b || a == a && b != b, a == b || a != a && b != b
	case string:
		less, equal = a < b.(string), a == b.(string)
	case []byte:
		less, equal = string(a) < string(b.([]byte)), string(a) == string(b.([]byte))
	case *big.Int:
		less, equal = a.Cmp(b.(*big.Int)) < 0, a.Cmp(b.(*big.Int)) == 0
	}
	return map[expr.Op]bool{expr.EQ: equal, expr.NE: !equal, expr.LT: less, expr.LE: less || equal, expr.GT: !less && !equal, expr.GE: !less}[op]
}

// proves fails the test unless the verdict holds for every value.
func proves(t interface{ Fatalf(string, ...any) }, e expr.Expr, values []any, v expr.Verdict, what string) {
	for _, x := range values {
		if m := matches(e, x); v == expr.None && m || v == expr.All && !m {
			t.Fatalf("%s: verdict %s of %s is wrong for the value %v among %v", what, verdictName(v), e, x, values)
		}
	}
}

func verdictName(v expr.Verdict) string { return [...]string{"some", "none", "all"}[v] }

// domain is a type with the values and literals that a random test draws from.
type domain struct {
	typ    arrow.DataType
	values []any
	like   bool
}

var domains = []domain{
	{typ: arrow.PrimitiveTypes.Int64, values: []any{int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(5), int64(math.MaxInt64)}},
	{typ: arrow.PrimitiveTypes.Uint64, values: []any{uint64(0), uint64(1), uint64(math.MaxUint64)}},
	{typ: arrow.FixedWidthTypes.Boolean, values: []any{false, true}},
	{typ: arrow.PrimitiveTypes.Float64, values: []any{math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, 2.5, math.Inf(1), math.NaN()}},
	{typ: arrow.BinaryTypes.String, values: []any{"", "a", "ab", "ab\xff", "b", "\xff\xff"}, like: true},
	{typ: arrow.BinaryTypes.Binary, values: []any{[]byte(""), []byte{0}, []byte{0, 0xff}, []byte{0xff}}},
	{typ: &arrow.Decimal128Type{Precision: 38, Scale: 2}, values: []any{big.NewInt(-100), big.NewInt(0), big.NewInt(7), new(big.Int).Lsh(big.NewInt(1), 100)}},
}

func (d domain) lit(r *rand.Rand) expr.Literal {
	return expr.Literal{Type: d.typ, Value: d.values[r.IntN(len(d.values))]}
}

// leafExpr draws a leaf on column 1.
func (d domain) leafExpr(r *rand.Rand) expr.Expr {
	col, negated := expr.Column{ID: 1, Path: []string{"c"}, Type: d.typ}, r.IntN(2) == 0
	switch n := r.IntN(12); {
	case n == 0:
		return expr.IsNull{Col: col, Negated: negated}
	case n == 1:
		return expr.IsNaN{Col: col, Negated: negated}
	case n <= 4:
		return expr.In{Col: col, Negated: negated, Lits: d.lits(r)}
	case n == 5 && d.like:
		return expr.StartsWith{Col: col, Prefix: d.lit(r).Value.(string), Negated: negated}
	case n == 6 && d.like:
		return expr.Like{Col: col, Pattern: d.lit(r).Value.(string) + "%", Negated: negated}
	}
	return expr.Compare{Op: expr.Op(r.IntN(6)), Col: col, Lit: d.lit(r)}
}

// lits is what Bind leaves: sorted and distinct; sometimes more than the evaluator looks at one by one.
func (d domain) lits(r *rand.Rand) []expr.Literal {
	var lits []expr.Literal
	for range 1 + r.IntN(4) {
		lits = append(lits, d.lit(r))
	}
	if d.typ.ID() == arrow.INT64 && r.IntN(3) == 0 {
		for i := range int64(20) {
			lits = append(lits, expr.Literal{Type: d.typ, Value: i*3 - 20})
		}
	}
	slices.SortFunc(lits, expr.Literal.Compare)
	return slices.CompactFunc(lits, func(a, b expr.Literal) bool { return a.Compare(b) == 0 })
}

// trueMetrics of a value set.
func (d domain) trueMetrics(values []any) Metrics {
	m := Metrics{Rows: int64(len(values))}
	for _, v := range values {
		f, isFloat := v.(float64)
		switch {
		case v == nil:
			m.Nulls++
		case isFloat && f != f:
			m.NaNs++
		default:
			l := expr.Literal{Type: d.typ, Value: v}
			if m.Lower.Value == nil || l.Compare(m.Lower) < 0 {
				m.Lower = l
			}
			if m.Upper.Value == nil || l.Compare(m.Upper) > 0 {
				m.Upper = l
			}
		}
	}
	return m
}

// weaken loses some of the evidence: counts, bounds, or only their exactness.
func (d domain) weaken(r *rand.Rand, m Metrics) Metrics {
	if r.IntN(2) == 0 {
		m.Nulls = -1
	}
	if r.IntN(2) == 0 {
		m.NaNs = -1
	}
	bound := func(b *expr.Literal, sign int) {
		switch l := d.lit(r); {
		case r.IntN(3) == 0:
			b.Value = nil
		case b.Value != nil && l.Compare(*b) == sign && !(d.typ.ID() == arrow.FLOAT64 && math.IsNaN(l.Value.(float64))):
			*b = l
		}
	}
	bound(&m.Lower, -1)
	bound(&m.Upper, 1)
	return m
}

func drawValues(r *rand.Rand, d domain) []any {
	values := make([]any, 1+r.IntN(5))
	for i := range values {
		if r.IntN(4) > 0 {
			values[i] = d.values[r.IntN(len(d.values))]
		}
	}
	if r.IntN(3) == 0 { // runs of one value bring out All
		for i := range values {
			values[i] = values[0]
		}
	}
	return values
}

// P2: None and All are proofs, and weaker evidence never proves more.
func TestMetricsProofsAgainstBruteForce(t *testing.T) {
	t.Parallel()
	counts := map[expr.Verdict]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		d := domains[r.IntN(len(domains))]
		values, e := drawValues(r, d), d.leafExpr(r)
		full := d.trueMetrics(values)
		strong := full.leaf(e)
		proves(t, e, values, strong, "true metrics")
		counts[strong]++
		weak := d.weaken(r, full)
		got := weak.leaf(e)
		proves(t, e, values, got, fmt.Sprintf("weakened metrics %+v", weak))
		if got != expr.Some && got != strong && len(values) > 0 {
			t.Fatalf("%s on %v: weakened metrics say %s, true ones %s", e, values, verdictName(got), verdictName(strong))
		}
	}
	for v, n := range counts {
		if n < 20_000 {
			t.Errorf("verdict %s came up only %d times", verdictName(v), n)
		}
	}
}

func TestCompareColumnsAgainstBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	proved := 0
	for range 100_000 {
		d := domains[r.IntN(len(domains))]
		left, op := drawValues(r, d), expr.Op(r.IntN(6))
		right := drawValues(r, d)
		n := min(len(left), len(right))
		left, right = left[:n], right[:n]
		v := compareColumns(op, d.weaken(r, d.trueMetrics(left)), d.trueMetrics(right))
		for i := range n {
			m := left[i] != nil && right[i] != nil && relation(left[i], right[i], op)
			if v == expr.None && m || v == expr.All && !m {
				t.Fatalf("%v %d %v: verdict %s", left, op, right, verdictName(v))
			}
		}
		if v != expr.Some {
			proved++
		}
	}
	if proved < 10_000 {
		t.Errorf("only %d proofs", proved)
	}
}

// The table of proofs, read off the design and not the code. n, a and s are None, All and Some.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	i := func(v int64) expr.Literal { return expr.Literal{Type: arrow.PrimitiveTypes.Int64, Value: v} }
	f := func(v float64) expr.Literal { return expr.Literal{Type: arrow.PrimitiveTypes.Float64, Value: v} }
	s := func(v string) expr.Literal { return expr.Literal{Type: arrow.BinaryTypes.String, Value: v} }
	cmp := func(op expr.Op, l expr.Literal) expr.Expr { return expr.Compare{Op: op, Lit: l} }
	starts := func(p string, neg bool) expr.Expr { return expr.StartsWith{Prefix: p, Negated: neg} }
	full := Metrics{Rows: 10, Lower: i(5), Upper: i(8)}
	nulls := Metrics{Rows: 10, Nulls: 3, Lower: i(5), Upper: i(8)}
	unknown := Metrics{Rows: 10, Nulls: -1, NaNs: -1, Lower: i(5), Upper: i(8)}
	allNull := Metrics{Rows: 10, Nulls: 10}
	one := Metrics{Rows: 10, Lower: i(8), Upper: i(8)}
	oneUnknown := Metrics{Rows: 10, Nulls: -1, Lower: i(8), Upper: i(8)}
	noBounds := Metrics{Rows: 10}
	floats := Metrics{Rows: 10, NaNs: -1, Lower: f(5), Upper: f(8)}
	floatsFull := Metrics{Rows: 10, Lower: f(5), Upper: f(8)}
	allNaN := Metrics{Rows: 10, NaNs: 10}
	zeros := Metrics{Rows: 10, Lower: f(0), Upper: f(0)}
	words := Metrics{Rows: 10, Lower: s("abc"), Upper: s("abd")}
	cut := Metrics{Rows: 10, Lower: s("b"), Upper: s("c")}
	cases := []struct {
		name string
		m    Metrics
		e    expr.Expr
		want expr.Verdict
	}{
		{"is null, no null", full, expr.IsNull{}, expr.None},
		{"is null, some", nulls, expr.IsNull{}, expr.Some},
		{"is null, unknown", unknown, expr.IsNull{}, expr.Some},
		{"is null, all", allNull, expr.IsNull{}, expr.All},
		{"is not null, all null", allNull, expr.IsNull{Negated: true}, expr.None},
		{"is not null, no null", full, expr.IsNull{Negated: true}, expr.All},
		{"< lower", full, cmp(expr.LT, i(5)), expr.None},
		{"< above lower", full, cmp(expr.LT, i(6)), expr.Some},
		{"< above upper", full, cmp(expr.LT, i(9)), expr.All},
		{"< above upper, nulls", nulls, cmp(expr.LT, i(9)), expr.Some},
		{"< above upper, nulls unknown", unknown, cmp(expr.LT, i(9)), expr.Some},
		{"<= below lower", full, cmp(expr.LE, i(4)), expr.None},
		{"<= lower", full, cmp(expr.LE, i(5)), expr.Some},
		{"<= upper", full, cmp(expr.LE, i(8)), expr.All},
		{"> upper", full, cmp(expr.GT, i(8)), expr.None},
		{"> below lower", full, cmp(expr.GT, i(4)), expr.All},
		{"> lower", full, cmp(expr.GT, i(5)), expr.Some},
		{">= lower", full, cmp(expr.GE, i(5)), expr.All},
		{">= above upper", full, cmp(expr.GE, i(9)), expr.None},
		{"> upper, floats with NaN unknown", floats, cmp(expr.GT, f(8)), expr.Some},
		{"> upper, floats without NaN", floatsFull, cmp(expr.GT, f(8)), expr.None},
		{"> below lower, NaN unknown", floats, cmp(expr.GT, f(4)), expr.All},
		{"< above upper, NaN unknown", floats, cmp(expr.LT, f(9)), expr.Some},
		{"< lower, NaN unknown", floats, cmp(expr.LT, f(5)), expr.None},
		{"> NaN", floats, cmp(expr.GT, f(math.NaN())), expr.None},
		{"<= NaN", floats, cmp(expr.LE, f(math.NaN())), expr.All},
		{"< NaN, NaN unknown", floats, cmp(expr.LT, f(math.NaN())), expr.Some},
		{"< NaN, none", floatsFull, cmp(expr.LT, f(math.NaN())), expr.All},
		{"= NaN, none", floatsFull, cmp(expr.EQ, f(math.NaN())), expr.None},
		{"= NaN, all", allNaN, cmp(expr.EQ, f(math.NaN())), expr.All},
		{"< 1, all NaN", allNaN, cmp(expr.LT, f(1)), expr.None},
		{"is nan, all", allNaN, expr.IsNaN{}, expr.All},
		{"is not nan, all", allNaN, expr.IsNaN{Negated: true}, expr.None},
		{"is nan, unknown", floats, expr.IsNaN{}, expr.Some},
		{"-0.0 below 0.0", zeros, cmp(expr.LT, f(math.Copysign(0, -1))), expr.None},
		{"-0.0 = 0.0", zeros, cmp(expr.EQ, f(math.Copysign(0, -1))), expr.All},
		{"= outside", full, cmp(expr.EQ, i(9)), expr.None},
		{"= inside", full, cmp(expr.EQ, i(6)), expr.Some},
		{"= the only value", one, cmp(expr.EQ, i(8)), expr.All},
		{"= the only value, nulls unknown", oneUnknown, cmp(expr.EQ, i(8)), expr.Some},
		{"<> the only value", oneUnknown, cmp(expr.NE, i(8)), expr.None},
		{"<> outside", full, cmp(expr.NE, i(9)), expr.All},
		{"<> outside, nulls", nulls, cmp(expr.NE, i(9)), expr.Some},
		{"in, all outside", full, expr.In{Lits: []expr.Literal{i(1), i(4), i(9)}}, expr.None},
		{"in, one inside", full, expr.In{Lits: []expr.Literal{i(1), i(6)}}, expr.Some},
		{"in, the only value", one, expr.In{Lits: []expr.Literal{i(1), i(8)}}, expr.All},
		{"not in, all outside", full, expr.In{Negated: true, Lits: []expr.Literal{i(1), i(9)}}, expr.All},
		{"not in, the only value", oneUnknown, expr.In{Negated: true, Lits: []expr.Literal{i(1), i(8)}}, expr.None},
		{"no bounds", noBounds, cmp(expr.EQ, i(8)), expr.Some},
		{"all null", allNull, cmp(expr.NE, i(8)), expr.None},
		{"starts, within", words, starts("ab", false), expr.All},
		{"starts, apart above", words, starts("b", false), expr.None},
		{"starts, apart below", words, starts("aa", false), expr.None},
		{"starts, partly", words, starts("abc", false), expr.Some},
		{"starts, bounds shorter than the prefix", cut, starts("bcd", false), expr.Some},
		{"starts not, within", words, starts("ab", true), expr.None},
		{"starts not, apart", words, starts("b", true), expr.All},
		{"starts with nothing", words, starts("", false), expr.All},
		{"like, apart", words, expr.Like{Pattern: `b\%%x`}, expr.None},
		{"like, possible", words, expr.Like{Pattern: "ab%x"}, expr.Some},
		{"literal of another type", full, cmp(expr.EQ, f(9)), expr.Some},
		{"match, all null", allNull, expr.Match{}, expr.None},
	}
	for _, c := range cases {
		if got := c.m.leaf(c.e); got != c.want {
			t.Errorf("%s: want %s, got %s", c.name, verdictName(c.want), verdictName(got))
		}
	}
}

// Whole groups: random trees over a column with true, weakened and no evidence, pages of random size; no row that matches is
// lost, every row under All matches, whatever is switched off.
func TestGroupAgainstBruteForce(t *testing.T) {
	t.Parallel()
	verdicts := map[expr.Verdict]int{}
	pruned := map[Evaluator]int{}
	skipped := 0
	for seed := range uint64(30_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		d := domains[r.IntN(len(domains))]
		var values []any
		p := &Pages{}
		for range 1 + r.IntN(4) {
			page := drawValues(r, d)
			p.firstRows = append(p.firstRows, int64(len(values)))
			p.metrics = append(p.metrics, d.weaken(r, d.trueMetrics(page)))
			values = append(values, page...)
		}
		dict := &Dictionary{}
		for _, v := range values {
			if v != nil {
				dict.values = append(dict.values, expr.Literal{Type: d.typ, Value: v})
			}
		}
		e := d.tree(r, 2)
		c := &Chunk{Column: Column{Node: &schema.Node{Kind: schema.Primitive, Def: 1}, Type: d.typ}, Pages: p}
		if r.IntN(2) == 0 {
			c.Dictionary = dict
		}
		if r.IntN(4) == 0 {
			c.Pages = nil
		}
		chunk := func(id int) *Chunk { return c }
		off := Off{PageIndex: r.IntN(4) == 0, Dictionary: r.IntN(4) == 0}
		res := Group(e, int64(len(values)), chunk, off)
		verdicts[res.Verdict]++
		pruned[res.By]++
		if (res.Verdict == expr.None) != res.Rows.None() || res.Verdict == expr.All && !res.Rows.All() {
			t.Fatalf("verdict %s with rows %s", verdictName(res.Verdict), res.Rows)
		}
		if off.PageIndex && !res.Rows.All() && !res.Rows.None() {
			t.Fatalf("pages were used although switched off")
		}
		proves(t, e, values, res.Verdict, "group")
		for i, v := range values {
			if !res.Rows.Contains(int64(i)) {
				skipped++
				if matches(e, v) {
					t.Fatalf("seed %d, %s: row %d (%v) of %v was lost, rows %s", seed, e, i, v, values, res.Rows)
				}
			}
		}
	}
	if verdicts[expr.All] < 100 || pruned[ByPageIndex] < 1000 || pruned[ByDictionary] < 100 || skipped < 10_000 {
		t.Errorf("too few proofs: verdicts %v, by %v, rows skipped %d", verdicts, pruned, skipped)
	}
}

func (d domain) tree(r *rand.Rand, depth int) expr.Expr {
	if depth == 0 || r.IntN(2) == 0 {
		return d.leafExpr(r)
	}
	args := []expr.Expr{d.tree(r, depth-1), d.tree(r, depth-1)}
	if r.IntN(2) == 0 {
		return expr.And(args)
	}
	return expr.Or(args)
}
