//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"fmt"
	"sync"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/query"
)

// smallest is the least memory_limit that a statement starts with, unless the whole share is less.
const smallest = 64 << 20

// share deals out what all statements together may reserve of the process budget.
type share struct {
	budget *memory.Budget
	total  int64

	mu struct {
		sync.Mutex
		used  int64
		freed chan struct{} // closed and replaced at each release
	}
}

func newShare(b *memory.Budget, total int64) *share {
	s := &share{budget: b, total: total}
	s.mu.freed = make(chan struct{})
	return s
}

// grant is reserved memory of one statement.
type grant struct {
	share    *share
	bytes    int64
	reserved *memory.Reservation
	once     sync.Once
}

// take reserves want bytes, or half of what is free if want is 0. It waits holding nothing.
func (s *share) take(ctx context.Context, want int64) (*grant, error) {
	if want > s.total {
		return nil, &query.Error{
			Class: query.ClassMemory,
			Msg:   fmt.Sprintf("the statement asks for %d bytes, SQL has %d in all", want, s.total),
			Hint:  "lower the statement's memory or raise --memory",
		}
	}
	for {
		n, freed := s.try(want)
		if n > 0 {
			return s.reserve(ctx, n)
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for SQL memory (%d bytes in all): %w", s.total, context.Cause(ctx))
		}
	}
}

// try takes bytes of the share, 0 = not now; freed is closed when it is worth another try.
func (s *share) try(want int64) (n int64, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.total - s.mu.used
	if want == 0 {
		want = max(free/2, min(smallest, s.total))
	}
	if want > free {
		return 0, s.mu.freed
	}
	s.mu.used += want
	return want, nil
}

func (s *share) reserve(ctx context.Context, n int64) (*grant, error) {
	g := &grant{share: s, bytes: n}
	if s.budget == nil {
		return g, nil
	}
	r, err := s.budget.Reserve(ctx, memory.SQL, n)
	if err != nil {
		s.put(n)
		return nil, err
	}
	g.reserved = r
	return g, nil
}

func (s *share) put(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.used -= n
	close(s.mu.freed)
	s.mu.freed = make(chan struct{})
}

// release gives everything back; idempotent, nil is fine.
func (g *grant) release() {
	if g == nil {
		return
	}
	g.once.Do(func() {
		if g.reserved != nil {
			g.reserved.Release()
		}
		g.share.put(g.bytes)
	})
}
