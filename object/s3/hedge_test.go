package s3_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
)

func always() bool { return true }

// warm makes the bucket's first-byte times known.
func warm(t *testing.T, g *rig, loc object.Location, n int) {
	t.Helper()
	for range n {
		if _, _, err := g.read(t, loc, object.Range{Off: 0, Len: 10}, object.ReadOptions{Urgent: always}); err != nil {
			t.Fatal(err)
		}
	}
}

// I14: of 200 reads one straggles. It gets one copy, its loser is aborted and joined, the answer is right, and extra requests
// stay within 2 %.
func TestI14_StragglerGetsOneCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/* -> delay 50ms\nGET bucket/f #150 -> delay 20s", object.RetryConfig{})
		loc, data := g.put(t, "f", 100_000)
		var slowest time.Duration
		for i := range int64(200) {
			dst := make([]byte, 400)
			took := since(func() {
				got, _, err := g.store.Read(t.Context(), loc, object.Range{Off: i * 400, Len: 400}, dst, object.ReadOptions{Urgent: always})
				wantBytes(t, got, err, data[i*400:i*400+400])
				if err == nil && &got[0] != &dst[0] {
					t.Error("the answer is not in the destination")
				}
			})
			slowest = max(slowest, took)
		}
		// The copy goes out at max(p95, 2 x p50), 10 % coarse, and takes 50 ms.
		if slowest < 150*time.Millisecond || slowest > 175*time.Millisecond {
			t.Errorf("slowest read %v", slowest)
		}
		s := g.meter.Stats()
		if s.Hedges != 1 || s.HedgesWon != 1 || s.Retries != 0 || s.Requests[object.Get] != 201 {
			t.Errorf("stats %+v", s)
		}
		synctest.Wait()
		if g.rules.Open() != 0 || s.InFlight != 0 {
			t.Errorf("%d answers open, %d reads in flight", g.rules.Open(), s.InFlight)
		}
		if n := g.pipe.Dials(); n != 3 { // one for all, one for the copy, one after the loser's was dropped
			t.Errorf("%d connections", n)
		}
	})
}

// The first full answer wins, also when it is the first request's, or the copy fails.
func TestI14_FirstAnswerWins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rules string
		want        time.Duration
		won         int64
	}{
		{"first", "GET bucket/f #41 -> delay 150ms\nGET bucket/f #42 -> delay 10s", 150 * time.Millisecond, 0},
		{"copy fails", "GET bucket/f #41 -> delay 300ms\nGET bucket/f #42 -> status 500", 300 * time.Millisecond, 0},
		{"first fails", "GET bucket/f #41 -> delay 150ms, status 500\nGET bucket/f #42 -> delay 100ms", 0, 1},
		{"first breaks in its body", "GET bucket/f #41 -> delay 120ms, cut 100\nGET bucket/f #42 -> delay 200ms", 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, "GET bucket/f #1-40 -> delay 50ms\n"+c.rules, object.RetryConfig{})
				loc, data := g.put(t, "f", 10_000)
				warm(t, g, loc, 40)
				took := since(func() {
					got, _, err := g.read(t, loc, object.Range{Off: 100, Len: 5000}, object.ReadOptions{Urgent: always})
					wantBytes(t, got, err, data[100:5100])
				})
				s := g.meter.Stats()
				if s.Hedges != 1 || s.HedgesWon != c.won || s.Requests[object.Get] != 42 || (c.want != 0 && took != c.want) {
					t.Errorf("took %v, stats %+v", took, s)
				}
			})
		})
	}
}

// I14: when everything is slow, or the store throttles, copies would only add load.
func TestI14_NoCopiesInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f #1-200 -> delay 50ms\nGET bucket/f #201+ -> delay 900ms", object.RetryConfig{})
		loc, _ := g.put(t, "f", 10_000)
		warm(t, g, loc, 200)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 25 {
					if _, _, err := g.read(t, loc, object.Range{Off: 0, Len: 10}, object.ReadOptions{Urgent: always}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s := g.meter.Stats()
		// Which of the first sixteen, overdue at one instant, come before the outage is seen is the scheduler's choice.
		if s.Hedges > 5 || s.Hedges+s.HedgesSuppressed < 16 {
			t.Errorf("%d copies of 400 slow reads, %d suppressed", s.Hedges, s.HedgesSuppressed)
		}
		if extra := float64(s.Hedges) / 600; extra > 0.02 {
			t.Errorf("%.3f extra requests", extra)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f -> delay 50ms\nGET bucket/f #41 -> status 503\nGET bucket/f #43 -> delay 500ms", object.RetryConfig{Rand: func() float64 { return 0 }})
		loc, _ := g.put(t, "f", 10_000)
		warm(t, g, loc, 41) // the last one meets a 503 and is repeated
		warm(t, g, loc, 1)
		if s := g.meter.Stats(); s.Hedges != 0 || s.HedgesSuppressed != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

// I14: stragglers one after the other, too few for an outage, get copies only as the budget has them: five saved up, then 2 %.
func TestI14_CopiesStayWithinTheirShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/* -> delay 50ms\nGET bucket/f -> delay 600ms", object.RetryConfig{})
		usual, _ := g.put(t, "usual", 1000)
		slow, _ := g.put(t, "f", 1000)
		warm(t, g, usual, 400)
		warm(t, g, slow, 10)
		if s := g.meter.Stats(); s.Hedges != 5 || s.HedgesSuppressed != 5 {
			t.Errorf("%d copies, %d suppressed, want 5 and 5", s.Hedges, s.HedgesSuppressed)
		}
	})
}

// Only reads that somebody waits for are copied; one that becomes awaited later is copied then.
func TestI14_OnlyAwaitedReadsAreCopied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f #1-40 -> delay 50ms\nGET bucket/f #41 -> delay 20s\nGET bucket/f #42 -> delay 50ms\nGET bucket/f #43 -> delay 900ms", object.RetryConfig{})
		loc, _ := g.put(t, "f", 10_000)
		warm(t, g, loc, 40)
		var awaited atomic.Bool
		time.AfterFunc(700*time.Millisecond, func() { awaited.Store(true) })
		took := since(func() {
			if _, _, err := g.read(t, loc, object.Range{Off: 0, Len: 10}, object.ReadOptions{Urgent: awaited.Load}); err != nil {
				t.Error(err)
			}
		})
		if took < 750*time.Millisecond || took > 900*time.Millisecond {
			t.Errorf("took %v: a copy soon after somebody waits", took)
		}
		for _, urgent := range []func() bool{nil, func() bool { return false }} {
			took := since(func() {
				if _, _, err := g.read(t, loc, object.Range{Off: 0, Len: 10}, object.ReadOptions{Urgent: urgent}); err != nil {
					t.Error(err)
				}
			})
			t.Logf("not awaited: %v", took)
		}
		if s := g.meter.Stats(); s.Hedges != 1 {
			t.Errorf("%d copies", s.Hedges)
		}
	})
}

// Cancel while both copies wait: both end at once, nothing is left.
func TestI14_CancelEndsBothCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f #1-40 -> delay 50ms\nGET bucket/f #41-42 -> delay 20s", object.RetryConfig{})
		loc, _ := g.put(t, "f", 10_000)
		warm(t, g, loc, 40)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		took := since(func() {
			_, _, err := g.store.Read(ctx, loc, object.Range{Off: 0, Len: 10}, nil, object.ReadOptions{Urgent: always})
			wantClass(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		if s := g.meter.Stats(); took != 300*time.Millisecond || s.Hedges != 1 || s.InFlight != 0 || g.rules.Open() != 0 {
			t.Errorf("took %v, %d open, stats %+v", took, g.rules.Open(), s)
		}
	})
}

// A fixed delay and an off switch.
func TestHedgeSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after, want time.Duration
		copies      int64
	}{{300 * time.Millisecond, 350 * time.Millisecond, 1}, {-1, 900 * time.Millisecond, 0}} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET bucket/f -> delay 50ms\nGET bucket/f #1 -> delay 850ms", object.RetryConfig{HedgeAfter: c.after})
			loc, _ := g.put(t, "f", 10_000)
			took := since(func() { warm(t, g, loc, 1) })
			if s := g.meter.Stats(); took != c.want || s.Hedges != c.copies {
				t.Errorf("after %v: took %v, %d copies", c.after, took, s.Hedges)
			}
		})
	}
}

// Many readers, some stragglers, some breaks: rows of every read are right and the load bounded. Run it under -race.
func TestStormOfFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, `
			GET * -> delay lognormal(40ms;0.3)
			GET * 2% -> delay 3s
			GET * 3% -> cut 700
			GET * 2% -> reset 0
			GET * 2% -> status 500
			GET * 1% -> content-range shift=1
			GET * 1% -> ignore-range
			GET * 1% -> stall 300`, object.RetryConfig{})
		var files []object.Location
		var bytes [][]byte
		for i := range 8 {
			loc, data := g.put(t, fmt.Sprintf("f%d", i), 50_000+i)
			files, bytes = append(files, loc), append(bytes, data)
		}
		var wg sync.WaitGroup
		for w := range 24 {
			wg.Go(func() {
				for i := range int64(60) {
					f := (w + int(i)) % 8
					off := (i*977 + int64(w)*131) % 49_000
					got, _, err := g.read(t, files[f], object.Range{Off: off, Len: 1000}, object.ReadOptions{Size: int64(50_000 + f), Urgent: always})
					wantBytes(t, got, err, bytes[f][off:off+1000])
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		s := g.meter.Stats()
		if g.rules.Open() != 0 || s.InFlight != 0 || s.Hedges == 0 || s.Resumes == 0 || s.Retries == 0 {
			t.Errorf("%d open, stats %+v", g.rules.Open(), s)
		}
		if float64(s.Hedges) > 0.02*24*60+5 {
			t.Errorf("%d copies of %d reads", s.Hedges, 24*60)
		}
	})
}
