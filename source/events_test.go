package source

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
)

// The hook sees every scan whole, at every depth: it begins and ends once, each file is claimed, opened and delivered once, each wave is told with its
// bytes, and all of it carries the scan's number.
func TestEventsTellTheWholeScan(t *testing.T) {
	t.Parallel()
	files := make([]fakeFile, 5)
	for i := range files {
		files[i] = fakeFile{rounds: 1, waves: []int64{1000, 2000}, rows: 3, columns: 1}
	}
	files[2] = fakeFile{rounds: 1, empty: true}
	seen := map[uint64]bool{}
	var mu sync.Mutex
	for _, d := range depths {
		t.Run(fmt.Sprintf("depth=%v", d), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, 16, 100<<20, files, after(time.Millisecond))
				var events []Event
				hook := func(e Event) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, e)
				}
				ctx := context.WithValue(t.Context(), ctxKey{}, "mine")
				_, err := values(g.open(ctx, g.tasks(), d, func(c *Config) { c.OnEvent, c.Planned = hook, 7*time.Millisecond }).All())
				if err != nil {
					t.Fatal(err)
				}
				g.check()
				count := map[string]int{}
				bytes := int64(0)
				for _, e := range events {
					count[fmt.Sprint(e.Name, e.Ordinal)]++
					if e.Name == "wave" {
						bytes += e.Bytes
					}
					if e.Scan != events[0].Scan || (e.Ordinal >= 0) != (e.Location != "") {
						t.Errorf("%+v", e)
					}
				}
				first, last := events[0], events[len(events)-1]
				if first.Name != "begin" || first.Duration != 7*time.Millisecond || first.Context.Value(ctxKey{}) != "mine" || last.Name != "end" || last.Duration <= 0 || last.Bytes < bytes {
					t.Errorf("first %+v, last %+v", first, last)
				}
				if seen[first.Scan] {
					t.Errorf("scan %d twice", first.Scan)
				}
				seen[first.Scan] = true
				for i := range files {
					want := map[string]int{"claim": 1, "open": 1, "wave": 2, "deliver": 1, "empty": 0}
					if i == 2 {
						want["wave"], want["empty"], want["deliver"] = 0, 1, count[fmt.Sprint("deliver", i)] // the window skips it
					}
					for name, n := range want {
						if count[fmt.Sprint(name, i)] != n {
							t.Errorf("file %d: %s %d times, want %d", i, name, count[fmt.Sprint(name, i)], n)
						}
					}
				}
				if bytes != 4*3000 || !slices.ContainsFunc(events, func(e Event) bool { return e.Name == "open" && e.Depth == 1 }) {
					t.Errorf("%d bytes of waves", bytes)
				}
			})
		})
	}
}

// A request of a file comes after the file's claim has been told: who follows both knows whose it is.
func TestAClaimIsToldBeforeTheFirstRequest(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		synctest.Test(t, func(t *testing.T) {
			files := slices.Repeat([]fakeFile{{rounds: 1, waves: []int64{1000}, rows: 3, columns: 1}}, 20)
			var mu sync.Mutex
			claimed := map[string]bool{}
			g := newRig(t, 16, 100<<20, files, &fakeStore{read: func(_ context.Context, loc object.Location, _ object.Range) error {
				mu.Lock()
				defer mu.Unlock()
				if !claimed[loc.Recorded] {
					t.Errorf("depth %v: %s is read before its claim", d, loc.Recorded)
				}
				return nil
			}})
			last := time.Duration(0)
			hook := func(e Event) { // one at a time: the detector would tell
				if e.At < last {
					t.Errorf("depth %v: %s of file %d came at %v, after an event of %v", d, e.Name, e.Ordinal, e.At, last)
				}
				last = e.At
				if e.Name == "claim" {
					mu.Lock()
					claimed[e.Location] = true
					mu.Unlock()
				}
			}
			if _, err := values(g.open(t.Context(), g.tasks(), d, func(c *Config) { c.OnEvent = hook }).All()); err != nil {
				t.Fatal(err)
			}
			g.check()
		})
	}
}

type ctxKey struct{}
