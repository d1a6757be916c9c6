package memory

import "sync/atomic"

// Reporter is the exact account of one spillable owner: a builder with one file and all its columns, not a column, since
// every reporter may hold back one step from the shared counters.
type Reporter struct {
	budget *Budget
	class  Class
	name   string

	cur       atomic.Int64 // exact
	pending   atomic.Int64 // not yet in the shared counters
	published atomic.Int64
	closed    atomic.Bool
}

// NewReporter opens an account. A nil Budget gives one that only counts for itself.
func (b *Budget) NewReporter(c Class, name string) *Reporter {
	r := &Reporter{budget: b, class: c, name: name}
	if b == nil {
		return r
	}
	b.mu.Lock()
	b.mu.holders[r] = struct{}{}
	b.mu.reporters++
	b.restep()
	b.mu.Unlock()
	return r
}

// Add moves the account by delta. The shared counters hear of it when a step has gathered.
func (r *Reporter) Add(delta int64) {
	r.cur.Add(delta)
	if r.budget == nil {
		return
	}
	h := r.pending.Add(delta)
	if step := r.budget.step.Load(); h >= step || h <= -step {
		r.publish()
	}
}

func (r *Reporter) publish() {
	x := r.pending.Swap(0)
	if x == 0 {
		return
	}
	r.published.Add(x)
	r.budget.counters.publications.Add(1)
	r.budget.add(r.class, x)
}

// Exact is what the owner holds.
func (r *Reporter) Exact() int64 { return r.cur.Load() }

// Close publishes the remainder. Bytes that the owner did not give back are taken off and counted as unbalanced, so the
// budget ends at zero; built with the tag assert, they panic instead. Idempotent.
func (r *Reporter) Close() {
	if r.budget == nil || r.closed.Swap(true) {
		return
	}
	r.publish()
	if left := r.cur.Swap(0); left != 0 {
		r.published.Add(-left)
		r.budget.add(r.class, -left)
		r.budget.counters.unbalanced.Add(1)
		assertBalanced(r.name, left)
	}
	b := r.budget
	b.mu.Lock()
	delete(b.mu.holders, r)
	b.mu.reporters--
	b.restep()
	b.mu.Unlock()
}

func (r *Reporter) held() int64      { return r.cur.Load() }
func (r *Reporter) describe() string { return r.class.String() + " (" + r.name + ")" }

// restep keeps the sum of all lags below an eighth of the share; mu is held.
func (b *Budget) restep() {
	n := int64(max(b.mu.reporters, 1))
	b.step.Store(max(minStep, min(b.share()/(8*n), b.maxStep)))
}
