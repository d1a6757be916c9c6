package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestL72_Throttling(t *testing.T) {
	t.Parallel()
	body := func(typ string) string { return fmt.Sprintf(`{"error":{"message":"m","type":%q,"code":0}}`, typ) }
	for _, c := range []struct {
		name    string
		status  int
		typ     string
		header  http.Header
		times   int
		tries   int // requests seen
		elapsed time.Duration
		class   error
	}{
		{"400 throttle", 400, "ThrottlingException", nil, 3, 4, -1, nil},
		{"403 slow down", 403, "SlowDown", nil, 3, 4, -1, nil},
		{"400 request limit", 400, "RequestLimitExceeded", nil, 3, 4, -1, nil},
		{"429", 429, "", nil, 3, 4, -1, nil},
		{"503", 503, "", nil, 3, 4, -1, nil},
		{"503 always", 503, "", nil, 99, 5, -1, meta.ErrUnavailable},
		{"throttle always", 400, "TooManyRequestsException", nil, 99, 5, -1, meta.ErrUnavailable},
		{"retry after", 503, "", http.Header{"Retry-After": {"2"}}, 2, 3, 4 * time.Second, nil},
		{"retry after too long", 429, "", http.Header{"Retry-After": {"3600"}}, 1, 2, 5 * time.Second, nil},
		{"403", 403, "ForbiddenException", nil, 99, 1, 0, meta.ErrDenied},
		{"404", 404, "NoSuchTableException", nil, 99, 1, 0, meta.ErrNoSuchTable},
		{"400", 400, "BadRequestException", nil, 99, 1, 0, nil},
		{"500", 500, "InternalServerError", nil, 99, 1, 0, meta.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := 0
				s := catalog(fakerest.Config{Before: func(r *http.Request) *fakerest.Answer {
					if !strings.Contains(r.URL.Path, "/tables/") {
						return nil
					}
					if seen++; seen > c.times {
						return nil
					}
					return &fakerest.Answer{Status: c.status, Header: c.header, Body: body(c.typ)}
				}})
				cl := open(t, s, nil)
				start := time.Now()
				_, err := cl.Load(t.Context(), nsT, false)
				if (err != nil) != (c.times == 99) || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v, want class %v", err, c.class)
				}
				if seen != c.tries {
					t.Errorf("%d tries, want %d", seen, c.tries)
				}
				if c.elapsed >= 0 && time.Since(start) != c.elapsed {
					t.Errorf("took %v, want %v", time.Since(start), c.elapsed)
				}
				if e, ok := errors.AsType[*meta.Error](err); ok && (e.Status != c.status || e.Attempts != c.tries || e.Type != c.typ || e.Ident.Name != "t") {
					t.Errorf("error %+v", e)
				}
			})
		})
	}
}

func TestPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		status   int
		header   http.Header
		lifetime string
		tries    int
		class    error
	}{
		{"503", 503, nil, "", 1, meta.ErrCommitUnknown},
		{"503 with a time", 503, http.Header{"Retry-After": {"1"}}, "", 2, nil},
		{"502 with a time", 502, http.Header{"Retry-After": {"1"}}, "", 1, meta.ErrCommitUnknown},
		{"502 with keys", 502, nil, "PT1H", 2, nil},
		{"409", 409, nil, "PT1H", 1, meta.ErrConflict},
		{"500", 500, nil, "PT1H", 1, meta.ErrCommitUnknown},
		{"404", 404, nil, "", 1, meta.ErrNoSuchTable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				var keys []string
				s := catalog(fakerest.Config{IdempotencyLifetime: c.lifetime, Before: func(r *http.Request) *fakerest.Answer {
					if r.Method != "POST" {
						return nil
					}
					keys = append(keys, r.Header.Get("Idempotency-Key"))
					if tries++; tries == 1 {
						return &fakerest.Answer{Status: c.status, Header: c.header}
					}
					return nil
				}})
				cl := open(t, s, nil)
				_, err := cl.Post(t.Context(), nsT, []byte(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"v"}}]}`))
				if (err == nil) != (c.class == nil) || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v, want class %v", err, c.class)
				}
				if tries != c.tries {
					t.Errorf("%d tries, want %d", tries, c.tries)
				}
				for _, k := range keys {
					if (k != "") != (c.lifetime != "") || k != keys[0] || k != "" && len(k) != 36 {
						t.Errorf("idempotency keys %q", keys)
					}
				}
			})
		})
	}
}

func TestL78_EachCallObeysItsOwnContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := time.Duration(0)
		s := catalog(fakerest.Config{OAuth: &fakerest.OAuth{Secret: "s", Lifetime: time.Hour}, Before: func(*http.Request) *fakerest.Answer {
			return &fakerest.Answer{Delay: slow}
		}})
		tr := fakerest.Pipe(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		c, err := Open(ctx, Config{URI: "http://c", Properties: map[string]string{"credential": "s"}, Transport: tr, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cancel()
		if _, err := c.Load(t.Context(), nsT, false); err != nil {
			t.Errorf("after the context of Open ended: %v", err)
		}
		slow = 10 * time.Second
		start := time.Now()
		ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := c.Load(ctx, nsT, true); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		// A caller that leaves does not spoil the token that others wait for.
		s.Revoke()
		var wg sync.WaitGroup
		hasty, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := c.Load(hasty, nsT, false); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			if _, err := c.Load(t.Context(), nsT, false); err != nil {
				t.Errorf("the patient caller: %v", err)
			}
		})
		time.Sleep(12 * time.Second) // the first is refused and waits for the token
		leave()
		wg.Wait()
		if n := s.Count("POST", "/oauth/tokens"); n != 2 {
			t.Errorf("%d tokens, want 2", n)
		}
	})
}
