package prefetchpool

import (
	"context"
	"runtime/debug"
	"time"
)

// task is the untyped half of a Future: state, place in the lane, completion.
type task struct {
	entry
	runner runner
	lane   *Lane
	ctx    context.Context // Submit's
	done   chan struct{}   // closed when the task will not run any more
	notify chan<- struct{}

	// guarded by pool.mu
	next, prev *task
	stop       context.CancelCauseFunc // while running
	run        context.Context         // Run's, while running
	ticket     Ticket
	submitted  time.Time
	handoff    chan struct{} // closed when its parked awaiter is to run the task
	handed     bool
	taken      bool // the value was handed over
	failed     bool
	err        error // when failed
}

// runner is the typed half, *Future[T].
type runner interface {
	run(ctx context.Context, t *Ticket) error
	discard()
	name() string
}

// Ticket is the running job's view of the pool; it is dead after Run returned.
type Ticket struct {
	task    *task
	started time.Time
	moved   int64
	local   bool
}

// Resize trues the weight up or down; it never waits, the excess is counted as overdraft.
func (t *Ticket) Resize(bytes int64) { t.task.resize(bytes) }

// Awaited reports whether somebody waits for this job now (hedging asks).
func (t *Ticket) Awaited() bool {
	p := t.task.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.task.since > 0
}

// Transferred tells what went over the link, so that the lane learns its latency and bandwidth. Call it once, at the end; a
// job that never calls it (an answer from a cache) teaches nothing.
func (t *Ticket) Transferred(bytes int64) { t.moved = max(bytes, 1) }

// Local is Transferred of bytes that a cache answered: the lane learns that what it asks for is near, and other lanes nothing.
func (t *Ticket) Local(bytes int64) { t.moved, t.local = max(bytes, 1), true }

func (t *task) submit() error {
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.lane.closed {
		return ErrClosed
	}
	t.submitted = time.Now()
	t.link()
	p.mu.stats.Submitted++
	t.lane.stats.Submitted++
	p.mu.enqueue(&t.entry)
	p.pump()
	return nil
}

func (t *task) link() {
	t.next = t.lane.tasks
	if t.next != nil {
		t.next.prev = t
	}
	t.lane.tasks = t
}

func (t *task) unlink() {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		t.lane.tasks = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.next, t.prev = nil, nil
}

// start runs an admitted task: on its parked awaiter if there is one, else on a goroutine of its own. The lock is held.
func (t *task) start() {
	now := time.Now()
	wait := now.Sub(t.submitted)
	t.lane.pool.mu.stats.QueueWait += wait
	t.lane.stats.QueueWait += wait
	t.lane.stats.PeakRunning = max(t.lane.stats.PeakRunning, t.lane.share.running)
	t.lane.stats.PeakBytes = max(t.lane.stats.PeakBytes, t.lane.share.bytes)
	t.run, t.stop = context.WithCancelCause(t.ctx)
	t.ticket = Ticket{task: t, started: now}
	if t.handoff != nil {
		t.handed = true
		close(t.handoff)
		return
	}
	go t.execute()
}

func (t *task) execute() {
	err := context.Cause(t.run) // ended while it was queued
	if err == nil {
		err = t.guard()
	}
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	t.stop(nil)
	t.failed = err != nil
	t.err = err
	p.mu.finish(&t.entry)
	if t.ticket.moved > 0 && err == nil {
		t.lane.observe(t)
	}
	p.mu.stats.Done++
	t.lane.stats.Done++
	if t.failed && t.weight > 0 { // there is nothing to hold bytes for
		p.meter.Add(-t.weight)
		p.mu.resize(&t.entry, 0)
	}
	if t.lane.idle != nil && t.lane.share.running == 0 {
		close(t.lane.idle)
		t.lane.idle = nil
	}
	t.over()
	p.pump()
}

// observe feeds the lane's link with a job that has left its slot. Transfers that are still under way share the link with it:
// they are taken to have got as much as it did for the time that both moved.
func (l *Lane) observe(t *task) {
	now, latency := time.Now(), l.link.latency()
	x := transfer{start: t.ticket.started, end: now, bytes: t.ticket.moved, limited: l.share.appLimited(), local: t.ticket.local}
	if net := now.Sub(x.start) - latency; net > 0 {
		rate := float64(x.bytes) / net.Seconds()
		for o := range l.all {
			if o.place != inSlot {
				continue
			}
			from := o.ticket.started
			if from.Before(x.start) {
				from = x.start
			}
			if both := now.Sub(from) - latency; both > 0 {
				x.beside += min(rate*both.Seconds(), float64(o.weight))
			}
		}
	}
	l.link.observe(x)
}

// over tells everybody that the task will not run any more.
func (t *task) over() {
	close(t.done)
	if t.notify != nil {
		select {
		case t.notify <- struct{}{}:
		default: // one is pending already
		}
	}
}

func (t *task) guard() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := t.lane.pool
			p.mu.Lock()
			p.mu.stats.Panics++
			t.lane.stats.Panics++
			p.mu.Unlock()
			err = &PanicError{Job: t.runner.name(), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := fpPoolPause.DoKey(t.run, t.lane.name); err != nil {
		return err
	}
	if err := fpPanicInTask.DoKey(t.run, t.runner.name()); err != nil {
		return err
	}
	return t.runner.run(t.run, &t.ticket)
}

func (t *task) cancel(cause error) {
	if t.stop != nil {
		t.stop(cause)
	}
}

// drop ends a queued task with an error; the lock is held.
func (t *task) drop(err error) {
	t.lane.pool.mu.giveBack(&t.entry)
	t.lane.pool.mu.stats.Cancelled++
	t.lane.stats.Cancelled++
	t.failed, t.err = true, err
	t.unlink()
	t.over()
}

func (t *task) resize(n int64) {
	p := t.lane.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	was := t.weight
	p.mu.resize(&t.entry, n)
	d := t.weight - was
	if t.place != inSlot && t.place != kept {
		return
	}
	p.meter.Add(d)
	switch {
	case d > 0:
		over := max(0, min(d, p.mu.bytes-p.allowed()))
		p.mu.stats.OverdraftBytes += over
		t.lane.stats.OverdraftBytes += over
		p.mu.stats.PeakBytes = max(p.mu.stats.PeakBytes, p.mu.bytes)
	case d < 0:
		p.pump()
	}
}

// giveBack returns the weight of a finished task and unlinks it; the lock is held.
func (t *task) giveBack() {
	p := t.lane.pool
	if t.place == kept {
		p.meter.Add(-t.weight)
		p.mu.giveBack(&t.entry)
		t.unlink()
	}
	if !t.failed && !t.taken {
		p.mu.stats.Unused++
		t.lane.stats.Unused++
	}
}
