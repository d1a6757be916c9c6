//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/commit"
	"github.com/lakescan/lakescan/iceberg/icebergtest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/puffin"
	"github.com/lakescan/lakescan/iceberg/rest"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
)

// catalogClient is a client of the Java catalog.
func catalogClient(t *testing.T, r *rig.Rig) *rest.Client {
	t.Helper()
	c, err := rest.Open(t.Context(), rest.Config{URI: r.REST})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The Java catalog passes the suite of our own stub. Jetty refuses slashes and percent signs in names; the catalog joins the
// parts of a namespace by dots and cuts locations at question marks, so those are not tried.
func TestJavaCatalogConforms(t *testing.T) {
	r := rig.Get(t)
	n := 0
	icebergtest.TestCatalog(t, icebergtest.Suite{
		Open: func(t *testing.T) (icebergtest.Catalog, func(meta.Ident, string)) {
			n++
			c := &below{catalogClient(t, r), fmt.Sprintf("conform%d", n)}
			c.mustCreate(t, nil)
			return c, func(id meta.Ident, marker string) {
				for i := range id.Namespace {
					c.mustCreate(t, id.Namespace[:i+1])
				}
				if _, err := c.Create(t.Context(), id.Namespace, id.Name, icebergtest.CreateRequest(id.Name, marker)); err != nil {
					t.Fatalf("create %v: %v", id, err)
				}
			}
		},
		Names:              []string{"with space", "plus+", "é", "&=", "CASE"},
		ImplicitNamespaces: true,
	})
}

var suiteFields = []arrow.Field{icebergtest.Field(1, "k", arrow.PrimitiveTypes.Int64), icebergtest.Field(2, "v", arrow.BinaryTypes.String)}

// dataFile writes rows [from, to) as another writer would, and describes the file as ours does.
func dataFile(t *testing.T, store object.Store, table *meta.Metadata, name string, from, to int) commit.DataFile {
	t.Helper()
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema(suiteFields, nil))
	for i := from; i < to; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("a value that is longer than sixteen %d", i))
		}
	}
	data, err := parquetfile.Write(parquetfile.Options{}, b.NewRecordBatch())
	if err != nil {
		t.Fatal(err)
	}
	path := table.Location + "/data/" + name + ".parquet"
	put(t, store, path, data)
	n, nulls := int64(to-from), int64(0)
	for i := from; i < to; i++ {
		if i%7 == 0 {
			nulls++
		}
	}
	bound := func(i int) []byte { return []byte{byte(i), byte(i >> 8), 0, 0, 0, 0, 0, 0} }
	return commit.DataFile{
		Path: path, Rows: n, Size: int64(len(data)), Values: map[int]int64{1: n, 2: n}, Nulls: map[int]int64{1: 0, 2: nulls},
		Lower: map[int][]byte{1: bound(from), 2: []byte("a value that is longer than sixteen 0")},
		Upper: map[int][]byte{1: bound(to - 1), 2: []byte("a value that is longer than sixteen 99999")},
	}
}

func put(t *testing.T, store object.Store, path string, data []byte) {
	t.Helper()
	loc, err := object.ParseLocation(path)
	if err != nil {
		t.Fatal(err)
	}
	u, err := store.(object.Writer).Create(t.Context(), loc, "")
	if err == nil {
		defer u.Abort()
		if _, err = u.Write(data); err == nil {
			_, err = u.Commit(t.Context())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What the commit package writes through the Java catalog and MinIO is read by DuckDB, and by us, to the same rows.
func TestP12_CommitsAreReadByOthers(t *testing.T) {
	r := rig.Get(t)
	lake := open(t, r, false)
	client := catalogClient(t, r)
	if err := client.CreateNamespace(t.Context(), []string{"commits"}, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := meta.ParseSchema([]byte(icebergtest.SchemaJSON))
	if err != nil {
		t.Fatal(err)
	}
	// A store for the table comes with a loaded one: any table of the catalog will do.
	if _, err := client.Create(t.Context(), []string{"commits"}, "other", icebergtest.CreateRequest("other", "")); err != nil {
		t.Fatal(err)
	}
	other, err := lake.Table(t.Context(), "commits.other")
	if err != nil {
		t.Fatal(err)
	}
	target := &commit.Table{Backend: client, Ident: meta.Ident{Namespace: []string{"commits"}, Name: "t"}, Store: other.Store()}
	staged, err := target.Stage(t.Context(), commit.NewTable{Schema: schema, Properties: map[string]string{"lakescan.projection.v": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if staged.Exists {
		t.Error("the catalog can stage, but did not")
	}
	one, two := dataFile(t, target.Store, staged.Metadata, "one", 0, 100), dataFile(t, target.Store, staged.Metadata, "two", 100, 200)
	res, err := staged.Commit(t.Context(), commit.Change{Add: []commit.DataFile{one, two}, Summary: map[string]string{"lakescan.refresh": "{}"}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(step string, rows int, filters ...string) {
		t.Helper()
		for _, where := range append([]string{""}, filters...) {
			want := judged(t, r, "select * from ice.commits.t"+where)
			var got []string
			if where == "" {
				got = scanned(t, lake, "commits.t")
				if len(want) != rows {
					t.Errorf("%s: DuckDB reads %d rows, want %d", step, len(want), rows)
				}
			} else {
				got = scanned(t, lake, "commits.t", whereOf(where))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s%s: %d rows, DuckDB reads %d", step, where, len(got), len(want))
			}
		}
	}
	check("created", 200)
	res, err = target.Commit(t.Context(), res.Metadata, commit.Change{Add: []commit.DataFile{dataFile(t, target.Store, res.Metadata, "three", 200, 300)}})
	if err != nil {
		t.Fatal(err)
	}
	// From stale metadata: one conflict, then on top.
	res2, err := target.Commit(t.Context(), staged.Metadata, commit.Change{Add: []commit.DataFile{dataFile(t, target.Store, res.Metadata, "four", 300, 310)}})
	if err != nil || res2.Rounds != 2 {
		t.Fatalf("%+v, %v", res2, err)
	}
	check("conflict", 310)
	if res, err = target.Commit(t.Context(), res2.Metadata, commit.Change{Remove: []string{one.Path}, Operation: "replace"}); err != nil {
		t.Fatal(err)
	}
	check("one of two files of a manifest removed", 210, " where k >= 150", " where v is null", " where v > 'a value that is longer than sixteen 2'")
	if res, err = target.Commit(t.Context(), res.Metadata, commit.Change{RemoveAll: true, Add: []commit.DataFile{dataFile(t, target.Store, res.Metadata, "five", 1000, 1010)}}); err != nil {
		t.Fatal(err)
	}
	check("rebuilt", 10)

	// Version 3: the catalog checks the row ids that each snapshot takes, and counts them on.
	if res.Metadata, err = client.Post(t.Context(), target.Ident, []byte(`{"requirements":[],"updates":[{"action":"upgrade-format-version","format-version":3}]}`)); err != nil {
		t.Fatal(err)
	}
	six := dataFile(t, target.Store, res.Metadata, "six", 2000, 2020)
	for _, c := range []struct {
		name      string
		change    commit.Change
		rows, ids int64 // ids: the table's next row id, the files of version 2 having got theirs with the first commit
	}{
		{"version 3, append", commit.Change{Add: []commit.DataFile{six, dataFile(t, target.Store, res.Metadata, "seven", 3000, 3005)}}, 35, 35},
		{"version 3, one of two files of a manifest replaced", commit.Change{Remove: []string{six.Path}, Add: []commit.DataFile{dataFile(t, target.Store, res.Metadata, "eight", 4000, 4001)}}, 16, 35 + 5 + 1},
	} {
		if res, err = target.Commit(t.Context(), res.Metadata, c.change); err != nil {
			t.Fatal(err)
		}
		if res.Metadata.NextRowID != c.ids {
			t.Errorf("%s: next row id %d, want %d", c.name, res.Metadata.NextRowID, c.ids)
		}
		check(c.name, int(c.rows))
	}

	// Statistics: two files for one snapshot, the second carrying the first's blob.
	for _, kind := range []string{"apache-datasketches-theta-v1", "lakescan-index-v1"} {
		m, err := target.SetStatistics(t.Context(), res.Metadata, res.Snapshot, statisticsBuilder(t, target, res, kind))
		if err != nil {
			t.Fatal(err)
		}
		res.Metadata = m
	}
	stats, err := res.Metadata.Statistics()
	if err != nil || len(stats) != 1 || len(stats[0].Blobs) != 2 {
		t.Errorf("statistics %+v, %v", stats, err)
	}
	if res.Metadata, err = target.SetProperties(t.Context(), res.Metadata, map[string]string{"a": "b"}, "lakescan.projection.v"); err != nil || res.Metadata.Properties["a"] != "b" {
		t.Errorf("properties %v, %v", res.Metadata.Properties, err)
	}
	if err := target.Drop(t.Context(), false); err != nil {
		t.Error(err)
	}
}

func statisticsBuilder(t *testing.T, target *commit.Table, res *commit.Result, kind string) func(context.Context, *meta.StatisticsFile) (meta.StatisticsFile, error) {
	return func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error) {
		var out bytes.Buffer
		w, err := puffin.NewWriter(&out)
		if err != nil {
			return meta.StatisticsFile{}, err
		}
		if err := target.CarryOver(ctx, present, w, func(b puffin.Blob) bool { return b.Type != kind }); err != nil {
			return meta.StatisticsFile{}, err
		}
		if _, err := w.Add(puffin.Blob{Type: kind, Fields: []int{1}, Snapshot: res.Snapshot, Sequence: res.Metadata.LastSequence, Codec: puffin.Zstd}, []byte(strings.Repeat("blob ", 100))); err != nil {
			return meta.StatisticsFile{}, err
		}
		f, err := w.Close()
		if err != nil {
			return meta.StatisticsFile{}, err
		}
		path := res.Metadata.Location + "/metadata/" + kind + ".puffin"
		put(t, target.Store, path, out.Bytes())
		return commit.Describe(path, f), nil
	}
}

func whereOf(sql string) lakescan.ScanOption {
	return lakescan.Where(expr.MustParse(strings.TrimPrefix(sql, " where ")))
}

// below puts all namespaces of a test under one of its own, so that tests share a catalog.
type below struct {
	c    *rest.Client
	root string
}

func (b *below) ns(parts []string) []string { return append([]string{b.root}, parts...) }
func (b *below) id(id meta.Ident) meta.Ident {
	return meta.Ident{Namespace: b.ns(id.Namespace), Name: id.Name}
}

// own turns the ident of an error into the test's.
func (b *below) own(err error) error {
	if e, ok := errors.AsType[*meta.Error](err); ok && len(e.Ident.Namespace) > 0 && e.Ident.Namespace[0] == b.root {
		e.Ident.Namespace = e.Ident.Namespace[1:]
	}
	return err
}

func (b *below) mustCreate(t *testing.T, parts []string) {
	t.Helper()
	if err := b.c.CreateNamespace(t.Context(), b.ns(parts), nil); err != nil && !errors.Is(err, meta.ErrConflict) {
		t.Fatal(err)
	}
}

func (b *below) Load(ctx context.Context, id meta.Ident, all bool) (*meta.Metadata, error) {
	m, err := b.c.Load(ctx, b.id(id), all)
	return m, b.own(err)
}

func (b *below) Post(ctx context.Context, id meta.Ident, body []byte) (*meta.Metadata, error) {
	m, err := b.c.Post(ctx, b.id(id), body)
	return m, b.own(err)
}

func (b *below) Create(ctx context.Context, ns []string, name string, body []byte) (*meta.Metadata, error) {
	m, err := b.c.Create(ctx, b.ns(ns), name, body)
	return m, b.own(err)
}

func (b *below) Drop(ctx context.Context, id meta.Ident, purge bool) error {
	return b.own(b.c.Drop(ctx, b.id(id), purge))
}

func (b *below) Tables(ctx context.Context, ns []string) iter.Seq2[meta.Ident, error] {
	return func(yield func(meta.Ident, error) bool) {
		for id, err := range b.c.Tables(ctx, b.ns(ns)) {
			if err == nil {
				id.Namespace = id.Namespace[1:]
			}
			if !yield(id, b.own(err)) {
				return
			}
		}
	}
}

func (b *below) Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for ns, err := range b.c.Namespaces(ctx, b.ns(parent)) {
			if err == nil {
				ns = ns[1:]
			}
			if !yield(ns, b.own(err)) {
				return
			}
		}
	}
}
