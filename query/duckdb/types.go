//go:build duckdb_arrow && cgo

package duckdb

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// copyKind says how the values of a column get into a DuckDB vector.
type copyKind uint8

const (
	copyArrow     copyKind = iota // through the C data interface: nested types, everything rare
	copyFixed                     // the bytes are the same: width bytes a value
	copyBool                      // Arrow has bits, DuckDB has bytes
	copyDecimal                   // 16 bytes in Arrow, width bytes in DuckDB
	copyUUID                      // 16 big-endian bytes in Arrow, a hugeint with the top bit turned in DuckDB
	copyHalf                      // a 2-byte float in Arrow, 4 bytes in DuckDB
	copyVariant                   // a variant in Arrow, JSON text in DuckDB
	copyText                      // offsets of width bytes and values in Arrow; see duckString
	copyBytes                     // the same without the demand that it be UTF-8
	copyFixedSize                 // values of width bytes in Arrow; see duckString
	copyRefused                   // DuckDB has no such type
)

// ownType is the type of columns that the C data interface lacks or reads otherwise than we do; TypeInvalid = none of them.
func ownType(f arrow.Field) bindings.Type {
	switch f.Type.(type) {
	case *arrow.Float16Type:
		return bindings.TypeFloat
	case *extensions.VariantType:
		return bindings.TypeVarchar
	}
	if isUUID(f) {
		return bindings.TypeUUID
	}
	return bindings.TypeInvalid
}

// howToCopy is decided by both types: a pair that is not known to have the same bits goes through the C data interface.
func howToCopy(f arrow.Field, duck bindings.Type) (copyKind, int) {
	if isUUID(f) {
		return copyUUID, 16
	}
	switch t := f.Type.(type) {
	case *arrow.Float16Type:
		return copyHalf, 4
	case *extensions.VariantType:
		return copyVariant, 16
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
	case *arrow.StringType:
		return pair(duck == bindings.TypeVarchar, copyText, 4)
	case *arrow.LargeStringType:
		return pair(duck == bindings.TypeVarchar, copyText, 8)
	case *arrow.BinaryType:
		return pair(duck == bindings.TypeBlob, copyBytes, 4)
	case *arrow.LargeBinaryType:
		return pair(duck == bindings.TypeBlob, copyBytes, 8)
	case *arrow.FixedSizeBinaryType:
		return pair(duck == bindings.TypeBlob && t.ByteWidth > 0, copyFixedSize, t.ByteWidth)
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
	case t.Unit == arrow.Nanosecond: // with a zone too, see exportedType
		return bindings.TypeTimestampNS
	case t.TimeZone != "" && t.Unit == arrow.Microsecond:
		return bindings.TypeTimestampTZ
	case t.TimeZone != "":
		return bindings.TypeInvalid
	case t.Unit == arrow.Second:
		return bindings.TypeTimestampS
	case t.Unit == arrow.Millisecond:
		return bindings.TypeTimestampMS
	}
	return bindings.TypeTimestamp
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

// exportedType also takes the zone from timestamps in nanoseconds. DuckDB has none with a zone, and would cut the values to
// microseconds: two different values would become one. As plain timestamps of UTC they stay exact, and every comparison is
// right as long as the session's zone is UTC; with another zone such columns are refused.
func exportedType(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if isInstantNS(t) {
			return &arrow.TimestampType{Unit: arrow.Nanosecond}
		}
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

func isInstantNS(t arrow.DataType) bool {
	ts, ok := t.(*arrow.TimestampType)
	return ok && ts.Unit == arrow.Nanosecond && ts.TimeZone != ""
}

// hasInstantNS reports whether a timestamp with a zone in nanoseconds is anywhere in the type.
func hasInstantNS(t arrow.DataType) bool { return anywhere(t, isInstantNS) }

func anywhere(t arrow.DataType, is func(arrow.DataType) bool) bool {
	if is(t) {
		return true
	}
	n, ok := t.(arrow.NestedType)
	return ok && slices.ContainsFunc(n.Fields(), func(f arrow.Field) bool { return anywhere(f.Type, is) })
}

// retyped gives an array's data another type of the same storage; the caller releases it.
func retyped(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	var kids []arrow.ArrayData
	if n, ok := t.(arrow.NestedType); ok {
		fields := n.Fields()
		if t.ID() == arrow.MAP { // its child is the struct of key and value
			fields = []arrow.Field{{Type: t.(*arrow.MapType).Elem()}}
		}
		for i, k := range d.Children() {
			kids = append(kids, retyped(k, fields[i].Type))
		}
	}
	out := array.NewData(t, d.Len(), d.Buffers(), kids, d.NullN(), d.Offset())
	for _, k := range kids {
		k.Release()
	}
	return out
}

// hasStruct reports whether a struct is anywhere in the type; a map holds one.
func hasStruct(t arrow.DataType) bool {
	return anywhere(t, func(t arrow.DataType) bool { return t.ID() == arrow.STRUCT || t.ID() == arrow.MAP })
}
