package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/object"
)

var depths = []Depth{Off, 1, 2, 8, 64, Auto}

// TestI2_SameRowsAtEveryDepth: ordered output is identical for every depth; random files, latencies and stalls.
func TestI2_SameRowsAtEveryDepth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		for _, d := range depths {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				files := randomFiles(r, r.IntN(20))
				jitter := rand.New(rand.NewPCG(seed, 2))
				var mu sync.Mutex
				g := newRig(t, 1+r.IntN(16), 100<<20, files, &fakeStore{read: func(ctx context.Context, _ object.Location, _ object.Range) error {
					mu.Lock()
					d := time.Duration(jitter.IntN(300)) * time.Millisecond
					mu.Unlock()
					return sleep(ctx, d)
				}})
				got, err := values(g.open(t.Context(), g.tasks(), d, nil).All())
				want, _ := g.want()
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("seed %d depth %v: %d rows, %v; want %d", seed, d, len(got), err, len(want))
				}
				g.check()
			})
		}
	}
}

// TestI17_LowestErrorWins: two failing files, both completion orders, every way of failing; rows before the failure only.
func TestI17_LowestErrorWins(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		for how := range 5 {
			for _, fastFirst := range []bool{true, false} {
				t.Run(fmt.Sprintf("depth=%v,how=%d,fast=%v", d, how, fastFirst), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						files := make([]fakeFile, 8)
						for i := range files {
							files[i] = fakeFile{rounds: 1, waves: []int64{1000}, rows: 3, columns: 1}
						}
						for _, i := range []int{3, 6} {
							f := &files[i]
							*[]*bool{&f.failOpen, &f.failWave, &f.failDecode, &f.failFinish, &f.panicDecode}[how] = true
						}
						g := newRig(t, 16, 100<<20, files, &fakeStore{read: func(ctx context.Context, loc object.Location, _ object.Range) error {
							if slow := loc.Key == "f3"; slow == fastFirst {
								return sleep(ctx, time.Second)
							}
							return sleep(ctx, time.Millisecond)
						}})
						got, err := values(g.open(t.Context(), g.tasks(), d, nil).All())
						want, failed := g.want()
						var fe *FileError
						if !errors.As(err, &fe) || fe.Ordinal != failed || fe.Location != "f3" {
							t.Errorf("got %v, want the failure of file %d", err, failed)
						}
						if how == 4 {
							var pe *PanicError
							if !errors.As(err, &pe) {
								t.Errorf("got %v, want a PanicError", err)
							}
						} else if !errors.Is(err, errFake) {
							t.Errorf("got %v", err)
						}
						if !slices.Equal(got, want) {
							t.Errorf("rows %v, want %v", got, want)
						}
						g.check()
					})
				})
			}
		}
	}
}

// TestI19_SmallScansDrain: no file, one, all empty, depth above the number of files.
func TestI19_SmallScansDrain(t *testing.T) {
	t.Parallel()
	full := fakeFile{rounds: 1, waves: []int64{100}, rows: 2, columns: 1}
	void := fakeFile{rounds: 1, empty: true}
	norows := fakeFile{rounds: 1, waves: []int64{100, 100}, columns: 1}
	for name, files := range map[string][]fakeFile{
		"none": nil, "one": {full}, "one empty": {void}, "one without rows": {norows}, "all empty": {void, void, void},
		"empty first and last": {void, full, void}, "six": {full, full, full, full, full, full}, "nothing to fetch": {{}, {rows: 1, waves: []int64{0}}},
	} {
		for _, d := range depths {
			t.Run(fmt.Sprintf("%s,depth=%v", name, d), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, 4, 100<<20, files, after(time.Millisecond))
					r := g.open(t.Context(), g.tasks(), d, nil)
					got, err := values(r.All())
					if want, _ := g.want(); err != nil || !slices.Equal(got, want) {
						t.Errorf("%v, %v; want %v", got, err, want)
					}
					if n := r.Stats().Files; n != int64(len(files)) {
						t.Errorf("%d files consumed of %d", n, len(files))
					}
					g.check()
				})
			})
		}
	}
}

func TestNextAndRecordReaderGiveTheRowsOfAll(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(5, 5)), 12), after(time.Millisecond))
			want, _ := g.want()

			r := g.open(t.Context(), g.tasks(), d, nil)
			var got []int64
			for {
				b, err := r.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b.Record.Column(0).(*array.Int64).Int64Values()...)
			}
			if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
			if err := r.Close(); err != nil || !slices.Equal(got, want) {
				t.Errorf("Next: %d rows of %d, %v", len(got), len(want), err)
			}

			got = nil
			rr := g.open(t.Context(), g.tasks(), d, nil).RecordReader()
			for rr.Next() {
				got = append(got, rr.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
			}
			if rr.Err() != nil || !slices.Equal(got, want) {
				t.Errorf("RecordReader: %d rows of %d, %v", len(got), len(want), rr.Err())
			}
			rr.Release()
			g.check()
		})
	}
}

func TestAReaderIsReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(5, 5)), 3), after(time.Millisecond))
		r := g.open(t.Context(), g.tasks(), 2, nil)
		if _, err := values(r.All()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(t.Context()); !errors.Is(err, ErrUsed) {
			t.Errorf("Next after All: %v", err)
		}
		if _, err := values(r.All()); !errors.Is(err, ErrUsed) {
			t.Errorf("All after All: %v", err)
		}
		if err := Feed(t.Context(), r); !errors.Is(err, ErrUsed) {
			t.Errorf("Feed after All: %v", err)
		}
		g.check()
	})
}

// TestPlanningErrorComesInItsPlace: the files before it are delivered.
func TestPlanningErrorComesInItsPlace(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		for _, panics := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				full := fakeFile{rounds: 1, waves: []int64{100}, rows: 2, columns: 1}
				g := newRig(t, 4, 100<<20, []fakeFile{full, full, full}, after(time.Second))
				tasks := func(yield func(Task, error) bool) {
					for task := range g.tasks() {
						if !yield(task, nil) {
							return
						}
					}
					if panics {
						panic(errFake)
					}
					yield(Task{}, errFake)
				}
				got, err := values(g.open(t.Context(), tasks, d, nil).All())
				if want, _ := g.want(); !errors.Is(err, errFake) || !slices.Equal(got, want) {
					t.Errorf("depth %v: %v, %v", d, got, err)
				}
				g.check()
			})
		}
	}
}

// TestI7_CloseFromAnyMoment: Close at every virtual millisecond of a scan, from beside the consumer or after it left, takes
// no time and leaves nothing.
func TestI7_CloseFromAnyMoment(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		for at := range 60 {
			synctest.Test(t, func(t *testing.T) {
				files := randomFiles(rand.New(rand.NewPCG(9, 9)), 12)
				g := newRig(t, 4, 100<<20, files, after(7*time.Millisecond))
				r := g.open(t.Context(), g.tasks(), d, nil)
				done := make(chan error)
				go func() {
					for {
						if _, err := r.Next(t.Context()); err != nil {
							done <- err
							return
						}
						time.Sleep(time.Millisecond)
					}
				}()
				time.Sleep(time.Duration(at) * time.Millisecond)
				if d == Off { // the consumer's goroutine is the scan's: it must come back first
					r.inline.cancel(ErrClosed)
					<-done
					_ = r.Close()
				} else {
					start := time.Now()
					_ = r.Close()
					_ = r.Close()
					if took := time.Since(start); took > 10*time.Millisecond { // a decoder may be asleep in its fake work
						t.Errorf("depth %v at %d ms: Close took %v", d, at, took)
					}
					if err := <-done; !errors.Is(err, ErrClosed) && !errors.Is(err, io.EOF) {
						t.Errorf("depth %v: the consumer got %v", d, err)
					}
				}
				g.check()
			})
		}
	}
}

func TestContextOfOpenEndsTheScan(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(9, 9)), 12), after(time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			if _, err := values(g.open(ctx, g.tasks(), d, nil).All()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("depth %v: %v", d, err)
			}
			g.check()
		})
	}
}

// TestL78_EachCallObeysItsOwnContext: the context of one Next ends that call only.
func TestL78_EachCallObeysItsOwnContext(t *testing.T) {
	t.Parallel()
	for _, d := range depths[1:] {
		synctest.Test(t, func(t *testing.T) {
			full := fakeFile{rounds: 1, waves: []int64{100}, rows: 2, columns: 1}
			g := newRig(t, 4, 100<<20, []fakeFile{full}, after(time.Second))
			r := g.open(t.Context(), g.tasks(), d, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("depth %v: %v", d, err)
			}
			cancel()
			b, err := r.Next(t.Context())
			if err != nil || b.Record.NumRows() != 2 {
				t.Errorf("depth %v: the scan did not survive: %v", d, err)
			}
			_ = r.Close()
			g.check()
		})
	}
}

// TestBreakEndsPlanning: a consumer that leaves the range stops the task iterator within one pull.
func TestBreakEndsPlanning(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		synctest.Test(t, func(t *testing.T) {
			files := make([]fakeFile, 1000)
			for i := range files {
				files[i] = fakeFile{rounds: 1, waves: []int64{100}, rows: 2, columns: 1}
			}
			g := newRig(t, 4, 100<<20, files, after(time.Millisecond))
			pulled, left := 0, false
			tasks := func(yield func(Task, error) bool) {
				defer func() { left = true }()
				for task := range g.tasks() {
					pulled++
					if !yield(task, nil) {
						return
					}
				}
			}
			for _, err := range g.open(t.Context(), tasks, d, nil).All() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if !left || pulled > 100 {
				t.Errorf("depth %v: %d tasks pulled, iterator ended: %v", d, pulled, left)
			}
			g.check()
		})
	}
}

// TestLimit stops exactly, whatever the depth.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		for _, limit := range []int64{1, 2, 3, 7, 1000} {
			synctest.Test(t, func(t *testing.T) {
				files := make([]fakeFile, 20)
				for i := range files {
					files[i] = fakeFile{rounds: 1, waves: []int64{100, 100}, rows: 2, columns: 1}
				}
				g := newRig(t, 4, 100<<20, files, after(time.Millisecond))
				got, err := values(g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Limit = limit }).All())
				want, _ := g.want()
				if want = want[:min(limit, int64(len(want)))]; err != nil || !slices.Equal(got, want) {
					t.Errorf("depth %v limit %d: %v, %v", d, limit, got, err)
				}
				g.check()
			})
		}
	}
}

// TestArrivalOrderGivesTheSameMultiset, and whole files in one piece.
func TestArrivalOrderGivesTheSameMultiset(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, d := range depths {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 3))
				g := newRig(t, 4, 100<<20, randomFiles(r, 15), &fakeStore{read: func(ctx context.Context, loc object.Location, _ object.Range) error {
					return sleep(ctx, time.Duration(100-len(loc.Key)*7)*time.Millisecond)
				}})
				got, err := values(g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Order = ArrivalOrder }).All())
				want, _ := g.want()
				for i := 1; i < len(got); i++ {
					if got[i]/1_000_000 == got[i-1]/1_000_000 && got[i] < got[i-1] {
						t.Errorf("rows of a file out of order: %d after %d", got[i], got[i-1])
					}
				}
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("seed %d depth %v: %d rows, want %d; %v", seed, d, len(got), len(want), err)
				}
				g.check()
			})
		}
	}
}

// TestI5_TinyBudgets: a budget of one byte, a pool of one, files of many times the budget, more streams than slots.
func TestI5_TinyBudgets(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2} {
		for _, limit := range []int64{1, 1 << 20} {
			for _, streams := range []int{1, 3} {
				for _, d := range depths[1:] {
					synctest.Test(t, func(t *testing.T) {
						g := newRig(t, slots, limit, randomFiles(rand.New(rand.NewPCG(3, 3)), 12), after(time.Millisecond))
						r := g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Streams = streams })
						sink := &ledgerSink{}
						if err := Feed(t.Context(), r, sink); err != nil {
							t.Error(err)
						}
						want, _ := g.want()
						if got := sink.sorted(); !slices.Equal(got, want) {
							t.Errorf("slots %d limit %d streams %d depth %v: %d rows of %d", slots, limit, streams, d, len(got), len(want))
						}
						g.check()
					})
				}
			}
		}
	}
}
