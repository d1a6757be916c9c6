package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/rest"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var schemaText = []byte(`{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"s","required":false,"type":"string"},
	{"id":3,"name":"l","required":false,"type":{"type":"list","element-id":4,"element":"decimal(9, 2)","element-required":false}}]}`)

// lake is a catalog, a store, and a table that has been created.
type lake struct {
	t       *testing.T
	server  *fakerest.Server
	client  *rest.Client
	catalog *iceberg.Catalog
	store   *mem.Store
	table   *Table
	base    *meta.Metadata
}

var ident = meta.Ident{Namespace: []string{"db"}, Name: "t"}

func newLake(t *testing.T, cfg fakerest.Config) *lake {
	t.Helper()
	l := &lake{t: t, server: fakerest.New(cfg), store: mem.New()}
	l.server.AddNamespace("db")
	tr := fakerest.Pipe(t, l.server)
	var err error
	if l.client, err = rest.Open(t.Context(), rest.Config{URI: "http://c", Transport: tr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.client.Close() })
	l.catalog, err = iceberg.Open(t.Context(), iceberg.CatalogConfig{URI: "http://c", Transport: tr, NewStore: func(object.Credentials) (object.Store, error) { return l.store, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.catalog.Close() })
	l.table = &Table{Backend: l.client, Ident: ident, Store: l.store}
	return l
}

// created is a lake whose table holds the files in one snapshot.
func created(t *testing.T, cfg fakerest.Config, files ...string) *lake {
	l := newLake(t, cfg)
	schema, err := meta.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.table.Stage(t.Context(), NewTable{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Commit(t.Context(), Change{Add: dataFiles(files...)})
	if err != nil {
		t.Fatal(err)
	}
	l.base = r.Metadata
	return l
}

func dataFiles(names ...string) []DataFile {
	var out []DataFile
	for i, n := range names {
		out = append(out, DataFile{
			Path: "s3://warehouse/db/t/data/" + n, Rows: int64(10 + i), Size: 1000, Nulls: map[int]int64{1: 0, 2: 3}, Values: map[int]int64{1: 10, 2: 10},
			ColumnSizes: map[int]int64{1: 80, 2: 50}, Lower: map[int][]byte{1: {1, 0, 0, 0, 0, 0, 0, 0}, 2: []byte("a")}, Upper: map[int][]byte{1: {9, 0, 0, 0, 0, 0, 0, 0}, 2: []byte("a string longer than sixteen")},
		})
	}
	return out
}

// live are the table's files, as a scan would read them.
func (l *lake) live() []string {
	l.t.Helper()
	tb, err := l.catalog.Load(l.t.Context(), ident)
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := tb.Plan(l.t.Context(), iceberg.ScanSpec{})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for task, err := range p.Tasks(l.t.Context()) {
		if err != nil {
			l.t.Fatal(err)
		}
		name := task.File.Location.Recorded
		out = append(out, fmt.Sprintf("%s:%d", name[strings.LastIndexByte(name, '/')+1:], task.DataSequence))
	}
	slices.Sort(out)
	return out
}

func (l *lake) wantLive(want ...string) {
	l.t.Helper()
	if got := l.live(); !slices.Equal(got, want) {
		l.t.Errorf("live files %v, want %v", got, want)
	}
}

// metadataFiles are the Avro files in the store.
func (l *lake) metadataFiles() int {
	n := 0
	loc, err := object.ParseLocation("s3://warehouse/db/t/")
	if err != nil {
		l.t.Fatal(err)
	}
	for info, err := range l.store.List(l.t.Context(), loc) {
		if err != nil {
			l.t.Fatal(err)
		}
		if strings.HasSuffix(info.Location.Key, ".avro") {
			n++
		}
	}
	return n
}

func (l *lake) load() *meta.Metadata {
	l.t.Helper()
	m, err := l.client.Load(l.t.Context(), ident, true)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

func TestAppendAndOverwrite(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a", "b")
	l.wantLive("a:1", "b:1")
	r, err := l.table.Commit(t.Context(), l.base, Change{Add: dataFiles("c"), Summary: map[string]string{"lakescan.refresh": "{}"}, Properties: map[string]string{"p": "q"}})
	if err != nil {
		t.Fatal(err)
	}
	l.wantLive("a:1", "b:1", "c:2")
	s, err := r.Metadata.Snapshot(r.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"added-data-files": "1", "added-records": "10", "added-files-size": "1000", "total-data-files": "3", "total-records": "31", "total-files-size": "3000",
		"total-delete-files": "0", "total-position-deletes": "0", "total-equality-deletes": "0", "lakescan.refresh": "{}",
	}
	if !maps.Equal(s.Summary, want) || s.Operation != "append" || s.SchemaID != 0 || s.Parent == 0 {
		t.Errorf("snapshot %+v\nwant summary %v", s, want)
	}
	if r.Metadata.Properties["p"] != "q" || r.Rounds != 1 {
		t.Errorf("result %+v", r)
	}
	// One of two files of a manifest goes; the other keeps its sequence number.
	r, err = l.table.Commit(t.Context(), r.Metadata, Change{Remove: []string{"s3://warehouse/db/t/data/a"}, Add: dataFiles("d")})
	if err != nil {
		t.Fatal(err)
	}
	l.wantLive("b:1", "c:2", "d:3")
	s, _ = r.Metadata.Snapshot(r.Snapshot)
	if s.Operation != "overwrite" || s.Summary["deleted-data-files"] != "1" || s.Summary["deleted-records"] != "10" || s.Summary["total-records"] != "31" || s.Summary["total-data-files"] != "3" {
		t.Errorf("snapshot %+v", s)
	}
	r, err = l.table.Commit(t.Context(), r.Metadata, Change{RemoveAll: true, Add: dataFiles("e"), Operation: "replace"})
	if err != nil {
		t.Fatal(err)
	}
	l.wantLive("e:4")
	if s, _ = r.Metadata.Snapshot(r.Snapshot); s.Operation != "replace" || s.Summary["total-records"] != "10" || s.Summary["deleted-data-files"] != "3" {
		t.Errorf("snapshot %+v", s)
	}
	if _, err = l.table.Commit(t.Context(), r.Metadata, Change{RemoveAll: true}); err != nil {
		t.Fatal(err)
	}
	l.wantLive()
	// Old snapshots stay readable.
	tb, err := l.catalog.Load(t.Context(), ident)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tb.Plan(t.Context(), iceberg.ScanSpec{Version: iceberg.Version{Snapshot: mustHead(t, l.base)}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range p.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d files in the first snapshot", n)
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a")
	if _, err := l.table.Commit(t.Context(), l.base, Change{Add: dataFiles("b")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.table.SetProperties(t.Context(), l.base, map[string]string{"a": "b"}); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range l.server.Log() {
		var q struct{ Requirements []map[string]any }
		if r.Method != "POST" || !strings.HasSuffix(r.Path, "/tables/t") || json.Unmarshal([]byte(r.Body), &q) != nil {
			continue
		}
		var types []string
		for _, q := range q.Requirements {
			types = append(types, fmt.Sprint(q["type"]))
		}
		got = append(got, types)
	}
	want := [][]string{{"assert-create"}, {"assert-table-uuid", "assert-ref-snapshot-id", "assert-current-schema-id"}, {"assert-table-uuid"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("requirements %v, want %v", got, want)
	}
}

func mustHead(t testing.TB, m *meta.Metadata) int64 {
	id, ok := head(m)
	if !ok {
		t.Fatal("no head")
	}
	return id
}

func TestMetricsSurviveARewrite(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a", "b")
	r, err := l.table.Commit(t.Context(), l.base, Change{Remove: []string{"s3://warehouse/db/t/data/b"}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := l.table.manifestsOf(t.Context(), r.Metadata)
	if err != nil || len(files) != 1 {
		t.Fatalf("%+v, %v", files, err)
	}
	f := files[0]
	if f.ExistingFiles != 1 || f.DeletedFiles != 1 || f.AddedFiles != 0 || f.MinSequence != 1 || f.Sequence != 2 || f.ExistingRows != 10 || f.DeletedRows != 11 {
		t.Errorf("manifest %+v", f)
	}
	data, err := l.table.get(t.Context(), f.Path)
	if err != nil {
		t.Fatal(err)
	}
	ids := fieldIDs(r.Metadata)
	n := 0
	err = each(r.Metadata, ids, data, f, func(e *manifest.Entry) error {
		n++
		two := e.Metric(slices.Index(ids, 2))
		if e.Status != manifest.Existing || e.Sequence != 1 || e.FileSequence != 1 || two.Nulls != 3 || two.Values != 10 || two.NaNs != -1 ||
			string(two.Lower) != "a" || string(two.Upper) != "a string longer!" || e.ColumnSize(slices.Index(ids, 1)) != 80 {
			t.Errorf("entry %+v, metric %+v", e, two)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d live entries, %v", n, err)
	}
}

var errFailpoint = errors.New("any failpoint")
