package main

import (
	"context"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
)

// aggregate prints one row, a column an aggregate.
func (s *session) aggregate(ctx context.Context, out *output, target string, aggs []lakescan.Aggregate, opts []lakescan.ScanOption) error {
	r, err := s.client.Aggregate(ctx, target, aggs, opts...)
	if err != nil {
		return err
	}
	s.lastStats, s.fromMetadata = r.Stats, r.FromMetadata
	fields := make([]arrow.Field, len(aggs))
	cols := make([]arrow.Array, len(aggs))
	for i, l := range r.Values {
		a, err := literalArray(l)
		if err != nil {
			return err
		}
		defer a.Release()
		fields[i], cols[i] = arrow.Field{Name: aggs[i].String(), Type: a.DataType(), Nullable: true}, a
	}
	schema := arrow.NewSchema(fields, nil)
	rec := array.NewRecordBatch(schema, cols, 1)
	defer rec.Release()
	s.markFirst()
	if err := out.begin(schema); err != nil {
		return err
	}
	if err := out.write(rec); err != nil {
		return err
	}
	return out.end()
}

// literalArray is an array of one value; the caller releases it.
func literalArray(l expr.Literal) (arrow.Array, error) {
	t := l.Type
	if t == nil {
		t = arrow.Null
	}
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	if l.IsNull() {
		b.AppendNull()
		return b.NewArray(), nil
	}
	if !appendLiteral(b, l.Value) {
		return nil, fmt.Errorf("a value of type %s cannot be shown", t)
	}
	return b.NewArray(), nil
}

func appendLiteral(b array.Builder, v any) bool {
	switch v := v.(type) {
	case int64:
		return appendInt(b, v)
	case uint64:
		return appendUint(b, v)
	case *big.Int:
		return appendDecimal(b, v)
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Float16Builder:
		b.Append(half(v.(float64)))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case array.StringLikeBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
	case *array.FixedSizeBinaryBuilder:
		b.Append(v.([]byte))
	default:
		return false
	}
	return true
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

// half is the float16 of a value that is one; arrow-go's own conversion loses subnormals.
func half(v float64) float16.Num {
	for bits := range 1 << 16 {
		if h := expr.Half(uint16(bits)); h == v || h != h && v != v {
			return float16.FromBits(uint16(bits))
		}
	}
	return float16.New(float32(v))
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
