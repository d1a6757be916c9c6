package source

import (
	"testing"
	"time"
)

// TestFloorCountsARoundOnce: slots that are busy with all requests for a scan's rounds, and no longer, cost nothing beside those rounds; and
// a scan is never below its floor.
func TestFloorCountsARoundOnce(t *testing.T) {
	t.Parallel()
	scan := func(files, requests int64, rounds float64, slots int) Stats {
		s := Stats{Files: files, Requests: requests, Latency: 100 * time.Millisecond, DecodeTime: time.Duration(files) * time.Millisecond}
		s.physics(2, 1, slots, rounds)
		return s
	}
	for _, c := range []struct {
		name            string
		files, requests int64
		rounds          float64
		slots           int
		floor           time.Duration
		by              string
	}{
		{"all requests at once", 64, 64, 1, 64, 100*time.Millisecond + 32*time.Millisecond, "latency"},
		{"two rounds fill the slots", 64, 128, 2, 64, 200*time.Millisecond + 32*time.Millisecond, "latency"},
		{"ten times the slots", 640, 640, 1, 64, time.Second, "requests"},
		{"one slot", 10, 10, 1, 1, time.Second, "requests"},
		{"one file", 1, 2, 2, 64, 200*time.Millisecond + 500*time.Microsecond, "latency"},
	} {
		s := scan(c.files, c.requests, c.rounds, c.slots)
		if d := s.Floor - c.floor; d.Abs() > time.Microsecond || s.LimitedBy != c.by {
			t.Errorf("%s: floor %v by %s, want %v by %s", c.name, s.Floor, s.LimitedBy, c.floor, c.by)
		}
	}
}
