package lakescan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/icebergtest"
	"github.com/lakescan/lakescan/internal/parquetfile"
)

// A filter may read a field inside a struct that is not selected.
func TestFilterOnAFieldInsideAStruct(t *testing.T) {
	t.Parallel()
	b := icebergtest.New(t, "file://"+t.TempDir(), 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":3,"name":"x","required":false,"type":"int"}]}}]`)
	s := icebergtest.Field(2, "s", arrow.StructOf(icebergtest.Field(3, "x", arrow.PrimitiveTypes.Int32)))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"s":{"x":1}},{"k":2,"s":{"x":2}},{"k":3,"s":null}]`, icebergtest.Field(1, "k", arrow.PrimitiveTypes.Int64), s))
	metadata := b.Save()
	b.Export()
	c, err := lakescan.Open(t.Context(), lakescan.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := jsonOf(t, c, metadata, lakescan.Columns("k"), lakescan.Where(expr.MustParse("s.x = 2"))); got != `[k] [{"k":2}]` {
		t.Errorf("rows %s, want k = 2", got)
	}
}

// Fields inside a struct are selected and aggregated alike in a table and in its files read plainly.
func TestFieldsInsideAStruct(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := icebergtest.New(t, "file://"+dir, 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"s","required":false,"type":{"type":"struct","fields":[
		{"id":3,"name":"x","required":false,"type":"int"},{"id":4,"name":"y","required":false,"type":"int"}]}}]`)
	s := icebergtest.Field(2, "s", arrow.StructOf(icebergtest.Field(3, "x", arrow.PrimitiveTypes.Int32), icebergtest.Field(4, "y", arrow.PrimitiveTypes.Int32)))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"s":{"x":1,"y":7}},{"k":2,"s":{"x":2,"y":null}},{"k":3,"s":null}]`, icebergtest.Field(1, "k", arrow.PrimitiveTypes.Int64), s))
	metadata := b.Save()
	b.Export()
	c, err := lakescan.Open(t.Context(), lakescan.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, target := range []string{metadata, dir + "/**/*.parquet"} {
		for want, columns := range map[string][]string{
			`[s] [{"s":{"x":1}},{"s":{"x":2}},{"s":null}]`:                                    {"s.x"},
			`[s k] [{"k":1,"s":{"x":1,"y":7}},{"k":2,"s":{"x":2,"y":null}},{"k":3,"s":null}]`: {`"s"."y"`, "K", "s.x"},
			`[k s] [{"k":1,"s":{"x":1,"y":7}},{"k":2,"s":{"x":2,"y":null}},{"k":3,"s":null}]`: {"k", "s", "s.x"},
		} {
			if got := jsonOf(t, c, target, lakescan.Columns(columns...)); got != want {
				t.Errorf("%s %v:\n%s, want\n%s", target, columns, got, want)
			}
		}
		r, err := c.Aggregate(t.Context(), target, []lakescan.Aggregate{{Func: "count", Column: "s.x"}, {Func: "max", Column: "S.X"}, {Func: "count", Column: "s.y"}, {Func: "min", Column: "s.y"}, {Func: "count", Column: "s"}, {Func: "count", Column: `"k"`}})
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if got := fmt.Sprint(r.Values); got != "[2 2 1 7 2 3]" {
			t.Errorf("%s: count, max, count, min, count, count are %s", target, got)
		}
	}
}

// jsonOf is what a scan yields: the names of its columns, in their order, and its rows.
func jsonOf(t *testing.T, c *lakescan.Client, target string, o ...lakescan.ScanOption) string {
	t.Helper()
	r, err := c.Scan(t.Context(), target, o...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rows []string
	for batch, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		text, err := batch.Record.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.Trim(string(bytes.Join(bytes.Fields(text), nil)), "[]"))
	}
	var names []string
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	return fmt.Sprint(names) + " [" + strings.Join(rows, ",") + "]"
}
