// Package pool recycles the memory of Arrow buffers between batches.
//
// A Pool is an arrowmem.Allocator: a buffer's last Release brings its memory back, so Arrow's reference counts decide. One
// pool serves a process. What it hands out is not cleared; whoever builds arrays from it clears or writes every byte that
// can be seen (package build does); Cleared is for the others. Idle memory is bounded, told to an account, and given up by Trim.
//
// A Pool may be used by any number of goroutines.
package pool

import (
	"math/bits"
	"sync"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// Sizes between minClass and maxClass are rounded up to a quarter of a power of two and kept; others are not pooled.
const (
	minClass = 4 << 10
	maxClass = 64 << 20
	perPower = 4
)

var classes = bits.Len(maxClass/minClass)*perPower + 1

// Account is told how many idle bytes the pool holds.
type Account interface{ Add(delta int64) }

// Pool keeps freed buffers.
type Pool struct {
	below   arrowmem.Allocator
	account Account
	mu      struct {
		sync.Mutex
		idle  [][][]byte // by class, last freed last
		bytes int64
		limit int64
	}
}

// New makes a pool over an allocator (nil = Arrow's Go allocator) that keeps up to limit idle bytes. account may be nil.
func New(below arrowmem.Allocator, limit int64, account Account) *Pool {
	if below == nil {
		below = arrowmem.NewGoAllocator()
	}
	p := &Pool{below: below, account: account}
	p.mu.idle = make([][][]byte, classes)
	p.mu.limit = limit
	return p
}

// class is the index and size of the class that holds n bytes; ok is false if n is not pooled.
func class(n int) (i, size int, ok bool) {
	if n <= 0 || n > maxClass {
		return 0, n, false
	}
	if n <= minClass {
		return 0, minClass, true
	}
	power := bits.Len(uint(n-1)) - 1 // 2^power < n <= 2^(power+1)
	step := 1 << power / perPower
	k := (n - 1<<power + step - 1) / step // 1..perPower
	return (power-bits.Len(minClass)+1)*perPower + k, 1<<power + k*step, true
}

// Allocate gives size bytes, aligned as the allocator below aligns, with any contents.
func (p *Pool) Allocate(size int) []byte {
	i, n, ok := class(size)
	if !ok {
		return p.below.Allocate(size)
	}
	p.mu.Lock()
	if list := p.mu.idle[i]; len(list) > 0 {
		b := list[len(list)-1]
		list[len(list)-1] = nil
		p.mu.idle[i] = list[:len(list)-1]
		p.mu.bytes -= int64(n)
		p.mu.Unlock()
		p.tell(-int64(n))
		return b[:size]
	}
	p.mu.Unlock()
	return p.below.Allocate(n)[:size]
}

// Cleared is the pool for those who count on zeros, as Go's allocator gives them: much of Arrow's own code does.
func (p *Pool) Cleared() arrowmem.Allocator { return cleared{p} }

type cleared struct{ *Pool }

func (c cleared) Allocate(size int) []byte {
	b := c.Pool.Allocate(size)
	clear(b)
	return b
}

func (c cleared) Reallocate(size int, b []byte) []byte {
	had := len(b)
	b = c.Pool.Reallocate(size, b)
	if size > had {
		clear(b[had:])
	}
	return b
}

// Reallocate changes the size of b, in place if its class allows it.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) && (size <= 0 || cap(b) <= 2*size || size >= len(b)) {
		return b[:size]
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

// Free takes a buffer back.
func (p *Pool) Free(b []byte) {
	n := cap(b)
	i, size, ok := class(n)
	if !ok || size != n {
		p.below.Free(b)
		return
	}
	b = b[:n]
	poison(b)
	p.mu.Lock()
	if p.mu.bytes+int64(n) > p.mu.limit {
		p.mu.Unlock()
		p.below.Free(b)
		return
	}
	p.mu.idle[i] = append(p.mu.idle[i], b)
	p.mu.bytes += int64(n)
	p.mu.Unlock()
	p.tell(int64(n))
}

// Idle is how many bytes are kept for later.
func (p *Pool) Idle() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.bytes
}

// Trim frees idle buffers, the largest first, until at most keep bytes are left.
func (p *Pool) Trim(keep int64) {
	p.mu.Lock()
	var freed [][]byte
	before := p.mu.bytes
	for i := len(p.mu.idle) - 1; i >= 0; i-- {
		list := p.mu.idle[i]
		for len(list) > 0 && p.mu.bytes > keep {
			b := list[len(list)-1]
			list[len(list)-1] = nil
			list = list[:len(list)-1]
			p.mu.bytes -= int64(cap(b))
			freed = append(freed, b)
		}
		p.mu.idle[i] = list
	}
	delta := p.mu.bytes - before
	p.mu.Unlock()
	p.tell(delta)
	for _, b := range freed {
		p.below.Free(b)
	}
}

// Close frees what is idle and keeps nothing any more: buffers that are still in use go to the allocator below when they are freed.
func (p *Pool) Close() {
	p.mu.Lock()
	p.mu.limit = 0
	p.mu.Unlock()
	p.Trim(0)
}

func (p *Pool) tell(delta int64) {
	if p.account != nil && delta != 0 {
		p.account.Add(delta)
	}
}
