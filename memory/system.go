package memory

import (
	"bytes"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

const fallbackLimit = 2 << 30 // where nothing about the machine can be read

// DefaultLimit is half of min(cgroup limit, GOMEMLIMIT, RAM).
func DefaultLimit() int64 {
	least := int64(math.MaxInt64)
	for _, n := range []int64{cgroupLimit(), goLimit(), ram()} {
		if n > 0 {
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		least = fallbackLimit
	}
	return least / 2
}

// goLimit is GOMEMLIMIT, 0 = none.
func goLimit() int64 {
	if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
		return n
	}
	return 0
}

// ram is the machine's memory, 0 = unknown.
func ram() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return kilobytes(b, "MemTotal:")
}

// kilobytes finds a "name:   123 kB" line of a /proc file.
func kilobytes(b []byte, name string) int64 {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(string(bytes.TrimSpace(rest)), " kB"), 10, 64)
			if err == nil && n < math.MaxInt64>>10 {
				return n << 10
			}
		}
	}
	return 0
}

// cgroupLimit is the least memory.max of the process's cgroup (v2) and its parents, or the v1 limit; 0 = none.
func cgroupLimit() int64 {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			for dir := f[2]; ; dir = path.Dir(dir) {
				least = lesser(least, limitFile(path.Join("/sys/fs/cgroup", dir, "memory.max")))
				if dir == "/" || dir == "." {
					break
				}
			}
		case strings.Contains(","+f[1]+",", ",memory,"):
			least = lesser(least, limitFile(path.Join("/sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes")))
			least = lesser(least, limitFile("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
		}
	}
	return least
}

// lesser of two limits where 0 = none.
func lesser(a, b int64) int64 {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// limitFile reads one limit; 0 = absent, "max", or v1's "unlimited" (a number near 2^63).
func limitFile(name string) int64 {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<60 {
		return 0
	}
	return n
}

// systemSignals reads RssAnon (never a figure that counts page cache) and the Go runtime's total.
func systemSignals() Signals {
	var s Signals
	if s.AnonymousLimit = cgroupLimit(); s.AnonymousLimit > 0 {
		if b, err := os.ReadFile("/proc/self/status"); err == nil {
			s.Anonymous = kilobytes(b, "RssAnon:")
		}
	}
	if s.GoLimit = goLimit(); s.GoLimit > 0 {
		m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(m)
		s.GoTotal = int64(m[0].Value.Uint64() - m[1].Value.Uint64())
	}
	return s
}
