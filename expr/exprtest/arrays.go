package exprtest

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
)

// Array builds an array of type t, which may be a dictionary, from values as expr.Literal documents them; nil = NULL. The
// caller releases it.
func Array(mem memory.Allocator, t arrow.DataType, values []any) arrow.Array {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return dictionary(mem, d, values)
	}
	b := array.NewBuilder(mem, t)
	defer b.Release()
	for _, v := range values {
		if v == nil {
			b.AppendNull()
		} else {
			appendValue(b, v)
		}
	}
	return b.NewArray()
}

func appendValue(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Uint8Builder:
		b.Append(uint8(v.(uint64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(uint64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(uint64)))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float16Builder:
		b.Append(half(v.(float64)))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(v.(*big.Int).Int64()))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v.(*big.Int).Int64()))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.(*big.Int)))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromBigInt(v.(*big.Int)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v.(int64)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v.(int64)))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.LargeStringBuilder:
		b.Append(v.(string))
	case *array.StringViewBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder: // large binary too
		b.Append(v.([]byte))
	case *array.BinaryViewBuilder:
		b.Append(v.([]byte))
	case *array.FixedSizeBinaryBuilder:
		b.Append(v.([]byte))
	default:
		panic(fmt.Sprintf("exprtest: no values for a %T", b))
	}
}

// dictionary gives each value, NULL included, an entry of its own, so that entries repeat and some are NULL; every fourth
// NULL is one of the index instead.
func dictionary(mem memory.Allocator, t *arrow.DictionaryType, values []any) arrow.Array {
	n := min(len(values), 100)
	entries := Array(mem, t.ValueType, values[:n])
	defer entries.Release()
	index := array.NewBuilder(mem, t.IndexType)
	defer index.Release()
	for i, v := range values {
		at := i
		if i >= n {
			at = find(values[:n], v, t.ValueType)
		}
		if at < 0 || v == nil && i%4 == 0 {
			index.AppendNull()
			continue
		}
		if err := index.AppendValueFromString(fmt.Sprint(at)); err != nil {
			panic(err)
		}
	}
	idx := index.NewArray()
	defer idx.Release()
	return array.NewDictionaryArray(t, idx, entries)
}

func find(values []any, v any, t arrow.DataType) int {
	for i, w := range values {
		if (expr.Literal{Type: t, Value: w}).Equal(expr.Literal{Type: t, Value: v}) {
			return i
		}
	}
	return -1
}

// Values reads the values that dictionary could keep: those of a NULL index are NULL.
func Values(a arrow.Array, values []any) []any {
	out := append([]any(nil), values...)
	for i := range out {
		if a.IsNull(i) {
			out[i] = nil
		}
	}
	return out
}

// StructOf wraps columns into a struct array with its own validity; valid nil = all. The caller releases it.
func StructOf(fields []arrow.Field, cols []arrow.Array, n int, valid func(i int) bool) arrow.Array {
	var bitmap *memory.Buffer
	if valid != nil {
		b := make([]byte, bitutil.BytesForBits(int64(n)))
		for i := range n {
			bitutil.SetBitTo(b, i, valid(i))
		}
		bitmap = memory.NewBufferBytes(b)
	}
	kids := make([]arrow.ArrayData, len(cols))
	for i, c := range cols {
		kids[i] = c.Data()
	}
	d := array.NewData(arrow.StructOf(fields...), n, []*memory.Buffer{bitmap}, kids, array.UnknownNullCount, 0)
	defer d.Release()
	return array.NewStructData(d)
}

// half is the float16 that expr.Half reads as v.
func half(v float64) float16.Num {
	for b := range uint16(0xffff) {
		if h := expr.Half(b); math.Float64bits(h) == math.Float64bits(v) || h != h && v != v {
			return float16.FromBits(b)
		}
	}
	panic(fmt.Sprintf("exprtest: %v is no half", v))
}
