package source

import (
	"context"

	"github.com/lakescan/lakescan/source/deletes"
)

// deleteSets loads the delete files of a scan, each once, ahead of the data that they gate.
type deleteSets struct {
	ctx    context.Context // of the scan: a read that several files wait for must not end with the first of them
	loader *deletes.Loader
}

func newDeleteSets(ctx context.Context, cfg Config, stats *counters) deleteSets {
	lane := cfg.Lane
	if cfg.Depth == Off {
		lane = nil
	}
	f := &fetcher{reads: reads{store: cfg.Store, lane: lane, stats: stats}}
	return deleteSets{ctx: ctx, loader: deletes.NewLoader(deletes.Config{Fetcher: f, Budget: cfg.Budget})}
}

// begin asks for what the file's set needs, beside the request for its footer.
func (d deleteSets) begin(t *Task) {
	if !t.Deletes.Empty() {
		d.loader.Prefetch(d.ctx, t.Deletes)
	}
}

// load waits for the set; nil = no deletes apply. The caller releases the answer.
func (d deleteSets) load(ctx context.Context, t *Task, rows int64) (applied, error) {
	if t.Deletes.Empty() {
		return nil, nil
	}
	a, err := d.loader.Load(ctx, deletes.Target{Location: t.File.Location, Rows: rows, DataSequence: t.DataSequence}, t.Deletes)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (d deleteSets) close() { d.loader.Close() }
