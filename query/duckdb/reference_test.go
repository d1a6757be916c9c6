//go:build duckdb_arrow && cgo

package duckdb

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/query"
)

// L23: names that differ by case alone are told apart, in output, filter and pruning, and the common name is an error.
func TestL23_NamesThatDifferByCase(t *testing.T) {
	t.Parallel()
	names := []string{"id", "ID", "other", "id_1", "", "__n", "a.b", `q"u`, "nul\x00", "bad\xff"}
	var fields []arrow.Field
	for _, n := range names {
		fields = append(fields, arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	}
	schema := withFieldIDs(arrow.NewSchema(fields, nil))
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
	defer b.Release()
	for i := range names {
		b.Field(i).(*array.Int64Builder).AppendValues([]int64{int64(i), int64(i) * 10}, nil)
	}
	table := newMemTable(b.NewRecordBatch())
	table.strict = true
	e := testEngine(t, EngineConfig{})
	p, err := e.Prepare(t.Context(), query.Statement{SQL: "select * from t"}, memTables{"t": table})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var got []string
	for _, f := range p.Schema().Fields() {
		got = append(got, f.Name)
	}
	want := []string{"id_1_", "ID_2", "other", "id_1", "column_5", "__n", "a.b", `q"u`, "nul\u2400", "bad\ufffd"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, not %q", got, want)
	}
	for _, c := range []struct{ sql, want string }{
		{`select id_1_, "ID_2", id_1 from t where id_2 = 10`, "0|10|30"},
		{`select ID_1, "__N", "column_5" from t where id_1_ = 0 and "a.b" = 6`, "3|5|4"},
	} {
		lines, err := run(t.Context(), e, query.Statement{SQL: c.sql}, memTables{"t": table})
		if err != nil || len(lines) != 1 || lines[0] != c.want {
			t.Errorf("%s: %q %v", c.sql, lines, err)
		}
	}
	_, err = run(t.Context(), e, query.Statement{SQL: "select id from t"}, memTables{"t": table})
	checkError(t, "the common name", err, query.ClassBind, `"id"`)
}
