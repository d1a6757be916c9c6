package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var units = []struct {
	name string
	size float64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"B", 1},
}

// ParseSize reads 64MiB, 64MB, 1.5GiB or a plain number of bytes; units in any case, K, M, G, T alone are binary.
func ParseSize(text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	factor := 1.0
	for _, u := range units {
		long := strings.ToLower(u.name)
		short, binary := strings.CutSuffix(long, "ib")
		if rest, ok := strings.CutSuffix(s, long); ok {
			s, factor = rest, u.size
			break
		}
		if rest, ok := strings.CutSuffix(s, short); ok && binary {
			s, factor = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || v != v || v < 0 || v*factor > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size such as 64MiB", text)
	}
	return int64(v * factor), nil
}

// FormatSize writes a size that ParseSize reads back exactly, in the largest binary unit that divides it.
func FormatSize(n int64) string {
	for _, u := range units[:4] {
		if k := int64(u.size); n >= k && n%k == 0 {
			return strconv.FormatInt(n/k, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// HumanSize writes a size for reading: three digits and a binary unit.
func HumanSize(n int64) string {
	for _, u := range units[:4] {
		if float64(n) >= u.size*0.9995 {
			v := float64(n) / u.size
			switch {
			case v < 9.995:
				return strconv.FormatFloat(v, 'f', 2, 64) + " " + u.name
			case v < 99.95:
				return strconv.FormatFloat(v, 'f', 1, 64) + " " + u.name
			}
			return strconv.FormatFloat(v, 'f', 0, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}
