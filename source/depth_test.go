package source

import (
	"testing"
	"time"

	"github.com/lakescan/lakescan/prefetchpool"
)

// A scan starts at the depth that what is known of it and of its store speaks for.
func TestI16_FirstDepth(t *testing.T) {
	t.Parallel()
	pool, err := prefetchpool.New(prefetchpool.Config{Slots: 128})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	near, far := prefetchpool.Rate{Samples: 3, Latency: 100 * time.Microsecond}, prefetchpool.Rate{Samples: 3, Latency: 50 * time.Millisecond}
	for _, c := range []struct {
		name   string
		cfg    Config
		rate   prefetchpool.Rate
		depth  int
		reason string
	}{
		{"an unknown store", Config{Depth: Auto}, prefetchpool.Rate{}, 128, "start"},
		{"a store known to be far", Config{Depth: Auto}, far, 128, "start"},
		{"a store known to be near", Config{Depth: Auto}, near, 1, "near store"},
		{"a fixed depth, near", Config{Depth: 4}, near, 4, "fixed"},
		{"a fixed depth, far", Config{Depth: 4}, far, 4, "fixed"},
		{"a limit", Config{Depth: Auto, Limit: 10}, far, 1, "stops early"},
		{"a consumer that may stop", Config{Depth: Auto, StopsEarly: true}, far, 1, "stops early"},
	} {
		c.cfg.Lane = pool.Lane(prefetchpool.LaneConfig{})
		c.cfg.Streams = 2
		got := newController(c.cfg, 2, c.rate)
		if got.depth != c.depth || got.deepest != c.depth || got.reason != c.reason {
			t.Errorf("%s: depth %d (deepest %d), %q; want %d, %q", c.name, got.depth, got.deepest, got.reason, c.depth, c.reason)
		}
	}
}
