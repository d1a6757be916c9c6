package source

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeFile describes a file of the fake format.
type fakeFile struct {
	rounds  int     // serial reads of the opening
	tail    int64   // bytes of each
	keeps   bool    // the units need what the opening read: a small file, read whole
	waves   []int64 // bytes
	units   int     // a wave
	rows    int     // a unit
	batches int     // a unit
	columns int
	plain   int64         // bytes that decoding a unit is thought to hold
	decode  time.Duration // a unit, all columns together
	late    int64         // bytes that every unit wants after its filter

	failOpen, failWave, failDecode, failFinish, panicDecode bool
	empty                                                   bool // no waves
}

// fakeFormat serves fakeFiles: one int64 column, the row's number in the scan.
type fakeFormat struct {
	files []fakeFile
	mem   arrowmem.Allocator
	cores chan struct{} // held while decoding; nil = as many as there are goroutines

	mu sync.Mutex
	// log counts unit.close per file, to find leaks and doubles.
	opened, closed int
}

var fakeSchema = arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)

var errFake = errors.New("fake failure")

func (f *fakeFormat) open(ctx context.Context, fl *file) (content, error) {
	ff := f.files[fl.task.Ordinal]
	c := &fakeContent{format: f, file: ff, ordinal: fl.task.Ordinal}
	for i := range ff.rounds {
		r := object.Range{Off: int64(i) << 40, Len: max(ff.tail, 1)}
		p, err := fl.get(ctx, r)
		if err != nil {
			c.close()
			return nil, err
		}
		if !ff.keeps {
			p.release()
			continue
		}
		kept := &piece{span: r, read: p, here: true}
		kept.refs.Store(1)
		c.held = append(c.held, kept)
	}
	if ff.failOpen {
		c.close()
		return nil, fmt.Errorf("open %d: %w", fl.task.Ordinal, errFake)
	}
	return c, nil
}

func (f *fakeFormat) close() {}

type fakeContent struct {
	format  *fakeFormat
	file    fakeFile
	ordinal int
	given   int // waves planned
	held    []*piece
}

func (c *fakeContent) waves() int {
	if c.file.empty {
		return 0
	}
	return len(c.file.waves)
}

func (c *fakeContent) may() bool { return true }

func (c *fakeContent) ahead() (next, all int64) {
	for i, n := range c.file.waves[c.given:] {
		if i == 0 {
			next = n
		}
		all += n
	}
	return next, all
}

func (c *fakeContent) close() {
	for _, p := range c.held {
		p.drop()
	}
	c.held = nil
}

func (c *fakeContent) wave(i int) (wave, error) {
	if c.file.failWave {
		return wave{}, fmt.Errorf("wave of %d: %w", c.ordinal, errFake)
	}
	c.given++
	off := int64(1 << 30 * i)
	w := wave{late: c.file.late > 0, held: c.held}
	n := max(c.file.units, 1)
	part := c.file.waves[i] / int64(n)
	for u := range n {
		if part > 0 {
			w.spans = append(w.spans, object.Range{Off: off + int64(u)*part, Len: part})
			w.needs = append(w.needs, []int{u})
		} else {
			w.needs = append(w.needs, nil)
		}
		w.units = append(w.units, &fakeUnit{c: c, wave: i, unit: u, span: object.Range{Off: off + int64(u)*part, Len: part}})
	}
	c.format.mu.Lock()
	c.format.opened += n
	c.format.mu.Unlock()
	return w, nil
}

type fakeUnit struct {
	c          *fakeContent
	wave, unit int
	span       object.Range
	closed     bool
}

func (u *fakeUnit) follows() bool { return false }

func (u *fakeUnit) size() int64 { return max(u.c.file.plain, int64(u.c.file.rows)*8+1) }

func (u *fakeUnit) columns(phase int) []int {
	n := u.c.file.columns
	if phase == 0 {
		if u.c.file.late > 0 {
			return []int{0}
		}
		return nil
	}
	cols := make([]int, n)
	for i := range cols {
		cols[i] = i + 1
	}
	return cols
}

func (u *fakeUnit) decode(ctx context.Context, col int, b *pieces) error {
	if col > 0 && u.c.file.late > 0 {
		if _, err := b.Slice(int64(5<<40)+int64(u.wave*1000+u.unit), u.c.file.late); err != nil {
			return err
		}
	} else if u.span.Len > 0 {
		if _, err := b.Slice(u.span.Off, u.span.Len); err != nil {
			return err
		}
	}
	if d := u.c.file.decode / time.Duration(max(u.c.file.columns, 1)); d > 0 {
		if c := u.c.format.cores; c != nil {
			c <- struct{}{}
			defer func() { <-c }()
		}
		time.Sleep(d)
	}
	if u.c.file.panicDecode {
		panic("fake panic")
	}
	if u.c.file.failDecode {
		return fmt.Errorf("decode %d: %w", u.c.ordinal, errFake)
	}
	return ctx.Err()
}

func (u *fakeUnit) narrow(context.Context) ([]object.Range, error) {
	return []object.Range{{Off: int64(5<<40) + int64(u.wave*1000+u.unit), Len: u.c.file.late}}, nil
}

func (u *fakeUnit) finish(context.Context) ([]Batch, error) {
	if u.c.file.failFinish {
		return nil, fmt.Errorf("finish %d: %w", u.c.ordinal, errFake)
	}
	rows := u.c.file.rows
	if rows == 0 {
		return nil, nil
	}
	n := max(u.c.file.batches, 1)
	var out []Batch
	for i := range n {
		b := array.NewInt64Builder(u.c.format.mem)
		for r := i * rows / n; r < (i+1)*rows/n; r++ {
			b.Append(int64(u.c.ordinal)*1_000_000 + int64(u.wave)*10_000 + int64(u.unit*rows+r))
		}
		a := b.NewArray()
		b.Release()
		rec := array.NewRecordBatch(fakeSchema, []arrow.Array{a}, int64(a.Len()))
		a.Release()
		out = append(out, Batch{Record: rec, Origin: Origin{Ordinal: u.c.ordinal, RowGroup: u.wave}})
	}
	return out, nil
}

func (u *fakeUnit) close() {
	u.c.format.mu.Lock()
	defer u.c.format.mu.Unlock()
	if u.closed {
		panic("unit closed twice")
	}
	u.closed = true
	u.c.format.closed++
}

// fakeStore answers any range after a delay.
type fakeStore struct {
	read func(ctx context.Context, loc object.Location, r object.Range) error

	mu       sync.Mutex
	requests []string
}

func (s *fakeStore) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
	s.mu.Lock()
	s.requests = append(s.requests, fmt.Sprintf("%s[%d,%d)", loc.Key, r.Off, r.Off+r.Len))
	s.mu.Unlock()
	if s.read != nil {
		if err := s.read(ctx, loc, r); err != nil {
			return nil, object.Info{}, err
		}
	}
	return dst[:r.Len], object.Info{Location: loc, ETag: "e"}, nil
}

// after makes a store with a constant delay.
func after(d time.Duration) *fakeStore {
	return &fakeStore{read: func(ctx context.Context, _ object.Location, _ object.Range) error { return sleep(ctx, d) }}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rig is one test's world: budget, pool, allocator, all checked at the end.
type rig struct {
	tb     testing.TB
	budget *memory.Budget
	pool   *prefetchpool.Pool
	mem    *dirty
	format *fakeFormat
	store  object.Store
}

func newRig(tb testing.TB, slots int, limit int64, files []fakeFile, store object.Store) *rig {
	tb.Helper()
	b, err := memory.New(memory.Config{Limit: limit, Signals: func() memory.Signals { return memory.Signals{} }})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := prefetchpool.New(prefetchpool.Config{Slots: slots, MaxBytes: 1 << 30, Meter: b.Elastic(memory.Prefetch, 0).Named("pool")})
	if err != nil {
		tb.Fatal(err)
	}
	mem := &dirty{arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())}
	return &rig{tb: tb, budget: b, pool: p, mem: mem, format: &fakeFormat{files: files, mem: mem.CheckedAllocator}, store: store}
}

// poolOf replaces the pool.
func (g *rig) poolOf(c prefetchpool.Config) {
	g.tb.Helper()
	_ = g.pool.Close()
	c.Meter = g.budget.Elastic(memory.Prefetch, 0).Named("pool")
	p, err := prefetchpool.New(c)
	if err != nil {
		g.tb.Fatal(err)
	}
	g.pool = p
}

// dirty is the recycling allocator that the facade uses, at its worst: no byte that it hands out is zero.
type dirty struct{ *arrowmem.CheckedAllocator }

func (d *dirty) Allocate(n int) []byte {
	b := d.CheckedAllocator.Allocate(n)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}

func (d *dirty) Reallocate(n int, b []byte) []byte {
	had := len(b)
	b = d.CheckedAllocator.Reallocate(n, b)
	for i := had; i < n; i++ {
		b[i] = 0xa5
	}
	return b
}

// Cleared is the one below: over Go's allocator.
func (d *dirty) Cleared() arrowmem.Allocator { return d.CheckedAllocator }

// check asserts that nothing is left: permits, bytes, units, arrays.
func (g *rig) check() {
	g.tb.Helper()
	_ = g.pool.Close()
	if err := g.budget.Close(); err != nil {
		g.tb.Error(err)
	}
	g.mem.AssertSize(g.tb, 0)
	if s := g.pool.Stats(); s.Running != 0 || s.Queued != 0 || s.Bytes != 0 {
		g.tb.Errorf("pool is left with %+v", s)
	}
	if g.format.opened != g.format.closed {
		g.tb.Errorf("%d units made, %d closed", g.format.opened, g.format.closed)
	}
}

func (g *rig) tasks() iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for i := range g.format.files {
			var bytes int64
			for _, n := range g.format.files[i].waves {
				bytes += n
			}
			if g.format.files[i].keeps {
				bytes += g.format.files[i].tail
			}
			if !yield(Task{Ordinal: i, FirstRowID: -1, ColumnBytes: bytes, File: object.Info{Location: object.Location{Recorded: fmt.Sprint("f", i), Key: fmt.Sprint("f", i)}, Size: -1}}, nil) {
				return
			}
		}
	}
}

func (g *rig) open(ctx context.Context, tasks iter.Seq2[Task, error], depth Depth, change func(*Config)) *Reader {
	g.tb.Helper()
	return g.openWith(ctx, tasks, depth, 2, change)
}

func (g *rig) openWith(ctx context.Context, tasks iter.Seq2[Task, error], depth Depth, workers int, change func(*Config)) *Reader {
	g.tb.Helper()
	cfg := Config{Store: g.store, Budget: g.budget, Schema: fakeSchema, Depth: depth, Streams: 1}
	if change != nil {
		change(&cfg)
	}
	if depth != Off && cfg.Lane == nil {
		cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{Streams: cfg.Streams})
	}
	r, err := open(ctx, tasks, cfg, g.format, workers)
	if err != nil {
		g.tb.Fatal(err)
	}
	return r
}

// values collects the column and returns the error that ended the scan.
func values(seq iter.Seq2[Batch, error]) (out []int64, err error) {
	for b, e := range seq {
		if e != nil {
			return out, e
		}
		out = append(out, b.Record.Column(0).(*array.Int64).Int64Values()...)
	}
	return out, nil
}

// want is what a scan of the files must deliver, in file order, up to the first failure.
func (g *rig) want() (out []int64, failed int) {
	for i, f := range g.format.files {
		read := !f.empty && len(f.waves) > 0
		if f.failOpen || read && (f.failWave || f.failFinish || (f.columns > 0 || f.late > 0) && (f.failDecode || f.panicDecode)) {
			return out, i
		}
		if f.empty {
			continue
		}
		for w := range f.waves {
			for u := range max(f.units, 1) {
				for r := range f.rows {
					out = append(out, int64(i)*1_000_000+int64(w)*10_000+int64(u*f.rows+r))
				}
			}
		}
	}
	return out, -1
}

func randomFiles(r *rand.Rand, n int) []fakeFile {
	files := make([]fakeFile, n)
	for i := range files {
		f := fakeFile{rounds: r.IntN(3), tail: 64 << 10, units: 1 + r.IntN(3), rows: r.IntN(20), batches: 1 + r.IntN(3), columns: r.IntN(4)}
		for range r.IntN(4) {
			size := r.Int64N(200 << 10)
			if r.IntN(20) == 0 {
				size = r.Int64N(20 << 20) // several pieces
			}
			f.waves = append(f.waves, size)
		}
		f.empty = r.IntN(6) == 0
		f.decode = time.Duration(r.IntN(10)) * time.Millisecond
		if r.IntN(3) == 0 {
			f.late = 1 + r.Int64N(1<<20)
		}
		files[i] = f
	}
	return files
}

// table reads real Parquet files into canonical text.
func (g *rig) table(schema *arrow.Schema, tasks iter.Seq2[Task, error], d Depth, change func(*Config)) (*canon.Table, error) {
	g.tb.Helper()
	cfg := Config{Store: g.store, Budget: g.budget, Schema: schema, Depth: d, Allocator: g.mem}
	if change != nil {
		change(&cfg)
	}
	if d != Off {
		cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{Streams: max(cfg.Streams, 1)})
	}
	r, err := Open(g.tb.Context(), tasks, cfg)
	if err != nil {
		g.tb.Fatal(err)
	}
	out := canon.NewTable(schema, canon.StoredOrder)
	for b, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if err := out.Add(b.Record); err != nil {
			g.tb.Fatal(err)
		}
	}
	return out, nil
}
