package resolve

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Widen gives a constant or default the table's current type, under the promotions that files enjoy; a value that does not
// fit, and any other pair of types, is an error. A NULL takes the type.
func Widen(lit expr.Literal, to arrow.DataType) (expr.Literal, error) {
	out := expr.Literal{Type: to, Value: lit.Value}
	if lit.Value == nil {
		return out, nil
	}
	from := to
	if lit.Type != nil {
		from = storage(lit.Type)
	}
	if !readable(from, to) || !goType(lit.Value, from) {
		return out, fmt.Errorf("a constant of type %v (%T) cannot be read as %v", lit.Type, lit.Value, to)
	}
	switch t := to.(type) {
	case *arrow.TimestampType:
		return widenTime(out, from, unitNanos(t.Unit))
	case *arrow.Time32Type:
		return widenTime(out, from, unitNanos(t.Unit))
	case *arrow.Time64Type:
		return widenTime(out, from, unitNanos(t.Unit))
	}
	switch v := lit.Value.(type) {
	case uint64: // a small unsigned integer under a signed type
		if isSigned(to.ID()) {
			out.Value = int64(v)
		}
	case []byte: // bytes under a string type
		if isText(to.ID()) {
			out.Value = string(v)
		}
	}
	return out, nil
}

// goType checks the rule of expr.Literal.
func goType(v any, t arrow.DataType) bool {
	var ok bool
	switch id := t.ID(); {
	case id == arrow.BOOL:
		_, ok = v.(bool)
	case arrow.IsUnsignedInteger(id):
		_, ok = v.(uint64)
	case arrow.IsFloating(id):
		_, ok = v.(float64)
	case arrow.IsDecimal(id):
		var b *big.Int
		if b, ok = v.(*big.Int); ok {
			ok = b != nil
		}
	case isText(id):
		_, ok = v.(string)
	case isBytes(id), id == arrow.FIXED_SIZE_BINARY:
		var b []byte
		if b, ok = v.([]byte); ok && id == arrow.FIXED_SIZE_BINARY {
			ok = len(b) == t.(*arrow.FixedSizeBinaryType).ByteWidth
		}
	default:
		_, ok = v.(int64)
	}
	return ok
}

func isSigned(id arrow.Type) bool {
	return id == arrow.INT8 || id == arrow.INT16 || id == arrow.INT32 || id == arrow.INT64
}

func unitNanos(u arrow.TimeUnit) int64 { return int64(u.Multiplier()) }

// widenTime changes the unit: to a finer one exactly or with an error, to a coarser one by floor.
func widenTime(out expr.Literal, from arrow.DataType, to int64) (expr.Literal, error) {
	var unit int64
	switch f := from.(type) {
	case *arrow.TimestampType:
		unit = unitNanos(f.Unit)
	case *arrow.Time32Type:
		unit = unitNanos(f.Unit)
	case *arrow.Time64Type:
		unit = unitNanos(f.Unit)
	default: // date32
		unit = 24 * 60 * 60 * 1_000_000_000
	}
	v := out.Value.(int64)
	if unit >= to {
		n := unit / to
		if v > math.MaxInt64/n || v < math.MinInt64/n {
			return out, fmt.Errorf("a constant of type %v does not fit %v", from, out.Type)
		}
		out.Value = v * n
		return out, nil
	}
	n := to / unit
	q := v / n
	if v%n < 0 {
		q--
	}
	out.Value = q
	return out, nil
}
