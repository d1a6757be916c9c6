package source

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	firstTail = 64 << 10
	leastTail = 16 << 10
	mostTail  = 512 << 10
	// wholeLimit bounds the bytes that are fetched for nothing to save a request.
	leastWhole = 256 << 10
	mostWhole  = 1 << 20
	// A larger file is not read whole by one request: its first rows would wait for its last bytes, and only one connection would work for
	// it. At depth 0, where a file is in hand one at a time, a round trip saved is worth that.
	wholeAhead  = pieceBytes
	wholeInline = 2 * waveBytes
)

// tails learns from the footers of a scan how much to read of the next file's end, and what part of a file the scan needs.
// A plain struct behind a lock: every file's goroutine asks it.
type tails struct {
	fixed int64
	whole int64 // largest file that one request may read; 0 = wholeInline

	mu struct {
		sync.Mutex
		recent [64]int64 // ring of footer lengths
		sorted []int64   // the same, rising
		n      int
		wanted float64 // part of a file's bytes that the columns take, mean
		files  int
	}
}

// footer learns the length of one, with its trailer.
func (t *tails) footer(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := &t.mu.recent[t.mu.n%len(t.mu.recent)]
	if t.mu.n >= len(t.mu.recent) {
		at, _ := slices.BinarySearch(t.mu.sorted, *oldest)
		t.mu.sorted = slices.Delete(t.mu.sorted, at, at+1)
	}
	at, _ := slices.BinarySearch(t.mu.sorted, n)
	t.mu.sorted = slices.Insert(t.mu.sorted, at, n)
	*oldest = n
	t.mu.n++
}

// columns learns what part of a file was wanted.
func (t *tails) columns(wanted, size int64) {
	if size <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.files++
	t.mu.wanted += (float64(wanted)/float64(size) - t.mu.wanted) / float64(min(t.mu.files, 16))
}

// tail is how many bytes of a file's end to read first: the 95th percentile of the footers so far and a quarter more.
func (t *tails) tail() int64 {
	if t.fixed > 0 {
		return t.fixed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.mu.sorted)
	if n == 0 {
		return firstTail
	}
	return min(max(t.mu.sorted[(n*95+99)/100-1]*5/4, leastTail), mostTail)
}

// first is how much to read first of a file of size bytes, of which columns bytes are wanted (0 = unknown): the tail, or all
// of it where the request saved is worth more than the bytes. A filter may rule out any part of a file, or all of it, so of a
// filtered file no more is taken to be wanted than of those before it, and of the first ones nothing.
func (t *tails) first(size, columns int64, filtered bool, latency time.Duration, perJob float64) int64 {
	tail := t.tail()
	if size <= tail {
		return size
	}
	t.mu.Lock()
	learned, known := int64(t.mu.wanted*float64(size)), t.mu.files > 0
	t.mu.Unlock()
	switch {
	case filtered && columns > 0:
		columns = min(columns, learned)
	case columns <= 0 && known:
		columns = learned
	}
	worth := int64(latency.Seconds() * perJob)
	if size-columns <= min(max(worth, leastWhole), mostWhole) && size <= cmp.Or(t.whole, wholeInline) {
		return size
	}
	return tail
}
