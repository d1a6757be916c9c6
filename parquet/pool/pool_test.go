package pool

import (
	"slices"
	"sync"
	"testing"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

func TestClassesHoldWhatTheySay(t *testing.T) {
	t.Parallel()
	last, lastSize := -1, 0
	for n := 1; n <= maxClass; n += 1 + n/97 {
		i, size, ok := class(n)
		if !ok || size < n || i < last || size < lastSize || i >= classes {
			t.Fatalf("class(%d) = %d, %d, %v after %d, %d", n, i, size, ok, last, lastSize)
		}
		if n > minClass && size > n+n/4+1 {
			t.Fatalf("class(%d) wastes: %d", n, size)
		}
		if j, again, _ := class(size); j != i || again != size {
			t.Fatalf("class(%d) = %d, %d; its own size has %d, %d", n, i, size, j, again)
		}
		last, lastSize = i, size
	}
}

type counter struct {
	mu sync.Mutex
	n  int64
}

func (c *counter) Add(d int64) { c.mu.Lock(); c.n += d; c.mu.Unlock() }

func TestPoolReusesWithinItsLimit(t *testing.T) {
	t.Parallel()
	checked := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	var acc counter
	p := New(checked, 100<<10, &acc)
	a := p.Allocate(10000)
	first := &a[0]
	p.Free(a)
	if p.Idle() != 10240 || acc.n != p.Idle() {
		t.Errorf("idle %d, told %d", p.Idle(), acc.n)
	}
	if b := p.Allocate(10100); &b[0] != first {
		t.Error("not reused")
	} else {
		b = p.Reallocate(10240, b)
		if &b[0] != first || len(b) != 10240 {
			t.Error("grown within its class, but moved")
		}
		b[0] = 7
		c := p.Reallocate(50000, b)
		if c[0] != 7 || len(c) != 50000 {
			t.Error("contents lost")
		}
		p.Free(c)
	}
	p.Free(p.Allocate(90000))
	if p.Idle() > 100<<10 {
		t.Errorf("idle %d above the limit", p.Idle())
	}
	p.Trim(0)
	if p.Idle() != 0 || acc.n != 0 {
		t.Errorf("after Trim: idle %d, told %d", p.Idle(), acc.n)
	}
	checked.AssertSize(t, 0)
}

// TestClearedGivesZeros where the pool itself gives what was there.
func TestClearedGivesZeros(t *testing.T) {
	t.Parallel()
	p := New(nil, 1<<20, nil)
	dirt := func() {
		b := p.Allocate(5000)
		for i := range b {
			b[i] = 1
		}
		p.Free(b)
	}
	dirt()
	c := p.Cleared()
	b := c.Allocate(4500)
	dirt()
	b[0] = 7
	b = c.Reallocate(4900, b)
	if b[0] != 7 || slices.Max(b[1:]) != 0 {
		t.Error("not the old bytes and zeros")
	}
	dirt()
	if b = c.Reallocate(5001, b); b[0] != 7 || slices.Max(b[1:]) != 0 {
		t.Error("not the old bytes and zeros, grown into another class")
	}
}

// TestClosedPoolKeepsNothing: buffers that outlive the pool are not kept, and the account ends at zero.
func TestClosedPoolKeepsNothing(t *testing.T) {
	t.Parallel()
	var held counter
	p := New(nil, 1<<20, &held)
	late, early := p.Allocate(10_000), p.Allocate(10_000)
	p.Free(early)
	if p.Idle() == 0 || held.n != p.Idle() {
		t.Errorf("idle %d, told %d", p.Idle(), held.n)
	}
	p.Close()
	p.Free(late)
	if p.Idle() != 0 || held.n != 0 {
		t.Errorf("after Close: idle %d, told %d", p.Idle(), held.n)
	}
}
