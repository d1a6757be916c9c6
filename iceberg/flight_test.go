package iceberg

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
)

// lane is a fetcher whose reads run at once, each for a time of its own; it knows what is in flight.
type lane struct {
	store object.Store
	delay func(loc object.Location) time.Duration
	fail  string // locations that contain it fail
	open  atomic.Int64
	most  atomic.Int64
	count atomic.Int64
	wg    sync.WaitGroup
}

type flight struct {
	lane     *lane
	cancel   context.CancelFunc
	done     chan struct{}
	data     []byte
	info     object.Info
	err      error
	released sync.Once
}

var errLane = errors.New("the lane fails")

func (l *lane) Fetch(ctx context.Context, loc object.Location, r object.Range, o object.ReadOptions) object.Pending {
	ctx, cancel := context.WithCancel(ctx)
	f := &flight{lane: l, cancel: cancel, done: make(chan struct{})}
	l.count.Add(1)
	for n := l.open.Add(1); ; {
		most := l.most.Load()
		if n <= most || l.most.CompareAndSwap(most, n) {
			break
		}
	}
	l.wg.Go(func() {
		defer close(f.done)
		select {
		case <-ctx.Done():
			f.err = ctx.Err()
			return
		case <-time.After(l.delay(loc)):
		}
		if l.fail != "" && strings.Contains(loc.Recorded, l.fail) {
			f.err = errLane
			return
		}
		f.data, f.info, f.err = l.store.Read(ctx, loc, r, nil, o)
	})
	return f
}

func (f *flight) Await(ctx context.Context) ([]byte, object.Info, error) {
	select {
	case <-ctx.Done():
		return nil, object.Info{}, ctx.Err()
	case <-f.done:
		return f.data, f.info, f.err
	}
}

func (f *flight) Ready() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func (f *flight) Release() {
	f.released.Do(func() {
		f.cancel()
		<-f.done
		clear(f.data) // whoever still reads it sees zeros
		f.lane.open.Add(-1)
	})
}

// Whatever the order in which manifests arrive, the tasks and their order are the same.
func TestP5_TasksDoNotDependOnTiming(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 40)
	b.Commit("delete", deletesIn(0, equality("e0", []int64{1})), deletesIn(0, positions("x0", "")), deletesIn(0, positions("x1", at+"f7")))
	var want []string
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			table, store := load(t, b)
			r := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			l := &lane{store: store, delay: func(object.Location) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(r.IntN(100)) * time.Millisecond
			}}
			var got []string
			for _, task := range mustTasks(t, planned(t, table, ScanSpec{Fetcher: l, Filter: expr.MustParse("k > 3")})) {
				got = append(got, render(task))
			}
			if want == nil {
				want = got
			}
			wantLines(t, got, want...)
			if l.open.Load() != 0 {
				t.Errorf("%d reads not released", l.open.Load())
			}
			l.wg.Wait()
			table.catalog.Close()
		})
	}
	if len(want) != 36 {
		t.Errorf("%d tasks", len(want))
	}
}

// 71 small manifests of 30 ms each, after the list: a plan that is read to its end asks for all of them at once.
func TestWindowHidesLatency(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 71)
	synctest.Test(t, func(t *testing.T) {
		table, store := load(t, b)
		l := &lane{store: store, delay: func(object.Location) time.Duration { return 30 * time.Millisecond }}
		start := time.Now()
		mustTasks(t, planned(t, table, ScanSpec{Fetcher: l}))
		if took := time.Since(start); took > 60*time.Millisecond {
			t.Errorf("planned in %s", took)
		}
		if l.most.Load() != 71 {
			t.Errorf("%d reads in flight", l.most.Load())
		}
		l.wg.Wait()
	})
}

// With deletes the first task needs no more rounds than without: list, then manifests of both kinds at once.
func TestFirstTaskTakesTwoRounds(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 60)
	for range 20 {
		b.Commit("delete", deletesIn(0, equality("e", []int64{1})))
	}
	synctest.Test(t, func(t *testing.T) {
		table, store := load(t, b)
		l := &lane{store: store, delay: func(object.Location) time.Duration { return 50 * time.Millisecond }}
		start := time.Now()
		for _, err := range planned(t, table, ScanSpec{Fetcher: l, StopsEarly: true}).Tasks(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("first task after %s", took)
		}
		l.wg.Wait()
	})
}

// Planning stops with its consumer: nothing stays in flight, and little was asked for in vain.
func TestP6_PlanningStopsWithReading(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 200)
	for _, pulls := range []int{1, 2, 7, 50, 199} {
		synctest.Test(t, func(t *testing.T) {
			table, store := load(t, b)
			l := &lane{store: store, delay: func(object.Location) time.Duration { return time.Millisecond }}
			n := 0
			for _, err := range planned(t, table, ScanSpec{Fetcher: l, StopsEarly: true}).Tasks(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == pulls {
					break
				}
			}
			if l.open.Load() != 0 {
				t.Errorf("%d pulls: %d reads not released", pulls, l.open.Load())
			}
			if over := int(l.count.Load()) - 1 - pulls; over > 32 || over > 2*pulls+2 {
				t.Errorf("%d pulls: %d manifests asked for in vain", pulls, over)
			}
			l.wg.Wait()
		})
	}
}

// An error or a cancel at each read ends the plan, with everything released.
func TestP6_ErrorsAtEachRead(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 10)
	b.Commit("delete", deletesIn(0, equality("e", []int64{1})))
	for _, bad := range append([]string{"snap-2"}, "/m1.avro", "/m5.avro", "/m10.avro", "/m11.avro") {
		for _, cancels := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				table, store := load(t, b)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := &lane{store: store, fail: bad, delay: func(loc object.Location) time.Duration {
					if cancels && strings.Contains(loc.Recorded, bad) {
						cancel()
					}
					return time.Millisecond
				}}
				_, err := tasksOf(ctx, planned(t, table, ScanSpec{Fetcher: l}))
				want := errLane
				if cancels {
					want = context.Canceled
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: %v", bad, err)
				}
				if l.open.Load() != 0 {
					t.Errorf("%s: %d reads not released", bad, l.open.Load())
				}
				l.wg.Wait()
			})
		}
	}
}
