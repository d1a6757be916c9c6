package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
)

// One read is one request: no HEAD, no location, nothing else.
func TestI10_OneReadIsOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "* * -> delay 50ms", object.RetryConfig{})
		loc, data := g.put(t, "data/f.parquet", 300_000)
		for _, r := range []object.Range{object.Suffix(65536), {Off: 4, Len: 100_000}, object.Whole} {
			got, _, err := g.read(t, loc, r, object.ReadOptions{Size: 300_000})
			off, n, _ := r.Resolve(300_000)
			wantBytes(t, got, err, data[off:off+n])
		}
		log := g.rules.Log()
		if len(log) != 3 || g.rules.Count("GET", "bucket/data/f.parquet") != 3 {
			t.Errorf("requests: %v", log)
		}
		if s := g.meter.Stats(); s.Requests[object.Get] != 3 || s.BytesRead != 465_536 || s.ConnsCreated != 1 || s.ConnsReused != 2 || s.TTFB != 50*time.Millisecond {
			t.Errorf("stats %+v", s)
		}
	})
}

// 32 first reads at once send 32 requests: nobody asks for the bucket's location.
func TestI10_ColdStartAsksNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "* * -> delay 50ms", object.RetryConfig{})
		loc, data := g.put(t, "f", 32_000)
		took := since(func() {
			var wg sync.WaitGroup
			for i := range int64(32) {
				wg.Go(func() {
					got, _, err := g.read(t, loc, object.Range{Off: i * 1000, Len: 1000}, object.ReadOptions{})
					wantBytes(t, got, err, data[i*1000:i*1000+1000])
				})
			}
			wg.Wait()
		})
		if n := len(g.rules.Log()); n != 32 || took != 50*time.Millisecond {
			t.Errorf("%d requests in %v, want 32 in 50ms", n, took)
		}
	})
}

// L61, I11: an object replaced between any two GETs is an error, and no byte of the new version comes back.
func TestL61_I11_SwappedObjectIsAnError(t *testing.T) {
	t.Parallel()
	for _, size := range []int{200_000, 60_000, 900_000} { // same, shorter, longer
		for after := range 4 {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, fmt.Sprintf("GET bucket/f #%d -> call swap", after+2), object.RetryConfig{})
				loc, data := g.put(t, "f", 200_000)
				g.rules.On("swap", func(*http.Request) { g.srv.Put("bucket", "f", objecttest.Bytes(size + 1)[:size]) })
				o := object.ReadOptions{Size: 200_000}
				for i := range int64(6) {
					r := object.Range{Off: i * 30_000, Len: 30_000}
					got, info, err := g.read(t, loc, r, o)
					if int(i) <= after {
						wantBytes(t, got, err, data[r.Off:r.Off+r.Len])
						o.ETag = info.ETag
						continue
					}
					if e := wantClass(t, err, object.ErrChanged); len(got) != 0 || e.Attempts != 1 {
						t.Errorf("GET %d: %d bytes, %d attempts", i, len(got), e.Attempts)
					}
				}
				if s := g.meter.Stats(); s.Changed != int64(5-after) {
					t.Errorf("%d changes counted, want %d", s.Changed, 5-after)
				}
			})
		}
	}
}

// A proxy marks ETags as weak, in all answers or in some: that is no change of the object, and If-Match, which is never true of a weak tag, is not
// sent with one. A real change is seen by the answer's tag.
func TestI11_WeakETags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules string
		weak  [4]bool // which answers are marked
	}{
		{"GET * -> etag W/", [4]bool{true, true, true, true}},
		{"GET * #1 -> etag W/", [4]bool{true, false, false, false}},
		{"GET * #2 -> etag W/", [4]bool{false, true, false, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, c.rules+"\nGET * #3 -> cut 1000\nGET * #5 -> call swap", object.RetryConfig{})
			loc, data := g.put(t, "f", 200_000)
			g.rules.On("swap", func(*http.Request) { g.srv.Put("bucket", "f", objecttest.Bytes(200_001)[:200_000]) })
			o := object.ReadOptions{Size: 200_000}
			pin := ""
			for i := range int64(3) { // the third body breaks and is resumed
				got, info, err := g.read(t, loc, object.Range{Off: i * 30_000, Len: 30_000}, o)
				wantBytes(t, got, err, data[i*30_000:(i+1)*30_000])
				if pin == "" {
					pin = info.ETag
				}
				o.ETag = info.ETag
			}
			if weak := pin != object.Opaque(pin); weak != c.weak[0] || strings.Contains(pin, `"`) {
				t.Errorf("%s: pinned %q", c.rules, pin)
			}
			for i, e := range g.rules.Log()[1:] {
				if (e.IfMatch == "") != c.weak[i] {
					t.Errorf("%s: request %d has If-Match %q after an answer that is weak: %v", c.rules, i+2, e.IfMatch, c.weak[i])
				}
			}
			got, _, err := g.read(t, loc, object.Range{Off: 100_000, Len: 1000}, o)
			if wantClass(t, err, object.ErrChanged); len(got) != 0 {
				t.Errorf("%s: %d bytes of another version", c.rules, len(got))
			}
		})
	}
}

// An object that changes in the middle of one read, between a body that broke and its rest.
func TestI11_SwapDuringResumeIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f #1 -> cut 50000\nGET bucket/f #2 -> call swap", object.RetryConfig{})
		loc, _ := g.put(t, "f", 200_000)
		g.rules.On("swap", func(*http.Request) { g.srv.Put("bucket", "f", objecttest.Bytes(200_001)[:200_000]) })
		_, _, err := g.read(t, loc, object.Range{Off: 10, Len: 150_000}, object.ReadOptions{})
		wantClass(t, err, object.ErrChanged)
		if log := g.rules.Log(); len(log) != 2 || log[1].Range != "50010-150009" || log[1].IfMatch == "" {
			t.Errorf("requests %v", log)
		}
	})
}

// I12: a body that ends, breaks or stalls at byte k goes on at byte k.
func TestI12_BrokenBodyResumesAtTheByte(t *testing.T) {
	t.Parallel()
	const size, off, n = 700_000, 1000, 600_000
	for _, fault := range []string{"cut", "reset", "stall"} {
		for _, k := range []int{0, 1, 4095, 65_535, 65_536, 65_537, n - 1} {
			for _, r := range []object.Range{{Off: off, Len: n}, object.Suffix(n), {Off: size - n, Len: -1}} {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, fmt.Sprintf("GET bucket/f #1 -> %s %d", fault, k), object.RetryConfig{})
					loc, data := g.put(t, "f", size)
					from, _, _ := r.Resolve(size)
					dst := make([]byte, n)
					got, info, err := g.store.Read(t.Context(), loc, r, dst, object.ReadOptions{Size: size})
					wantBytes(t, got, err, data[from:from+n])
					if err == nil && (&got[0] != &dst[0] || info.Size != size) {
						t.Errorf("answer not in the destination, or info %+v", info)
					}
					log := g.rules.Log()
					if len(log) != 2 {
						t.Fatalf("requests %v", log)
					}
					if want := fmt.Sprintf("%d-%d", from+int64(k), from+n-1); k > 0 && (log[1].Range != want || log[1].IfMatch == "") {
						t.Errorf("%s at %d: resumed by %q if-match %q, want %q", fault, k, log[1].Range, log[1].IfMatch, want)
					}
					if s := g.meter.Stats(); k > 0 && s.Resumes != 1 {
						t.Errorf("%d resumes counted", s.Resumes)
					}
				})
			}
		}
	}
}

// I13: a server that asks for a minute on every 503 gets five seconds.
func TestI13_RetryAfterIsClamped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET * -> status 503 retry-after=60", object.RetryConfig{})
		loc, _ := g.put(t, "f", 1000)
		var err error
		took := since(func() { _, _, err = g.read(t, loc, object.Whole, object.ReadOptions{}) })
		e := wantClass(t, err, object.ErrUnavailable)
		if took != 6*5*time.Second || e.Attempts != 7 || e.Code != "SlowDown" || e.Status != 503 {
			t.Errorf("took %v, error %+v; want 6 waits of 5s", took, e)
		}
		if s := g.meter.Stats(); s.Throttled != 7 || s.Retries != 6 || s.RetryAfterClamped != 6*55*time.Second {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestI13_BackoffIsFullJitterWithinItsBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jitter float64
		want   time.Duration
	}{{0, 0}, {0.5, 375 * time.Millisecond}, {1, 750 * time.Millisecond}} { // 50+100+200+400 ms times the jitter
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET * -> status 500", object.RetryConfig{Rand: func() float64 { return c.jitter }})
			loc, _ := g.put(t, "f", 1000)
			took := since(func() {
				_, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
				wantClass(t, err, object.ErrUnavailable)
			})
			if took != c.want {
				t.Errorf("jitter %v took %v, want %v", c.jitter, took, c.want)
			}
		})
	}
}

// A wait never outlives the caller's deadline: half of what is left is waited, so that one more try can come.
func TestI13_WaitFitsTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET * #1 -> status 503 retry-after=60", object.RetryConfig{})
		loc, data := g.put(t, "f", 1000)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		took := since(func() {
			got, _, err := g.store.Read(ctx, loc, object.Whole, nil, object.ReadOptions{})
			wantBytes(t, got, err, data)
		})
		if took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
	})
}

// In an outage the retries of all reads together stay within the budget.
func TestI13_RetriesStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET * -> status 500", object.RetryConfig{})
		loc, _ := g.put(t, "f", 1000)
		const reads = 2000
		took := since(func() {
			var wg sync.WaitGroup
			for range reads {
				wg.Go(func() {
					_, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
					wantClass(t, err, object.ErrUnavailable)
				})
			}
			wg.Wait()
		})
		s := g.meter.Stats()
		limit := int64(0.10*reads + 100 + 10*(took.Seconds()+1))
		if s.Retries > limit || s.Requests[object.Get] != reads+s.Retries {
			t.Errorf("%d retries in %v, limit %d; %d requests", s.Retries, took, limit, s.Requests[object.Get])
		}
		if took > 11*time.Second {
			t.Errorf("the outage was reported after %v", took)
		}
	})
}

func TestNeverRetried(t *testing.T) {
	t.Parallel()
	for status, class := range map[int]error{
		400: object.ErrInvalid, 401: object.ErrDenied, 403: object.ErrDenied, 404: object.ErrNotFound, 412: object.ErrChanged, 416: object.ErrRange, 301: object.ErrInvalid, 501: errors.ErrUnsupported,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, fmt.Sprintf("GET * -> status %d retry-after=60", status), object.RetryConfig{})
			loc, _ := g.put(t, "f", 1000)
			took := since(func() {
				_, _, err := g.read(t, loc, object.Range{Off: 1, Len: 2}, object.ReadOptions{})
				if e := wantClass(t, err, class); e.Attempts != 1 || e.Status != status {
					t.Errorf("%+v", e)
				}
			})
			if took != 0 || len(g.rules.Log()) != 1 {
				t.Errorf("%d: %v, requests %v", status, took, g.rules.Log())
			}
		})
	}
}

// Throttling is known by its code whatever the status, and a body that is no XML is survived.
func TestCodesBeforeStatus(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"status 400 code=SlowDown", "status 403 code=RequestLimitExceeded", "status 400 code=RequestTimeout", "status 502", "status 429", "status 408"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET * -> "+rule+" x2", object.RetryConfig{})
			loc, data := g.put(t, "f", 1000)
			got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
			wantBytes(t, got, err, data)
			if len(g.rules.Log()) != 3 {
				t.Errorf("%s: requests %v", rule, g.rules.Log())
			}
		})
	}
}

// An answer to another question than the one asked is never taken.
func TestWrongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"ignore-range", "content-range shift=1", "content-range total=+1", "content-range total=-1", "content-range short=1", "content-range none",
	} {
		for _, r := range []object.Range{{Off: 100, Len: 500}, object.Suffix(500), {Off: 9500, Len: -1}} {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, "GET * -> "+fault+" x1", object.RetryConfig{})
				loc, data := g.put(t, "f", 10_000)
				_, _, err := g.s3.Read(t.Context(), loc, r, nil, object.ReadOptions{Size: 10_000})
				if !errors.Is(err, object.ErrCorrupt) && !errors.Is(err, object.ErrChanged) {
					t.Errorf("%s [%s]: %v", fault, r, err)
				}
				// The next try, of a server that has come to its senses, is right.
				off, n, _ := r.Resolve(10_000)
				got, _, err := g.read(t, loc, r, object.ReadOptions{Size: 10_000})
				wantBytes(t, got, err, data[off:off+n])
			})
		}
	}
}

// L59: a cancel in mid-body, a thousand times: it returns at once, nothing is left running, the store serves on.
func TestL59_CancelInMidBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f range=0-99999 -> stall 5000", object.RetryConfig{})
		loc, data := g.put(t, "f", 100_000)
		for i := range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(i%7)*time.Millisecond, cancel)
			took := since(func() {
				_, _, err := g.store.Read(ctx, loc, object.Range{Off: 0, Len: 100_000}, nil, object.ReadOptions{})
				wantClass(t, err, context.Canceled)
			})
			if took != time.Duration(i%7)*time.Millisecond {
				t.Fatalf("cancel %d took %v", i, took)
			}
		}
		got, _, err := g.read(t, loc, object.Range{Off: 10, Len: 10}, object.ReadOptions{})
		wantBytes(t, got, err, data[10:20])
		synctest.Wait()
		if n := g.rules.Open(); n != 0 {
			t.Errorf("%d answers still open", n)
		}
		if n := g.meter.Stats().InFlight; n != 0 {
			t.Errorf("%d reads in flight", n)
		}
	})
}

// L59: reading at and past the end is ErrRange, and spoils nothing.
func TestL59_EndOfObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "", object.RetryConfig{})
		loc, data := g.put(t, "f", 1000)
		for _, r := range []object.Range{{Off: 1000, Len: 1}, {Off: 5000, Len: 10}, {Off: 999, Len: 2}, {Off: 1000, Len: -1}} {
			_, _, err := g.read(t, loc, r, object.ReadOptions{})
			if !errors.Is(err, object.ErrRange) && !(r.Off == 1000 && r.Len < 0) {
				t.Errorf("[%s]: %v", r, err)
			}
			got, _, err := g.read(t, loc, object.Range{Off: 0, Len: 10}, object.ReadOptions{}) // back to the start
			wantBytes(t, got, err, data[:10])
		}
		// A range inside of the expected size, but not of the object, means that the object shrank.
		_, _, err := g.read(t, loc, object.Range{Off: 1500, Len: 10}, object.ReadOptions{Size: 2000})
		wantClass(t, err, object.ErrChanged)
	})
}

// L60: resets in mid-body, once and three times, are resumed; always, they end in a typed error after bounded tries.
func TestL60_ResetsInMidBody(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	for _, c := range []struct {
		uses string
		gets int
	}{{"x1", 2}, {"x3", 4}} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET bucket/f -> reset 50000 "+c.uses, object.RetryConfig{})
			loc, data := g.put(t, "f", size)
			got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
			wantBytes(t, got, err, data)
			if n := len(g.rules.Log()); n != c.gets {
				t.Errorf("%d requests, want %d", n, c.gets)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f -> reset 50000", object.RetryConfig{})
		loc, _ := g.put(t, "f", size)
		_, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
		if e := wantClass(t, err, object.ErrUnavailable); e.Attempts != 5 || len(g.rules.Log()) != 5 || e.Range != object.Whole {
			t.Errorf("error %+v after %d requests", e, len(g.rules.Log()))
		}
	})
	// Resets that let 300 KB through each time do not end a read of 2 MiB: it gets on.
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET bucket/f -> reset 300000", object.RetryConfig{})
		loc, data := g.put(t, "f", size)
		got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
		wantBytes(t, got, err, data)
		if n := len(g.rules.Log()); n != 7 {
			t.Errorf("%d requests, want 7", n)
		}
	})
}

// L60: half of all GETs throttled for 30 s are waited out; all GETs throttled are an error soon, and a bounded load.
func TestL60_Throttling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "* * -> delay 30ms\nGET bucket/* 50% -> status 503", object.RetryConfig{})
		_, data := g.put(t, "f", 64_000)
		const files = 64
		for i := range files {
			g.put(t, fmt.Sprintf("f%d", i), 64_000)
		}
		end := time.Now().Add(30 * time.Second)
		time.AfterFunc(30*time.Second, g.rules.Clear)
		var wg sync.WaitGroup
		var reads, failed atomic.Int64
		for w := range 16 {
			wg.Go(func() {
				for i := w; time.Now().Before(end) || i < 40; i++ {
					off := int64(i%64) * 1000
					got, _, err := g.read(t, at(t, fmt.Sprintf("s3://bucket/f%d", i%files)), object.Range{Off: off, Len: 1000}, object.ReadOptions{})
					reads.Add(1)
					if err != nil {
						failed.Add(1)
						continue
					}
					wantBytes(t, got, err, data[off:off+1000])
				}
			})
		}
		wg.Wait()
		s := g.meter.Stats()
		if failed.Load() != 0 || reads.Load() < 300 {
			t.Errorf("%d of %d reads failed", failed.Load(), reads.Load())
		}
		if limit := int64(0.1*float64(reads.Load()) + 100 + 10*31); s.Retries > limit {
			t.Errorf("%d retries, limit %d", s.Retries, limit)
		}
	})
}

// L60: a store that throttles everything is an error after half a minute; one that is down, behind a proxy that says so, at once.
func TestL60_ThrottlingWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule      string
		low, high time.Duration
	}{{"status 503", 30 * time.Second, 33 * time.Second}, {"status 429", 30 * time.Second, 33 * time.Second}, {"status 503 code=Whatever", 0, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET * -> "+c.rule, object.RetryConfig{})
			loc, _ := g.put(t, "f", 1000)
			took := since(func() {
				_, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
				wantClass(t, err, object.ErrUnavailable)
			})
			if n := len(g.rules.Log()); took < c.low || took > c.high || n > 70 {
				t.Errorf("%s: %v and %d requests", c.rule, took, n)
			}
		})
	}
}

// L63: a server that accepts and says nothing, that stalls before its headers, that stalls in the body.
func TestL63_StallsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		want time.Duration // one attempt
	}{
		{"GET * -> hang", 30 * time.Second},
		{"GET * -> stall 0", 10 * time.Second},
		{"GET * -> stall 700", 10 * time.Second},
		{"GET * -> status 503, stall 0", 0}, // the status comes whole
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, c.rule, object.RetryConfig{})
			loc, _ := g.put(t, "f", 1000)
			took := since(func() {
				_, _, err := g.s3.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
				wantClass(t, err, object.ErrUnavailable)
			})
			if took != c.want {
				t.Errorf("%s: one attempt took %v, want %v", c.rule, took, c.want)
			}
		})
	}
}

// L63: one stall costs its limit, not the read.
func TestL63_StalledOnceIsRepeated(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"hang", "stall 0", "stall 600"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, "GET * #1 -> "+rule, object.RetryConfig{})
			loc, data := g.put(t, "f", 1000)
			got, _, err := g.read(t, loc, object.Range{Off: 0, Len: 1000}, object.ReadOptions{})
			wantBytes(t, got, err, data)
			if n := g.pipe.Dials(); n != 2 {
				t.Errorf("%s: %d connections, want a fresh one for the second try", rule, n)
			}
		})
	}
}

// L63: the limit is on silence, not on slowness: a body that keeps moving may take its time.
func TestL63_SlowBodyIsNotStalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "GET * -> stall 100 9s, stall 300 9s, stall 301 9s, stall 999 9s", object.RetryConfig{})
		loc, data := g.put(t, "f", 1000)
		took := since(func() {
			got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
			wantBytes(t, got, err, data)
		})
		if took != 36*time.Second || len(g.rules.Log()) != 1 {
			t.Errorf("%v, %d requests", took, len(g.rules.Log()))
		}
	})
}

// L63: once the bucket's first-byte times are known, silence ends after max(1 s, 4 x p99), and a slow but steady store is never cut off.
func TestL63_HeaderLimitFollowsTheTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ usual, low, high time.Duration }{
		{20 * time.Millisecond, time.Second, 1100 * time.Millisecond},
		{2 * time.Second, 8 * time.Second, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, fmt.Sprintf("GET * #1-40 -> delay %v\nGET * #41 -> hang", c.usual), object.RetryConfig{Rand: func() float64 { return 0 }})
			loc, data := g.put(t, "f", 1000)
			for range 40 {
				got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
				wantBytes(t, got, err, data)
			}
			if n := g.meter.Stats().Retries; n != 0 {
				t.Errorf("usual %v: %d retries before any fault", c.usual, n)
			}
			took := since(func() {
				got, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
				wantBytes(t, got, err, data)
			})
			if took < c.low || took > c.high {
				t.Errorf("usual %v: silence ended after %v, want %v to %v", c.usual, took, c.low, c.high)
			}
		})
	}
}

// L63: the connection itself does not come.
func TestL63_ConnectIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "", object.RetryConfig{})
		loc, _ := g.put(t, "f", 1000)
		g.pipe.Close() // refused from now on
		took := since(func() {
			_, _, err := g.read(t, loc, object.Whole, object.ReadOptions{})
			if e := wantClass(t, err, object.ErrUnavailable); e.Attempts != 5 || !strings.Contains(err.Error(), "refused") {
				t.Errorf("%v", err)
			}
		})
		if took > 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// L63: a host that swallows the first packet costs the connect limit an attempt.
func TestL63_ConnectThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, err := transport.Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}.New()
		if err != nil {
			t.Fatal(err)
		}
		store, err := s3.New(s3.Config{Credentials: object.Static(access("http://fake")), Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		took := since(func() {
			_, _, err = object.Retry(store, object.RetryConfig{Rand: func() float64 { return 0 }}).Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		})
		if e := wantClass(t, err, object.ErrUnavailable); took != 15*time.Second || e.Attempts != 5 {
			t.Errorf("%v after %v", err, took)
		}
		store.Close()
	})
}

// A canceled context costs no request.
func TestCanceledBeforeSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, "", object.RetryConfig{})
		loc, _ := g.put(t, "f", 1000)
		_, _, err := g.store.Read(canceled(t), loc, object.Whole, nil, object.ReadOptions{})
		wantClass(t, err, context.Canceled)
		if n := len(g.rules.Log()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}
