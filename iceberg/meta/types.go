package meta

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/lakescan/lakescan/expr"
)

// Kind of a type. Other is a name that this version does not know: kept, and refused only when its column is used.
type Kind uint8

// Kinds.
const (
	Other Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Decimal
	Date
	Time
	Timestamp
	TimestampTZ
	TimestampNS
	TimestampTZNS
	String
	UUID
	Fixed
	Binary
	Null // the specification's "unknown": always null
	Variant
	Geometry
	Geography
	Struct
	List
	Map
)

// plain types by name. They carry no parameter; geometry and geography have defaults for theirs.
var plain = map[string]Kind{
	"boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "date": Date, "time": Time,
	"timestamp": Timestamp, "timestamptz": TimestampTZ, "timestamp_ns": TimestampNS, "timestamptz_ns": TimestampTZNS,
	"string": String, "uuid": UUID, "binary": Binary, "unknown": Null, "variant": Variant, "geometry": Geometry, "geography": Geography,
}

// Type is an Iceberg type.
type Type struct {
	Kind             Kind
	Precision, Scale int32   // Decimal
	Length           int     // Fixed
	Text             string  // as written, for all but nested types
	Fields           []Field // of a Struct; the element of a List; key and value of a Map
}

// Field of a struct, an element, a key or a value.
type Field struct {
	ID       int
	Name     string
	Required bool
	Doc      string
	Type     Type
	Initial  json.RawMessage // initial-default, nil = none
	Write    json.RawMessage // write-default, nil = none
}

// maxNesting bounds the depth of types.
const maxNesting = 64

type fieldJSON struct {
	ID       *int            `json:"id"`
	Name     *string         `json:"name"`
	Required bool            `json:"required"`
	Type     json.RawMessage `json:"type"`
	Doc      string          `json:"doc"`
	Initial  json.RawMessage `json:"initial-default"`
	Write    json.RawMessage `json:"write-default"`
}

type nestedJSON struct {
	Type   string      `json:"type"`
	Fields []fieldJSON `json:"fields"`

	ElementID       *int            `json:"element-id"`
	Element         json.RawMessage `json:"element"`
	ElementRequired bool            `json:"element-required"`

	KeyID         *int            `json:"key-id"`
	Key           json.RawMessage `json:"key"`
	ValueID       *int            `json:"value-id"`
	Value         json.RawMessage `json:"value"`
	ValueRequired bool            `json:"value-required"`
}

// parseType reads a type's JSON: a string, or an object for a nested type.
func parseType(raw []byte, depth int) (Type, error) {
	if depth > maxNesting {
		return Type{}, fmt.Errorf("type nested deeper than %d", maxNesting)
	}
	if len(raw) == 0 {
		return Type{}, fmt.Errorf("no type")
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return Type{}, err
		}
		return parseTypeText(text)
	}
	var n nestedJSON
	if err := json.Unmarshal(raw, &n); err != nil {
		return Type{}, err
	}
	switch n.Type {
	case "struct":
		fields, err := parseFields(n.Fields, depth)
		return Type{Kind: Struct, Fields: fields}, err
	case "list":
		if n.ElementID == nil {
			return Type{}, fmt.Errorf("list without element-id")
		}
		element, err := parseType(n.Element, depth+1)
		return Type{Kind: List, Fields: []Field{{ID: *n.ElementID, Name: "element", Required: n.ElementRequired, Type: element}}}, err
	case "map":
		if n.KeyID == nil || n.ValueID == nil {
			return Type{}, fmt.Errorf("map without key-id or value-id")
		}
		key, err := parseType(n.Key, depth+1)
		if err != nil {
			return Type{}, err
		}
		value, err := parseType(n.Value, depth+1)
		return Type{Kind: Map, Fields: []Field{
			{ID: *n.KeyID, Name: "key", Required: true, Type: key},
			{ID: *n.ValueID, Name: "value", Required: n.ValueRequired, Type: value},
		}}, err
	}
	return Type{Kind: Other, Text: n.Type}, nil
}

func parseFields(in []fieldJSON, depth int) ([]Field, error) {
	out := make([]Field, len(in))
	for i, f := range in {
		if f.ID == nil || f.Name == nil {
			return nil, fmt.Errorf("field %d without id or name", i)
		}
		t, err := parseType(f.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", *f.Name, err)
		}
		out[i] = Field{ID: *f.ID, Name: *f.Name, Required: f.Required, Doc: f.Doc, Type: t, Initial: nonNull(f.Initial), Write: nonNull(f.Write)}
	}
	return out, nil
}

func nonNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func parseTypeText(text string) (Type, error) {
	t := Type{Text: text}
	name := strings.ToLower(strings.TrimSpace(text))
	if k, ok := plain[name]; ok {
		t.Kind = k
		return t, nil
	}
	if args, ok := arguments(name, "decimal", "(", ")"); ok {
		p, s, _ := strings.Cut(args, ",")
		precision, err1 := strconv.ParseInt(strings.TrimSpace(p), 10, 32)
		scale, err2 := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err1 != nil || err2 != nil || precision < 1 || precision > 38 || scale < 0 || scale > precision {
			return t, fmt.Errorf("malformed type %q", text)
		}
		t.Kind, t.Precision, t.Scale = Decimal, int32(precision), int32(scale)
		return t, nil
	}
	if args, ok := arguments(name, "fixed", "[", "]"); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(args), 10, 32)
		if err != nil || n < 0 {
			return t, fmt.Errorf("malformed type %q", text)
		}
		t.Kind, t.Length = Fixed, int(n)
		return t, nil
	}
	if _, ok := arguments(name, "geometry", "(", ")"); ok {
		t.Kind = Geometry
	} else if _, ok := arguments(name, "geography", "(", ")"); ok {
		t.Kind = Geography
	}
	return t, nil
}

func arguments(text, name, open, end string) (string, bool) {
	rest, ok := strings.CutPrefix(text, name)
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), open); !ok {
		return "", false
	}
	return strings.CutSuffix(rest, end)
}

// String is the type's text form in schemas; nested types print as struct<…>, list<…>, map<…>.
func (t Type) String() string {
	switch t.Kind {
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ": " + f.Type.String()
		}
		return "struct<" + strings.Join(parts, ", ") + ">"
	case List:
		return "list<" + t.Fields[0].Type.String() + ">"
	case Map:
		return "map<" + t.Fields[0].Type.String() + ", " + t.Fields[1].Type.String() + ">"
	}
	return t.Text
}

// Keys of Arrow's convention for an extension type named in a field's metadata, its values stored as the storage type.
const (
	extensionName     = "ARROW:extension:name"
	extensionMetadata = "ARROW:extension:metadata"
)

var variantType = extensions.NewDefaultVariantType()

// Arrow is the field as Arrow's, with its id in the metadata, at every depth.
//
// A uuid is 16 big-endian fixed bytes, marked as the extension arrow.uuid in the metadata; geometry and geography are
// binary (WKB), marked as geoarrow.wkb. A variant is arrow-go's variant extension type. Types of kind Other have no Arrow
// form and become null: whoever uses such a column must refuse it first (see Field.Refusal).
func (f Field) Arrow() arrow.Field {
	keys, values := []string{}, []string{}
	switch f.Type.Kind {
	case UUID:
		keys, values = append(keys, extensionName, extensionMetadata), append(values, "arrow.uuid", "")
	case Geometry, Geography:
		keys, values = append(keys, extensionName, extensionMetadata), append(values, "geoarrow.wkb", "{}")
	}
	out := arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: !f.Required, Metadata: arrow.NewMetadata(keys, values)}
	return expr.WithFieldID(out, f.ID)
}

// Arrow is the type as Arrow's; see Field.Arrow for what only a field can say.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Int:
		return arrow.PrimitiveTypes.Int32
	case Long:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time64us
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case TimestampTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case TimestampNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}
	case TimestampTZNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	case String:
		return arrow.BinaryTypes.String
	case UUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}
	case Fixed:
		return &arrow.FixedSizeBinaryType{ByteWidth: t.Length}
	case Binary, Geometry, Geography:
		return arrow.BinaryTypes.Binary
	case Variant:
		return variantType
	}
	return t.nestedArrow()
}

func (t Type) nestedArrow() arrow.DataType {
	switch t.Kind {
	case Struct:
		return arrow.StructOf(arrowFields(t.Fields)...)
	case List:
		return arrow.ListOfField(t.Fields[0].Arrow())
	case Map:
		return arrow.MapOfFields(t.Fields[0].Arrow(), t.Fields[1].Arrow())
	}
	return arrow.Null
}

func arrowFields(fields []Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = f.Arrow()
	}
	return out
}
