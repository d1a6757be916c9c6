package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The reference: three-valued logic on single values, numbers as rationals beside NaN and the infinities. It shares no code
// with locate and Bind.

type tri int8

const (
	no tri = iota
	maybe
	yes
)

// rank orders values of every numeric and temporal type: class -1 = -Inf, 0 = a number, 1 = +Inf, 2 = NaN.
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

func rankOf(t arrow.DataType, v any) rank {
	switch v := v.(type) {
	case float64:
		switch {
		case v != v:
			return rank{class: 2}
		case math.IsInf(v, 1):
			return rank{class: 1}
		case math.IsInf(v, -1):
			return rank{class: -1}
		}
		return rank{r: new(big.Rat).SetFloat64(v)}
	case uint64:
		return rank{r: new(big.Rat).SetInt(new(big.Int).SetUint64(v))}
	case bool:
		return rank{r: big.NewRat(int64(b2i(v)), 1)}
	case *big.Int:
		r, _ := new(big.Rat).SetString(fmt.Sprintf("%se-%d", v, t.(arrow.DecimalType).GetScale()))
		return rank{r: r}
	}
	r := new(big.Rat).SetInt64(v.(int64))
	switch t := t.(type) {
	case *arrow.Date32Type:
		r.Mul(r, big.NewRat(86400, 1))
	case arrow.TemporalWithUnit:
		r.Mul(r, []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 1e3), big.NewRat(1, 1e6), big.NewRat(1, 1e9)}[t.TimeUnit()])
	}
	return rank{r: r}
}

func refCompare(ct arrow.DataType, v any, l Literal) int {
	switch w := v.(type) {
	case string:
		return strings.Compare(w, l.Value.(string))
	case []byte:
		return bytes.Compare(w, l.Value.([]byte))
	}
	a, b := rankOf(ct, v), rankOf(l.Type, l.Value)
	if _, isFloat := l.Value.(float64); !isFloat && b.class == 0 {
		switch ct.ID() { // exact literals round to the column's type where they fit it
		case arrow.FLOAT32:
			if f, _ := b.r.Float32(); !math.IsInf(float64(f), 0) {
				b = rankOf(nil, float64(f))
			}
		case arrow.FLOAT64:
			f, _ := b.r.Float64()
			b = rankOf(nil, f)
		}
	}
	return a.cmp(b)
}

func bool3(b bool) tri {
	if b {
		return yes
	}
	return no
}

func negate(t tri, neg bool) tri {
	if neg {
		return yes - t
	}
	return t
}

// ref evaluates e on a row: one value of each column type, nil = NULL.
func ref(e Expr, row map[string]any, types map[string]arrow.DataType) tri {
	get := func(c Column) (any, arrow.DataType) { return row[c.Path[0]], types[c.Path[0]] }
	switch x := e.(type) {
	case Bool:
		return bool3(bool(x))
	case Unknown:
		return maybe
	case Not:
		return yes - ref(x.X, row, types)
	case And:
		out := yes
		for _, a := range x {
			out = min(out, ref(a, row, types))
		}
		return out
	case Or:
		out := no
		for _, a := range x {
			out = max(out, ref(a, row, types))
		}
		return out
	case IsNull:
		v, _ := get(x.Col)
		return bool3((v == nil) != x.Negated)
	}
	c, _ := leafColumn(e)
	v, t := get(c)
	if v == nil {
		return maybe
	}
	switch x := e.(type) {
	case Compare:
		if x.Lit.IsNull() {
			return maybe
		}
		return bool3(x.Op.Holds(refCompare(t, v, x.Lit)))
	case In:
		out := no
		for _, l := range x.Lits {
			if l.IsNull() {
				out = max(out, maybe)
			} else if refCompare(t, v, l) == 0 {
				out = yes
			}
		}
		return negate(out, x.Negated)
	case IsNaN:
		f, _ := v.(float64)
		return negate(bool3(f != f), x.Negated)
	case StartsWith:
		return negate(bool3(strings.HasPrefix(v.(string), x.Prefix)), x.Negated)
	case Like:
		l, _ := CompileLike(x.Pattern)
		return negate(bool3(l.Match([]byte(v.(string)))), x.Negated)
	}
	panic(fmt.Sprintf("%T", e))
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomValue favours the edges.
func randomValue(r *rand.Rand, t arrow.DataType) any {
	small := int64(r.IntN(9) - 4)
	switch kindOf(t) {
	case kindBool:
		return r.IntN(2) == 0
	case kindInt, kindDate, kindTime, kindTimestamp:
		bits := t.(arrow.FixedWidthDataType).BitWidth()
		return pick(r, small, small, int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits), r.Int64()>>(64-bits), small*86400, small*86400e6+int64(r.IntN(3)-1)) << (64 - bits) >> (64 - bits)
	case kindUint:
		bits := t.(arrow.FixedWidthDataType).BitWidth()
		return pick(r, uint64(r.IntN(9)), math.MaxUint64>>(64-bits), r.Uint64()>>(64-bits))
	case kindFloat:
		f := pick(r, float64(small), float64(small)/2, float64(small)/10, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.MaxFloat32,
			65504, math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat32, r.NormFloat64(), math.Copysign(0, -1), 1<<24+1, math.Ldexp(1, -24))
		switch t.ID() {
		case arrow.FLOAT32:
			return float64(float32(f))
		case arrow.FLOAT16:
			return Half(uint16(r.Uint32()) >> (r.IntN(3) * 4))
		}
		return f
	case kindDecimal:
		p := t.(arrow.DecimalType).GetPrecision()
		top, _ := new(big.Int).SetString(strings.Repeat("9", int(p)), 10)
		return pick(r, big.NewInt(small), top, new(big.Int).Neg(top), big.NewInt(small*10))
	case kindString:
		return pick(r, "", "a", "ab", "abc", "b", "a%", "é", "\xff", "A")
	case kindFixed:
		b := make([]byte, t.(*arrow.FixedSizeBinaryType).ByteWidth)
		for i := range b {
			b[i] = pick[byte](r, 0, 1, 0xff)
		}
		return b
	case kindBytes:
		return pick(r, []byte{}, []byte{0}, []byte{1}, []byte{0, 0}, []byte{0, 1, 0}, []byte{0xff, 0xff, 0xff})
	}
	panic(t)
}

var columnTypes = map[string]arrow.DataType{
	"b": arrow.FixedWidthTypes.Boolean, "i8": arrow.PrimitiveTypes.Int8, "i16": arrow.PrimitiveTypes.Int16, "i32": arrow.PrimitiveTypes.Int32, "i64": arrow.PrimitiveTypes.Int64,
	"u8": arrow.PrimitiveTypes.Uint8, "u64": arrow.PrimitiveTypes.Uint64, "f16": arrow.FixedWidthTypes.Float16, "f32": arrow.PrimitiveTypes.Float32, "f64": arrow.PrimitiveTypes.Float64,
	"dec": &arrow.Decimal128Type{Precision: 3, Scale: 1}, "wide": &arrow.Decimal256Type{Precision: 50, Scale: 20},
	"s": arrow.BinaryTypes.String, "bin": arrow.BinaryTypes.Binary, "fix": &arrow.FixedSizeBinaryType{ByteWidth: 2},
	"dt": arrow.FixedWidthTypes.Date32, "t32": arrow.FixedWidthTypes.Time32s, "t64": arrow.FixedWidthTypes.Time64us,
	"ts": &arrow.TimestampType{Unit: arrow.Second}, "tms": &arrow.TimestampType{Unit: arrow.Millisecond}, "tus": &arrow.TimestampType{Unit: arrow.Microsecond}, "tns": &arrow.TimestampType{Unit: arrow.Nanosecond},
	"tz": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// literalTypes that may stand beside a column of each kind.
func literalTypes(k kind) []arrow.DataType {
	switch {
	case k.numeric():
		return []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32,
			&arrow.Decimal128Type{Precision: 4, Scale: 2}, &arrow.Decimal128Type{Precision: 30}, &arrow.Decimal256Type{Precision: 60, Scale: 3}}
	case k.bytes():
		return []arrow.DataType{arrow.BinaryTypes.Binary, &arrow.FixedSizeBinaryType{ByteWidth: 2}}
	case k == kindTime:
		return []arrow.DataType{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns}
	case k == kindDate || k == kindTimestamp:
		return []arrow.DataType{columnTypes["dt"], columnTypes["ts"], columnTypes["tus"], columnTypes["tns"], columnTypes["tz"]}
	case k == kindBool:
		return []arrow.DataType{columnTypes["b"]}
	}
	return []arrow.DataType{columnTypes["s"]}
}

func randomExpr(r *rand.Rand, names []string, depth int) Expr {
	if depth > 0 && r.IntN(3) > 0 {
		switch r.IntN(3) {
		case 0:
			return Not{randomExpr(r, names, depth-1)}
		case 1:
			return And{randomExpr(r, names, depth-1), randomExpr(r, names, depth-1)}
		}
		return Or{randomExpr(r, names, depth-1), randomExpr(r, names, depth-1)}
	}
	name := pick(r, names...)
	c := Col(name)
	k := kindOf(columnTypes[name])
	lit := func() Literal {
		if r.IntN(12) == 0 {
			return Lit(nil)
		}
		t := pick(r, append(literalTypes(k), columnTypes[name])...)
		return Literal{t, randomValue(r, t)}
	}
	neg := r.IntN(2) == 0
	switch n := r.IntN(12); {
	case n == 0:
		return IsNull{c, neg}
	case n == 1:
		return pick[Expr](r, Bool(neg), Unknown{})
	case n == 2 && k.numeric():
		return IsNaN{c, neg}
	case n == 3 && k == kindString:
		return StartsWith{c, pick(r, "", "a", "ab"), neg}
	case n == 4 && k == kindString:
		return Like{c, pick(r, "%", "a%", "%b", "_", "a", `a\%`, "%%"), neg}
	case n < 7:
		in := In{Col: c, Negated: neg}
		for range 1 + r.IntN(4) {
			in.Lits = append(in.Lits, lit())
		}
		return in
	}
	return Compare{Op(r.IntN(6)), c, lit()}
}

// Bind keeps the rows: over random trees, literals and values of every type, TRUE before is TRUE after, and nothing else is.
func TestBindKeepsTheRows(t *testing.T) {
	t.Parallel()
	var names []string
	for n := range columnTypes {
		names = append(names, n)
	}
	slices.Sort(names)
	var fields []arrow.Field
	for i, n := range names {
		fields = append(fields, field(n, i+1, columnTypes[n]))
	}
	schema := arrow.NewSchema(fields, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 4_000 {
		some := []string{pick(r, names...), pick(r, names...)}
		e := randomExpr(r, some, 3)
		b, err := Bind(e, schema, BindOptions{})
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		checkBound(t, b)
		if again, err := Bind(b, schema, BindOptions{}); err != nil || !Equal(again, b) {
			t.Fatalf("%s binds to %s, and again to %v, %v", e, b, again, err)
		}
		for range 20 {
			row := map[string]any{}
			for _, n := range some {
				if r.IntN(8) > 0 {
					row[n] = randomValue(r, columnTypes[n])
				}
			}
			before, after := ref(e, row, columnTypes), ref(b, row, columnTypes)
			if (before == yes) != (after == yes) {
				t.Fatalf("%s\nbinds to %s\nrow %v: %d before, %d after", e, b, row, before, after)
			}
		}
	}
}
