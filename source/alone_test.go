package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/prefetchpool"
)

func TestAloneDecides(t *testing.T) {
	t.Parallel()
	const quickly, slowly = 20 * time.Microsecond, 2 * time.Millisecond
	for _, c := range []struct {
		name     string
		took     func(file int) time.Duration
		consumer time.Duration // a file
		reads    int           // of 40, before it ends; 40 = it does not
	}{
		{"small files", func(int) time.Duration { return quickly }, quickly, 40},
		{"a process that is put aside now and then", func(i int) time.Duration {
			if i%7 == 0 {
				return slowly
			}
			return quickly
		}, quickly, 40},
		{"a file system on a network", func(int) time.Duration { return slowly }, quickly, 3},
		{"a consumer that takes its time", func(int) time.Duration { return quickly }, slowly, 8},
		{"files that become large", func(i int) time.Duration {
			if i < 20 {
				return quickly
			}
			return slowly
		}, quickly, 30},
	} {
		var a alone
		for i := 0; i < 40 && !a.off; i++ {
			if got := a.ahead(); got > aloneAhead || got > 8+8*i || a.slow == 0 && got != min(8+8*i, aloneAhead) || a.slow == i && got != 8 {
				t.Errorf("%s: %d tasks ahead after %d files, %d of them slow", c.name, got, i, a.slow)
			}
			a.read(c.took(i), c.consumer*time.Duration(i), i)
		}
		if a.off != (c.reads < 40) || a.files < c.reads-1 || a.files > c.reads+1 {
			t.Errorf("%s: off %v after %d files, want %d", c.name, a.off, a.files, c.reads)
		}
	}
}

func TestFitsAlone(t *testing.T) {
	t.Parallel()
	near, far := mem.New(), mem.New()
	info := near.Put("s3://b/k", make([]byte, 1000))
	cached := object.Cached(struct{ object.Store }{far}, object.CacheConfig{}) // a store that cannot tell
	far.Put("s3://b/k", make([]byte, 1000))
	task := Task{File: info}
	large := Task{File: object.Info{Location: info.Location, Size: aloneSize + 1}, ColumnBytes: 10}
	wide := Task{File: object.Info{Location: info.Location, Size: aloneBytes + 1}}
	if !fitsAlone(&task, near) || fitsAlone(&large, near) || fitsAlone(&wide, near) || fitsAlone(&task, struct{ object.Store }{far}) {
		t.Error("what fits is a small file of a store that has it at hand")
	}
	if fitsAlone(&task, cached) {
		t.Error("nothing is cached yet")
	}
	if _, _, err := cached.Read(t.Context(), info.Location, object.Range{Len: 1000}, nil, object.ReadOptions{Size: 1000}); err != nil {
		t.Fatal(err)
	}
	if !fitsAlone(&task, cached) {
		t.Error("the file is in the cache")
	}
}

// Small files at hand, among larger ones, give the rows of depth 0: to one consumer in order, to a limit, up to a corrupt file, and to a consumer
// that leaves; two consumers share them.
func TestI1_FilesReadAlone(t *testing.T) {
	t.Parallel()
	store, small, schema := nearFiles(t, 60, 500)
	others, large, _ := nearFiles(t, 3, 90_000)
	infos := slices.Clone(small)
	for i, f := range large {
		data, _, err := others.Read(t.Context(), f.Location, object.Range{Len: f.Size}, nil, object.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		infos = slices.Insert(infos, 20*i+10, store.Put(fmt.Sprintf("s3://near/large%d", i), data))
	}
	data, _, err := store.Read(t.Context(), small[30].Location, object.Range{Len: small[30].Size}, nil, object.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	broken := slices.Clone(infos)
	broken[40] = store.Put("s3://near/broken", data[:len(data)-8])
	pool, err := prefetchpool.New(prefetchpool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	budget, err := memory.New(memory.Config{Limit: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	open := func(infos []object.Info, d Depth, edit func(*Config)) *Reader {
		cfg := Config{Store: store, Budget: budget, Schema: schema, Depth: d}
		if d != Off {
			cfg.Lane = pool.Lane(prefetchpool.LaneConfig{Streams: 2})
		}
		if edit != nil {
			edit(&cfg)
		}
		r, err := Open(t.Context(), List(infos, nil), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	rows := func(r *Reader, leave int) (all []int64, err error) {
		for b, err := range r.All() {
			if err != nil {
				return all, err
			}
			all = append(all, b.Record.Column(0).(*array.Int64).Int64Values()...)
			if leave > 0 && len(all) >= leave {
				break
			}
		}
		return all, nil
	}
	for name, c := range map[string]struct {
		infos []object.Info
		leave int
		edit  func(*Config)
	}{
		"all":     {infos, 0, nil},
		"broken":  {broken, 0, nil},
		"limit":   {infos, 0, func(c *Config) { c.Limit = 100_300 }},
		"leaves":  {infos, 3000, nil},
		"arrival": {infos, 0, func(c *Config) { c.Order = ArrivalOrder }},
	} {
		want, wantErr := rows(open(c.infos, Off, c.edit), c.leave)
		r := open(c.infos, Auto, c.edit)
		got, gotErr := rows(r, c.leave)
		if name == "arrival" {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d, or others", name, len(got), len(want))
		}
		var a, b *FileError
		if errors.As(gotErr, &a) != errors.As(wantErr, &b) || a != nil && a.Location != b.Location || (name == "broken") != (a != nil) {
			t.Errorf("%s: error %v, want %v", name, gotErr, wantErr)
		}
		if r.scan.mu.alone.files == 0 {
			t.Errorf("%s: no file was read by its consumer", name)
		}
	}
	sink := &rowsSink{}
	if err := Feed(t.Context(), open(infos, Auto, func(c *Config) { c.Streams = 2 }), sink); err != nil {
		t.Fatal(err)
	}
	want, _ := rows(open(infos, Off, nil), 0)
	slices.Sort(want)
	slices.Sort(sink.rows)
	if !slices.Equal(sink.rows, want) {
		t.Errorf("two consumers got %d rows, want %d, or others", len(sink.rows), len(want))
	}
	if held := budget.Stats().Total; held != 0 {
		t.Errorf("%d bytes are still charged", held)
	}
}

// rowsSink keeps the first column.
type rowsSink struct {
	mu   sync.Mutex
	rows []int64
}

func (s *rowsSink) Part(int) (Part, error)       { return s, nil }
func (s *rowsSink) Finish(context.Context) error { return nil }
func (s *rowsSink) Abort()                       {}
func (s *rowsSink) Write(_ context.Context, b Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, b.Record.Column(0).(*array.Int64).Int64Values()...)
	return nil
}
func (s *rowsSink) Wake() <-chan struct{}         { return nil }
func (s *rowsSink) Relieve(context.Context) error { return nil }
func (s *rowsSink) Close(context.Context) error   { return nil }
