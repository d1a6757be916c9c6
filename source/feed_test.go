package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// ledgerSink collects rows and what happened to it.
type ledgerSink struct {
	wake      chan struct{}
	failWrite int // the n-th write of a stream fails
	slow      time.Duration

	mu       sync.Mutex
	rows     []int64
	relieved int
	finished bool
	aborted  int
	open     int
}

func (s *ledgerSink) Part(stream int) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &ledgerPart{s: s, last: -1}, nil
}

func (s *ledgerSink) Finish(context.Context) error { s.finished = true; return nil }
func (s *ledgerSink) Abort()                       { s.aborted++ }

func (s *ledgerSink) sorted() []int64 {
	slices.Sort(s.rows)
	return s.rows
}

type ledgerPart struct {
	s      *ledgerSink
	last   int64
	writes int
}

func (p *ledgerPart) Write(_ context.Context, b Batch) error {
	if p.s.slow > 0 {
		time.Sleep(p.s.slow)
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.writes++; p.writes == p.s.failWrite {
		return errFake
	}
	for _, v := range b.Record.Column(0).(*array.Int64).Int64Values() {
		if v/1_000_000 == p.last/1_000_000 && v <= p.last {
			return fmt.Errorf("row %d after %d", v, p.last)
		}
		p.last = v
		p.s.rows = append(p.s.rows, v)
	}
	return nil
}

func (p *ledgerPart) Wake() <-chan struct{} { return p.s.wake }

func (p *ledgerPart) Relieve(context.Context) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.relieved++
	return nil
}

func (p *ledgerPart) Close(context.Context) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.open--
	return nil
}

func TestFeedGivesEverySinkEveryRowOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		for _, d := range depths {
			for streams := range 4 {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(seed, 4)), 15), after(5*time.Millisecond))
					r := g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Streams = streams + 1 })
					plain, spilling := &ledgerSink{}, &ledgerSink{wake: make(chan struct{}, 1)}
					go func() {
						for range 5 {
							time.Sleep(3 * time.Millisecond)
							nudge(spilling.wake)
						}
					}()
					if err := Feed(t.Context(), r, plain, spilling); err != nil {
						t.Fatal(err)
					}
					want, _ := g.want()
					for i, s := range []*ledgerSink{plain, spilling} {
						if got := s.sorted(); !slices.Equal(got, want) {
							t.Errorf("seed %d depth %v streams %d sink %d: %d rows of %d", seed, d, streams+1, i, len(got), len(want))
						}
						if !s.finished || s.aborted != 0 || s.open != 0 {
							t.Errorf("sink %d: finished %v, aborted %d, open parts %d", i, s.finished, s.aborted, s.open)
						}
					}
					time.Sleep(time.Second)
					g.check()
				})
			}
		}
	}
}

func TestFeedWithOneStreamKeepsFileOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, 4, 100<<20, randomFiles(rand.New(rand.NewPCG(1, 4)), 15), after(5*time.Millisecond))
		s := &ledgerSink{}
		if err := Feed(t.Context(), g.open(t.Context(), g.tasks(), Auto, nil), s); err != nil {
			t.Fatal(err)
		}
		if want, _ := g.want(); !slices.Equal(s.rows, want) {
			t.Error("rows out of order")
		}
		g.check()
	})
}

// TestSpillIsHonouredWhileInputIsSlow: a part is relieved although no batch comes.
func TestSpillIsHonouredWhileInputIsSlow(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, 4, 100<<20, []fakeFile{{rounds: 1, waves: []int64{5}, rows: 1, columns: 1}}, after(time.Hour))
			s := &ledgerSink{wake: make(chan struct{}, 1)}
			go func() {
				time.Sleep(time.Minute)
				s.wake <- struct{}{}
				time.Sleep(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.relieved != 1 {
					t.Errorf("depth %v: relieved %d times after two minutes", d, s.relieved)
				}
			}()
			if err := Feed(t.Context(), g.open(t.Context(), g.tasks(), d, nil), s); err != nil {
				t.Error(err)
			}
			g.check()
		})
	}
}

func TestFeedAbortsAllAtTheFirstError(t *testing.T) {
	t.Parallel()
	for _, d := range depths {
		for _, where := range []string{"sink", "file", "context"} {
			synctest.Test(t, func(t *testing.T) {
				files := make([]fakeFile, 30)
				for i := range files {
					files[i] = fakeFile{rounds: 1, waves: []int64{5}, rows: 1, columns: 1, failDecode: where == "file" && i >= 5}
				}
				g := newRig(t, 4, 100<<20, files, after(time.Second))
				good, bad := &ledgerSink{wake: make(chan struct{})}, &ledgerSink{}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				want := errFake
				switch where {
				case "sink":
					bad.failWrite = 3
				case "context":
					want = context.Canceled
					time.AfterFunc(1500*time.Millisecond, cancel)
				}
				err := Feed(ctx, g.open(t.Context(), g.tasks(), d, func(c *Config) { c.Streams = 2 }), good, bad)
				if !errors.Is(err, want) {
					t.Errorf("depth %v, %s: %v", d, where, err)
				}
				if fe := (*FileError)(nil); where == "file" && (!errors.As(err, &fe) || fe.Ordinal != 5) {
					t.Errorf("depth %v: %v, want file 5", d, err)
				}
				for i, s := range []*ledgerSink{good, bad} {
					if s.finished || s.aborted == 0 || s.open != 0 {
						t.Errorf("depth %v, %s, sink %d: finished %v, aborted %d, open %d", d, where, i, s.finished, s.aborted, s.open)
					}
				}
				g.check()
			})
		}
	}
}
