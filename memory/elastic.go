package memory

import (
	"math"
	"sync/atomic"
)

// Elastic is an account of an owner that gives back by admitting no more, and that may overdraw for a head unit. It
// satisfies prefetchpool.Meter. Allowed is read at each submit, completion and release; a rise wakes nobody, since the head
// unit keeps things moving.
type Elastic struct {
	budget *Budget
	class  Class
	limit  atomic.Int64
	bytes  atomic.Int64
	peak   atomic.Int64
	closed atomic.Bool
	where  origin
}

// Elastic opens an account of class c (Prefetch or Decoded) with a limit of its own; 0 = the budget's alone. A nil Budget
// gives a nil account, which allows everything and counts nothing. Close it when no more bytes will be added.
func (b *Budget) Elastic(c Class, limit int64) *Elastic {
	if b == nil {
		return nil
	}
	e := &Elastic{budget: b, class: c}
	e.where.mark(1)
	e.SetLimit(limit)
	b.register(e)
	return e
}

// Named sets the name that Budget.Close prints and returns e.
func (e *Elastic) Named(name string) *Elastic {
	if e != nil {
		e.where.name.Store(&name)
	}
	return e
}

// SetLimit changes the account's own limit; 0 or less = none.
func (e *Elastic) SetLimit(n int64) {
	if e == nil {
		return
	}
	if n <= 0 {
		n = math.MaxInt64
	}
	e.limit.Store(n)
}

// Allowed is the largest number of bytes that the account may hold now, those it holds included: min(its own limit, the
// budget's limit less everything that others hold). Never negative.
func (e *Elastic) Allowed() int64 {
	if e == nil {
		return math.MaxInt64
	}
	others := e.budget.total.Load() - e.bytes.Load()
	return max(0, min(e.limit.Load(), e.budget.limit.Load()-others))
}

// Add moves the account by delta bytes. It never refuses: the caller has asked Allowed, or overdraws for a head unit.
func (e *Elastic) Add(delta int64) {
	if e == nil || delta == 0 {
		return
	}
	n := e.bytes.Add(delta)
	e.budget.add(e.class, delta)
	if delta > 0 {
		for p := e.peak.Load(); n > p && !e.peak.CompareAndSwap(p, n); {
			p = e.peak.Load()
		}
	} else if n == 0 && e.closed.Load() {
		e.budget.deregister(e)
	}
}

// TryAdd adds n bytes if the account stays within Allowed. Two callers at once may together pass it by one of their
// amounts.
func (e *Elastic) TryAdd(n int64) bool {
	if e != nil && n > e.Allowed()-e.bytes.Load() {
		return false
	}
	e.Add(n)
	return true
}

// Bytes held by this account, exact.
func (e *Elastic) Bytes() int64 {
	if e == nil {
		return 0
	}
	return e.bytes.Load()
}

// Peak is the most that the account ever held.
func (e *Elastic) Peak() int64 {
	if e == nil {
		return 0
	}
	return e.peak.Load()
}

// Close says that no bytes will be added. What is still held (batches that a consumer retained) stays counted until it
// comes back through Add. Idempotent.
func (e *Elastic) Close() {
	if e == nil {
		return
	}
	e.closed.Store(true)
	if e.bytes.Load() == 0 {
		e.budget.deregister(e)
	}
}

func (e *Elastic) held() int64      { return e.bytes.Load() }
func (e *Elastic) describe() string { return e.class.String() + " (" + e.where.String() + ")" }
