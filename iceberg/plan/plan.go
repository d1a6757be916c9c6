package plan

import (
	"context"
	"iter"

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
}

// Tasks ranges over the data files of the snapshot in manifest order. It is lazy: a manifest is asked for as the window
// admits it, and decoded as tasks are pulled; ending the range drops what is in flight. After an error nothing follows.
// Each range over the result plans anew; report (nil = none) gathers the figures of all of them.
func (c *Config) Tasks(ctx context.Context, report *Report) iter.Seq2[source.Task, error] {
	if report == nil {
		report = &Report{}
	}
	return func(yield func(source.Task, error) bool) {
		if c.Snapshot == nil || never(c.Filter) {
			report.complete()
			return
		}
		r := run{c: c, report: report}
		defer r.close()
		if err := r.start(ctx); err != nil {
			yield(source.Task{}, err)
			return
		}
		for {
			t, more, err := r.next(ctx)
			if err != nil {
				yield(source.Task{}, err)
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
}

// Files lists the snapshot's manifests, those of deletes among them.
func (c *Config) Files(ctx context.Context) ([]manifest.File, error) {
	if c.Snapshot == nil {
		return nil, nil
	}
	r := run{c: c, report: &Report{}}
	defer r.close()
	return r.list(ctx)
}
