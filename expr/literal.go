package expr

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// kind is a family of types whose literals are alike.
type kind uint8

const (
	kindOther kind = iota // nested and whatever else has no literals
	kindNull
	kindBool
	kindInt
	kindUint
	kindFloat
	kindDecimal
	kindString
	kindBytes
	kindFixed
	kindDate
	kindTime
	kindTimestamp
)

func kindOf(t arrow.DataType) kind {
	if t == nil {
		return kindOther
	}
	switch t.ID() {
	case arrow.NULL:
		return kindNull
	case arrow.BOOL:
		return kindBool
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return kindInt
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return kindUint
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return kindFloat
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return kindDecimal
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return kindString
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return kindBytes
	case arrow.FIXED_SIZE_BINARY:
		return kindFixed
	case arrow.DATE32, arrow.DATE64:
		return kindDate
	case arrow.TIME32, arrow.TIME64:
		return kindTime
	case arrow.TIMESTAMP:
		return kindTimestamp
	}
	return kindOther
}

func (k kind) numeric() bool { return k >= kindInt && k <= kindDecimal }
func (k kind) bytes() bool   { return k == kindBytes || k == kindFixed }

// ValueType is the type of the values of t: of a dictionary its value type, of an extension its storage type.
func ValueType(t arrow.DataType) arrow.DataType {
	for {
		switch x := t.(type) {
		case *arrow.DictionaryType:
			t = x.ValueType
		case arrow.ExtensionType:
			t = x.StorageType()
		default:
			return t
		}
	}
}

// Lit makes a literal of a Go value: nil, bool, any integer or float, string, []byte (binary), *big.Int (a decimal of scale
// 0), time.Time (an instant, in nanoseconds if it has any below the microsecond and they fit). It panics on another type.
func Lit(v any) Literal {
	switch v := v.(type) {
	case nil:
		return Literal{Type: arrow.Null}
	case bool:
		return Literal{arrow.FixedWidthTypes.Boolean, v}
	case int:
		return Literal{arrow.PrimitiveTypes.Int64, int64(v)}
	case int8:
		return Literal{arrow.PrimitiveTypes.Int64, int64(v)}
	case int16:
		return Literal{arrow.PrimitiveTypes.Int64, int64(v)}
	case int32:
		return Literal{arrow.PrimitiveTypes.Int64, int64(v)}
	case int64:
		return Literal{arrow.PrimitiveTypes.Int64, v}
	case uint:
		return Literal{arrow.PrimitiveTypes.Uint64, uint64(v)}
	case uint8:
		return Literal{arrow.PrimitiveTypes.Uint64, uint64(v)}
	case uint16:
		return Literal{arrow.PrimitiveTypes.Uint64, uint64(v)}
	case uint32:
		return Literal{arrow.PrimitiveTypes.Uint64, uint64(v)}
	case uint64:
		return Literal{arrow.PrimitiveTypes.Uint64, v}
	case float32:
		return Literal{arrow.PrimitiveTypes.Float32, float64(v)}
	case float64:
		return Literal{arrow.PrimitiveTypes.Float64, v}
	case string:
		return Literal{arrow.BinaryTypes.String, v}
	case []byte:
		return Literal{arrow.BinaryTypes.Binary, bytes.Clone(v)}
	case *big.Int:
		return decimalLiteral(new(big.Int).Set(v), 0)
	case time.Time:
		return timeLiteral(v)
	}
	panic(fmt.Sprintf("expr: no literal of a Go %T", v))
}

func timeLiteral(t time.Time) Literal {
	ns := &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	if t.Nanosecond()%1000 != 0 && time.Unix(0, t.UnixNano()).Equal(t) {
		return Literal{ns, t.UnixNano()}
	}
	return Literal{arrow.FixedWidthTypes.Timestamp_us, t.UnixMicro()}
}

// decimalLiteral has the smallest precision that holds v at the scale; at most 76 digits.
func decimalLiteral(v *big.Int, scale int32) Literal {
	p := max(int32(len(new(big.Int).Abs(v).String())), scale, 1)
	if p > 38 {
		return Literal{&arrow.Decimal256Type{Precision: p, Scale: scale}, v}
	}
	return Literal{&arrow.Decimal128Type{Precision: p, Scale: scale}, v}
}

// IsNull reports whether l is NULL.
func (l Literal) IsNull() bool { return l.Value == nil }

// Equal reports whether l and m have the same type and value; NaN equals NaN, and -0.0 does not equal 0.0.
func (l Literal) Equal(m Literal) bool {
	if !sameType(l.Type, m.Type) {
		return false
	}
	if f, ok := l.Value.(float64); ok {
		g, ok := m.Value.(float64)
		return ok && (math.Float64bits(f) == math.Float64bits(g) || f != f && g != g)
	}
	if l.Value == nil || m.Value == nil {
		return l.Value == nil && m.Value == nil
	}
	return l.valid() && m.valid() && l.Compare(m) == 0
}

// Compare orders two non-null literals of one type as a filter does: NaN equals NaN and is above every number, -0.0 = 0.0,
// FALSE before TRUE, strings and bytes as unsigned bytes. Decimals must have one scale. It panics on mixed Go types.
func (l Literal) Compare(m Literal) int {
	switch v := l.Value.(type) {
	case bool:
		w := m.Value.(bool)
		return b2i(v) - b2i(w)
	case int64:
		return cmp.Compare(v, m.Value.(int64))
	case uint64:
		return cmp.Compare(v, m.Value.(uint64))
	case float64:
		return CompareFloats(v, m.Value.(float64))
	case *big.Int:
		return v.Cmp(m.Value.(*big.Int))
	case string:
		return strings.Compare(v, m.Value.(string))
	case []byte:
		return bytes.Compare(v, m.Value.([]byte))
	}
	panic(fmt.Sprintf("expr: literal holds a Go %T", l.Value))
}

// CompareFloats is the order of floats in a filter: NaN equals NaN and is above every number, -0.0 = 0.0.
func CompareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return b2i(a != a) - b2i(b != b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// valid reports whether the Go type of the value is the one that Type asks for.
func (l Literal) valid() (ok bool) {
	switch kindOf(l.Type) {
	case kindBool:
		_, ok = l.Value.(bool)
	case kindInt, kindDate, kindTime, kindTimestamp:
		_, ok = l.Value.(int64)
	case kindUint:
		_, ok = l.Value.(uint64)
	case kindFloat:
		_, ok = l.Value.(float64)
	case kindDecimal:
		var b *big.Int
		b, ok = l.Value.(*big.Int)
		ok = ok && b != nil
	case kindString:
		_, ok = l.Value.(string)
	case kindBytes, kindFixed:
		_, ok = l.Value.([]byte)
	}
	return ok
}
