package prefetchpool

import (
	"slices"
	"testing"
	"time"
)

// play feeds transfers of n bytes, wide at a time, over a link of the given bandwidth and latency that they share equally: they
// end together.
func play(k *link, at time.Time, rounds, wide int, n int64, latency time.Duration, bandwidth float64, limited bool) time.Time {
	for range rounds {
		start := at
		at = at.Add(latency + time.Duration(float64(n)*float64(wide)/bandwidth*float64(time.Second)))
		for i := range wide {
			k.observe(transfer{start: start, end: at, bytes: n, beside: float64(n) * float64(wide-1-i), limited: limited})
		}
	}
	return at
}

func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if got < want*(1-part) || got > want*(1+part) {
		t.Errorf("%s: got %g, want %g within %g %%", what, got, want, part*100)
	}
}

func TestRateLearnsLatencyAndBandwidth(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	k := newLink(nil)
	at = play(k, at, 5, 1, 64<<10, 100*time.Millisecond, 125e6, false)
	r := k.rate()
	within(t, "latency", r.Latency.Seconds(), 0.1, 0.02)
	within(t, "typical", r.Typical.Seconds(), 0.1, 0.02)
	at = play(k, at, 20, 16, 2<<20, 100*time.Millisecond, 125e6, false)
	within(t, "bandwidth", k.rate().Bandwidth, 125e6, 0.02)
	high := k.rate().Bandwidth

	// An app-limited time lowers nothing, however long.
	at = at.Add(time.Minute)
	at = play(k, at, 50, 1, 64<<10, 100*time.Millisecond, 125e6, true)
	if got := k.rate().Bandwidth; got != high {
		t.Errorf("learnt %g from an app-limited time, was %g", got, high)
	}
	// A busy link that became slow does.
	play(k, at, 2, 16, 2<<20, 100*time.Millisecond, 10e6, false)
	within(t, "bandwidth of the slow link", k.rate().Bandwidth, 10e6, 0.1)
}

// TestRateOfABurst: many small requests at once over a link shared equally end together; the bandwidth shows at once.
func TestRateOfABurst(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	k := newLink(nil)
	at = play(k, at, 2, 1, 8<<10, 100*time.Millisecond, 1e12, true)
	play(k, at, 1, 70, 64<<10, 100*time.Millisecond, 125e6, true)
	within(t, "bandwidth", k.rate().Bandwidth, 125e6, 0.01)
	within(t, "latency", k.rate().Latency.Seconds(), 0.1, 0.01)
}

func TestRateIsSharedByName(t *testing.T) {
	t.Parallel()
	p := newPool(t, 4, nil)
	a := p.Lane(LaneConfig{Link: "s3.example"})
	play(a.link, time.Unix(1, 0), 3, 1, 1000, 50*time.Millisecond, 1e9, false)
	b := p.Lane(LaneConfig{Link: "s3.example"})
	within(t, "latency of a new lane", b.Rate().Latency.Seconds(), 0.05, 0.01)
	if c := p.Lane(LaneConfig{Link: "other"}).Rate(); c != (Rate{Limited: true}) {
		t.Errorf("another link knows %+v", c)
	}
	if d := p.Lane(LaneConfig{}).Rate(); d != (Rate{Limited: true}) {
		t.Errorf("a nameless link knows %+v", d)
	}
	a.link.observe(transfer{start: time.Unix(5, 0), end: time.Unix(5, 1000), bytes: 1000, local: true})
	if l := b.Rate().Latency; l < 49*time.Millisecond {
		t.Errorf("another lane's cache has taught a latency of %v", l)
	}
	// What the lane sees itself counts more than what others saw; what it has not seen stays theirs.
	play(a.link, time.Unix(10, 0), 20, 2, 4<<20, 50*time.Millisecond, 100e6, false)
	play(b.link, time.Unix(20, 0), 3, 1, 1000, 10*time.Millisecond, 1e9, false)
	within(t, "own latency", b.Rate().Latency.Seconds(), 0.01, 0.01)
	within(t, "bandwidth that others saw", b.Rate().Bandwidth, 100e6, 0.1)
}

// A cache that answers first does not make the store near: its latency counts until the store's own is known.
func TestACacheTellsNothingOfTheStore(t *testing.T) {
	t.Parallel()
	shared := newLink(nil)
	k := newLink(shared)
	at := time.Unix(1, 0)
	cached := transfer{start: at, end: at.Add(75 * time.Microsecond), bytes: 64 << 10, local: true}
	k.observe(cached)
	if r := k.rate(); !r.Cached || r.Latency > time.Millisecond || r.Store != 0 || shared.samples != 0 {
		t.Errorf("after a cache's answer: %+v, and %d samples of the link", r, shared.samples)
	}
	newLink(shared).observe(transfer{start: at, end: at.Add(90 * time.Millisecond), bytes: 64 << 10})
	if r := k.rate(); !r.Cached || r.Latency > time.Millisecond || r.Store != 90*time.Millisecond {
		t.Errorf("while another lane knows the store: %+v", r)
	}
	k.observe(transfer{start: at, end: at.Add(100 * time.Millisecond), bytes: 64 << 10})
	k.observe(cached)
	if r := k.rate(); r.Cached || r.Latency != 100*time.Millisecond || r.Store != r.Latency || r.Samples != 1 {
		t.Errorf("after the store's answer: %+v", r)
	}
}

// The typical latency is asked for far more often than it changes; asking keeps what comes next in its place.
func TestTypicalFollowsTheLastSamples(t *testing.T) {
	t.Parallel()
	k := newLink(nil)
	at := time.Unix(1, 0)
	for i := range 5 * recentSmall {
		d := time.Duration(1+i%7) * time.Millisecond
		if i >= 3*recentSmall {
			d *= 10
		}
		k.observe(transfer{start: at, end: at.Add(d), bytes: 1})
		var last []time.Duration
		for j := max(0, i+1-recentSmall); j <= i; j++ {
			d := time.Duration(1+j%7) * time.Millisecond
			if j >= 3*recentSmall {
				d *= 10
			}
			last = append(last, d)
		}
		slices.Sort(last)
		for range 2 {
			if got, want := k.rate().Typical, last[len(last)/2]; got != want {
				t.Fatalf("after %d samples %v, want %v", i+1, got, want)
			}
		}
	}
}
