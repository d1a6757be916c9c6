package object_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
)

// A store that has answered and is started again is waited for: it refuses connections, then answers 503 for a while. One that never
// answered is a wrong address, and one that stays away is an error soon.
func TestAStoreThatRestartsIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		answers  bool // before it goes
		back     time.Duration
		attempts int
		fails    bool
		least    time.Duration
		most     time.Duration
	}{
		{"back after 4 s", true, 4 * time.Second, 0, false, 4 * time.Second, 7 * time.Second},
		{"stays away", true, time.Hour, 0, true, 15 * time.Second, 18 * time.Second},
		{"never was there", false, time.Hour, 0, true, 0, 2 * time.Second},
		{"no retries", true, 4 * time.Second, 1, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				up := c.answers
				s := object.Retry(storeFunc(func(ctx context.Context, loc object.Location, r object.Range, dst []byte, _ object.ReadOptions) ([]byte, object.Info, error) {
					info := object.Info{Location: loc, Size: 1, ETag: "e"}
					fail := func(status int, err error) ([]byte, object.Info, error) {
						return nil, info, &object.Error{Op: "read", Location: loc, Range: r, Status: status, Err: fmt.Errorf("%w: %w", object.ErrUnavailable, err)}
					}
					switch gone := time.Since(start); {
					case up || gone >= c.back:
						object.AttemptFrom(ctx).FirstByte()
						return []byte("x"), info, nil
					case gone < c.back/2:
						return fail(0, io.EOF)
					case gone < c.back-time.Second:
						return fail(0, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
					default:
						return fail(503, errors.New("starting"))
					}
				}), object.RetryConfig{Attempts: c.attempts})
				read := func() error {
					_, _, err := s.Read(t.Context(), at(t, "s3://b/f"), object.Whole, nil, object.ReadOptions{})
					return err
				}
				if c.answers {
					if err := read(); err != nil {
						t.Fatal(err)
					}
				}
				up = false
				err := read()
				if took := time.Since(start); (err != nil) != c.fails || took < c.least || took > c.most {
					t.Errorf("%v after %v, want failure %v within %v and %v", err, took, c.fails, c.least, c.most)
				}
				if err != nil && !errors.Is(err, object.ErrUnavailable) {
					t.Errorf("%v is not ErrUnavailable", err)
				}
			})
		})
	}
}
