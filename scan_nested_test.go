package lakescan_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
	r, err := c.Scan(t.Context(), metadata, lakescan.Columns("k"), lakescan.Where(expr.MustParse("s.x = 2")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []int64
	for batch, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, batch.Record.Column(0).(*array.Int64).Int64Values()...)
	}
	if len(got) != 1 || got[0] != 2 {
		t.Errorf("rows %v, want k = 2", got)
	}
}
