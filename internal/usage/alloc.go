package usage

import "runtime"

// Allocated is how many bytes of heap were taken while f ran, whether or not they are in use still: for tests that bound what hostile
// input may cost. What other goroutines take meanwhile counts too.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
