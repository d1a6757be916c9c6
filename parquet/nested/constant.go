package nested

import (
	"fmt"
	"math"
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

// Nulls is an array of n nulls of any type; the caller releases it.
func Nulls(mem memory.Allocator, t arrow.DataType, n int) arrow.Array {
	if t.ID() == arrow.NULL {
		return array.NewNull(n)
	}
	return array.MakeArrayOfNull(mem, t, n)
}

// Constant is an array of n times the literal, which is not null and whose Go type is the one that expr.Literal documents for
// t; the caller releases it. Types are those of leaves, as themselves or as an extension; anything else is ErrUnsupported,
// more string bytes than an array holds ErrTooLarge.
func Constant(mem memory.Allocator, t arrow.DataType, lit expr.Literal, n int) (arrow.Array, error) {
	if e, ok := t.(arrow.ExtensionType); ok {
		storage, err := Constant(mem, e.StorageType(), lit, n)
		if err != nil {
			return nil, err
		}
		defer storage.Release()
		return array.NewExtensionArrayWithStorage(e, storage), nil
	}
	if size := textSize(lit.Value); int64(n)*int64(size) > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d times a constant of %d bytes", ErrTooLarge, n, size)
	}
	b := array.NewBuilder(mem, t)
	defer b.Release()
	appendOne := appender(b, lit.Value)
	if appendOne == nil {
		return nil, fmt.Errorf("%w: constant %T as %v", ErrUnsupported, lit.Value, t)
	}
	b.Reserve(n)
	for range n {
		appendOne()
	}
	return b.NewArray(), nil
}

func textSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 0
}

// appender returns nil if value and builder do not go together.
func appender(b array.Builder, value any) func() {
	switch v := value.(type) {
	case bool:
		if b, ok := b.(*array.BooleanBuilder); ok {
			return func() { b.UnsafeAppend(v) }
		}
	case int64:
		return intAppender(b, v)
	case uint64:
		return uintAppender(b, v)
	case float64:
		switch b := b.(type) {
		case *array.Float16Builder:
			return func() { b.UnsafeAppend(float16.New(float32(v))) }
		case *array.Float32Builder:
			return func() { b.UnsafeAppend(float32(v)) }
		case *array.Float64Builder:
			return func() { b.UnsafeAppend(v) }
		}
	case *big.Int:
		switch b := b.(type) {
		case *array.Decimal64Builder:
			if v.IsInt64() {
				return func() { b.UnsafeAppend(decimal.Decimal64(v.Int64())) }
			}
		case *array.Decimal128Builder:
			if v.BitLen() < 128 {
				return func() { b.UnsafeAppend(decimal128.FromBigInt(v)) }
			}
		case *array.Decimal256Builder:
			if v.BitLen() < 256 {
				return func() { b.UnsafeAppend(decimal256.FromBigInt(v)) }
			}
		}
	case string:
		switch b := b.(type) {
		case *array.StringBuilder:
			return func() { b.Append(v) }
		case *array.StringViewBuilder:
			return func() { b.Append(v) }
		}
	case []byte:
		switch b := b.(type) {
		case *array.BinaryBuilder:
			return func() { b.Append(v) }
		case *array.BinaryViewBuilder:
			return func() { b.Append(v) }
		case *array.FixedSizeBinaryBuilder:
			if len(v) == b.Type().(*arrow.FixedSizeBinaryType).ByteWidth {
				return func() { b.Append(v) }
			}
		}
	}
	return nil
}

func intAppender(b array.Builder, v int64) func() {
	switch b := b.(type) {
	case *array.Int8Builder:
		return func() { b.UnsafeAppend(int8(v)) }
	case *array.Int16Builder:
		return func() { b.UnsafeAppend(int16(v)) }
	case *array.Int32Builder:
		return func() { b.UnsafeAppend(int32(v)) }
	case *array.Int64Builder:
		return func() { b.UnsafeAppend(v) }
	case *array.Date32Builder:
		return func() { b.UnsafeAppend(arrow.Date32(v)) }
	case *array.Time32Builder:
		return func() { b.UnsafeAppend(arrow.Time32(v)) }
	case *array.Time64Builder:
		return func() { b.UnsafeAppend(arrow.Time64(v)) }
	case *array.TimestampBuilder:
		return func() { b.UnsafeAppend(arrow.Timestamp(v)) }
	}
	return nil
}

func uintAppender(b array.Builder, v uint64) func() {
	switch b := b.(type) {
	case *array.Uint8Builder:
		return func() { b.UnsafeAppend(uint8(v)) }
	case *array.Uint16Builder:
		return func() { b.UnsafeAppend(uint16(v)) }
	case *array.Uint32Builder:
		return func() { b.UnsafeAppend(uint32(v)) }
	case *array.Uint64Builder:
		return func() { b.UnsafeAppend(v) }
	}
	return nil
}
