package commit

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
)

// What cannot be committed to is refused before anything is written.
func TestVersionsThatAreRefused(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a")
	before := l.metadataFiles()
	for _, c := range []struct {
		name          string
		version, next int64
		class         error
	}{{"version 1", 1, -1, meta.ErrUnsupported}, {"version 4", 4, 0, meta.ErrUnsupported}, {"version 3 without row ids", 3, -1, meta.ErrInvalidMetadata}} {
		m := l.load()
		m.FormatVersion, m.NextRowID = int(c.version), c.next // of this copy
		for _, change := range []Change{{Add: dataFiles("b")}, {Remove: []string{"s3://warehouse/db/t/data/a"}}, {RemoveAll: true}} {
			if _, err := l.table.Commit(t.Context(), m, change); !errors.Is(err, c.class) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	readOnly := &Table{Backend: l.client, Ident: ident, Store: struct{ object.Store }{l.store}}
	if _, err := readOnly.Commit(t.Context(), l.base, Change{Add: dataFiles("b")}); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("read-only store: %v", err)
	}
	if l.metadataFiles() != before {
		t.Error("something was written")
	}
	l.wantLive("a:1")
}

// upgrade raises the table to version 3: its files have no row ids yet.
func (l *lake) upgrade() {
	l.t.Helper()
	body, err := json.Marshal(jsonMap{"requirements": []jsonMap{}, "updates": []jsonMap{{"action": "upgrade-format-version", "format-version": 3}}})
	if err != nil {
		l.t.Fatal(err)
	}
	if l.base, err = l.client.Post(l.t.Context(), ident, body); err != nil {
		l.t.Fatal(err)
	}
	if l.base.FormatVersion != 3 || l.base.NextRowID != 0 {
		l.t.Fatalf("version %d, next row id %d", l.base.FormatVersion, l.base.NextRowID)
	}
}

// rowIDs are the first row ids of the live files by path, checked to be of rows that no other file has, below the table's next one.
func (l *lake) rowIDs() map[string]int64 {
	l.t.Helper()
	tb, err := l.catalog.Load(l.t.Context(), ident)
	if err != nil {
		l.t.Fatal(err)
	}
	p, err := tb.Plan(l.t.Context(), iceberg.ScanSpec{})
	if err != nil {
		l.t.Fatal(err)
	}
	out, of := map[string]int64{}, map[int64]string{}
	for task, err := range p.Tasks(l.t.Context()) {
		if err != nil {
			l.t.Fatal(err)
		}
		path := task.File.Location.Recorded
		out[path] = task.FirstRowID
		for id := task.FirstRowID; id < task.FirstRowID+task.Rows; id++ {
			if other, taken := of[id]; taken || id < 0 || id >= tb.Metadata().NextRowID {
				l.t.Fatalf("row id %d of %s; next is %d, %q has it too", id, path, tb.Metadata().NextRowID, other)
			}
			of[id] = path
		}
	}
	return out
}

func (l *lake) commit(c Change) {
	l.t.Helper()
	r, err := l.table.Commit(l.t.Context(), l.base, c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.base = r.Metadata
}

// Rows of a table of version 3 get ids once, and keep them when their manifest is written again.
func TestVersion3GivesRowIDs(t *testing.T) {
	t.Parallel()
	l := created(t, fakerest.Config{}, "a", "b", "c")
	l.upgrade()
	l.commit(Change{Add: dataFiles("d", "e")})
	first := l.rowIDs()
	if len(first) != 5 || l.base.NextRowID != 33+21 {
		t.Fatalf("row ids %v, next %d", first, l.base.NextRowID)
	}
	head, err := l.base.Snapshot(mustHead(t, l.base))
	if err != nil || head.FirstRowID != 0 || head.AddedRows != 54 {
		t.Errorf("snapshot %+v, %v", head, err)
	}
	same := func(what string, gone ...string) {
		t.Helper()
		now := l.rowIDs()
		for path, id := range now {
			if was, ok := first[path]; ok && was != id {
				t.Errorf("after %s: %s has rows from %d, they were from %d", what, path, id, was)
			}
		}
		for _, path := range gone {
			if _, ok := now[path]; ok {
				t.Errorf("after %s: %s is there", what, path)
			}
		}
		first = now
	}
	l.commit(Change{Add: dataFiles("f")})
	same("an append")
	l.commit(Change{Remove: []string{"s3://warehouse/db/t/data/b", "s3://warehouse/db/t/data/e"}, Add: dataFiles("g")})
	same("a replacement", "s3://warehouse/db/t/data/b", "s3://warehouse/db/t/data/e")
	if len(first) != 5 {
		t.Errorf("%d files", len(first))
	}
	rival := l.rival("rival", Change{Add: dataFiles("r")})
	if err := rival(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	l.commit(Change{Add: dataFiles("h")}) // on an old base: ids are assigned anew for the next round
	same("a conflict")
	if len(first) != 7 {
		t.Errorf("%d files", len(first))
	}
	if err := l.addDeleteManifest(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.base = l.load()
	before := l.metadataFiles()
	if _, err := l.table.Commit(t.Context(), l.base, Change{Remove: []string{"s3://warehouse/db/t/data/a"}}); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("a file with a deletion vector is taken out: %v", err)
	}
	if l.metadataFiles() != before {
		t.Error("something was written")
	}
	l.commit(Change{RemoveAll: true, Add: dataFiles("z")})
	if got := l.rowIDs(); len(got) != 1 {
		t.Errorf("after all is replaced: %v", got)
	}
}
