package memory

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = int64(1) << 20

func quiet() Signals { return Signals{} }

func newBudget(tb testing.TB, c Config) *Budget {
	tb.Helper()
	if c.Signals == nil {
		c.Signals = quiet
	}
	b, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("at the end: %v", err)
		}
		if s := b.Stats(); s.Total != 0 || s.Held != [5]int64{} {
			tb.Errorf("shared counters end at %d, %v; want exactly 0", s.Total, s.Held)
		}
	})
	return b
}

func TestConfigReportsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New(Config{SpillablePercent: 101, MinVictim: -1, MaxStep: -1})
	for _, part := range []string{"SpillablePercent", "MinVictim", "MaxStep"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not name %s", err, part)
		}
	}
}

func TestDefaultLimitIsPositive(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{})
	if n := b.Limit(); n <= 0 || n == math.MaxInt64 {
		t.Fatalf("default limit %d", n)
	}
}

func TestTryReserveRefusesWithTheFigures(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 100})
	a, err := b.TryReserve(Fixed, 70)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	_, err = b.TryReserve(SQL, 31)
	var refused *RefusedError
	if !errors.Is(err, ErrRefused) || !errors.As(err, &refused) {
		t.Fatalf("got %v, want ErrRefused", err)
	}
	if want := (RefusedError{Class: SQL, Need: 31, Free: 30, Limit: 100}); *refused != want {
		t.Errorf("got %+v, want %+v", *refused, want)
	}
	c, err := b.TryReserve(SQL, 30)
	if err != nil {
		t.Fatalf("exactly the free bytes were refused: %v", err)
	}
	c.Release()
	c.Release() // idempotent
	if got := b.Held(SQL); got != 0 {
		t.Errorf("SQL holds %d after Release", got)
	}
}

func TestReservationResize(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 100})
	r, err := b.TryReserve(Fixed, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if err := r.Resize(100); err != nil {
		t.Fatal(err)
	}
	if err := r.Resize(101); !errors.Is(err, ErrRefused) {
		t.Errorf("resize over the limit: %v", err)
	}
	if err := r.Resize(3); err != nil || r.Bytes() != 3 || b.Held(Fixed) != 3 {
		t.Errorf("after shrinking: %v, %d bytes, class %d", err, r.Bytes(), b.Held(Fixed))
	}
}

func TestReserveWaitsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, Config{Limit: 100})
		first, err := b.Reserve(t.Context(), Fixed, 80)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, w := range []struct {
			name string
			need int64
		}{{"large", 95}, {"small", 10}} {
			wg.Go(func() {
				r, err := b.Reserve(t.Context(), Fixed, w.need)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, w.name)
				mu.Unlock()
				time.Sleep(time.Second)
				r.Release()
			})
			synctest.Wait()
		}
		if len(order) != 0 {
			t.Fatalf("%v went before the large waiter, which starves", order)
		}
		first.Release()
		wg.Wait()
		if strings.Join(order, " ") != "large small" {
			t.Errorf("served %v", order)
		}
	})
}

func TestReserveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, Config{Limit: 100})
		r, err := b.Reserve(t.Context(), Fixed, 100)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Reserve(ctx, Fixed, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		r.Release()
		if _, err := b.Reserve(t.Context(), Fixed, 101); !errors.Is(err, ErrRefused) {
			t.Errorf("more than the limit can never be free: %v", err)
		}
	})
}

func TestCloseNamesHoldersAndRefuses(t *testing.T) {
	t.Parallel()
	b, err := New(Config{Limit: 100, Signals: quiet})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.TryReserve(Fixed, 7)
	if err != nil {
		t.Fatal(err)
	}
	e := b.Elastic(Prefetch, 0).Named("pool")
	e.Add(5)
	rep := b.NewReporter(Spillable, "builder 3")
	rep.Add(9)
	err = b.Close()
	if !errors.Is(err, ErrHeld) {
		t.Fatalf("Close: %v", err)
	}
	for _, part := range []string{"fixed (memory/budget_test.go:", "7 bytes", "prefetch (pool) 5 bytes", "spillable (builder 3) 9 bytes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if _, err := b.TryReserve(Fixed, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := b.Reserve(t.Context(), Fixed, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	r.Release()
	e.Add(-5)
	rep.Add(-9)
	if err := b.Close(); err != nil {
		t.Errorf("all came back, yet %v", err)
	}
}

func TestPrefetchGivesBackFirst(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 100 * mib})
	e := b.Elastic(Prefetch, 60*mib)
	if got := e.Allowed(); got != 60*mib {
		t.Errorf("own limit: allowed %d", got)
	}
	rep := b.NewReporter(Spillable, "index")
	rep.Add(70 * mib)
	if got := e.Allowed(); got != 30*mib {
		t.Errorf("spillables hold 70 MiB: allowed %d MiB, want 30", got/mib)
	}
	e.Add(30 * mib)
	if got := e.Allowed(); got != 30*mib {
		t.Errorf("its own bytes count in Allowed: %d MiB, want 30", got/mib)
	}
	r, err := b.TryReserve(Fixed, 30*mib)
	if err != nil {
		t.Fatalf("a fixed owner does not wait for elastic bytes: %v", err)
	}
	if got := e.Allowed(); got != 0 {
		t.Errorf("allowed %d, want 0", got)
	}
	r.Release()
	rep.Add(-70 * mib)
	rep.Close()
	e.Add(-30 * mib)
	e.Close()
}

func TestHeadIsAlwaysAdmitted(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 10})
	e := b.Elastic(Decoded, 0)
	if e.TryAdd(11) {
		t.Error("TryAdd passed Allowed")
	}
	e.Add(11) // a head unit overdraws
	if e.Bytes() != 11 || e.Allowed() != 10 || e.Peak() != 11 {
		t.Errorf("bytes %d, allowed %d, peak %d", e.Bytes(), e.Allowed(), e.Peak())
	}
	e.Close()
	if err := b.Close(); !errors.Is(err, ErrHeld) {
		t.Errorf("a closed account that still holds is named: %v", err)
	}
	e.Add(-11)
}

func TestNilBudgetIsUnlimitedAndUncounted(t *testing.T) {
	t.Parallel()
	var b *Budget
	e := b.Elastic(Decoded, 5).Named("x")
	e.Add(1 << 60)
	if e.Allowed() != math.MaxInt64 || !e.TryAdd(1) || e.Bytes() != 0 {
		t.Error("a nil account limits or counts")
	}
	e.SetLimit(1)
	e.Close()
	r, err := b.Reserve(t.Context(), Fixed, 1<<60)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Resize(5); err != nil {
		t.Fatal(err)
	}
	r.Release()
	rep := b.NewReporter(Spillable, "x")
	rep.Add(3)
	a := b.Attach(rep, nil)
	a.Changed(3)
	a.Spilled(0)
	a.Detach()
	rep.Close()
	if b.Close() != nil || b.Stats() != (Stats{}) {
		t.Error("a nil budget has state")
	}
}

func TestAllocatorChargesUntilTheLastFree(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: mib})
	checked := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	defer checked.AssertSize(t, 0)
	e := b.Elastic(Decoded, 0)
	bld := array.NewInt64Builder(NewAllocator(checked, e))
	for i := range 10_000 { // several reallocations
		bld.Append(int64(i))
	}
	arr := bld.NewArray()
	bld.Release()
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{arr}, 10_000)
	arr.Release()
	if got := e.Bytes(); got < int64(checked.CurrentAlloc()) || got < 80_000 { // more: what lies behind the length is held too
		t.Errorf("charged %d, allocated %d", got, checked.CurrentAlloc())
	}
	slice := rec.NewSlice(1, 2)
	rec.Release()
	if e.Bytes() < 80_000 {
		t.Error("a slice keeps the whole buffer, so it stays charged")
	}
	e.Close()
	slice.Release()
	if e.Bytes() != 0 {
		t.Errorf("%d bytes after the last release", e.Bytes())
	}
}

// TestReserveWaitsOnlyEmptyHanded runs random schedules of one index job and four projection jobs that reserve before they
// hold anything else, grow spillable memory and honour requests: all must finish at 64 MiB.
func TestReserveWaitsOnlyEmptyHanded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(t, Config{Limit: 64 * mib})
			var wg sync.WaitGroup
			for job := range 5 {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(seed, uint64(job)))
					time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
					merge, err := b.Reserve(t.Context(), Fixed, (4+rnd.Int64N(20))*mib)
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
					defer merge.Release()
					spillableJob(t, b, rnd)
				})
			}
			wg.Wait()
		})
	}
}

func spillableJob(t *testing.T, b *Budget, rnd *rand.Rand) {
	rep := b.NewReporter(Spillable, t.Name())
	defer rep.Close()
	wake := make(chan struct{}, 1)
	a := b.Attach(rep, wake)
	defer a.Detach()
	var arena int64
	spill := func() { rep.Add(-arena); arena = 0; a.Spilled(0) }
	for range 20 + rnd.IntN(60) {
		n := rnd.Int64N(2 * mib)
		arena += n
		rep.Add(n)
		a.Changed(arena)
		if a.Requested() || a.OverOwnCap() {
			spill()
		}
		select {
		case <-wake:
			spill()
		case <-time.After(time.Duration(rnd.IntN(5)) * time.Millisecond):
		}
	}
	spill()
}
