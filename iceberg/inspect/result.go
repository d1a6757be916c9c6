package inspect

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is the size of a batch.
const batchRows = 1024

// Result is one metadata table.
type Result struct {
	schema *arrow.Schema
	fill   func(ctx context.Context, w *writer) error
}

// Schema of the batches.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// errStopped ends a fill whose consumer has gone.
var errStopped = errors.New("inspect: stopped")

// Batches yields the rows, made with mem (nil = Arrow's default). A batch is lent until the next step. After an error
// nothing follows.
func (r *Result) Batches(ctx context.Context, mem arrowmem.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	if mem == nil {
		mem = arrowmem.DefaultAllocator
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		w := &writer{b: array.NewRecordBuilder(mem, r.schema), yield: yield}
		defer w.b.Release()
		err := r.fill(ctx, w)
		if err == nil {
			err = w.flush()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// writer gathers rows into batches.
type writer struct {
	b     *array.RecordBuilder
	rows  int
	yield func(arrow.RecordBatch, error) bool
}

// row appends one value a column; nil is NULL.
func (w *writer) row(values ...any) error {
	for i, v := range values {
		if err := appendValue(w.b.Field(i), v); err != nil {
			return err
		}
	}
	if w.rows++; w.rows == batchRows {
		return w.flush()
	}
	return nil
}

func (w *writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	rec := w.b.NewRecordBatch()
	w.rows = 0
	ok := w.yield(rec, nil)
	rec.Release()
	if !ok {
		return errStopped
	}
	return nil
}
