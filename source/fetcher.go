package source

import (
	"context"
	"sync/atomic"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
)

// NewFetcher adapts a lane and a store for iceberg and index; source fetches delete files through it too. Requests go before
// every data file's, in the order of Fetch. Lane nil = inline: a read happens in Await.
func NewFetcher(l *prefetchpool.Lane, s object.Store) object.Fetcher {
	return &fetcher{reads: reads{store: s, lane: l, stats: &counters{}}}
}

type fetcher struct {
	reads reads
	turn  atomic.Uint64
}

// Fetch submits at once.
func (f *fetcher) Fetch(ctx context.Context, loc object.Location, r object.Range, o object.ReadOptions) object.Pending {
	n := min(f.turn.Add(1), order(0, 0, 0)-1)
	return (*fetched)(f.reads.start(ctx, request{location: loc, span: r, order: n, options: o}))
}

type fetched pending

// Await makes the read urgent.
func (p *fetched) Await(ctx context.Context) ([]byte, object.Info, error) {
	a, err := (*pending)(p).get(ctx, true)
	return a.bytes, a.info, err
}

// Ready reports whether Await would not wait for a slot.
func (p *fetched) Ready() bool { return (*pending)(p).ready() }

// Release ends the read in any state; its bytes die.
func (p *fetched) Release() { (*pending)(p).release() }
