package variant

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// extensionKey is where a field's metadata names what its storage means.
const extensionKey = "ARROW:extension:name"

// primitive returns what appends a typed_value, by the table of VariantShredding.md, "Shredded Value Types".
func primitive(f arrow.Field, a arrow.Array) (func(e *encoder, i int), error) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(e *encoder, i int) { e.bool(a.Value(i)) }, nil
	case *array.Int8:
		return func(e *encoder, i int) { e.int(primInt8, int64(a.Value(i)), 1) }, nil
	case *array.Int16:
		return func(e *encoder, i int) { e.int(primInt16, int64(a.Value(i)), 2) }, nil
	case *array.Int32:
		return func(e *encoder, i int) { e.int(primInt32, int64(a.Value(i)), 4) }, nil
	case *array.Int64:
		return func(e *encoder, i int) { e.int(primInt64, a.Value(i), 8) }, nil
	case *array.Float32:
		return func(e *encoder, i int) { e.float(a.Value(i)) }, nil
	case *array.Float64:
		return func(e *encoder, i int) { e.double(a.Value(i)) }, nil
	case *array.String:
		return func(e *encoder, i int) { e.string([]byte(a.Value(i))) }, nil
	case *array.Binary:
		return func(e *encoder, i int) { e.binary(a.Value(i)) }, nil
	case *array.Date32:
		return func(e *encoder, i int) { e.int(primDate, int64(a.Value(i)), 4) }, nil
	case *array.Decimal128:
		return decimal(a), nil
	case *array.FixedSizeBinary:
		if k := f.Metadata.FindKey(extensionKey); k >= 0 && f.Metadata.Values()[k] == "arrow.uuid" {
			return func(e *encoder, i int) { e.uuid(a.Value(i)) }, nil
		}
	case *array.Time64:
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Microsecond {
			return func(e *encoder, i int) { e.int(primTime, int64(a.Value(i)), 8) }, nil
		}
	case *array.Timestamp:
		if kind := timestampKind(a.DataType().(*arrow.TimestampType)); kind >= 0 {
			return func(e *encoder, i int) { e.int(kind, int64(a.Value(i)), 8) }, nil
		}
	}
	return nil, fmt.Errorf("%w: a variant shredded as %v", ErrUnsupported, a.DataType())
}

func timestampKind(t *arrow.TimestampType) int {
	switch {
	case t.Unit == arrow.Microsecond && t.TimeZone != "":
		return primTimestamp
	case t.Unit == arrow.Microsecond:
		return primTimestampNTZ
	case t.Unit == arrow.Nanosecond && t.TimeZone != "":
		return primTimestampNanos
	case t.Unit == arrow.Nanosecond:
		return primTimestampNanosNTZ
	}
	return -1
}

// decimal takes the width that the precision asks for, as the writer did.
func decimal(a *array.Decimal128) func(e *encoder, i int) {
	t := a.DataType().(*arrow.Decimal128Type)
	switch {
	case t.Precision <= 9:
		return func(e *encoder, i int) { e.decimal(primDecimal4, t.Scale, int64(a.Value(i).LowBits()), 4) }
	case t.Precision <= 18:
		return func(e *encoder, i int) { e.decimal(primDecimal8, t.Scale, int64(a.Value(i).LowBits()), 8) }
	}
	return func(e *encoder, i int) { v := a.Value(i); e.decimal16(t.Scale, v.HighBits(), v.LowBits()) }
}
