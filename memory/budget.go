package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Class of an owner.
type Class uint8

// Classes.
const (
	Prefetch  Class = iota // compressed, in flight or ready; metadata caches
	Decoded                // unit buffers and delivered batches until the last Release
	Spillable              // index arenas, projection runs, group tables
	Fixed                  // merge cursors, encoders, uploads
	SQL                    // the SQL engine's memory limit, reserved while a statement lives
	numClasses
)

var classNames = [numClasses]string{"prefetch", "decoded", "spillable", "fixed", "sql"}

// String is the class's name as metrics and errors show it.
func (c Class) String() string {
	if c < numClasses {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// elastic reports whether owners of the class give back by admitting no more.
func (c Class) elastic() bool { return c == Prefetch || c == Decoded }

// Errors.
var (
	// ErrRefused is the class of every refusal; its text names class, need, free and limit.
	ErrRefused = errors.New("memory: over the budget")
	// ErrClosed answers a reservation after Close.
	ErrClosed = errors.New("memory: budget closed")
	// ErrHeld is the class of Close's complaint about holders.
	ErrHeld = errors.New("memory: bytes still held at close")
)

// RefusedError says what was asked and what there was. It Is ErrRefused.
type RefusedError struct {
	Class             Class
	Need, Free, Limit int64
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("memory: over the budget: %s needs %d bytes, %d free of %d", e.Class, e.Need, max(e.Free, 0), e.Limit)
}

// Is makes errors.Is(err, ErrRefused) hold.
func (*RefusedError) Is(target error) bool { return target == ErrRefused }

// Config of a Budget. The zero value is half of min(cgroup limit, GOMEMLIMIT, RAM) with a spillable share of 50 %.
type Config struct {
	// Limit in bytes. 0 = the default above; negative = no limit (still counted).
	Limit int64
	// SpillablePercent is the share of limit - fixed that spillable owners may hold together before one is asked to
	// spill. 0 = 50; negative = never ask.
	SpillablePercent int
	// MinVictim is the largest floor below which an arena is not worth a spill. 0 = 64 MiB.
	MinVictim int64
	// MaxStep is the largest change that a Reporter holds back from the shared counters. 0 = 1 MiB.
	MaxStep int64
	// Signals reads what the process really uses; nil = the operating system's figures. Sampled at most every 10 ms.
	Signals func() Signals
	// Logger gets one line an episode in which nobody could be asked to spill; nil = none.
	Logger *slog.Logger
}

const (
	defaultPercent   = 50
	defaultMinVictim = 64 << 20
	defaultMaxStep   = 1 << 20
	minStep          = 64 << 10
	signalInterval   = 10 * time.Millisecond
)

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	if c.SpillablePercent > 100 {
		errs = append(errs, fmt.Errorf("memory: SpillablePercent %d is above 100", c.SpillablePercent))
	}
	if c.MinVictim < 0 {
		errs = append(errs, fmt.Errorf("memory: MinVictim %d is negative", c.MinVictim))
	}
	if c.MaxStep < 0 {
		errs = append(errs, fmt.Errorf("memory: MaxStep %d is negative", c.MaxStep))
	}
	return errors.Join(errs...)
}

// padded keeps a hot counter on its own cache line.
type padded struct {
	atomic.Int64
	_ [56]byte
}

// Budget is the account book of a process.
type Budget struct {
	limit   atomic.Int64
	percent atomic.Int64
	step    atomic.Int64 // of every Reporter; moves with their number and the share

	total   padded
	classes [numClasses]padded
	waiting atomic.Int32 // Reserve calls in the queue: a reader of it decides whether a decrease must wake

	minVictim, maxStep int64
	signals            func() Signals
	sampled            atomic.Int64 // unix nanoseconds of sample
	sample             atomic.Pointer[Signals]
	log                *slog.Logger

	counters counters

	mu struct {
		sync.Mutex
		closed    bool
		holders   map[holder]struct{}
		queue     []*waiter // Reserve, oldest first
		arenas    []*Arena
		reporters int
		shortfall bool // an episode that was logged
	}
}

// holder is anything that Close names.
type holder interface {
	held() int64
	describe() string
}

type waiter struct {
	class Class
	need  int64
	ready chan struct{} // closed when granted or refused
	err   error
}

// New validates c and makes the budget.
func New(c Config) (*Budget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit()
	}
	b := &Budget{minVictim: c.MinVictim, maxStep: c.MaxStep, signals: c.Signals, log: c.Logger}
	if b.minVictim == 0 {
		b.minVictim = defaultMinVictim
	}
	if b.maxStep == 0 {
		b.maxStep = defaultMaxStep
	}
	if b.signals == nil {
		b.signals = systemSignals
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.mu.holders = map[holder]struct{}{}
	b.SetSpillablePercent(c.SpillablePercent)
	b.SetLimit(c.Limit)
	return b, nil
}

// SetLimit changes the limit; every decision reads it anew. Negative = no limit, 0 is ignored.
func (b *Budget) SetLimit(n int64) {
	switch {
	case n == 0:
		return
	case n < 0:
		n = math.MaxInt64
	}
	b.limit.Store(n)
	b.mu.Lock()
	b.restep()
	b.grant()
	b.mu.Unlock()
}

// SetSpillablePercent changes the spillable share: 0 = the default, negative = no forced spills.
func (b *Budget) SetSpillablePercent(p int) {
	if p == 0 {
		p = defaultPercent
	}
	b.percent.Store(int64(min(p, 100)))
}

// Limit in bytes; math.MaxInt64 = none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit.Load()
}

// Held is what a class holds, lagging by less than one step a Reporter.
func (b *Budget) Held(c Class) int64 {
	if b == nil {
		return 0
	}
	return b.classes[c].Load()
}

// add moves the counters of a class and wakes waiters when bytes came back.
func (b *Budget) add(c Class, d int64) {
	b.classes[c].Add(d)
	b.total.Add(d)
	if d < 0 && b.waiting.Load() > 0 {
		b.mu.Lock()
		b.grant()
		b.mu.Unlock()
	}
}

// firm is what does not give back by itself.
func (b *Budget) firm() int64 {
	return b.classes[Fixed].Load() + b.classes[SQL].Load() + b.classes[Spillable].Load()
}

// free is what a reservation of class c may take. Fixed classes do not count elastic bytes: those give back by admitting
// no more, and a fixed owner that waited for them could wait for a consumer that never comes.
func (b *Budget) free(c Class) int64 {
	limit := b.limit.Load()
	if c.elastic() {
		return limit - b.total.Load()
	}
	return limit - b.firm()
}

// grant serves the queue in order; mu is held.
func (b *Budget) grant() {
	for len(b.mu.queue) > 0 {
		w := b.mu.queue[0]
		switch limit := b.limit.Load(); {
		case b.mu.closed:
			w.err = ErrClosed
		case w.need > limit:
			w.err = &RefusedError{Class: w.class, Need: w.need, Free: b.free(w.class), Limit: limit}
		case w.need > b.free(w.class):
			return
		default:
			b.classes[w.class].Add(w.need)
			b.total.Add(w.need)
		}
		b.mu.queue = b.mu.queue[1:]
		b.waiting.Add(-1)
		close(w.ready)
	}
}

// Reserve waits until n bytes of class c are free. Call it holding nothing that others wait for. It fails at once when n is
// above the limit, and with ctx's error when ctx ends first. Waiters are served in order.
func (b *Budget) Reserve(ctx context.Context, c Class, n int64) (*Reservation, error) {
	if b == nil {
		return &Reservation{}, nil
	}
	r := newReservation(b, c)
	w := &waiter{class: c, need: n, ready: make(chan struct{})}
	b.mu.Lock()
	b.mu.queue = append(b.mu.queue, w)
	b.waiting.Add(1)
	b.grant()
	b.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		if b.abandon(w) {
			return nil, ctx.Err()
		}
		<-w.ready // granted meanwhile; fall through and keep it
	}
	if w.err != nil {
		return nil, w.err
	}
	r.start(n)
	return r, nil
}

// abandon takes w out of the queue and reports whether it was still there.
func (b *Budget) abandon(w *waiter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.mu.queue, w)
	if i < 0 {
		return false
	}
	b.mu.queue = slices.Delete(b.mu.queue, i, i+1)
	b.waiting.Add(-1)
	b.grant() // the next in line may need less
	return true
}

// TryReserve never waits: it answers with a reservation or a *RefusedError.
func (b *Budget) TryReserve(c Class, n int64) (*Reservation, error) {
	if b == nil {
		return &Reservation{}, nil
	}
	r := newReservation(b, c)
	if err := b.take(c, n); err != nil {
		return nil, err
	}
	r.start(n)
	return r, nil
}

// take moves n bytes into class c or refuses.
func (b *Budget) take(c Class, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.closed {
		return ErrClosed
	}
	if free := b.free(c); n > free {
		return &RefusedError{Class: c, Need: n, Free: free, Limit: b.limit.Load()}
	}
	b.classes[c].Add(n)
	b.total.Add(n)
	return nil
}

// Close refuses further reservations and names every account that still holds bytes. Idempotent; the accounts stay usable,
// so a late Release does no harm.
func (b *Budget) Close() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.closed = true
	b.grant()
	var held []string
	for h := range b.mu.holders {
		if n := h.held(); n != 0 {
			held = append(held, fmt.Sprintf("%s %d bytes", h.describe(), n))
		}
	}
	if held == nil {
		return nil
	}
	slices.Sort(held)
	return fmt.Errorf("%w: %s", ErrHeld, strings.Join(held, "; "))
}

func (b *Budget) register(h holder) {
	b.mu.Lock()
	b.mu.holders[h] = struct{}{}
	b.mu.Unlock()
}

func (b *Budget) deregister(h holder) {
	b.mu.Lock()
	delete(b.mu.holders, h)
	b.mu.Unlock()
}
