package deletes

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source/resolve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// field with an id; 0 = none.
func field(id int, name string, t arrow.DataType) arrow.Field {
	f := arrow.Field{Name: name, Type: t, Nullable: true}
	if id != 0 {
		f = expr.WithFieldID(f, id)
	}
	return f
}

// rows is a JSON list of objects.
func record(t testing.TB, rows string, fields ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// parquetFile is written by parquet-go.
func parquetFile(t testing.TB, groupRows int64, rec arrow.RecordBatch) []byte {
	t.Helper()
	b, err := parquetfile.Write(parquetfile.Options{GroupRows: groupRows}, rec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func positionFile(t testing.TB, groupRows int64, rows ...any) []byte {
	var b strings.Builder
	for i := 0; i < len(rows); i += 2 {
		fmt.Fprintf(&b, `{"file_path":%q,"pos":%d},`, rows[i], rows[i+1])
	}
	return parquetFile(t, groupRows, record(t, "["+strings.TrimSuffix(b.String(), ",")+"]",
		field(resolve.DeletePathID, "file_path", arrow.BinaryTypes.String), field(resolve.DeletePosID, "pos", arrow.PrimitiveTypes.Int64)))
}

// shelf is a Fetcher over objects in memory; it counts, checks that all is released, and can hold answers back.
type shelf struct {
	mu      sync.Mutex
	objects map[string][]byte
	reads   []string
	open    int
	gate    chan struct{} // nil = answer at once
}

func newShelf(t testing.TB) *shelf {
	s := &shelf{objects: map[string][]byte{}}
	t.Cleanup(func() {
		if s.open != 0 {
			t.Errorf("%d reads were not released", s.open)
		}
	})
	return s
}

// put stores an object and returns its description.
func (s *shelf) put(path string, b []byte) object.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = b
	return object.Info{Location: object.Location{Recorded: path}, Size: int64(len(b))}
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

func (s *shelf) Fetch(ctx context.Context, loc object.Location, r object.Range, _ object.ReadOptions) object.Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, fmt.Sprintf("%s %d+%d", loc.Recorded, r.Off, r.Len))
	s.open++
	return &shelfRead{s: s, ctx: ctx, loc: loc, r: r}
}

type shelfRead struct {
	s    *shelf
	ctx  context.Context
	loc  object.Location
	r    object.Range
	once sync.Once
	b    []byte
}

func (p *shelfRead) Await(ctx context.Context) ([]byte, object.Info, error) {
	if p.s.gate != nil {
		select {
		case <-p.s.gate:
		case <-ctx.Done():
			return nil, object.Info{}, context.Cause(ctx)
		case <-p.ctx.Done():
			return nil, object.Info{}, context.Cause(p.ctx)
		}
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	b, ok := p.s.objects[p.loc.Recorded]
	if !ok {
		return nil, object.Info{}, &object.Error{Op: "read", Location: p.loc, Err: object.ErrNotFound}
	}
	off, n, err := p.r.Resolve(int64(len(b)))
	if err != nil {
		return nil, object.Info{}, &object.Error{Op: "read", Location: p.loc, Err: err}
	}
	p.b = bytes.Clone(b[off : off+n])
	return p.b, object.Info{Location: p.loc, Size: int64(len(b)), ETag: "e"}, nil
}

// Release spoils the bytes: whoever kept them will see.
func (p *shelfRead) Release() {
	p.once.Do(func() {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.open--
		for i := range p.b {
			p.b[i] = byte(rand.Uint32())
		}
	})
}

// loader with a budget of limit bytes; 0 = plenty. Leaks of either kind of memory fail the test.
func newTestLoader(t testing.TB, s *shelf, limit int64) *Loader {
	t.Helper()
	if limit == 0 {
		limit = 1 << 30
	}
	budget, err := memory.New(memory.Config{Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	l := NewLoader(Config{Fetcher: s, Budget: budget, Allocator: mem, Snapshot: "77"})
	t.Cleanup(func() {
		l.Close()
		if n := l.account.Bytes(); n != 0 {
			t.Errorf("%d bytes are still charged", n)
		}
		if err := budget.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	})
	return l
}

func target(path string, rows, sequence int64) Target {
	return Target{Location: object.Location{Recorded: path}, Rows: rows, DataSequence: sequence}
}

// masked returns the rows of rec that the equality deletes remove. Its columns are found by field id.
func masked(t testing.TB, a *Applied, rec arrow.RecordBatch) []int {
	t.Helper()
	var columns []arrow.Array
	for _, k := range a.Keys() {
		id, _ := expr.FieldID(k)
		for i, f := range rec.Schema().Fields() {
			if fid, _ := expr.FieldID(f); fid == id {
				columns = append(columns, rec.Column(i))
			}
		}
	}
	mask, n, err := a.Mask(nil, columns)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int
	for i := range 8 * len(mask) {
		if mask[i/8]>>(i%8)&1 == 1 {
			rows = append(rows, i)
		}
	}
	if int64(len(rows)) != n {
		t.Errorf("mask of %d rows, said to be %d", len(rows), n)
	}
	return rows
}
