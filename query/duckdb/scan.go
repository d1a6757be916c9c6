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

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
)

// scan is one execution of lakescan(key): a Reader, and what it takes to write its batches into chunks. Several of DuckDB's
// threads use it.
type scan struct {
	fn      *function
	ref     *reference
	columns []int // result columns in the reader's order
	wanted  []int // result column of each vector; the hidden one and anything beyond the columns carries no value
	layout  layout

	rows   atomic.Int64 // left to give, when only the number of rows is asked for and metadata knew it
	counts bool

	ctx    context.Context
	cancel context.CancelFunc
	puller *puller // nil if counts
}

// cursor is one thread's place in a batch.
type cursor struct {
	batch arrow.RecordBatch // retained
	at    int64
}

func (c *cursor) deleted() { c.drop() }

func (c *cursor) drop() {
	if c.batch != nil {
		c.batch.Release()
	}
	c.batch, c.at = nil, 0
}

// openScan opens the reader, or takes the one that was opened ahead. wanted are indexes of ref.columns, or len(ref.columns) for
// DuckDB's row id.
func openScan(ctx context.Context, f *function, ref *reference, wanted []int) (*scan, error) {
	var columns []int
	for _, w := range wanted {
		if w > 0 && w < len(ref.columns) {
			if err := ref.refuse(ref.columns[w]); err != nil {
				return nil, err
			}
			columns = append(columns, w)
		}
	}
	s := f.takeAhead(ref, columns)
	if s == nil {
		s = beginScan(ctx, f, ref, columns)
	}
	s.wanted = wanted
	err := s.puller.opened()
	if err == nil && !s.counts {
		err = s.makeLayout(s.puller.reader.Schema())
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// beginScan starts to open a reader of these columns.
func beginScan(ctx context.Context, f *function, ref *reference, columns []int) *scan {
	s := &scan{fn: f, ref: ref, columns: columns}
	s.ctx, s.cancel = context.WithCancel(ctx)
	need := ref.Need
	need.Columns, need.RowsOnly = nil, len(columns) == 0
	for _, c := range columns {
		need.Columns = append(need.Columns, ref.columns[c].field.Name)
	}
	if need.RowsOnly {
		need.Filter = nil // DuckDB filters by nothing, so nothing may be left out
	}
	s.puller = newPuller(s.ctx)
	s.puller.open(func() (query.Reader, error) { return s.open(need) })
	return s
}

// open runs on the puller's goroutine. A nil reader says that metadata answered.
func (s *scan) open(need query.Need) (query.Reader, error) {
	if need.RowsOnly {
		n, exact, err := s.ref.Table.Count(s.ctx)
		if err != nil {
			return nil, err
		}
		if exact {
			s.counts = true
			s.rows.Store(n)
			return nil, nil
		}
	}
	return s.ref.Table.Open(s.ctx, need)
}

// deleted is called by DuckDB when the execution is over, which may be before the last batch.
func (s *scan) deleted() {
	s.close()
	s.fn.mu.Lock()
	defer s.fn.mu.Unlock()
	delete(s.fn.mu.scans, s)
}

func (s *scan) close() {
	s.cancel()
	if s.puller != nil {
		s.puller.close()
	}
	s.layout.close()
}

// fill writes the next rows into a chunk; a chunk of no rows is the end of the scan for that thread.
func (s *scan) fill(chunk bindings.DataChunk, c *cursor) error {
	if s.counts {
		n := s.takeRows()
		s.layout.zero(chunk, len(s.wanted), n)
		bindings.DataChunkSetSize(chunk, bindings.IdxT(n))
		return nil
	}
	for c.batch == nil || c.at >= c.batch.NumRows() {
		c.drop()
		batch, err := s.puller.next(s.ctx)
		if err == io.EOF {
			bindings.DataChunkSetSize(chunk, 0)
			return nil
		}
		if err != nil {
			return err
		}
		c.batch = batch
		if err := s.layout.check(batch); err != nil {
			return fmt.Errorf("table %s: %w", strings.Join(s.ref.Name, "."), err)
		}
	}
	n := s.layout.fit(c.batch, c.at, min(c.batch.NumRows()-c.at, chunkRows))
	if err := s.layout.write(s.fn.in.conn, chunk, c.batch, c.at, n); err != nil {
		return err
	}
	c.at += n
	bindings.DataChunkSetSize(chunk, bindings.IdxT(n))
	return nil
}

// chunkRows is DuckDB's vector size.
const chunkRows = 2048

func (s *scan) takeRows() int64 {
	for {
		left := s.rows.Load()
		n := min(left, chunkRows)
		if n <= 0 || s.rows.CompareAndSwap(left, left-n) {
			return max(n, 0)
		}
	}
}

// puller gives the batches of one Reader to many threads. A Reader that promises to work on any thread is called where the
// batch is wanted; any other is opened, called and closed by a goroutine of the puller, one batch at a time and never ahead
// of the asking, so that a LIMIT pulls one batch.
type puller struct {
	ctx    context.Context
	ready  chan struct{} // closed when reader and failed are known
	reader query.Reader
	failed error
	direct bool

	turn chan struct{} // one token: the right to ask
	done error         // under turn; io.EOF or the first error

	requests chan struct{}
	answers  chan answer
	finished sync.WaitGroup
	closed   sync.Once
	stop     chan struct{}
}

type answer struct {
	batch arrow.RecordBatch // retained
	err   error
}

func newPuller(ctx context.Context) *puller {
	p := &puller{
		ctx: ctx, ready: make(chan struct{}), turn: make(chan struct{}, 1),
		requests: make(chan struct{}), answers: make(chan answer), stop: make(chan struct{}),
	}
	p.turn <- struct{}{}
	return p
}

// anyThread is implemented by readers whose Next may be called on a locked thread: it uses no coroutine.
type anyThread interface{ AnyThread() bool }

// open calls f on a fresh goroutine, which goes on if the reader needs it.
func (p *puller) open(f func() (query.Reader, error)) {
	p.finished.Go(func() {
		p.reader, p.failed = callOpen(f)
		if p.reader != nil {
			a, ok := p.reader.(anyThread)
			p.direct = ok && a.AnyThread()
		}
		close(p.ready)
		if p.reader != nil && !p.direct {
			p.serve()
		}
	})
}

// opened waits for open.
func (p *puller) opened() error {
	<-p.ready
	return p.failed
}

func callOpen(f func() (query.Reader, error)) (r query.Reader, err error) {
	defer recovered(&err)
	return f()
}

// recovered turns a panic below an interface of ours into an error: on these goroutines nobody else would.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = newPanicError(r)
	}
}

// serve answers requests until the puller closes; it closes the reader, so that open, Next and Close share a goroutine.
func (p *puller) serve() {
	defer func() { _ = closeReader(p.reader) }()
	for {
		select {
		case <-p.requests:
		case <-p.stop:
			return
		}
		batch, err := pull(p.ctx, p.reader)
		select {
		case p.answers <- answer{batch, err}:
		case <-p.stop:
			if batch != nil {
				batch.Release()
			}
			return
		}
	}
}

func closeReader(r query.Reader) (err error) {
	defer recovered(&err)
	return r.Close()
}

// pull returns the next batch that has rows, retained.
func pull(ctx context.Context, r query.Reader) (rec arrow.RecordBatch, err error) {
	defer recovered(&err)
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if b.Deleted != nil {
			return nil, errors.New("a scan for SQL gave a batch with deleted rows in it")
		}
		if b.Record.NumRows() > 0 {
			b.Record.Retain()
			return b.Record, nil
		}
	}
}

// next is called by any number of threads.
func (p *puller) next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { p.turn <- struct{}{} }()
	if p.done != nil {
		return nil, p.done
	}
	a := p.ask(ctx)
	if a.err != nil {
		p.done = a.err
	}
	return a.batch, a.err
}

func (p *puller) ask(ctx context.Context) answer {
	if p.direct {
		batch, err := pull(p.ctx, p.reader)
		return answer{batch, err}
	}
	select {
	case p.requests <- struct{}{}:
	case <-p.stop:
		return answer{err: errStatementClosed}
	}
	select {
	case a := <-p.answers:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// close joins the goroutine and the reader; idempotent. The scan's context must have ended, so that a blocked Next returns.
func (p *puller) close() {
	p.closed.Do(func() {
		close(p.stop)
		p.finished.Wait()
		if p.direct {
			_ = closeReader(p.reader)
		}
	})
}
