// Package bounded holds fuzz targets to bounds of memory and time.
package bounded

import (
	"runtime"
	"testing"
	"time"
)

// Seconds is the most that a call may take; inputs of fuzzing are small, so it is never near.
const Seconds = 10

// Run calls f and fails the test if f allocated more than most bytes, counted over all that was allocated meanwhile, or took longer
// than Seconds.
func Run(t testing.TB, most uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes allocated, at most %d allowed", n, most)
	}
	if took > Seconds*time.Second {
		t.Errorf("%v", took)
	}
}
