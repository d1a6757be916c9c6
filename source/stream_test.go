package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	pqschema "github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source/resolve"
)

// unindexed is a file of one row group without an offset index: row numbers, a dictionary of strings, and strings that grow.
func unindexed(rows int, change func(*parquettest.File)) ([]byte, *arrow.Schema) {
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "k", Type: thrift.Int64, Repetition: thrift.Required},
		thrift.SchemaElement{Name: "d", Type: thrift.ByteArray, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalString}},
		thrift.SchemaElement{Name: "s", Type: thrift.ByteArray, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalString}})
	columns := make([][]any, 3)
	for i := range rows {
		s := any(fmt.Appendf(nil, "%0*d", 1+i*40/rows, i))
		if i%7 == 0 {
			s = nil
		}
		columns[0], columns[1], columns[2] = append(columns[0], int64(i)), append(columns[1], fmt.Appendf(nil, "word %d", i%50)), append(columns[2], s)
	}
	encoding := func(n *pqschema.Node) thrift.Encoding {
		if n.Name == "d" {
			return thrift.RLEDictionary
		}
		return thrift.Plain
	}
	f := parquettest.Table(elements, columns, parquettest.Layout{PageRows: 97, Version: 1, Codec: thrift.Snappy, Encoding: encoding})
	if change != nil {
		change(f)
	}
	schema := arrow.NewSchema([]arrow.Field{
		expr.WithFieldID(arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64}, 1),
		expr.WithFieldID(arrow.Field{Name: "d", Type: arrow.BinaryTypes.String, Nullable: true}, 2),
		expr.WithFieldID(arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, 3),
	}, nil)
	return f.Bytes(), schema
}

// streamRows reads a file in pieces of about so many bytes (below 0 = whole) and checks that nothing is left.
func streamRows(t *testing.T, store object.Store, schema *arrow.Schema, task Task, d Depth, bytes int64) ([]string, error) {
	t.Helper()
	g := newRig(t, 8, 64<<20, nil, store)
	defer g.check()
	tasks := func(yield func(Task, error) bool) { yield(task, nil) }
	table, err := g.table(schema, tasks, d, func(cfg *Config) { cfg.partBytes = bytes })
	if err != nil {
		return nil, err
	}
	return table.Rows(), nil
}

// Read in pieces or whole, at any depth, with filters and selections: the same rows, in the same order.
func TestL56_StreamsGiveTheSameRows(t *testing.T) {
	t.Parallel()
	b, schema := unindexed(5000, nil)
	store := mem.New()
	info := store.Put("s3://b/f.parquet", b)
	for name, change := range map[string]func(*Task){
		"all rows":  func(*Task) {},
		"filter":    func(task *Task) { task.Filter = mustBind(t, schema, "d = 'word 7'") },
		"none left": func(task *Task) { task.Filter = mustBind(t, schema, "s = 'no such'") },
		"selection": func(task *Task) {
			task.Select = rowsel.FromRanges(100, 103).Or(rowsel.FromRanges(3000, 4100))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := Task{File: info, FirstRowID: -1, Names: resolve.PlainNames()}
			change(&task)
			want, err := streamRows(t, store, schema, task, Off, -1)
			if err != nil || len(want) == 0 && name != "none left" {
				t.Fatal(len(want), err)
			}
			for _, d := range []Depth{Off, 1, 4, Auto} {
				for _, bytes := range []int64{1, 3000, 20_000} {
					got, err := streamRows(t, store, schema, task, d, bytes)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("depth %v, pieces of %d bytes: %d rows instead of %d, %v", d, bytes, len(got), len(want), err)
					}
				}
			}
		})
	}
}

// Any read that fails in the middle of a stream ends the scan with its error, and what was delivered before is a prefix.
func TestL56_AFailedReadEndsAStream(t *testing.T) {
	t.Parallel()
	b, schema := unindexed(2000, nil)
	for _, d := range []Depth{Off, 1, Auto} {
		for fail := int64(1); ; fail += 5 {
			failed := false
			t.Run(fmt.Sprintf("depth=%v,read=%d", d, fail), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &failing{Store: mem.New(), at: fail}
					info := store.Put("s3://b/f.parquet", b)
					_, err := streamRows(t, store, schema, Task{File: info, FirstRowID: -1, Names: resolve.PlainNames()}, d, 500)
					var fe *FileError
					if failed = store.failed.Load(); failed && (!errors.Is(err, errFake) || !errors.As(err, &fe)) {
						t.Errorf("got %v", err)
					}
				})
			})
			if !failed {
				if fail < 20 {
					t.Errorf("%d reads only", fail)
				}
				break
			}
		}
	}
}

// failing fails its at-th read, after a while.
type failing struct {
	*mem.Store
	at, n  int64
	failed atomic.Bool
	mu     sync.Mutex
}

func (f *failing) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	f.mu.Lock()
	f.n++
	n := f.n
	f.mu.Unlock()
	if err := sleep(ctx, time.Duration(n%5+1)*10*time.Millisecond); err != nil {
		return nil, object.Info{}, err
	}
	if n == f.at {
		f.failed.Store(true)
		return nil, object.Info{}, errFake
	}
	return f.Store.Read(ctx, loc, r, dst, o)
}

// A consumer that stops after any batch leaves nothing behind.
func TestL56_AStreamIsLeftInTheMiddle(t *testing.T) {
	t.Parallel()
	b, schema := unindexed(2000, nil)
	for _, d := range []Depth{Off, 1, Auto} {
		for stop := range 20 {
			synctest.Test(t, func(t *testing.T) {
				store := &failing{Store: mem.New()}
				info := store.Put("s3://b/f.parquet", b)
				g := newRig(t, 8, 64<<20, nil, store)
				defer g.check()
				cfg := Config{Store: store, Budget: g.budget, Schema: schema, Depth: d, Allocator: g.mem, partBytes: 500}
				if d != Off {
					cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{Streams: 1})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := Open(ctx, List([]object.Info{info, info}, nil), cfg)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, err := range r.All() {
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Fatal(err)
					}
					if n++; n > stop {
						if stop%2 == 0 {
							break
						}
						cancel()
					}
				}
				if n <= stop {
					t.Errorf("%d batches only", n)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A header with a wrong size names file, row group, column and offset.
func TestL56_WrongSizesNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, by := range []int32{1 << 30, 5, -5} {
		b, schema := unindexed(2000, func(f *parquettest.File) {
			f.Groups[0].Chunks[2].Pages[9].Change = func(r *parquettest.Raw) { r.Header.CompressedSize += by }
		})
		store := mem.New()
		info := store.Put("s3://b/f.parquet", b)
		for _, d := range []Depth{Off, Auto} {
			_, err := streamRows(t, store, schema, Task{File: info, FirstRowID: -1, Names: resolve.PlainNames()}, d, 500)
			var fe *FileError
			var c *parquet.CorruptError
			if !errors.As(err, &fe) || !errors.As(err, &c) || fe.Location != "s3://b/f.parquet" || c.RowGroup != 0 || c.Column != "s" || c.Offset < 4 {
				t.Errorf("size %+d, depth %v: %v", by, d, err)
			}
		}
	}
}

// hugeUnindexed is one row group of n MiB without an offset index: two columns of numbers in pages of a MiB.
func hugeUnindexed(n int) ([]byte, *arrow.Schema) {
	const perPage = 1 << 17
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "k", Type: thrift.Int64, Repetition: thrift.Required},
		thrift.SchemaElement{Name: "v", Type: thrift.Int64, Repetition: thrift.Required})
	f := parquettest.Table(elements, [][]any{{int64(0)}, {int64(0)}}, parquettest.Layout{Version: 1})
	rows := int64(n/2) * perPage
	f.Groups[0].Rows = rows
	for c := range f.Groups[0].Chunks {
		ch := &f.Groups[0].Chunks[c]
		one := ch.Pages[0]
		ch.Pages = nil
		for p := range n / 2 {
			pg := one
			pg.Change = func(r *parquettest.Raw) {
				body := make([]byte, 0, 8*perPage)
				for i := int64(p) * perPage; i < int64(p+1)*perPage; i++ {
					body = binary.LittleEndian.AppendUint64(body, uint64([]int64{i, i * 2654435761 % 1000003}[c]))
				}
				r.Body = body
				r.Header.NumValues, r.Header.CompressedSize, r.Header.UncompressedSize = perPage, 8*perPage, 8*perPage
			}
			ch.Pages = append(ch.Pages, pg)
		}
		ch.Change = func(m *thrift.Chunk) { m.NumValues = rows }
	}
	schema := arrow.NewSchema([]arrow.Field{expr.WithFieldID(arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64}, 1), expr.WithFieldID(arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Int64}, 2)}, nil)
	return f.Bytes(), schema
}
