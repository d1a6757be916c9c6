package plan

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/lakescan/lakescan/object"
)

// flight is a read that plans share which run at the same time: the one that began it owns it, the others wait for it too, and
// take copies. Any of them may be the first to need the bytes, and the owner may stand still meanwhile, so whoever needs them
// waits on the read itself: turn holds one token, and the goroutine that has it uses the fields below.
type flight struct {
	turn    chan struct{}
	left    atomic.Bool // the owner has gone
	pending object.Pending
	landed  bool // data and err are final
	data    []byte
	err     error // of the read, or errLeft
}

// errLeft: the owner needed the read no longer.
var errLeft = errors.New("iceberg: another plan gave up the read")

// board makes a flight, whose token its owner has.
func board() *flight { return &flight{turn: make(chan struct{}, 1)} }

// hold waits for the token.
func (f *flight) hold(ctx context.Context) error {
	select {
	case <-f.turn:
		return nil
	case <-ctx.Done():
		return object.ContextError(ctx)
	}
}

// pass gives the token back.
func (f *flight) pass() {
	f.turn <- struct{}{}
	if f.left.Load() {
		f.tryFree()
	}
}

// land waits for the bytes; the token is held. ctx bounds the wait alone: when it ends, others may go on.
func (f *flight) land(ctx context.Context) {
	data, _, err := f.pending.Await(ctx)
	if err == nil || ctx.Err() == nil {
		f.landed, f.data, f.err = true, data, err
	}
}

// ready reports whether land would not wait.
func (f *flight) ready() bool {
	select {
	case <-f.turn:
		defer f.pass()
	default:
		return false
	}
	if f.landed {
		return true
	}
	p, ok := f.pending.(interface{ Ready() bool })
	return ok && p.Ready()
}

// leave is the owner's release. It waits for nobody: if another plan is at the read, that one frees it.
func (f *flight) leave() {
	f.left.Store(true)
	f.tryFree()
}

func (f *flight) tryFree() {
	select {
	case <-f.turn:
	default:
		return // whoever has the token comes here when it has passed it
	}
	if !f.landed {
		f.landed, f.err = true, errLeft
	}
	if f.err == nil {
		f.data, f.err = nil, errLeft // they die now
	}
	if f.pending != nil {
		f.pending.Release()
	}
	f.turn <- struct{}{}
}

// read is one object on its way, or at hand. It belongs to one plan.
type read struct {
	path   string
	cache  *Cache
	data   []byte // from the cache, if there is no flight
	flight *flight
	owner  bool

	unpacked *unpacking // nil = is not unpacked ahead
}

// await waits for the bytes, which are valid until release. again is true if another plan's read failed: this one has to ask
// for itself.
func (rd *read) await(ctx context.Context) (data []byte, waited, again bool, err error) {
	f := rd.flight
	if f == nil {
		return rd.data, false, false, nil
	}
	waited = !f.ready()
	if err := f.hold(ctx); err != nil {
		return nil, waited, false, err
	}
	defer f.pass()
	if !f.landed {
		if f.land(ctx); f.landed {
			rd.cache.land(rd.path, f, f.data)
		}
	}
	data, err = f.data, f.err
	if !f.landed {
		err = object.ContextError(ctx)
	}
	switch {
	case rd.owner || !f.landed:
		return data, waited, false, err
	case err != nil:
		return nil, waited, true, nil
	}
	if kept, ok := rd.cache.get(rd.path); ok {
		data = kept
	} else {
		data = bytes.Clone(data)
	}
	rd.flight, rd.data = nil, data
	return data, waited, false, nil
}

// ready reports whether the bytes are at hand, and nobody else is at them.
func (rd *read) ready() bool { return rd.flight == nil || rd.owner && rd.flight.ready() }

// fromMemory: the plan asked nobody for it.
func (rd *read) fromMemory() bool { return !rd.owner }

func (rd *read) release() {
	if rd.unpacked != nil {
		rd.unpacked.wait()
	}
	if rd.owner {
		rd.cache.land(rd.path, rd.flight, nil) // nobody joins it any more
		rd.flight.leave()
	}
}
