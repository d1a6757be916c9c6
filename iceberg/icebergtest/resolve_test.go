package icebergtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/source/resolve"
)

func where(columns, filter string) iceberg.ScanSpec {
	spec := iceberg.ScanSpec{}
	if columns != "" {
		spec.Columns = strings.Split(columns, ",")
	}
	if filter != "" {
		spec.Filter = expr.MustParse(filter)
	}
	return spec
}

func TestL15_ReAddedNames(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":2,"name":"x","required":false,"type":"int"}]}},{"id":3,"name":"old","required":false,"type":"int"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"s":{"x":1},"old":10}]`, Field(1, "s", arrow.StructOf(Field(2, "x", i32))), Field(3, "old", i32)))
	b.Schema(`[{"id":5,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":6,"name":"x","required":false,"type":"int"}]}},{"id":3,"name":"new","required":false,"type":"int"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"s":{"x":2},"new":20}]`, Field(5, "s", arrow.StructOf(Field(6, "x", i32))), Field(3, "new", i32)))
	wantRows(t, b, iceberg.ScanSpec{}, `{"new":10,"s":null}`, `{"new":20,"s":{"x":2}}`)
	wantRows(t, b, where("new", "s.x = 2"), `{"new":20}`)
	wantRows(t, b, where("new", "s.x IS NULL"), `{"new":10}`)
	wantRows(t, b, where("new", "new < 15"), `{"new":10}`)
}

func TestL18_IdentityPartitionColumns(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"p","required":false,"type":"long"}]`)
	b.ReplaceSpec(0, PartitionField{ID: 1000, Source: 2, Name: "p", Transform: "identity", Avro: `"int"`}) // of a column that has been widened since
	seven := b.Parquet(parquetfile.Options{}, `[{"k":1}]`, k)
	seven.Partition = map[string]any{"p": 7}
	null := b.Parquet(parquetfile.Options{}, `[{"k":2}]`, k)
	b.Commit("append", seven, null)
	wantRows(t, b, iceberg.ScanSpec{}, `{"k":1,"p":7}`, `{"k":2,"p":null}`)
	wantRows(t, b, where("p", ""), `{"p":7}`, `{"p":null}`)
	wantRows(t, b, where("k", ""), `{"k":1}`, `{"k":2}`)
	wantRows(t, b, where("k", "p = 7"), `{"k":1}`)
	wantRows(t, b, where("k", "p IS NULL"), `{"k":2}`)
	wantRows(t, b, where("k", "p > 7"))
}

const mapping = `[{"field-id":1,"names":["first"]},{"field-id":2,"names":["second","renamed"]},
	{"field-id":3,"names":["s"],"fields":[{"field-id":4,"names":["in.ner"]}]}]`

func TestL19_FilesWithoutIDs(t *testing.T) {
	t.Parallel()
	schema := `[{"id":1,"name":"first","required":false,"type":"int"},{"id":2,"name":"renamed","required":false,"type":"int"},
		{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"i","required":false,"type":"int"}]}}]`
	build := func() *Table {
		b := New(t, "s3://b/t", 2)
		b.Schema(schema)
		b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"first":1,"second":2,"third":3,"s":{"in.ner":4}}]`,
			Field(0, "first", i32), Field(0, "second", i32), Field(0, "third", i32), Field(0, "s", arrow.StructOf(Field(0, "in.ner", i32)))))
		return b
	}
	b := build()
	b.Properties["schema.name-mapping.default"] = mapping
	wantRows(t, b, iceberg.ScanSpec{}, `{"first":1,"renamed":2,"s":{"i":4}}`)
	wantRows(t, b, where("first", "renamed = 2 AND s.i = 4"), `{"first":1}`)
	b = build()
	rows, err := b.Rows(t, iceberg.ScanSpec{})
	if !errors.Is(err, resolve.ErrNoIDs) || !strings.Contains(err.Error(), "schema.name-mapping.default") || len(rows) > 0 {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
	// A mapping that cannot be read is none: the error says so, where a file needs it.
	b = build()
	b.Properties["schema.name-mapping.default"] = mapping[1:]
	rows, err = b.Rows(t, iceberg.ScanSpec{})
	if !errors.Is(err, resolve.ErrInvalid) || errors.Is(err, resolve.ErrNoIDs) || !strings.Contains(err.Error(), "schema.name-mapping.default cannot be read") || len(rows) > 0 {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
}

func TestL20_ListsByStructure(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"l","required":false,"type":{"type":"list","element-id":2,"element":"int","element-required":false}},
		{"id":3,"name":"m","required":false,"type":{"type":"map","key-id":4,"key":"string","value-id":5,"value":"int","value-required":false}}]`)
	b.Properties["schema.name-mapping.default"] = `[{"field-id":1,"names":["l"],"fields":[{"field-id":2,"names":["element"]}]},
		{"field-id":3,"names":["m"],"fields":[{"field-id":4,"names":["key"]},{"field-id":5,"names":["value"]}]}]`
	entries := arrow.MapOfFields(arrow.Field{Name: "key", Type: str}, Field(0, "value", i32))
	for _, ids := range []bool{true, false} {
		b.Commit("append", b.Parquet(parquetfile.Options{NoIDs: !ids}, `[{"l":[1,null,3],"m":[{"key":"a","value":1},{"key":"b","value":null}]},{"l":[],"m":[]},{"l":null,"m":null}]`,
			Field(1, "l", arrow.ListOfField(Field(2, "array_element", i32))), Field(3, "m", entries)))
	}
	row := []string{`{"l":[1,null,3],"m":[{"key":"a","value":1},{"key":"b","value":null}]}`, `{"l":[],"m":[]}`, `{"l":null,"m":null}`}
	wantRows(t, b, iceberg.ScanSpec{}, append(row, row...)...)
}

func TestL21_DefaultsInRowsAndFilters(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 3)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"x","required":false,"type":"int"}]}}]`)
	inner := func(f ...arrow.Field) arrow.Field { return Field(3, "s", arrow.StructOf(f...)) }
	old := b.Parquet(parquetfile.Options{}, `[{"k":1,"s":{"x":1}}]`, k, inner(Field(4, "x", i32)))
	old.Nulls, old.Values = map[int]int64{1: 0}, map[int]int64{1: 1}
	b.Commit("append", old)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"c","required":false,"type":"int","initial-default":9},
		{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"x","required":false,"type":"int"},{"id":5,"name":"y","required":false,"type":"string","initial-default":"dflt"}]}}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":2,"c":null,"s":{"x":2,"y":"set"}}]`, k, Field(2, "c", i32), inner(Field(4, "x", i32), Field(5, "y", str))))
	wantRows(t, b, iceberg.ScanSpec{}, `{"c":9,"k":1,"s":{"x":1,"y":"dflt"}}`, `{"c":null,"k":2,"s":{"x":2,"y":"set"}}`)
	wantRows(t, b, where("k", "c = 9"), `{"k":1}`)
	wantRows(t, b, where("k", "c IS NULL"), `{"k":2}`)
	wantRows(t, b, where("k", "c <> 9"))
	wantRows(t, b, where("k", "s.y = 'dflt'"), `{"k":1}`)
	wantRows(t, b, where("c", ""), `{"c":9}`, `{"c":null}`)
}

func TestRowLineage(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 3)
	b.Schema(kv)
	one := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"},{"k":3,"v":"c"}]`, k, v)
	b.Commit("append", one)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":4,"v":"d"}]`, k, v))
	b.Commit("delete", b.Positions(one.Path, 1))
	wantRows(t, b, where("k,_row_id,_last_updated_sequence_number", ""), `{"_last_updated_sequence_number":1,"_row_id":0,"k":1}`,
		`{"_last_updated_sequence_number":1,"_row_id":2,"k":3}`, `{"_last_updated_sequence_number":2,"_row_id":3,"k":4}`)
}

func TestL01_KeyInsideAStruct(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"x","required":false,"type":"int"},{"id":5,"name":"y","required":false,"type":"int"}]}}]`)
	full := Field(3, "s", arrow.StructOf(Field(4, "x", i32), Field(5, "y", i32)))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"s":{"x":1,"y":1}},{"k":2,"s":{"x":2,"y":1}},{"k":3,"s":null},{"k":4,"s":{"x":null,"y":1}}]`, k, full))
	del := b.Equality(`[{"s":{"x":1}},{"s":{"x":null}}]`, Field(3, "s", arrow.StructOf(Field(4, "x", i32))))
	del.EqualityIDs = []int{4}
	b.Commit("delete", del)
	wantRows(t, b, where("k", ""), `{"k":2}`)
	wantRows(t, b, where("s.y", ""), `{"s":{"y":1}}`)
}
