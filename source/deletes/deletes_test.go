package deletes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
)

var (
	i32 = arrow.PrimitiveTypes.Int32
	i64 = arrow.PrimitiveTypes.Int64
	str = arrow.BinaryTypes.String
)

func load(t testing.TB, l *Loader, tg Target, set Set) *Applied {
	t.Helper()
	a, err := l.Load(t.Context(), tg, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

func wantPositions(t testing.TB, a *Applied, want ...int64) {
	t.Helper()
	if got := positions(a.Deleted()); !slices.Equal(got, want) {
		t.Errorf("deleted positions %v, want %v", got, want)
	}
}

func TestPositionFiles(t *testing.T) {
	t.Parallel()
	for _, groupRows := range []int64{1, 3, 1000} {
		s := newShelf(t)
		f1 := &File{File: s.put("d1", positionFile(t, groupRows, "s3://b/a", 5, "s3://b/a", 0, "s3://b/b", 7, "s3://b/a", 5, "s3://b/c", 1))}
		f2 := &File{File: s.put("d2", positionFile(t, groupRows, "s3://b/a", 9, "s3://b/a", 1))}
		l := newTestLoader(t, s, 0)
		set := Set{Positions: []*File{f1, f2}}
		wantPositions(t, load(t, l, target("s3://b/a", 10, 1), set), 0, 1, 5, 9)
		wantPositions(t, load(t, l, target("s3://b/b", 10, 1), set), 7)
		none := load(t, l, target("s3://b/other", 10, 1), set)
		wantPositions(t, none)
		if !none.Live().All() {
			t.Error("nothing is deleted, but not all rows live")
		}
		if s.count() != 2 {
			t.Errorf("reads %v, want one a file", s.reads)
		}
	}
}

func TestL47_PathsAsRecorded(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	f := &File{File: s.put("d", positionFile(t, 100, "s3a://b/x", 1, "s3://b/x", 2, "s3n://b/y", 3, "s3://b/X", 4, "s3://b/x%20", 5, "data/x", 6))}
	l := newTestLoader(t, s, 0)
	for path, want := range map[string][]int64{
		"s3a://b/x": {1, 2}, "s3://b/x": {1, 2}, "s3n://b/x": {1, 2}, "s3://b/y": {3}, "s3a://b/X": {4}, "s3://b/x%20": {5}, "s3://b/x ": nil,
		"data/x": {6}, "file:///data/x": nil, "S3://b/x": nil,
	} {
		wantPositions(t, load(t, l, target(path, 10, 1), Set{Positions: []*File{f}}), want...)
	}
}

func TestL08_Vectors(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	one, two := frame(write(t, []uint64{0, 7}, false)), frame(write(t, []uint64{3}, true))
	puffin := append(append([]byte("PFA1"), one...), two...)
	file := s.put("v.puffin", append(puffin, "footer that nobody reads"...))
	v1 := &Vector{File: file, Offset: 4, Size: int64(len(one)), Cardinality: 2}
	v2 := &Vector{File: file, Offset: 4 + int64(len(one)), Size: int64(len(two)), Cardinality: 1}
	bare := &Vector{File: s.put("bare", one), Size: int64(len(one)), Cardinality: -1}
	miscounted := &Vector{File: file, Offset: 4, Size: int64(len(one)), Cardinality: 3}
	torn := &Vector{File: file, Offset: 5, Size: int64(len(one)), Cardinality: 2}
	beyond := &Vector{File: file, Offset: 4, Size: 1 << 30, Cardinality: 2}
	negative := &Vector{File: file, Offset: -4, Size: 20, Cardinality: 2}
	positions := &File{File: s.put("older", positionFile(t, 10, "a", 9))}
	l := newTestLoader(t, s, 0)
	wantPositions(t, load(t, l, target("a", 10, 1), Set{Vector: v1, Positions: []*File{positions}}), 0, 7)
	wantPositions(t, load(t, l, target("b", 10, 1), Set{Vector: v2}), 3)
	wantPositions(t, load(t, l, target("c", 10, 1), Set{Vector: bare}), 0, 7)
	if want := []string{fmt.Sprintf("v.puffin 4+%d", len(one)), fmt.Sprintf("v.puffin %d+%d", 4+len(one), len(two)), fmt.Sprintf("bare 0+%d", len(one))}; !slices.Equal(s.reads, want) {
		t.Errorf("reads %v, want %v", s.reads, want)
	}
	for name, v := range map[string]*Vector{"cardinality": miscounted, "torn": torn, "beyond": beyond, "negative": negative} {
		_, err := l.Load(t.Context(), target("s3://b/data", 10, 1), Set{Vector: v})
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrCorrupt) || e.File != "v.puffin" || e.Data != "s3://b/data" || e.Snapshot != "77" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.Load(t.Context(), target("short", 7, 1), Set{Vector: v1}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a position beyond the file: %v", err)
	}
	gone := &Vector{File: object.Info{Location: object.Location{Recorded: "gone"}, Size: 100}, Size: 20, Cardinality: 1}
	if _, err := l.Load(t.Context(), target("x", 10, 1), Set{Vector: gone}); !errors.Is(err, object.ErrNotFound) || !strings.Contains(err.Error(), "snapshot 77") {
		t.Errorf("a delete file that is gone: %v", err)
	}
}

func TestNeighbouringVectorsAreOneRead(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	var puffin []byte
	var all []*Vector
	for i := range 20 {
		blob := frame(write(t, []uint64{uint64(i)}, false))
		if i == 10 { // too far from the others
			puffin = append(puffin, make([]byte, spanGap+1)...)
		}
		if i == 15 {
			blob[20]++ // damaged
		}
		all = append(all, &Vector{Offset: int64(len(puffin)), Size: int64(len(blob)), Cardinality: 1})
		puffin = append(puffin, blob...)
	}
	file := s.put("v", puffin)
	for _, v := range all {
		v.File, v.Neighbours = file, all
	}
	l := newTestLoader(t, s, 0)
	var applied []*Applied
	for _, i := range []int{3, 0, 9, 12, 19, 10} {
		a := load(t, l, target(fmt.Sprint(i), 100, 1), Set{Vector: all[i]})
		wantPositions(t, a, int64(i))
		applied = append(applied, a)
	}
	if len(s.reads) != 2 {
		t.Errorf("reads %v, want two", s.reads)
	}
	if _, err := l.Load(t.Context(), target("15", 100, 1), Set{Vector: all[15]}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the damaged one: %v", err)
	}
	for _, a := range applied {
		a.Release()
	}
	wantPositions(t, load(t, l, target("3", 100, 1), Set{Vector: all[3]}), 3)
	if want := fmt.Sprintf("v %d+%d", all[3].Offset, all[3].Size); len(s.reads) != 3 || s.reads[2] != want {
		t.Errorf("reads %v, want a third of %s", s.reads, want)
	}
}

// group of one key over delete files, each a JSON list of rows; the sequences count from 2.
func group(t testing.TB, s *shelf, key []arrow.Field, files ...string) *Group {
	g := &Group{Key: key}
	for i, rows := range files {
		info := s.put(fmt.Sprintf("eq%d-%p", i, g), parquetFile(t, 1000, record(t, rows, key...)))
		g.Files = append(g.Files, File{info, int64(i + 2)})
	}
	return g
}

func TestL02_NullMatchesNullOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ        arrow.DataType
		zero, five string
	}{
		{i32, "0", "5"},
		{i64, "0", "5"},
		{arrow.FixedWidthTypes.Date32, `"1970-01-01"`, `"1970-01-06"`},
		{str, `""`, `"5"`},
		{arrow.FixedWidthTypes.Timestamp_us, `"1970-01-01T00:00:00Z"`, `"1970-01-01T00:00:05Z"`},
		{arrow.FixedWidthTypes.Boolean, "false", "true"},
		{&arrow.Decimal128Type{Precision: 9, Scale: 2}, `"0.00"`, `"5.00"`},
		{arrow.BinaryTypes.Binary, `""`, `"NQ=="`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 1}, `"AA=="`, `"NQ=="`},
		{arrow.FixedWidthTypes.Time64us, `"00:00:00"`, `"00:00:05"`},
	} {
		key := []arrow.Field{field(1, "k", c.typ)}
		data := record(t, fmt.Sprintf(`[{"k":null},{"k":%s},{"k":%s}]`, c.zero, c.five), key...)
		for deleted, want := range map[string][]int{"null": {0}, c.zero: {1}, c.five: {2}} {
			s := newShelf(t)
			l := newTestLoader(t, s, 0)
			a := load(t, l, target("d", 3, 1), Set{Equality: []*Group{group(t, s, key, fmt.Sprintf(`[{"k":%s}]`, deleted))}})
			if got := masked(t, a, data); !slices.Equal(got, want) {
				t.Errorf("%v: delete of %s removes rows %v, want %v", c.typ, deleted, got, want)
			}
		}
	}
}

func TestL03_SequenceNumbers(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	key := []arrow.Field{field(1, "k", i64)}
	g := group(t, s, key, `[{"k":1},{"k":2}]`, `[{"k":2},{"k":3}]`) // sequences 2 and 3
	l := newTestLoader(t, s, 0)
	data := record(t, `[{"k":1},{"k":2},{"k":3},{"k":4}]`, key...)
	for sequence, want := range map[int64][]int{1: {0, 1, 2}, 2: {1, 2}, 3: nil, 9: nil} {
		a := load(t, l, target("d", 4, sequence), Set{Equality: []*Group{g}})
		var got []int
		if len(a.Keys()) > 0 {
			got = masked(t, a, data)
		}
		if !slices.Equal(got, want) {
			t.Errorf("data of sequence %d loses rows %v, want %v", sequence, got, want)
		}
		if sequence >= 3 && a.Keys() != nil {
			t.Errorf("sequence %d: keys are asked for, and no delete is younger", sequence)
		}
	}
	// The position delete of the same commit does apply: scope is the planner's, and the loader applies what it is given.
	pos := &File{File: s.put("p", positionFile(t, 10, "d", 0)), Sequence: 3}
	wantPositions(t, load(t, l, target("d", 4, 3), Set{Positions: []*File{pos}, Equality: []*Group{g}}), 0)
}

func TestL01_KeysOfAnyColumn(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	// The delete file has the columns in another order, narrower types, other names, and one more.
	a2, b5 := field(2, "a", i64), field(5, "b", str)
	file := parquetFile(t, 1, record(t, `[{"x":1.5,"old_b":"u","old_a":7},{"x":null,"old_b":null,"old_a":8}]`, field(9, "x", arrow.PrimitiveTypes.Float64), field(5, "old_b", str), field(2, "old_a", i32)))
	for _, key := range [][]arrow.Field{{a2, b5}, {b5, a2}} {
		g := &Group{Key: key, Files: []File{{s.put("eq", file), 2}}}
		a := load(t, l, target("d", 6, 1), Set{Equality: []*Group{g}})
		data := record(t, `[{"a":7,"b":"u"},{"a":7,"b":"v"},{"a":7,"b":null},{"a":8,"b":null},{"a":null,"b":null},{"a":8,"b":""}]`, a2, b5)
		if got := masked(t, a, data); !slices.Equal(got, []int{0, 3}) {
			t.Errorf("rows %v", got)
		}
	}
	// A key inside a struct: a null struct has a null key.
	inner := field(3, "s", arrow.StructOf(field(4, "k", i64)))
	leaves, err := keyLeaves([]arrow.Field{inner})
	if err != nil {
		t.Fatal(err)
	}
	table := newKeyTable(func(int64) error { return nil })
	deleted := record(t, `[{"s":{"k":1}},{"s":null}]`, inner)
	put, err := leafAppender(deleted.Column(0), leaves[0].path)
	if err != nil {
		t.Fatal(err)
	}
	for row := range 2 {
		if err := table.put(put(nil, row), 2); err != nil {
			t.Fatal(err)
		}
	}
	a := &Applied{loader: l, target: target("d", 4, 1), keys: []arrow.Field{inner}, groups: []appliedGroup{{leaves: leaves, table: table, columns: []int{0}}}}
	if got := masked(t, a, record(t, `[{"s":{"k":1}},{"s":{"k":2}},{"s":{"k":null}},{"s":null}]`, inner)); !slices.Equal(got, []int{0, 2, 3}) {
		t.Errorf("struct key: rows %v", got)
	}
	// Two groups that share a column.
	g1, g2 := group(t, s, []arrow.Field{a2}, `[{"a":1}]`), group(t, s, []arrow.Field{a2, b5}, `[{"a":2,"b":"x"}]`)
	a = load(t, l, target("d", 4, 1), Set{Equality: []*Group{g1, g2}})
	if len(a.Keys()) != 2 {
		t.Errorf("keys %v", a.Keys())
	}
	if got := masked(t, a, record(t, `[{"a":1,"b":"x"},{"a":2,"b":"x"},{"a":2,"b":"y"},{"a":3,"b":"x"}]`, a2, b5)); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("two groups: rows %v", got)
	}
}

func TestL09_NothingIsPassedOver(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	k := field(1, "k", i64)
	orc := s.put("f.orc", append([]byte("ORC"), make([]byte, 200)...))
	good := parquetFile(t, 10, record(t, `[{"k":1}]`, k))
	noKey := s.put("no-key", parquetFile(t, 10, record(t, `[{"o":1}]`, field(2, "o", i64))))
	floats := field(1, "k", arrow.PrimitiveTypes.Float64)
	cut := s.put("cut", good[:len(good)-9])
	missing := object.Info{Location: object.Location{Recorded: "gone"}, Size: 100}
	eq := func(i object.Info, keys ...arrow.Field) Set {
		return Set{Equality: []*Group{{Key: keys, Files: []File{{i, 5}}}}}
	}
	pos := func(i object.Info) Set { return Set{Positions: []*File{{i, 5}}} }
	for _, c := range []struct {
		name  string
		set   Set
		class error
		file  string
	}{
		{"ORC equality", eq(orc, k), parquet.ErrCorrupt, "f.orc"},
		{"ORC positions", pos(orc), parquet.ErrCorrupt, "f.orc"},
		{"key column missing", eq(noKey, k), ErrCorrupt, "no-key"},
		{"no such columns", pos(noKey), ErrCorrupt, "no-key"},
		{"float key", eq(s.put("floats", parquetFile(t, 10, record(t, `[{"k":1}]`, floats))), floats), ErrUnsupported, "floats"},
		{"no key", eq(s.put("x", good)), ErrCorrupt, "x"},
		{"cut", eq(cut, k), parquet.ErrCorrupt, "cut"},
		{"gone", eq(missing, k), object.ErrNotFound, "gone"},
		{"gone positions", pos(missing), object.ErrNotFound, "gone"},
		{"wrong type", eq(s.put("wrong", parquetFile(t, 10, record(t, `[{"k":"a"}]`, field(1, "k", str)))), k), ErrCorrupt, "wrong"},
		{"null position", pos(s.put("nulls", nullPosition(t))), ErrCorrupt, "nulls"},
		{"negative position", pos(s.put("negative", positionFile(t, 10, "d", -1))), ErrCorrupt, "negative"},
	} {
		for range 2 { // the second answer is the same
			_, err := l.Load(t.Context(), target("s3://b/data", 10, 1), c.set)
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, c.class) || e.File != c.file || e.Data != "s3://b/data" {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func nullPosition(t testing.TB) []byte {
	return parquetFile(t, 10, record(t, `[{"file_path":"d","pos":null}]`, field(2147483546, "file_path", str), field(2147483545, "pos", i64)))
}

func TestDeleteFilesWithoutIDsAreReadByName(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	f := &File{File: s.put("p", parquetFile(t, 10, record(t, `[{"pos":4,"file_path":"d"}]`, field(0, "pos", i64), field(0, "file_path", str))))}
	wantPositions(t, load(t, l, target("d", 9, 1), Set{Positions: []*File{f}}), 4)
}

func TestL12_PositionsAreAbsolute(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema([]arrow.Field{field(1, "v", i64)}, nil))
	for i := range int64(300) {
		b.Field(0).(*array.Int64Builder).Append(i)
	}
	file := parquetFile(t, 100, b.NewRecordBatch())
	del := &File{File: s.put("p", positionFile(t, 2, "d", 0, "d", 99, "d", 100, "d", 150, "d", 299))}
	a := load(t, l, target("d", 300, 1), Set{Positions: []*File{del}})
	footer, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		t.Fatal(err)
	}
	v := field(1, "v", i64)
	r, err := footer.Bind([]parquet.Column{{Output: v, Path: []string{"v"}}, {Output: field(2, "pos", i64), Position: true}}, nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, groups := range [][]int{{0, 1, 2}, {0, 2}, {2}, {1}} { // whatever statistics or splits leave out
		var want, got []int64
		for _, rg := range groups {
			for p := int64(100 * rg); p < int64(100*rg+100); p++ {
				if !slices.Contains([]int64{0, 99, 100, 150, 299}, p) {
					want = append(want, p)
				}
			}
			sel := a.Live().Cut(footer.FirstRow(rg), footer.Rows(rg))
			units, err := r.Open(rg, sel)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range units {
				err := decodeUnit(t.Context(), u, pieces{{0, file}}, func(rec arrow.RecordBatch) error {
					v, p := rec.Column(0).(*array.Int64), rec.Column(1).(*array.Int64)
					for i := range v.Len() {
						if v.Value(i) != p.Value(i) {
							t.Errorf("row of value %d says position %d", v.Value(i), p.Value(i))
						}
						got = append(got, v.Value(i))
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("groups %v: rows %v, want %v", groups, got, want)
		}
	}
}

func TestL13_EachFileOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.gate = make(chan struct{})
		key := []arrow.Field{field(1, "k", i64)}
		var files []string
		for i := range 200 {
			files = append(files, fmt.Sprintf(`[{"k":%d}]`, i))
		}
		g := group(t, s, key, files...)
		var rows []any
		for d := range 50 {
			rows = append(rows, fmt.Sprint("d", d), d)
		}
		p := &File{File: s.put("p", positionFile(t, 10, rows...))}
		l := newTestLoader(t, s, 0)
		var wg sync.WaitGroup
		for d := range 50 {
			wg.Go(func() {
				a, err := l.Load(t.Context(), target(fmt.Sprint("d", d), 100, 1), Set{Positions: []*File{p}, Equality: []*Group{g}})
				if err != nil {
					t.Error(err)
					return
				}
				defer a.Release()
				if got := positions(a.Deleted()); !slices.Equal(got, []int64{int64(d)}) {
					t.Errorf("d%d: %v", d, got)
				}
				if got := masked(t, a, record(t, `[{"k":5},{"k":500}]`, key...)); !slices.Equal(got, []int{0}) {
					t.Errorf("d%d: equality %v", d, got)
				}
			})
		}
		time.Sleep(time.Second)
		if n := s.count(); n != 201 { // all were asked for before the first answered
			t.Errorf("%d reads began, want 201", n)
		}
		close(s.gate)
		wg.Wait()
		if n := s.count(); n != 201 {
			t.Errorf("%d reads, want one a file", n)
		}
		if held := l.Stats().Held; held > 64<<10 {
			t.Errorf("%d bytes held when positions are done with", held)
		}
	})
}

func TestL13_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	// Three million positions in six million rows cost a bit a row, not eight bytes a position.
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema(positionSchema.Fields(), nil))
	for i := range int64(3_000_000) {
		b.Field(0).(*array.StringBuilder).Append("s3://b/d")
		b.Field(1).(*array.Int64Builder).Append(2 * i)
	}
	s := newShelf(t)
	f := &File{File: s.put("p", parquetFile(t, 1<<20, b.NewRecordBatch()))}
	l := newTestLoader(t, s, 64<<20)
	a := load(t, l, target("s3://b/d", 6_000_000, 1), Set{Positions: []*File{f}})
	if n := a.Deleted().Count(6_000_000); n != 3_000_000 {
		t.Errorf("%d positions", n)
	}
	if held := l.Stats().Held; held > 800<<10 {
		t.Errorf("%d bytes held for 3 M positions", held)
	}
	if peak := l.account.Peak(); peak > 48<<20 {
		t.Errorf("peak of %d bytes", peak)
	}
	// What does not fit is refused by name, and leaves nothing behind.
	keys := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema([]arrow.Field{field(1, "k", i64)}, nil))
	for i := range int64(100_000) {
		keys.Field(0).(*array.Int64Builder).Append(i)
	}
	g := &Group{Key: []arrow.Field{field(1, "k", i64)}, Files: []File{{s.put("big", parquetFile(t, 1<<20, keys.NewRecordBatch())), 2}}}
	small := newTestLoader(t, s, 5<<20)
	_, err := small.Load(t.Context(), target("s3://b/d", 6_000_000, 1), Set{Equality: []*Group{g}})
	tl, ok := errors.AsType[*TooLargeError](err)
	if !ok || !errors.Is(err, ErrTooLarge) || tl.Need <= 0 || !strings.Contains(err.Error(), "big") || !strings.Contains(err.Error(), "memory limit") {
		t.Errorf("error %v", err)
	}
	if held := small.Stats().Held; held != 0 {
		t.Errorf("%d bytes held after a refusal", held)
	}
}

func TestADataFileThatComesBackIsServedAgain(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	f := &File{File: s.put("p", positionFile(t, 10, "d", 3, "e", 4))}
	l := newTestLoader(t, s, 0)
	set := Set{Positions: []*File{f}}
	first, second := load(t, l, target("d", 9, 1), set), load(t, l, target("d", 9, 1), set)
	first.Release()
	first.Release()
	wantPositions(t, load(t, l, target("d", 9, 1), set), 3)
	second.Release()
	if s.count() != 1 {
		t.Errorf("%d reads", s.count())
	}
	for _, a := range []*Applied{load(t, l, target("e", 9, 1), set)} {
		a.Release()
	}
	wantPositions(t, load(t, l, target("e", 9, 1), set), 4)
	wantPositions(t, load(t, l, target("d", 9, 1), set), 3)
}

func TestALeavingCallerSpoilsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.gate = make(chan struct{})
		key := []arrow.Field{field(1, "k", i64)}
		blob := frame(write(t, []uint64{1}, false))
		v := &Vector{File: s.put("v", blob), Size: int64(len(blob)), Cardinality: 1}
		sets := []Set{{Positions: []*File{{File: s.put("p", positionFile(t, 10, "d", 1))}}}, {Equality: []*Group{group(t, s, key, `[{"k":1}]`)}}, {Vector: v}}
		l := newTestLoader(t, s, 0)
		var wg sync.WaitGroup
		for _, set := range sets {
			ctx, leave := context.WithCancel(t.Context())
			wg.Go(func() {
				if _, err := l.Load(ctx, target("d", 9, 1), set); !errors.Is(err, context.Canceled) {
					t.Errorf("the caller that left: %v", err)
				}
			})
			synctest.Wait()
			wg.Go(func() {
				a, err := l.Load(t.Context(), target("d", 9, 1), set)
				if err != nil {
					t.Errorf("the caller that stayed: %v", err)
					return
				}
				a.Release()
			})
			synctest.Wait()
			leave()
			synctest.Wait()
		}
		close(s.gate)
		wg.Wait()
	})
}

func TestCloseReleasesWhatWasPrefetched(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	key := []arrow.Field{field(1, "k", i64)}
	blob := frame(write(t, []uint64{1}, false))
	set := Set{Positions: []*File{{File: s.put("p", positionFile(t, 10, "d", 1))}}, Equality: []*Group{group(t, s, key, `[{"k":1}]`)}}
	l := newTestLoader(t, s, 0)
	l.Prefetch(t.Context(), set)
	l.Prefetch(t.Context(), Set{Vector: &Vector{File: s.put("v", blob), Size: int64(len(blob)), Cardinality: 1}})
	if s.count() != 3 {
		t.Errorf("%d reads", s.count())
	}
	l.Close()
	l.Close()
	if _, err := l.Load(t.Context(), target("d", 9, 1), set); err == nil {
		t.Error("Load after Close")
	}
	l.Prefetch(t.Context(), set)
}

func TestLargeFilesAreReadByRowGroup(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	var rows []any
	for i := range 40_000 {
		rows = append(rows, fmt.Sprintf("s3://bucket/some/long/path/data-%d.parquet", i/7), i)
	}
	f := &File{File: s.put("p", positionFile(t, 1000, rows...))}
	if f.File.Size < 2*tailBytes {
		t.Fatalf("file of %d bytes", f.File.Size)
	}
	l := newTestLoader(t, s, 0)
	l.wholeMax = 1000
	wantPositions(t, load(t, l, target("s3://bucket/some/long/path/data-3.parquet", 40_000, 1), Set{Positions: []*File{f}}), 21, 22, 23, 24, 25, 26, 27)
	if n := s.count(); n < 30 || n > 60 {
		t.Errorf("%d reads", n)
	}
	// A recorded size that is wrong, in either direction.
	for _, size := range []int64{-1, 10, f.File.Size - 10, f.File.Size + 10, 10 * f.File.Size} {
		g := &File{File: f.File}
		g.File.Size = size
		for _, l.wholeMax = range []int64{1000, wholeMax} {
			g := *g
			wantPositions(t, load(t, l, target("s3://bucket/some/long/path/data-3.parquet", 40_000, 1), Set{Positions: []*File{&g}}), 21, 22, 23, 24, 25, 26, 27)
		}
	}
	l.wholeMax = 1000
	// A tail that does not hold the footer is read again, longer.
	small := &File{File: s.put("q", positionFile(t, 1, rows[:2000]...))}
	wantPositions(t, load(t, l, target("s3://bucket/some/long/path/data-3.parquet", 40_000, 1), Set{Positions: []*File{small}}), 21, 22, 23, 24, 25, 26, 27)
}

func TestMaskKeepsOtherBitsAndGrows(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	key := []arrow.Field{field(1, "k", i64)}
	l := newTestLoader(t, s, 0)
	a := load(t, l, target("d", 20, 1), Set{Equality: []*Group{group(t, s, key, `[{"k":1}]`)}})
	rec := record(t, "["+strings.Repeat(`{"k":1},{"k":2},`, 9)+`{"k":1}]`, key...)
	mask, n, err := a.Mask([]byte{0b11}, []arrow.Array{rec.Column(0)})
	if err != nil || n != 9 || !slices.Equal(mask, []byte{0b01010111, 0b01010101, 0b101}) {
		t.Errorf("mask %08b, %d set, error %v", mask, n, err)
	}
	if _, _, err := a.Mask(nil, nil); err == nil {
		t.Error("no columns: no error")
	}
	if _, _, err := a.Mask(nil, []arrow.Array{record(t, `[{"k":1.5}]`, field(1, "k", arrow.PrimitiveTypes.Float64)).Column(0)}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("float column: %v", err)
	}
}

func TestEveryFormOfAKeyColumnIsOneKey(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	a := load(t, l, target("d", 20, 1), Set{Equality: []*Group{group(t, s, []arrow.Field{field(1, "k", str)}, `[{"k":"b"},{"k":null}]`)}})
	for _, typ := range []arrow.DataType{str, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView, arrow.BinaryTypes.Binary} {
		rows := `[{"k":"a"},{"k":"b"},{"k":null}]`
		if typ.ID() == arrow.BINARY {
			rows = `[{"k":"YQ=="},{"k":"Yg=="},{"k":null}]`
		}
		if got := masked(t, a, record(t, rows, field(1, "k", typ))); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%v: %v", typ, got)
		}
	}
	b := array.NewDictionaryBuilder(arrowmem.DefaultAllocator, &arrow.DictionaryType{IndexType: i32, ValueType: str}).(*array.BinaryDictionaryBuilder)
	for _, v := range []string{"b", "a", "b"} {
		if err := b.AppendString(v); err != nil {
			t.Fatal(err)
		}
	}
	b.AppendNull()
	mask, n, err := a.Mask(nil, []arrow.Array{b.NewArray()})
	if err != nil || n != 3 || mask[0] != 0b1101 {
		t.Errorf("dictionary: mask %b, %d, %v", mask, n, err)
	}
}

// TestUnionOfPositions compares with a set of numbers.
func TestUnionOfPositions(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	l := newTestLoader(t, s, 0)
	var set Set
	want := map[int64]bool{}
	for f := range 5 {
		var rows []any
		for i := range 2000 {
			p := (i*7919 + f*104729) % 50_000
			rows = append(rows, "d", p)
			want[int64(p)] = true
		}
		set.Positions = append(set.Positions, &File{File: s.put(fmt.Sprint("p", f), positionFile(t, 300, rows...))})
	}
	a := load(t, l, target("d", 50_000, 1), set)
	if n := a.Deleted().Count(50_000); n != int64(len(want)) {
		t.Errorf("%d rows, want %d", n, len(want))
	}
	for _, p := range positions(a.Deleted()) {
		if !want[p] {
			t.Fatalf("position %d was never deleted", p)
		}
	}
	if a.Live().And(a.Deleted()).Count(50_000) != 0 || a.Live().Or(a.Deleted()).Count(50_000) != 50_000 {
		t.Error("live and deleted do not part the file")
	}
}
