package prefetchpool

import (
	"testing"
	"time"
)

// play feeds transfers of n bytes, wide at a time, over a link of the given bandwidth and latency.
func play(k *link, at time.Time, rounds, wide int, n int64, latency time.Duration, bandwidth float64, limited bool) time.Time {
	for range rounds {
		marks := make([]mark, wide)
		for i := range marks {
			marks[i] = k.begin(at)
		}
		at = at.Add(latency)
		for i := range marks {
			at = at.Add(time.Duration(float64(n) / bandwidth * float64(time.Second)))
			k.observe(marks[i], at, n, limited)
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
	within(t, "bandwidth", k.rate().Bandwidth, 125e6, 0.35) // rounds with a gap of one latency each
	high := k.rate().Bandwidth

	// An app-limited time lowers nothing, however long.
	at = at.Add(time.Minute)
	at = play(k, at, 50, 1, 64<<10, 100*time.Millisecond, 125e6, true)
	if got := k.rate().Bandwidth; got != high {
		t.Errorf("learnt %g from an app-limited time, was %g", got, high)
	}
	// A busy link that became slow lowers it by half every 10 s.
	at = play(k, at, 10, 16, 2<<20, 100*time.Millisecond, 10e6, false)
	if got := k.rate().Bandwidth; got > high/2 {
		t.Errorf("still %g after %v of a slow link, was %g", got, at, high)
	}
}

func TestRateIsSharedByName(t *testing.T) {
	t.Parallel()
	p := newPool(t, 4, nil)
	a := p.Lane(LaneConfig{Link: "s3.example"})
	play(a.link, time.Unix(1, 0), 3, 1, 1000, 50*time.Millisecond, 1e9, false)
	b := p.Lane(LaneConfig{Link: "s3.example"})
	within(t, "latency of a new lane", b.Rate().Latency.Seconds(), 0.05, 0.01)
	if c := p.Lane(LaneConfig{Link: "other"}).Rate(); c != (Rate{}) {
		t.Errorf("another link knows %+v", c)
	}
	if d := p.Lane(LaneConfig{}).Rate(); d != (Rate{}) {
		t.Errorf("a nameless link knows %+v", d)
	}
	// What the lane sees itself counts more than what others saw.
	play(b.link, time.Unix(1, 0), 3, 1, 1000, 10*time.Millisecond, 1e9, false)
	within(t, "own latency", b.Rate().Latency.Seconds(), 0.01, 0.01)
}
