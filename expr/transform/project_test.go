package transform

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/exprtest"
)

// domain is a small world: a type, its values, and the transforms to be tried.
type domain struct {
	typ        arrow.DataType
	values     []any
	transforms []string
}

func domains() []domain {
	var ints, decimals, dates, stamps, longs []any
	for v := int64(-13); v <= 13; v++ {
		ints = append(ints, v)
		decimals = append(decimals, big.NewInt(v))
	}
	longs = append(longs, ints...)
	for _, d := range []int64{0, 1, 2, 5, 7, 8, 9, 12} {
		ints = append(ints, math.MinInt32+d, math.MaxInt32-d)
		longs = append(longs, math.MinInt32+d, math.MaxInt32-d, math.MinInt64+d, math.MaxInt64-d, math.MinInt32-d, math.MaxInt32+d)
	}
	for y := 1968; y <= 1971; y++ {
		for _, md := range [][2]int{{1, 1}, {1, 2}, {2, 29}, {12, 31}} {
			at := time.Date(y, time.Month(md[0]), md[1], 0, 0, 0, 0, time.UTC)
			dates = append(dates, at.Unix()/86400)
			for _, off := range []int64{-1, 0, 3600e6} {
				stamps = append(stamps, at.UnixMicro()+off)
			}
		}
	}
	stamps = append(stamps, int64(math.MinInt64), int64(math.MaxInt64), int64(-1), int64(0))
	texts := []any{"", "a", "ab", "abc", "abd", "b", "ä", "äb", "ä水", "\U0001F600", "\U0001F600a", "\x7f", "a\x00", "~~~"}
	blobs := []any{[]byte{}, []byte{0}, []byte{0, 0}, []byte{0, 255}, []byte{255}, []byte{255, 255, 255}, []byte{128, 0}, []byte("ab"), []byte("abc")}
	floats := []any{math.Inf(-1), -1.5, math.Copysign(0, -1), 0.0, 1.5, math.Inf(1), math.NaN()}
	times := []string{"year", "month", "day", "hour", "bucket[3]", "identity", "void", "zorder"}
	return []domain{
		{tInt, ints, []string{"identity", "bucket[1]", "bucket[3]", "truncate[1]", "truncate[3]", "truncate[8]", "truncate[10]", "void", "zorder"}},
		{tLong, longs, []string{"identity", "bucket[4]", "truncate[1]", "truncate[3]", "truncate[10]", "void"}},
		{tDec, decimals, []string{"identity", "bucket[3]", "truncate[1]", "truncate[4]", "truncate[7]"}},
		{tString, texts, []string{"identity", "bucket[2]", "truncate[1]", "truncate[2]", "truncate[5]", "void"}},
		{tBinary, blobs, []string{"identity", "bucket[2]", "truncate[1]", "truncate[2]"}},
		{tUUID, []any{make([]byte, 16), uuidOf(0x7f), uuidOf(0x80), uuidOf(0xff)}, []string{"identity", "bucket[3]"}},
		{tDate, dates, []string{"year", "month", "day", "bucket[3]", "identity"}},
		{tTS, stamps, times},
		{tTSNano, stamps, times},
		{arrow.PrimitiveTypes.Float64, floats, []string{"identity", "void"}},
		{arrow.FixedWidthTypes.Boolean, []any{false, true}, []string{"identity"}},
	}
}

func uuidOf(b byte) []byte {
	u := make([]byte, 16)
	u[0] = b
	return u
}

// leaves are all bound leaves over a column with literals of the domain.
func (d domain) leaves(c expr.Column) []expr.Expr {
	out := []expr.Expr{expr.IsNull{Col: c}, expr.IsNull{Col: c, Negated: true}}
	lit := func(v any) expr.Literal { return expr.Literal{Type: d.typ, Value: v} }
	for i, v := range d.values {
		if f, ok := v.(float64); ok && f != f {
			out = append(out, expr.IsNaN{Col: c}, expr.IsNaN{Col: c, Negated: true})
			continue
		}
		for op := expr.EQ; op <= expr.GE; op++ {
			out = append(out, expr.Compare{Op: op, Col: c, Lit: lit(v)})
		}
		if w := d.values[(i*7+3)%len(d.values)]; lit(v).Compare(lit(w)) < 0 {
			out = append(out, expr.In{Col: c, Lits: []expr.Literal{lit(v), lit(w)}}, expr.In{Col: c, Lits: []expr.Literal{lit(v), lit(w)}, Negated: true})
		}
		var prefix string
		switch v := v.(type) {
		case string:
			prefix = v
		case []byte:
			prefix = string(v)
		default:
			continue
		}
		if d.typ.ID() != arrow.FIXED_SIZE_BINARY {
			out = append(out, expr.StartsWith{Col: c, Prefix: prefix}, expr.StartsWith{Col: c, Prefix: prefix, Negated: true})
		}
	}
	return out
}

// written are the partition values that writers have given to v: by the specification, by truncation toward zero, and with
// the wrap-around of 32 and 64 bits.
func written(t Transform, typ arrow.DataType, v any) []any {
	lit := expr.Literal{Type: typ, Value: v}
	var out []any
	if p, ok := t.Apply(lit); ok {
		out = append(out, p.Value)
	}
	n, ok := v.(int64)
	if !ok {
		return out
	}
	switch t.Kind {
	case Truncate:
		m := floorMod(n, int64(t.N))
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			out = append(out, int64(int32(n-m)))
		}
		out = append(out[:len(out):len(out)], n-m) // wraps in 64 bits
		if typ.ID() == arrow.INT32 {
			out = []any{int64(int32(n - m))}
		}
	case Year, Month, Day, Hour:
		if p, ok := t.Apply(lit); ok && p.Value.(int64) < 0 && !(t.Kind == Day && typ.ID() == arrow.DATE32) {
			if before, ok := t.Apply(expr.Literal{Type: typ, Value: max(n, math.MinInt64+1) - 1}); ok && before.Value == p.Value { // not the first of its period
				out = append(out, p.Value.(int64)+1)
			}
		}
	}
	return out
}

// Exhaustive: the inclusive projection never loses a row, the strict one never gains one, for every transform, literal and
// value of small worlds, as the specification and as old writers had them.
func TestP3_ProjectionsAreSound(t *testing.T) {
	t.Parallel()
	for _, d := range domains() {
		for _, text := range d.transforms {
			t.Run(fmt.Sprintf("%s of %s", text, d.typ), func(t *testing.T) {
				t.Parallel()
				d.check(t, Parse(text))
			})
		}
	}
}

func (d domain) check(t *testing.T, tr Transform) {
	source := expr.Column{Path: []string{"x"}, ID: 1, Type: d.typ}
	part := expr.Column{Path: []string{"p"}, ID: 1000, Type: tr.Result(d.typ)}
	if part.Type == nil {
		part.Type = tInt
	}
	truth := func(e expr.Expr, typ arrow.DataType, v any) bool {
		return exprtest.Evaluate(e, func(expr.Column) exprtest.Value { return exprtest.Value{Type: typ, Value: v} }) == exprtest.True
	}
	useful, failures := 0, 0
	for _, leaf := range d.leaves(source) {
		in, inOK := tr.Inclusive(leaf, part)
		st, stOK := tr.Strict(leaf, part)
		if inOK || stOK {
			useful++
		}
		for _, v := range append([]any{nil}, d.values...) {
			keeps := truth(leaf, d.typ, v)
			for _, p := range written(tr, d.typ, v) {
				if inOK && keeps && !truth(in, part.Type, p) {
					t.Errorf("%s is true of %v, but %s is not of %v", leaf, v, in, p)
					failures++
				}
				if stOK && !keeps && truth(st, part.Type, p) {
					t.Errorf("%s is not true of %v, but %s is of %v", leaf, v, st, p)
					failures++
				}
				if failures > 10 {
					t.FailNow()
				}
			}
		}
	}
	if wants := tr.Kind != Void && tr.Kind != Unknown; wants != (useful > 0) {
		t.Errorf("%d projections", useful)
	}
}

// Projections that are sound but say nothing would pass the test above.
func TestProjectionsSayWhatTheyCan(t *testing.T) {
	t.Parallel()
	at := func(text string) int64 {
		v, err := time.Parse("2006-01-02T15:04:05.999999", text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMicro()
	}
	for _, c := range []struct {
		transform         string
		typ               arrow.DataType
		op                expr.Op
		v                 any
		inclusive, strict string
	}{
		{"day", tTS, expr.LT, at("2020-01-02T00:00:00"), "p <= DATE '2020-01-01'", "p < DATE '2020-01-02'"},
		{"day", tTS, expr.LE, at("2020-01-02T00:00:00"), "p <= DATE '2020-01-02'", "p < DATE '2020-01-02'"},
		{"day", tTS, expr.GT, at("2020-01-01T23:59:59.999999"), "p >= DATE '2020-01-02'", "p > DATE '2020-01-01'"},
		{"day", tTS, expr.GE, at("2020-01-02T00:00:00"), "p >= DATE '2020-01-02'", "p > DATE '2020-01-01'"},
		{"year", tTS, expr.EQ, at("2020-06-02T00:00:00"), "p = 50", ""},
		{"year", tTS, expr.NE, at("2020-06-02T00:00:00"), "", "p <> 50"},
		{"year", tTS, expr.EQ, at("1960-06-02T00:00:00"), "p IN (-10, -9)", ""},
		{"year", tTS, expr.LT, at("1960-01-01T00:00:00"), "p <= -10", "p < -10"},
		{"bucket[3]", tInt, expr.EQ, int64(34), "p = 1", ""},
		{"bucket[3]", tInt, expr.LT, int64(34), "", ""},
		{"truncate[10]", tString, expr.LT, "abc", "p < 'abc'", "p < 'abc'"},
		{"truncate[2]", tString, expr.LT, "abc", "p <= 'ab'", "p < 'ab'"},
		{"truncate[2]", tString, expr.GT, "abc", "p >= 'ab'", "p > 'ab'"},
		{"truncate[10]", tInt, expr.GE, int64(20), "p >= 20", "p <= 2147483637 AND p >= 20"},
		{"truncate[10]", tInt, expr.LT, int64(20), "p > 2147483637 OR p < 20", "p < 20"},
		{"truncate[10]", tInt, expr.EQ, int64(25), "p = 20", ""},
		{"identity", tInt, expr.GE, int64(20), "p >= 20", "p >= 20"},
	} {
		tr := Parse(c.transform)
		leaf := expr.Compare{Op: c.op, Col: expr.Column{Path: []string{"x"}, ID: 1, Type: c.typ}, Lit: expr.Literal{Type: c.typ, Value: c.v}}
		part := expr.Column{Path: []string{"p"}, ID: 1000, Type: tr.Result(c.typ)}
		show := func(e expr.Expr, ok bool) string {
			if !ok {
				return ""
			}
			return e.String()
		}
		if got := show(tr.Inclusive(leaf, part)); got != c.inclusive {
			t.Errorf("%s of %s: inclusive %q, want %q", c.transform, leaf, got, c.inclusive)
		}
		if got := show(tr.Strict(leaf, part)); got != c.strict {
			t.Errorf("%s of %s: strict %q, want %q", c.transform, leaf, got, c.strict)
		}
	}
}
