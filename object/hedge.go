package object

import (
	"context"
	"errors"
	"sync"
	"time"
)

// hedge is one attempt that may get a copy. The first full answer wins, the loser is cancelled and joined; the copy has its own
// buffer, since the loser may write until it is joined.
//
//	timer ── fire: urgent? allowed? ── copy ─────────────┐ first good answer cancels the other
//	race ─── the attempt itself on the caller's goroutine ┘ and both are joined
type hedge struct {
	rd    *reading
	ctx   context.Context
	r     Range
	o     ReadOptions
	delay time.Duration
	timer *time.Timer
	done  chan struct{} // closed when the copy has returned

	stopCopy, stopFirst context.CancelCauseFunc

	mu struct {
		sync.Mutex
		over    bool // no copy may start any more
		late    bool // counted as overdue
		started bool
	}

	data []byte // of the copy, valid after done
	info Info
	err  error
}

var errLost = errors.New("object: the other copy of the read was faster")

// newHedge gives nil when this read cannot be hedged.
func (rd *reading) newHedge(ctx context.Context, r Range, o ReadOptions) *hedge {
	if o.Urgent == nil || rd.rt.cfg.HedgeAfter < 0 || (r.Known() && r.Len > maxHedgeLen) {
		return nil
	}
	delay := rd.tail.hedgeDelay(rd.rt.cfg.HedgeAfter)
	if delay == 0 {
		return nil
	}
	return &hedge{rd: rd, r: r, o: o, delay: delay, done: make(chan struct{})}
}

// race runs the attempt on the caller's goroutine.
func (h *hedge) race(ctx context.Context, a *Attempt, dst []byte) ([]byte, Info, error) {
	first, stopFirst := context.WithCancelCause(ctx)
	defer stopFirst(nil)
	h.stopFirst = stopFirst
	h.ctx, h.stopCopy = context.WithCancelCause(ctx)
	defer h.stopCopy(nil)
	h.mu.Lock() // the callback reads timer
	h.timer = time.AfterFunc(h.delay, h.fire)
	h.mu.Unlock()

	data, info, err := h.rd.single(first, a, h.r, dst, h.o, func() { h.close() })
	if !h.close() {
		return data, info, err
	}
	if err == nil {
		h.stopCopy(errLost)
		<-h.done
		return data, info, nil
	}
	<-h.done // it decides now: a failure of the first may be a success of the copy
	if h.err != nil {
		return data, info, err
	}
	h.rd.rt.meter.hedgeWon(h.rd.loc)
	out := h.data
	if len(dst) >= len(out) {
		out = dst[:copy(dst, out)]
	}
	return out, h.info, nil
}

// close forbids a copy from now on (the first byte has come, or the attempt is over), and reports whether one was started.
func (h *hedge) close() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.mu.over {
		h.mu.over = true
		h.timer.Stop()
		if h.mu.late {
			h.rd.tail.waiting(0, -1)
		}
	}
	return h.mu.started
}

// fire runs on the timer's goroutine, which becomes the copy's.
func (h *hedge) fire() {
	if !h.start() {
		return
	}
	defer close(h.done)
	rt := h.rd.rt
	if h.err = fpHedgeRace.DoKey(h.ctx, h.rd.loc.Recorded); h.err != nil {
		return
	}
	rt.meter.hedged(h.rd.loc, h.r)
	h.data, h.info, h.err = h.rd.single(h.ctx, &Attempt{Number: 1, Hedge: true, Fresh: true}, h.r, nil, h.o, nil)
	if h.err == nil {
		h.stopFirst(errLost)
	}
}

// start decides about the copy under the lock, asking nothing that could block but Urgent, which must not.
func (h *hedge) start() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.over {
		return false
	}
	if !h.mu.late {
		h.mu.late = true
		h.rd.tail.waiting(0, 1)
	}
	if !h.o.Urgent() {
		h.timer.Reset(h.delay) // somebody may come to wait for it
		return false
	}
	now := time.Now()
	if h.rd.tail.outage(now) || !h.rd.rt.hedges.take(now) {
		h.rd.rt.meter.hedgeSuppressed(h.rd.loc)
		return false
	}
	h.mu.started = true
	return true
}
