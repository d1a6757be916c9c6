// Package recordreader shows a stream that lends its batches as Arrow's RecordReader: a batch is valid up to the next step, and the last Release
// closes the stream.
package recordreader

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Stream lends batches; Next gives io.EOF after the last one.
type Stream struct {
	Schema func() *arrow.Schema
	Next   func() (arrow.RecordBatch, error)
	Close  func() error
}

// New holds one reference. Retain and Release may be called from any goroutine, the rest from one at a time.
func New(s Stream) array.RecordReader {
	r := &reader{stream: s}
	r.refs.Store(1)
	return r
}

type reader struct {
	stream Stream
	refs   atomic.Int64
	rec    arrow.RecordBatch // lent
	err    error
}

func (r *reader) Retain() { r.refs.Add(1) }

func (r *reader) Release() {
	if r.refs.Add(-1) == 0 {
		r.rec = nil
		_ = r.stream.Close()
	}
}

func (r *reader) Schema() *arrow.Schema { return r.stream.Schema() }

func (r *reader) Next() bool {
	rec, err := r.stream.Next()
	if err != nil {
		r.rec = nil
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return false
	}
	r.rec = rec
	return true
}

func (r *reader) RecordBatch() arrow.RecordBatch { return r.rec }
func (r *reader) Record() arrow.RecordBatch      { return r.rec }
func (r *reader) Err() error                     { return r.err }
