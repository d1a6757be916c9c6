package memory

import arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

// Allocator charges an account for every byte that Arrow holds, from Allocate to the Free of the last Release. It is an
// arrowmem.Allocator, as safe for concurrent use as the one below it.
type Allocator struct {
	below   arrowmem.Allocator
	account *Elastic
}

// NewAllocator wraps below (nil = Arrow's default).
func NewAllocator(below arrowmem.Allocator, account *Elastic) *Allocator {
	if below == nil {
		below = arrowmem.DefaultAllocator
	}
	return &Allocator{below: below, account: account}
}

// Allocate charges what the buffer below really takes, which is its capacity where sizes are rounded up to classes. Arrow passes
// the same slice back to Free.
func (a *Allocator) Allocate(size int) []byte {
	b := a.below.Allocate(size)
	a.account.Add(int64(cap(b)))
	return b
}

// Reallocate charges the difference.
func (a *Allocator) Reallocate(size int, b []byte) []byte {
	was := cap(b)
	b = a.below.Reallocate(size, b)
	a.account.Add(int64(cap(b) - was))
	return b
}

// Free gives the bytes back.
func (a *Allocator) Free(b []byte) {
	n := int64(cap(b))
	a.below.Free(b)
	a.account.Add(-n)
}
