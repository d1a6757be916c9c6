package parquet_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
	pq "github.com/parquet-go/parquet-go"
)

// parquet-go takes the bounds of a dictionary-encoded page by comparing with whatever stood first: values behind a NaN fall
// outside them. A filter for such a value must find it, by row groups and by pages.
func TestBoundsOfParquetGo(t *testing.T) {
	t.Parallel()
	var values []pq.Value
	for range 500 {
		for _, v := range []float64{math.Inf(-1), math.NaN(), 1.5, math.Inf(1), math.NaN(), 2} {
			values = append(values, pq.DoubleValue(v))
		}
	}
	b, err := writeMatrix(values, pq.DoubleType, &pq.RLEDictionary, &pq.Uncompressed, false, 1, 300)
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	cols := all(f.Schema())
	cols[0].Output = expr.WithFieldID(cols[0].Output, 1)
	for _, want := range []float64{math.Inf(-1), 1.5, math.Inf(1), 2} {
		bound, err := expr.Bind(expr.Compare{Op: expr.EQ, Col: expr.Column{Path: []string{"c"}}, Lit: expr.Lit(want)}, arrow.NewSchema([]arrow.Field{cols[0].Output}, nil), expr.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Bind(cols, bound, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if verdict, sel := r.Prune(0, whole(b)); verdict == expr.None || sel.Count(f.Rows(0)) != f.Rows(0) {
			t.Errorf("%g: %v, %d of %d rows", want, verdict, sel.Count(f.Rows(0)), f.Rows(0))
		}
	}
}

// parquet-go writes runs of true in RLE booleans as bytes of ones, which DuckDB refuses and PyArrow reads.
func TestRunsOfTrueByParquetGo(t *testing.T) {
	t.Parallel()
	values := make([]pq.Value, 1000)
	for i := range values {
		values[i] = pq.BooleanValue(i < 800 || i > 900)
	}
	for _, version := range []int{1, 2} {
		b, err := writeMatrix(values, pq.BooleanType, &pq.RLE, &pq.Uncompressed, true, version, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		err = scan(t.Context(), b, all, parquet.Options{}, func(rec arrow.RecordBatch) error {
			for i := range int(rec.NumRows()) {
				if got := rec.Column(0).(*array.Boolean).Value(i); got != values[at+i].Boolean() {
					t.Fatalf("v%d: row %d: %v", version, at+i, got)
				}
			}
			at += int(rec.NumRows())
			return nil
		})
		if err != nil || at != len(values) {
			t.Errorf("v%d: %d rows, %v", version, at, err)
		}
	}
}

// Filters of parquet-go lack values when a dictionary outgrew its limit: they say no to what is there.
func TestBloomFiltersOfParquetGo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := pq.NewWriter(&out, pq.NewSchema("t", pq.Group{"c": pq.Encoded(pq.Leaf(pq.Int32Type), &pq.RLEDictionary)}),
		pq.DictionaryMaxBytes(16), pq.PageBufferSize(100), pq.MaxRowsPerRowGroup(50), pq.BloomFilters(pq.SplitBlockFilter(10, "c")))
	rnd := rand.New(rand.NewPCG(1, 1))
	values := make([]int32, 500)
	for i := range values {
		values[i] = rnd.Int32()
		if _, err := w.WriteRows([]pq.Row{{pq.Int32Value(values[i]).Level(0, 0, 0)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	cols := all(f.Schema())
	cols[0].Output = expr.WithFieldID(cols[0].Output, 1)
	for i, v := range values {
		bound, err := expr.Bind(expr.Compare{Op: expr.EQ, Col: expr.Column{Path: []string{"c"}}, Lit: expr.Lit(v)}, arrow.NewSchema([]arrow.Field{cols[0].Output}, nil), expr.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Bind(cols, bound, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rg := 0
		for f.FirstRow(rg)+f.Rows(rg) <= int64(i) {
			rg++
		}
		if verdict, _ := r.Prune(rg, whole(b)); verdict == expr.None {
			t.Fatalf("value %d of row %d was pruned with row group %d", v, i, rg)
		}
	}
}
