//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// rows is the running result of a statement. It implements query.Rows.
type rows struct {
	s       *statement
	ctx     context.Context
	pending bindings.PendingResult
	result  bindings.Result
	options bindings.ArrowOptions
	schema  *arrow.Schema
	export  *exporter
	undo    []func() // in reverse order
}

// start executes the statement up to its first chunk. The caller holds the instance.
func (s *statement) start(ctx context.Context) (*rows, error) {
	r := &rows{s: s, schema: s.schema}
	run, cancel := context.WithCancelCause(ctx)
	r.ctx = run
	unlink := context.AfterFunc(s.life, func() { cancel(errStatementClosed) })
	r.undo = append(r.undo, func() { unlink(); cancel(errStatementClosed) })
	s.rows = r
	s.fn.running(run)
	r.undo = append(r.undo, s.in.guard(run))
	if err := context.Cause(run); err != nil {
		return nil, err
	}
	s.fn.openAhead(run, s.refs)
	if bindings.PendingPreparedStreaming(s.prepared, &r.pending) == bindings.StateError {
		return nil, &engineError{kind: bindings.ErrorTypeInvalid, text: bindings.PendingError(r.pending)}
	}
	r.await()
	if bindings.ExecutePending(r.pending, &r.result) == bindings.StateError {
		return nil, r.failure()
	}
	r.options = bindings.ResultGetArrowOptions(&r.result)
	n := bindings.ColumnCount(&r.result)
	types, names := make([]bindings.LogicalType, n), make([]string, n)
	for i := range n {
		types[i], names[i] = bindings.ColumnLogicalType(&r.result, i), bindings.ColumnName(&r.result, i)
	}
	defer destroyTypes(types)
	schema, err := arrowSchema(r.options, types, names)
	if err != nil {
		return nil, err
	}
	r.schema, r.export = schema, newExporter(schema, types)
	return r, nil
}

// await works at the statement until it has a first chunk, or failed. ExecutePending would do so too, but asks again and again for a task,
// without a pause, while the other threads have them all and wait for the store: a core's time for nothing.
func (r *rows) await() {
	pause := minPause
	for {
		switch bindings.PendingExecuteTask(r.pending) {
		case bindings.PendingStateResultNotReady:
			pause = minPause
		case bindings.PendingStateNoTasksAvailable:
			time.Sleep(pause)
			pause = min(2*pause, maxPause)
		default:
			return
		}
	}
}

// How long a thread without a task waits before it asks for one again. The longest is what a second thread may come late to a pipeline.
const (
	minPause = 50 * time.Microsecond
	maxPause = 400 * time.Microsecond
)

func arrowSchema(o bindings.ArrowOptions, types []bindings.LogicalType, names []string) (*arrow.Schema, error) {
	schema, ed := bindings.NewArrowSchema(o, types, names)
	return schema, taken(ed)
}

func destroyTypes(types []bindings.LogicalType) {
	for i := range types {
		bindings.DestroyLogicalType(&types[i])
	}
}

func (r *rows) failure() error {
	return &engineError{kind: bindings.ResultErrorType(&r.result), text: bindings.ResultError(&r.result)}
}

// Schema implements query.Rows.
func (r *rows) Schema() *arrow.Schema { return r.schema }

// Next implements query.Rows.
func (r *rows) Next() (arrow.RecordBatch, error) {
	if err := r.s.acquire(); err != nil {
		return nil, err
	}
	defer r.s.release()
	rec, err := r.next()
	if err != nil && err != io.EOF {
		return nil, r.s.public(r.ctx, err)
	}
	return rec, err
}

func (r *rows) next() (arrow.RecordBatch, error) {
	if err := context.Cause(r.ctx); err != nil {
		return nil, err
	}
	chunk := bindings.FetchChunk(r.result)
	if chunk.Ptr == nil {
		// a streaming result that fails late ends like one that is complete
		if text := bindings.ResultError(&r.result); text != "" {
			return nil, r.failure()
		}
		if err := r.s.fn.failure(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	defer bindings.DestroyDataChunk(&chunk)
	if rec, ok := r.export.batch(chunk); ok {
		return rec, nil
	}
	rec, ed := bindings.DataChunkToArrowArray(r.options, r.schema, chunk)
	return rec, taken(ed)
}

// Close implements query.Rows; the statement ends with its result.
func (r *rows) Close() error { return r.s.Close() }

// destroy frees what DuckDB holds for the result. The run's context must have ended and nobody may be inside Next.
func (r *rows) destroy() {
	bindings.DestroyArrowOptions(&r.options)
	bindings.DestroyResult(&r.result)
	bindings.DestroyPending(&r.pending)
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
}
