package prune

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
)

// Bound decodes a bound by the column's current type and the bound's length (Iceberg specification, appendix D, "Binary
// single-value serialization"): a column may have been widened since the bound was written. ok is false for a bound that
// cannot be used: of a wrong length, or NaN. Bounds of text and bytes may be cut short.
func Bound(t arrow.DataType, b []byte) (l expr.Literal, ok bool) {
	l.Type = t
	if b == nil {
		return l, false
	}
	switch t := t.(type) {
	case *arrow.BooleanType:
		if len(b) == 1 {
			l.Value = b[0] != 0
		}
	case *arrow.Int32Type, *arrow.Date32Type:
		if len(b) == 4 {
			l.Value = int64(int32(binary.LittleEndian.Uint32(b)))
		}
	case *arrow.Int64Type:
		l.Value = integer(b, 1)
	case *arrow.Time64Type:
		if len(b) == 8 {
			l.Value = int64(binary.LittleEndian.Uint64(b))
		}
	case *arrow.TimestampType:
		l.Value = integer(b, 86400*int64(1e9)/int64(t.Unit.Multiplier())) // four bytes: it was a date
	case *arrow.Float32Type:
		if len(b) == 4 {
			l.Value = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case *arrow.Float64Type:
		switch len(b) {
		case 4:
			l.Value = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case 8:
			l.Value = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	case *arrow.Decimal128Type:
		if len(b) >= 1 && len(b) <= 16 {
			l.Value = manifest.Decimal(b)
		}
	case *arrow.StringType:
		l.Value = string(b)
	case *arrow.BinaryType:
		l.Value = b
	case *arrow.FixedSizeBinaryType:
		if len(b) <= t.ByteWidth {
			l.Value = b
		}
	}
	if f, isFloat := l.Value.(float64); isFloat && f != f {
		return l, false
	}
	return l, l.Value != nil
}

// integer reads 8 bytes, or 4 of a narrower type times unit; nil for another length, and for what the wider type cannot hold (a date after 2262 in
// nanoseconds): that must fail when it is read, not be pruned by a bound that wrapped.
func integer(b []byte, unit int64) any {
	switch len(b) {
	case 4:
		v := int64(int32(binary.LittleEndian.Uint32(b)))
		if v > math.MaxInt64/unit || v < math.MinInt64/unit {
			return nil
		}
		return v * unit
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return nil
}
