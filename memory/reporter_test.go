package memory

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestPerTermSwingsStayOffSharedCounters(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 512 * mib})
	r := b.NewReporter(Spillable, "terms")
	defer r.Close()
	for range 1_000_000 {
		r.Add(96)
		r.Add(-96)
	}
	if n := b.Stats().Publications; n != 0 {
		t.Errorf("%d publications of swings that cancel out, want 0", n)
	}
}

func TestHeldBytesArePublishedTogetherAtTheStep(t *testing.T) {
	t.Parallel()
	for _, sign := range []int64{1, -1} {
		b := newBudget(t, Config{Limit: 512 * mib})
		r := b.NewReporter(Spillable, "x")
		step := b.step.Load()
		if step != mib {
			t.Fatalf("step %d, want 1 MiB for one reporter of a 256 MiB share", step)
		}
		r.Add(sign * (step - 1))
		if got := b.Held(Spillable); got != 0 {
			t.Errorf("sign %d: %d shared below the step", sign, got)
		}
		r.Add(sign)
		if got := b.Held(Spillable); got != sign*step {
			t.Errorf("sign %d: %d shared at the step, want all %d", sign, got, sign*step)
		}
		if r.pending.Load() != 0 || r.Exact() != sign*step {
			t.Errorf("sign %d: held back %d, exact %d", sign, r.pending.Load(), r.Exact())
		}
		r.Add(-sign * step)
		r.Close()
	}
}

func TestStepShrinksWithReporters(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 128 * mib}) // a share of 64 MiB
	var rs []*Reporter
	for range 30 {
		rs = append(rs, b.NewReporter(Spillable, "x"))
	}
	if got, want := b.step.Load(), 64*mib/(8*30); got != want {
		t.Errorf("step %d of 30 reporters, want %d", got, want)
	}
	for _, r := range rs {
		r.Close()
		r.Close() // idempotent
	}
	if got := b.step.Load(); got != mib {
		t.Errorf("step %d after all closed", got)
	}
}

func TestCloseOfAReporterPublishesTheRemainder(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 512 * mib})
	a, c := b.NewReporter(Spillable, "a"), b.NewReporter(Spillable, "c")
	a.Add(mib + 100)
	a.Add(-mib)
	a.Add(-100) // 100 are shared, -100 held back
	if got := b.Held(Spillable); got == 0 {
		t.Fatal("the test wants an unpublished remainder")
	}
	a.Close()
	if got := b.Held(Spillable); got != 0 {
		t.Errorf("%d shared after Close, want exactly 0", got)
	}
	if n := b.Stats().Unbalanced; n != 0 {
		t.Errorf("%d unbalanced", n)
	}
	c.Close()
}

func TestUnbalancedReporterStillEndsAtZero(t *testing.T) {
	t.Parallel()
	defer func() { _ = recover() }() // the tag assert panics, after the counters are right
	b := newBudget(t, Config{Limit: 512 * mib})
	r := b.NewReporter(Spillable, "leaky")
	r.Add(3 * mib)
	r.Add(5)
	r.Close()
	if s := b.Stats(); s.Unbalanced != 1 || s.Total != 0 {
		t.Errorf("unbalanced %d, total %d", s.Unbalanced, s.Total)
	}
}

func TestConcurrentReportsLoseNothing(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 64 * mib})
	r := b.NewReporter(Spillable, "shared by 30")
	var wg sync.WaitGroup
	for g := range uint64(30) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(7, g))
			var mine int64
			for range 2000 {
				d := rnd.Int64N(400_000) - 200_000
				mine += d
				r.Add(d)
			}
			r.Add(1000 - mine)
		})
	}
	wg.Wait()
	if r.Exact() != 30_000 {
		t.Errorf("exact %d, want 30000", r.Exact())
	}
	if p := r.published.Load() + r.pending.Load(); p != r.Exact() {
		t.Errorf("M1: published + held = %d, exact %d", p, r.Exact())
	}
	if b.Held(Spillable) != r.published.Load() {
		t.Errorf("M2: shared %d, published %d", b.Held(Spillable), r.published.Load())
	}
	r.Add(-30_000)
	r.Close()
}

// TestLagIsBounded: M5 publications <= sum|d|/step + reporters, M6 |shared - sum cur| < reporters x step.
func TestLagIsBounded(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 64 * mib})
	rnd := rand.New(rand.NewPCG(1, 2))
	var rs []*Reporter
	for range 10 {
		rs = append(rs, b.NewReporter(Spillable, "x"))
	}
	step := b.step.Load()
	var sum, moved int64
	for range 5000 {
		d := rnd.Int64N(60_000) - 25_000
		rs[rnd.IntN(len(rs))].Add(d)
		sum, moved = sum+d, moved+max(d, -d)
		if lag := sum - b.Held(Spillable); max(lag, -lag) >= int64(len(rs))*step {
			t.Fatalf("lag %d, step %d", lag, step)
		}
	}
	if p := b.Stats().Publications; p > moved/step+int64(len(rs)) {
		t.Errorf("%d publications for %d bytes moved at step %d", p, moved, step)
	}
	for _, r := range rs {
		r.Add(-r.Exact())
		r.Close()
	}
}

func BenchmarkReporterAdd(b *testing.B) {
	bud := newBudget(b, Config{Limit: 512 * mib})
	r := bud.NewReporter(Spillable, "x")
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		r.Add(96)
		r.Add(-96)
	}
}

func BenchmarkElasticAdd(b *testing.B) {
	bud := newBudget(b, Config{Limit: 512 * mib})
	e := bud.Elastic(Decoded, 0)
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		e.Add(96)
		e.Add(-96)
	}
}
