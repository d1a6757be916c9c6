package parquet_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// recorder notes the bytes asked for and refuses what was not planned.
type recorder struct {
	file   whole
	ranges []parquet.Range // nil: everything is at hand
	read   int64
}

func (r *recorder) Slice(off, n int64) ([]byte, error) {
	if r.ranges != nil && !slices.ContainsFunc(r.ranges, func(x parquet.Range) bool { return off >= x.Off && off+n <= x.Off+x.Len }) {
		return nil, fmt.Errorf("%d+%d was not planned", off, n)
	}
	r.read += n
	return r.file.Slice(off, n)
}

// randomSelection of a row group: sparse, dense, long runs, single rows.
func randomSelection(rnd *rand.Rand, rows int64) rowsel.Selection {
	var b rowsel.Builder
	long := int64(1) << rnd.IntN(12)
	gap := int64(1) << rnd.IntN(12)
	for at := rnd.Int64N(gap + 1); at < rows; {
		n := 1 + rnd.Int64N(long)
		b.Add(at, min(at+n, rows))
		at += n + 1 + rnd.Int64N(gap)
	}
	return b.Selection()
}

// numbered gives the columns field ids, so that a filter can name them.
func numbered(cols []parquet.Column) []parquet.Column {
	for i := range cols {
		cols[i].Output = expr.WithFieldID(cols[i].Output, i+1)
	}
	return cols
}

// readSelected reads row groups by selections: planned ranges only, the page index if withIndex, a late filter that keeps
// what late selects of every unit.
func readSelected(t *testing.T, file whole, o parquet.Options, withIndex bool, sels []rowsel.Selection, late func(rows int64) rowsel.Selection) *canon.Table {
	t.Helper()
	f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		t.Fatal(err)
	}
	cols := numbered(readable(f.Schema()))
	var filter expr.Expr
	if late != nil {
		filter = expr.IsNull{Col: expr.Column{ID: 1, Type: cols[0].Output.Type}}
	}
	r, err := f.Bind(cols, filter, o)
	if err != nil {
		t.Fatal(err)
	}
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	for rg := range f.RowGroups() {
		if withIndex {
			ranges := r.Ranges(rg, parquet.PartIndex, sels[rg], parquet.Cost{})
			r.Prune(rg, &recorder{file: file, ranges: ranges})
		}
		rec := &recorder{file: file, ranges: []parquet.Range{}}
		for _, p := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
			rec.ranges = append(rec.ranges, r.Ranges(rg, p, sels[rg], parquet.Cost{GapBytes: 100})...)
		}
		units, err := r.Open(rg, sels[rg])
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			readUnit(t, u, rec, late, table)
			u.Close()
			u.Close()
		}
	}
	return table
}

func readUnit(t *testing.T, u *parquet.Unit, b parquet.Bytes, late func(rows int64) rowsel.Selection, table *canon.Table) {
	t.Helper()
	for _, c := range u.Columns(parquet.PartFilter) {
		if err := u.Decode(t.Context(), c, b); err != nil {
			t.Fatal(err)
		}
	}
	if late != nil {
		rec, ok, err := u.FilterBatch()
		if err != nil || !ok || rec.NumRows() != int64(u.Rows()) || rec.NumCols() != 1 {
			t.Fatalf("FilterBatch: %v, %v, %v", rec, ok, err)
		}
		rec.Release()
		before := u.Selection()
		keep := late(int64(u.Rows()))
		if err := u.Narrow(keep); err != nil {
			t.Fatal(err)
		}
		if after := u.Selection(); after.AndNot(before).Count(1<<40) != 0 || u.Rows() != int(after.Count(1<<40)) {
			t.Fatalf("%v narrowed to %v, %d rows", before, after, u.Rows())
		}
	}
	for _, c := range u.Columns(parquet.PartRest) {
		if err := u.Decode(t.Context(), c, b); err != nil {
			t.Fatal(err)
		}
	}
	for {
		rec, err := u.Next(0)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Add(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
}

// TestSelection: decoding selected rows gives what selecting decoded rows gives (Q3), from no byte that was not planned
// (Q10), whether the page index is known or not, and with a late filter.
func TestSelection(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	for _, c := range m.Select(canon.ParquetGood) {
		if c.Has("variant") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			b, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			o, leaks := checked(t, parquet.Options{})
			whole, err := readTable(t, b, readable, o)
			if err != nil || whole == nil || len(whole.Facts().Schema) == 0 {
				t.Skip(err)
			}
			selections(t, b, whole.Rows(), o)
			leaks()
		})
	}
}

func selections(t *testing.T, b []byte, rows []string, o parquet.Options) {
	f, _, _ := parquet.ParseFooter(b, int64(len(b)), 0)
	rnd := rand.New(rand.NewPCG(7, uint64(len(b))))
	rounds := 12
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		sels := make([]rowsel.Selection, f.RowGroups())
		var want []string
		for rg := range sels {
			sels[rg] = randomSelection(rnd, f.Rows(rg))
			for from, to := range sels[rg].Ranges(f.Rows(rg)) {
				want = append(want, rows[f.FirstRow(rg)+from:f.FirstRow(rg)+to]...)
			}
		}
		o.UnitBytes = []int64{1 << 25, 1, 5000}[round%3]
		got := readSelected(t, b, o, round%2 == 0, sels, nil)
		if !slices.Equal(got.Rows(), want) {
			t.Fatalf("round %d: %d rows instead of %d", round, len(got.Rows()), len(want))
		}
		every := func(n int64) rowsel.Selection { return thirds(n) }
		got = readSelected(t, b, o, round%2 == 0, sels, every)
		if want := lateWant(t, f, b, o, sels, rows); !slices.Equal(got.Rows(), want) {
			t.Fatalf("round %d, late filter: %d rows instead of %d", round, len(got.Rows()), len(want))
		}
	}
}

// thirds selects every third row.
func thirds(n int64) rowsel.Selection {
	var b rowsel.Builder
	for i := int64(1); i < n; i += 3 {
		b.Add(i, i+1)
	}
	return b.Selection()
}

// lateWant applies thirds to each unit's share of the rows.
func lateWant(t *testing.T, f *parquet.Footer, b []byte, o parquet.Options, sels []rowsel.Selection, rows []string) (want []string) {
	r, err := f.Bind(numbered(readable(f.Schema())), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	for rg := range sels {
		units, err := r.Open(rg, sels[rg])
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			i := 0
			for from, to := range u.Selection().Ranges(f.Rows(rg)) {
				for ; from < to; from++ {
					if i%3 == 1 {
						want = append(want, rows[f.FirstRow(rg)+from])
					}
					i++
				}
			}
			u.Close()
		}
	}
	return want
}

// TestPositions are absolute in the file whatever is skipped (Q11), and constants fill every row.
func TestL12_PositionsAreAbsolute(t *testing.T) {
	t.Parallel()
	b := canonFile(t, "own-sorted-page-index")
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	o, leaks := checked(t, parquet.Options{UnitBytes: 4096, BatchRows: 100})
	r, err := f.Bind([]parquet.Column{
		{Output: arrow.Field{Name: "_pos", Type: arrow.PrimitiveTypes.Int64}, Position: true},
		{Output: arrow.Field{Name: "c", Type: arrow.BinaryTypes.String, Nullable: true}, Const: &expr.Literal{Type: arrow.BinaryTypes.String, Value: "x"}},
		{Output: arrow.Field{Name: "n", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true}},
		{Output: arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, Path: []string{"k"}},
	}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	rnd := rand.New(rand.NewPCG(1, 2))
	for rg := range f.RowGroups() {
		sel := randomSelection(rnd, f.Rows(rg))
		for from, to := range sel.Ranges(f.Rows(rg)) {
			for ; from < to; from++ {
				want = append(want, fmt.Sprintf(`%d,"x",null`, f.FirstRow(rg)+from))
			}
		}
		table := canon.NewTable(r.Schema(), canon.StoredOrder)
		err := scanGroup(t.Context(), r, rg, sel, whole(b), func(rec arrow.RecordBatch) error { return table.Add(rec) })
		if err != nil {
			t.Fatal(err)
		}
		for i, pos := range table.Column(0) {
			got = append(got, pos+","+table.Column(1)[i]+","+table.Column(2)[i])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("positions differ")
	}
	leaks()
}

func canonFile(t testing.TB, id string) []byte {
	t.Helper()
	m := canon.Corpus(t)
	for _, c := range m.Cases {
		if c.ID == id {
			b, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("no case %s", id)
	return nil
}
