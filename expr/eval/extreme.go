package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/expr"
)

// Extremes returns the least and the greatest value of a column that are not NULL, in the order of comparisons (NaN above every number, bytes
// unsigned); ok is false if every value is NULL. The literals own their memory. A type without an order is ErrType.
func Extremes(a arrow.Array) (least, greatest expr.Literal, ok bool, err error) {
	lo, hi, err := extremePlaces(a)
	if err != nil || lo < 0 {
		return expr.Literal{}, expr.Literal{}, false, err
	}
	least, err = Value(a, lo)
	if err == nil {
		greatest, err = Value(a, hi)
	}
	return least, greatest, err == nil, err
}

// extremePlaces returns the rows of the first least and the first greatest value, -1 if there is none.
func extremePlaces(a arrow.Array) (lo, hi int, err error) {
	switch a := a.(type) {
	case *array.Boolean:
		lo, hi = places(a, func(i, j int) int { return boolOrder(a.Value(i)) - boolOrder(a.Value(j)) })
	case *array.Int8:
		lo, hi = ordered(a, a.Values())
	case *array.Int16:
		lo, hi = ordered(a, a.Values())
	case *array.Int32:
		lo, hi = ordered(a, a.Values())
	case *array.Int64:
		lo, hi = ordered(a, a.Values())
	case *array.Uint8:
		lo, hi = ordered(a, a.Values())
	case *array.Uint16:
		lo, hi = ordered(a, a.Values())
	case *array.Uint32:
		lo, hi = ordered(a, a.Values())
	case *array.Uint64:
		lo, hi = ordered(a, a.Values())
	case *array.Date32:
		lo, hi = ordered(a, a.Values())
	case *array.Time32:
		lo, hi = ordered(a, a.Values())
	case *array.Time64:
		lo, hi = ordered(a, a.Values())
	case *array.Timestamp:
		lo, hi = ordered(a, a.Values())
	case *array.Float16:
		lo, hi = places(a, func(i, j int) int {
			return expr.CompareFloats(expr.Half(a.Value(i).Uint16()), expr.Half(a.Value(j).Uint16()))
		})
	case *array.Float32:
		lo, hi = places(a, func(i, j int) int { return expr.CompareFloats(float64(a.Value(i)), float64(a.Value(j))) })
	case *array.Float64:
		lo, hi = places(a, func(i, j int) int { return expr.CompareFloats(a.Value(i), a.Value(j)) })
	case *array.Decimal128:
		lo, hi = places(a, func(i, j int) int { return a.Value(i).Cmp(a.Value(j)) })
	case *array.Decimal256:
		lo, hi = places(a, func(i, j int) int { return a.Value(i).Cmp(a.Value(j)) })
	case *array.String:
		lo, hi = places(a, func(i, j int) int { return strings.Compare(a.Value(i), a.Value(j)) })
	case *array.Binary:
		lo, hi = places(a, func(i, j int) int { return bytes.Compare(a.Value(i), a.Value(j)) })
	case *array.FixedSizeBinary:
		lo, hi = places(a, func(i, j int) int { return bytes.Compare(a.Value(i), a.Value(j)) })
	case *array.Dictionary:
		d := a.Dictionary()
		lo, hi = places(a, func(i, j int) int {
			x, errX := Value(d, a.GetValueIndex(i))
			y, errY := Value(d, a.GetValueIndex(j))
			if errX != nil || errY != nil {
				err = cmp.Or(errX, errY)
				return 0
			}
			return x.Compare(y)
		})
	default:
		return -1, -1, fmt.Errorf("%w: %s has no order", ErrType, a.DataType())
	}
	return lo, hi, err
}

func places(a arrow.Array, compare func(i, j int) int) (lo, hi int) {
	lo, hi = -1, -1
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		if lo < 0 {
			lo, hi = i, i
			continue
		}
		if compare(i, lo) < 0 {
			lo = i
		} else if compare(i, hi) > 0 {
			hi = i
		}
	}
	return lo, hi
}

// ordered is places for the types that the machine compares.
func ordered[T cmp.Ordered](a arrow.Array, v []T) (lo, hi int) {
	lo, hi = -1, -1
	nulls := a.NullN() > 0
	for i, x := range v {
		if nulls && a.IsNull(i) {
			continue
		}
		if lo < 0 {
			lo, hi = i, i
			continue
		}
		if x < v[lo] {
			lo = i
		} else if x > v[hi] {
			hi = i
		}
	}
	return lo, hi
}

// Value is a[i] as a literal of a's type that owns its memory; NULL has a nil Value. A nested type is ErrType.
func Value(a arrow.Array, i int) (expr.Literal, error) {
	lit := expr.Literal{Type: a.DataType()}
	if a.IsNull(i) {
		return lit, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		lit.Value = a.Value(i)
	case *array.Int8:
		lit.Value = int64(a.Value(i))
	case *array.Int16:
		lit.Value = int64(a.Value(i))
	case *array.Int32:
		lit.Value = int64(a.Value(i))
	case *array.Int64:
		lit.Value = a.Value(i)
	case *array.Uint8:
		lit.Value = uint64(a.Value(i))
	case *array.Uint16:
		lit.Value = uint64(a.Value(i))
	case *array.Uint32:
		lit.Value = uint64(a.Value(i))
	case *array.Uint64:
		lit.Value = a.Value(i)
	case *array.Date32:
		lit.Value = int64(a.Value(i))
	case *array.Time32:
		lit.Value = int64(a.Value(i))
	case *array.Time64:
		lit.Value = int64(a.Value(i))
	case *array.Timestamp:
		lit.Value = int64(a.Value(i))
	case *array.Float16:
		lit.Value = expr.Half(a.Value(i).Uint16())
	case *array.Float32:
		lit.Value = float64(a.Value(i))
	case *array.Float64:
		lit.Value = a.Value(i)
	case *array.Decimal128:
		lit.Value = a.Value(i).BigInt()
	case *array.Decimal256:
		lit.Value = a.Value(i).BigInt()
	case *array.String:
		lit.Value = strings.Clone(a.Value(i))
	case *array.Binary:
		lit.Value = bytes.Clone(a.Value(i))
	case *array.FixedSizeBinary:
		lit.Value = bytes.Clone(a.Value(i))
	case *array.Dictionary:
		return Value(a.Dictionary(), a.GetValueIndex(i))
	default:
		return lit, fmt.Errorf("%w: no literal of type %s", ErrType, a.DataType())
	}
	return lit, nil
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
