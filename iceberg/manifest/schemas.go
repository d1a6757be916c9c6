package manifest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/avro"
)

// Avro schemas as JSON values; the order of the fields is the order in which the encoders append.
type (
	avroRecord struct {
		Type   string      `json:"type"`
		Name   string      `json:"name"`
		Fields []avroField `json:"fields"`
	}
	avroField struct {
		Name    string           `json:"name"`
		Type    any              `json:"type"`
		Default *json.RawMessage `json:"default,omitempty"`
		ID      int              `json:"field-id"`
	}
	avroArray struct {
		Type      string `json:"type"`
		Items     any    `json:"items"`
		Logical   string `json:"logicalType,omitempty"`
		ElementID int    `json:"element-id,omitempty"`
	}
	avroLogical struct {
		Type        string `json:"type"`
		Logical     string `json:"logicalType,omitempty"`
		Name        string `json:"name,omitempty"`
		Size        int    `json:"size,omitempty"`
		Precision   int32  `json:"precision,omitempty"`
		Scale       *int32 `json:"scale,omitempty"`
		AdjustToUTC *bool  `json:"adjust-to-utc,omitempty"`
	}
)

var jsonNull = json.RawMessage("null")

func required(id int, name string, typ any) avroField {
	return avroField{Name: name, Type: typ, ID: id}
}

func optional(id int, name string, typ any) avroField {
	return avroField{Name: name, Type: []any{"null", typ}, Default: &jsonNull, ID: id}
}

// pairsType is a map with integer keys.
func pairsType(key, value int, valueType string) any {
	return avroArray{Type: "array", Logical: "map", Items: avroRecord{
		Type: "record", Name: fmt.Sprintf("k%d_v%d", key, value),
		Fields: []avroField{required(key, "key", "int"), required(value, "value", valueType)},
	}}
}

// listSchema is the schema of a manifest list of one format version.
func listSchema(version int) []byte {
	summary := avroRecord{Type: "record", Name: "r508", Fields: []avroField{
		required(509, "contains_null", "boolean"),
		optional(518, "contains_nan", "boolean"), optional(510, "lower_bound", "bytes"), optional(511, "upper_bound", "bytes"),
	}}
	fields := []avroField{required(500, "manifest_path", "string"), required(501, "manifest_length", "long"), required(502, "partition_spec_id", "int")}
	if version >= 2 {
		fields = append(fields, required(517, "content", "int"), required(515, "sequence_number", "long"), required(516, "min_sequence_number", "long"))
	}
	count := required
	if version == 1 {
		count = optional
	}
	fields = append(fields, required(503, "added_snapshot_id", "long"),
		count(504, "added_files_count", "int"), count(505, "existing_files_count", "int"), count(506, "deleted_files_count", "int"),
		count(512, "added_rows_count", "long"), count(513, "existing_rows_count", "long"), count(514, "deleted_rows_count", "long"),
		optional(507, "partitions", avroArray{Type: "array", Items: summary, ElementID: 508}), optional(519, "key_metadata", "bytes"))
	if version >= 3 {
		fields = append(fields, optional(520, "first_row_id", "long"))
	}
	return mustJSON(avroRecord{Type: "record", Name: "manifest_file", Fields: fields})
}

// entrySchema is the schema of a manifest of one format version and partition.
func entrySchema(version int, partition []avroField) []byte {
	file := []avroField{}
	if version >= 2 {
		file = append(file, required(134, "content", "int"))
	}
	file = append(file, required(100, "file_path", "string"), required(101, "file_format", "string"),
		required(102, "partition", avroRecord{Type: "record", Name: "r102", Fields: partition}),
		required(103, "record_count", "long"), required(104, "file_size_in_bytes", "long"))
	if version == 1 {
		file = append(file, required(105, "block_size_in_bytes", "long"))
	}
	file = append(file, optional(108, "column_sizes", pairsType(117, 118, "long")), optional(109, "value_counts", pairsType(119, 120, "long")),
		optional(110, "null_value_counts", pairsType(121, 122, "long")), optional(137, "nan_value_counts", pairsType(138, 139, "long")),
		optional(125, "lower_bounds", pairsType(126, 127, "bytes")), optional(128, "upper_bounds", pairsType(129, 130, "bytes")),
		optional(131, "key_metadata", "bytes"), optional(132, "split_offsets", avroArray{Type: "array", Items: "long", ElementID: 133}))
	if version >= 2 {
		file = append(file, optional(135, "equality_ids", avroArray{Type: "array", Items: "int", ElementID: 136}))
	}
	file = append(file, optional(140, "sort_order_id", "int"))
	if version >= 3 {
		file = append(file, optional(142, "first_row_id", "long"))
	}
	if version >= 2 {
		file = append(file, optional(143, "referenced_data_file", "string"))
	}
	if version >= 3 {
		file = append(file, optional(144, "content_offset", "long"), optional(145, "content_size_in_bytes", "long"))
	}
	entry := []avroField{required(0, "status", "int"), optional(1, "snapshot_id", "long")}
	if version == 1 {
		entry[1] = required(1, "snapshot_id", "long")
	} else {
		entry = append(entry, optional(3, "sequence_number", "long"), optional(4, "file_sequence_number", "long"))
	}
	entry = append(entry, required(2, "data_file", avroRecord{Type: "record", Name: "r2", Fields: file}))
	return mustJSON(avroRecord{Type: "record", Name: "manifest_entry", Fields: entry})
}

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of strings and numbers
	}
	return out
}

// partitionAvro is the Avro type of partition values.
func partitionAvro(t arrow.DataType) (any, error) {
	utc := func(zone string) *bool { b := zone != ""; return &b }
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "boolean", nil
	case *arrow.Int32Type:
		return "int", nil
	case *arrow.Int64Type:
		return "long", nil
	case *arrow.Float32Type:
		return "float", nil
	case *arrow.Float64Type:
		return "double", nil
	case *arrow.Date32Type:
		return avroLogical{Type: "int", Logical: "date"}, nil
	case *arrow.Time64Type:
		return avroLogical{Type: "long", Logical: "time-micros"}, nil
	case *arrow.TimestampType:
		if t.Unit == arrow.Nanosecond {
			return avroLogical{Type: "long", Logical: "timestamp-nanos", AdjustToUTC: utc(t.TimeZone)}, nil
		}
		return avroLogical{Type: "long", Logical: "timestamp-micros", AdjustToUTC: utc(t.TimeZone)}, nil
	case *arrow.StringType:
		return "string", nil
	case *arrow.BinaryType:
		return "bytes", nil
	case *arrow.FixedSizeBinaryType:
		return avroLogical{Type: "fixed", Name: fmt.Sprintf("fixed_%d", t.ByteWidth), Size: t.ByteWidth}, nil
	case *arrow.Decimal128Type:
		return avroLogical{
			Type: "fixed", Logical: "decimal", Name: fmt.Sprintf("decimal_%d_%d", t.Precision, t.Scale),
			Size: decimalBytes(t.Precision), Precision: t.Precision, Scale: &t.Scale,
		}, nil
	}
	return nil, fmt.Errorf("manifest: no partition values of type %s", t)
}

// decimalBytes is the least number of bytes that holds every value of a precision.
func decimalBytes(precision int32) int {
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	return most.Sub(most, big.NewInt(1)).BitLen()/8 + 1
}

// avroName makes a partition field's name legal in Avro, as the Java library does.
func avroName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || i > 0 && unicode.IsDigit(r)):
			b.WriteRune(r)
		case unicode.IsDigit(r):
			b.WriteString("_" + string(r))
		default:
			fmt.Fprintf(&b, "_x%X", r)
		}
	}
	return b.String()
}

// appendPartition appends a value of the Avro type that partitionAvro gives for t; optional, null first.
func appendPartition(b []byte, t arrow.DataType, v any) ([]byte, error) {
	if v == nil {
		return avro.AppendLong(b, 0), nil
	}
	b = avro.AppendLong(b, 1)
	switch x := v.(type) {
	case bool:
		return avro.AppendBool(b, x), nil
	case int64:
		return avro.AppendLong(b, x), nil
	case float64:
		if t.ID() == arrow.FLOAT32 {
			return avro.AppendFloat(b, float32(x)), nil
		}
		return avro.AppendDouble(b, x), nil
	case string:
		return avro.AppendString(b, x), nil
	case []byte:
		if t.ID() == arrow.FIXED_SIZE_BINARY {
			return append(b, x...), nil
		}
		return avro.AppendBytes(b, x), nil
	case *big.Int:
		if d, ok := t.(*arrow.Decimal128Type); ok {
			return appendSigned(b, x, decimalBytes(d.Precision))
		}
	}
	return nil, fmt.Errorf("manifest: partition value %v of type %s", v, t)
}

// appendSigned appends a two's complement number of a fixed width.
func appendSigned(b []byte, v *big.Int, width int) ([]byte, error) {
	raw := transform.TwosComplement(v)
	if len(raw) > width {
		return nil, fmt.Errorf("manifest: decimal %s needs more than %d bytes", v, width)
	}
	for range width - len(raw) {
		b = append(b, byte(int8(raw[0])>>7))
	}
	return append(b, raw...), nil
}
