package meta

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// doc makes metadata of version 2 with the members given added or replaced; a nil member is removed.
func doc(t testing.TB, version int, change map[string]any) []byte {
	t.Helper()
	m := map[string]any{
		"format-version": version, "table-uuid": "u", "location": "s3://b/t", "last-sequence-number": 3, "last-updated-ms": 1700000000000,
		"last-column-id": 2, "schemas": []any{schema(0, field(1, "a", "int"), field(2, "b", "string"))}, "current-schema-id": 0,
		"partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{}}}, "default-spec-id": 0, "last-partition-id": 999,
	}
	for k, v := range change {
		if v == nil {
			delete(m, k)
			continue
		}
		m[k] = v
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func schema(id int, fields ...any) any {
	return map[string]any{"type": "struct", "schema-id": id, "fields": fields}
}

func field(id int, name string, typ any) any {
	return map[string]any{"id": id, "name": name, "required": false, "type": typ}
}

func snapshot(id, parent int64, ms int64, schemaID any) any {
	s := map[string]any{
		"snapshot-id": id, "sequence-number": 1, "timestamp-ms": ms, "manifest-list": fmt.Sprintf("s3://b/t/%d.avro", id),
		"summary": map[string]any{"operation": "append", "n": "1", "odd": 7},
	}
	if parent != 0 {
		s["parent-snapshot-id"] = parent
	}
	if schemaID != nil {
		s["schema-id"] = schemaID
	}
	return s
}

func mustParse(t testing.TB, data []byte) *Metadata {
	t.Helper()
	m, err := Parse(data, "test.metadata.json")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One snapshot with (a, b); then b was dropped and c added, and nothing written.
func TestL17_SchemaOfEachVersion(t *testing.T) {
	t.Parallel()
	m := mustParse(t, doc(t, 2, map[string]any{
		"schemas":           []any{schema(0, field(1, "a", "int"), field(2, "b", "string")), schema(1, field(1, "a", "int"), field(3, "c", "long"))},
		"current-schema-id": 1, "current-snapshot-id": 10, "snapshots": []any{snapshot(10, 0, 1000, 0), snapshot(11, 0, 2000, nil)},
		"refs": map[string]any{
			"main": map[string]any{"snapshot-id": 10, "type": "branch"}, "side": map[string]any{"snapshot-id": 11, "type": "branch"},
			"v1": map[string]any{"snapshot-id": 10, "type": "tag"},
		},
		"snapshot-log": []any{map[string]any{"snapshot-id": 10, "timestamp-ms": 1000}},
	}))
	for _, c := range []struct {
		name    string
		version Version
		schema  int
		ref     string
	}{
		{"plain", Version{}, 1, "main"},
		{"main", Version{Ref: "main"}, 1, "main"},
		{"branch", Version{Ref: "side"}, 1, "side"},
		{"tag", Version{Ref: "v1"}, 0, "v1"},
		{"id", Version{Snapshot: 10}, 0, ""},
		{"id without a schema", Version{Snapshot: 11}, 1, ""},
		{"time", Version{AsOf: time.UnixMilli(1500)}, 0, ""},
	} {
		s, err := m.Select(c.version)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if s.Schema.ID != c.schema || s.Ref != c.ref {
			t.Errorf("%s: schema %d ref %q, want %d %q", c.name, s.Schema.ID, s.Ref, c.schema, c.ref)
		}
	}
	for _, c := range []struct {
		version Version
		class   error
	}{
		{Version{Snapshot: 12}, ErrNoSuchSnapshot},
		{Version{Ref: "nope"}, ErrNoSuchRef},
		{Version{AsOf: time.UnixMilli(999)}, ErrNoSuchSnapshot},
	} {
		if _, err := m.Select(c.version); !errors.Is(err, c.class) {
			t.Errorf("%+v: %v", c.version, err)
		}
	}
	if _, err := m.Select(Version{Snapshot: 10, Ref: "main"}); err == nil {
		t.Error("two choices were taken")
	}
}

func TestAsOf(t *testing.T) {
	t.Parallel()
	snapshots := []any{snapshot(2, 1, 2000, nil), snapshot(3, 2, 3000, nil), snapshot(4, 2, 4000, nil)}
	log := func(pairs ...int64) (out []any) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, map[string]any{"snapshot-id": pairs[i], "timestamp-ms": pairs[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		name string
		log  []any
		at   int64
		want int64
		text string
	}{
		{"between", log(2, 2000, 3, 3000), 2999, 2, ""},
		{"exact", log(2, 2000, 3, 3000), 3000, 3, ""},
		{"rolled back", log(2, 2000, 4, 4000, 2, 4500, 3, 5000), 4700, 2, ""},
		{"expired", log(1, 1000, 2, 2000, 3, 3000), 1500, 0, "1970-01-01T00:00:02.000Z"},
		{"before all", log(2, 2000), 1999, 0, "the oldest time that works is 1970-01-01T00:00:02.000Z"},
		{"no log", nil, 2500, 2, ""},
		{"no log, sibling branch ignored", nil, 9000, 3, ""},
		{"no log, before all", nil, 1, 0, "the oldest time that works"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := mustParse(t, doc(t, 2, map[string]any{"current-snapshot-id": 3, "snapshots": snapshots, "snapshot-log": c.log}))
			s, err := m.Select(Version{AsOf: time.UnixMilli(c.at)})
			if c.want == 0 {
				if !errors.Is(err, ErrNoSuchSnapshot) || !strings.Contains(err.Error(), c.text) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil || s.Snapshot.ID != c.want {
				t.Fatalf("%+v %v, want %d", s.Snapshot, err, c.want)
			}
		})
	}
}

func TestL45_NoSnapshotIsZeroRowsWithASchema(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]any{
		"absent":     {},
		"minus one":  {"current-snapshot-id": -1},
		"null":       {"current-snapshot-id": json.RawMessage("null")},
		"empty refs": {"refs": map[string]any{}, "snapshots": []any{}},
		"other refs": {"refs": map[string]any{"x": map[string]any{"snapshot-id": 1, "type": "branch"}}, "snapshots": []any{snapshot(1, 0, 1, nil)}},
	} {
		for _, version := range []int{1, 2, 3} {
			s, err := mustParse(t, doc(t, version, change)).Select(Version{})
			if err != nil || s.Snapshot != nil || len(s.Schema.Fields) != 2 {
				t.Errorf("%s v%d: %+v %v", name, version, s, err)
			}
		}
	}
}

func TestMainAndCurrentSnapshotAreOne(t *testing.T) {
	t.Parallel()
	snapshots := []any{snapshot(1, 0, 1, nil), snapshot(2, 0, 1, nil)}
	main := func(id int) any { return map[string]any{"main": map[string]any{"snapshot-id": id, "type": "branch"}} }
	for _, c := range []struct {
		name          string
		current, refs any
		want          int64
	}{
		{"refs alone", nil, main(1), 1},
		{"current alone", 2, nil, 2},
		{"empty refs", 2, map[string]any{}, 2},
		{"both", 2, main(2), 2},
	} {
		s, err := mustParse(t, doc(t, 2, map[string]any{"snapshots": snapshots, "current-snapshot-id": c.current, "refs": c.refs})).Select(Version{Ref: "main"})
		if err != nil || s.Snapshot.ID != c.want {
			t.Errorf("%s: %+v %v", c.name, s, err)
		}
	}
	if _, err := Parse(doc(t, 2, map[string]any{"snapshots": snapshots, "current-snapshot-id": 2, "refs": main(1)}), ""); !errors.Is(err, ErrInvalidMetadata) {
		t.Errorf("contradiction: %v", err)
	}
}

func TestL41_V1Forms(t *testing.T) {
	t.Parallel()
	inline := map[string]any{"snapshot-id": 1, "timestamp-ms": 1, "manifests": []any{"m1.avro", "m2.avro"}}
	both := map[string]any{"snapshot-id": 2, "timestamp-ms": 1, "manifests": []any{"m1.avro"}, "manifest-list": "list.avro"}
	empty := map[string]any{"snapshot-id": 3, "timestamp-ms": 1, "manifests": []any{}}
	m := mustParse(t, doc(t, 1, map[string]any{
		"schemas": nil, "current-schema-id": nil, "partition-specs": nil, "default-spec-id": nil, "table-uuid": nil,
		"last-sequence-number": nil, "last-partition-id": nil, "schema": map[string]any{"type": "struct", "fields": []any{field(1, "a", "int")}},
		"partition-spec": []any{map[string]any{"source-id": 1, "transform": "bucket[4]", "name": "a_b"}, map[string]any{"source-id": 1, "transform": "identity", "name": "a"}},
		"snapshots":      []any{inline, both, empty},
	}))
	if f := m.Specs[0].Fields; len(f) != 2 || f[0].FieldID != 1000 || f[1].FieldID != 1001 || f[0].Transform.String() != "bucket[4]" {
		t.Errorf("spec %+v", f)
	}
	for id, want := range map[int64]Snapshot{1: {Manifests: []string{"m1.avro", "m2.avro"}}, 2: {Manifests: []string{"m1.avro"}, ManifestList: "list.avro"}, 3: {Manifests: []string{}}} {
		s, err := m.Snapshot(id)
		if err != nil || !reflect.DeepEqual(s.Manifests, want.Manifests) || s.ManifestList != want.ManifestList || s.SchemaID != -1 || s.Sequence != 0 {
			t.Errorf("%d: %+v %v", id, s, err)
		}
	}
}

func TestL43_GzipIsFoundByContent(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(doc(t, 2, nil))
	z.Close()
	for _, name := range []string{"v1.gz.metadata.json", "v1.metadata.json.gz", "v1.gzip.metadata.json", "v1.metadata.json"} {
		if m, err := Parse(bytes.Clone(packed.Bytes()), name); err != nil || m.UUID != "u" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(packed.Bytes()[:packed.Len()-4], "x"); !errors.Is(err, ErrInvalidMetadata) {
		t.Errorf("cut gzip: %v", err)
	}
}

func TestInvalidMetadata(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]any{
		"no version":        {"format-version": nil},
		"version 0":         {"format-version": 0},
		"version as text":   {"format-version": "2"},
		"no location":       {"location": nil},
		"no schemas":        {"schemas": nil},
		"no current schema": {"current-schema-id": 7},
		"no specs":          {"partition-specs": nil},
		"two ids":           {"schemas": []any{schema(0, field(1, "a", "int"), field(1, "b", "int"))}},
		"nested id twice":   {"schemas": []any{schema(0, field(1, "a", map[string]any{"type": "list", "element-id": 1, "element": "int", "element-required": false}))}},
		"decimal(39,2)":     {"schemas": []any{schema(0, field(1, "a", "decimal(39,2)"))}},
		"field without id":  {"schemas": []any{schema(0, map[string]any{"name": "a", "type": "int"})}},
		"ref without id":    {"refs": map[string]any{"main": map[string]any{"type": "branch"}}},
		"main is a tag":     {"refs": map[string]any{"main": map[string]any{"type": "tag", "snapshot-id": 1}}},
	} {
		var bad *InvalidError
		if _, err := Parse(doc(t, 2, change), "f.json"); !errors.As(err, &bad) || bad.File != "f.json" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{", "[]", "null", "<html>", `{"format-version":2}`} {
		if _, err := Parse([]byte(text), "f"); !errors.Is(err, ErrInvalidMetadata) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var unsupported *UnsupportedError
	if _, err := Parse(doc(t, 4, nil), "f"); !errors.As(err, &unsupported) || !errors.Is(err, ErrUnsupported) {
		t.Errorf("version 4: %v", err)
	}
}

// Deep nesting ends in an error, not in a stack that grows without bound.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	typ := `"int"`
	for i := range 200 {
		typ = fmt.Sprintf(`{"type":"list","element-id":%d,"element":%s,"element-required":false}`, 100+i, typ)
	}
	if _, err := Parse(doc(t, 2, map[string]any{"schemas": []any{schema(0, field(1, "a", json.RawMessage(typ)))}}), "f"); !errors.Is(err, ErrInvalidMetadata) {
		t.Errorf("error %v", err)
	}
}

func TestTypesToArrow(t *testing.T) {
	t.Parallel()
	us, tz := &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for text, want := range map[string]arrow.DataType{
		"boolean": arrow.FixedWidthTypes.Boolean, "int": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64,
		"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "decimal(9, 2)": &arrow.Decimal128Type{Precision: 9, Scale: 2},
		"decimal(38,0)": &arrow.Decimal128Type{Precision: 38}, "date": arrow.FixedWidthTypes.Date32, "time": arrow.FixedWidthTypes.Time64us,
		"timestamp": us, "timestamptz": tz, "timestamp_ns": &arrow.TimestampType{Unit: arrow.Nanosecond},
		"timestamptz_ns": &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, "string": arrow.BinaryTypes.String,
		"uuid": &arrow.FixedSizeBinaryType{ByteWidth: 16}, "fixed[5]": &arrow.FixedSizeBinaryType{ByteWidth: 5}, "binary": arrow.BinaryTypes.Binary,
		"unknown": arrow.Null, "variant": variantType, "geometry": arrow.BinaryTypes.Binary, "geometry(srid:4326)": arrow.BinaryTypes.Binary,
	} {
		s, err := ParseSchema([]byte(`{"type":"struct","schema-id":3,"fields":[{"id":7,"name":"x","required":true,"type":"` + text + `"}]}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		f := s.Arrow().Field(0)
		if id, ok := expr.FieldID(f); !arrow.TypeEqual(f.Type, want) || f.Nullable || !ok || id != 7 {
			t.Errorf("%s: %v", text, f)
		}
		if err := s.Fields[0].Refusal(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if s.Fields[0].Type.String() != text {
			t.Errorf("%s prints as %s", text, s.Fields[0].Type)
		}
	}
	f := Field{ID: 1, Name: "u", Type: Type{Kind: UUID}}.Arrow()
	if v, ok := f.Metadata.GetValue("ARROW:extension:name"); !ok || v != "arrow.uuid" {
		t.Errorf("uuid is not marked: %v", f.Metadata)
	}
	for _, text := range []string{"geography", "geography(OGC:CRS84, spherical)", "int256", "timestamp_ps"} {
		s, err := ParseSchema([]byte(`{"type":"struct","fields":[{"id":7,"name":"x","type":{"type":"list","element-id":8,"element":"` + text + `"}}]}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if err := s.Fields[0].Refusal(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: refusal %v", text, err)
		}
	}
}

func TestNestedTypes(t *testing.T) {
	t.Parallel()
	s, err := ParseSchema([]byte(`{"type":"struct","fields":[{"id":1,"name":"m","required":false,"type":{"type":"map","key-id":2,"key":"string","value-id":3,
		"value-required":true,"value":{"type":"list","element-id":4,"element-required":true,"element":{"type":"struct","fields":[{"id":5,"name":"a.b","required":true,"type":"date"}]}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m := s.Arrow().Field(0).Type.(*arrow.MapType)
	list := m.ItemField().Type.(*arrow.ListType)
	inner := list.ElemField().Type.(*arrow.StructType).Field(0)
	for want, f := range map[int]arrow.Field{1: s.Arrow().Field(0), 2: m.KeyField(), 3: m.ItemField(), 4: list.ElemField(), 5: inner} {
		if id, ok := expr.FieldID(f); !ok || id != want || f.Nullable != (want == 1) {
			t.Errorf("%d: %v", want, f)
		}
	}
	if got := s.Fields[0].Type.String(); got != "map<string, list<struct<a.b: date>>>" {
		t.Error(got)
	}
	if f, ok := s.Field(5); !ok || f.Name != "a.b" {
		t.Errorf("field 5: %v", f)
	}
}

func TestL21_DefaultsByTheSingleValueRules(t *testing.T) {
	t.Parallel()
	date := func(y int, m time.Month, d int) int64 { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400 }
	at := time.Date(2017, 11, 16, 22, 31, 8, 123456000, time.UTC)
	for _, c := range []struct {
		typ, json string
		want      any
	}{
		{"boolean", "true", true},
		{"int", "34", int64(34)},
		{"long", "9223372036854775807", int64(math.MaxInt64)},
		{"float", "1.5", 1.5},
		{"double", "-0.5", -0.5},
		{"double", `"Infinity"`, math.Inf(1)},
		{"decimal(9, 2)", `"14.20"`, big.NewInt(1420)},
		{"decimal(9, 2)", `"-0.05"`, big.NewInt(-5)},
		{"decimal(9,2)", `"2E+3"`, big.NewInt(200000)},
		{"decimal(9,2)", `"7"`, big.NewInt(700)},
		{"date", `"2017-11-16"`, date(2017, 11, 16)},
		{"date", `"1969-12-31"`, int64(-1)},
		{"time", `"22:31:08.123456"`, int64(81068123456)},
		{"timestamp", `"2017-11-16T22:31:08.123456"`, at.UnixMicro()},
		{"timestamptz", `"2017-11-16T22:31:08.123456+00:00"`, at.UnixMicro()},
		{"timestamptz", `"2017-11-17T00:31:08.123456+02:00"`, at.UnixMicro()},
		{"timestamp_ns", `"2017-11-16T22:31:08.123456789"`, at.UnixNano() + 789},
		{"timestamp", `"2017-11-16T22:31"`, at.Truncate(time.Minute).UnixMicro()},
		{"string", `"iceberg"`, "iceberg"},
		{"uuid", `"f79c3e09-677c-4bbd-a479-3f349cb785e7"`, []byte("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")},
		{"fixed[4]", `"000102ff"`, []byte{0, 1, 2, 255}},
		{"binary", `""`, []byte{}},
	} {
		typ, err := parseTypeText(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		f := Field{ID: 4, Name: "f", Type: typ, Initial: json.RawMessage(c.json)}
		lit, ok, err := f.Default()
		if err != nil || !ok || !reflect.DeepEqual(lit.Value, c.want) {
			t.Errorf("%s %s: %#v %v %v", c.typ, c.json, lit.Value, ok, err)
		}
	}
	for _, c := range []struct{ typ, json string }{
		{"int", "2147483648"},
		{"int", "1.5"},
		{"decimal(3,2)", `"14.20"`},
		{"decimal(9,2)", `"1.234"`},
		{"decimal(9,2)", `"1E+999999"`},
		{"uuid", `"abc"`},
		{"fixed[2]", `"00"`},
		{"date", `"2017-13-01"`},
		{"boolean", `"true"`},
		{"timestamptz", `"2017-11-16T22:31:08"`},
		{"variant", `1`},
		{"time", `"25:00:00"`},
	} {
		typ, _ := parseTypeText(c.typ)
		if lit, ok, err := (Field{Type: typ, Initial: json.RawMessage(c.json)}).Default(); err == nil {
			t.Errorf("%s %s: %v %v", c.typ, c.json, lit, ok)
		}
	}
	if lit, ok, err := (Field{Type: Type{Kind: Struct}, Initial: json.RawMessage("{}")}).Default(); err != nil || !ok || lit.Value == nil {
		t.Errorf("empty struct: %v %v %v", lit, ok, err)
	}
}

func TestSnapshotMembers(t *testing.T) {
	t.Parallel()
	m := mustParse(t, doc(t, 3, map[string]any{
		"next-row-id": 7, "current-snapshot-id": 5, "snapshots": []any{map[string]any{
			"snapshot-id": 5, "parent-snapshot-id": 4, "sequence-number": 9, "timestamp-ms": 1234, "manifest-list": "l", "schema-id": 0, "first-row-id": 3, "added-rows": 4,
			"summary": map[string]any{"operation": "overwrite", "a": "b", "n": 3},
		}},
		"statistics": []any{map[string]any{
			"snapshot-id": 5, "statistics-path": "p", "file-size-in-bytes": 9, "file-footer-size-in-bytes": 4,
			"blob-metadata": []any{map[string]any{"type": "t", "snapshot-id": 5, "sequence-number": 9, "fields": []int{1}, "properties": map[string]string{"k": "v"}}},
		}},
		"metadata-log": []any{map[string]any{"metadata-file": "f", "timestamp-ms": 3}},
	}))
	s, err := m.Snapshot(5)
	want := Snapshot{
		ID: 5, Parent: 4, Sequence: 9, Time: time.UnixMilli(1234).UTC(), ManifestList: "l", FirstRowID: 3, AddedRows: 4, Operation: "overwrite",
		Summary: map[string]string{"a": "b", "n": "3"},
	}
	if err != nil || !reflect.DeepEqual(*s, want) {
		t.Errorf("%+v %v", s, err)
	}
	st, err := m.Statistics()
	if err != nil || len(st) != 1 || st[0].Path != "p" || st[0].Blobs[0].Properties["k"] != "v" || st[0].FooterSize != 4 {
		t.Errorf("%+v %v", st, err)
	}
	log, err := m.MetadataLog()
	if err != nil || len(log) != 1 || log[0].File != "f" {
		t.Errorf("%+v %v", log, err)
	}
	if m.NextRowID != 7 {
		t.Error(m.NextRowID)
	}
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	id := Ident{Namespace: []string{"a.b", "c"}, Name: `q"t`}
	err := error(&Error{Op: "load", Ident: id, Status: 404, Type: "NoSuchTableException", Attempts: 2, RequestID: "r1", Err: ErrNoSuchTable})
	if got := err.Error(); got != `load "a.b".c."q""t": iceberg: no such table (status 404, NoSuchTableException, 2 attempts, request r1)` {
		t.Error(got)
	}
	if !errors.Is(err, ErrNoSuchTable) {
		t.Error("class is lost")
	}
	err = &UnsupportedError{Ability: "ORC data files", Where: "s3://b/x.orc", Hint: "rewrite them"}
	if got := err.Error(); got != "iceberg: unsupported: ORC data files (s3://b/x.orc); rewrite them" {
		t.Error(got)
	}
}

func BenchmarkParse10000Snapshots(b *testing.B) {
	var list []any
	summary := map[string]any{"operation": "append"}
	for i := range 20 {
		summary[fmt.Sprintf("engine-property-%d", i)] = "0123456789"
	}
	for i := range int64(10_000) {
		s := snapshot(i+1, i, i, 0).(map[string]any)
		s["summary"] = summary
		list = append(list, s)
	}
	data := doc(b, 2, map[string]any{"current-snapshot-id": 10_000, "snapshots": list})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := Parse(data, "f")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Select(Version{Snapshot: 5000}); err != nil {
			b.Fatal(err)
		}
	}
}
