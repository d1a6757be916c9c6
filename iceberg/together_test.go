package iceberg

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// together plans the same snapshot twice at once, each through a lane of its own; cached says whether the catalog's cache keeps
// anything.
func together(t *testing.T, cached bool, run func(t *testing.T, table *Table, a, b *lane)) {
	t.Helper()
	big := manyManifests(t, 40)
	synctest.Test(t, func(t *testing.T) {
		table, store := load(t, big)
		if !cached {
			table.catalog.Close()
		}
		delay := func(object.Location) time.Duration { return 30 * time.Millisecond }
		a, b := &lane{store: store, delay: delay}, &lane{store: store, delay: delay}
		run(t, table, a, b)
		for _, l := range []*lane{a, b} {
			if l.open.Load() != 0 {
				t.Errorf("%d reads not released", l.open.Load())
			}
			l.wg.Wait()
		}
	})
}

// names of the files that a plan yields, and its error.
func names(ctx context.Context, p *Plan) (string, error) {
	tasks, err := tasksOf(ctx, p)
	var out strings.Builder
	for _, task := range tasks {
		out.WriteString(render(task) + "\n")
	}
	return out.String(), err
}

// Two scans that are planned at the same time read the list and each manifest once.
func TestPlansThatRunTogetherReadOnce(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{true, false} {
		together(t, cached, func(t *testing.T, table *Table, a, b *lane) {
			var got [2]string
			done := make(chan struct{})
			for i, l := range []*lane{a, b} {
				p := planned(t, table, ScanSpec{Fetcher: l})
				go func() {
					defer func() { done <- struct{}{} }()
					var err error
					if got[i], err = names(t.Context(), p); err != nil {
						t.Error(err)
					}
				}()
			}
			<-done
			<-done
			if got[0] != got[1] || strings.Count(got[0], "\n") != 40 {
				t.Errorf("different tasks:\n%s\n%s", got[0], got[1])
			}
			// Without a cache only what is in flight is shared: a plan that is behind may ask again.
			if n := a.count.Load() + b.count.Load(); cached && n != 41 {
				t.Errorf("%d reads of 41 objects", n)
			}
		})
	}
}

// A plan that stands still, with reads in flight, keeps nobody waiting.
func TestAPlanThatStandsStillHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{true, false} {
		together(t, cached, func(t *testing.T, table *Table, a, b *lane) {
			next, stop := iter.Pull2(planned(t, table, ScanSpec{Fetcher: a, StopsEarly: true}).Tasks(t.Context()))
			defer stop()
			var first source.Task
			var err error
			for range 5 { // some are in flight beyond
				if first, err, _ = next(); err != nil {
					t.Fatal(err)
				}
			}
			got, err := names(t.Context(), planned(t, table, ScanSpec{Fetcher: b}))
			if err != nil || strings.Count(got, "\n") != 40 {
				t.Errorf("%d tasks, %v", strings.Count(got, "\n"), err)
			}
			if n := a.count.Load() + b.count.Load(); cached && n != 41 {
				t.Errorf("%d reads of 41 objects", n)
			}
			n := first.Ordinal + 1
			for {
				task, err, ok := next()
				if !ok {
					break
				}
				if err != nil || task.Ordinal != n {
					t.Fatalf("task %d, %v after %d", task.Ordinal, err, n)
				}
				n++
			}
			if n != 40 {
				t.Errorf("%d tasks", n)
			}
		})
	}
}

// What becomes of a plan is no concern of another that shares its reads.
func TestAPlanThatEndsTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stops", "is cancelled", "fails"} {
		for _, cached := range []bool{true, false} {
			together(t, cached, func(t *testing.T, table *Table, a, b *lane) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if how == "fails" {
					a.fail = "/m1" // m1, m10 to m19
				}
				done := make(chan struct{})
				go func() { // asks first
					defer close(done)
					for _, err := range planned(t, table, ScanSpec{Fetcher: a}).Tasks(ctx) {
						switch {
						case how == "fails" && !errors.Is(err, errLane):
							t.Errorf("the plan that fails: %v", err)
						case how == "stops":
							return
						}
					}
				}()
				synctest.Wait()
				time.Sleep(40 * time.Millisecond) // the list is there, manifests are under way
				go func() {
					time.Sleep(10 * time.Millisecond) // the second one waits for reads of the first
					if how == "is cancelled" {
						cancel()
					}
				}()
				got, err := names(t.Context(), planned(t, table, ScanSpec{Fetcher: b}))
				if err != nil || strings.Count(got, "\n") != 40 {
					t.Errorf("the first %s: %d tasks, %v", how, strings.Count(got, "\n"), err)
				}
				<-done
			})
		}
	}
}

// One that waits for another's read can be cancelled, and the other goes on.
func TestCancelledWhileAnotherReads(t *testing.T) {
	t.Parallel()
	together(t, true, func(t *testing.T, table *Table, a, b *lane) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if got, err := names(t.Context(), planned(t, table, ScanSpec{Fetcher: a})); err != nil || strings.Count(got, "\n") != 40 {
				t.Errorf("%d tasks, %v", strings.Count(got, "\n"), err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := names(ctx, planned(t, table, ScanSpec{Fetcher: b})); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		<-done
		if a.count.Load() != 41 || b.count.Load() != 0 {
			t.Errorf("%d and %d reads", a.count.Load(), b.count.Load())
		}
	})
}

// Manifests that are unpacked ahead give the same tasks as those unpacked as they are read, and end with the consumer.
func TestUnpackingAheadChangesNothing(t *testing.T) {
	t.Parallel()
	table, store := load(t, bigTable(t, 16_000, 8)) // above the size that is decoded whole
	table.catalog.Close()                           // no cache
	want, err := names(t.Context(), planned(t, table, ScanSpec{StopsEarly: true}))
	if err != nil || strings.Count(want, "\n") != 16_000 {
		t.Fatal(strings.Count(want, "\n"), err)
	}
	for _, pooled := range []bool{false, true} {
		l := &lane{store: store, delay: func(object.Location) time.Duration { return 0 }}
		spec := ScanSpec{}
		if pooled {
			spec.Fetcher = l
		}
		if got, err := names(t.Context(), planned(t, table, spec)); err != nil || got != want {
			t.Errorf("pooled %v: other tasks, %v", pooled, err)
		}
		for _, stop := range []int{1, 2, 1900, 2001, 15_999} {
			n := 0
			for _, err := range planned(t, table, spec).Tasks(t.Context()) {
				if n++; err != nil || n == stop {
					break
				}
			}
			if n != stop || l.open.Load() != 0 {
				t.Errorf("pooled %v: stopped after %d tasks of %d, %d reads not released", pooled, n, stop, l.open.Load())
			}
		}
		l.wg.Wait()
	}
}
