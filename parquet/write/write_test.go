package write_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	oracle "github.com/parquet-go/parquet-go"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/parquettest/walk"
	"github.com/lakescan/lakescan/parquet/write"
)

// batches reads a file into batches, which the caller releases.
func batches(t *testing.T, file []byte, rows int) (out []arrow.RecordBatch, table *canon.Table) {
	t.Helper()
	table, err := walk.Read(t.Context(), file, walk.Request{Options: parquet.Options{BatchRows: rows}, Batch: func(r arrow.RecordBatch) error {
		r.Retain()
		out = append(out, r)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out, table
}

func writeAll(t testing.TB, recs []arrow.RecordBatch, s *arrow.Schema, o write.Options) ([]byte, *write.Result) {
	t.Helper()
	var b bytes.Buffer
	w, err := write.New(&b, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		if err := w.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	res, err := w.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Bytes != int64(b.Len()) {
		t.Fatalf("%d bytes reported of %d", res.Bytes, b.Len())
	}
	return b.Bytes(), res
}

func release(recs []arrow.RecordBatch) {
	for _, r := range recs {
		r.Release()
	}
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("%s: row %d: want %s, got %s", what, i, want[i], got[i])
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
	}
}

// Every file of the corpus that can be read is written and read again: same rows, same types.
func TestCorpusFilesSurviveRewriting(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	for _, c := range m.Select(canon.ParquetGood) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			file, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			recs, before := batches(t, file, 1000)
			defer release(recs)
			if len(recs) == 0 {
				return
			}
			out, res := writeAll(t, recs, recs[0].Schema(), write.Options{RowGroupRows: 700, PageRows: 100})
			_, after := batches(t, out, 0)
			if d := before.Facts().Diff(after.Facts(), true); d != nil {
				t.Error(strings.Join(d, "\n"))
			}
			if res.Rows != c.Expected.NumRows || len(res.SplitOffsets) != (int(res.Rows)+699)/700 {
				t.Errorf("%d rows, row groups at %v", res.Rows, res.SplitOffsets)
			}
		})
	}
}

func TestRandomNestedBatchesSurvive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		g := parquettest.NewRandom(seed)
		elements := g.Nested(1+g.R.IntN(3), 1+g.R.IntN(4))
		tree := parquettest.Tree(elements)
		columns := g.Columns(tree, []int{1, 30, 700}[g.R.IntN(3)])
		file := parquettest.Table(elements, columns, parquettest.Layout{}).Bytes()
		recs, _ := batches(t, file, 1+g.R.IntN(100))
		out, _ := writeAll(t, recs, recs[0].Schema(), write.Options{RowGroupRows: int64(1 + g.R.IntN(800)), PageRows: int64(1 + g.R.IntN(300)), Codec: "snappy"})
		release(recs)
		_, after := batches(t, out, 0)
		same(t, fmt.Sprint("seed ", seed), parquettest.Rows(tree, columns), after.Rows())
	}
}

// events are flat rows of the types that projections have, sorted by id.
func events(n int, seed uint64) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(seed, 1))
	s := arrow.NewSchema([]arrow.Field{
		expr.WithFieldID(arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64}, 1),
		expr.WithFieldID(arrow.Field{Name: "kind", Type: arrow.BinaryTypes.String, Nullable: true}, 2),
		expr.WithFieldID(arrow.Field{Name: "amount", Type: &arrow.Decimal128Type{Precision: 20, Scale: 2}, Nullable: true}, 3),
		expr.WithFieldID(arrow.Field{Name: "score", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, 4),
		expr.WithFieldID(arrow.Field{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true}, 5),
		expr.WithFieldID(arrow.Field{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}, 6),
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	id := int64(0)
	for range n {
		id += r.Int64N(5)
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.StringBuilder).Append([]string{"view", "click", "buy"}[r.IntN(3)])
		b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(r.Int64() - math.MaxInt64/2))
		f := r.Float64() - 0.5
		if r.IntN(50) == 0 {
			f = math.NaN()
		}
		b.Field(3).(*array.Float64Builder).Append(f)
		if r.IntN(10) == 0 {
			b.Field(4).AppendNull()
		} else {
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(r.Int64N(1e15)))
		}
		if r.IntN(3) == 0 {
			b.Field(5).AppendNull()
		} else {
			b.Field(5).(*array.StringBuilder).Append(fmt.Sprintf("note %d %s", r.IntN(1<<30), strings.Repeat("z", r.IntN(60))))
		}
	}
	return b.NewRecordBatch()
}

// cut slices a batch into batches of n rows.
func cut(rec arrow.RecordBatch, n int) (out []arrow.RecordBatch) {
	for at := 0; at < int(rec.NumRows()); at += n {
		out = append(out, rec.NewSlice(int64(at), min(int64(at+n), rec.NumRows())))
	}
	return out
}

func TestBytesDoNotDependOnBatches(t *testing.T) {
	t.Parallel()
	rec := events(30_000, 1)
	defer rec.Release()
	var first []byte
	for _, n := range []int{30_000, 4096, 5000, 1000, 7} {
		recs := cut(rec, n)
		out, _ := writeAll(t, recs, rec.Schema(), write.Options{RowGroupRows: 10_000, PageRows: 5000})
		release(recs)
		if first == nil {
			first = out
		}
		if !bytes.Equal(first, out) {
			t.Errorf("batches of %d rows give another file", n)
		}
	}
}

func TestAnotherReaderAgrees(t *testing.T) {
	t.Parallel()
	rec := events(25_000, 2)
	defer rec.Release()
	for _, codec := range []string{"zstd", "snappy", "gzip", "brotli", "uncompressed"} {
		out, _ := writeAll(t, []arrow.RecordBatch{rec}, rec.Schema(), write.Options{
			Codec: codec, RowGroupRows: 12_000,
			Sorting: []write.Sorting{{Path: []string{"id"}}}, Metadata: map[string]string{"lakescan.job": "j1"}, Bloom: [][]string{{"kind"}},
		})
		f, err := oracle.OpenFile(bytes.NewReader(out), int64(len(out)))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := f.Lookup("lakescan.job"); !ok || v != "j1" {
			t.Errorf("metadata %q %v", v, ok)
		}
		row := 0
		for _, rg := range f.RowGroups() {
			if s := rg.SortingColumns(); len(s) != 1 || s[0].Path()[0] != "id" || s[0].Descending() {
				t.Errorf("sorting %v", s)
			}
			rows := rg.Rows()
			buf := make([]oracle.Row, 100)
			for {
				n, err := rows.ReadRows(buf)
				for _, r := range buf[:n] {
					compareRow(t, rec, row, r)
					row++
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			rows.Close()
			if ok, err := rg.ColumnChunks()[1].BloomFilter().Check(oracle.ValueOf("click")); !ok || err != nil {
				t.Errorf("Bloom filter: %v %v", ok, err)
			}
		}
		if row != 25_000 {
			t.Errorf("%s: %d rows", codec, row)
		}
	}
}

func compareRow(t *testing.T, rec arrow.RecordBatch, i int, r oracle.Row) {
	t.Helper()
	text := func(v oracle.Value, c int) string {
		if v.IsNull() {
			return "null"
		}
		switch c {
		case 0, 4:
			return fmt.Sprint(v.Int64())
		case 2:
			x := new(big.Int).SetBytes(v.ByteArray())
			if v.ByteArray()[0] >= 0x80 {
				x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v.ByteArray()))))
			}
			return x.String()
		case 3:
			return fmt.Sprint(v.Double())
		}
		return string(v.ByteArray())
	}
	want := func(c int) string {
		if rec.Column(c).IsNull(i) {
			return "null"
		}
		switch a := rec.Column(c).(type) {
		case *array.Int64:
			return fmt.Sprint(a.Value(i))
		case *array.Timestamp:
			return fmt.Sprint(int64(a.Value(i)))
		case *array.Decimal128:
			return a.Value(i).BigInt().String()
		case *array.Float64:
			return fmt.Sprint(a.Value(i))
		}
		return rec.Column(c).(*array.String).Value(i)
	}
	for c, v := range r {
		if text(v, c) != want(c) {
			t.Fatalf("row %d, column %d: want %s, got %s", i, c, want(c), text(v, c))
		}
	}
}

// parquet-go 0.32 cannot read every block of LZ4, so this codec is judged by the other codecs.
func TestCodecsHoldTheSameRows(t *testing.T) {
	t.Parallel()
	rec := events(9000, 6)
	defer rec.Release()
	_, want := batches(t, func() []byte {
		out, _ := writeAll(t, []arrow.RecordBatch{rec}, rec.Schema(), write.Options{Codec: "uncompressed"})
		return out
	}(), 0)
	out, _ := writeAll(t, []arrow.RecordBatch{rec}, rec.Schema(), write.Options{Codec: "lz4_raw"})
	_, got := batches(t, out, 0)
	same(t, "lz4_raw", want.Rows(), got.Rows())
}

// Pages and row groups are found by their index: a range of the sorted key reads few bytes.
func TestPageIndexLeadsToFewBytes(t *testing.T) {
	t.Parallel()
	rec := events(120_000, 3)
	defer rec.Release()
	out, res := writeAll(t, []arrow.RecordBatch{rec}, rec.Schema(), write.Options{PageRows: 4096})
	id := expr.Column{ID: 1, Path: []string{"id"}, Type: arrow.PrimitiveTypes.Int64}
	lit := func(v int64) expr.Literal { return expr.Literal{Type: id.Type, Value: v} }
	e := expr.And{expr.Compare{Op: expr.GE, Col: id, Lit: lit(100_000)}, expr.Compare{Op: expr.LT, Col: id, Lit: lit(101_000)}}
	r, err := res.Footer.Bind(walk.Columns(res.Footer.Schema()), e, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, sel := r.Prune(0, walk.File(out))
	if v != expr.Some || sel.Count(120_000) > 3*4096 || sel.None() {
		t.Fatalf("verdict %v, %d rows", v, sel.Count(120_000))
	}
	total := int64(0)
	for _, p := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
		for _, x := range r.Ranges(0, p, sel, parquet.Cost{}) {
			total += x.Len
		}
	}
	if total > int64(len(out))/8 {
		t.Errorf("%d of %d bytes for 1 %% of the rows", total, len(out))
	}
}

func TestMetricsAreExact(t *testing.T) {
	t.Parallel()
	rec := events(20_000, 4)
	defer rec.Release()
	_, res := writeAll(t, []arrow.RecordBatch{rec}, rec.Schema(), write.Options{RowGroupRows: 6000})
	if len(res.Columns) != 6 || res.Rows != 20_000 || len(res.SplitOffsets) != 4 || res.SplitOffsets[0] != 4 {
		t.Fatalf("%+v", res)
	}
	for c, m := range res.Columns {
		a := rec.Column(c)
		nans, low, high := int64(0), "", ""
		var lowest, highest *big.Float
		var lo, hi string
		for i := range a.Len() {
			if a.IsNull(i) {
				continue
			}
			switch a := a.(type) {
			case *array.Float64:
				if v := a.Value(i); v != v {
					nans++
				} else {
					track(&lowest, &highest, big.NewFloat(v))
				}
			case *array.Int64:
				track(&lowest, &highest, new(big.Float).SetInt64(a.Value(i)))
			case *array.Timestamp:
				track(&lowest, &highest, new(big.Float).SetInt64(int64(a.Value(i))))
			case *array.Decimal128:
				track(&lowest, &highest, new(big.Float).SetInt(a.Value(i).BigInt()))
			case *array.String:
				if lo == "" || a.Value(i) < lo {
					lo = a.Value(i)
				}
				hi = max(hi, a.Value(i))
			}
		}
		if lowest != nil {
			low, high = lowest.Text('g', 30), highest.Text('g', 30)
		} else {
			low, high = lo, hi
		}
		if m.FieldID != c+1 || m.Values != 20_000 || m.Nulls != int64(a.NullN()) || m.NaNs != nans || m.Size <= 0 {
			t.Errorf("%v: %+v, want %d nulls, %d NaNs", m.Path, m, a.NullN(), nans)
		}
		if number(m.Lower.Value) != low || number(m.Upper.Value) != high {
			t.Errorf("%v: bounds %s %s, want %s %s", m.Path, number(m.Lower.Value), number(m.Upper.Value), low, high)
		}
	}
}

func track(low, high **big.Float, v *big.Float) {
	if *low == nil || v.Cmp(*low) < 0 {
		*low = v
	}
	if *high == nil || v.Cmp(*high) > 0 {
		*high = v
	}
}

func number(v any) string {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetInt64(v).Text('g', 30)
	case float64:
		return big.NewFloat(v).Text('g', 30)
	case *big.Int:
		return new(big.Float).SetInt(v).Text('g', 30)
	}
	return fmt.Sprint(v)
}

// A column of nulls or NaN alone has no bounds, and says so rather than lie.
func TestColumnsWithoutNumbers(t *testing.T) {
	t.Parallel()
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Float32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for range 10 {
		b.Field(0).AppendNull()
		b.Field(1).(*array.Float32Builder).Append(float32(math.NaN()))
	}
	rec := b.NewRecordBatch()
	out, res := writeAll(t, []arrow.RecordBatch{rec}, s, write.Options{})
	if m := res.Columns[0]; m.Nulls != 10 || m.NaNs != 0 || m.Lower.Value != nil {
		t.Errorf("%+v", m)
	}
	if m := res.Columns[1]; m.Nulls != 0 || m.NaNs != 10 || m.Lower.Value != nil || m.Upper.Value != nil {
		t.Errorf("%+v", m)
	}
	_, table := batches(t, out, 0)
	if rows := table.Rows(); len(rows) != 10 || rows[0] != `[null,"NaN"]` {
		t.Error(rows)
	}
}

func TestFileWithoutRows(t *testing.T) {
	t.Parallel()
	rec := events(0, 1)
	out, res := writeAll(t, nil, rec.Schema(), write.Options{})
	if res.Rows != 0 || len(res.SplitOffsets) != 0 {
		t.Errorf("%+v", res)
	}
	_, table := batches(t, out, 0)
	if f := table.Facts(); f.NumRows != 0 || len(f.Schema) != 6 {
		t.Errorf("%+v", f)
	}
}

func TestDictionaryColumnsAreWrittenAsValues(t *testing.T) {
	t.Parallel()
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	s := arrow.NewSchema([]arrow.Field{{Name: "d", Type: dt, Nullable: true}}, nil)
	a, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(`["a","b",null,"a"]`))
	if err != nil {
		t.Fatal(err)
	}
	rec := array.NewRecordBatch(s, []arrow.Array{a}, 4)
	out, _ := writeAll(t, []arrow.RecordBatch{rec, rec}, s, write.Options{})
	_, table := batches(t, out, 0)
	same(t, "dictionary", []string{`["a"]`, `["b"]`, `[null]`, `["a"]`, `["a"]`, `["b"]`, `[null]`, `["a"]`}, table.Rows())
}

func TestWideValuesEndPages(t *testing.T) {
	t.Parallel()
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 300 {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat(string(rune('a'+i%26)), 1000) + fmt.Sprint(i))
	}
	rec := b.NewRecordBatch()
	out, _ := writeAll(t, []arrow.RecordBatch{rec}, s, write.Options{PageBytes: 20_000, RowGroupBytes: 1 << 30})
	f, err := oracle.OpenFile(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatal(err)
	}
	x, err := f.RowGroups()[0].ColumnChunks()[0].OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	if n := x.NumPages(); n < 14 || n > 20 {
		t.Errorf("%d pages for 300 kB at 20 kB a page", n)
	}
	_, table := batches(t, out, 0)
	if len(table.Rows()) != 300 {
		t.Error(len(table.Rows()))
	}
}

// failing takes n bytes, then fails.
type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestErrorsOfTheSinkAndOfTheContextEndTheWriter(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	rec := events(20_000, 5)
	defer rec.Release()
	for _, n := range []int{0, 10, 100_000, 600_000} {
		w, err := write.New(&failing{n}, rec.Schema(), write.Options{RowGroupRows: 8192})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(t.Context(), rec)
		if err == nil {
			_, err = w.Close(t.Context())
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if again := w.Write(t.Context(), rec); again == nil {
			t.Error("a writer goes on after an error")
		}
		w.Abort()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, err := write.New(io.Discard, rec.Schema(), write.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, rec); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Abort()
	w.Abort()
	if _, err := w.Close(t.Context()); err == nil {
		t.Error("an aborted writer closed a file")
	}
	mem.AssertSize(t, 0)
}

func TestBatchesAreReleased(t *testing.T) {
	t.Parallel()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	for _, end := range []string{"close", "abort"} {
		s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
		b := array.NewRecordBuilder(mem, s)
		w, err := write.New(io.Discard, s, write.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			for i := range int64(1000) {
				b.Field(0).(*array.Int64Builder).Append(i)
			}
			rec := b.NewRecordBatch()
			if err := w.Write(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		b.Release()
		if end == "abort" {
			w.Abort()
		} else if _, err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mem.AssertSize(t, 0)
}

func TestOptionsAndSchemasThatCannotBe(t *testing.T) {
	t.Parallel()
	s := events(0, 1).Schema()
	list := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}, nil)
	for name, c := range map[string]struct {
		s *arrow.Schema
		o write.Options
	}{
		"codec":          {s, write.Options{Codec: "lzo"}},
		"sorting":        {s, write.Options{Sorting: []write.Sorting{{Path: []string{"nope"}}}}},
		"sorting a list": {list, write.Options{Sorting: []write.Sorting{{Path: []string{"l", "list", "element"}}}}},
		"bloom":          {s, write.Options{Bloom: [][]string{{"nope"}}}},
		"type":           {arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.FixedWidthTypes.MonthInterval}}, nil), write.Options{}},
	} {
		if _, err := write.New(io.Discard, c.s, c.o); !errors.Is(err, write.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, err := write.New(io.Discard, s, write.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rec := array.NewRecordBatch(list, []arrow.Array{array.MakeArrayOfNull(memory.DefaultAllocator, list.Field(0).Type, 1)}, 1)
	if err := w.Write(t.Context(), rec); err == nil {
		t.Error("a batch of another schema was taken")
	}
}

func BenchmarkWrite(b *testing.B) {
	rec := events(131_072, 1)
	recs := cut(rec, 8192)
	for _, codec := range []string{"zstd", "snappy", "uncompressed"} {
		b.Run("codec="+codec, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				out, _ := writeAll(b, recs, rec.Schema(), write.Options{Codec: codec})
				size = len(out)
			}
			b.ReportMetric(float64(size), "file-bytes")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/131_072, "ns/row")
		})
	}
}
