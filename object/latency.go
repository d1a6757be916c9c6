package object

import (
	"math"
	"slices"
	"sync"
	"time"
)

// A histogram of durations with 10 % wide classes from 100 µs to about 100 s, which forgets: once it holds maxSamples it
// halves, so that old times weigh less and less.
const (
	histClasses = 145
	histFirst   = 100 * time.Microsecond
	histGrowth  = 1.1
	maxSamples  = 4096
)

var histLog = math.Log(histGrowth)

type histogram struct {
	class [histClasses]uint32
	n     uint32
}

func classIndex(d time.Duration) int {
	if d <= histFirst {
		return 0
	}
	return min(int(math.Log(float64(d)/float64(histFirst))/histLog), histClasses-1)
}

// classTop is the longest duration of a class.
func classTop(i int) time.Duration {
	return time.Duration(float64(histFirst) * math.Pow(histGrowth, float64(i+1)))
}

func (h *histogram) add(d time.Duration) {
	h.class[classIndex(d)]++
	if h.n++; h.n >= maxSamples {
		h.n = 0
		for i := range h.class {
			h.class[i] /= 2
			h.n += h.class[i]
		}
	}
}

// quantile gives the top of the class that holds the q-th sample, so up to 10 % too much; 0 without samples.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint32(math.Ceil(q * float64(h.n)))
	seen := uint32(0)
	for i, c := range h.class {
		if seen += c; seen >= max(rank, 1) {
			return classTop(i)
		}
	}
	return classTop(histClasses - 1)
}

// tail is what Retry knows of the first-byte times of one bucket. Decisions are plain arithmetic on it: no clock, no goroutine.
type tail struct {
	mu struct {
		sync.Mutex
		long          histogram
		short         [32]time.Duration // the latest samples, a ring
		samples       int
		p50, p95, p99 time.Duration // of long, renewed with every tailRenew samples
		throttledAt   time.Time
		refusedAt     time.Time // a connection, by a store that had answered before
		inFlight      int       // reads between request and first byte
		overdue       int       // of these, the ones over the hedge delay
	}
}

const (
	tailRenew   = 8
	tailReady   = 32 // samples before anything is decided on them
	minHedge    = 10 * time.Millisecond
	minHeader   = time.Second
	maxHeader   = 30 * time.Second
	calmDown    = time.Second     // no hedge for so long after a 503
	warmUp      = 5 * time.Second // after the last refused connection, a store may still be starting
	maxHedgeLen = 16 << 20        // a longer answer is not held twice
)

// record adds a first-byte time; for an attempt given up it is the time waited, a lower bound.
func (t *tail) record(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.mu
	m.long.add(d)
	m.short[m.samples%len(m.short)] = d
	if m.samples++; m.samples%tailRenew == 0 {
		m.p50, m.p95, m.p99 = m.long.quantile(0.50), m.long.quantile(0.95), m.long.quantile(0.99)
	}
}

// headerTimeout is max(1 s, 4 x p99) for the first attempt and doubles with each, up to 30 s; 0 = do not limit yet.
func (t *tail) headerTimeout(attempt int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.samples < tailReady {
		return 0
	}
	limit := max(minHeader, 4*t.mu.p99)
	for range attempt - 1 {
		limit = min(2*limit, maxHeader)
	}
	return min(limit, maxHeader)
}

// hedgeDelay is max(p95, 2 x p50, 10 ms), or fixed if that is positive; 0 = not known yet.
func (t *tail) hedgeDelay(fixed time.Duration) time.Duration {
	if fixed > 0 {
		return fixed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.samples < tailReady {
		return 0
	}
	return max(t.mu.p95, 2*t.mu.p50, minHedge)
}

// outage reports that slowness is general, so that copies would only double the load: a 503 in the last second, the median
// doubled, or more than a few reads, and a quarter of all, are overdue together.
func (t *tail) outage(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.mu
	if !m.throttledAt.IsZero() && now.Sub(m.throttledAt) < calmDown {
		return true
	}
	if m.overdue > 2 && 4*m.overdue > m.inFlight {
		return true
	}
	if m.samples < tailReady {
		return false
	}
	recent := m.short
	slices.Sort(recent[:])
	return recent[len(recent)/2] >= 2*m.p50
}

func (t *tail) throttled(now time.Time) {
	t.mu.Lock()
	t.mu.throttledAt = now
	t.mu.Unlock()
}

// waiting counts reads that wait for their first byte, and of them the overdue.
func (t *tail) waiting(inFlight, overdue int) {
	t.mu.Lock()
	t.mu.inFlight += inFlight
	t.mu.overdue += overdue
	t.mu.Unlock()
}

// restarting reports that a store which has answered before refuses connections, or did a moment ago: it was stopped, and what it says while
// it starts (503, broken connections) is part of that. now says that it refuses this one.
func (t *tail) restarting(at time.Time, now bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.samples == 0 {
		return false
	}
	if now {
		t.mu.refusedAt = at
	}
	return !t.mu.refusedAt.IsZero() && at.Sub(t.mu.refusedAt) < warmUp
}
