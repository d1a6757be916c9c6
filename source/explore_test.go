package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/internal/explore"
	"github.com/lakescan/lakescan/object"
)

// gated is a store whose every answer waits at a gate.
func gated(g *explore.Gates) *fakeStore {
	return &fakeStore{read: func(ctx context.Context, loc object.Location, r object.Range) error {
		return g.Wait(ctx, fmt.Sprintf("%s@%d", loc.Key, r.Off))
	}}
}

// masked makes n files of one read each; bit i of empty leaves file i without rows, bit i of fails breaks it.
func masked(n, empty, fails int) []fakeFile {
	files := make([]fakeFile, n)
	for i := range files {
		files[i] = fakeFile{rounds: 1, waves: []int64{0}, rows: 2, columns: 1, empty: empty>>i&1 == 1, failOpen: fails>>i&1 == 1}
	}
	return files
}

// TestI1_EveryFileExactlyOnce: all completion orders of up to 5 files, at depths 1 to 4, for 1 to 3 consumers, with empty files
// anywhere (2^N) and one failing file anywhere. The ledger is compared row by row, and nothing may be left behind.
func TestI1_EveryFileExactlyOnce(t *testing.T) {
	t.Parallel()
	paths := 0
	for _, c := range []struct{ files, depth, streams int }{{4, 1, 1}, {4, 2, 1}, {4, 3, 1}, {3, 2, 2}, {4, 1, 2}, {3, 1, 3}, {5, 4, 1}, {5, 2, 3}} {
		masks := 1 << c.files
		for empty := range masks {
			if c.files == 5 && empty%7 != 0 { // of the largest, a few
				continue
			}
			for fail := -1; fail < c.files; fail++ {
				if c.files == 5 && (fail+empty)%3 != 0 || testing.Short() && (fail+empty+c.depth)%5 != 0 {
					continue
				}
				fails := 0
				if fail >= 0 {
					fails = 1 << fail
				}
				paths += explore.Exhaustive(t, 5000, func(t *testing.T, gates *explore.Gates) {
					g := newRig(t, 8, 100<<20, masked(c.files, empty, fails), gated(gates))
					r := g.open(t.Context(), g.tasks(), Depth(c.depth), func(cfg *Config) { cfg.Streams = c.streams })
					checkLedger(t, g, r, c.streams, fmt.Sprintf("%+v empty %b fails %b", c, empty, fails))
				})
				if t.Failed() {
					return
				}
			}
		}
	}
	t.Logf("%d paths", paths)
}

// checkLedger reads everything and compares with what must come.
func checkLedger(t *testing.T, g *rig, r *Reader, streams int, what string) {
	want, failed := g.want()
	var got []int64
	var err error
	if streams == 1 {
		got, err = values(r.All())
	} else {
		s := &ledgerSink{}
		err = Feed(t.Context(), r, s)
		got = s.sorted()
	}
	if failed < 0 {
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, %v; want %v", what, got, err, want)
		}
	} else {
		var fe *FileError
		if !errors.As(err, &fe) || fe.Ordinal != failed {
			t.Errorf("%s: %v, want the failure of file %d", what, err, failed)
		}
		if streams == 1 && !slices.Equal(got, want) {
			t.Errorf("%s: rows %v before the failure, want %v", what, got, want)
		}
	}
	g.check()
}

// TestI1_RandomSchedules goes beyond what can be enumerated: more files, several reads each, large depths, arrival order.
func TestI1_RandomSchedules(t *testing.T) {
	t.Parallel()
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	n := uint64(0)
	explore.Random(t, seeds, func(t *testing.T, gates *explore.Gates) {
		n++
		r := rand.New(rand.NewPCG(n, 11))
		files := randomFiles(r, 1+r.IntN(8))
		for i := range files {
			files[i].decode = 0
			files[i].failDecode = r.IntN(12) == 0
			files[i].failOpen = r.IntN(12) == 0
		}
		g := newRig(t, 1+r.IntN(6), 1+r.Int64N(64<<20), files, gated(gates))
		depth := []Depth{1, 2, 3, 8, Auto}[r.IntN(5)]
		streams := 1 + r.IntN(4)
		rd := g.open(t.Context(), g.tasks(), depth, func(c *Config) { c.Streams = streams })
		checkLedger(t, g, rd, streams, fmt.Sprintf("case %d: depth %v streams %d", n, depth, streams))
	})
}

// TestI2_StreamsSeeTheSameRows: hash of the rows for every depth and 1 to 4 consumers.
func TestI2_StreamsSeeTheSameRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		for _, d := range depths {
			for streams := 1; streams <= 4; streams++ {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(seed, 21)), 12), after(3*time.Millisecond))
					s := &ledgerSink{}
					if err := Feed(t.Context(), g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Streams = streams }), s); err != nil {
						t.Error(err)
					}
					if want, _ := g.want(); !slices.Equal(s.sorted(), want) {
						t.Errorf("seed %d depth %v streams %d: other rows", seed, d, streams)
					}
					g.check()
				})
			}
		}
	}
}

// TestI7_CancelAtEveryPoint: a Close, or the end of the context, at every point of every order of a small scan.
func TestI7_CancelAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"close", "context"} {
		for _, d := range []Depth{1, 3} {
			explore.Exhaustive(t, 50_000, func(t *testing.T, gates *explore.Gates) {
				files := masked(3, 2, 0)
				files[0].waves = []int64{1 << 20}
				g := newRig(t, 4, 100<<20, files, gated(gates))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := g.open(ctx, g.tasks(), d, nil)
				closed := make(chan struct{})
				gates.Offer(how, func() {
					if how == "close" {
						_ = r.Close()
					} else {
						cancel()
					}
					close(closed)
				})
				got, err := values(r.All())
				want, _ := g.want()
				switch {
				case err == nil && !slices.Equal(got, want):
					t.Errorf("%s at depth %v: clean end after %v", how, d, got)
				case err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled):
					t.Errorf("%s at depth %v: %v", how, d, err)
				case err != nil && !slices.Equal(got, want[:len(got)]):
					t.Errorf("%s at depth %v: rows %v", how, d, got)
				}
				select {
				case <-closed:
				default:
				}
				_ = r.Close()
				g.check()
			})
		}
	}
}

// TestI4_BytesStayInBounds: files of ten times the budget, a slow consumer; what the pool holds never passes the budget by more
// than the head unit, and the ledger ends at 0.
func TestI4_BytesStayInBounds(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		for _, streams := range []int{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				const budget, unit = 4 << 20, 1 << 20
				files := make([]fakeFile, 6)
				for i := range files {
					files[i] = fakeFile{rounds: 1, tail: 64 << 10, rows: 4, columns: 2, decode: 5 * time.Millisecond}
					for range 40 {
						files[i].waves = append(files[i].waves, unit)
					}
				}
				g := newRig(t, 128, budget, files, after(30*time.Millisecond))
				s := &ledgerSink{slow: 50 * time.Millisecond}
				if err := Feed(t.Context(), g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Streams = streams }), s); err != nil {
					t.Error(err)
				}
				if want, _ := g.want(); !slices.Equal(s.sorted(), want) {
					t.Errorf("depth %v: %d rows of %d", d, len(s.rows), len(want))
				}
				// A head unit is the opening and one wave of one file.
				if peak, most := g.pool.Stats().PeakBytes, int64(budget)+int64(streams)*(unit+unit/4+128<<10); peak > most {
					t.Errorf("depth %v streams %d: the pool held %d MiB, at most %d allowed", d, streams, peak>>20, most>>20)
				}
				g.check()
			})
		}
	}
}

// TestI15_LimitOverFetchesLittle: a filter hides how many rows a file has, so the depth starts at 1 and doubles; what is fetched
// stays within twice what was consumed and one file. Without a filter, only the files that the recorded counts need are opened.
func TestI15_LimitOverFetchesLittle(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, consume := range []int{1, 2, 3, 5, 10, 20, 50} {
		synctest.Test(t, func(t *testing.T) {
			files := make([]fakeFile, 100)
			for i := range files {
				files[i] = fakeFile{rounds: 1, tail: 1, waves: []int64{size}, rows: 10, columns: 2, decode: time.Millisecond}
			}
			g := newRig(t, 128, 1<<30, files, after(50*time.Millisecond))
			r := g.open(t.Context(), g.tasks(), Auto, func(c *Config) { c.Limit = int64(consume * 10) })
			got, err := values(r.All())
			if err != nil || len(got) != consume*10 {
				t.Errorf("%d rows, %v; want exactly %d", len(got), err, consume*10)
			}
			if n, most := r.Stats().Requests, int64(2*(2*consume+1)); n > most { // two a file
				t.Errorf("%d requests for %d files consumed, at most %d allowed", n, consume, most)
			}
			g.check()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		files := make([]fakeFile, 100)
		for i := range files {
			files[i] = fakeFile{rounds: 1, tail: 1, waves: []int64{size}, rows: 10, columns: 2}
		}
		g := newRig(t, 128, 1<<30, files, after(50*time.Millisecond))
		tasks := func(yield func(Task, error) bool) {
			for task := range g.tasks() {
				task.Rows = 10
				if !yield(task, nil) {
					return
				}
			}
		}
		start := time.Now()
		r := g.open(t.Context(), tasks, Auto, func(c *Config) { c.Limit = 25 })
		got, err := values(r.All())
		if err != nil || len(got) != 25 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		if n := r.Stats().Requests; n != 6 {
			t.Errorf("%d requests for the three files that hold 25 rows, want 6", n)
		}
		if d := time.Since(start); d > 2*50*time.Millisecond+time.Millisecond { // the first requests are paced
			t.Errorf("took %v: the files that are needed are known, and fetched at once", d)
		}
		g.check()
	})
}

// TestI16_SlowStart: a scan that may stop reaches the depth it needs by doubling, and a cached store stays at depth 1.
func TestI16_SlowStart(t *testing.T) {
	t.Parallel()
	c := original(100 * ms)
	c.files, c.stops = 300, true
	wall := c.run(t)
	if eta := c.floor().Seconds() / wall.Seconds(); eta < 0.8 {
		t.Errorf("eta %.3f: wall %v, floor %v, depth %d", eta, wall, c.floor(), c.observed.Depth)
	}
	var steps []int
	for _, s := range c.observed.DepthLog {
		steps = append(steps, s.Depth)
	}
	if len(steps) < 4 || steps[0] != 1 || steps[1] != 2 || steps[2] != 4 {
		t.Errorf("depths %v, want 1, 2, 4, …", steps)
	}

	cached := simCase{files: 200, rounds: 2, size: 200_000, decode: 20 * ms, link: simLink{latency: 50 * time.Microsecond}, slots: 128, workers: 2}
	cached.run(t)
	if cached.observed.DepthMax > 2 {
		t.Errorf("depth %d on a store that answers in 50 µs", cached.observed.DepthMax)
	}
}

// TestL76_PoolOfOneAndTwoScans: two interleaved scans with slow consumers share a pool of one.
func TestL76_PoolOfOneAndTwoScans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, 1, 1<<20, randomFiles(rand.New(rand.NewPCG(8, 8)), 10), after(time.Millisecond))
		want, _ := g.want()
		a, b := g.open(t.Context(), g.tasks(), Auto, nil), g.open(t.Context(), g.tasks(), 4, nil)
		done := make(chan bool)
		for _, r := range []*Reader{a, b} {
			go func() {
				got, err := values(r.All())
				done <- err == nil && slices.Equal(got, want)
			}()
		}
		for range 2 {
			if !<-done {
				t.Error("other rows, or an error")
			}
		}
		g.check()
	})
}

// TestL75_OneSlowFileDoesNotGrowTheBuffer: the first of 32 files answers after ten seconds; what is held meanwhile stays under
// the cap.
func TestL75_OneSlowFileDoesNotGrowTheBuffer(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		synctest.Test(t, func(t *testing.T) {
			const budget = 8 << 20
			files := make([]fakeFile, 32)
			for i := range files {
				files[i] = fakeFile{rounds: 1, tail: 64 << 10, waves: []int64{1 << 20, 1 << 20}, rows: 10, columns: 1}
			}
			g := newRig(t, 64, budget, files, &fakeStore{read: func(ctx context.Context, loc object.Location, _ object.Range) error {
				if loc.Key == "f0" {
					return sleep(ctx, 10*time.Second)
				}
				return sleep(ctx, 10*time.Millisecond)
			}})
			r := g.open(t.Context(), g.tasks(), d, nil)
			got, err := values(r.All())
			if want, _ := g.want(); err != nil || !slices.Equal(got, want) {
				t.Errorf("depth %v: %d rows, %v", d, len(got), err)
			}
			if peak := g.pool.Stats().PeakBytes; peak > budget+3<<19 {
				t.Errorf("depth %v: held %d MiB of %d", d, peak>>20, budget>>20)
			}
			g.check()
		})
	}
}

// TestI8_SmallScanBesideADeepOne: scans of 10 and of 70 files take at most twice as long beside a scan of depth 256 as alone. A small
// scan meets the deep one's requests of the moment, which are not taken back.
func TestI8_SmallScanBesideADeepOne(t *testing.T) {
	t.Parallel()
	scan := func(t *testing.T, n int, beside bool) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			files := make([]fakeFile, 600)
			for i := range files {
				files[i] = fakeFile{rounds: 1, tail: 64 << 10, waves: []int64{2 << 20}, rows: 1, columns: 1}
			}
			link := &simLink{latency: 50 * ms, bandwidth: 250e6, at: time.Now()}
			g := newRig(t, 64, 2<<30, files, link)
			small := func(yield func(Task, error) bool) {
				for task := range g.tasks() {
					if task.Ordinal == n || !yield(task, nil) {
						return
					}
				}
			}
			var deep *Reader
			done := make(chan error, 1)
			if beside {
				deep = g.open(t.Context(), g.tasks(), 256, nil)
				go func() {
					_, err := values(deep.All())
					done <- err
				}()
				time.Sleep(500 * ms)
			}
			start := time.Now()
			if _, err := values(g.open(t.Context(), small, Auto, nil).All()); err != nil {
				t.Error(err)
			}
			took = time.Since(start)
			if beside {
				start = time.Now()
				_ = deep.Close()
				if took := time.Since(start); took > 10*ms {
					t.Errorf("Close of the deep scan took %v", took)
				}
				if err := <-done; err == nil {
					t.Error("the deep scan was over before the small one: it was no neighbour")
				}
			}
			g.check()
		})
		return took
	}
	for _, n := range []int{10, 70} {
		alone, beside := scan(t, n, false), scan(t, n, true)
		t.Logf("%d files: alone %v, beside a scan of depth 256 %v", n, alone, beside)
		if beside > 2*alone+alone/10 {
			t.Errorf("%d files: %v beside a deep scan, %v alone", n, beside, alone)
		}
	}
}

// TestI6_CloseBesideAFullPool: every slot is another scan's, for ever; Close of this one, in whatever state it is, takes no time.
func TestI6_CloseBesideAFullPool(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		for _, after := range []time.Duration{0, ms, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, 8, 1<<30, randomFiles(rand.New(rand.NewPCG(2, 2)), 40), &fakeStore{read: func(ctx context.Context, _ object.Location, _ object.Range) error {
					<-ctx.Done()
					return ctx.Err()
				}})
				other := g.open(t.Context(), g.tasks(), 64, nil)
				time.Sleep(ms)
				r := g.open(t.Context(), g.tasks(), d, nil)
				done := make(chan error, 1)
				go func() {
					_, err := r.Next(t.Context())
					done <- err
				}()
				time.Sleep(after)
				start := time.Now()
				_ = r.Close()
				if took := time.Since(start); took > 0 {
					t.Errorf("depth %v after %v: Close took %v", d, after, took)
				}
				if err := <-done; !errors.Is(err, ErrClosed) {
					t.Errorf("the consumer got %v", err)
				}
				_ = other.Close()
				g.check()
			})
		}
	}
}

// TestI7_AThousandCancels: scans of one pool, up to three at once, each cancelled or closed at a random moment. After each pair of
// rounds nothing runs and no byte is held; the bubble sees to the goroutines.
func TestI7_AThousandCancels(t *testing.T) {
	t.Parallel()
	n := 1000
	if testing.Short() {
		n = 100
	}
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1000, 1))
		files := randomFiles(rnd, 12)
		g := newRig(t, 6, 20<<20, files, after(7*ms))
		for range n / 2 {
			ends := make(chan error)
			at := 1 + rnd.IntN(3)
			for range at {
				d, wait, closes := depths[1+rnd.IntN(len(depths)-1)], time.Duration(rnd.IntN(80))*ms, rnd.IntN(2) == 0
				go func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					r := g.open(ctx, g.tasks(), d, nil)
					time.AfterFunc(wait, func() {
						if closes {
							_ = r.Close()
						} else {
							cancel()
						}
					})
					_, err := values(r.All())
					ends <- err
				}()
			}
			for range at {
				if err := <-ends; err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if s := g.pool.Stats(); s.Running != 0 || s.Queued != 0 || s.Bytes != 0 || g.budget.Stats().Total != 0 {
				t.Fatalf("left: %+v, budget %d", s, g.budget.Stats().Total)
			}
		}
		g.check()
	})
}
