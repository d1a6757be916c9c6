package object

import (
	"sync"
	"time"
)

// allowance is a token bucket fed by requests and by time. It bounds what is added to the load of a store in trouble.
type allowance struct {
	perRequest, perSecond, burst float64

	mu struct {
		sync.Mutex
		tokens float64 // negative = promised ahead
		at     time.Time
	}
}

func newAllowance(perRequest, perSecond, burst, start float64) *allowance {
	a := &allowance{perRequest: perRequest, perSecond: perSecond, burst: burst}
	a.mu.tokens = start
	return a
}

// request adds the share of one request.
func (a *allowance) request() {
	a.mu.Lock()
	a.mu.tokens = min(a.mu.tokens+a.perRequest, a.burst)
	a.mu.Unlock()
}

// take takes a token if one is there.
func (a *allowance) take(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refillLocked(now)
	if a.mu.tokens < 1 {
		return false
	}
	a.mu.tokens--
	return true
}

// reserve takes a token that time will bring and tells how long that is, or refuses if it would be longer than patience.
func (a *allowance) reserve(now time.Time, patience time.Duration) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refillLocked(now)
	if a.mu.tokens < 1 {
		if a.perSecond <= 0 {
			return 0, false
		}
		wait = time.Duration((1 - a.mu.tokens) / a.perSecond * float64(time.Second))
		if wait > patience {
			return 0, false
		}
	}
	a.mu.tokens--
	return wait, true
}

func (a *allowance) refillLocked(now time.Time) {
	if !a.mu.at.IsZero() && a.perSecond > 0 {
		a.mu.tokens = min(a.mu.tokens+now.Sub(a.mu.at).Seconds()*a.perSecond, a.burst)
	}
	a.mu.at = now
}
