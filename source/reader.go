package source

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/internal/recordreader"
)

// Reader yields the scan once, by one of All, Next, RecordReader or Feed.
type Reader struct {
	cfg    Config
	ctx    context.Context
	scan   *scan   // nil at depth 0
	inline *inline // at depth 0

	mode   atomic.Int32
	ending atomic.Bool   // Close was called
	ended  chan struct{} // closed when it is through: a channel, since a sync.Once is a lock, which nobody should hold while it joins

	mu struct {
		sync.Mutex
		closed bool
		lent   Batch
		err    error // sticky: io.EOF or a failure
	}
	teardown atomic.Int64 // nanoseconds of Close
}

const (
	unused int32 = iota
	byAll
	byNext
	byFeed
)

// Open starts nothing at depth 0. Otherwise one goroutine of the scan, the claimer, ranges over tasks (which may wait for a
// manifest, so never under the window's lock) and fills the window. Breaking the range ends planning. ctx bounds the scan.
func Open(ctx context.Context, tasks iter.Seq2[Task, error], cfg Config) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return open(ctx, tasks, cfg, nil, 0)
}

// open is Open with the parts that tests replace.
func open(ctx context.Context, tasks iter.Seq2[Task, error], cfg Config, f format, workers int) (*Reader, error) {
	cfg = cfg.withDefaults()
	if hook := cfg.OnEvent; hook != nil {
		id := scans.Add(1)
		cfg.OnEvent = func(e Event) { e.Scan = id; hook(e) }
		cfg.OnEvent(Event{Name: "begin", Ordinal: -1, Duration: cfg.Planned, Context: ctx})
	}
	r := &Reader{cfg: cfg, ctx: ctx, ended: make(chan struct{})}
	if cfg.Depth == Off {
		r.inline = newInline(ctx, tasks, cfg, f)
		return r, nil
	}
	r.scan = newScan(ctx, tasks, cfg, f, workers)
	return r, nil
}

// scans numbers those with an event hook.
var scans atomic.Uint64

// use claims the reader for one way of reading.
func (r *Reader) use(mode int32) error {
	if r.mode.CompareAndSwap(unused, mode) || mode == byNext && r.mode.Load() == byNext {
		return nil
	}
	return ErrUsed
}

// All ends after the first error, and closes the reader when the range ends or is left.
func (r *Reader) All() iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if err := r.use(byAll); err != nil {
			yield(Batch{}, err)
			return
		}
		defer r.Close()
		if r.inline != nil {
			r.inline.all(yield)
			return
		}
		for {
			b, err := r.scan.next(r.ctx, 0)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Batch{}, err)
				}
				return
			}
			if !lend(b, yield) {
				return
			}
		}
	}
}

// lend hands an owned batch to the consumer for the time of its loop body.
func lend(b Batch, yield func(Batch, error) bool) bool {
	defer b.Record.Release()
	return yield(b, nil)
}

// Next returns io.EOF at the end; the batch is lent until the next call. One caller at a time, from any thread at depth > 0;
// at depth 0 it pulls the task iterator, and must stay off locked threads (iter.Pull, C callbacks). ctx bounds the call: when
// it ends, the scan goes on and Next may be called again.
func (r *Reader) Next(ctx context.Context) (Batch, error) {
	if err := r.use(byNext); err != nil {
		return Batch{}, err
	}
	r.giveBack()
	b, err := r.step(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		return Batch{}, err
	case r.mu.closed: // Close came in between
		b.Record.Release()
		return Batch{}, ErrClosed
	}
	r.mu.lent = b
	return b, nil
}

// AnyThread reports whether Next may be called on a locked thread, as a C callback's is.
func (r *Reader) AnyThread() bool { return r.inline == nil }

// step gets an owned batch.
func (r *Reader) step(ctx context.Context) (Batch, error) {
	r.mu.Lock()
	closed, err := r.mu.closed, r.mu.err
	r.mu.Unlock()
	switch {
	case err != nil:
		return Batch{}, err
	case closed:
		return Batch{}, ErrClosed
	}
	var b Batch
	if r.inline != nil {
		b, err = r.inline.next(ctx)
	} else {
		b, err = r.scan.next(ctx, 0)
	}
	if err != nil && ctx.Err() == nil || errors.Is(err, io.EOF) {
		r.mu.Lock()
		r.mu.err = err
		r.mu.Unlock()
	}
	return b, err
}

// giveBack releases the lent batch.
func (r *Reader) giveBack() {
	r.mu.Lock()
	b := r.mu.lent
	r.mu.lent = Batch{}
	r.mu.Unlock()
	if b.Record != nil {
		b.Record.Release()
	}
}

// RecordReader lends like Next; its last Release closes the scan.
func (r *Reader) RecordReader() array.RecordReader {
	next := func() (arrow.RecordBatch, error) {
		b, err := r.Next(r.ctx)
		return b.Record, err
	}
	return recordreader.New(recordreader.Stream{Schema: r.Schema, Next: next, Close: r.Close})
}

// Schema of every batch.
func (r *Reader) Schema() *arrow.Schema { return r.cfg.Schema }

// Close cancels and joins the scan's own work, planning included; idempotent, from any state, also beside a step of another
// goroutine, which then gets ErrClosed. The batch lent by Next dies with it; one that All has lent lives to the end of its
// loop body.
func (r *Reader) Close() error {
	if r.ending.Swap(true) {
		<-r.ended
		return nil
	}
	defer close(r.ended)
	start := time.Now()
	r.mu.Lock()
	r.mu.closed = true
	r.mu.Unlock()
	if r.scan != nil {
		r.scan.close()
	} else {
		r.inline.close()
	}
	r.giveBack()
	r.teardown.Store(int64(time.Since(start)))
	if r.cfg.OnEvent != nil {
		if r.scan != nil {
			r.scan.emit()
		}
		s := r.Stats()
		r.cfg.OnEvent(Event{Name: "end", At: s.Wall, Ordinal: -1, Bytes: s.Bytes, Duration: s.Wall})
	}
	if r.cfg.OnClose != nil {
		r.cfg.OnClose()
	}
	return nil
}

// Stats at any time.
func (r *Reader) Stats() Stats {
	var s Stats
	if r.inline != nil {
		s = r.inline.snapshot()
	} else {
		s = r.scan.snapshot()
	}
	s.Snapshot = r.cfg.Snapshot
	s.TeardownWait = time.Duration(r.teardown.Load())
	return s
}
