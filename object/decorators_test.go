package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

func TestMuxPicksByScheme(t *testing.T) {
	t.Parallel()
	a, b := mem.New(), mem.New()
	a.Put("s3://b/f", []byte("a"))
	b.Put("/f", []byte("b"))
	s := object.Mux(map[string]object.Store{"s3": a, "file": b})
	for text, want := range map[string]string{"s3://b/f": "a", "s3a://b/f": "a", "s3n://b/f": "a", "file:///f": "b", "/f": "b"} {
		got, _, err := s.Read(t.Context(), at(t, text), object.Whole, nil, object.ReadOptions{})
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, hint := range map[string]string{"gs://b/f": "file, s3", "data/f": "mapping"} {
		_, _, err := s.Read(t.Context(), at(t, text), object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, object.ErrInvalid) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.(object.Writer).Delete(t.Context(), at(t, text)); !errors.Is(err, object.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a store below cannot do is said, by every decorator.
func TestUnsupportedIsSaid(t *testing.T) {
	t.Parallel()
	bare := storeFunc(nil)
	loc := at(t, "s3://b/f")
	for name, s := range map[string]object.Store{
		"mux": object.Mux(map[string]object.Store{"s3": bare}), "retry": object.Retry(bare, object.RetryConfig{}), "metered": object.Metered(bare, object.NewMeter(nil)),
		"cached": object.Cached(bare, object.CacheConfig{}), "mapped": object.Mapped(bare, []object.Mapping{{From: "x", To: "s3://b"}}),
	} {
		var errs []error
		for _, err := range s.(object.Lister).List(t.Context(), loc) {
			errs = append(errs, err)
		}
		_, err := s.(object.Writer).Create(t.Context(), loc, "")
		errs = append(errs, err, s.(object.Writer).Delete(t.Context(), loc))
		for _, err := range errs {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(errs) != 3 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// L47, the store's part: a recorded location is rewritten to open it, and stays what it was.
func TestL47_MappedOpensElsewhere(t *testing.T) {
	t.Parallel()
	m := mem.New()
	for _, f := range []string{"s3://new/wh/t/f", "s3://other/deep/f", "/local/dir/f", "s3://rel/ative/data/f", "s3://old/wh2/f", "s3://old/unmapped/f", "s3://new/bucket/x/f"} {
		m.Put(f, []byte(f))
	}
	s := object.Mapped(m, []object.Mapping{
		{From: "s3a://old/wh", To: "s3://new/wh/"},
		{From: "s3://old/wh/deep/", To: "s3://other/deep"},
		{From: "hdfs://nn/data", To: "/local/dir"},
		{From: "", To: "s3://rel/ative"},
		{From: "s3://whole", To: "s3://new/bucket"},
		{From: "file://data/t", To: "s3://new/wh/t"},
	})
	for text, want := range map[string]string{
		"s3://old/wh/t/f":     "s3://new/wh/t/f",
		"s3n://old/wh/t/f":    "s3://new/wh/t/f", // one scheme in three spellings
		"s3://old/wh/deep/f":  "s3://other/deep/f",
		"hdfs://nn/data/f":    "/local/dir/f",
		"s3a://whole/x/f":     "s3://new/bucket/x/f",
		"data/f":              "s3://rel/ative/data/f",
		"file://data/t/f":     "s3://new/wh/t/f", // a folder taken for a host
		"s3://old/wh2/f":      "s3://old/wh2/f",  // not at a path boundary
		"s3://old/unmapped/f": "s3://old/unmapped/f",
	} {
		loc := at(t, text)
		got, info, err := s.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
		if err != nil || string(got) != want || info.Location != loc {
			t.Errorf("%s: %q, %+v, %v; want %q", text, got, info, err, want)
		}
	}
	var listed []string
	for info, err := range s.(object.Lister).List(t.Context(), at(t, "s3a://old/wh/t")) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, info.Location.Recorded)
	}
	if !slices.Equal(listed, []string{"s3a://old/wh/t/f"}) {
		t.Errorf("listed %q: want recorded locations", listed)
	}
	if object.Mapped(m, nil) != object.Store(m) {
		t.Error("no mapping is no decorator")
	}
	bad := object.Mapped(m, []object.Mapping{{From: "s3://old", To: "s3://"}})
	if _, _, err := bad.Read(t.Context(), at(t, "s3://old/f"), object.Whole, nil, object.ReadOptions{}); !errors.Is(err, object.ErrInvalid) {
		t.Errorf("mapping to nowhere: %v", err)
	}
}

// A store that breaks bodies anywhere, gives back more, less, or its own buffers: Retry gives the right bytes or an error.
func TestRetryResumesAnyStore(t *testing.T) {
	t.Parallel()
	data := objecttest.Bytes(1 << 20)
	for _, own := range []bool{false, true} { // own: the store ignores dst
		for _, tagged := range []bool{false, true} {
			for _, r := range []object.Range{{Off: 1000, Len: 900_000}, object.Suffix(900_000), object.Whole, {Off: 5000, Len: -1}} {
				synctest.Test(t, func(t *testing.T) {
					call := 0
					s := storeFunc(func(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
						call++
						off, n, err := r.Resolve(int64(len(data)))
						if err != nil {
							t.Errorf("call %d asks for [%s]", call, r)
							return nil, object.Info{}, err
						}
						info := object.Info{Location: loc, Size: int64(len(data))}
						if tagged {
							info.ETag = "tag"
						}
						if call > 1 && tagged && o.ETag != "tag" {
							t.Errorf("call %d is not pinned", call)
						}
						if own {
							dst = nil
						}
						out := object.Buffer(dst, n)
						copy(out, data[off:off+n])
						if call <= 4 {
							return out[:n/3], info, &object.Error{Op: "read", Location: loc, Status: 200, Err: object.ErrUnavailable}
						}
						return out, info, nil
					})
					meter := object.NewMeter(nil)
					chain := object.Retry(s, object.RetryConfig{Meter: meter})
					off, n, _ := r.Resolve(int64(len(data)))
					for _, dst := range [][]byte{nil, make([]byte, 10), make([]byte, n+5)} {
						call = 0
						got, info, err := chain.Read(t.Context(), at(t, "s3://b/f"), r, dst, object.ReadOptions{})
						if err != nil || !bytes.Equal(got, data[off:off+n]) || info.Size != int64(len(data)) {
							t.Errorf("own %v tagged %v [%s]: %d bytes, %v", own, tagged, r, len(got), err)
						}
						if len(dst) > int(n) && &got[0] != &dst[0] && (tagged || !own) {
							t.Error("a fitting destination was not used")
						}
					}
					if resumes := meter.Stats().Resumes; (resumes == 12) != tagged {
						t.Errorf("%d resumes, tagged %v", resumes, tagged)
					}
				})
			}
		}
	}
}

func TestRetryRefusesAResumeOfTheWrongLength(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := 0
		s := storeFunc(func(_ context.Context, loc object.Location, r object.Range, _ []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
			info := object.Info{Location: loc, Size: 100, ETag: "e"}
			if call++; call%2 == 1 {
				return make([]byte, 40), info, &object.Error{Op: "read", Status: 200, Err: object.ErrUnavailable}
			}
			return make([]byte, 10), info, nil // of the 60 that are missing
		})
		_, _, err := object.Retry(s, object.RetryConfig{}).Read(t.Context(), at(t, "s3://b/f"), object.Range{Off: 0, Len: 100}, nil, object.ReadOptions{})
		if !errors.Is(err, object.ErrCorrupt) && !errors.Is(err, object.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	})
}

// One attempt means one, even where the store asks for less.
func TestRetryOfOneAttempt(t *testing.T) {
	t.Parallel()
	n := 0
	s := storeFunc(func(context.Context, object.Location, object.Range, []byte, object.ReadOptions) ([]byte, object.Info, error) {
		n++
		return nil, object.Info{}, &object.Error{Op: "read", Status: 503, Code: "SlowDown", Err: object.ErrUnavailable}
	})
	_, _, err := object.Retry(s, object.RetryConfig{Attempts: 1}).Read(t.Context(), at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{})
	if !errors.Is(err, object.ErrUnavailable) || n != 1 {
		t.Errorf("%d attempts, %v", n, err)
	}
}

// A cancel during a backoff ends it at once, and says after what.
func TestCancelDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storeFunc(func(context.Context, object.Location, object.Range, []byte, object.ReadOptions) ([]byte, object.Info, error) {
			return nil, object.Info{}, &object.Error{Op: "read", Status: 503, RetryAfter: 4 * time.Second, Err: object.ErrUnavailable}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("user left")) })
		start := time.Now()
		_, _, err := object.Retry(s, object.RetryConfig{}).Read(ctx, at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "user left") || !strings.Contains(err.Error(), "unavailable") || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// The meter sees real requests, reads of local stores apart, and every event reaches the hook.
func TestMeterCountsAndTells(t *testing.T) {
	t.Parallel()
	var events atomic.Int64
	var kinds []string
	meter := object.NewMeter(func(e object.Event) {
		events.Add(1)
		kinds = append(kinds, e.Kind.String())
	})
	m := mem.New()
	m.Put("s3://b/f", objecttest.Bytes(1000))
	s := object.Metered(m, meter)
	loc := at(t, "s3://b/f")
	for range 3 {
		if _, _, err := s.Read(t.Context(), loc, object.Suffix(100), nil, object.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Read(t.Context(), at(t, "s3://b/none"), object.Whole, nil, object.ReadOptions{}); err == nil {
		t.Fatal("no error")
	}
	if st := meter.Stats(); st.LocalReads != 3 || st.LocalBytes != 300 || len(st.Requests) != 0 || st.InFlight != 0 {
		t.Errorf("stats %+v", st)
	}
	// A store that reports: one logical read may be several requests.
	reporting := storeFunc(func(ctx context.Context, loc object.Location, r object.Range, _ []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
		a := object.AttemptFrom(ctx)
		start := time.Now()
		a.Report(object.Request{Kind: object.Get, Location: loc, Range: r, Status: 301, Start: start, NewConn: true, Err: errors.New("moved")})
		a.Report(object.Request{Kind: object.Get, Location: loc, Range: r, Status: 206, Bytes: 1 << 20, Start: start, TTFB: 50 * time.Millisecond, Duration: 150 * time.Millisecond})
		return make([]byte, 1<<20), object.Info{Size: 1 << 20}, nil
	})
	s = object.Metered(object.Metered(reporting, object.NewMeter(nil)), meter) // one below does not disturb
	if _, _, err := s.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	st := meter.Stats()
	if st.Requests[object.Get] != 2 || st.BytesRead != 1<<20 || st.Failed != 1 || st.ConnsCreated != 1 || st.ConnsReused != 1 || st.TTFB != 50*time.Millisecond || st.LocalReads != 3 {
		t.Errorf("stats %+v", st)
	}
	if st.ConnRate < 10e6 || st.ConnRate > 11e6 || st.Bandwidth == 0 {
		t.Errorf("rates %v, %v", st.ConnRate, st.Bandwidth)
	}
	if fmt.Sprint(kinds) != "[request request]" || events.Load() != 2 {
		t.Errorf("events %v", kinds)
	}
}

// Depth 0 must cost no goroutine: a read without a hedge runs where it is called.
func TestI09_ReadStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	m := mem.New()
	m.Put("s3://b/f", objecttest.Bytes(1000))
	var inside atomic.Int64
	s := object.Retry(object.Metered(storeFunc(func(ctx context.Context, loc object.Location, r object.Range, dst []byte, o object.ReadOptions) ([]byte, object.Info, error) {
		inside.Store(goroutine())
		return m.Read(ctx, loc, r, dst, o)
	}), object.NewMeter(nil)), object.RetryConfig{})
	if _, _, err := s.Read(t.Context(), at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{Urgent: func() bool { return true }}); err != nil {
		t.Fatal(err)
	}
	if inside.Load() != goroutine() {
		t.Error("the store was read on another goroutine")
	}
}
