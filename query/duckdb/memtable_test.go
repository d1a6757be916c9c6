//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/source"
)

// memTables are tables in memory, by dotted name; "@" and a version may follow.
type memTables map[string]*memTable

func (t memTables) Load(_ context.Context, name []string, v iceberg.Version) (query.Table, error) {
	id := strings.Join(name, ".")
	switch {
	case v.Snapshot != 0:
		id += fmt.Sprintf("@%d", v.Snapshot)
	case v.Ref != "":
		id += "@" + v.Ref
	case !v.AsOf.IsZero():
		id += "@" + v.AsOf.Format("2006-01-02T15:04:05Z")
	}
	if m := t[id]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %s", meta.ErrNoSuchTable, id)
}

// memTable serves batches that its owner keeps.
type memTable struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    int64
	anyone  bool                                       // readers promise to work on any thread
	inexact bool                                       // Count does not know
	hook    func(ctx context.Context, batch int) error // called before batch i, len(batches) = before the end
	strict  bool                                       // gives no row beyond what a Need asks for

	mu struct {
		sync.Mutex
		needs []query.Need
	}
	open, pulled, counted atomic.Int64
}

func newMemTable(batches ...arrow.RecordBatch) *memTable {
	m := &memTable{schema: batches[0].Schema(), batches: batches}
	for _, b := range batches {
		m.rows += b.NumRows()
	}
	return m
}

func (m *memTable) Schema() *arrow.Schema { return m.schema }
func (m *memTable) Rows() int64           { return m.rows }

func (m *memTable) Count(context.Context) (int64, bool, error) {
	m.counted.Add(1)
	return m.rows, !m.inexact, nil
}

func (m *memTable) Open(ctx context.Context, n query.Need) (query.Reader, error) {
	m.mu.Lock()
	m.mu.needs = append(m.mu.needs, n)
	m.mu.Unlock()
	r := &memReader{table: m, need: n}
	var fields []arrow.Field
	for _, c := range n.Columns {
		at := m.schema.FieldIndices(c)
		if len(at) != 1 {
			return nil, fmt.Errorf("no column %q", c)
		}
		r.columns = append(r.columns, at[0])
		fields = append(fields, m.schema.Field(at[0]))
	}
	r.schema = arrow.NewSchema(fields, nil)
	m.open.Add(1)
	if m.anyone {
		return anyThreadReader{r}, nil
	}
	return r, nil
}

// needs returns what was opened so far.
func (m *memTable) opened() []query.Need {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]query.Need(nil), m.mu.needs...)
}

type memReader struct {
	table   *memTable
	need    query.Need
	columns []int
	schema  *arrow.Schema
	at      int
	given   int64
	last    arrow.RecordBatch
	closed  bool
	busy    atomic.Bool
}

type anyThreadReader struct{ *memReader }

func (anyThreadReader) AnyThread() bool { return true }

func (r *memReader) Schema() *arrow.Schema { return r.schema }

func (r *memReader) Next(ctx context.Context) (source.Batch, error) {
	if r.closed || !r.busy.CompareAndSwap(false, true) {
		return source.Batch{}, errors.New("Next on a closed or busy reader")
	}
	defer r.busy.Store(false)
	r.drop()
	if r.table.hook != nil {
		if err := r.table.hook(ctx, r.at); err != nil {
			return source.Batch{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return source.Batch{}, err
	}
	if r.at >= len(r.table.batches) {
		return source.Batch{}, io.EOF
	}
	full := r.table.batches[r.at]
	r.at++
	r.table.pulled.Add(1)
	full.Retain()
	if r.table.strict {
		f, err := r.needed(full)
		full.Release()
		if err != nil {
			return source.Batch{}, err
		}
		full = f
	}
	defer full.Release()
	columns := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		columns[i] = full.Column(c)
	}
	r.last = array.NewRecordBatch(r.schema, columns, full.NumRows())
	return source.Batch{Record: r.last}, nil
}

// needed keeps the rows of a batch that the Need asks for, and not one more.
func (r *memReader) needed(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	keep := func(int) bool { return true }
	if r.need.Filter != nil {
		ev, err := eval.New(r.need.Filter, rec.Schema())
		if err != nil {
			return nil, err
		}
		var sel eval.Selection
		if err := ev.Eval(rec, &sel); err != nil {
			return nil, err
		}
		keep = sel.Has
	}
	var parts []arrow.RecordBatch
	for i := range int(rec.NumRows()) {
		if keep(i) && (r.need.Limit == 0 || r.given < r.need.Limit) {
			r.given++
			parts = append(parts, rec.NewSlice(int64(i), int64(i)+1))
		}
	}
	if len(parts) == 0 {
		return rec.NewSlice(0, 0), nil
	}
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	columns := make([]arrow.Array, rec.NumCols())
	for c := range columns {
		slices := make([]arrow.Array, len(parts))
		for i, p := range parts {
			slices[i] = p.Column(c)
		}
		joined, err := array.Concatenate(slices, arrowmem.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		defer joined.Release()
		columns[c] = joined
	}
	return array.NewRecordBatch(rec.Schema(), columns, int64(len(parts))), nil
}

func (r *memReader) drop() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

func (r *memReader) Close() error {
	if !r.closed {
		r.closed = true
		r.drop()
		r.table.open.Add(-1)
	}
	return nil
}

// testEngine is closed with the test.
func testEngine(tb testing.TB, cfg EngineConfig) query.Engine {
	tb.Helper()
	if cfg.SpillDir == "" {
		cfg.SpillDir = tb.TempDir()
	}
	if cfg.Threads == 0 {
		cfg.Threads = 2
	}
	e, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// run executes a statement and returns its rows as text, one line a row.
func run(ctx context.Context, e query.Engine, st query.Statement, t query.Tables) (lines []string, err error) {
	p, err := e.Prepare(ctx, st, t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	res, err := p.Run(ctx)
	if err != nil {
		return nil, err
	}
	for rec, err := range res.All() {
		if err != nil {
			return lines, err
		}
		lines = append(lines, textLines(rec)...)
	}
	return lines, nil
}

func textLines(rec arrow.RecordBatch) (lines []string) {
	for row := range int(rec.NumRows()) {
		cells := make([]string, rec.NumCols())
		for c := range cells {
			cells[c] = strings.Clone(rec.Column(c).ValueStr(row))
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return lines
}

// checkError demands a *query.Error of the class whose text has a part.
func checkError(tb testing.TB, what string, err error, class query.Class, part string) {
	tb.Helper()
	e, ok := errors.AsType[*query.Error](err)
	switch {
	case err == nil:
		tb.Errorf("%s: no error", what)
	case !ok:
		tb.Errorf("%s: %T %v", what, err, err)
	case e.Class != class:
		tb.Errorf("%s: class %s, not %s: %v", what, e.Class, class, err)
	case !strings.Contains(err.Error(), part):
		tb.Errorf("%s: %q does not have %q", what, err, part)
	}
}
