package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// RetryConfig; the zero value takes the defaults named here.
type RetryConfig struct {
	Attempts   int           // of one call, 0 = 5; a resumed body that gained 256 KiB is not counted
	Throttle   time.Duration // how long SlowDown and 429 are waited out, however many attempts that makes; 0 = 30 s
	Restart    time.Duration // how long a store that has answered before and now refuses connections is waited for; 0 = 15 s
	Base, Cap  time.Duration // full jitter: attempt n waits a random part of min(Cap, Base*2^(n-1)); 0 = 50 ms, 2 s
	RetryAfter time.Duration // longest wait that a server's Retry-After gets, 0 = 5 s (MinIO asks for 60 on every 503)

	// Retries in all are at most Share of the requests (0 = 0.10) plus Burst (0 = 100) plus PerSecond (0 = 10); a call's retries wait
	// for their turns up to Patience (0 = 10 s; Throttle if that was the trouble) in all, then it fails. So an outage is not made worse, and throttling slows the client down.
	Share, Burst, PerSecond float64
	Patience                time.Duration

	HedgeAfter time.Duration // 0 = auto: max(p95, 2 x p50, 10 ms) of the bucket's first-byte times; < 0 = never
	HedgeShare float64       // extra requests, 0 = 0.02 of all

	Meter *Meter         // counts what happens here; nil = nobody
	Rand  func() float64 // jitter in [0, 1); nil = math/rand
}

// Validate reports every fault at once.
func (c RetryConfig) Validate() error {
	var errs []error
	if c.Attempts < 0 || c.Base < 0 || c.Cap < 0 || c.RetryAfter < 0 || c.Patience < 0 || c.Throttle < 0 || c.Restart < 0 {
		errs = append(errs, errors.New("object: retry: negative attempts or waits"))
	}
	if c.Share < 0 || c.Burst < 0 || c.PerSecond < 0 || c.HedgeShare < 0 || c.HedgeShare > 1 {
		errs = append(errs, errors.New("object: retry: shares are at least 0, a hedge share at most 1"))
	}
	return errors.Join(errs...)
}

// maxHedges is how many unused hedges add up.
const maxHedges = 5

// enough is the gain of a resumed body that makes an attempt count as progress.
const enough = 256 << 10

// Retry repeats what fails in passing: 429, 5xx and broken or silent connections; never 403, 404, 412, 416. A body that breaks is
// resumed from the byte after the last received, under If-Match, so that versions cannot mix. A read that somebody waits for
// (ReadOptions.Urgent) gets one copy when its first byte is late. It panics on a config that Validate refuses.
func Retry(s Store, cfg RetryConfig) Store {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	cfg.Attempts = orDefault(cfg.Attempts, 5)
	cfg.Base = orDefault(cfg.Base, 50*time.Millisecond)
	cfg.Cap = orDefault(cfg.Cap, 2*time.Second)
	cfg.RetryAfter = orDefault(cfg.RetryAfter, 5*time.Second)
	cfg.Throttle = orDefault(cfg.Throttle, 30*time.Second)
	cfg.Restart = orDefault(cfg.Restart, 15*time.Second)
	cfg.Patience = orDefault(cfg.Patience, 10*time.Second)
	cfg.HedgeShare = orDefault(cfg.HedgeShare, 0.02)
	if cfg.Rand == nil {
		cfg.Rand = rand.Float64
	}
	if cfg.Meter == nil {
		cfg.Meter = NewMeter(nil)
	}
	burst := orDefault(cfg.Burst, 100)
	return &retry{
		store: s, cfg: cfg, meter: cfg.Meter,
		retries: newAllowance(orDefault(cfg.Share, 0.10), orDefault(cfg.PerSecond, 10), burst, burst),
		hedges:  newAllowance(cfg.HedgeShare, 0, maxHedges, 1),
	}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

type retry struct {
	store           Store
	cfg             RetryConfig
	meter           *Meter
	retries, hedges *allowance
	tails           sync.Map // bucket as "scheme://bucket" → *tail
}

func (rt *retry) tail(loc Location) *tail {
	key := loc.Scheme + "://" + loc.Bucket
	if t, ok := rt.tails.Load(key); ok {
		return t.(*tail)
	}
	t, _ := rt.tails.LoadOrStore(key, &tail{})
	return t.(*tail)
}

// errSlowHeaders is the cause of an attempt that ended because no header came in time.
var errSlowHeaders = fmt.Errorf("%w: no answer in time", ErrUnavailable)

// trouble is what one call has been through.
type trouble struct {
	failures int           // that count
	since    time.Time     // of the first failure
	turns    time.Duration // waited for the budget
}

// pause decides what follows the failure of an attempt: a wait before the next, or the end.
func (rt *retry) pause(ctx context.Context, tr *trouble, err error) (time.Duration, bool) {
	now := time.Now()
	if tr.since.IsZero() {
		tr.since = now
	}
	passes := rt.passes(tr, err, now)
	if !Temporary(err) || (tr.failures >= rt.cfg.Attempts && passes == 0) {
		return 0, false
	}
	span := rt.cfg.Cap
	if shift := max(tr.failures-1, 0); shift < 30 {
		span = min(span, rt.cfg.Base<<shift)
	}
	wait := time.Duration(rt.cfg.Rand() * float64(span))
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		asked := min(e.RetryAfter, rt.cfg.RetryAfter)
		if asked < e.RetryAfter {
			rt.meter.clamped(e.Location, e.RetryAfter-asked)
		}
		wait = max(wait, asked)
	}
	patience := max(rt.cfg.Patience, passes)
	turn, ok := rt.retries.reserve(now, patience-tr.turns)
	if !ok {
		return 0, false
	}
	tr.turns += turn
	wait = max(wait, turn)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); wait >= left {
			wait = left / 2 // one more try is worth more than waiting for the end
		}
	}
	return max(wait, 0), true
}

// passes is how long this kind of trouble is waited out, whatever number of attempts that makes; 0 = it is not: a store that asks for less, or
// one that is being started again. Whoever allows a single attempt wants no waiting at all.
func (rt *retry) passes(tr *trouble, err error, now time.Time) time.Duration {
	age := now.Sub(tr.since)
	switch {
	case rt.cfg.Attempts == 1:
	case Throttled(err) && age < rt.cfg.Throttle:
		return rt.cfg.Throttle
	case age < rt.cfg.Restart && rt.tail(errorLocation(err)).restarting(now, refused(err)):
		return rt.cfg.Restart
	}
	return 0
}

// refused reports that nobody listens where the store was, or that who does (a balancer) hangs up before a word.
func refused(err error) bool {
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != 0 {
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

func errorLocation(err error) Location {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Location
	}
	return Location{}
}

// sleep waits or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// final says how many attempts an error stands for.
func final(err error, attempts int) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Attempts = attempts
	return &c
}

// needsFresh reports a failure of the connection rather than an answer.
func needsFresh(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status < 300
}

// again waits before the next attempt, and counts it. The error that ends the call is err, or the context's.
func (rt *retry) again(ctx context.Context, loc Location, tr *trouble, attempt int, err error) error {
	if Throttled(err) {
		rt.tail(loc).throttled(time.Now())
	}
	wait, ok := rt.pause(ctx, tr, err)
	if !ok {
		return err
	}
	rt.meter.retry(loc, attempt, wait, err)
	if sleep(ctx, wait) != nil {
		return &Error{Op: opOf(err), Location: loc, Err: fmt.Errorf("%w, while waiting after: %w", ContextError(ctx), err)}
	}
	return nil
}

func opOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Op
	}
	return "read"
}

// repeat is the policy for single requests of uploads, listings and deletes.
func (rt *retry) repeat(loc Location) func(context.Context, func(context.Context, *Attempt) error) error {
	return func(ctx context.Context, op func(context.Context, *Attempt) error) error {
		rt.retries.request()
		fresh := false
		var tr trouble
		for n := 1; ; n++ {
			err := op(ctx, &Attempt{Number: n, Fresh: fresh})
			if err == nil {
				return nil
			}
			tr.failures++
			if stop := rt.again(ctx, loc, &tr, n, err); stop != nil {
				return final(stop, n)
			}
			fresh = needsFresh(err)
		}
	}
}

func (rt *retry) repeating(ctx context.Context, loc Location) context.Context {
	return withAttempt(ctx, &Attempt{Number: 1, repeat: rt.repeat(loc)})
}

func (rt *retry) List(ctx context.Context, prefix Location) iter.Seq2[Info, error] {
	return ListOf(rt.repeating(ctx, prefix), rt.store, prefix)
}

func (rt *retry) Delete(ctx context.Context, loc Location) error {
	return DeleteIn(rt.repeating(ctx, loc), rt.store, loc)
}

func (rt *retry) Create(ctx context.Context, loc Location, ifMatch string) (Upload, error) {
	u, err := CreateIn(rt.repeating(ctx, loc), rt.store, loc, ifMatch)
	if err != nil {
		return nil, err
	}
	return retryUpload{u, rt, loc}, nil
}

// retryUpload lends the policy to Commit, whose context is the caller's.
type retryUpload struct {
	Upload
	rt  *retry
	loc Location
}

func (u retryUpload) Commit(ctx context.Context) (Info, error) {
	if err := fpCommitBefore.DoKey(ctx, u.loc.Recorded); err != nil {
		u.Abort()
		return Info{Location: u.loc, Size: -1}, &Error{Op: "commit", Location: u.loc, Err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	}
	info, err := u.Upload.Commit(u.rt.repeating(ctx, u.loc))
	if err != nil {
		return info, err
	}
	if err := fpCommitAfter.DoKey(ctx, u.loc.Recorded); err != nil {
		return Info{Location: u.loc, Size: -1}, &Error{Op: "commit", Location: u.loc, Err: fmt.Errorf("%w: %w", ErrUnknown, err)}
	}
	return info, nil
}
