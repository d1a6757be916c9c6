package canon

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Names of the extension types that have a canonical text of their own.
const (
	extensionKey  = "ARROW:extension:name"
	uuidName      = "arrow.uuid"
	variantName   = "parquet.variant"
	variantLegacy = "arrow.parquet.variant"
)

// TypeName is the corpus's name of a field's type. UUID and variant are recognised as Arrow extension types, or as their
// storage types in a field whose metadata names the extension.
func TypeName(f arrow.Field) string {
	switch extension(f) {
	case uuidName:
		return "uuid"
	case variantName, variantLegacy:
		return "variant"
	}
	switch t := f.Type.(type) {
	case arrow.ExtensionType:
		return TypeName(arrow.Field{Type: t.StorageType()})
	case *arrow.DictionaryType:
		return TypeName(arrow.Field{Type: t.ValueType})
	case *arrow.RunEndEncodedType:
		return TypeName(arrow.Field{Type: t.Encoded()})
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed[%d]", t.ByteWidth)
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.Time32Type:
		return "time[" + t.Unit.String() + "]"
	case *arrow.Time64Type:
		return "time[" + t.Unit.String() + "]"
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "timestamptz[" + t.Unit.String() + "]"
		}
		return "timestamp[" + t.Unit.String() + "]"
	case *arrow.MapType:
		return "map<" + TypeName(t.KeyField()) + "," + TypeName(t.ItemField()) + ">"
	case arrow.ListLikeType:
		return "list<" + TypeName(t.ElemField()) + ">"
	case *arrow.StructType:
		parts := make([]string, t.NumFields())
		for i, c := range t.Fields() {
			parts[i] = c.Name + ":" + TypeName(c)
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	}
	return flatName(f.Type)
}

// flatName names the types that carry no parameter.
func flatName(t arrow.DataType) string {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return "string"
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return "binary"
	case arrow.DATE32, arrow.DATE64:
		return "date"
	case arrow.FLOAT16:
		return "float16"
	}
	return t.Name() // bool, int8 … uint64, float32, float64, null
}

// extension returns the name of the field's extension type, whether it is a type of its own or only named in the metadata.
func extension(f arrow.Field) string {
	if t, ok := f.Type.(arrow.ExtensionType); ok {
		return t.ExtensionName()
	}
	if i := f.Metadata.FindKey(extensionKey); i >= 0 {
		return f.Metadata.Values()[i]
	}
	return ""
}
