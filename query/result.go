package query

import (
	"errors"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/internal/recordreader"
	"github.com/lakescan/lakescan/source"
)

// Rows is what an engine gives for a running statement; NewResult makes the public stream of it.
type Rows interface {
	Schema() *arrow.Schema
	// Next returns a batch that the caller releases, or io.EOF after the last one. A failed statement never gives io.EOF.
	Next() (arrow.RecordBatch, error)
	// Close ends the statement and joins it; idempotent, and safe while another goroutine is inside Next.
	Close() error
}

// Stats of a result so far.
type Stats struct {
	Rows, Batches int64
	FirstBatch    time.Duration // from Run to the first batch; 0 = none yet
	Elapsed       time.Duration // from Run to the end, or to now
}

// Result streams the rows of one statement, once, by one of All, Next and RecordReader.
type Result struct {
	rows  Rows
	start time.Time

	done    error // io.EOF or the first error; sticky
	current arrow.RecordBatch

	nrows, batches, first, elapsed atomic.Int64

	closing struct {
		sync.Once
		err  error
		hook func()
	}
	scans func() source.Stats
}

// NewResult is for engines: start is the instant of Run.
func NewResult(rows Rows, start time.Time) *Result {
	return &Result{rows: rows, start: start}
}

// Schema is known before the first batch.
func (r *Result) Schema() *arrow.Schema { return r.rows.Schema() }

// Next lends a batch until the next call of Next or Close, and returns io.EOF after the last one. An error is sticky.
func (r *Result) Next() (arrow.RecordBatch, error) {
	r.drop()
	if r.done != nil {
		return nil, r.done
	}
	rec, err := r.rows.Next()
	if err != nil {
		r.done = err
		r.elapsed.Store(int64(time.Since(r.start)))
		return nil, err
	}
	if r.batches.Add(1) == 1 {
		r.first.Store(int64(time.Since(r.start)))
	}
	r.nrows.Add(rec.NumRows())
	r.current = rec
	return rec, nil
}

func (r *Result) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// All lends every batch until the next step and ends after the first error. Leaving the loop does not close the result.
func (r *Result) All() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer r.drop()
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Stats may be called at any time, from any goroutine.
func (r *Result) Stats() Stats {
	s := Stats{
		Rows: r.nrows.Load(), Batches: r.batches.Load(),
		FirstBatch: time.Duration(r.first.Load()), Elapsed: time.Duration(r.elapsed.Load()),
	}
	if s.Elapsed == 0 {
		s.Elapsed = time.Since(r.start)
	}
	return s
}

// Close ends the statement, joins it, and gives back what its Prepared held. It is idempotent and must not run beside Next.
func (r *Result) Close() error {
	r.closing.Do(func() {
		r.drop()
		if r.done == nil {
			r.done = errClosed
			r.elapsed.Store(int64(time.Since(r.start)))
		}
		r.closing.err = r.rows.Close()
		if r.closing.hook != nil {
			r.closing.hook()
		}
	})
	return r.closing.err
}

// Scan is what the scans of the statement cost so far; zero if the engine's tables do not tell.
func (r *Result) Scan() source.Stats {
	if r.scans == nil {
		return source.Stats{}
	}
	return r.scans()
}

// SetScan sets where Scan comes from. It is for whoever made the result, before handing it on.
func (r *Result) SetScan(scans func() source.Stats) { r.scans = scans }

// OnClose sets what runs once, after Close has joined the statement. It is for whoever made the result, before handing it on.
func (r *Result) OnClose(hook func()) { r.closing.hook = hook }

var errClosed = errors.New("query: the result is closed")

// RecordReader lends like Next; its last Release closes the result.
func (r *Result) RecordReader() array.RecordReader {
	return recordreader.New(recordreader.Stream{Schema: r.Schema, Next: r.Next, Close: r.Close})
}
