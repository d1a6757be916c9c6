package iceberg

import (
	"errors"
	"testing"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/internal/icetable"
	"github.com/lakescan/lakescan/object"
)

func appended(t *testing.T, table *Table, from, to int64) ([]string, error) {
	p, err := table.PlanAppended(t.Context(), ScanSpec{Version: Version{Snapshot: to}}, from)
	if err != nil {
		return nil, err
	}
	tasks, err := tasksOf(t.Context(), p)
	var out []string
	for _, task := range tasks {
		out = append(out, render(task))
	}
	return out, err
}

// Files appended between two snapshots are read from the list of the snapshot that appended them, whatever a compaction did
// later.
func TestAppendedFiles(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 3, kv...)
	carried := data("a1", 10)
	carried.Status, carried.Sequence, carried.Snapshot = manifest.Existing, 1, 1
	b.Commit("append", dataIn(0, data("a1", 10)))                                  // 1
	b.Commit("append", dataIn(0, data("b1", 5), carried))                          // 2: a merged manifest
	b.Commit("replace", dataIn(0, data("compacted", 15)))                          // 3
	b.Commit("append", dataIn(0, data("c1", 7), data("c2", 8)))                    // 4
	b.Commit("overwrite", dataIn(0, data("d1", 1)))                                // 5
	b.Commit("append", dataIn(0, data("e1", 1)), deletesIn(0, positions("x", ""))) // 6
	b.Commit("append", dataIn(0, data("f1", 1)))                                   // 7
	table, _ := load(t, b)
	for _, c := range []struct {
		from, to int64
		want     []string
	}{{1, 2, []string{"b1"}}, {1, 4, []string{"b1", "c1", "c2"}}, {3, 4, []string{"c1", "c2"}}, {2, 3, nil}, {4, 4, nil}, {6, 7, []string{"f1"}}} {
		got, err := appended(t, table, c.from, c.to)
		if err != nil {
			t.Errorf("%d to %d: %v", c.from, c.to, err)
		}
		wantLines(t, got, c.want...)
	}
	for _, c := range [][2]int64{{4, 5}, {1, 7}, {5, 6}, {4, 2}, {99, 4}} {
		if got, err := appended(t, table, c[0], c[1]); !errors.Is(err, ErrNotIncremental) {
			t.Errorf("%d to %d: %q %v", c[0], c[1], got, err)
		}
	}
	p, err := table.PlanAppended(t.Context(), ScanSpec{Version: Version{Snapshot: 4}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if tasks := mustTasks(t, p); tasks[1].FirstRowID != tasks[0].FirstRowID+7 || tasks[0].DataSequence != 4 {
		t.Errorf("lineage of the appended files: %+v", tasks)
	}
	loc, _ := object.ParseLocation("s3://bucket/table/metadata/snap-2.avro")
	if err := b.Store.Delete(t.Context(), loc); err != nil {
		t.Fatal(err)
	}
	table, _ = load(t, b)
	if got, err := appended(t, table, 1, 4); !errors.Is(err, ErrNotIncremental) {
		t.Errorf("a list is gone: %q %v", got, err)
	}
	empty, _ := load(t, icetable.New(t, 2, kv...))
	if _, err := empty.PlanAppended(t.Context(), ScanSpec{}, 1); !errors.Is(err, ErrNotIncremental) {
		t.Errorf("no snapshot: %v", err)
	}
}
