package resolve

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// storage strips what only marks a type: extensions but variant, which is no struct to us, and dictionary encoding.
func storage(t arrow.DataType) arrow.DataType {
	for {
		switch x := t.(type) {
		case arrow.ExtensionType:
			if isVariant(t) {
				return t
			}
			t = x.StorageType()
		case *arrow.DictionaryType:
			t = x.ValueType
		default:
			return t
		}
	}
}

func isVariant(t arrow.DataType) bool {
	x, ok := t.(arrow.ExtensionType)
	return ok && (x.ExtensionName() == "parquet.variant" || x.ExtensionName() == "arrow.parquet.variant")
}

// readable says whether a leaf of the file can be read as the table's type: the promotions of the specification, and
// every physical form of one logical type. Time units and the zone flag follow the table; the instant does not move.
func readable(file, want arrow.DataType) bool {
	file, want = storage(file), storage(want)
	if isVariant(want) {
		return isVariant(file) || variantGroup(file)
	}
	if arrow.TypeEqual(file, want) {
		return true
	}
	f := file.ID()
	switch w := want.(type) {
	case *arrow.Decimal64Type:
		d, ok := file.(arrow.DecimalType)
		return ok && d.GetScale() == w.Scale && d.GetPrecision() <= w.Precision
	case *arrow.Decimal128Type:
		d, ok := file.(arrow.DecimalType)
		return ok && d.GetScale() == w.Scale && d.GetPrecision() <= w.Precision
	case *arrow.Decimal256Type:
		d, ok := file.(arrow.DecimalType)
		return ok && d.GetScale() == w.Scale && d.GetPrecision() <= w.Precision
	case *arrow.TimestampType:
		return f == arrow.TIMESTAMP || f == arrow.DATE32 && w.TimeZone == ""
	}
	switch want.ID() {
	case arrow.INT16:
		return f == arrow.INT8 || f == arrow.UINT8
	case arrow.INT32:
		return f == arrow.INT8 || f == arrow.INT16 || f == arrow.UINT8 || f == arrow.UINT16
	case arrow.INT64:
		return f == arrow.INT8 || f == arrow.INT16 || f == arrow.INT32 ||
			f == arrow.UINT8 || f == arrow.UINT16 || f == arrow.UINT32
	case arrow.FLOAT64:
		return f == arrow.FLOAT32
	case arrow.TIME32, arrow.TIME64:
		return f == arrow.TIME32 || f == arrow.TIME64
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return isText(f) || isBytes(f) // bytes without annotation
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return isBytes(f)
	}
	return false
}

func isText(id arrow.Type) bool {
	return id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
}

func isBytes(id arrow.Type) bool {
	return id == arrow.BINARY || id == arrow.LARGE_BINARY || id == arrow.BINARY_VIEW
}

// variantGroup: a variant without its annotation is a group of metadata and value, or of metadata and a shredded value.
func variantGroup(t arrow.DataType) bool {
	s, ok := t.(*arrow.StructType)
	if !ok {
		return false
	}
	_, meta := s.FieldByName("metadata")
	_, value := s.FieldByName("value")
	_, typed := s.FieldByName("typed_value")
	return meta && (value || typed)
}

// listElement returns the element field of any list type.
func listElement(t arrow.DataType) (arrow.Field, bool) {
	l, ok := t.(arrow.ListLikeType)
	if !ok || t.ID() == arrow.MAP {
		return arrow.Field{}, false
	}
	return l.ElemField(), true
}
