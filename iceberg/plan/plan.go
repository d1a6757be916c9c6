package plan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/source/resolve"
)

// Config of a plan: everything is resolved and bound. It must not be changed once used.
type Config struct {
	Table    *meta.Metadata
	Snapshot *meta.Snapshot // nil = the table has none: no tasks
	Schema   *meta.Schema   // that the scan reads with
	Filter   expr.Expr      // bound to Schema; nil = all rows
	Columns  []int          // field ids of the leaves to be read, for the size of a task
	Limit    int64          // rows that are enough; 0 = all
	Lazy     bool           // the consumer may stop early: look ahead as little as with a limit
	NoPrune  bool           // keep every file, for tests and for doubts
	Names    *resolve.Names
	Fetcher  object.Fetcher
	Cache    *Cache // nil = none
	// Appends makes the plan incremental: not nil, it yields the files that each of these append snapshots added, oldest
	// first, read from that snapshot's own list, since a later compaction may have moved the rows.
	Appends []*meta.Snapshot

	metrics []int // columns of Metered
}

// ErrNotIncremental says that the rows added between two snapshots are not known to be those of whole added files.
var ErrNotIncremental = errors.New("iceberg: not incremental")

// Between finds the append snapshots after from, up to to, oldest first: to must descend from from by appends and
// replacements alone, all of them at hand. Anything else is ErrNotIncremental, never guessed.
func Between(m *meta.Metadata, from, to int64) ([]*meta.Snapshot, error) {
	appends := []*meta.Snapshot{}
	seen := map[int64]bool{}
	for id := to; id != from; {
		if id == 0 || seen[id] {
			return nil, fmt.Errorf("%w: snapshot %d is no ancestor of %d", ErrNotIncremental, from, to)
		}
		seen[id] = true
		s, err := m.Snapshot(id)
		if errors.Is(err, meta.ErrNoSuchSnapshot) {
			return nil, fmt.Errorf("%w: snapshot %d is gone", ErrNotIncremental, id)
		}
		if err != nil {
			return nil, err
		}
		switch s.Operation {
		case "append":
			appends = append(appends, s)
		case "replace":
		default:
			return nil, fmt.Errorf("%w: snapshot %d is of operation %q", ErrNotIncremental, id, s.Operation)
		}
		id = s.Parent
	}
	slices.Reverse(appends)
	return appends, nil
}

// Tasks ranges over the data files of the snapshot in manifest order. It is lazy: a manifest is asked for as the window
// admits it, and decoded as tasks are pulled; ending the range drops what is in flight. After an error nothing follows.
// Each range over the result plans anew; report (nil = none) gathers the figures of all of them.
func (c *Config) Tasks(ctx context.Context, report *Report) iter.Seq2[source.Task, error] {
	return func(yield func(source.Task, error) bool) {
		c.each(ctx, report, func(t Metered, err error) bool { return yield(t.Task, err) })
	}
}

// Metered is Tasks with the metrics of the columns of these field ids.
func (c *Config) Metered(ctx context.Context, columns []int, report *Report) iter.Seq2[Metered, error] {
	with := *c
	with.metrics = columns
	return func(yield func(Metered, error) bool) { with.each(ctx, report, yield) }
}

func (c *Config) each(ctx context.Context, report *Report, yield func(Metered, error) bool) {
	if report == nil {
		report = &Report{}
	}
	if c.Snapshot == nil || never(c.Filter) {
		report.complete()
		return
	}
	r := run{c: c, report: report}
	defer r.close()
	if err := r.start(ctx); err != nil {
		yield(Metered{}, err)
		return
	}
	for {
		t, more, err := r.next(ctx)
		if err != nil {
			yield(Metered{}, err)
			return
		}
		if !more {
			report.complete()
			return
		}
		if !yield(t, nil) {
			return
		}
	}
}

// Files lists the snapshot's manifests, those of deletes among them.
func (c *Config) Files(ctx context.Context) ([]manifest.File, error) {
	if c.Snapshot == nil {
		return nil, nil
	}
	r := run{c: c, report: &Report{}}
	return r.list(ctx, c.Snapshot)
}
