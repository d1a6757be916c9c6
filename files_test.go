package lakescan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet/write"
	"github.com/lakescan/lakescan/source/resolve"
)

func TestMatchGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/*.parquet", "a/x.parquet", true},
		{"a/*.parquet", "a/b/x.parquet", false},
		{"a/**/*.parquet", "a/x.parquet", true},
		{"a/**/*.parquet", "a/b/c/x.parquet", true},
		{"a/**/*.parquet", "b/x.parquet", false},
		{"**/x.parquet", "x.parquet", true},
		{"**/x.parquet", "a/b/x.parquet", true},
		{"**/x.parquet", "a/b/y.parquet", false},
		{"a/**", "a/b/y.parquet", true},
		{"a/**", "ab/y.parquet", false},
		{"a/*/**/y?.parquet", "a/b/y1.parquet", true},
		{"a/*/**/y?.parquet", "a/y1.parquet", false},
		{"/t/**/d=1/**/*.parquet", "/t/a/d=1/b/c.parquet", true},
		{"/t/**/d=1/**/*.parquet", "/t/a/d=2/b/c.parquet", false},
		{"a/**b/x.parquet", "a/zb/x.parquet", true}, // not a part of its own: two stars are one
	} {
		if got, err := matchGlob(c.pattern, c.name); err != nil || got != c.want {
			t.Errorf("%s on %s: %v, %v, want %v", c.pattern, c.name, got, err, c.want)
		}
	}
}

func writeParquet(t *testing.T, path string, s *arrow.Schema, rows string) {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := write.New(f, s, write.Options{})
	if err == nil {
		err = w.Write(t.Context(), rec)
	}
	if err == nil {
		_, err = w.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, target string) (n int64, err error) {
	t.Helper()
	c, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Scan(t.Context(), target)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for b, err := range r.All() {
		if err != nil {
			return n, err
		}
		n += b.Record.NumRows()
	}
	return n, nil
}

// TestScansShareWhatTheyLearnOfALink: a client's second scan of a bucket begins with what the first one saw.
func TestScansShareWhatTheyLearnOfALink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.parquet")
	writeParquet(t, path, arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil), `[{"k":1},{"k":2}]`)
	c, err := Open(t.Context(), Config{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	known := func() int {
		lane, _ := c.lane("next", linkOf(path), scanOptions{})
		defer lane.Close()
		return lane.Rate().Samples
	}
	if n := known(); n != 0 {
		t.Fatalf("%d samples before the first scan", n)
	}
	r, err := c.Scan(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if known() == 0 {
		t.Error("the second scan begins with nothing")
	}
}

// Folders with and without a slash, patterns over several folders, and files that are no data: refused wherever in the list they stand.
func TestPlainFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	deletes := arrow.NewSchema([]arrow.Field{
		expr.WithFieldID(arrow.Field{Name: "file_path", Type: arrow.BinaryTypes.String}, 2147483546),
		expr.WithFieldID(arrow.Field{Name: "pos", Type: arrow.PrimitiveTypes.Int64}, 2147483545),
	}, nil)
	writeParquet(t, dir+"/t/a.parquet", data, `[{"n":1},{"n":2}]`)
	writeParquet(t, dir+"/t/d=1/b.parquet", data, `[{"n":3}]`)
	writeParquet(t, dir+"/bad/a.parquet", data, `[{"n":1}]`)
	writeParquet(t, dir+"/bad/z-deletes.parquet", deletes, `[{"file_path":"a","pos":1}]`)
	if err := os.WriteFile(dir+"/stats.puffin", []byte("PFA1 and then PFA1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int64{
		"/t": 2, "/t/": 2, "/t/*.parquet": 2, "/t/**/*.parquet": 3, "/**/b.parquet": 1, "/t/**": 3, "/t/a.parquet": 2,
	} {
		if got, err := count(t, dir+target); err != nil || got != want {
			t.Errorf("%s: %d rows, %v, want %d", target, got, err, want)
		}
	}
	if _, err := count(t, dir+"/bad/"); !errors.Is(err, resolve.ErrInvalid) {
		t.Errorf("a delete file behind data: %v", err)
	}
	for _, target := range []string{"/bad/z-deletes.parquet", "/stats.puffin"} {
		if _, err := count(t, dir+target); !isTarget(err) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := count(t, dir+"/none"); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("what does not exist: %v", err)
	}
}

func isTarget(err error) bool {
	_, ok := errors.AsType[*TargetError](err)
	return ok
}

// With a hint, rows that fail the filter may come, and rows that pass always do, in order; a filter that keeps few rows is applied all the same.
func TestFilterHint(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/a.parquet"
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	var rows strings.Builder
	rows.WriteString("[")
	const all = 20_000
	for i := range all {
		if i > 0 {
			rows.WriteByte(',')
		}
		fmt.Fprintf(&rows, `{"n":%d,"s":"row %d"}`, i*7919%all, i)
	}
	rows.WriteString("]")
	writeParquet(t, path, schema, rows.String())
	c, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(where string, hint bool) (passed []string, total int64) {
		r, err := c.Scan(t.Context(), path, Where(expr.MustParse(where)), func(o *scanOptions) { o.filterHint = hint })
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var most, least int64 = all, 0
		if _, err := fmt.Sscanf(where, "n >= %d AND n < %d", &least, &most); err != nil {
			t.Fatal(err)
		}
		for b, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			total += b.Record.NumRows()
			n, s := b.Record.Column(0).(*array.Int64), b.Record.Column(1).(*array.String)
			for i := range n.Len() {
				if v := n.Value(i); v >= least && v < most {
					passed = append(passed, strings.Clone(s.Value(i)))
				}
			}
		}
		return passed, total
	}
	for _, where := range []string{"n >= 10000 AND n < 20000", "n >= 5 AND n < 9", "n >= 0 AND n < 20000"} {
		want, exact := read(where, false)
		if int64(len(want)) != exact {
			t.Fatalf("%s: %d rows, %d pass", where, exact, len(want))
		}
		got, total := read(where, true)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows pass with the hint, %d without", where, len(got), len(want))
		}
		if few := exact < 100; few && total != exact || !few && total != all {
			t.Errorf("%s: %d rows delivered for %d", where, total, exact)
		}
	}
}
