package rest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errClosed answers who waits for a renewal when the client is closed.
var errClosed = errors.New("rest: client is closed")

const (
	flightLimit  = 60 * time.Second // one renewal, retries included
	failurePause = time.Second      // between failed renewals while the old value still serves
	forcedPause  = 5 * time.Second  // between forced renewals that brought the same value
)

// flights owns the goroutines of renewals: they outlive the caller that began one, and Close joins them.
type flights struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     struct {
		sync.Mutex
		closed bool
	}
	wg sync.WaitGroup
}

func (f *flights) init() {
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
}

// run starts work with the values of ctx, but not its end.
func (f *flights) run(ctx context.Context, work func(context.Context)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.closed {
		return errClosed
	}
	f.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightLimit)
		defer cancel()
		stop := context.AfterFunc(f.ctx, cancel)
		defer stop()
		work(ctx)
	})
	return nil
}

func (f *flights) close() {
	f.mu.Lock()
	f.mu.closed = true
	f.mu.Unlock()
	f.cancel(errClosed)
	f.wg.Wait()
}

// renewer keeps one value that ends, a token or a set of keys. Near its end one flight fetches the next for all callers,
// while the old one serves; after its end, callers wait for the flight.
type renewer[T comparable] struct {
	flights *flights
	fetch   func(context.Context) (T, time.Time, error) // zero time = the end is not known
	margin  func(life time.Duration) time.Duration      // renew when less remains
	onError func(error)                                 // of a renewal that nobody waited for; nil = ignored

	mu struct {
		sync.Mutex
		value    T // zero = none yet
		obtained time.Time
		expires  time.Time
		flight   *flight[T]
		failed   time.Time // the last flight's end, if it failed
		forced   time.Time // when a forced flight brought the same value again
	}
}

type flight[T comparable] struct {
	done  chan struct{}
	value T
	err   error
}

// set puts in a value that came by another way.
func (r *renewer[T]) set(v T, expires time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store(v, expires)
}

// store needs the lock.
func (r *renewer[T]) store(v T, expires time.Time) {
	r.mu.value, r.mu.obtained, r.mu.expires = v, now(), expires
	r.mu.failed = time.Time{}
}

// get returns the value. A stale one equal to the present value forces a flight: the server has just refused it.
func (r *renewer[T]) get(ctx context.Context, stale T) (T, error) {
	var zero T
	r.mu.Lock()
	t := now()
	forced := stale != zero && stale == r.mu.value && (r.mu.forced.IsZero() || t.Sub(r.mu.forced) >= forcedPause)
	usable := r.mu.value != zero && !forced && (r.mu.expires.IsZero() || t.Before(r.mu.expires))
	if usable && !r.due(t) {
		defer r.mu.Unlock()
		return r.mu.value, nil
	}
	if r.mu.flight == nil && (!usable || r.mu.failed.IsZero() || t.Sub(r.mu.failed) >= failurePause) {
		if err := r.launch(ctx, forced, usable); err != nil {
			defer r.mu.Unlock()
			if usable {
				return r.mu.value, nil
			}
			return zero, err
		}
	}
	f, v := r.mu.flight, r.mu.value
	r.mu.Unlock()
	if usable { // the old one serves meanwhile
		return v, nil
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// due needs the lock.
func (r *renewer[T]) due(t time.Time) bool {
	if r.mu.expires.IsZero() {
		return false
	}
	return r.mu.expires.Sub(t) < r.margin(r.mu.expires.Sub(r.mu.obtained))
}

// launch needs the lock.
func (r *renewer[T]) launch(ctx context.Context, forced, unwatched bool) error {
	f := &flight[T]{done: make(chan struct{})}
	before := r.mu.value
	err := r.flights.run(ctx, func(ctx context.Context) {
		v, expires, err := r.fetch(ctx)
		r.mu.Lock()
		if err == nil {
			r.store(v, expires)
			r.mu.forced = time.Time{}
			if forced && v == before {
				r.mu.forced = now()
			}
		} else {
			r.mu.failed = now()
		}
		r.mu.flight = nil
		r.mu.Unlock()
		f.value, f.err = v, err
		close(f.done)
		if err != nil && unwatched && r.onError != nil {
			r.onError(err)
		}
	})
	if err == nil {
		r.mu.flight = f
	}
	return err
}
