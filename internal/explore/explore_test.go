package explore

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// three waits that end in every order: 3! paths, each order seen once.
func TestExhaustiveSeesEveryOrder(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	n := Exhaustive(t, 100, func(t *testing.T, g *Gates) {
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for _, l := range []string{"a", "b", "c"} {
			wg.Go(func() {
				if err := g.Wait(t.Context(), l); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, l)
				mu.Unlock()
			})
		}
		wg.Wait()
		seen[fmt.Sprint(order)]++
	})
	if n != 6 || len(seen) != 6 {
		t.Errorf("%d paths, orders %v", n, seen)
	}
}

// An offer is taken before, between, after, or never.
func TestOffersAreTakenAtEveryPoint(t *testing.T) {
	t.Parallel()
	seen := map[int]int{}
	Exhaustive(t, 100, func(t *testing.T, g *Gates) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g.Offer("cancel", cancel)
		passed := 0
		for i := range 3 {
			if g.Wait(ctx, fmt.Sprint(i)) != nil {
				break
			}
			passed++
		}
		seen[passed]++
	})
	if len(seen) != 4 {
		t.Errorf("cancelled after %v of 3 steps", seen)
	}
}

func TestRandomIsRepeatable(t *testing.T) {
	t.Parallel()
	run := func() (all []string) {
		Random(t, 20, func(t *testing.T, g *Gates) {
			var mu sync.Mutex
			var wg sync.WaitGroup
			order := ""
			for i := range 6 {
				wg.Go(func() {
					_ = g.Wait(t.Context(), fmt.Sprint(i))
					mu.Lock()
					order += fmt.Sprint(i)
					mu.Unlock()
				})
			}
			wg.Wait()
			all = append(all, order)
		})
		return all
	}
	first, second := fmt.Sprint(run()), fmt.Sprint(run())
	if first != second {
		t.Errorf("the same seeds gave\n%s\n%s", first, second)
	}
}
