//go:build !unix

package main

import "time"

// cpuTime and peakRSS are not known here.
func cpuTime() time.Duration { return 0 }

func peakRSS() int64 { return 0 }
