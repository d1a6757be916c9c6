//go:build !unix

package main

import "time"

// residentPeak is not known here.
func residentPeak() int64 { return 0 }

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
