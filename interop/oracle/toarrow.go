package main

import (
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"
)

// arrowSchema is the Arrow form of a struct; ids adds the Parquet field ids.
func arrowSchema(t *Type, ids bool) *arrow.Schema {
	return arrow.NewSchema(arrowFields(t.Fields, ids), nil)
}

func arrowFields(fields []*Field, ids bool) []arrow.Field {
	var out []arrow.Field
	for _, f := range fields {
		out = append(out, arrowField(f, ids))
	}
	return out
}

func arrowField(f *Field, ids bool) arrow.Field {
	out := arrow.Field{Name: f.Name, Type: arrowType(f.Type, ids), Nullable: !f.Required}
	if ids {
		out.Metadata = arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{strconv.Itoa(f.ID)})
	}
	return out
}

func arrowType(t *Type, ids bool) arrow.DataType {
	switch t.Kind {
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.P), Scale: int32(t.S)}
	case Fixed:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.N}
	case Struct:
		return arrow.StructOf(arrowFields(t.Fields, ids)...)
	case List:
		return arrow.ListOfField(arrowField(t.Fields[0], ids))
	case Map:
		return arrow.MapOfFields(arrowField(t.Fields[0], ids), arrowField(t.Fields[1], ids))
	}
	return map[Kind]arrow.DataType{
		Bool: arrow.FixedWidthTypes.Boolean, Int: arrow.PrimitiveTypes.Int32, Long: arrow.PrimitiveTypes.Int64, Float: arrow.PrimitiveTypes.Float32,
		Double: arrow.PrimitiveTypes.Float64, Date: arrow.FixedWidthTypes.Date32, Time: arrow.FixedWidthTypes.Time64us,
		Timestamp: &arrow.TimestampType{Unit: arrow.Microsecond}, Timestamptz: arrow.FixedWidthTypes.Timestamp_us,
		TimestampNs: &arrow.TimestampType{Unit: arrow.Nanosecond}, TimestamptzNs: arrow.FixedWidthTypes.Timestamp_ns,
		String: arrow.BinaryTypes.String, UUID: extensions.NewUUIDType(), Binary: arrow.BinaryTypes.Binary,
	}[t.Kind]
}

// arrowRecord holds rows written with t.
func arrowRecord(rows []map[int]any, t *Type, ids bool) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema(t, ids))
	defer b.Release()
	for _, r := range rows {
		for i, f := range t.Fields {
			appendValue(b.Field(i), r[f.ID], f.Type)
		}
	}
	return b.NewRecordBatch()
}

func appendValue(b array.Builder, v any, t *Type) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.(*big.Int)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v.(int64)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *extensions.UUIDBuilder:
		b.Append(uuid.UUID([]byte(v.(string))))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(v.(string)))
	case *array.BinaryBuilder:
		b.Append([]byte(v.(string)))
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range t.Fields {
			appendValue(b.FieldBuilder(i), v.(map[int]any)[f.ID], f.Type)
		}
	case *array.MapBuilder:
		b.Append(true)
		for _, e := range v.([][2]any) {
			appendValue(b.KeyBuilder(), e[0], t.Fields[0].Type)
			appendValue(b.ItemBuilder(), e[1], t.Fields[1].Type)
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, e := range v.([]any) {
			appendValue(b.ValueBuilder(), e, t.Fields[0].Type)
		}
	default:
		panic(b)
	}
}
