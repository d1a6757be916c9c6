package render

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

func isNumber(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}

// typeName is short, since it heads a column.
func typeName(f arrow.Field) string {
	if isUUID(f) {
		return "uuid"
	}
	switch t := f.Type.(type) {
	case *arrow.DictionaryType:
		return typeName(arrow.Field{Type: t.ValueType, Metadata: f.Metadata})
	case arrow.ExtensionType:
		return t.ExtensionName()
	case *arrow.TimestampType:
		name := "timestamp"
		if t.TimeZone != "" {
			name = "timestamptz"
		}
		if t.Unit == arrow.Microsecond {
			return name
		}
		return fmt.Sprintf("%s[%s]", name, t.Unit)
	case *arrow.Time32Type, *arrow.Time64Type:
		return "time"
	case *arrow.Date32Type, *arrow.Date64Type:
		return "date"
	case arrow.DecimalType:
		return fmt.Sprintf("decimal(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.Float16Type:
		return "half"
	case *arrow.Float32Type:
		return "float"
	case *arrow.Float64Type:
		return "double"
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string"
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return "binary"
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed(%d)", t.ByteWidth)
	case *arrow.MapType:
		return "map"
	case arrow.ListLikeType:
		return typeName(t.ElemField()) + "[]"
	case *arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType:
		return "interval"
	}
	return f.Type.Name()
}
