package plan

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// DuckDB's names of types in its documents.
const (
	typeBoolean     = "BOOLEAN"
	typeFloat       = "FLOAT"
	typeDouble      = "DOUBLE"
	typeDecimal     = "DECIMAL"
	typeVarchar     = "VARCHAR"
	typeBlob        = "BLOB"
	typeUUID        = "UUID"
	typeDate        = "DATE"
	typeTime        = "TIME"
	typeTimestamp   = "TIMESTAMP"
	typeTimestampS  = "TIMESTAMP_S"
	typeTimestampMS = "TIMESTAMP_MS"
	typeTimestampNS = "TIMESTAMP_NS"
	typeTimestampTZ = "TIMESTAMP WITH TIME ZONE"
	typeHugeint     = "HUGEINT"
	typeUhugeint    = "UHUGEINT"
)

// Type is a type of DuckDB: its name, and the digits of a decimal.
type Type struct {
	ID           string
	Width, Scale int
}

// HoldsInteger reports whether t is an integer type that has n among its values.
func (t Type) HoldsInteger(n int64) bool {
	if bits := uintBits[t.ID]; bits > 0 {
		return n >= 0 && (bits >= 64 || n < 1<<bits)
	}
	bits := intBits[t.ID]
	return bits >= 64 || bits > 0 && n >= -1<<(bits-1) && n < 1<<(bits-1)
}

func typeOf(n node) Type {
	t := Type{ID: str(n, "id")}
	if info := object(n, "type_info"); info != nil && t.ID == typeDecimal {
		t.Width, t.Scale = index(info, "width"), index(info, "scale")
	}
	return t
}

// integers are the sizes in bits; unsigned ones are marked by uintBits.
var (
	intBits  = map[string]int{"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, typeHugeint: 128}
	uintBits = map[string]int{"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, typeUhugeint: 128}
)

// constant reads {"type", "is_null", "value"}. Values are raw: days, microseconds, unscaled decimals, 128-bit integers as
// {"upper", "lower"}, bytes as text with \xAA.
func constant(v node) (expr.Literal, bool) {
	t := typeOf(object(v, "type"))
	if null, _ := v["is_null"].(bool); null {
		return expr.Literal{Type: arrow.Null}, true
	}
	return rawLiteral(t, v["value"])
}

func rawLiteral(t Type, v any) (lit expr.Literal, ok bool) {
	switch t.ID {
	case typeBoolean:
		b, ok := v.(bool)
		return expr.Lit(b), ok
	case typeFloat, typeDouble:
		return floatLiteral(t.ID, v)
	case typeVarchar:
		s, ok := v.(string)
		return expr.Lit(s), ok
	case typeBlob:
		b, ok := unescapeBlob(v)
		return expr.Literal{Type: arrow.BinaryTypes.Binary, Value: b}, ok
	case typeUUID:
		return uuidLiteral(v)
	case typeDecimal:
		n, ok := bigInteger(v, true)
		return expr.Literal{Type: &arrow.Decimal128Type{Precision: int32(t.Width), Scale: int32(t.Scale)}, Value: n}, ok && t.Width > 0 && t.Scale >= 0
	case typeHugeint, typeUhugeint:
		n, ok := bigInteger(v, t.ID == typeHugeint)
		if !ok {
			return lit, false
		}
		return expr.Lit(n), true
	}
	if at := arrowType(t.ID); at != nil {
		n, ok := integer(v)
		return expr.Literal{Type: at, Value: n}, ok
	}
	if uintBits[t.ID] > 0 {
		if n, ok := v.(json.Number); ok {
			u, err := strconv.ParseUint(n.String(), 10, 64)
			return expr.Lit(u), err == nil
		}
		return lit, false
	}
	if intBits[t.ID] > 0 {
		n, ok := integer(v)
		return expr.Lit(n), ok
	}
	return lit, false
}

// arrowType of the types of time, whose raw values are integers.
func arrowType(id string) arrow.DataType {
	switch id {
	case typeDate:
		return arrow.FixedWidthTypes.Date32
	case typeTime:
		return arrow.FixedWidthTypes.Time64us
	case typeTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case typeTimestampS:
		return &arrow.TimestampType{Unit: arrow.Second}
	case typeTimestampMS:
		return &arrow.TimestampType{Unit: arrow.Millisecond}
	case typeTimestampNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}
	case typeTimestampTZ:
		return arrow.FixedWidthTypes.Timestamp_us
	}
	return nil
}

func floatLiteral(id string, v any) (expr.Literal, bool) {
	lit := expr.Literal{Type: arrow.PrimitiveTypes.Float64}
	if id == typeFloat {
		lit.Type = arrow.PrimitiveTypes.Float32
	}
	switch x := v.(type) {
	case json.Number:
		f, err := x.Float64()
		lit.Value = f
		return lit, err == nil
	case string: // quoteBareFloats
		switch x {
		case "NaN", "-NaN":
			lit.Value = math.NaN()
		case "Infinity":
			lit.Value = math.Inf(1)
		case "-Infinity":
			lit.Value = math.Inf(-1)
		default:
			return lit, false
		}
		return lit, true
	}
	return lit, false
}

// bigInteger reads a number, or the two halves of one.
func bigInteger(v any, signed bool) (*big.Int, bool) {
	switch x := v.(type) {
	case json.Number:
		return new(big.Int).SetString(x.String(), 10)
	case node:
		hi, ok1 := x["upper"].(json.Number)
		lo, ok2 := x["lower"].(json.Number)
		if !ok1 || !ok2 {
			return nil, false
		}
		upper, ok1 := new(big.Int).SetString(hi.String(), 10)
		lower, ok2 := new(big.Int).SetString(lo.String(), 10)
		if !ok1 || !ok2 || upper.Sign() < 0 && !signed || lower.Sign() < 0 {
			return nil, false
		}
		return upper.Add(upper.Lsh(upper, 64), lower), true
	}
	return nil, false
}

// uuidLiteral turns DuckDB's signed 128-bit form, whose top bit is flipped, into 16 big-endian bytes.
func uuidLiteral(v any) (lit expr.Literal, ok bool) {
	x, _ := v.(node)
	hi, ok1 := integer(x["upper"])
	n, ok2 := x["lower"].(json.Number)
	if !ok1 || !ok2 {
		return lit, false
	}
	lo, err := strconv.ParseUint(n.String(), 10, 64)
	if err != nil {
		return lit, false
	}
	b := make([]byte, 16)
	binary.BigEndian.PutUint64(b, uint64(hi)^1<<63)
	binary.BigEndian.PutUint64(b[8:], lo)
	return expr.Literal{Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Value: b}, true
}

func unescapeBlob(v any) ([]byte, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i+4 > len(s) || s[i+1] != 'x' {
			return nil, false
		}
		b, err := hex.DecodeString(s[i+2 : i+4])
		if err != nil {
			return nil, false
		}
		out = append(out, b[0])
		i += 3
	}
	return out, true
}

// infinite reports whether a date or timestamp is one of DuckDB's two infinities, which arithmetic must not touch.
func infinite(l expr.Literal) bool {
	n, ok := l.Value.(int64)
	if !ok {
		return false
	}
	switch l.Type.ID() {
	case arrow.DATE32:
		return n == math.MaxInt32 || n == -math.MaxInt32
	case arrow.TIMESTAMP:
		return n == math.MaxInt64 || n == -math.MaxInt64
	}
	return false
}

// Folded reads the plan of "SELECT constant": the one constant that the optimizer has made of it.
func Folded(doc string) (expr.Literal, bool) {
	d, err := decode(doc)
	if err != nil || failure(d) != nil {
		return expr.Literal{}, false
	}
	n := d
	for kids := objects(d, "plans"); len(kids) == 1; kids = objects(n, "children") {
		n = kids[0]
		if es := objects(n, "expressions"); len(es) == 1 && str(es[0], "expression_class") == "BOUND_CONSTANT" {
			return constant(object(es[0], "value"))
		}
	}
	return expr.Literal{}, false
}
