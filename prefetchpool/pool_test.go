package prefetchpool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// ledger is a meter that counts.
type ledger struct {
	limit, bytes, peak atomic.Int64
}

func newLedger(limit int64) *ledger {
	l := &ledger{}
	l.limit.Store(limit)
	return l
}

func (l *ledger) Allowed() int64 { return l.limit.Load() }
func (l *ledger) Add(d int64) {
	n := l.bytes.Add(d)
	for p := l.peak.Load(); n > p && !l.peak.CompareAndSwap(p, n); p = l.peak.Load() {
	}
}

func newPool(tb testing.TB, slots int, meter *ledger) *Pool {
	tb.Helper()
	c := Config{Slots: slots, MaxBytes: math.MaxInt64}
	if meter != nil {
		c.Meter = meter
	}
	p, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.Close()
		if s := p.Stats(); s.Running != 0 || s.Queued != 0 || s.Bytes != 0 {
			tb.Errorf("after Close: %+v", s)
		}
		if meter != nil && meter.bytes.Load() != 0 {
			tb.Errorf("meter ends at %d", meter.bytes.Load())
		}
	})
	return p
}

func submit[T any](tb testing.TB, ctx context.Context, l *Lane, j Job[T]) *Future[T] {
	tb.Helper()
	f, err := Submit(ctx, l, j)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// fetch is a job that takes d.
func fetch(order uint64, weight int64, d time.Duration) Job[uint64] {
	return Job[uint64]{Name: fmt.Sprint("job ", order), Order: order, Weight: weight, Run: func(ctx context.Context, t *Ticket) (uint64, error) {
		select {
		case <-time.After(d):
			return order, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}}
}

// stuck never ends by itself.
func stuck(order uint64, weight int64) Job[uint64] { return fetch(order, weight, 1000*time.Hour) }

func TestConfigRefusesNegatives(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Slots: -1, MaxBytes: -1})
	if err == nil || !strings.Contains(err.Error(), "Slots") || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("got %v, want both faults", err)
	}
}

func TestAwaitHandsTheValueOverOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLedger(1000)
		p := newPool(t, 4, m)
		l := p.Lane(LaneConfig{})
		f := submit(t, t.Context(), l, fetch(7, 100, time.Second))
		v, err := f.Await(t.Context())
		if v != 7 || err != nil {
			t.Fatalf("got %d, %v", v, err)
		}
		if m.bytes.Load() != 100 {
			t.Errorf("%d bytes charged after Await, want 100 until Release", m.bytes.Load())
		}
		if _, err := f.Await(t.Context()); !errors.Is(err, ErrReleased) {
			t.Errorf("second Await: %v", err)
		}
		f.Resize(30)
		if m.bytes.Load() != 30 {
			t.Errorf("%d bytes after Resize", m.bytes.Load())
		}
		f.Release()
		f.Release()
		if m.bytes.Load() != 0 {
			t.Errorf("%d bytes after Release", m.bytes.Load())
		}
	})
}

func TestAwaitContextBoundsTheWaitOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		l := p.Lane(LaneConfig{})
		running := submit(t, t.Context(), l, fetch(1, 0, 3*time.Second))
		waiting := submit(t, t.Context(), l, fetch(2, 0, 3*time.Second))
		for _, f := range []*Future[uint64]{running, waiting} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := f.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline of the wait", err)
			}
			cancel()
		}
		for i, f := range []*Future[uint64]{running, waiting} {
			if v, err := f.Await(t.Context()); err != nil || v != uint64(i+1) {
				t.Errorf("the job did not survive the wait: %d, %v", v, err)
			}
			f.Release()
		}
	})
}

// TestI3_RunningStaysUnderTheCap: three lanes, one of them paused half-way; no more run than the cap, and none more than its
// share while all have work.
func TestI3_RunningStaysUnderTheCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 12
		p := newPool(t, slots, nil)
		var running, peak atomic.Int32
		var perLane, lanePeak [3]atomic.Int32
		var contended atomic.Bool
		up := func(n, high *atomic.Int32) {
			if v := n.Add(1); v > high.Load() {
				high.Store(v)
			}
		}
		var futures []*Future[int]
		for i := range 3 {
			l := p.Lane(LaneConfig{Name: fmt.Sprint(i)})
			for j := range 60 {
				futures = append(futures, submit(t, t.Context(), l, Job[int]{Order: uint64(j), Weight: 1 << 20, Run: func(ctx context.Context, _ *Ticket) (int, error) {
					up(&running, &peak)
					perLane[i].Add(1)
					if contended.Load() {
						up(new(atomic.Int32), &lanePeak[i])
						lanePeak[i].Store(max(lanePeak[i].Load(), perLane[i].Load()))
					}
					time.Sleep(time.Duration(10+i) * time.Millisecond)
					perLane[i].Add(-1)
					running.Add(-1)
					return 0, nil
				}}))
			}
		}
		time.Sleep(25 * time.Millisecond) // the first lane's head start is over
		contended.Store(true)
		time.Sleep(50 * time.Millisecond)
		contended.Store(false)
		for _, f := range futures {
			if _, err := f.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.Release()
		}
		if peak.Load() > slots || p.Stats().PeakRunning > slots {
			t.Errorf("%d ran at once, cap %d", peak.Load(), slots)
		}
		for i := range lanePeak {
			if n := lanePeak[i].Load(); n > slots/3+1 || n == 0 {
				t.Errorf("lane %d ran %d while contended, share %d", i, n, slots/3)
			}
		}
	})
}

// TestI5_NoDeadlock: a budget of one byte, a pool of one, jobs above the budget, more streams than slots.
func TestI5_NoDeadlock(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2, 5} {
		for _, budget := range []int64{1, 50, 1000} {
			t.Run(fmt.Sprintf("slots=%d,budget=%d", slots, budget), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := newLedger(budget)
					p := newPool(t, slots, m)
					var wg sync.WaitGroup
					for range 3 {
						l := p.Lane(LaneConfig{Streams: 4})
						for s := range 4 {
							wg.Go(func() { stream(t, l, s, budget) })
						}
					}
					wg.Wait() // a deadlock fails the bubble
				})
			})
		}
	}
}

// stream reads 10 files of 3 pieces each, some larger than the budget, holding each file's bytes until all are there.
func stream(t *testing.T, l *Lane, s int, budget int64) {
	for file := range 10 {
		base := uint64(file*100 + s*10)
		var fs []*Future[uint64]
		for piece := range uint64(3) {
			fs = append(fs, submit(t, t.Context(), l, fetch(base+piece, budget/2+int64(piece)*budget, 5*time.Millisecond)))
		}
		if file%2 == 0 {
			l.Head(s, base, base+10)
		}
		for _, f := range fs {
			if _, err := f.Await(t.Context()); err != nil {
				t.Error(err)
			}
		}
		l.Head(s, 0, 0)
		time.Sleep(time.Millisecond) // a slow consumer
		for _, f := range fs {
			f.Release()
		}
	}
}

// TestI6_CloseWaitsOnlyForOwnWork: the pool of one is held by another lane for ever; Close returns at virtual 0.
func TestI6_CloseWaitsOnlyForOwnWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		other := p.Lane(LaneConfig{Name: "other"})
		held := submit(t, t.Context(), other, stuck(1, 10))
		mine := p.Lane(LaneConfig{Name: "mine"})
		queued := submit(t, t.Context(), mine, stuck(1, 10))
		awaited := make(chan error, 1)
		go func() {
			_, err := queued.Await(t.Context())
			awaited <- err
		}()
		synctest.Wait()
		start := time.Now()
		mine.Close()
		mine.Close()
		if d := time.Since(start); d != 0 {
			t.Errorf("Close took %v behind another lane's job", d)
		}
		if err := <-awaited; !errors.Is(err, ErrClosed) {
			t.Errorf("the awaiter got %v", err)
		}
		if _, err := Submit(t.Context(), mine, stuck(2, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit after Close: %v", err)
		}
		queued.Release()
		held.Release()
		if d := time.Since(start); d != 0 {
			t.Errorf("Release took %v", d)
		}
	})
}

// TestI7_CancelFromEveryState: Release, lane Close, pool Close and the end of Submit's context, each from every state, leave 0
// goroutines (goleak), 0 permits and 0 bytes, and every value that nobody took is discarded.
func TestI7_CancelFromEveryState(t *testing.T) {
	t.Parallel()
	states := []string{"queued", "queued-awaited", "running", "running-awaited", "done", "taken", "failed"}
	ways := []string{"release", "lane", "pool", "context", "release-and-lane"}
	for _, state := range states {
		for _, way := range ways {
			t.Run(state+"/"+way, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { cancelAt(t, state, way) })
			})
		}
	}
}

func cancelAt(t *testing.T, state, way string) {
	m := newLedger(1000)
	p := newPool(t, 1, m)
	l := p.Lane(LaneConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	blocker := p.Lane(LaneConfig{})
	if strings.HasPrefix(state, "queued") {
		submit(t, t.Context(), blocker, stuck(0, 1))
	}
	var made, discarded atomic.Int32
	f := submit(t, ctx, l, Job[int]{Weight: 10, Discard: func(int) { discarded.Add(1) }, Run: func(ctx context.Context, _ *Ticket) (int, error) {
		switch state {
		case "failed":
			return 0, errors.New("no")
		case "done", "taken":
			made.Add(1)
			return 1, nil
		}
		<-ctx.Done()
		return 0, ctx.Err()
	}})
	awaited := make(chan struct{})
	go func() {
		defer close(awaited)
		if strings.HasSuffix(state, "awaited") || state == "taken" || state == "failed" {
			if _, err := f.Await(t.Context()); err == nil {
				made.Add(-1) // ours now
			}
		}
	}()
	synctest.Wait()
	start := time.Now()
	switch way {
	case "release":
		if strings.HasSuffix(state, "awaited") { // one owner: the awaiter must be gone first
			l.Close()
			<-awaited
		}
	case "lane":
		l.Close()
	case "pool":
		_ = p.Close()
	case "context":
		cancel()
	case "release-and-lane":
		go l.Close()
	}
	<-awaited
	f.Release()
	l.Close()
	if d := time.Since(start); d != 0 {
		t.Errorf("took %v", d)
	}
	if s := l.Stats(); s.Running != 0 || s.Queued != 0 || s.Bytes != 0 {
		t.Errorf("left behind: %+v", s)
	}
	if made.Load() != discarded.Load() {
		t.Errorf("%d values without an owner, %d discarded", made.Load(), discarded.Load())
	}
	blocker.Close()
}

// TestI8_HeadNeverWaitsBehindSpeculation: B has 256 jobs queued; A's head starts at once thanks to the reserve, and A's
// whole scan takes at most twice what it takes alone.
func TestI8_HeadNeverWaitsBehindSpeculation(t *testing.T) {
	t.Parallel()
	const d = 100 * time.Millisecond
	scan := func(t *testing.T, l *Lane, n int) time.Duration {
		start := time.Now()
		var fs []*Future[uint64]
		for i := range n {
			fs = append(fs, submit(t, t.Context(), l, fetch(uint64(i), 1<<20, d)))
		}
		for i, f := range fs {
			l.Head(0, uint64(i), uint64(i)+1)
			if _, err := f.Await(t.Context()); err != nil {
				t.Error(err)
			}
			f.Release()
		}
		return time.Since(start)
	}
	for _, slots := range []int{1, 4, 16} {
		t.Run(fmt.Sprint("slots=", slots), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				alone := scan(t, newPool(t, slots, nil).Lane(LaneConfig{}), 20)
				p := newPool(t, slots, nil)
				b, a := p.Lane(LaneConfig{Name: "B"}), p.Lane(LaneConfig{Name: "A"})
				done := make(chan time.Duration)
				go func() { done <- scan(t, b, 256) }()
				time.Sleep(d / 2)
				start := time.Now()
				head := submit(t, t.Context(), a, fetch(0, 1<<20, 0))
				if _, err := head.Await(t.Context()); err != nil {
					t.Error(err)
				}
				head.Release()
				if wait := time.Since(start); wait > d || slots >= 4 && wait != 0 {
					t.Errorf("the head waited %v behind another source", wait)
				}
				if beside := scan(t, a, 20); beside > 2*alone+d {
					t.Errorf("%v beside a deep neighbour, %v alone", beside, alone)
				}
				<-done
			})
		})
	}
}

// TestI18_PanicIsTheJobsError: permits come back and the pool goes on.
func TestI18_PanicIsTheJobsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLedger(100)
		p := newPool(t, 1, m)
		l := p.Lane(LaneConfig{})
		cause := errors.New("deep inside")
		f := submit(t, t.Context(), l, Job[int]{Name: "bad", Weight: 50, Run: func(context.Context, *Ticket) (int, error) { panic(cause) }})
		_, err := f.Await(t.Context())
		var pe *PanicError
		if !errors.As(err, &pe) || pe.Job != "bad" || len(pe.Stack) == 0 || !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		f.Release()
		g := submit(t, t.Context(), l, fetch(3, 1, time.Second))
		if v, err := g.Await(t.Context()); v != 3 || err != nil {
			t.Errorf("after a panic: %d, %v", v, err)
		}
		g.Release()
		if s := p.Stats(); s.Panics != 1 || s.Bytes != 0 || s.Running != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestQueuedJobRunsOnItsAwaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		l := p.Lane(LaneConfig{})
		first := submit(t, t.Context(), l, fetch(1, 0, time.Second))
		second := submit(t, t.Context(), l, fetch(2, 0, time.Second))
		if v, err := second.Await(t.Context()); v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		if s := l.Stats(); s.RunInline != 1 || s.PeakRunning != 1 {
			t.Errorf("%+v", s)
		}
		first.Release()
		second.Release()
	})
}

func TestWaitKeepsThePlaceInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		l := p.Lane(LaneConfig{})
		hold := submit(t, t.Context(), l, fetch(0, 0, time.Second))
		var order []uint64
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, o := range []uint64{5, 3, 4} { // the reader of file 5 waits first
			f := submit(t, t.Context(), l, fetch(o, 0, time.Second))
			wg.Go(func() {
				v, err := f.Wait(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, v)
				mu.Unlock()
				f.Release()
			})
			synctest.Wait()
		}
		wg.Wait()
		hold.Release()
		if fmt.Sprint(order) != "[3 4 5]" {
			t.Errorf("ran %v", order)
		}
	})
}

func TestNotifyTellsOfEveryEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		l := p.Lane(LaneConfig{})
		for _, end := range []string{"done", "failed", "dropped"} {
			c := make(chan struct{}, 1)
			j := fetch(1, 0, time.Second)
			j.Notify = c
			if end == "failed" {
				j.Run = func(context.Context, *Ticket) (uint64, error) { return 0, errors.New("no") }
			}
			ctx, cancel := context.WithCancel(t.Context())
			var hold *Future[uint64]
			if end == "dropped" {
				hold = submit(t, t.Context(), l, stuck(0, 0))
			}
			f := submit(t, ctx, l, j)
			if end == "dropped" {
				go f.Release()
			}
			<-c // a deadlock fails the bubble
			if !f.Ready() {
				t.Errorf("%s: notified before the end", end)
			}
			cancel()
			f.Release()
			if hold != nil {
				hold.Release()
			}
		}
	})
}

func TestTicketTellsWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 4, nil)
		l := p.Lane(LaneConfig{})
		seen := make(chan bool)
		f := submit(t, t.Context(), l, Job[int]{Order: 5, Run: func(_ context.Context, tk *Ticket) (int, error) {
			for range 3 {
				seen <- tk.Awaited()
			}
			return 0, nil
		}})
		if <-seen {
			t.Error("awaited before anybody waits")
		}
		<-seen
		l.Head(0, 5, 6)
		if !<-seen {
			t.Error("in the head unit, and not awaited")
		}
		if _, err := f.Await(t.Context()); err != nil {
			t.Error(err)
		}
		f.Release()
	})
}

func TestSubmitContextEndsAQueuedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1, nil)
		l := p.Lane(LaneConfig{})
		hold := submit(t, t.Context(), l, stuck(1, 0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := submit(t, ctx, l, fetch(2, 5, time.Second))
		if _, err := f.Await(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		f.Release()
		hold.Release()
	})
}

func TestLaneConfigOfAClosedPool(t *testing.T) {
	t.Parallel()
	p := newPool(t, 1, nil)
	_ = p.Close()
	l := p.Lane(LaneConfig{})
	if _, err := Submit(t.Context(), l, stuck(1, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	l.Close()
}

// TestRandomSchedules: many lanes, random ends; the ledger comes back to zero and the bound of I4 holds:
// bytes <= budget + the awaited.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			const budget, most = 100, 60
			m := newLedger(budget)
			p := newPool(t, 1+int(seed%7), m)
			var wg sync.WaitGroup
			const lanes = 4
			for i := range uint64(lanes) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, i))
					l := p.Lane(LaneConfig{Weight: 1 + r.IntN(3)})
					var open []*Future[uint64]
					for range 40 {
						open = append(open, submit(t, t.Context(), l, fetch(r.Uint64N(99), r.Int64N(most), time.Duration(r.IntN(20))*time.Millisecond)))
						if r.IntN(3) == 0 {
							k := r.IntN(len(open))
							if r.IntN(2) == 0 {
								_, _ = open[k].Await(t.Context())
							}
							open[k].Release()
							open = append(open[:k], open[k+1:]...)
						}
					}
					if r.IntN(2) == 0 {
						l.Close()
					}
					for _, f := range open {
						f.Release()
					}
					l.Close()
				})
			}
			wg.Wait()
			if pk := m.peak.Load(); pk > budget+lanes*most {
				t.Errorf("seed %d: peak %d over %d + one awaited a lane", seed, pk, budget)
			}
		})
	}
}

func BenchmarkSubmitAwait(b *testing.B) {
	run := func(context.Context, *Ticket) (int, error) { return 1, nil }
	b.Run("baseline=goroutine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := make(chan int, 1)
			go func() { v, _ := run(b.Context(), nil); c <- v }()
			<-c
		}
	})
	for _, neighbours := range []int{0, 100} {
		b.Run(fmt.Sprint("lanes=", neighbours+1), func(b *testing.B) {
			p := newPool(b, 0, nil)
			for range neighbours {
				p.Lane(LaneConfig{})
			}
			l := p.Lane(LaneConfig{})
			b.ReportAllocs()
			for b.Loop() {
				f, err := Submit(b.Context(), l, Job[int]{Weight: 1 << 16, Run: run})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Await(b.Context()); err != nil {
					b.Fatal(err)
				}
				f.Release()
			}
		})
	}
}
