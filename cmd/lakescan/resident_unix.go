//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// residentPeak is the largest resident size of the process so far, in bytes.
func residentPeak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
