package inspect

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/literals"
	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// Composite values of appendValue.
type (
	structValue []any             // by field
	listValue   []any             // elements
	pairsValue  map[string]string // map<string, string>, in key order
)

// appendValue appends a Go value of the kind that expr.Literal documents, or a composite, to a builder of a fitting type.
func appendValue(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i, c := range v.(structValue) {
			if err := appendValue(b.FieldBuilder(i), c); err != nil {
				return err
			}
		}
	case *array.MapBuilder:
		b.Append(true)
		pairs := v.(pairsValue)
		keys := make([]string, 0, len(pairs))
		for k := range pairs {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b.KeyBuilder().(*array.StringBuilder).Append(k)
			b.ItemBuilder().(*array.StringBuilder).Append(pairs[k])
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, c := range v.(listValue) {
			if err := appendValue(b.ValueBuilder(), c); err != nil {
				return err
			}
		}
	default:
		return appendScalar(b, v)
	}
	return nil
}

func appendScalar(b array.Builder, v any) error {
	switch x := v.(type) {
	case time.Time:
		v = x.UnixMicro()
	case []byte:
		if f, ok := b.(*array.FixedSizeBinaryBuilder); ok && len(x) != f.Type().(*arrow.FixedSizeBinaryType).ByteWidth { // a bound that was cut short
			v = nil
		}
	}
	if err := literals.Append(b, v); err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	return nil
}

// orNull is v, or NULL for the value that means "not recorded".
func orNull(v, absent int64) any {
	if v == absent {
		return nil
	}
	return v
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// partitionText is a tuple as people write it: name=value/name=value, periods as dates.
func partitionText(spec *meta.Spec, tuple map[int]expr.Literal) string {
	var parts []string
	for _, f := range spec.Fields {
		if f.Transform.Kind == transform.Void {
			continue
		}
		parts = append(parts, f.Name+"="+periodText(f.Transform, tuple[f.FieldID]))
	}
	return strings.Join(parts, "/")
}

func periodText(t transform.Transform, l expr.Literal) string {
	n, ok := l.Value.(int64)
	if !ok {
		return valueText(l)
	}
	switch t.Kind {
	case transform.Year:
		return strconv.FormatInt(1970+n, 10)
	case transform.Month:
		return time.Date(1970, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
	case transform.Hour:
		return time.Unix(n*3600, 0).UTC().Format("2006-01-02-15")
	}
	return valueText(l)
}

// valueText is a literal without the marks of SQL.
func valueText(l expr.Literal) string {
	switch v := l.Value.(type) {
	case nil:
		return "null"
	case string:
		return v
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *big.Int:
		if d, ok := l.Type.(arrow.DecimalType); ok {
			return decimal128.FromBigInt(v).ToString(d.GetScale())
		}
		return v.String()
	case int64:
		switch t := l.Type.(type) {
		case *arrow.Date32Type:
			return time.Unix(v*86400, 0).UTC().Format("2006-01-02")
		case *arrow.TimestampType:
			return arrow.Timestamp(v).ToTime(t.Unit).UTC().Format("2006-01-02T15:04:05.999999999")
		case *arrow.Time64Type:
			return arrow.Time64(v).ToTime(t.Unit).Format("15:04:05.999999999")
		}
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(l.Value)
}
