package source

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/internal/explore"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/prefetchpool"
)

// TestI9_DepthZeroStartsNothing: through All, a scan at depth 0 has no goroutine and no entry in the pool, even where it is given a
// lane, and its requests go one after the other on the consumer's goroutine.
func TestI9_DepthZeroStartsNothing(t *testing.T) {
	files := randomFiles(rand.New(rand.NewPCG(4, 4)), 12)
	for i := range files {
		files[i].decode = 0
	}
	var before, most int
	look := func() { most = max(most, runtime.NumGoroutine()) }
	g := newRig(t, 8, 100<<20, files, &fakeStore{read: func(context.Context, object.Location, object.Range) error {
		look()
		return nil
	}})
	lane := g.pool.Lane(prefetchpool.LaneConfig{})
	before = runtime.NumGoroutine()
	r := g.open(t.Context(), g.tasks(), Off, func(c *Config) { c.Lane = lane })
	rows := 0
	for b, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		look()
		rows += int(b.Record.NumRows())
	}
	if want, _ := g.want(); rows != len(want) {
		t.Errorf("%d rows, want %d", rows, len(want))
	}
	if most > before {
		t.Errorf("%d goroutines during the scan, %d before", most, before)
	}
	if s := g.pool.Stats(); s.Submitted != 0 || s.PeakBytes != 0 {
		t.Errorf("the pool has seen %d jobs, %d bytes", s.Submitted, s.PeakBytes)
	}
	g.check()
}

// counted is a store of real bytes that logs what is asked of it.
type counted struct {
	*mem.Store
	mu  sync.Mutex
	log []string
}

func (c *counted) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	c.mu.Lock()
	c.log = append(c.log, fmt.Sprintf("[%d,%d)", r.Off, r.Off+r.Len))
	c.mu.Unlock()
	return c.Store.Read(ctx, loc, r, dst, o)
}

// TestI10_RequestsPerFile: one for a small file, two for a large one of which a column is wanted, three only if the first read did
// not hold the footer; the size comes from the plan, so there is no question before the first. A file whose size is not known costs
// nothing more.
func TestI10_RequestsPerFile(t *testing.T) {
	small, schema := hugeGroup(t, 0)
	if len(small) > 16<<10 {
		t.Fatalf("the small file has %d bytes", len(small))
	}
	large, _ := hugeGroup(t, 8)
	for _, c := range []struct {
		name  string
		bytes []byte
		tail  int64
		short bool
		known bool
		want  int
	}{
		{"small", small, 0, false, true, 1},
		{"small, size unknown", small, 0, false, false, 1},
		{"large", large, 0, false, true, 2},
		{"large, size unknown", large, 0, false, false, 2},
		{"large, short tail", large, 0, true, true, 3},
		{"large, tail of 16 bytes", large, 16, false, true, 3},
	} {
		for _, d := range []Depth{Off, 1, Auto} {
			t.Run(fmt.Sprintf("%s, depth %v", c.name, d), func(t *testing.T) {
				t.Parallel()
				store := &counted{Store: mem.New()}
				info := store.Put("s3://b/f.parquet", c.bytes)
				if !c.known {
					info.Size = -1
				}
				g := newRig(t, 16, 1<<30, nil, store)
				defer g.check()
				ctx := t.Context()
				if c.short {
					ctx, _ = failpoints.Scoped(t, ctx, "source/footer_short=error", nil)
				}
				cfg := Config{Store: store, Budget: g.budget, Schema: arrow.NewSchema(schema.Fields()[:1], nil), Depth: d, Allocator: g.mem, FooterTail: c.tail}
				if d != Off {
					cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{})
				}
				r, err := Open(ctx, List([]object.Info{info}, nil), cfg)
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range r.All() {
					if err != nil {
						t.Fatal(err)
					}
				}
				if len(store.log) != c.want {
					t.Errorf("%d requests of a file of %d bytes, want %d: %v", len(store.log), len(c.bytes), c.want, store.log)
				}
			})
		}
	}
}

// TestI7_CancelInEveryState: the scan is cancelled at the moment a slot enters a state, once for each state and depth; nothing
// is left, and what was delivered is a prefix.
func TestI7_CancelInEveryState(t *testing.T) {
	t.Parallel()
	for _, at := range []state{queued, running, ready, empty, failed, consumed} {
		for _, nth := range []int{1, 3} {
			for _, d := range []Depth{1, 3, Auto} {
				t.Run(fmt.Sprintf("%v,nth=%d,depth=%v", at, nth, d), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						files := randomFiles(rand.New(rand.NewPCG(77, uint64(nth))), 12)
						files[1].empty, files[4].empty, files[7].empty = true, true, true
						if at == failed {
							files[9].failOpen = true
							nth = 1
						}
						spec := fmt.Sprintf("source/cancel_at=%d*@%v off->1*@%v error->off", nth-1, at, at)
						if nth == 1 {
							spec = fmt.Sprintf("source/cancel_at=1*@%v error->off", at)
						}
						ctx, _ := failpoints.Scoped(t, t.Context(), spec, nil)
						g := newRig(t, 4, 100<<20, files, after(5*time.Millisecond))
						got, err := values(g.open(ctx, g.tasks(), d, nil).All())
						if !errors.Is(err, errCancelAt) {
							t.Errorf("the scan ended with %v", err)
						}
						if want, _ := g.want(); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
							t.Errorf("%d rows that are no prefix", len(got))
						}
						g.check()
					})
				})
			}
		}
	}
}

// TestI15_AConsumerThatStops: it takes k files and leaves. What was fetched is at most twice what it took, and one file.
func TestI15_AConsumerThatStops(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, consume := range []int{1, 2, 3, 5, 10, 20, 50} {
		synctest.Test(t, func(t *testing.T) {
			files := make([]fakeFile, 200)
			for i := range files {
				files[i] = fakeFile{rounds: 1, tail: 1, waves: []int64{size}, rows: 10, columns: 2, decode: time.Millisecond}
			}
			g := newRig(t, 128, 1<<30, files, after(50*time.Millisecond))
			r := g.open(t.Context(), g.tasks(), Auto, func(c *Config) { c.StopsEarly = true })
			n := 0
			for _, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == consume {
					break
				}
			}
			if n, most := r.Stats().Requests, int64(2*(2*consume+1)); n > most { // two a file
				t.Errorf("%d requests for %d files consumed, at most %d allowed", n, consume, most)
			}
			g.check()
		})
	}
}

// TestNamedDelaysChangeNoRow: pauses at the named points, a full budget and a consumer that takes its time.
func TestNamedDelaysChangeNoRow(t *testing.T) { // alone: the budget's point is the process's
	for _, spec := range []string{
		"source/claim_pause=sleep(3ms)", "source/open_pause=1*@f2 sleep(700ms)->off", "source/consumer_slow=sleep(2ms)",
		"prefetchpool/pool_pause=sleep(4ms)", "prefetchpool/budget_full=error",
	} {
		for _, d := range depths {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if spec == "prefetchpool/budget_full=error" {
					failpoints.Enable(t, spec)
				} else {
					ctx, _ = failpoints.Scoped(t, ctx, spec, nil)
				}
				g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(6, 6)), 10), after(time.Millisecond))
				r := g.open(ctx, g.tasks(), d, nil)
				got, err := values(r.All())
				if want, _ := g.want(); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s at depth %v: %d rows of %d, %v", spec, d, len(got), len(want), err)
				}
				if s := r.Stats(); d != Off && spec == "prefetchpool/budget_full=error" && (s.OverdraftBytes == 0 || s.LimitedBy != "budget") {
					t.Errorf("depth %v under a full budget: %d bytes of overdraft, limited by %s (eta %.2f, waited %v for bytes, %v for the budget)", d, s.OverdraftBytes, s.LimitedBy, s.Eta(), s.FetchWait, s.BudgetWait)
				}
				g.check()
			})
		}
	}
}

// TestI18_APanicInARequestIsTheFilesError, wherever it happens, and nothing is left.
func TestI18_APanicInARequestIsTheFilesError(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		for nth := range 6 {
			synctest.Test(t, func(t *testing.T) {
				spec := "prefetchpool/panic_in_task=1*@f3 panic(boom)->off"
				if nth > 0 {
					spec = fmt.Sprintf("prefetchpool/panic_in_task=%d*@f3 off->1*@f3 panic(boom)->off", nth)
				}
				ctx, _ := failpoints.Scoped(t, t.Context(), spec, nil)
				files := make([]fakeFile, 6)
				for i := range files {
					files[i] = fakeFile{rounds: 2, waves: []int64{100, 100, 100, 100}, rows: 2, columns: 1}
				}
				g := newRig(t, 4, 100<<20, files, after(time.Millisecond))
				got, err := values(g.open(ctx, g.tasks(), d, nil).All())
				var pe *prefetchpool.PanicError
				var fe *FileError
				if !errors.As(err, &pe) || !errors.As(err, &fe) || fe.Ordinal != 3 {
					t.Errorf("depth %v: %v", d, err)
				}
				if want, _ := g.want(); !slices.Equal(got, want[:len(got)]) || len(got) > 4*8 {
					t.Errorf("depth %v: %d rows", d, len(got))
				}
				g.check()
			})
		}
	}
}

// TestThrottlingLowersTheRequestsInFlight: a store that refuses whatever is above 16 requests at once with SlowDown. The scan
// comes down to what it takes, keeps to it, and delivers everything.
func TestThrottlingLowersTheRequestsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const takes, size = 16, 512 << 10
		files := make([]fakeFile, 600)
		for i := range files {
			files[i] = fakeFile{rounds: 1, tail: size, keeps: true, waves: []int64{0}, rows: 2, columns: 1}
		}
		link := &limited{latency: 50 * time.Millisecond, takes: takes}
		g := newRig(t, 128, 2<<30, files, object.Retry(link, object.RetryConfig{Burst: 1e6, HedgeAfter: -1}))
		r := g.open(t.Context(), g.tasks(), Auto, nil)
		got, err := values(r.All())
		if want, _ := g.want(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows of %d, %v", len(got), len(want), err)
		}
		s := r.Stats()
		t.Logf("%d refused, %d of them in the second half, wall %v, limited by %s, depth %d", link.refused, link.late, s.Wall, s.LimitedBy, s.Depth)
		if s.Throttled != int64(link.refused) || s.DepthDown == 0 {
			t.Errorf("%d answers refused, %d counted; the depth fell %d times", link.refused, s.Throttled, s.DepthDown)
		}
		if link.late > link.refused/3 {
			t.Errorf("%d of %d refusals came in the second half: the scan has learnt nothing", link.late, link.refused)
		}
		g.check()
	})
}

// limited refuses requests above a number at once.
type limited struct {
	latency time.Duration
	takes   int

	mu                            sync.Mutex
	inFlight, good, refused, late int
}

func (l *limited) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
	l.mu.Lock()
	if l.inFlight >= l.takes {
		l.refused++
		if l.good > 300 {
			l.late++
		}
		l.mu.Unlock()
		return nil, object.Info{}, &object.Error{Op: "read", Location: loc, Status: 503, Code: "SlowDown", Err: object.ErrUnavailable}
	}
	l.inFlight++
	l.mu.Unlock()
	err := sleep(ctx, l.latency)
	l.mu.Lock()
	l.inFlight--
	l.good++
	l.mu.Unlock()
	if err != nil {
		return nil, object.Info{}, err
	}
	return dst[:r.Len], object.Info{Location: loc, ETag: "e"}, nil
}

// TestTheLastRowStopsTheScan: when the row that LIMIT ends at is handed out, nothing more is asked for, whether or not the consumer comes
// back to hear that it was the last.
func TestTheLastRowStopsTheScan(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		synctest.Test(t, func(t *testing.T) {
			files := make([]fakeFile, 300)
			for i := range files {
				files[i] = fakeFile{rounds: 1, waves: []int64{1 << 20}, rows: 10, columns: 1}
			}
			g := newRig(t, 4, 1<<30, files, after(10*time.Millisecond))
			r := g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Limit = 25 })
			rows := 0
			for rows < 25 {
				b, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				rows += int(b.Record.NumRows())
			}
			synctest.Wait()
			n := r.Stats().Requests
			time.Sleep(time.Second)
			if more := r.Stats().Requests - n; more > 0 {
				t.Errorf("depth %v: %d requests after the last row", d, more)
			}
			_ = r.Close()
			g.check()
		})
	}
}

// TestI17_LowestOfTwoForAnyConsumers: two failing files, all completion orders, one to three consumers, both orders of output.
func TestI17_LowestOfTwoForAnyConsumers(t *testing.T) {
	t.Parallel()
	for _, fails := range []int{0b0110, 0b1010, 0b1100, 0b0011} {
		for _, c := range []struct {
			streams, depth int
			order          Order
		}{{1, 3, FileOrder}, {2, 2, FileOrder}, {3, 1, FileOrder}, {1, 3, ArrivalOrder}} {
			explore.Exhaustive(t, 5000, func(t *testing.T, gates *explore.Gates) {
				g := newRig(t, 8, 100<<20, masked(4, 0, fails), gated(gates))
				r := g.open(t.Context(), g.tasks(), Depth(c.depth), func(cfg *Config) { cfg.Streams, cfg.Order = c.streams, c.order })
				var err error
				if c.streams == 1 {
					_, err = values(r.All())
				} else {
					err = Feed(t.Context(), r, &ledgerSink{})
				}
				var fe *FileError
				if want := bits.TrailingZeros(uint(fails)); !errors.As(err, &fe) || fe.Ordinal != want {
					t.Errorf("fails %b, %+v: %v, want the failure of file %d", fails, c, err, want)
				}
				g.check()
			})
		}
	}
}

// TestI11_SwapBetweenAnyTwoReads: the object is replaced by another of the same size before the n-th read, for every n. Before the first
// that is simply the object; later it is ErrChanged, and no row of the new version is seen.
func TestI11_SwapBetweenAnyTwoReads(t *testing.T) {
	t.Parallel()
	old, schema := hugeGroup(t, 20)
	other := slices.Clone(old)
	for i := 1000; i < 2000; i++ {
		other[i] ^= 1 // values of the first column
	}
	one := arrow.NewSchema(schema.Fields()[:1], nil)
	for _, d := range []Depth{Off, 1, Auto} {
		for n := 0; ; n++ {
			store := &swapping{counted: counted{Store: mem.New()}, at: n, with: other}
			info := store.Put("s3://b/f.parquet", old)
			info.ETag = "" // a manifest knows none
			g := newRig(t, 16, 1<<30, nil, store)
			cfg := Config{Store: store, Budget: g.budget, Schema: one, Depth: d, Allocator: g.mem, FooterTail: 16}
			if d != Off {
				cfg.Lane = g.pool.Lane(prefetchpool.LaneConfig{})
			}
			r, err := Open(t.Context(), List([]object.Info{info}, nil), cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, err := values(r.All())
			swapped := store.swapped
			g.check()
			if !swapped {
				if n < 3 {
					t.Errorf("depth %v: only %d reads", d, n)
				}
				break
			}
			for i, v := range got {
				if n > 0 && v != int64(i) {
					t.Errorf("depth %v, swapped before read %d: row %d is %d", d, n, i, v)
					break
				}
			}
			if n > 0 && !errors.Is(err, object.ErrChanged) {
				t.Errorf("depth %v, swapped before read %d: %v", d, n, err)
			}
		}
	}
}

// swapping replaces the object before its at-th read.
type swapping struct {
	counted
	at      int
	with    []byte
	swapped bool
}

func (s *swapping) Read(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
	s.mu.Lock()
	if len(s.log) == s.at {
		s.swapped = true
		s.Put("s3://b/f.parquet", s.with)
	}
	s.mu.Unlock()
	return s.counted.Read(ctx, loc, r, dst, o)
}

// TestArrivalOrderTakesWhatIsReady: a file that answers late holds up nothing but itself.
func TestArrivalOrderTakesWhatIsReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := make([]fakeFile, 5)
		for i := range files {
			files[i] = fakeFile{rounds: 1, waves: []int64{100}, rows: 1, columns: 1}
		}
		g := newRig(t, 8, 100<<20, files, &fakeStore{read: func(ctx context.Context, loc object.Location, _ object.Range) error {
			if loc.Key == "f0" {
				return sleep(ctx, time.Second)
			}
			return sleep(ctx, time.Millisecond)
		}})
		var order []int
		for b, err := range g.open(t.Context(), g.tasks(), 8, func(c *Config) { c.Order = ArrivalOrder }).All() {
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, b.Origin.Ordinal)
		}
		if len(order) != 5 || order[4] != 0 {
			t.Errorf("delivered in the order %v, want file 0 last", order)
		}
		g.check()
	})
}
