package source

import (
	"math/bits"
	"sync"
)

// hints decides, where the consumer applies the filter itself (Config.FilterHint), whether applying it here first pays: the other columns
// are then decoded and handed over for fewer rows, but picking single rows out of pages costs more a row than taking all. Filters that
// turned out not to pay are left out for a while, twice as long each time.
type hints struct {
	mu struct {
		sync.Mutex
		skip, idle int // units to go without evaluating; how many the next time
	}
}

// mostIdle units go by before a filter that did not pay is tried again.
const mostIdle = 32

// wants reports whether the next unit's filter should be evaluated.
func (h *hints) wants() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.skip == 0 {
		return true
	}
	h.mu.skip--
	return false
}

func (h *hints) learn(paid bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if paid {
		h.mu.skip, h.mu.idle = 0, 0
		return
	}
	h.mu.idle = min(max(2*h.mu.idle, 1), mostIdle)
	h.mu.skip = h.mu.idle
}

// worthNarrowing: few rows are left, or they come in long runs. words has a bit a row, of which count are set.
func worthNarrowing(words []uint64, rows, count int) bool {
	if count*8 <= rows {
		return true
	}
	if count*4 > rows*3 {
		return false
	}
	runs, before := 0, uint64(0)
	for _, w := range words {
		runs += bits.OnesCount64(w &^ (w<<1 | before))
		before = w >> 63
	}
	return runs*64 <= count
}
