package source

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/parquet/write"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source/resolve"
)

// hugeGroup makes a file of one row group of n MiB in two columns: row numbers, and their squares in disorder.
func hugeGroup(t *testing.T, n int) ([]byte, *arrow.Schema) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{expr.WithFieldID(arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64}, 1), expr.WithFieldID(arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Int64}, 2)}, nil)
	var out bytes.Buffer
	w, err := write.New(&out, schema, write.Options{Codec: "uncompressed", RowGroupRows: 1 << 40, RowGroupBytes: 1 << 40, PageRows: 1 << 40, DictionaryBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1 << 16
	for at := int64(0); at < max(int64(n)<<16, 1); at += rows {
		b := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
		for i := at; i < at+min(rows, max(int64(n)<<16, 100)); i++ {
			b.Field(0).(*array.Int64Builder).Append(i)
			b.Field(1).(*array.Int64Builder).Append(i * 2654435761 % 1000003)
		}
		rec := b.NewRecordBatch()
		if err := w.Write(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), schema
}

// slow answers after 100 ms and counts.
type slow struct {
	*mem.Store
	held func() int64
	mu   struct {
		sync.Mutex
		requests, small int
		bytes, peak     int64
	}
}

func (s *slow) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	if err := sleep(ctx, 100*time.Millisecond); err != nil {
		return nil, object.Info{}, err
	}
	b, info, err := s.Store.Read(ctx, loc, r, dst, o)
	s.mu.Lock()
	s.mu.requests++
	s.mu.bytes += int64(len(b))
	s.mu.peak = max(s.mu.peak, s.held())
	if len(b) < 512<<10 {
		s.mu.small++
	}
	s.mu.Unlock()
	return b, info, err
}

// sumOf scans the task and adds up its first column.
func sumOf(g *rig, schema *arrow.Schema, task Task, depth Depth) (rows, sum int64) {
	cfg := Config{Store: g.store, Budget: g.budget, Schema: schema, Depth: depth, Allocator: g.mem}
	if depth != Off {
		cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{Streams: 1})
	}
	r, err := Open(g.tb.Context(), func(yield func(Task, error) bool) { yield(task, nil) }, cfg)
	if err != nil {
		g.tb.Fatal(err)
	}
	for b, err := range r.All() {
		if err != nil {
			g.tb.Fatal(err)
		}
		rows += b.Record.NumRows()
		for _, v := range b.Record.Column(0).(*array.Int64).Int64Values() {
			sum += v
		}
	}
	if err := r.Close(); err != nil {
		g.tb.Fatal(err)
	}
	return rows, sum
}

func mustBind(t *testing.T, schema *arrow.Schema, text string) expr.Expr {
	t.Helper()
	b, err := expr.Bind(expr.MustParse(text), schema, expr.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// One row group of five times the budget: what is held stays under it, every byte is fetched about once, in large requests, and
// latency is hidden.
func TestL56_OneHugeRowGroup(t *testing.T) {
	t.Parallel()
	const size, budget = 256, 48 << 20
	indexed, schema := hugeGroup(t, size)
	unindexed, _ := hugeUnindexed(size)
	for _, depth := range []Depth{Off, 1, Auto} {
		for _, filter := range []string{"", "v < 5000", "no index"} {
			file := indexed
			if filter == "no index" {
				file = unindexed
			} else if filter != "" && depth != Auto {
				continue
			}
			t.Run(fmt.Sprintf("depth %v, filter %q", depth, filter), func(t *testing.T) {
				filter := strings.TrimPrefix(filter, "no index")
				synctest.Test(t, func(t *testing.T) {
					store := &slow{Store: mem.New()}
					info := store.Put("s3://b/huge.parquet", file)
					g := newRig(t, 16, budget, nil, store)
					store.held = func() int64 { return g.budget.Stats().Total }
					defer g.check()
					task := Task{File: info, FirstRowID: -1, Names: resolve.PlainNames()}
					if filter != "" {
						task.Filter = mustBind(t, schema, filter)
					}
					start := time.Now()
					rows, sum := sumOf(g, schema, task, depth)
					wall := time.Since(start)
					want := int64(0)
					for i := range int64(size) << 16 {
						if filter == "" || i*2654435761%1000003 < 5000 {
							want += i
						}
					}
					if sum != want {
						t.Errorf("%d rows with sum %d, want %d", rows, sum, want)
					}
					peak := store.mu.peak
					t.Logf("%d requests (%d small), %d MiB fetched, peak %d MiB, %v", store.mu.requests, store.mu.small, store.mu.bytes>>20, peak>>20, wall)
					if peak > budget+budget/4 {
						t.Errorf("peak %d MiB under a budget of %d", peak>>20, budget>>20)
					}
					if fetched := store.mu.bytes; fetched > int64(len(file))*12/10 {
						t.Errorf("%d MiB fetched of a file of %d", fetched>>20, len(file)>>20)
					}
					if store.mu.requests > size/2 {
						t.Errorf("%d requests for %d MiB", store.mu.requests, size)
					}
				})
			})
		}
	}
}
