package commit

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

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
	sequence := base.LastSequence + 1
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
	files = append(files, manifest.File{Path: "s3://warehouse/db/t/metadata/del-m.avro", Length: int64(b.Len()), Deletes: true, Sequence: sequence, MinSequence: sequence, AddedSnapshot: 4242, AddedFiles: 1, AddedRows: 1, FirstRowID: -1, Partitions: []manifest.Summary{}})
	var list bytes.Buffer
	if err := manifest.WriteList(&list, manifest.ListConfig{Version: base.FormatVersion, Snapshot: 4242, Parent: mustHead(l.t, base), Sequence: sequence}, files); err != nil {
		return err
	}
	l.store.Put("s3://warehouse/db/t/metadata/del-list.avro", list.Bytes())
	rq := request{Requirements: []jsonMap{assertUUID(base)}, Updates: []jsonMap{{"action": "add-snapshot", "snapshot": jsonMap{
		"snapshot-id": 4242, "parent-snapshot-id": mustHead(l.t, base), "sequence-number": sequence, "first-row-id": max(base.NextRowID, 0), "added-rows": 0,
		"timestamp-ms": base.LastUpdated.UnixMilli() + 1, "manifest-list": "s3://warehouse/db/t/metadata/del-list.avro", "summary": jsonMap{"operation": "delete"},
	}}, setMain(base, 4242)}}
	body, err := rq.bytes()
	if err != nil {
		return err
	}
	_, err = l.client.Post(ctx, ident, body)
	return err
}
