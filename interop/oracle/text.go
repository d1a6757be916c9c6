package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"
)

// Canonical text: one spelling for each value of a type, so that rows of any reader are compared as strings. All NaN are one value; -0.0 and 0.0 are two.

// rowText is the text of a model row.
func rowText(row map[int]any, t *Type) string {
	var b []byte
	for i, f := range t.Fields {
		if i > 0 {
			b = append(b, '|')
		}
		b = valueText(b, row[f.ID], f.Type)
	}
	return string(b)
}

func valueText(b []byte, v any, t *Type) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	switch t.Kind {
	case Bool:
		return strconv.AppendBool(b, v.(bool))
	case Float, Double:
		return floatText(b, v.(float64), t.Kind == Float)
	case Decimal:
		return append(b, decimalText(v.(*big.Int), t.S)...)
	case String:
		return strconv.AppendQuote(b, v.(string))
	case UUID, Fixed, Binary:
		return append(b, hex.EncodeToString([]byte(v.(string)))...)
	case Struct:
		b = append(b, '{')
		for i, f := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(strconv.AppendQuote(b, f.Name), ':')
			b = valueText(b, v.(map[int]any)[f.ID], f.Type)
		}
		return append(b, '}')
	case List:
		b = append(b, '[')
		for i, e := range v.([]any) {
			if i > 0 {
				b = append(b, ',')
			}
			b = valueText(b, e, t.Fields[0].Type)
		}
		return append(b, ']')
	case Map:
		var parts []string
		for _, e := range v.([][2]any) {
			parts = append(parts, string(valueText(append(valueText(nil, e[0], t.Fields[0].Type), '='), e[1], t.Fields[1].Type)))
		}
		return mapText(b, parts)
	}
	return strconv.AppendInt(b, v.(int64), 10)
}

func mapText(b []byte, parts []string) []byte {
	slices.Sort(parts)
	return append(append(append(b, '<'), strings.Join(parts, ",")...), '>')
}

func floatText(b []byte, f float64, single bool) []byte {
	if math.IsNaN(f) {
		return append(b, "NaN"...)
	}
	if single {
		return strconv.AppendFloat(b, f, 'g', -1, 32)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// batchText appends the text of each row of a record whose columns are those of t, in order.
func batchText(out []string, rec arrow.RecordBatch, t *Type) ([]string, error) {
	if int(rec.NumCols()) != len(t.Fields) {
		return out, fmt.Errorf("%d columns, the table has %d", rec.NumCols(), len(t.Fields))
	}
	var b []byte
	for i := range int(rec.NumRows()) {
		b = b[:0]
		for c, f := range t.Fields {
			if c > 0 {
				b = append(b, '|')
			}
			var err error
			if b, err = arrowText(b, rec.Column(c), i, f.Type); err != nil {
				return out, fmt.Errorf("column %q: %w", f.Name, err)
			}
		}
		out = append(out, string(b))
	}
	return out, nil
}

func arrowText(b []byte, a arrow.Array, i int, t *Type) ([]byte, error) {
	if a.IsNull(i) {
		return append(b, "null"...), nil
	}
	if x, ok := a.(array.ExtensionArray); ok {
		return arrowText(b, x.Storage(), i, t)
	}
	if d, ok := a.(*array.Dictionary); ok {
		return arrowText(b, d.Dictionary(), d.GetValueIndex(i), t)
	}
	wrong := fmt.Errorf("Arrow type %s for %s", a.DataType(), t)
	switch t.Kind {
	case Struct:
		s, ok := a.(*array.Struct)
		if !ok || s.NumField() != len(t.Fields) {
			return b, wrong
		}
		names := s.DataType().(*arrow.StructType)
		b = append(b, '{')
		for k, f := range t.Fields {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(strconv.AppendQuote(b, names.Field(k).Name), ':')
			var err error
			if b, err = arrowText(b, s.Field(k), i, f.Type); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	case List:
		l, ok := a.(array.ListLike)
		if !ok {
			return b, wrong
		}
		from, to := l.ValueOffsets(i)
		b = append(b, '[')
		for k := from; k < to; k++ {
			if k > from {
				b = append(b, ',')
			}
			var err error
			if b, err = arrowText(b, l.ListValues(), int(k), t.Fields[0].Type); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	case Map:
		m, ok := a.(*array.Map)
		if !ok {
			return b, wrong
		}
		from, to := m.ValueOffsets(i)
		var parts []string
		for k := from; k < to; k++ {
			p, err := arrowText(nil, m.Keys(), int(k), t.Fields[0].Type)
			if err != nil {
				return b, err
			}
			if p, err = arrowText(append(p, '='), m.Items(), int(k), t.Fields[1].Type); err != nil {
				return b, err
			}
			parts = append(parts, string(p))
		}
		return mapText(b, parts), nil
	}
	v, ok := arrowValue(a, i, t)
	if !ok {
		return b, wrong
	}
	return valueText(b, v, t), nil
}

// arrowValue is the model value of a primitive; ok is false where the Arrow type cannot stand for t.
func arrowValue(a arrow.Array, i int, t *Type) (v any, ok bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i), t.Kind == Bool
	case *array.Int32:
		return int64(a.Value(i)), t.Kind == Int
	case *array.Int64:
		return a.Value(i), t.Kind == Long
	case *array.Float32:
		return float64(a.Value(i)), t.Kind == Float
	case *array.Float64:
		return a.Value(i), t.Kind == Double
	case *array.Decimal128:
		return a.Value(i).BigInt(), t.Kind == Decimal && a.DataType().(*arrow.Decimal128Type).Scale == int32(t.S)
	case *array.Date32:
		return int64(a.Value(i)), t.Kind == Date
	case *array.Time64:
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			return int64(a.Value(i)) / 1000, t.Kind == Time && a.Value(i)%1000 == 0
		}
		return int64(a.Value(i)), t.Kind == Time
	case *array.Timestamp:
		typ := a.DataType().(*arrow.TimestampType)
		zoned, nano := t.Kind == Timestamptz || t.Kind == TimestamptzNs, t.Kind == TimestampNs || t.Kind == TimestamptzNs
		return int64(a.Value(i)), (typ.TimeZone != "") == zoned && typ.Unit == map[bool]arrow.TimeUnit{true: arrow.Nanosecond, false: arrow.Microsecond}[nano]
	case *array.FixedSizeBinary:
		return string(a.Value(i)), t.Kind == UUID || t.Kind == Fixed || t.Kind == Binary
	case *array.Binary:
		return string(a.Value(i)), t.Kind == Fixed || t.Kind == Binary
	case *array.LargeBinary:
		return string(a.Value(i)), t.Kind == Fixed || t.Kind == Binary
	case *array.BinaryView:
		return string(a.Value(i)), t.Kind == Fixed || t.Kind == Binary
	case array.StringLike:
		s := a.Value(i)
		if t.Kind == UUID {
			u, err := uuid.Parse(s)
			return string(u[:]), err == nil
		}
		return s, t.Kind == String
	}
	return nil, false
}

// bound is the single-value serialisation of a value [Iceberg specification, appendix D]; nil = it has none (a container, NaN).
func bound(v any, t *Type) []byte {
	switch t.Kind {
	case Bool:
		if v.(bool) {
			return []byte{1}
		}
		return []byte{0}
	case Int, Date:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.(int64)))
	case Long, Time, Timestamp, Timestamptz, TimestampNs, TimestamptzNs:
		return binary.LittleEndian.AppendUint64(nil, uint64(v.(int64)))
	case Float:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v.(float64))))
	case Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.(float64)))
	case Decimal:
		return twosComplement(v.(*big.Int))
	case String, UUID, Fixed, Binary:
		return []byte(v.(string))
	}
	return nil
}

// twosComplement is the shortest big-endian two's complement form.
func twosComplement(v *big.Int) []byte {
	for n := 1; ; n++ {
		limit := new(big.Int).Lsh(big.NewInt(1), uint(8*n-1))
		if v.Cmp(limit) < 0 && v.Cmp(new(big.Int).Neg(limit)) >= 0 {
			u := new(big.Int).Set(v)
			if v.Sign() < 0 {
				u.Add(u, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
			}
			return u.FillBytes(make([]byte, n))
		}
	}
}
