package parquet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/pool"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// retyped wants the top-level byte strings of a file as other types.
func retyped(s *arrow.Schema, text, bytes arrow.DataType) []parquet.Column {
	cols := all(s)
	for i := range cols {
		switch cols[i].Output.Type.ID() {
		case arrow.STRING:
			cols[i].Output.Type = text
		case arrow.BINARY:
			cols[i].Output.Type = bytes
		}
	}
	return cols
}

func asViews(s *arrow.Schema) []parquet.Column {
	return retyped(s, arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView)
}

func indexed(t arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t}
}

func asDictionaries(s *arrow.Schema) []parquet.Column {
	return retyped(s, indexed(arrow.BinaryTypes.String), indexed(arrow.BinaryTypes.Binary))
}

// stringLayouts are the other layouts of byte strings.
var stringLayouts = map[string]func(*arrow.Schema) []parquet.Column{"views": asViews, "dictionaries": asDictionaries}

// textFile has a nullable column of byte strings: short ones, ones of twelve and thirteen bytes, long ones.
func textFile(rows int, o parquettest.Layout) ([]byte, []any) {
	values := make([]any, rows)
	for i := range values {
		switch i % 11 {
		case 0:
			values[i] = []byte(fmt.Sprintf("%03d-123456789"[:12], i%40))
		case 3, 8:
			values[i] = nil
		case 5:
			values[i] = []byte(strings.Repeat("long ", 1+i%97))
		case 7:
			values[i] = []byte{}
		default:
			values[i] = []byte(fmt.Sprint("v", i%23))
		}
	}
	elements := parquettest.Elements(thrift.SchemaElement{
		Name: "s", Type: thrift.ByteArray, Repetition: thrift.Optional, Converted: thrift.NoConverted, Logical: thrift.Logical{Kind: thrift.LogicalString},
	})
	return parquettest.Table(elements, [][]any{values}, o).Bytes(), values
}

func textAt(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.StringView:
		return a.Value(i)
	case *array.Dictionary:
		return textAt(a.Dictionary(), a.GetValueIndex(i))
	}
	return a.DataType()
}

// TestStringLayoutsAreEqual: views and dictionaries hold the same values as offsets, for every encoding, codec and version of pages, when
// the dictionary is given up in mid-chunk, in windows of any size, with selections, and after units and fetched bytes are gone.
func TestStringLayoutsAreEqual(t *testing.T) {
	t.Parallel()
	const rows = 1500
	for _, e := range parquettest.Encodings(thrift.ByteArray) {
		for _, codec := range []thrift.Codec{thrift.Uncompressed, thrift.Snappy, thrift.Zstd} {
			for version := 1; version <= 2; version++ {
				for _, given := range []int{0, 2} {
					if given > 0 && !e.Dictionary() {
						continue
					}
					o := parquettest.Layout{PageRows: 170, Version: version, Codec: codec, Encoding: parquettest.Always(e), DictionaryPages: given, Index: version == 2}
					b, values := textFile(rows, o)
					t.Run(fmt.Sprintf("%v %v v%d given up after %d", e, codec, version, given), func(t *testing.T) {
						t.Parallel()
						for layout, as := range stringLayouts {
							for _, unit := range []int64{0, 4000} {
								for name, sel := range map[string]rowsel.Selection{"all": {}, "some": every(rows, 5, 7), "few": every(rows, 1, 400)} {
									keptBatches(t, fmt.Sprint(layout, " ", unit, " ", name), b, as, unit, sel, values)
								}
							}
						}
					})
				}
			}
		}
	}
}

// every selects n rows at each step.
func every(rows, n, step int64) rowsel.Selection {
	var b rowsel.Builder
	for at := int64(3); at < rows; at += step {
		b.Add(at, min(at+n, rows))
	}
	return b.Selection()
}

// keptBatches keeps all batches until the end and looks at them then.
func keptBatches(t *testing.T, name string, b []byte, as func(*arrow.Schema) []parquet.Column, unit int64, sel rowsel.Selection, values []any) {
	t.Helper()
	o, leaks := checked(t, parquet.Options{UnitBytes: unit, BatchRows: 333})
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(as(f.Schema()), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	var kept []arrow.RecordBatch
	err = scanGroup(t.Context(), r, 0, sel, whole(b), func(rec arrow.RecordBatch) error {
		rec.Retain()
		kept = append(kept, rec)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got []any
	for _, rec := range kept {
		for i := range int(rec.NumRows()) {
			got = append(got, textAt(rec.Column(0), i))
		}
		rec.Release()
	}
	leaks()
	var want []any
	for from, to := range sel.Ranges(int64(len(values))) {
		for _, v := range values[from:to] {
			if v != nil {
				v = string(v.([]byte))
			}
			want = append(want, v)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d values, want %d", name, len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s: row %d: %#v, want %#v", name, i, got[i], want[i])
			}
		}
	}
}

// TestNarrowStringLayouts: a filter over the column itself, and the rows that it leaves, many and few.
func TestNarrowStringLayouts(t *testing.T) {
	t.Parallel()
	for _, e := range []thrift.Encoding{thrift.Plain, thrift.RLEDictionary, thrift.DeltaByteArray} {
		b, values := textFile(5000, parquettest.Layout{PageRows: 700, Encoding: parquettest.Always(e), Codec: thrift.Zstd, DictionaryPages: 3})
		for layout, as := range stringLayouts {
			for _, sel := range []rowsel.Selection{every(5000, 90, 100), every(5000, 1, 300), every(5000, 0, 5000)} {
				o, leaks := checked(t, parquet.Options{})
				f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
				if err != nil {
					t.Fatal(err)
				}
				r, err := f.Bind(as(f.Schema()), nil, o)
				if err != nil {
					t.Fatal(err)
				}
				units, err := r.Open(0, rowsel.Selection{})
				if err != nil {
					t.Fatal(err)
				}
				u := units[0]
				if err := u.Decode(t.Context(), 0, whole(b)); err != nil {
					t.Fatal(err)
				}
				if err := u.Narrow(sel); err != nil {
					t.Fatal(err)
				}
				at, next := 0, []int{}
				for from, to := range sel.Ranges(5000) {
					for i := from; i < to; i++ {
						next = append(next, int(i))
					}
				}
				for u.Rows() > 0 && at < len(next) {
					rec, err := u.Next(0)
					if err != nil {
						t.Fatal(err)
					}
					for i := range int(rec.NumRows()) {
						got, want := textAt(rec.Column(0), i), values[next[at]]
						if want != nil {
							want = string(want.([]byte))
						}
						if got != want {
							t.Fatalf("%s %v: row %d: %#v, want %#v", layout, e, next[at], got, want)
						}
						at++
					}
					rec.Release()
				}
				u.Close()
				leaks()
			}
		}
	}
}

// TestFewViewsDoNotHoldPages: a selection of a thousandth of the rows leaves a thousandth of the pages' bytes.
func TestFewViewsDoNotHoldPages(t *testing.T) {
	t.Parallel()
	b, _ := textFile(60_000, parquettest.Layout{PageRows: 20_000, Codec: thrift.Zstd})
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(asViews(f.Schema()), nil, parquet.Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	var kept []arrow.RecordBatch
	err = scanGroup(t.Context(), r, 0, every(60_000, 1, 1000), whole(b), func(rec arrow.RecordBatch) error {
		rec.Retain()
		kept = append(kept, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if held := mem.CurrentAlloc(); held > 100<<10 {
		t.Errorf("sixty views hold %d bytes", held)
	}
	for _, rec := range kept {
		rec.Release()
	}
	mem.AssertSize(t, 0)
}

// TestConstantsInStringLayouts: columns that the file does not have.
func TestConstantsInStringLayouts(t *testing.T) {
	t.Parallel()
	b, _ := textFile(100, parquettest.Layout{})
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.StringView, indexed(arrow.BinaryTypes.String)} {
		o, leaks := checked(t, parquet.Options{BatchRows: 30})
		want := func(*arrow.Schema) []parquet.Column {
			return []parquet.Column{
				{Output: arrow.Field{Name: "c", Type: typ}, Const: &expr.Literal{Type: arrow.BinaryTypes.String, Value: "the same value in every row"}},
				{Output: arrow.Field{Name: "n", Type: typ, Nullable: true}},
			}
		}
		rows := 0
		err := scan(t.Context(), b, want, o, func(rec arrow.RecordBatch) error {
			for i := range int(rec.NumRows()) {
				if c, n := textAt(rec.Column(0), i), textAt(rec.Column(1), i); c != "the same value in every row" || n != nil {
					return fmt.Errorf("%v and %v", c, n)
				}
				rows++
			}
			return nil
		})
		if err != nil || rows != 100 {
			t.Errorf("%v: %d rows, %v", typ, rows, err)
		}
		leaks()
	}
}

// BenchmarkStringLayouts decodes a column of forty distinct values in each layout.
func BenchmarkStringLayouts(b *testing.B) {
	const rows = 1 << 20
	values := make([]any, rows)
	for i := range values {
		values[i] = []byte(fmt.Sprintf("value number %d", i*7919%40))
	}
	elements := parquettest.Elements(thrift.SchemaElement{
		Name: "s", Type: thrift.ByteArray, Repetition: thrift.Optional, Converted: thrift.NoConverted, Logical: thrift.Logical{Kind: thrift.LogicalString},
	})
	file := parquettest.Table(elements, [][]any{values}, parquettest.Layout{PageRows: 1 << 17, Encoding: parquettest.Always(thrift.RLEDictionary)}).Bytes()
	recycled := pool.New(nil, 1<<30, nil)
	for _, layout := range []struct {
		name string
		as   func(*arrow.Schema) []parquet.Column
	}{{"offsets", all}, {"views", asViews}, {"dictionary", asDictionaries}} {
		b.Run(layout.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := scan(b.Context(), file, layout.as, parquet.Options{Allocator: recycled}, func(arrow.RecordBatch) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/value")
		})
	}
}
