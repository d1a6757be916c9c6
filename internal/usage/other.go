//go:build !unix

package usage

import "time"

// CPU and PeakRSS are not known here.
func CPU() time.Duration { return 0 }

func PeakRSS() int64 { return 0 }
