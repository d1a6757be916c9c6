package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

// probe counts reads of a store, and may delay or fail them.
type probe struct {
	*mem.Store
	reads atomic.Int64
	delay time.Duration
	fail  func(n int64) error
}

func (p *probe) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	n := p.reads.Add(1)
	if p.delay > 0 {
		select {
		case <-time.After(p.delay):
		case <-ctx.Done():
			return nil, object.Info{}, object.Fail(ctx, "read", loc, r, ctx.Err())
		}
	}
	if p.fail != nil {
		if err := p.fail(n); err != nil {
			return nil, object.Info{}, object.Fail(ctx, "read", loc, r, err)
		}
	}
	return p.Store.Read(ctx, loc, r, dst, o)
}

func at(t testing.TB, text string) object.Location {
	t.Helper()
	loc, err := object.ParseLocation(text)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func newCache(t *testing.T, cfg object.CacheConfig) (*object.Cache, *probe, *mem.Store, *atomic.Int64) {
	t.Helper()
	m := mem.New()
	p := &probe{Store: m}
	held := &atomic.Int64{}
	cfg.Charge = func(d int64) { held.Add(d) }
	return object.Cached(p, cfg), p, m, held
}

func TestCacheAnswersPinnedReadsOnly(t *testing.T) {
	t.Parallel()
	c, p, m, held := newCache(t, object.CacheConfig{})
	data := objecttest.Bytes(100_000)
	info := m.Put("s3://b/f", data)
	loc := at(t, "s3a://b/f") // another spelling of the same object
	read := func(r object.Range, o object.ReadOptions) object.Info {
		t.Helper()
		off, n, err := r.Resolve(100_000)
		if err != nil {
			t.Fatal(err)
		}
		got, info, err := c.Read(t.Context(), loc, r, nil, o)
		if err != nil || !bytes.Equal(got, data[off:off+n]) {
			t.Fatalf("[%s]: %d bytes, %v", r, len(got), err)
		}
		return info
	}
	sized, tagged := object.ReadOptions{Size: 100_000}, object.ReadOptions{ETag: info.ETag}
	for _, step := range []struct {
		r     object.Range
		o     object.ReadOptions
		reads int64 // of the store, so far
	}{
		{object.Suffix(65_536), object.ReadOptions{}, 1}, // unpinned: asks, and keeps
		{object.Suffix(65_536), object.ReadOptions{}, 2}, // and asks again
		{object.Suffix(65_536), sized, 2},
		{object.Suffix(8), sized, 2}, // inside of what is kept
		{object.Range{Off: 50_000, Len: 1000}, tagged, 2},
		{object.Range{Off: 40_000, Len: -1}, tagged, 2},
		{object.Range{Off: 30_000, Len: 10}, tagged, 3}, // outside
		{object.Range{Off: 30_000, Len: 10}, sized, 3},
	} {
		got := read(step.r, step.o)
		if p.reads.Load() != step.reads || got.ETag != info.ETag || got.Location != loc {
			t.Errorf("[%s] %+v: %d reads of the store, want %d; info %+v", step.r, step.o, p.reads.Load(), step.reads, got)
		}
	}
	if got := read(object.Suffix(8), sized); !got.Cached {
		t.Error("an answer from memory does not say so")
	}
	if !c.Resident(loc, object.Suffix(8), sized) || c.Resident(loc, object.Suffix(8), object.ReadOptions{}) || c.Resident(loc, object.Range{Off: 0, Len: 1}, sized) {
		t.Error("Resident disagrees with Read")
	}
	if held.Load() != 65_536+10 {
		t.Errorf("%d bytes charged", held.Load())
	}
	// What comes out belongs to the caller: writing to it changes nothing inside.
	got, _, _ := c.Read(t.Context(), loc, object.Suffix(8), nil, sized)
	clear(got)
	read(object.Suffix(8), sized)
}

// The pin of a cached answer that turns out stale: the next GET fails, the entry is gone, and the file is read afresh.
func TestCacheDropsWhatChanged(t *testing.T) {
	t.Parallel()
	c, p, m, held := newCache(t, object.CacheConfig{})
	m.Put("s3://b/f", objecttest.Bytes(5000))
	loc, sized := at(t, "s3://b/f"), object.ReadOptions{Size: 5000}
	if _, _, err := c.Read(t.Context(), loc, object.Suffix(100), nil, sized); err != nil {
		t.Fatal(err)
	}
	next := objecttest.Bytes(5001)[:5000]
	m.Put("s3://b/f", next)
	tail, info, err := c.Read(t.Context(), loc, object.Suffix(100), nil, sized)
	if err != nil || !info.Cached || bytes.Equal(tail, next[4900:]) {
		t.Fatalf("%+v, %v", info, err)
	}
	_, _, err = c.Read(t.Context(), loc, object.Range{Off: 0, Len: 10}, nil, object.ReadOptions{Size: 5000, ETag: info.ETag})
	if !errors.Is(err, object.ErrChanged) || held.Load() != 0 {
		t.Errorf("%v, %d bytes kept", err, held.Load())
	}
	tail, info, err = c.Read(t.Context(), loc, object.Suffix(100), nil, sized)
	if err != nil || info.Cached || !bytes.Equal(tail, next[4900:]) || p.reads.Load() != 3 {
		t.Errorf("afresh: %+v, %v, %d reads", info, err, p.reads.Load())
	}
	// A new version seen in passing replaces the old one's ranges.
	m.Put("s3://b/f", objecttest.Bytes(6000))
	if _, _, err := c.Read(t.Context(), loc, object.Suffix(50), nil, object.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if held.Load() != 50 || c.Resident(loc, object.Suffix(100), sized) {
		t.Errorf("%d bytes kept of two versions", held.Load())
	}
}

// A store's answers are marked weak, and are not, by turns: that is one version, and what is kept of it stays.
func TestCacheTakesAWeakTagForTheSame(t *testing.T) {
	t.Parallel()
	n := 0
	c := object.Cached(storeFunc(func(_ context.Context, loc object.Location, r object.Range, _ []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
		n++
		return make([]byte, r.Len), object.Info{Location: loc, Size: 5000, ETag: []string{"e", "W/e"}[n%2]}, nil
	}), object.CacheConfig{})
	for _, r := range []object.Range{{Off: 0, Len: 10}, {Off: 100, Len: 10}, {Off: 200, Len: 10}} {
		if _, _, err := c.Read(t.Context(), at(t, "s3://b/f"), r, nil, object.ReadOptions{Size: 5000}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tag := range []string{"", "e", "W/e"} {
		if _, info, err := c.Read(t.Context(), at(t, "s3://b/f"), object.Range{Off: 100, Len: 10}, nil, object.ReadOptions{Size: 5000, ETag: tag}); err != nil || !info.Cached {
			t.Errorf("pinned %q: %+v, %v", tag, info, err)
		}
	}
	if n != 3 {
		t.Errorf("%d reads of the store, want 3", n)
	}
	o := object.ReadOptions{ETag: "W/e"}
	if err := o.Verify(object.Info{ETag: "e", Size: 5000}); err != nil {
		t.Error(err)
	}
	if err := o.Verify(object.Info{ETag: "W/f", Size: 5000}); !errors.Is(err, object.ErrChanged) {
		t.Errorf("%v", err)
	}
}

func TestCacheForgetsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"create", "delete", "vanish"} {
		c, _, m, held := newCache(t, object.CacheConfig{})
		m.Put("s3://b/f", objecttest.Bytes(500))
		loc, sized := at(t, "s3://b/f"), object.ReadOptions{Size: 500}
		if _, _, err := c.Read(t.Context(), loc, object.Suffix(100), nil, sized); err != nil {
			t.Fatal(err)
		}
		switch how {
		case "create":
			u, err := c.Create(t.Context(), loc, "")
			if err != nil {
				t.Fatal(err)
			}
			if !c.Resident(loc, object.Suffix(100), sized) {
				t.Error("forgotten before Commit")
			}
			if _, err := u.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		case "delete":
			if err := c.Delete(t.Context(), loc); err != nil {
				t.Fatal(err)
			}
		case "vanish":
			if err := m.Delete(t.Context(), loc); err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.Read(t.Context(), loc, object.Suffix(200), nil, sized); !errors.Is(err, object.ErrNotFound) {
				t.Error(err)
			}
		}
		if held.Load() != 0 || c.Resident(loc, object.Suffix(100), sized) {
			t.Errorf("%s: %d bytes kept", how, held.Load())
		}
	}
}

// The bound holds after every read, and ranges read once do not push out those read twice.
func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	c, p, m, held := newCache(t, object.CacheConfig{MaxBytes: limit, MaxEntry: 10_000})
	loc := func(i int) object.Location { return at(t, fmt.Sprintf("s3://b/%d", i)) }
	for i := range 200 {
		m.Put(fmt.Sprintf("s3://b/%d", i), objecttest.Bytes(20_000))
	}
	sized := object.ReadOptions{Size: 20_000}
	read := func(i int, n int64) {
		t.Helper()
		if _, _, err := c.Read(t.Context(), loc(i), object.Suffix(n), nil, sized); err != nil {
			t.Fatal(err)
		}
		if h := held.Load(); h > limit || h < 0 {
			t.Fatalf("%d bytes kept", h)
		}
	}
	for i := range 5 { // read twice: protected
		read(i, 5000)
		read(i, 5000)
	}
	for i := 5; i < 200; i++ { // once each, in passing
		read(i, 5000)
	}
	before := p.reads.Load()
	for i := range 5 {
		read(i, 5000)
	}
	if p.reads.Load() != before {
		t.Errorf("%d of the used ranges were pushed out", p.reads.Load()-before)
	}
	read(7, 15_000) // over MaxEntry: passed through
	read(7, 15_000)
	if p.reads.Load() != before+2 {
		t.Errorf("a range over MaxEntry was kept")
	}
	for i := range 100 { // everything is used twice: the protected part gives way too
		read(i, 9000)
		read(i, 9000)
	}
	c.Purge()
	if held.Load() != 0 {
		t.Errorf("%d bytes after Purge", held.Load())
	}
}

// Equal reads at one time are one; the others get copies. A leader that is cancelled takes nobody with it.
func TestCacheJoinsEqualReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p, m, _ := newCache(t, object.CacheConfig{})
		p.delay = 50 * time.Millisecond
		data := objecttest.Bytes(5000)
		m.Put("s3://b/f", data)
		loc, sized := at(t, "s3://b/f"), object.ReadOptions{Size: 5000}
		var wg sync.WaitGroup
		leader, cancel := context.WithCancel(t.Context())
		for i := range 16 {
			wg.Go(func() {
				ctx := t.Context()
				if i == 0 {
					ctx = leader
				} else {
					time.Sleep(time.Millisecond) // the first leads
				}
				got, _, err := c.Read(ctx, loc, object.Suffix(100), nil, sized)
				if i == 0 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("leader: %v", err)
					}
				} else if err != nil || !bytes.Equal(got, data[4900:]) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		cancel()
		wg.Wait()
		first := p.reads.Load()
		if first > 16 {
			t.Errorf("%d reads", first)
		}
		start := time.Now()
		for range 16 {
			wg.Go(func() {
				if _, _, err := c.Read(t.Context(), loc, object.Range{Off: 0, Len: 50}, nil, sized); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := p.reads.Load() - first; n != 1 || time.Since(start) != 50*time.Millisecond {
			t.Errorf("16 equal reads made %d, in %v", n, time.Since(start))
		}
	})
}

// A waiter makes the shared read urgent, so that it may be hedged.
func TestCacheSharedReadIsUrgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		urgent := make(chan bool, 1)
		s := storeFunc(func(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
			alone := o.Urgent()
			time.Sleep(10 * time.Millisecond)
			urgent <- !alone && o.Urgent()
			return make([]byte, r.Len), object.Info{Location: loc, Size: 100, ETag: "e"}, nil
		})
		c := object.Cached(s, object.CacheConfig{})
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if _, _, err := c.Read(t.Context(), at(t, "s3://b/f"), object.Range{Off: 0, Len: 10}, nil, object.ReadOptions{Size: 100}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if !<-urgent {
			t.Error("a read that another waits for is not urgent")
		}
	})
}

type storeFunc func(context.Context, object.Location, object.Range, []byte, object.ReadOptions) ([]byte, object.Info, error)

func (f storeFunc) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	return f(ctx, loc, r, dst, o)
}

func TestCacheUnderConcurrency(t *testing.T) {
	t.Parallel()
	c, _, m, held := newCache(t, object.CacheConfig{MaxBytes: 50_000, MaxEntry: 5000})
	data := objecttest.Bytes(40_000)
	for i := range 8 {
		m.Put(fmt.Sprintf("s3://b/%d", i), data)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				loc := at(t, fmt.Sprintf("s3://b/%d", (g+i)%8))
				off := int64(i*37) % 35_000
				got, _, err := c.Read(t.Context(), loc, object.Range{Off: off, Len: int64(1 + i*13%5000)}, nil, object.ReadOptions{Size: 40_000})
				if err != nil || !bytes.Equal(got, data[off:off+int64(len(got))]) {
					t.Errorf("%v", err)
				}
				if i%97 == 0 {
					c.Drop(loc)
				}
			}
		})
	}
	wg.Wait()
	c.Purge()
	if held.Load() != 0 {
		t.Errorf("%d bytes charged", held.Load())
	}
}

// A long range from inside an object is kept when it is read a second time, not the first; short ranges, ends and whole objects at once.
func TestCacheKeepsDataThatIsReadAgain(t *testing.T) {
	t.Parallel()
	c, p, m, held := newCache(t, object.CacheConfig{})
	m.Put("s3://b/k", objecttest.Bytes(1_000_000))
	m.Put("s3://b/small", objecttest.Bytes(100_000))
	for _, x := range []struct {
		key   string
		size  int64
		r     object.Range
		reads int64 // of three that reach the store
	}{
		{"s3://b/k", 1_000_000, object.Range{Off: 1000, Len: 100_000}, 2},
		{"s3://b/k", 1_000_000, object.Range{Off: 200_000, Len: 1000}, 1},
		{"s3://b/k", 1_000_000, object.Suffix(200_000), 1},
		{"s3://b/small", 100_000, object.Range{Len: 100_000}, 1},
	} {
		before, kept := p.reads.Load(), held.Load()
		for i := range 3 {
			data, info, err := c.Read(t.Context(), at(t, x.key), x.r, nil, object.ReadOptions{Size: x.size})
			if err != nil {
				t.Fatal(err)
			}
			off, n, _ := x.r.Resolve(x.size)
			if !bytes.Equal(data, objecttest.Bytes(int(x.size))[off:off+n]) || info.Cached != (int64(i) >= x.reads) {
				t.Errorf("%v: read %d: other bytes, or cached %v", x.r, i, info.Cached)
			}
			if int64(i) < x.reads-1 && held.Load() != kept {
				t.Errorf("%v: %d bytes kept after read %d", x.r, held.Load()-kept, i)
			}
		}
		if got := p.reads.Load() - before; got != x.reads {
			t.Errorf("%v: %d reads of the store, want %d", x.r, got, x.reads)
		}
	}
}
