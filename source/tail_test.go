package source

import (
	"slices"
	"testing"
	"time"
)

// What is read first of a file, by what the scan has seen before.
func TestTails_First(t *testing.T) {
	t.Parallel()
	const kb, mb = int64(1 << 10), int64(1 << 20)
	type seen struct{ wanted, size int64 }
	for _, c := range []struct {
		name          string
		seen          []seen
		size, columns int64
		filtered      bool
		latency       time.Duration
		whole         bool
	}{
		{"small file", nil, 50 * kb, 0, false, 0, true},
		{"small file under a filter", nil, 200 * kb, 200 * kb, true, 0, true},
		{"all columns", nil, 4 * mb, 4 * mb, false, 0, true},
		{"two columns of ten", nil, 4 * mb, mb, false, 100 * time.Millisecond, false},
		{"nothing known", nil, 4 * mb, 0, false, 100 * time.Millisecond, false},
		{"files before were wanted whole", []seen{{4 * mb, 4 * mb}}, 4 * mb, 0, false, 0, true},
		{"all columns under a filter that may rule them out", nil, 4 * mb, 4 * mb, true, 100 * time.Millisecond, false},
		{"the filter let files before pass", []seen{{4 * mb, 4 * mb}, {4 * mb, 4 * mb}}, 4 * mb, 4 * mb, true, 0, true},
		{"the filter ruled files before out", []seen{{0, 4 * mb}, {0, 4 * mb}}, 4 * mb, 4 * mb, true, 100 * time.Millisecond, false},
		{"a round trip is worth a megabyte", nil, mb, mb, true, 100 * time.Millisecond, true},
		{"but not at a near store", nil, mb, mb, true, 0, false},
	} {
		var x tails
		for _, s := range c.seen {
			x.columns(s.wanted, s.size)
		}
		if got := x.first(c.size, c.columns, c.filtered, c.latency, 80e6); (got == c.size) != c.whole {
			t.Errorf("%s: reads %d of %d first", c.name, got, c.size)
		}
	}
}

// The tail covers 95 of 100 of the last 64 footers, and a quarter more.
func TestTails_FollowTheLastFooters(t *testing.T) {
	t.Parallel()
	var x tails
	var all []int64
	for i := range int64(300) {
		n := 20_000 + i*7919%5*1000 + i/150*50_000
		x.footer(n)
		all = append(all, n)
		last := slices.Clone(all[max(0, len(all)-64):])
		slices.Sort(last)
		if got, want := x.tail(), last[(len(last)*95+99)/100-1]*5/4; got != want {
			t.Fatalf("after %d footers %d, want %d", len(all), got, want)
		}
	}
}
