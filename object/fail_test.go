package object_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

func TestFailpoints(t *testing.T) {
	t.Parallel()
	data := objecttest.Bytes(1000)
	for _, c := range []struct {
		spec    string
		want    error
		took    time.Duration // without jitter
		retries int64
	}{
		{"object/get_error=2*error->off", nil, 0, 2},
		{"object/get_error=error", object.ErrUnavailable, 0, 4},
		{"object/get_error@s3://b/other*=error", nil, 0, 0},
		{"object/get_503=3*error(60)->off", nil, 15 * time.Second, 3},
		{"object/get_stall=sleep(2s)", nil, 2 * time.Second, 0},
		{"object/body_truncate=1*error(137)->off", nil, 0, 1},
		{"object/body_truncate=1*error(5000)->off", nil, 0, 1},
		{"object/range_ignored=1*error->off", nil, 0, 1},
		{"object/etag_swap=error", object.ErrChanged, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := mem.New()
			m.Put("s3://b/f", data)
			meter := object.NewMeter(nil)
			s := object.Retry(m, object.RetryConfig{Meter: meter, Rand: func() float64 { return 0 }})
			ctx, _ := failpoints.Scoped(t, t.Context(), c.spec, nil)
			start := time.Now()
			got, _, err := s.Read(ctx, at(t, "s3://b/f"), object.Range{Off: 10, Len: 900}, nil, object.ReadOptions{})
			switch {
			case !errors.Is(err, c.want) || time.Since(start) != c.took || meter.Stats().Retries != c.retries:
				t.Errorf("%s: %v after %v and %d retries", c.spec, err, time.Since(start), meter.Stats().Retries)
			case err == nil && !bytes.Equal(got, data[10:910]):
				t.Errorf("%s: wrong bytes", c.spec)
			}
		})
	}
}

func TestFailpointPauseEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := object.Retry(mem.New(), object.RetryConfig{})
		ctx, _ := failpoints.Scoped(t, t.Context(), "object/get_stall=pause", nil)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, _, err := s.Read(ctx, at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{})
		if e, ok := errors.AsType[*object.Error](err); !ok || !errors.Is(err, context.DeadlineExceeded) || e.Attempts != 1 {
			t.Errorf("%v", err)
		}
	})
}

func TestFailpointsOfCommit(t *testing.T) {
	t.Parallel()
	for spec, c := range map[string]struct {
		class     error
		published bool
	}{
		"object/commit_before=error": {object.ErrUnavailable, false},
		"object/commit_after=error":  {object.ErrUnknown, true},
	} {
		m := mem.New()
		s := object.Retry(m, object.RetryConfig{})
		ctx, _ := failpoints.Scoped(t, t.Context(), spec, nil)
		u, err := s.(object.Writer).Create(ctx, at(t, "s3://b/f"), "*")
		if err != nil {
			t.Fatal(err)
		}
		_, err = u.Commit(ctx)
		_, _, there := m.Read(t.Context(), at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{})
		if !errors.Is(err, c.class) || (there == nil) != c.published {
			t.Errorf("%s: %v, published %v", spec, err, there == nil)
		}
	}
}

// The copy is decided on, held, and comes too late: the first answer wins, and the copy is joined.
func TestFailpointHedgeRace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := mem.New()
		m.Put("s3://b/f", objecttest.Bytes(100))
		meter := object.NewMeter(nil)
		s := object.Retry(&probe{Store: m, delay: 100 * time.Millisecond}, object.RetryConfig{Meter: meter, HedgeAfter: 50 * time.Millisecond})
		ctx, _ := failpoints.Scoped(t, t.Context(), "object/hedge_race=pause", nil)
		start := time.Now()
		_, _, err := s.Read(ctx, at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{Urgent: func() bool { return true }})
		if err != nil || time.Since(start) != 100*time.Millisecond || meter.Stats().Hedges != 0 {
			t.Errorf("%v after %v, %d copies", err, time.Since(start), meter.Stats().Hedges)
		}
	})
}
