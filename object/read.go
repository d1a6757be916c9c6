package object

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// reading is one logical read on its way through its attempts.
type reading struct {
	rt   *retry
	tail *tail
	loc  Location
	r    Range // as asked
	o    ReadOptions
	dst  []byte

	// Once a body broke after some bytes, the rest is asked for by position, under the ETag of what came.
	got   []byte // the first bytes of the answer; in place in dst or a buffer of the whole length if that is known
	whole []byte // that buffer, nil if the length is the server's word only
	off   int64  // where the answer starts in the object
	total int64  // bytes of the answer
	info  Info
}

func (rt *retry) AtHand(loc Location, r Range, o ReadOptions) bool {
	return AtHand(rt.store, loc, r, o)
}

func (rt *retry) Read(ctx context.Context, loc Location, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	if err := r.Check(); err != nil {
		return nil, Info{Location: loc, Size: -1}, Fail(ctx, "read", loc, r, err)
	}
	rt.retries.request()
	rt.hedges.request()
	rd := &reading{rt: rt, tail: rt.tail(loc), loc: loc, r: r, o: o, dst: dst}
	return rd.run(ctx)
}

func (rd *reading) run(ctx context.Context) ([]byte, Info, error) {
	fresh := false
	var tr trouble
	for n := 1; ; n++ {
		had := len(rd.got)
		data, info, err := rd.attempt(ctx, &Attempt{Number: n, Fresh: fresh})
		if err == nil {
			if data, err = rd.finish(data); err == nil {
				return data, info, nil
			}
		}
		if errors.Is(err, ErrChanged) {
			rd.rt.meter.changed(rd.loc, err)
		}
		if rd.o.Throttled != nil && Throttled(err) {
			rd.o.Throttled()
		}
		if ctx.Err() == nil && Temporary(err) {
			rd.keep(data, info)
		}
		if len(rd.got) < had+enough {
			tr.failures++
		}
		if stop := rd.rt.again(ctx, rd.loc, &tr, n, err); stop != nil {
			return nil, info, rd.explain(final(stop, n)) // nobody above resumes: the bytes are of no use
		}
		fresh = needsFresh(err)
	}
}

// explain names the range that the caller asked for, not the rest that the last attempt was after.
func (rd *reading) explain(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Op, e.Range, e.Location = "read", rd.r, rd.loc // e is ours: final made it
	}
	return err
}

// attempt reads what is still missing.
func (rd *reading) attempt(ctx context.Context, a *Attempt) ([]byte, Info, error) {
	r, dst, o := rd.r, rd.dst, rd.o
	if n := int64(len(rd.got)); n > 0 {
		r = Range{rd.off + n, rd.total - n}
		o.ETag, o.Size = rd.info.ETag, rd.info.Size
		dst = nil
		if rd.whole != nil {
			dst = rd.whole[n:]
		}
		rd.rt.meter.resumed(rd.loc, r)
	}
	return rd.once(ctx, a, r, dst, o)
}

// keep holds on to the bytes that came before a failure, if it is certain of which version they are.
func (rd *reading) keep(data []byte, info Info) {
	if len(data) == 0 || info.ETag == "" {
		return
	}
	if len(rd.got) == 0 {
		off, n, err := rd.r.Resolve(info.Size)
		if err != nil || int64(len(data)) >= n {
			return
		}
		rd.off, rd.total, rd.info = off, n, info
		if rd.r.Known() {
			rd.whole = Buffer(rd.dst, n)
		}
	}
	if rd.whole == nil {
		rd.got = append(rd.got, data...) // the length is not believed before the bytes come
		return
	}
	n := len(rd.got)
	if int64(n+len(data)) >= rd.total {
		return // a store that fails after giving more than was asked for
	}
	if &data[0] != &rd.whole[n] {
		copy(rd.whole[n:], data)
	}
	rd.got = rd.whole[:n+len(data)]
}

// finish joins the last attempt's bytes to those kept.
func (rd *reading) finish(data []byte) ([]byte, error) {
	n := len(rd.got)
	switch {
	case n == 0:
		return data, nil
	case int64(n+len(data)) != rd.total:
		err := fmt.Errorf("%w: %d bytes resumed by %d, want %d", ErrCorrupt, n, len(data), rd.total)
		rd.got, rd.whole = nil, nil // from the start again
		return nil, &Error{Op: "read", Location: rd.loc, Range: rd.r, Err: err}
	case rd.whole == nil:
		all := append(rd.got, data...)
		if len(rd.dst) >= len(all) {
			return rd.dst[:copy(rd.dst, all)], nil
		}
		return all, nil
	}
	if &data[0] != &rd.whole[n] {
		copy(rd.whole[n:], data)
	}
	return rd.whole, nil
}

// once makes one attempt, with a limit on the wait for its headers and with at most one hedge.
func (rd *reading) once(ctx context.Context, a *Attempt, r Range, dst []byte, o ReadOptions) ([]byte, Info, error) {
	h := rd.newHedge(ctx, r, o)
	if h == nil {
		return rd.single(ctx, a, r, dst, o, nil)
	}
	return h.race(ctx, a, dst)
}

// single is one call of the store below.
func (rd *reading) single(ctx context.Context, a *Attempt, r Range, dst []byte, o ReadOptions, onFirst func()) ([]byte, Info, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	var timer *time.Timer
	if limit := rd.tail.headerTimeout(a.Number); limit > 0 {
		timer = time.AfterFunc(limit, func() { cancel(errSlowHeaders) })
		defer timer.Stop()
	}
	first := false
	rd.tail.waiting(1, 0)
	a.firstByte = func() {
		if first {
			return
		}
		first = true
		if timer != nil {
			timer.Stop()
		}
		rd.tail.record(time.Since(start))
		rd.tail.waiting(-1, 0)
		if onFirst != nil {
			onFirst()
		}
	}
	data, info, err := rd.rt.below(withAttempt(inner, a), rd.loc, r, dst, o)
	if !first {
		rd.tail.waiting(-1, 0)
	}
	if err == nil || ctx.Err() != nil {
		if !first && errors.Is(context.Cause(ctx), errLost) {
			rd.tail.record(time.Since(start)) // at least so long
		}
		return data, info, err
	}
	if !first && errors.Is(context.Cause(inner), errSlowHeaders) {
		rd.tail.record(time.Since(start))
		err = &Error{Op: "read", Location: rd.loc, Range: r, Attempts: 1, Err: errSlowHeaders}
	}
	return data, info, err
}
