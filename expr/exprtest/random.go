package exprtest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Types is one of every type that a column may have in a filter, wide and narrow.
var Types = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal32Type{Precision: 5, Scale: 2}, &arrow.Decimal64Type{Precision: 12, Scale: 3},
	&arrow.Decimal128Type{Precision: 3, Scale: 1}, &arrow.Decimal128Type{Precision: 38}, &arrow.Decimal256Type{Precision: 50, Scale: 20},
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
	arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
	&arrow.FixedSizeBinaryType{ByteWidth: 2}, &arrow.FixedSizeBinaryType{ByteWidth: 16},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
	arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
	&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond},
	&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond},
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func bits(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).BitWidth() }

// Random is a value of type t, mostly one near the edges or one of few, so that comparisons meet.
func Random(r *rand.Rand, t arrow.DataType) any {
	small := int64(r.IntN(9) - 4)
	switch t := t.(type) {
	case *arrow.BooleanType:
		return r.IntN(2) == 0
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return pick(r, uint64(r.IntN(9)), uint64(math.MaxUint64)>>(64-bits(t)), r.Uint64()>>(64-bits(t)))
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return randomFloat(r, t, small)
	case arrow.DecimalType:
		top, _ := new(big.Int).SetString(strings.Repeat("9", int(t.GetPrecision())), 10)
		return pick(r, big.NewInt(small), top, new(big.Int).Neg(top), big.NewInt(small*10))
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return pick(r, "", "a", "ab", "abc", "b", "a%", "é", "A", "a text longer than twelve bytes", "a text longer than a view")
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return pick(r, []byte{}, []byte{0}, []byte{1}, []byte{0, 0}, []byte{0, 1, 0}, []byte{0xff, 0xff, 0xff})
	case *arrow.FixedSizeBinaryType:
		b := make([]byte, t.ByteWidth)
		for i := range min(2, len(b)) {
			b[i] = pick[byte](r, 0, 1, 0xff)
		}
		return b
	case *arrow.Date64Type:
		return small * 86400e3
	}
	n := bits(t)
	edge := pick(r, small, small, small, int64(math.MinInt64)>>(64-n), int64(math.MaxInt64)>>(64-n), r.Int64()>>(64-n), small*86400, small*86400e6+int64(r.IntN(3)-1))
	return edge << (64 - n) >> (64 - n)
}

func randomFloat(r *rand.Rand, t arrow.DataType, small int64) float64 {
	f := pick(r, float64(small), float64(small), float64(small)/2, float64(small)/10, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.MaxFloat32,
		65504, math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat32, r.NormFloat64(), math.Copysign(0, -1), 1<<24+1, math.Ldexp(1, -24))
	switch t.ID() {
	case arrow.FLOAT32:
		return float64(float32(f))
	case arrow.FLOAT16:
		return expr.Half(pick(r, uint16(r.Uint32()), 0x3c00, 0xbc00, 0x7e00, 0x7c00, 1, 0x8001, 0x8000))
	}
	return f
}

// literalTypes may stand beside a column of type t.
func literalTypes(t arrow.DataType) []arrow.DataType {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return []arrow.DataType{t}
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return []arrow.DataType{arrow.BinaryTypes.String}
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return []arrow.DataType{arrow.BinaryTypes.Binary, &arrow.FixedSizeBinaryType{ByteWidth: 2}, t}
	case *arrow.Time32Type, *arrow.Time64Type:
		return []arrow.DataType{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns, t}
	case *arrow.Date32Type, *arrow.Date64Type, *arrow.TimestampType:
		return []arrow.DataType{
			arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Timestamp_ns,
			&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Microsecond}, t,
		}
	}
	return []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32,
		&arrow.Decimal128Type{Precision: 4, Scale: 2}, &arrow.Decimal128Type{Precision: 30}, &arrow.Decimal256Type{Precision: 60, Scale: 3}, t, t,
	}
}

// Column is a column to make predicates over.
type Column struct {
	Path []string
	Type arrow.DataType // of the values
}

// Tree is a random predicate, not bound, at most depth levels of AND, OR and NOT above its leaves.
func Tree(r *rand.Rand, cols []Column, depth int) expr.Expr {
	if depth > 0 && r.IntN(3) > 0 {
		switch r.IntN(3) {
		case 0:
			return expr.Not{X: Tree(r, cols, depth-1)}
		case 1:
			return expr.And{Tree(r, cols, depth-1), Tree(r, cols, depth-1)}
		}
		return expr.Or{Tree(r, cols, depth-1), Tree(r, cols, depth-1)}
	}
	return randomLeaf(r, cols)
}

func randomLeaf(r *rand.Rand, cols []Column) expr.Expr {
	col := pick(r, cols...)
	c := expr.Col(col.Path...)
	id := col.Type.ID()
	isText := id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
	isBytes := id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW
	neg := r.IntN(2) == 0
	switch n := r.IntN(12); {
	case n == 0:
		return expr.IsNull{Col: c, Negated: neg}
	case n == 1:
		return pick[expr.Expr](r, expr.Bool(neg), expr.Unknown{})
	case n == 2 && (arrow.IsFloating(id) || arrow.IsInteger(id)):
		return expr.IsNaN{Col: c, Negated: neg}
	case n <= 3 && (isText || isBytes):
		return expr.StartsWith{Col: c, Prefix: pick(r, "", "a", "ab", "\x00", "a text"), Negated: neg}
	case n <= 5 && isText:
		return expr.Like{Col: c, Pattern: pick(r, "%", "a%", "%b", "_", "a", `a\%`, "%%", "%t%n_v%", "__%"), Negated: neg}
	case n == 6:
		other := pick(r, cols...)
		return expr.CompareColumns{Op: expr.Op(r.IntN(6)), Left: c, Right: expr.Col(other.Path...)}
	case n < 9:
		in := expr.In{Col: c, Negated: neg}
		for range 1 + r.IntN(5) {
			in.Lits = append(in.Lits, literal(r, col.Type))
		}
		return in
	}
	return expr.Compare{Op: expr.Op(r.IntN(6)), Col: c, Lit: literal(r, col.Type)}
}

func literal(r *rand.Rand, t arrow.DataType) expr.Literal {
	if r.IntN(16) == 0 {
		return expr.Lit(nil)
	}
	lt := pick(r, literalTypes(t)...)
	return expr.Literal{Type: lt, Value: Random(r, lt)}
}

// Name makes a column name of a type.
func Name(i int, t arrow.DataType) string {
	return fmt.Sprintf("c%d_%s", i, strings.Map(func(c rune) rune {
		if c == '_' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return -1
	}, t.String()))
}
