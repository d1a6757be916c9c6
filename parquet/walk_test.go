package parquet_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// addressed serves a Walk's addresses from a file.
type addressed struct {
	w *parquet.Walk
	n int
	b parquet.Bytes
	t testing.TB
}

func (a addressed) Slice(at, n int64) ([]byte, error) {
	for i := range a.n {
		if off := at - a.w.Address(i, 0); off >= 0 && off < 1<<40 {
			return a.b.Slice(off, n)
		}
	}
	a.t.Fatalf("%d is no address", at)
	return nil, nil
}

// slide reads a row group as source does without an offset index: windows of about window bytes, of which Feed sees those from Keep on,
// and each unit only what Span and Dictionary name. It checks that little is at hand: the most is returned.
func slide(t *testing.T, r *parquet.Reader, rg int, file whole, sel rowsel.Selection, window, least int64, late func(rows int64) rowsel.Selection, table *canon.Table) (most int64, err error) {
	t.Helper()
	w, err := r.Walk(rg)
	if err != nil {
		return 0, err
	}
	chunks := w.Chunks()
	rows := r.Footer().Rows(rg)
	for done, turn := int64(0), 0; ; turn++ {
		if turn > 100_000 {
			t.Fatal("the walk does not end")
		}
		rec := &recorder{file: file, ranges: []parquet.Range{}}
		ends := w.Plan(window, least)
		held := int64(0)
		for i, end := range ends {
			from := w.Keep(i, done)
			rec.ranges = append(rec.ranges, parquet.Range{Off: from, Len: end - from})
			held += max(end-from, 0)
			if end > chunks[i].Off+chunks[i].Len {
				t.Fatalf("chunk %d planned to %d of %+v", i, end, chunks[i])
			}
		}
		most = max(most, held)
		for i, end := range ends {
			if err := w.Feed(i, addressed{w, len(chunks), rec, t}, end); err != nil {
				return most, err
			}
		}
		to := w.Rows()
		if to > done {
			part := &recorder{file: file, ranges: []parquet.Range{}}
			for i := range chunks {
				span := w.Span(i, done, to)
				if inside := parquet.Range(rec.ranges[i]); span.Off < inside.Off || span.Off+span.Len > inside.Off+inside.Len {
					t.Fatalf("chunk %d: rows %d-%d lie in %+v, but %+v is at hand", i, done, to, span, inside)
				}
				part.ranges = append(part.ranges, span, w.Dictionary(i))
			}
			units, err := w.Open(sel, done, to)
			if err != nil {
				return most, err
			}
			for _, u := range units {
				readUnit(t, u, addressed{w, len(chunks), part, t}, late, table)
				u.Close()
			}
			done = to
		}
		if w.Planned() {
			if done != rows {
				t.Fatalf("%d rows of %d, and nothing more to fetch", done, rows)
			}
			return most, nil
		}
	}
}

// slideTable reads all row groups that way.
func slideTable(t *testing.T, file whole, o parquet.Options, sels []rowsel.Selection, window, least int64, late func(rows int64) rowsel.Selection) *canon.Table {
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
		if _, err := slide(t, r, rg, file, sels[rg], window, least, late, table); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// sameBySliding compares with the rows of the whole file.
func sameBySliding(t *testing.T, b []byte, rows []string, o parquet.Options) {
	t.Helper()
	f, _, _ := parquet.ParseFooter(b, int64(len(b)), 0)
	rnd := rand.New(rand.NewPCG(56, uint64(len(b))))
	for round, window := range []int64{1, 300, 5000, 1 << 20, 2000, 1 << 20} {
		sels := make([]rowsel.Selection, f.RowGroups())
		want := rows
		if round%2 == 1 || round > 3 {
			want = nil
			for rg := range sels {
				sels[rg] = randomSelection(rnd, f.Rows(rg))
				if round > 3 {
					sels[rg] = stretches(rnd, f.Rows(rg))
				}
				for from, to := range sels[rg].Ranges(f.Rows(rg)) {
					want = append(want, rows[f.FirstRow(rg)+from:f.FirstRow(rg)+to]...)
				}
			}
		}
		o.UnitBytes = []int64{1 << 25, 5000}[round%2]
		least := max(window/8, 1)
		if got := slideTable(t, b, o, sels, window, least, nil); !slices.Equal(got.Rows(), want) {
			t.Fatalf("windows of %d bytes: %d rows instead of %d", window, len(got.Rows()), len(want))
		}
		all := func(n int64) rowsel.Selection { return rowsel.FromRanges(0, n) }
		if got := slideTable(t, b, o, sels, window, least, all); !slices.Equal(got.Rows(), want) {
			t.Fatalf("windows of %d bytes, filter first: %d rows instead of %d", window, len(got.Rows()), len(want))
		}
	}
}

// stretches selects a few rows here and there.
func stretches(rnd *rand.Rand, rows int64) rowsel.Selection {
	var b rowsel.Builder
	for at := rnd.Int64N(8); at < rows; at += 9 + rnd.Int64N(16) {
		b.Add(at, min(at+1+rnd.Int64N(8), rows))
	}
	return b.Selection()
}

// Pages found by their headers give the rows that whole chunks give, whatever the window, for every file of the corpus: all encodings,
// codecs and page versions, nested columns, dictionaries.
func TestL56_WalkOverTheCorpus(t *testing.T) {
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
			if testing.Short() && len(b) > 1<<20 {
				t.Skip("short")
			}
			o, leaks := checked(t, parquet.Options{})
			whole, err := readTable(t, b, readable, o)
			if err != nil || whole == nil || len(whole.Facts().Schema) == 0 {
				t.Skip(err)
			}
			sameBySliding(t, b, whole.Rows(), o)
			leaks()
		})
	}
}

// The same for random tables: pages that end within a row, old levels, pages of one value, dictionaries given up half way.
func TestL56_WalkOverRandomTables(t *testing.T) {
	t.Parallel()
	seeds := uint64(120)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		g := parquettest.NewRandom(seed)
		elements := g.Flat(1 + g.R.IntN(4))
		if seed%3 > 0 {
			elements = g.Nested(1+g.R.IntN(3), 1+g.R.IntN(3))
		}
		tree := parquettest.Tree(elements)
		rows := 1 + g.R.IntN(300)
		columns := g.Columns(tree, rows)
		layout := g.Layout(tree, rows)
		layout.Index = false
		switch seed % 4 {
		case 0, 2:
			layout.PageRows, layout.PageEntries = 1+g.R.IntN(20), 0
		case 1:
			layout.Version, layout.PageEntries = 1, 1+g.R.IntN(20)
		}
		b := parquettest.Table(elements, columns, layout).Bytes()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o, leaks := checked(t, parquet.Options{})
			whole, err := readTable(t, b, readable, o)
			if err != nil || whole == nil {
				t.Skip(err)
			}
			sameBySliding(t, b, whole.Rows(), o)
			leaks()
		})
	}
}

// skewed is a table whose columns take their bytes in different rows: one has them all in the last tenth, one in the first.
func skewed(rows int) []byte {
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "late", Type: thrift.ByteArray, Repetition: thrift.Optional},
		thrift.SchemaElement{Name: "early", Type: thrift.ByteArray, Repetition: thrift.Optional},
		thrift.SchemaElement{Name: "even", Type: thrift.Int64, Repetition: thrift.Required})
	columns := make([][]any, 3)
	for i := range rows {
		late, early := any(nil), any(nil)
		if i > rows*9/10 {
			late = []byte(strings.Repeat("x", 100))
		}
		if i < rows/10 {
			early = []byte(strings.Repeat("y", 100))
		}
		columns[0], columns[1], columns[2] = append(columns[0], late), append(columns[1], early), append(columns[2], int64(i))
	}
	return parquettest.Table(elements, columns, parquettest.Layout{PageRows: 100, Version: 1}).Bytes()
}

// What is at hand stays a few windows, however unevenly columns spread their bytes over the rows.
func TestL56_WindowsOfUnevenColumns(t *testing.T) {
	t.Parallel()
	b := skewed(100_000)
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(readable(f.Schema()), nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const window = 100 << 10
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	most, err := slide(t, r, 0, b, rowsel.Selection{}, window, 1<<10, nil, table)
	if err != nil || len(table.Rows()) != 100_000 {
		t.Fatal(len(table.Rows()), err)
	}
	t.Logf("%d bytes, at most %d at hand in windows of %d", len(b), most, window)
	if most > 3*window {
		t.Errorf("%d bytes at hand in windows of %d", most, window)
	}
}

// A page larger than the window is fetched whole, and no more.
func TestL56_PageLargerThanTheWindow(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(thrift.SchemaElement{Name: "a", Type: thrift.Int64, Repetition: thrift.Required}, thrift.SchemaElement{Name: "b", Type: thrift.Int64, Repetition: thrift.Required})
	columns := make([][]any, 2)
	for i := range 60_000 {
		columns[0], columns[1] = append(columns[0], int64(i)), append(columns[1], int64(-i))
	}
	b := parquettest.Table(elements, columns, parquettest.Layout{PageRows: 20_000, Version: 2}).Bytes()
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(readable(f.Schema()), nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	most, err := slide(t, r, 0, b, rowsel.Selection{}, 5000, 1000, nil, table)
	if err != nil || len(table.Rows()) != 60_000 {
		t.Fatal(len(table.Rows()), err)
	}
	if pages := int64(2 * 20_000 * 8); most > pages+40_000 {
		t.Errorf("%d bytes at hand for a page of %d bytes in each column", most, pages/2)
	}
}

// Headers with wrong sizes are errors with their place; nothing is fetched beyond the chunk for them.
func TestL56_WrongSizesInHeaders(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(thrift.SchemaElement{Name: "a", Type: thrift.Int64, Repetition: thrift.Required}, thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated}, thrift.SchemaElement{Name: "element", Type: thrift.Int32, Repetition: thrift.Optional})
	columns := make([][]any, 2)
	for i := range 1000 {
		columns[0], columns[1] = append(columns[0], int64(i)), append(columns[1], []any{int32(i), nil})
	}
	for name, change := range map[string]struct {
		column int
		change func(h *thrift.PageHeader)
	}{
		"too large":         {0, func(h *thrift.PageHeader) { h.CompressedSize = 1<<31 - 1 }},
		"a little too long": {0, func(h *thrift.PageHeader) { h.CompressedSize += 3 }},
		"too short":         {0, func(h *thrift.PageHeader) { h.CompressedSize -= 3 }},
		"too few values":    {0, func(h *thrift.PageHeader) { h.NumValues-- }},
		"nested, too large": {1, func(h *thrift.PageHeader) { h.CompressedSize = 1<<31 - 1 }},
		"nested, too short": {1, func(h *thrift.PageHeader) { h.CompressedSize -= 3 }},
		"nested, bomb":      {1, func(h *thrift.PageHeader) { h.UncompressedSize = 1<<31 - 1 }},
	} {
		for _, codec := range []thrift.Codec{thrift.Uncompressed, thrift.Snappy} {
			if codec == thrift.Uncompressed && name == "nested, bomb" {
				continue
			}
			t.Run(fmt.Sprint(name, " ", codec), func(t *testing.T) {
				t.Parallel()
				table := parquettest.Table(elements, columns, parquettest.Layout{PageRows: 100, Version: 1, Codec: codec})
				pages := table.Groups[0].Chunks[change.column].Pages
				pages[5].Change = func(r *parquettest.Raw) { change.change(&r.Header) }
				b := table.Bytes()
				f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
				if err != nil {
					t.Fatal(err)
				}
				r, err := f.Bind(readable(f.Schema()), nil, parquet.Options{MaxPage: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				err = slideQuietly(t, r, b)
				var c *parquet.CorruptError
				var large *parquet.TooLargeError
				switch {
				case errors.As(err, &large) && name == "nested, bomb":
				case !errors.As(err, &c):
					t.Fatalf("%v", err)
				case c.RowGroup != 0 || c.Offset < 4 || !strings.HasPrefix(c.Column, string("al"[change.column])):
					t.Errorf("%v has no place", err)
				}
			})
		}
	}
}

// slideQuietly is slide for files that may be broken: the first error, of the walk or of a decode.
func slideQuietly(t *testing.T, r *parquet.Reader, file whole) error {
	w, err := r.Walk(0)
	if err != nil {
		return err
	}
	for done := int64(0); ; {
		for i, end := range w.Plan(700, 50) {
			if err := w.Feed(i, addressed{w, 2, file[:end:end], t}, end); err != nil {
				return err
			}
		}
		units, err := w.Open(rowsel.Selection{}, done, w.Rows())
		if err != nil {
			return err
		}
		done = w.Rows()
		for _, u := range units {
			for _, c := range u.Columns(parquet.PartRest) {
				if e := u.Decode(t.Context(), c, addressed{w, 2, file, t}); err == nil {
					err = e
				}
			}
			u.Close()
		}
		if err != nil || w.Planned() {
			return err
		}
	}
}

// Rows are skipped out of the middle of pages that end within a row.
func TestL56_SkipsOverPagesThatEndWithinARow(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated}, thrift.SchemaElement{Name: "element", Type: thrift.Int32, Repetition: thrift.Optional})
	var column []any
	for i := range 60 {
		column = append(column, []any{int32(i), int32(-i)})
	}
	b := parquettest.Table(elements, [][]any{column}, parquettest.Layout{PageEntries: 3, Version: 1}).Bytes() // three rows take two pages
	o, leaks := checked(t, parquet.Options{})
	all, err := readTable(t, b, readable, o)
	if err != nil {
		t.Fatal(err)
	}
	for from := int64(1); from < 30; from++ {
		for first := range int64(3) {
			sel := rowsel.FromRanges(first, first+1).Or(rowsel.FromRanges(first+from, first+from+2))
			want := []string{all.Rows()[first], all.Rows()[first+from], all.Rows()[first+from+1]}
			got := slideTable(t, b, o, []rowsel.Selection{sel}, 1<<20, 1, nil)
			if !slices.Equal(got.Rows(), want) {
				t.Fatalf("rows %v: %v instead of %v", sel, got.Rows(), want)
			}
		}
	}
	leaks()
}

// counted counts what is asked for.
type counted struct {
	whole
	bytes int64
}

func (c *counted) Slice(off, n int64) ([]byte, error) {
	c.bytes += n
	return c.whole.Slice(off, n)
}

// Of a page little more is asked for than it takes, however small it is: what crosses pieces of what is at hand is copied, and held.
func TestTinyPagesAreAskedForAsSuch(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(thrift.SchemaElement{Name: "a", Type: thrift.Int64, Repetition: thrift.Required})
	var column []any
	for i := range 20_000 {
		column = append(column, int64(i))
	}
	for _, rows := range []int{20, 1000, 20_000} {
		b := parquettest.Table(elements, [][]any{column}, parquettest.Layout{PageRows: rows, Version: 1}).Bytes()
		f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Bind(readable(f.Schema()), nil, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		units, err := r.Open(0, rowsel.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		asked := &counted{whole: b}
		for _, u := range units {
			if err := u.Decode(t.Context(), 0, asked); err != nil {
				t.Fatal(err)
			}
			u.Close()
		}
		if most := int64(8 * len(b)); asked.bytes > most {
			t.Errorf("pages of %d rows: %d bytes asked for of a file of %d", rows, asked.bytes, len(b))
		}
	}
}
