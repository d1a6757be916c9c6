package literals

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
)

// Array is a literal as an array of length one, NULL of no type as one of type null; the caller releases it.
func Array(mem memory.Allocator, l expr.Literal) (arrow.Array, error) {
	t := l.Type
	if t == nil {
		t = arrow.Null
	}
	b := array.NewBuilder(mem, t)
	defer b.Release()
	if err := Append(b, l.Value); err != nil {
		return nil, err
	}
	return b.NewArray(), nil
}

// Append appends a value of the Go type that expr.Literal documents for the builder's type; nil is NULL. Another Go type, and a builder of a nested
// type, is an error, and nothing is appended. Numbers are cut to the width of the type.
func Append(b array.Builder, v any) error {
	ok := false
	switch v := v.(type) {
	case nil:
		b.AppendNull()
		return nil
	case int64:
		ok = appendInt(b, v)
	case uint64:
		ok = appendUint(b, v)
	case float64:
		ok = appendFloat(b, v)
	case *big.Int:
		ok = appendDecimal(b, v)
	case string:
		ok = appendText(b, v)
	case bool:
		var bools *array.BooleanBuilder
		if bools, ok = b.(*array.BooleanBuilder); ok {
			bools.Append(v)
		}
	case []byte:
		ok = appendBytes(b, v)
	}
	if !ok {
		return fmt.Errorf("a %T is no value of type %s", v, b.Type())
	}
	return nil
}

func appendInt(b array.Builder, v int64) bool {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	default:
		return false
	}
	return true
}

func appendUint(b array.Builder, v uint64) bool {
	switch b := b.(type) {
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Uint64Builder:
		b.Append(v)
	default:
		return false
	}
	return true
}

func appendFloat(b array.Builder, v float64) bool {
	switch b := b.(type) {
	case *array.Float16Builder:
		b.Append(float16.FromBits(expr.HalfBits(v))) // arrow-go's own conversion loses subnormals
	case *array.Float32Builder:
		b.Append(float32(v))
	case *array.Float64Builder:
		b.Append(v)
	default:
		return false
	}
	return true
}

func appendDecimal(b array.Builder, v *big.Int) bool {
	switch b := b.(type) {
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(v.Int64()))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v.Int64()))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromBigInt(v))
	default:
		return false
	}
	return true
}

func appendBytes(b array.Builder, v []byte) bool {
	switch b := b.(type) {
	case *array.FixedSizeBinaryBuilder:
		if len(v) != b.Type().(*arrow.FixedSizeBinaryType).ByteWidth {
			return false
		}
		b.Append(v)
	case *array.BinaryBuilder: // large binary too
		b.Append(v)
	case *array.BinaryViewBuilder:
		b.Append(v)
	default:
		return false
	}
	return true
}

func appendText(b array.Builder, v string) bool {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v)
	case *array.LargeStringBuilder:
		b.Append(v)
	case *array.StringViewBuilder:
		b.Append(v)
	default:
		return false
	}
	return true
}
