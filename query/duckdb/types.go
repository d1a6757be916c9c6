//go:build duckdb_arrow && cgo

package duckdb

import (
	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// copyKind says how the values of a column get into a DuckDB vector.
type copyKind uint8

const (
	copyArrow   copyKind = iota // through the C data interface: nested types, strings, everything rare
	copyFixed                   // the bytes are the same: width bytes a value
	copyBool                    // Arrow has bits, DuckDB has bytes
	copyDecimal                 // 16 bytes in Arrow, width bytes in DuckDB
	copyUUID                    // 16 big-endian bytes in Arrow, a hugeint with the top bit turned in DuckDB
)

// howToCopy is decided by both types: a pair that is not known to have the same bits goes through the C data interface.
func howToCopy(f arrow.Field, duck bindings.Type) (copyKind, int) {
	if isUUID(f) {
		return copyUUID, 16
	}
	switch t := f.Type.(type) {
	case *arrow.BooleanType:
		return pair(duck == bindings.TypeBoolean, copyBool, 1)
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type, *arrow.Float32Type, *arrow.Float64Type:
		return pair(duck == sameNumber[t.ID()], copyFixed, t.(arrow.FixedWidthDataType).Bytes())
	case *arrow.Date32Type:
		return pair(duck == bindings.TypeDate, copyFixed, 4)
	case *arrow.Time64Type:
		return pair(duck == bindings.TypeTime && t.Unit == arrow.Microsecond, copyFixed, 8)
	case *arrow.TimestampType:
		return pair(duck == sameTimestamp(t), copyFixed, 8)
	case *arrow.Decimal128Type:
		return pair(duck == bindings.TypeDecimal, copyDecimal, decimalWidth(t.Precision))
	}
	return copyArrow, 0
}

func pair(same bool, k copyKind, width int) (copyKind, int) {
	if !same {
		return copyArrow, 0
	}
	return k, width
}

var sameNumber = map[arrow.Type]bindings.Type{
	arrow.INT8: bindings.TypeTinyInt, arrow.INT16: bindings.TypeSmallInt, arrow.INT32: bindings.TypeInteger, arrow.INT64: bindings.TypeBigInt,
	arrow.UINT8: bindings.TypeUTinyInt, arrow.UINT16: bindings.TypeUSmallInt, arrow.UINT32: bindings.TypeUInteger, arrow.UINT64: bindings.TypeUBigInt,
	arrow.FLOAT32: bindings.TypeFloat, arrow.FLOAT64: bindings.TypeDouble,
}

func sameTimestamp(t *arrow.TimestampType) bindings.Type {
	switch {
	case t.TimeZone != "" && t.Unit == arrow.Microsecond:
		return bindings.TypeTimestampTZ
	case t.TimeZone != "":
		return bindings.TypeInvalid
	case t.Unit == arrow.Second:
		return bindings.TypeTimestampS
	case t.Unit == arrow.Millisecond:
		return bindings.TypeTimestampMS
	case t.Unit == arrow.Microsecond:
		return bindings.TypeTimestamp
	}
	return bindings.TypeTimestampNS
}

// decimalWidth is the size in which DuckDB keeps a decimal of so many digits.
func decimalWidth(precision int32) int {
	switch {
	case precision <= 4:
		return 2
	case precision <= 9:
		return 4
	case precision <= 18:
		return 8
	}
	return 16
}

// Arrow's convention for an extension type that is named in a field's metadata.
const (
	extensionName     = "ARROW:extension:name"
	extensionMetadata = "ARROW:extension:metadata"
	uuidExtension     = "arrow.uuid"
)

func isUUID(f arrow.Field) bool {
	t, ok := f.Type.(*arrow.FixedSizeBinaryType)
	if !ok || t.ByteWidth != 16 {
		return false
	}
	i := f.Metadata.FindKey(extensionName)
	return i >= 0 && f.Metadata.Values()[i] == uuidExtension
}

// exported is the field as DuckDB is told of it: the same type, without field ids and without any extension but uuid, which
// is the one that changes how DuckDB should read the values.
func exported(f arrow.Field) arrow.Field {
	out := arrow.Field{Name: f.Name, Type: exportedType(f.Type), Nullable: f.Nullable}
	if isUUID(f) {
		out.Metadata = arrow.NewMetadata([]string{extensionName, extensionMetadata}, []string{uuidExtension, ""})
	}
	return out
}

func exportedType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = exported(f)
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(exported(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(exported(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), exported(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOfFields(exported(t.KeyField()), exported(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	}
	return t
}

// hasStruct reports whether a struct is anywhere in the type; a map holds one.
func hasStruct(t arrow.DataType) bool {
	if t.ID() == arrow.STRUCT || t.ID() == arrow.MAP {
		return true
	}
	if n, ok := t.(arrow.NestedType); ok {
		for _, f := range n.Fields() {
			if hasStruct(f.Type) {
				return true
			}
		}
	}
	return false
}
