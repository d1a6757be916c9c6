package walk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Every Parquet file of the corpus; -v prints the table of cases.
func TestCorpusTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if failed := Table(&b, Corpus(t.Context(), canon.Corpus(t), parquet.Options{})); failed > 0 {
		t.Errorf("%d cases fail", failed)
	}
	t.Log("\n" + b.String())
}

func TestJudgeFindsWrongAnswers(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	i := slices.IndexFunc(m.Cases, func(c canon.Case) bool { return c.ID == "pt-nullable-impala" })
	good := m.Cases[i]
	b, err := m.File(good)
	if err != nil {
		t.Fatal(err)
	}
	if o := Judge(t.Context(), good, b, parquet.Options{}); o.Faults != nil {
		t.Fatal(o.Faults)
	}
	wrong := good
	wrong.Expected.Columns = slices.Clone(good.Expected.Columns)
	wrong.Expected.Columns[1].SHA256 = "0"
	refused := good
	refused.Expected.Outcome = canon.Error
	for name, c := range map[string]canon.Case{"digest": wrong, "error": refused} {
		if o := Judge(t.Context(), c, b, parquet.Options{}); o.Faults == nil {
			t.Errorf("%s: a wrong answer passed", name)
		}
	}
	if o := Judge(t.Context(), good, b[:len(b)/2], parquet.Options{}); o.Faults == nil || o.Got != "corrupt" {
		t.Errorf("half a file: %s %v", o.Got, o.Faults)
	}
}

// table is a random file with what must come back.
type table struct {
	file File
	rows []string
	tree *schema.Tree
	o    parquettest.Layout
	text string
}

func random(seed uint64, nested bool) table {
	g := parquettest.NewRandom(seed)
	elements := g.Flat(1 + g.R.IntN(5))
	if nested {
		elements = g.Nested(1+g.R.IntN(3), 1+g.R.IntN(4))
	}
	tree := parquettest.Tree(elements)
	rows := []int{1, 10, 100, 1000}[g.R.IntN(4)]
	columns := g.Columns(tree, rows)
	o := g.Layout(tree, rows)
	text := fmt.Sprintf("seed %d, %d rows, v%d %v, pages of %d rows, %d entries, groups of %d", seed, rows, o.Version, o.Codec, o.PageRows, o.PageEntries, o.GroupRows)
	for _, l := range tree.Leaves {
		text += fmt.Sprintf(", %s %v %v", l, l.Physical, o.Encoding(l))
	}
	return table{parquettest.Table(elements, columns, o).Bytes(), parquettest.Rows(tree, columns), tree, o, text}
}

func sameRows(t *testing.T, what string, want, got []string) {
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

// Q1 and Q2: any encoding, codec, version, pattern of nulls and shape comes back, whatever the sizes of units and batches.
func TestRandomFilesComeBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		f := random(seed, seed%2 == 0)
		mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
		o := parquet.Options{Allocator: mem, UnitBytes: []int64{0, 1, 3000}[seed%3], BatchRows: []int{0, 1, 7, 64}[seed/3%4]}
		got, err := Read(t.Context(), f.file, Request{Options: o, Columns: layouts[seed/4%3]})
		if err != nil {
			t.Fatalf("%s: %v", f.text, err)
		}
		sameRows(t, f.text, f.rows, got.Rows())
		mem.AssertSize(t, 0)
	}
}

// Q3: decoding a selection is selecting from what all decodes to, with and without the page index.
func TestRandomSelectionsOfRandomFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		f := random(seed, seed%2 == 0)
		g := parquettest.NewRandom(seed + 1<<32)
		var want []string
		sels := map[int]rowsel.Selection{}
		at := int64(0)
		sel := func(group int, rows int64) rowsel.Selection {
			s, ok := sels[group]
			if ok {
				return s
			}
			var b rowsel.Builder
			long, gap := 1+g.R.Int64N(20), 1+g.R.Int64N(60)
			for r := g.R.Int64N(gap); r < rows; {
				n := 1 + g.R.Int64N(long)
				b.Add(r, min(r+n, rows))
				r += n + g.R.Int64N(gap)
			}
			s = b.Selection()
			sels[group] = s
			for from, to := range s.Ranges(rows) {
				want = append(want, f.rows[at+from:at+to]...)
			}
			at += rows
			return s
		}
		mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
		o := parquet.Options{Allocator: mem, UnitBytes: []int64{0, 1, 3000}[seed%3]}
		got, err := Read(t.Context(), f.file, Request{Options: o, Select: sel, Index: seed%4 < 2, Columns: layouts[seed/4%3]})
		if err != nil {
			t.Fatalf("%s: %v", f.text, err)
		}
		sameRows(t, f.text, want, got.Rows())
		mem.AssertSize(t, 0)
	}
}

// layouts are the columns of a file with byte strings as offsets, views and dictionaries.
var layouts = []func(*arrow.Schema) []parquet.Column{
	Columns,
	func(s *arrow.Schema) []parquet.Column {
		return stringsAs(s, arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView)
	},
	func(s *arrow.Schema) []parquet.Column {
		return stringsAs(s, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.Binary})
	},
}

func stringsAs(s *arrow.Schema, text, bytes arrow.DataType) []parquet.Column {
	cols := Columns(s)
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

// The children of structs in any order, some left out: by name, never by place.
func TestRandomProjectionsOfNestedFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		f := random(2*seed, true)
		whole, err := Read(t.Context(), f.file, Request{})
		if err != nil {
			t.Fatal(err)
		}
		g := parquettest.NewRandom(seed + 1<<33)
		keep := g.R.IntN(len(f.tree.Root.Children))
		got, err := Read(t.Context(), f.file, Request{Columns: func(s *arrow.Schema) []parquet.Column {
			return []parquet.Column{Columns(s)[keep]}
		}})
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, f.text, whole.Column(keep), got.Column(0))
	}
}

// Q8: every flip of a bit in a page's body is an error when pages have checksums.
func TestFlippedBitsUnderChecksums(t *testing.T) {
	t.Parallel()
	for _, codec := range parquettest.Codecs {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			g := parquettest.NewRandom(uint64(codec))
			elements := g.Nested(2, 2)
			tree := parquettest.Tree(elements)
			columns := g.Columns(tree, 40)
			file := parquettest.Table(elements, columns, parquettest.Layout{Codec: codec, CRC: true, PageRows: 15, Version: 1 + int(codec)%2}).Bytes()
			f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
			if err != nil {
				t.Fatal(err)
			}
			flips := 0
			for leaf := range tree.Leaves {
				off, n, err := f.ChunkRange(0, leaf)
				if err != nil {
					t.Fatal(err)
				}
				flips += flipBodies(t, file, off, n, parquettest.Rows(tree, columns))
			}
			if flips < 300 {
				t.Errorf("only %d flips", flips)
			}
		})
	}
}

func flipBodies(t *testing.T, file []byte, off, n int64, want []string) (flips int) {
	t.Helper()
	for at := off; at < off+n; {
		var h thrift.PageHeader
		head, err := thrift.ParsePageHeader(file[at:], &h)
		if err != nil {
			t.Fatal(err)
		}
		body := file[at+int64(head) : at+int64(head)+int64(h.CompressedSize)]
		for i := range body {
			bit := byte(1) << (i % 8)
			body[i] ^= bit
			if _, err := Read(t.Context(), file, Request{}); !errors.Is(err, parquet.ErrCorrupt) {
				t.Fatalf("a flip at byte %d of the body at %d: %v", i, at, err)
			}
			body[i] ^= bit
			flips++
		}
		at += int64(head) + int64(h.CompressedSize)
	}
	return flips
}

// Whatever happens to the bytes of a file: rows or an error of a known class, never a panic, and no memory left behind.
func FuzzFile(f *testing.F) {
	for seed := range uint64(24) {
		f.Add([]byte(random(seed, seed%2 == 0).file))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
		_, err := Read(t.Context(), b, Request{Options: parquet.Options{Allocator: mem, MaxPage: 1 << 20, UnitBytes: 1 << 20}})
		mem.AssertSize(t, 0)
		sound(t, err)
	})
}

// sound fails on errors without a class and on panics that were caught.
func sound(t *testing.T, err error) {
	t.Helper()
	var c *parquet.CorruptError
	if errors.As(err, &c) && c.Stack != nil {
		t.Fatalf("%v\n%s", err, c.Stack)
	}
	if err != nil && Class(err) == "other" {
		t.Fatal(err)
	}
}

// Random mutations of random files, as in fuzzing, but a fixed number of them with every test.
func TestMutatedFiles(t *testing.T) {
	t.Parallel()
	errs := 0
	for seed := range uint64(600) {
		f := random(seed%60, seed%2 == 0)
		g := parquettest.NewRandom(seed + 1<<34)
		b := slices.Clone(f.file)
		for range 1 + g.R.IntN(4) {
			switch i := g.R.IntN(len(b)); g.R.IntN(3) {
			case 0:
				b[i] ^= 1 << g.R.IntN(8)
			case 1:
				b[i] = byte(g.R.Uint32())
			default:
				copy(b[i:], b[g.R.IntN(len(b)):])
			}
		}
		mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
		_, err := Read(t.Context(), b, Request{Options: parquet.Options{Allocator: mem, MaxPage: 1 << 20, UnitBytes: 1 << 20}})
		mem.AssertSize(t, 0)
		sound(t, err)
		if err != nil {
			errs++
		}
	}
	if errs < 100 {
		t.Errorf("only %d of 600 mutations were errors", errs)
	}
}

// limited is an allocator that fails the test's reader by panic when more than a bound is asked for in all.
type limited struct {
	arrowmem.Allocator
	left int
}

func (l *limited) take(n int) {
	if l.left -= n; l.left < 0 {
		panic("more memory than the test allows")
	}
}

func (l *limited) Allocate(n int) []byte { l.take(n); return l.Allocator.Allocate(n) }

func (l *limited) Reallocate(n int, b []byte) []byte {
	l.take(n - len(b))
	return l.Allocator.Reallocate(n, b)
}

func (l *limited) Free(b []byte) { l.left += len(b); l.Allocator.Free(b) }

// A page of a few bytes may claim billions of values by runs: in one row of a list, or as rows of a flat column. Not parallel: it counts what the
// process allocates.
func TestClaimsOfBillionsCostAUnit(t *testing.T) {
	const claim = 1<<31 - 1
	run := func(n uint64, value byte) []byte { return append(binary.AppendUvarint(nil, n<<1), value) }
	prefixed := func(b []byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	list := parquettest.Elements(
		thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated},
		thrift.SchemaElement{Name: "element", Type: thrift.Int64, Repetition: thrift.Optional})
	flat := parquettest.Elements(thrift.SchemaElement{Name: "a", Type: thrift.Int64, Repetition: thrift.Optional})
	cases := map[string]struct {
		elements []thrift.SchemaElement
		rows     int64
		body     []byte
	}{
		"null elements of one list": {list, 1, slices.Concat(prefixed(slices.Concat(run(1, 0), run(claim, 1))), prefixed(run(claim, 2)))},
		"null lists":                {list, claim, slices.Concat(prefixed(run(claim, 0)), prefixed(run(claim, 0)))},
		"null rows":                 {flat, claim, prefixed(run(claim, 0))},
		"elements without values":   {list, 1, slices.Concat(prefixed(slices.Concat(run(1, 0), run(claim, 1))), prefixed(run(claim, 3)))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := parquettest.Table(c.elements, [][]any{{nil}}, parquettest.Layout{})
			f.Groups[0].Rows = c.rows
			chunk := &f.Groups[0].Chunks[0]
			chunk.Change = func(m *thrift.Chunk) { m.NumValues = claim }
			chunk.Pages[0].Change = func(r *parquettest.Raw) {
				r.Header.NumValues, r.Body = claim, c.body
				r.Header.UncompressedSize, r.Header.CompressedSize = int32(len(c.body)), int32(len(c.body))
			}
			file := File(f.Bytes())
			footer, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
			if err != nil {
				t.Fatal(err)
			}
			mem := &limited{arrowmem.DefaultAllocator, 256 << 20}
			r, err := footer.Bind(Columns(footer.Schema()), nil, parquet.Options{Allocator: mem, UnitBytes: 1 << 20, MaxPage: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			units, err := r.Open(0, rowsel.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				for _, u := range units {
					u.Close()
				}
			}()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = units[0].Decode(t.Context(), 0, file)
			runtime.ReadMemStats(&after)
			sound(t, err)
			if got := after.TotalAlloc - before.TotalAlloc; got > 256<<20 {
				t.Errorf("%d MiB were allocated for %d bytes (%v)", got>>20, len(file), err)
			}
			if c.rows == 1 && err == nil {
				t.Error("a row of billions of elements passed")
			}
		})
	}
}
