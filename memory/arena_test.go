package memory

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// owner is one spillable owner of a test.
type owner struct {
	*Reporter
	*Arena
	bytes int64
}

func (b *Budget) owner(name string, wake chan<- struct{}) *owner {
	r := b.NewReporter(Spillable, name)
	return &owner{Reporter: r, Arena: b.Attach(r, wake)}
}

func (o *owner) grow(n int64) { o.bytes += n; o.Add(n); o.Changed(o.bytes) }

func (o *owner) spill() { o.Add(-o.bytes); o.bytes = 0; o.Spilled(0) }

func (o *owner) close() { o.spill(); o.Detach(); o.Reporter.Close() }

func TestVictimIsLargestArenaAboveFloor(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 200 * mib}) // share 100 MiB, 4 arenas: floor 12.5 MiB
	var os []*owner
	for _, n := range []int64{20, 45, 5, 0} {
		o := b.owner("x", nil)
		o.grow(n * mib)
		defer o.close()
		os = append(os, o)
	}
	os[3].grow(25 * mib) // 95 MiB: nobody is asked
	for i, o := range os {
		if o.Requested() {
			t.Errorf("owner %d asked under the share", i)
		}
	}
	os[2].grow(7 * mib) // 102 MiB
	for i, want := range []bool{false, true, false, false} {
		if os[i].Requested() != want {
			t.Errorf("owner %d asked: %v, want %v", i, os[i].Requested(), want)
		}
	}
	os[0].grow(mib) // still over by 3; the pending request covers it
	if os[0].Requested() || os[3].Requested() {
		t.Error("asked again while a request that covers the need is pending")
	}
	os[1].spill()
	if n := b.Stats().ForcedSpills; n != 1 {
		t.Errorf("%d forced spills", n)
	}
}

func TestPendingRequestsCount(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 200 * mib})
	o1, o2 := b.owner("1", nil), b.owner("2", nil)
	defer o1.close()
	defer o2.close()
	o1.grow(60 * mib)
	o2.grow(50 * mib) // over by 10: the largest is asked
	if !o1.Requested() || o2.Requested() {
		t.Fatalf("asked %v %v", o1.Requested(), o2.Requested())
	}
	o2.grow(51 * mib) // over by 61, 60 are coming
	if !o2.Requested() {
		t.Error("the pending request no longer covers the need")
	}
}

func TestSmallShareStillHasAVictim(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 128 * mib}) // a share of 64 MiB over 30 builders: M7
	var os []*owner
	for range 30 {
		o := b.owner("x", nil)
		defer o.close()
		os = append(os, o)
	}
	for range 100 {
		for _, o := range os {
			o.grow(128 << 10)
		}
	}
	asked := 0
	for _, o := range os {
		if o.Requested() {
			asked++
		}
	}
	if asked == 0 {
		t.Error("over the share, and nobody is asked")
	}
	if n := b.Stats().ShortfallEpisodes; n != 0 {
		t.Errorf("%d shortfalls although the largest arena is above the floor", n)
	}
}

func TestShareIsReadAtEachDecision(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 400 * mib})
	o := b.owner("x", nil)
	defer o.close()
	o.grow(150 * mib)
	if o.Requested() {
		t.Fatal("asked under the share")
	}
	r, err := b.TryReserve(Fixed, 200*mib) // the share falls to 100 MiB
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	o.grow(1)
	if !o.Requested() {
		t.Error("the share was latched")
	}
}

func TestShareZeroStopsRequestsAndUnlimitedHasNoShare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no forced spills": {Limit: 10 * mib, SpillablePercent: -1},
		"unlimited":        {Limit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBudget(t, c)
			o := b.owner("x", nil)
			defer o.close()
			o.grow(1 << 40)
			if o.Requested() || o.OverOwnCap() {
				t.Error("asked")
			}
		})
	}
}

func TestOwnCapUsesExactBytes(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 16 * mib}) // share 8 MiB, two owners: own cap 4 MiB
	o, other := b.owner("x", nil), b.owner("y", nil)
	defer o.close()
	defer other.close()
	o.Add(4 * mib)
	shared := b.Held(Spillable)
	o.Add(1)
	if b.Held(Spillable) != shared {
		t.Fatal("the test wants the shared counter to lag")
	}
	if !o.OverOwnCap() {
		t.Error("one byte over the cap does not show while the shared counter lags")
	}
	o.Add(-1)
	if o.OverOwnCap() {
		t.Error("exactly the cap is not over it")
	}
	o.bytes = 4 * mib
}

func TestIdleOwnerStillSpills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(t, Config{Limit: 200 * mib})
		wake := make(chan struct{}, 1)
		idle, busy := b.owner("idle", wake), b.owner("busy", nil)
		defer idle.close()
		defer busy.close()
		idle.grow(80 * mib)
		input := make(chan struct{}) // blocked for ever
		done := make(chan struct{})
		go func() {
			defer close(done)
			select {
			case <-input:
			case <-wake:
				idle.spill()
			}
		}()
		busy.grow(30 * mib)
		<-done // a deadlock fails the bubble
		if b.Stats().ForcedSpills != 1 {
			t.Error("the idle owner did not spill")
		}
	})
}

func TestOverageIsTheMaximumOfTheSignals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		s    Signals
		want bool
	}{
		"all quiet":             {Signals{Anonymous: 89, AnonymousLimit: 100, GoTotal: 89, GoLimit: 100}, false},
		"anonymous over 90 %":   {Signals{Anonymous: 95, AnonymousLimit: 100}, true},
		"Go total over 90 %":    {Signals{GoTotal: 95, GoLimit: 100}, true},
		"no limits, no figures": {Signals{Anonymous: 95, GoTotal: 95}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBudget(t, Config{Limit: 200 * mib, Signals: func() Signals { return tc.s }})
			o := b.owner("x", nil)
			defer o.close()
			o.grow(60 * mib)
			if o.Requested() != tc.want {
				t.Errorf("asked: %v", o.Requested())
			}
		})
	}
}

func TestShortfallIsLoggedOnceAnEpisode(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBudget(t, Config{Limit: 20 * mib, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	o := b.owner("x", nil)
	defer o.close()
	r := b.NewReporter(Spillable, "not an arena") // nothing of it can be spilled
	r.Add(15 * mib)
	for range 5 {
		o.grow(100)
	}
	if n := strings.Count(log.String(), "nobody can spill"); n != 1 {
		t.Errorf("%d lines in one episode", n)
	}
	r.Add(-15 * mib)
	o.grow(100) // the episode ends
	r.Add(15 * mib)
	o.grow(100)
	if n := b.Stats().ShortfallEpisodes; n != 2 {
		t.Errorf("%d episodes, want 2", n)
	}
	r.Add(-15 * mib)
	r.Close()
}

// TestLimiterIsReachedPerSlab: M4.
func TestLimiterIsReachedPerSlab(t *testing.T) {
	t.Parallel()
	b := newBudget(t, Config{Limit: 512 * mib})
	o := b.owner("x", nil)
	for i := range 100_000 {
		o.Add(96)
		if i%400 == 0 {
			o.Changed(int64(i) * 96)
		}
	}
	o.bytes = o.Exact()
	o.close()
	if n, most := b.Stats().LimiterCalls, int64(250+3); n > most {
		t.Errorf("%d limiter calls, want at most %d", n, most)
	}
}
