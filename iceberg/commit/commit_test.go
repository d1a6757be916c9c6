package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/puffin"
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

// rival commits another file while a commit is at a failpoint.
func (l *lake) rival(name string, c Change) func(context.Context, string) error {
	var once sync.Once
	return func(context.Context, string) (err error) {
		once.Do(func() {
			if c.Add == nil && !c.RemoveAll && c.Remove == nil {
				c.Add = dataFiles(name)
			}
			_, err = l.table.Commit(l.t.Context(), l.load(), c)
		})
		return err
	}
}

func TestP11_ConflictsAreRetriedOnTop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := created(t, fakerest.Config{}, "a")
		ctx, _ := failpoints.Scoped(t, t.Context(), "iceberg/commit_post=1*call", l.rival("rival", Change{}))
		asked := 0
		r, err := l.table.Commit(ctx, l.base, Change{Add: dataFiles("b"), Holds: func(_ context.Context, m *meta.Metadata) error {
			if asked++; m.LastSequence != 2 {
				t.Errorf("asked about sequence %d", m.LastSequence)
			}
			return nil
		}})
		if err != nil || r.Rounds != 2 || asked != 1 {
			t.Fatalf("result %+v, error %v, asked %d", r, err, asked)
		}
		l.wantLive("a:1", "b:3", "rival:2")
		// The manifest of the added files was written once, the list twice.
		if n := l.metadataFiles(); n != 2+2+1+2 {
			t.Errorf("%d metadata files", n)
		}
	})
}

func TestP11_ACommitThatNoLongerHoldsEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change, rival Change
	}{
		"the reason is gone":     {change: Change{Add: dataFiles("b"), Holds: func(context.Context, *meta.Metadata) error { return errors.New("no reason any more") }}},
		"the file is gone":       {change: Change{Remove: []string{"s3://warehouse/db/t/data/a"}}, rival: Change{RemoveAll: true}},
		"the file never existed": {change: Change{Remove: []string{"s3://warehouse/db/t/data/zzz"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := created(t, fakerest.Config{}, "a")
				ctx, _ := failpoints.Scoped(t, t.Context(), "iceberg/commit_post=1*call", l.rival("rival", c.rival))
				_, err := l.table.Commit(ctx, l.base, c.change)
				if !errors.Is(err, ErrStale) || !errors.Is(err, meta.ErrConflict) {
					t.Errorf("error %v", err)
				}
				want := 2 + 2 // of the first commit and of the rival
				if name == "the file never existed" {
					want = 2
				}
				if n := l.metadataFiles(); n != want {
					t.Errorf("%d metadata files, want %d: a failed commit cleans up", n, want)
				}
			})
		})
	}
}

func TestP11_RowsDeletedMeanwhileDoNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := created(t, fakerest.Config{}, "a")
		ctx, _ := failpoints.Scoped(t, t.Context(), "iceberg/commit_post=1*call", func(ctx context.Context, _ string) error {
			return l.addDeleteManifest(ctx)
		})
		_, err := l.table.Commit(ctx, l.base, Change{Remove: []string{"s3://warehouse/db/t/data/a"}, Add: dataFiles("compacted")})
		if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "deleted meanwhile") {
			t.Errorf("error %v", err)
		}
		// A rebuild does not care: its rows come from elsewhere.
		if _, err := l.table.Commit(t.Context(), l.load(), Change{RemoveAll: true, Add: dataFiles("rebuilt")}); err != nil {
			t.Error(err)
		}
		l.wantLive("rebuilt:3")
	})
}

// addDeleteManifest commits a position-delete file, as another engine would.
func (l *lake) addDeleteManifest(ctx context.Context) error {
	base := l.load()
	files, err := l.table.manifestsOf(ctx, base)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := manifest.NewWriter(&b, manifest.WriterConfig{Version: 2, Table: base, Spec: base.Spec(0), SchemaJSON: schemaText, Deletes: true})
	if err != nil {
		return err
	}
	e := manifest.NewFile("s3://warehouse/db/t/data/del", 1, 10)
	e.Content, e.Snapshot = manifest.PositionDeletes, 4242
	if err := w.Append(&e); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	l.store.Put("s3://warehouse/db/t/metadata/del-m.avro", b.Bytes())
	files = append(files, manifest.File{Path: "s3://warehouse/db/t/metadata/del-m.avro", Length: int64(b.Len()), Deletes: true, Sequence: 2, MinSequence: 2, AddedSnapshot: 4242, AddedFiles: 1, AddedRows: 1, Partitions: []manifest.Summary{}})
	var list bytes.Buffer
	if err := manifest.WriteList(&list, manifest.ListConfig{Version: 2, Snapshot: 4242, Parent: mustHead(l.t, base), Sequence: 2}, files); err != nil {
		return err
	}
	l.store.Put("s3://warehouse/db/t/metadata/del-list.avro", list.Bytes())
	rq := request{Requirements: []jsonMap{assertUUID(base)}, Updates: []jsonMap{{"action": "add-snapshot", "snapshot": jsonMap{
		"snapshot-id": 4242, "parent-snapshot-id": mustHead(l.t, base), "sequence-number": 2,
		"timestamp-ms": base.LastUpdated.UnixMilli() + 1, "manifest-list": "s3://warehouse/db/t/metadata/del-list.avro", "summary": jsonMap{"operation": "delete"},
	}}, setMain(base, 4242)}}
	body, err := rq.bytes()
	if err != nil {
		return err
	}
	_, err = l.client.Post(ctx, ident, body)
	return err
}

// TestP11_PublishedOnceOrNotAtAll breaks a commit at each point, in each way, and looks at what became of it.
func TestP11_PublishedOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec string
		published  bool
		class      error // of the commit's error; nil = success
	}{
		{"manifest cannot be written", "iceberg/commit_write=1*error(disk)", false, errFailpoint},
		{"list cannot be written", "iceberg/commit_write=1*off->1*error(disk)", false, errFailpoint},
		{"stopped before the request", "iceberg/commit_post=1*error(stop)", false, errFailpoint},
		{"answer lost once", "iceberg/commit_answer=1*error(lost)", true, nil},
		{"answer lost always", "iceberg/commit_answer=error(lost)", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := created(t, fakerest.Config{}, "a")
				before := l.metadataFiles()
				ctx, _ := failpoints.Scoped(t, t.Context(), c.spec, nil)
				r, err := l.table.Commit(ctx, l.base, Change{Add: dataFiles("b")})
				if c.class == nil && err != nil || c.class != nil && !isClass(err, c.class) {
					t.Errorf("error %v", err)
				}
				if c.published {
					l.wantLive("a:1", "b:2")
					if m := l.load(); r != nil && mustHead(t, m) != r.Snapshot {
						t.Errorf("head is not the snapshot")
					}
					return
				}
				l.wantLive("a:1")
				if n := l.metadataFiles(); n != before {
					t.Errorf("%d metadata files, were %d", n, before)
				}
			})
		})
	}
}

var errFailpoint = errors.New("any failpoint")

func isClass(err, class error) bool {
	if class == errFailpoint {
		_, ok := errors.AsType[*failpoints.Error](err)
		return ok
	}
	return errors.Is(err, class)
}

// flaky scripts the answers to commits: "apply" lets the catalog act and loses the answer, a number is sent instead of acting,
// "ok" is left alone. The last repeats.
func flaky(script ...string) (cfg fakerest.Config, posts *int) {
	var mu sync.Mutex
	n := 0
	step := func(r *http.Request) string {
		if r.Method != "POST" || !strings.Contains(r.URL.Path, "/tables/t") {
			return "ok"
		}
		return script[min(n, len(script)-1)]
	}
	armed := false
	cfg.Before = func(r *http.Request) *fakerest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("X-Arm") != "" {
			armed = true
		}
		if !armed {
			return nil
		}
		var status int
		if _, err := fmt.Sscan(step(r), &status); err == nil {
			n++
			return &fakerest.Answer{Status: status}
		}
		return nil
	}
	cfg.After = func(r *http.Request, status int) *fakerest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if !armed || r.Method != "POST" || !strings.Contains(r.URL.Path, "/tables/t") {
			return nil
		}
		s := step(r)
		if s == "ok" || s == "apply" {
			n++
		}
		if s == "apply" {
			return &fakerest.Answer{Status: 502}
		}
		return nil
	}
	return cfg, &n
}

// arm begins the script.
func (l *lake) arm() {
	r, err := http.NewRequestWithContext(l.t.Context(), "GET", "http://c/v1/config", http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Arm", "1")
	l.server.ServeHTTP(discard{}, r)
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestP11_LostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		script    []string
		published bool
		class     error
	}{
		{"applied, then 502", []string{"apply", "ok"}, true, nil},
		{"not applied, 500, sent again", []string{"500", "ok"}, true, nil},
		{"not applied twice", []string{"500", "504", "ok"}, true, nil},
		{"500, then applied and lost", []string{"500", "apply", "ok"}, true, nil},
		{"500 for ever", []string{"500"}, false, meta.ErrCommitUnknown},
		{"refused", []string{"403"}, false, meta.ErrDenied},
		{"500, then refused", []string{"500", "403"}, false, meta.ErrCommitUnknown},
		{"throttled, then accepted", []string{"429", "429", "ok"}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := flaky(c.script...)
				l := created(t, cfg, "a")
				before := l.metadataFiles()
				l.arm()
				r, err := l.table.Commit(t.Context(), l.base, Change{Add: dataFiles("b")})
				if c.class == nil && err != nil || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v", err)
				}
				if unknown, ok := errors.AsType[*UnknownError](err); ok {
					if unknown.Snapshot == 0 || len(unknown.Files) != 3 || !strings.Contains(err.Error(), "/data/b") {
						t.Errorf("unknown outcome %+v", unknown)
					}
					if n := l.metadataFiles(); n != before+2 {
						t.Errorf("%d metadata files: some were deleted while the outcome is unknown", n)
					}
				} else if !c.published && l.metadataFiles() != before {
					t.Errorf("%d metadata files, were %d", l.metadataFiles(), before)
				}
				if c.published {
					l.wantLive("a:1", "b:2")
					if m := l.load(); mustHead(t, m) != r.Snapshot {
						t.Error("another snapshot is the head")
					}
				} else {
					l.wantLive("a:1")
				}
			})
		})
	}
}

func TestP11_LostAnswerAndARival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Our request is lost before it acts; another commits before we look.
		l := created(t, fakerest.Config{}, "a")
		lost := 0
		b := &losing{Client: l.client, before: func() error {
			if lost++; lost == 1 {
				if err := l.rival("rival", Change{})(t.Context(), ""); err != nil {
					t.Error(err)
				}
				return fmt.Errorf("%w: the line went dead", meta.ErrCommitUnknown)
			}
			return nil
		}}
		r, err := (&Table{Backend: b, Ident: ident, Store: l.store}).Commit(t.Context(), l.base, Change{Add: dataFiles("b")})
		if err != nil || r.Rounds != 2 {
			t.Fatalf("result %+v, error %v", r, err)
		}
		l.wantLive("a:1", "b:3", "rival:2")
	})
}

// losing puts a hook before commits.
type losing struct {
	*rest.Client
	before func() error
}

func (b *losing) Post(ctx context.Context, id meta.Ident, body []byte) (*meta.Metadata, error) {
	if err := b.before(); err != nil {
		return nil, err
	}
	return b.Client.Post(ctx, id, body)
}

func TestP11_CancelledWhileTheRequestIsOut(t *testing.T) {
	t.Parallel()
	for _, lands := range []bool{true, false} {
		t.Run(fmt.Sprintf("lands %v", lands), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := false
				hold := func(r *http.Request) *fakerest.Answer {
					if slow && r.Method == "POST" {
						return &fakerest.Answer{Delay: time.Hour}
					}
					return nil
				}
				cfg := fakerest.Config{}
				if lands {
					cfg.After = func(r *http.Request, _ int) *fakerest.Answer {
						if slow && r.Method == "POST" {
							<-r.Context().Done() // done, but the answer never leaves
						}
						return nil
					}
				} else {
					cfg.Before = hold
				}
				l := created(t, cfg, "a")
				slow = true
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				r, err := l.table.Commit(ctx, l.base, Change{Add: dataFiles("b")})
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("took %v", took)
				}
				if lands {
					if err != nil {
						t.Errorf("it landed, and the error is %v", err)
					}
					l.wantLive("a:1", "b:2")
					return
				}
				if !errors.Is(err, meta.ErrCommitUnknown) || r != nil {
					t.Errorf("result %+v, error %v", r, err)
				}
				l.wantLive("a:1")
			})
		})
	}
}

func TestStagedTables(t *testing.T) {
	t.Parallel()
	schema, err := meta.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	n := NewTable{Schema: schema, Properties: map[string]string{"lakescan.projection.v": "1"}, Order: &meta.SortOrder{ID: 1, Fields: []meta.SortField{{Source: 1}}}}
	n.Order.Fields[0].Transform = identity
	l := newLake(t, fakerest.Config{})
	s, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if s.Exists || s.Metadata.Location != "s3://warehouse/db/t" || s.Metadata.Properties["lakescan.projection.v"] != "1" {
		t.Errorf("staged %+v", s.Metadata)
	}
	if _, err := l.client.Load(t.Context(), ident, false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("a staged table is seen: %v", err)
	}
	r, err := s.Commit(t.Context(), Change{Add: dataFiles("a")})
	if err != nil {
		t.Fatal(err)
	}
	l.wantLive("a:1")
	m := r.Metadata
	if m.UUID != s.Metadata.UUID || m.Properties["lakescan.projection.v"] != "1" || len(m.SortOrders) != 2 || m.DefaultSortID != 1 || m.LastColumnID != 4 {
		t.Errorf("created %+v", m)
	}
	text1, _ := SchemaJSON(schema)
	text2, _ := SchemaJSON(m.Current())
	if string(text1) != string(text2) {
		t.Errorf("schema\n%s\nwant\n%s", text2, text1)
	}
	if _, err := l.table.Stage(t.Context(), n); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("a second table of the name: %v", err)
	}
	if err := l.table.Drop(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := l.table.Drop(t.Context(), false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("dropped twice: %v", err)
	}
	// Two that were staged at once: the first commit wins.
	one, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Commit(t.Context(), Change{Add: dataFiles("one")}); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Commit(t.Context(), Change{Add: dataFiles("two")}); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("the second: %v", err)
	}
	l.wantLive("one:1")
}

func TestServersThatCannotStage(t *testing.T) {
	t.Parallel()
	l := newLake(t, fakerest.Config{NoStaging: true})
	schema, err := meta.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.table.Stage(t.Context(), NewTable{Schema: schema})
	if err != nil || !s.Exists {
		t.Fatalf("%+v, %v", s, err)
	}
	l.wantLive()
	if _, err := s.Commit(t.Context(), Change{Add: dataFiles("a")}); err != nil {
		t.Fatal(err)
	}
	l.wantLive("a:1")
}

func TestOnlyVersion2IsCommittedTo(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a")
	m := l.load()
	m.FormatVersion = 3 // of this copy
	if _, err := l.table.Commit(t.Context(), m, Change{Add: dataFiles("b")}); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
	readOnly := &Table{Backend: l.client, Ident: ident, Store: struct{ object.Store }{l.store}}
	if _, err := readOnly.Commit(t.Context(), l.base, Change{Add: dataFiles("b")}); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("read-only store: %v", err)
	}
}

// statisticsFile writes a Puffin file with blobs of the kinds, carrying over those of present that are of another kind.
func (l *lake) statisticsFile(ctx context.Context, name string, present *meta.StatisticsFile, kinds ...string) (meta.StatisticsFile, error) {
	var b bytes.Buffer
	w, err := puffin.NewWriter(&b)
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	err = l.table.CarryOver(ctx, present, w, func(b puffin.Blob) bool { return !slices.Contains(kinds, b.Type) })
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	for _, k := range kinds {
		if _, err := w.Add(puffin.Blob{Type: k, Fields: []int{1}, Snapshot: mustHead(l.t, l.base), Sequence: 1, Codec: puffin.Zstd}, []byte("content of "+k)); err != nil {
			return meta.StatisticsFile{}, err
		}
	}
	f, err := w.Close()
	if err != nil {
		return meta.StatisticsFile{}, err
	}
	path := "s3://warehouse/db/t/metadata/" + name
	l.store.Put(path, b.Bytes())
	return Describe(path, f), nil
}

func blobKinds(t testing.TB, m *meta.Metadata, snapshot int64) []string {
	s, err := statistics(m, snapshot)
	if err != nil || s == nil {
		t.Fatalf("statistics %v, %v", s, err)
	}
	var kinds []string
	for _, b := range s.Blobs {
		kinds = append(kinds, b.Type)
	}
	slices.Sort(kinds)
	return kinds
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a")
	id := mustHead(t, l.base)
	set := func(ctx context.Context, base *meta.Metadata, name, kind string) (*meta.Metadata, error) {
		n := 0
		return l.table.SetStatistics(ctx, base, id, func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error) {
			n++
			return l.statisticsFile(ctx, fmt.Sprintf("%s-%d.puffin", name, n), present, kind)
		})
	}
	m, err := set(t.Context(), l.base, "first", "theta")
	if err != nil {
		t.Fatal(err)
	}
	m, err = set(t.Context(), m, "second", "lakescan-index")
	if err != nil {
		t.Fatal(err)
	}
	if got := blobKinds(t, m, id); !slices.Equal(got, []string{"lakescan-index", "theta"}) {
		t.Errorf("blobs %v", got)
	}
	// Another writer that knew neither file comes in between request and look.
	l2, _ := failpoints.Scoped(t, t.Context(), "iceberg/commit_answer=1*call", func(ctx context.Context, _ string) error {
		f, err := l.statisticsFile(ctx, "rival.puffin", nil, "of-the-rival")
		if err != nil {
			return err
		}
		f.Snapshot = id
		rq := request{Requirements: []jsonMap{}, Updates: []jsonMap{{"action": "set-statistics", "snapshot-id": id, "statistics": statisticsJSON(f)}}}
		body, err := rq.bytes()
		if err != nil {
			return err
		}
		_, err = l.client.Post(t.Context(), ident, body)
		return err
	})
	m, err = set(l2, m, "third", "lakescan-index")
	if err != nil {
		t.Fatal(err)
	}
	if got := blobKinds(t, m, id); !slices.Equal(got, []string{"lakescan-index", "of-the-rival"}) {
		t.Errorf("blobs %v", got)
	}
	s, _ := statistics(m, id)
	if s.Path != "s3://warehouse/db/t/metadata/third-2.puffin" {
		t.Errorf("file %s", s.Path)
	}
	loc, err := object.ParseLocation("s3://warehouse/db/t/metadata/third-1.puffin")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{}); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the file that lost is still there: %v", err)
	}
}

func TestStatisticsWithLostAnswers(t *testing.T) {
	t.Parallel()
	for _, script := range [][]string{{"apply", "ok"}, {"500", "ok"}, {"500", "apply", "ok"}} {
		synctest.Test(t, func(t *testing.T) {
			cfg, _ := flaky(script...)
			l := created(t, cfg, "a")
			l.arm()
			id := mustHead(t, l.base)
			m, err := l.table.SetStatistics(t.Context(), l.base, id, func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error) {
				return l.statisticsFile(ctx, "x.puffin", present, "k")
			})
			if err != nil {
				t.Fatalf("%v: %v", script, err)
			}
			if got := blobKinds(t, m, id); !slices.Equal(got, []string{"k"}) {
				t.Errorf("%v: blobs %v", script, got)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := flaky("500", "apply", "ok")
		l := created(t, cfg, "a")
		l.arm()
		m, err := l.table.SetProperties(t.Context(), l.base, map[string]string{"a": "1", "b": "2"})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = l.table.SetProperties(t.Context(), m, nil, "a"); err != nil {
			t.Fatal(err)
		}
		if _, still := m.Properties["a"]; still || m.Properties["b"] != "2" {
			t.Errorf("properties %v", m.Properties)
		}
		if same, err := l.table.SetProperties(t.Context(), m, nil); err != nil || same != m {
			t.Errorf("nothing to do: %v", err)
		}
	})
}
