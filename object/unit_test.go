package object

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"
)

func TestRangeResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r      Range
		size   int64
		off, n int64
		ok     bool
	}{
		{Range{0, 10}, 10, 0, 10, true},
		{Range{0, 11}, 10, 0, 0, false},
		{Range{9, 1}, 10, 9, 1, true},
		{Range{10, 1}, 10, 0, 0, false},
		{Range{10, -1}, 10, 10, 0, true},
		{Range{11, -1}, 10, 0, 0, false},
		{Range{3, -1}, 10, 3, 7, true},
		{Whole, 0, 0, 0, true},
		{Whole, 10, 0, 10, true},
		{Suffix(3), 10, 7, 3, true},
		{Suffix(30), 10, 0, 10, true},
		{Suffix(3), 0, 0, 0, true},
		{Range{5, 0}, 10, 0, 0, false},
		{Range{math.MaxInt64, math.MaxInt64}, 10, 0, 0, false},
		{Range{math.MinInt64, 1}, 10, 0, 0, false},
	} {
		off, n, err := c.r.Resolve(c.size)
		if off != c.off || n != c.n || (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrRange)) {
			t.Errorf("[%s] of %d: %d+%d, %v", c.r, c.size, off, n, err)
		}
	}
	inside := func(off, length, size int64) bool {
		o, n, err := (Range{off, length}).Resolve(size & math.MaxInt64)
		return err != nil || (o >= 0 && n >= 0 && o+n <= size&math.MaxInt64)
	}
	if err := quick.Check(inside, nil); err != nil {
		t.Error(err)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	loc := Location{Recorded: "s3a://b/k"}
	for _, c := range []struct {
		e    *Error
		want string
	}{
		{&Error{Op: "read", Location: loc, Range: Range{5, 10}, Err: ErrNotFound, Status: 404, Code: "NoSuchKey", Attempts: 1, RequestID: "R"}, "object: read s3a://b/k [5+10]: not found (status 404, NoSuchKey, request R)"},
		{&Error{Op: "read", Location: loc, Range: Suffix(8), Err: fmt.Errorf("%w: it broke", ErrUnavailable), Attempts: 5}, "object: read s3a://b/k [-8]: unavailable: it broke (5 attempts)"},
		{&Error{Op: "commit", Location: loc, Err: ErrExists}, "object: commit s3a://b/k: exists already"},
		{&Error{Op: "read", Range: Whole}, "object: read: failed"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestHistogramQuantiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 10, 1000, 4000} {
		var h histogram
		var all []time.Duration
		for range n {
			d := time.Duration(math.Exp(r.NormFloat64()+18)) * 3 // about 200 ms, skewed
			all = append(all, d)
			h.add(d)
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.95, 0.99, 1} {
			exact := all[max(int(math.Ceil(q*float64(n)))-1, 0)]
			got := h.quantile(q)
			if got < exact || float64(got) > float64(exact)*histGrowth*1.001 {
				t.Errorf("%d samples, q %v: %v, exact %v: want 0 to 10 %% above", n, q, got, exact)
			}
		}
	}
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	for range 10 * maxSamples { // old times are forgotten
		h.add(time.Second)
	}
	for range maxSamples {
		h.add(10 * time.Millisecond)
	}
	if got := h.quantile(0.5); got > 12*time.Millisecond || h.n >= maxSamples {
		t.Errorf("median %v of %d samples after the change", got, h.n)
	}
	h.add(0)
	h.add(time.Hour) // beyond the classes: counted in the last
}

func TestTailDecisions(t *testing.T) {
	t.Parallel()
	var tl tail
	if tl.headerTimeout(1) != 0 || tl.hedgeDelay(0) != 0 || tl.hedgeDelay(time.Second) != time.Second || tl.outage(time.Now()) {
		t.Error("decisions without samples")
	}
	for range 100 {
		tl.record(100 * time.Millisecond)
	}
	if d := tl.hedgeDelay(0); d < 200*time.Millisecond || d > 220*time.Millisecond {
		t.Errorf("hedge after %v, want 2 x p50", d)
	}
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 30 * time.Second} {
		if got := tl.headerTimeout(n); got != want {
			t.Errorf("attempt %d: %v, want %v", n, got, want)
		}
	}
	now := time.Now()
	tl.throttled(now)
	if !tl.outage(now.Add(999*time.Millisecond)) || tl.outage(now.Add(time.Second)) {
		t.Error("a 503 calms down for a second")
	}
	tl.waiting(16, 2)
	if tl.outage(now.Add(time.Minute)) {
		t.Error("two stragglers of sixteen are no outage")
	}
	tl.waiting(0, 3)
	if !tl.outage(now.Add(time.Minute)) {
		t.Error("five overdue of sixteen are one")
	}
	tl.waiting(-16, -5)
	for range 20 {
		tl.record(300 * time.Millisecond)
	}
	if !tl.outage(now.Add(time.Minute)) {
		t.Error("the median has tripled")
	}
}

func TestAllowance(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	a := newAllowance(0.1, 10, 3, 3)
	for i := range 3 {
		if w, ok := a.reserve(now, time.Second); w != 0 || !ok {
			t.Fatalf("token %d: %v %v", i, w, ok)
		}
	}
	for i := 1; i <= 10; i++ { // promised ahead, 100 ms apart
		if w, ok := a.reserve(now, time.Second); !ok || (w-time.Duration(i)*100*time.Millisecond).Abs() > time.Microsecond {
			t.Errorf("turn %d: %v %v", i, w, ok)
		}
	}
	if w, ok := a.reserve(now, time.Second); ok {
		t.Errorf("a turn beyond patience: %v", w)
	}
	for range 115 {
		a.request() // pays the debt of ten, and one token more
	}
	if w, ok := a.reserve(now, 0); !ok || w != 0 {
		t.Errorf("after 115 requests: %v %v", w, ok)
	}
	a.refillLocked(now.Add(time.Hour))
	if a.mu.tokens != 3 {
		t.Errorf("%v tokens, burst 3", a.mu.tokens)
	}
	h := newAllowance(0.02, 0, 5, 1)
	if !h.take(now) || h.take(now.Add(time.Hour)) {
		t.Error("one hedge at the start, and none from time")
	}
	for range 51 {
		h.request()
	}
	if !h.take(now) || h.take(now) {
		t.Error("one hedge for fifty requests")
	}
}

// flow spreads bodies over their time: sixteen at 10 MB/s each, side by side, are 160 MB/s however the pieces end.
func TestFlowMeasuresTheLink(t *testing.T) {
	t.Parallel()
	var f flow
	start := time.Unix(5000, 0)
	end := start
	for i := range 160 {
		from := start.Add(time.Duration(i/16) * 800 * time.Millisecond).Add(time.Duration(i%16) * 37 * time.Millisecond)
		end = from.Add(800 * time.Millisecond)
		f.add(from, end, 8_000_000)
	}
	if got := f.high(end); math.Abs(got-160e6) > 8e6 {
		t.Errorf("%.0f MB/s, want 160", got/1e6)
	}
	if got := f.high(end.Add(10 * time.Second)); math.Abs(got-f.high(end)/2) > 1 {
		t.Errorf("%.0f MB/s after a half life", got/1e6)
	}
	// The link is four times slower from now on: in half a minute the estimate has followed.
	for i := range 60 {
		from := end.Add(time.Duration(i) * 800 * time.Millisecond)
		f.add(from, from.Add(800*time.Millisecond), 32_000_000)
	}
	if got := f.high(end.Add(48 * time.Second)); math.Abs(got-40e6) > 4e6 {
		t.Errorf("%.0f MB/s, want 40", got/1e6)
	}
	var zero flow
	zero.add(start, start, 0)
	zero.add(start, start, 100) // no time at all
	zero.add(start.Add(-time.Hour), start.Add(-time.Hour+time.Second), 100)
	zero.add(start, start.Add(time.Hour), 1<<40) // longer than the ring
	if v := zero.high(start); math.IsNaN(v) || math.IsInf(v, 0) {
		t.Errorf("%v", v)
	}
}

func TestEventAndKindNames(t *testing.T) {
	t.Parallel()
	for k := range EventClamped + 1 {
		if k.String() == "" {
			t.Errorf("event %d", k)
		}
	}
	for k := range numKinds {
		if k.String() == "" {
			t.Errorf("kind %d", k)
		}
	}
}

func TestRetryConfigValidates(t *testing.T) {
	t.Parallel()
	bad := RetryConfig{Attempts: -1, HedgeShare: 2}
	err := bad.Validate()
	if err == nil || len(err.(interface{ Unwrap() []error }).Unwrap()) != 2 {
		t.Errorf("%v: want both faults", err)
	}
	if err := (RetryConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}
