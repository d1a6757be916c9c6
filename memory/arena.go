package memory

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"
)

// Signals are figures of the process as a whole; a limit of 0 = none known.
type Signals struct {
	Anonymous, AnonymousLimit int64 // resident anonymous bytes, and the cgroup's limit
	GoTotal, GoLimit          int64 // mapped by the Go runtime, and GOMEMLIMIT
}

// Arena registers what one owner could give back by spilling: every byte of it, not only its largest part. It is
// reached when a slab is taken or returned, never per row.
type Arena struct {
	budget    *Budget
	reporter  *Reporter
	wake      chan<- struct{}
	requested atomic.Bool

	// guarded by budget.mu
	bytes    int64
	detached bool
}

// Attach registers an owner. wake gets a value, without blocking, when a spill is asked for, so that an owner who waits for
// input honours it too; nil = the owner polls Requested. Call Detach before the bytes are frozen into a merge.
func (b *Budget) Attach(r *Reporter, wake chan<- struct{}) *Arena {
	a := &Arena{budget: b, reporter: r, wake: wake}
	if b == nil {
		return a
	}
	b.counters.limiterCalls.Add(1)
	b.mu.Lock()
	b.mu.arenas = append(b.mu.arenas, a)
	b.mu.Unlock()
	return a
}

// Changed tells the reclaimable bytes of the owner, absolutely. Call it after Reporter.Add when a slab was taken or returned.
func (a *Arena) Changed(abs int64) {
	b := a.budget
	if b == nil {
		return
	}
	b.counters.limiterCalls.Add(1)
	signals := b.sampleSignals() // may read files, so before the lock
	b.mu.Lock()
	a.bytes = abs
	wake, short := b.choose(a.reporter, signals)
	b.mu.Unlock()
	b.notify(wake, short)
}

// Requested reports whether the owner should spill at its next boundary.
func (a *Arena) Requested() bool { return a.requested.Load() }

// OverOwnCap reports whether the owner alone holds more than its part of the share, by its exact figure.
func (a *Arena) OverOwnCap() bool { return a.budget != nil && a.reporter.Exact() > a.budget.OwnCap() }

// Spilled tells what is left after a spill and ends the request.
func (a *Arena) Spilled(abs int64) {
	b := a.budget
	if b == nil {
		return
	}
	b.counters.limiterCalls.Add(1)
	b.mu.Lock()
	a.bytes = abs
	if a.requested.Swap(false) {
		b.counters.forcedSpills.Add(1)
	}
	b.mu.Unlock()
}

// Detach takes the owner out of the registry: a late request finds nothing. Idempotent.
func (a *Arena) Detach() {
	b := a.budget
	if b == nil {
		return
	}
	b.counters.limiterCalls.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.detached {
		return
	}
	a.detached = true
	a.requested.Store(false)
	for i, x := range b.mu.arenas {
		if x == a {
			b.mu.arenas = append(b.mu.arenas[:i], b.mu.arenas[i+1:]...)
			break
		}
	}
}

// share is what spillable owners may hold together.
func (b *Budget) share() int64 {
	p := b.percent.Load()
	if p < 0 {
		return math.MaxInt64
	}
	limit := b.limit.Load()
	if limit == math.MaxInt64 {
		return limit
	}
	free := max(0, limit-b.classes[Fixed].Load()-b.classes[SQL].Load())
	return free/100*p + free%100*p/100
}

// OwnCap is an owner's default cap: share/owners, at least 1 MiB.
func (b *Budget) OwnCap() int64 {
	if b == nil {
		return math.MaxInt64
	}
	b.mu.Lock()
	n := int64(max(len(b.mu.arenas), 1))
	b.mu.Unlock()
	return max(b.share()/n, 1<<20)
}

// sampleSignals is at most signalInterval old.
func (b *Budget) sampleSignals() Signals {
	now, last := time.Now().UnixNano(), b.sampled.Load()
	if s := b.sample.Load(); s != nil && (now-last < int64(signalInterval) || !b.sampled.CompareAndSwap(last, now)) {
		return *s
	}
	s := b.signals()
	b.sample.Store(&s)
	b.sampled.Store(now)
	return s
}

// overage is the maximum of what the three figures are over by, never the sum: they overlap.
func (b *Budget) overage(share int64, from *Reporter, s Signals) int64 {
	over := b.classes[Spillable].Load() + from.pending.Load() - share
	if s.AnonymousLimit > 0 {
		over = max(over, s.Anonymous-s.AnonymousLimit/10*9)
	}
	if s.GoLimit > 0 {
		over = max(over, s.GoTotal-s.GoLimit/10*9)
	}
	return over
}

// choose asks the largest arenas to spill until the overage is covered, and returns whom to wake. mu is held.
func (b *Budget) choose(from *Reporter, s Signals) (wake []chan<- struct{}, newlyShort bool) {
	share := b.share()
	if share == math.MaxInt64 || b.percent.Load() < 0 {
		return nil, false
	}
	need := b.overage(share, from, s)
	if need <= 0 {
		b.mu.shortfall = false
		return nil, false
	}
	for _, a := range b.mu.arenas {
		if a.requested.Load() {
			need -= a.bytes
		}
	}
	floor := min(b.minVictim, share/int64(2*max(len(b.mu.arenas), 1)))
	for need > 0 {
		v := b.victim(floor)
		if v == nil {
			newlyShort = !b.mu.shortfall
			b.mu.shortfall = true
			return wake, newlyShort
		}
		v.requested.Store(true)
		need -= v.bytes
		if v.wake != nil {
			wake = append(wake, v.wake)
		}
	}
	return wake, false
}

// victim is the largest arena of at least floor bytes that has not been asked; the earliest attached of equals.
func (b *Budget) victim(floor int64) *Arena {
	var v *Arena
	for _, a := range b.mu.arenas {
		if !a.requested.Load() && a.bytes >= floor && a.bytes > 0 && (v == nil || a.bytes > v.bytes) {
			v = a
		}
	}
	return v
}

func (b *Budget) notify(wake []chan<- struct{}, short bool) {
	for _, w := range wake {
		select {
		case w <- struct{}{}:
		default: // a wake-up is pending already
		}
	}
	if short {
		b.counters.shortfalls.Add(1)
		b.log.LogAttrs(context.Background(), slog.LevelWarn, "memory: over the spillable share and nobody can spill",
			slog.Int64("spillable", b.Held(Spillable)), slog.Int64("share", b.share()))
	}
}
