package manifest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// Form is how a partition value is stored in the manifest and what it is to become.
type form uint8

const (
	formNumber  form = iota // integers, dates, booleans
	formFloat               // bits of a float64
	formString              // bytes of a text
	formBytes               // binary, fixed, uuid
	formDecimal             // two's complement, big-endian
	formUUID                // text of a uuid
)

// tupleField reads one partition field of one manifest schema.
type tupleField struct {
	id    int
	slot  int
	form  form
	typ   arrow.DataType
	mul   int64 // stored unit to the type's unit: value * mul / div, rounding down
	div   int64
	width int // formBytes with a fixed width; 0 = any
}

// newTupleField decides the form from the stored type; want is the type of the partition values, nil = as stored.
func newTupleField(id, slot int, stored *avro.Schema, want arrow.DataType) (tupleField, error) {
	f := tupleField{id: id, slot: slot, typ: want, mul: 1, div: 1}
	if want == nil {
		f.typ = storedType(stored)
	}
	bad := fmt.Errorf("partition field %d is stored as %s, its values are %s", id, kindName(stored), f.typ)
	switch t := f.typ.(type) {
	case *arrow.BooleanType:
		if stored.Kind != avro.Boolean {
			return f, bad
		}
	case *arrow.Float32Type, *arrow.Float64Type:
		if f.form = formFloat; stored.Kind != avro.Float && stored.Kind != avro.Double {
			return f, bad
		}
	case *arrow.Decimal128Type:
		f.form = formDecimal
		if stored.Kind != avro.Fixed && stored.Kind != avro.Bytes || stored.Logical == "decimal" && stored.Scale != int(t.Scale) {
			return f, bad
		}
	case *arrow.StringType:
		if f.form = formString; stored.Kind != avro.String && stored.Kind != avro.Bytes {
			return f, bad
		}
	case *arrow.BinaryType:
		if f.form = formBytes; stored.Kind != avro.Bytes && stored.Kind != avro.Fixed {
			return f, bad
		}
	case *arrow.FixedSizeBinaryType:
		f.form, f.width = formBytes, t.ByteWidth
		if stored.Kind == avro.String && t.ByteWidth == 16 {
			f.form = formUUID
		} else if stored.Kind != avro.Fixed && stored.Kind != avro.Bytes {
			return f, bad
		}
	default:
		if stored.Kind != avro.Int && stored.Kind != avro.Long {
			return f, bad
		}
		f.mul, f.div = unitRatio(stored.Logical, f.typ)
	}
	return f, nil
}

func kindName(s *avro.Schema) string {
	if s.Logical != "" {
		return s.Logical
	}
	return [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum", "array", "map", "union", "record"}[s.Kind]
}

// storedType serves values whose type nothing else tells: those of unknown transforms.
func storedType(s *avro.Schema) arrow.DataType {
	switch s.Kind {
	case avro.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case avro.Int:
		return arrow.PrimitiveTypes.Int32
	case avro.Float, avro.Double:
		return arrow.PrimitiveTypes.Float64
	case avro.Bytes, avro.Fixed:
		return arrow.BinaryTypes.Binary
	case avro.String:
		return arrow.BinaryTypes.String
	}
	return arrow.PrimitiveTypes.Int64
}

// unitRatio converts a time or timestamp from its declared unit.
func unitRatio(logical string, t arrow.DataType) (mul, div int64) {
	stored := int64(0)
	switch {
	case strings.HasSuffix(logical, "-millis"):
		stored = 1e3
	case strings.HasSuffix(logical, "-micros"):
		stored = 1e6
	case strings.HasSuffix(logical, "-nanos"):
		stored = 1e9
	}
	want := int64(0)
	switch t := t.(type) {
	case *arrow.TimestampType:
		want = int64(1e9) / int64(t.Unit.Multiplier())
	case *arrow.Time64Type:
		want = int64(1e9) / int64(t.Unit.Multiplier())
	}
	switch {
	case logical == "date" && t.ID() == arrow.TIMESTAMP: // written before the column became a timestamp
		return 86400 * want, 1
	case stored == 0 || want == 0 || stored == want:
		return 1, 1
	case want > stored:
		return want / stored, 1
	}
	return 1, stored / want
}

func (f *tupleField) number(v int64) int64 {
	v *= f.mul
	q := v / f.div
	if v%f.div < 0 {
		q--
	}
	return q
}

func (f *tupleField) null(row *avro.Row) bool {
	if f.form == formNumber || f.form == formFloat {
		return !row.Has[f.slot]
	}
	return row.Bytes[f.slot] == nil
}

// key appends the value in a form in which equal values, and only those, are equal bytes.
func (f *tupleField) key(dst []byte, row *avro.Row) []byte {
	if f.null(row) {
		return append(dst, 0)
	}
	switch f.form {
	case formNumber:
		return binary.BigEndian.AppendUint64(append(dst, 1), uint64(f.number(row.Num[f.slot])))
	case formFloat:
		v := math.Float64frombits(uint64(row.Num[f.slot]))
		if v != v {
			v = math.NaN()
		}
		return binary.BigEndian.AppendUint64(append(dst, 2), math.Float64bits(v))
	}
	b := row.Bytes[f.slot]
	if f.form == formDecimal {
		b = shortest(b)
	}
	dst = binary.AppendUvarint(append(dst, 3+byte(f.form)), uint64(len(b)))
	return append(dst, b...)
}

// shortest drops the bytes of a two's complement number that only repeat its sign.
func shortest(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xFF && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// literal is the value; it does not alias the row.
func (f *tupleField) literal(row *avro.Row) (expr.Literal, error) {
	lit := expr.Literal{Type: f.typ}
	if f.null(row) {
		return lit, nil
	}
	switch b := row.Bytes[f.slot]; f.form {
	case formNumber:
		v := f.number(row.Num[f.slot])
		if lit.Value = v; f.typ.ID() == arrow.BOOL {
			lit.Value = v != 0
		}
	case formFloat:
		lit.Value = math.Float64frombits(uint64(row.Num[f.slot]))
	case formString:
		lit.Value = string(b)
	case formDecimal:
		if len(b) > 16 {
			return lit, fmt.Errorf("partition field %d: a decimal of %d bytes", f.id, len(b))
		}
		lit.Value = Decimal(b)
	case formUUID:
		raw, err := hex.DecodeString(strings.ReplaceAll(string(b), "-", ""))
		if err != nil || len(raw) != 16 {
			return lit, fmt.Errorf("partition field %d: malformed uuid", f.id)
		}
		lit.Value = raw
	default:
		if f.width > 0 && len(b) != f.width {
			return lit, fmt.Errorf("partition field %d: %d bytes for %s", f.id, len(b), f.typ)
		}
		lit.Value = append([]byte{}, b...)
	}
	return lit, nil
}

// Decimal is the value of a big-endian two's complement number; no bytes are 0.
func Decimal(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// resultType is the type of the values of a partition field; source nil = no schema has the column any more.
func resultType(t transform.Transform, source arrow.DataType) arrow.DataType {
	if source == nil && (t.Kind == transform.Identity || t.Kind == transform.Truncate || t.Kind == transform.Void) {
		return nil
	}
	return t.Result(source)
}

// PartitionStruct is the union of the partition fields of all specs, by id, with the types that schema s (nil = none) gives
// their sources. Void fields, and fields of unknown transforms, are left out.
func PartitionStruct(m *meta.Metadata, s *meta.Schema) *arrow.StructType {
	byID := map[int]arrow.Field{}
	for _, spec := range m.Specs {
		for _, p := range spec.Fields {
			t := PartitionType(m, s, p)
			if t == nil || p.Transform.Kind == transform.Void {
				continue
			}
			byID[p.FieldID] = expr.WithFieldID(arrow.Field{Name: p.Name, Type: t, Nullable: true}, p.FieldID)
		}
	}
	var fields []arrow.Field
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		fields = append(fields, byID[id])
	}
	return arrow.StructOf(fields...)
}
