// Package explore runs a concurrent scenario under every order in which its waits can end, or under many random ones.
//
// A scenario parks where it would wait for the world: a fake store calls Gates.Wait instead of answering. When every
// goroutine of the bubble (testing/synctest) is blocked, the scheduler opens one of the parked gates and lets the program run
// until all are blocked again. So a run is a sequence of choices, and the same choices give the same run.
//
//	explore.Exhaustive(t, 50_000, func(t *testing.T, g *explore.Gates) { … })   all sequences, depth first
//	explore.Random(t, 500, func(t *testing.T, g *explore.Gates) { … })          seeds 0…499, half of them biased
//
// Offer adds an action that the scheduler may take at any point, once: a cancel, a close. A scenario that can never end is
// found: nothing is parked, time does not help, and the run fails with its choices. -explore.seed=N replays one seed,
// -explore.choices=0,2,1 one sequence.
//
// Tests only. Gates may be used by any goroutine of the bubble.
package explore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seedFlag    = flag.Int64("explore.seed", -1, "replay this one seed of the random explorer")
	choicesFlag = flag.String("explore.choices", "", "replay this one sequence of choices")
)

// Gates are where a scenario waits.
type Gates struct {
	mu struct {
		sync.Mutex
		parked []*gate
		offers []*gate
		turn   int
	}
	trace []string
}

type gate struct {
	label string
	turn  int
	open  chan struct{}
	act   func()
}

// Wait parks the caller until the scheduler opens the gate or ctx ends. Labels order the choices, so they must not depend on
// timing.
func (g *Gates) Wait(ctx context.Context, label string) error {
	x := &gate{label: label, open: make(chan struct{})}
	g.mu.Lock()
	g.mu.parked = append(g.mu.parked, x)
	g.mu.Unlock()
	select {
	case <-x.open:
		return nil
	case <-ctx.Done():
		g.mu.Lock()
		g.mu.parked = slices.DeleteFunc(g.mu.parked, func(o *gate) bool { return o == x })
		g.mu.Unlock()
		return ctx.Err()
	}
}

// Offer lets the scheduler run act, on a goroutine of its own, at any moment, once or never.
func (g *Gates) Offer(label string, act func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.offers = append(g.mu.offers, &gate{label: label, act: act})
}

// options are what the scheduler may do now, in a fixed order: gates by label, then offers. With nothing parked, offers alone
// are no reason to go on: they are taken only beside a gate.
func (g *Gates) options() []*gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.turn++
	for _, x := range g.mu.parked {
		if x.turn == 0 { // those that came since the last choice came at one time: their order is the scheduler's
			x.turn = g.mu.turn
		}
	}
	out := slices.Clone(g.mu.parked)
	slices.SortStableFunc(out, func(a, b *gate) int { return strings.Compare(a.label, b.label) })
	if len(out) == 0 {
		return nil
	}
	return append(out, g.mu.offers...)
}

func (g *Gates) take(x *gate) {
	g.mu.Lock()
	gone := func(o *gate) bool { return o == x }
	g.mu.parked = slices.DeleteFunc(g.mu.parked, gone)
	g.mu.offers = slices.DeleteFunc(g.mu.offers, gone)
	g.mu.Unlock()
	g.trace = append(g.trace, x.label)
	if x.act != nil {
		go x.act()
		return
	}
	close(x.open)
}

// chooser picks one of n > 1 options.
type chooser func(options []*gate) int

// patience is how long, in virtual time, a scenario may sleep with nothing parked before it counts as dead.
const patience = 1000 * time.Hour

// play runs one path and reports whether it ended.
func play(t *testing.T, scenario func(*testing.T, *Gates), choose chooser, name func() string) (ok bool) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gates{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			scenario(t, g)
		}()
		idle := time.Duration(0)
		for nap := time.Millisecond; ; {
			synctest.Wait()
			select {
			case <-done:
				ok = true
				return
			default:
			}
			options := g.options()
			if len(options) == 0 {
				if idle > patience {
					t.Errorf("explore: %s: stuck after %v", name(), g.trace)
					panic("explore: the scenario cannot end")
				}
				time.Sleep(nap)
				idle += nap
				nap *= 2
				continue
			}
			idle, nap = 0, time.Millisecond
			at := 0
			if len(options) > 1 {
				at = choose(options)
			}
			g.take(options[at])
		}
	})
	return ok
}

// Exhaustive plays every sequence of choices, depth first, and returns their number; more than limit is a failure of the test,
// whose scenario is too large. It stops at the first failing path.
func Exhaustive(t *testing.T, limit int, scenario func(*testing.T, *Gates)) int {
	t.Helper()
	var path, width []int
	if *choicesFlag != "" {
		path = parseChoices(t, *choicesFlag)
	}
	for n := 1; ; n++ {
		if n > limit {
			t.Fatalf("explore: more than %d paths", limit)
		}
		depth := 0
		width = width[:0]
		play(t, scenario, func(options []*gate) int {
			if depth == len(path) {
				path = append(path, 0)
			}
			at := min(path[depth], len(options)-1)
			width = append(width, len(options))
			depth++
			return at
		}, func() string { return "-explore.choices=" + formatChoices(path[:depth]) })
		if t.Failed() || *choicesFlag != "" {
			t.Logf("explore: path %d: -explore.choices=%s", n, formatChoices(path[:depth]))
			return n
		}
		path = path[:depth]
		for len(path) > 0 && path[len(path)-1] == width[len(path)-1]-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return n
		}
		path[len(path)-1]++
	}
}

// Random plays seeds. Even seeds choose evenly; of the odd ones half reverse the order of arrival, the others starve what came
// first. It stops at the first failing seed and names it.
func Random(t *testing.T, seeds int, scenario func(*testing.T, *Gates)) {
	t.Helper()
	for seed := range int64(seeds) {
		if *seedFlag >= 0 {
			seed = *seedFlag
		}
		r := rand.New(rand.NewPCG(uint64(seed), 99))
		play(t, scenario, func(options []*gate) int {
			at := r.IntN(len(options))
			if seed%2 == 0 || r.IntN(8) == 0 {
				return at
			}
			for i, o := range options { // the latest, or any but the earliest
				if later := o.turn > options[at].turn; later && seed%4 == 1 || options[at].turn == earliest(options) && o.turn != earliest(options) {
					at = i
				}
			}
			return at
		}, func() string { return fmt.Sprint("-explore.seed=", seed) })
		if t.Failed() || *seedFlag >= 0 {
			t.Logf("explore: -explore.seed=%d", seed)
			return
		}
	}
}

func earliest(options []*gate) int {
	first := options[0].turn
	for _, o := range options {
		if o.act == nil && o.turn < first {
			first = o.turn
		}
	}
	return first
}

func parseChoices(t *testing.T, s string) (path []int) {
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("explore: choices %q: %v", s, err)
		}
		path = append(path, n)
	}
	return path
}

func formatChoices(path []int) string {
	var b strings.Builder
	for i, n := range path {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}
