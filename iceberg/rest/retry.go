package rest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	backoffFirst  = 50 * time.Millisecond
	backoffMax    = 2 * time.Second
	retryAfterMax = 5 * time.Second
)

// outcome of one attempt: an answer's facts, or the error of a request without an answer.
type outcome struct {
	status     int
	errorType  string
	retryAfter time.Duration // -1 = not sent
	err        error
}

// throttling says that the server asks for patience, whatever status it chose: some send it as 400 or 403.
func throttling(errorType string) bool {
	t := strings.TrimSuffix(strings.TrimSuffix(errorType, "Exception"), "Error")
	switch t {
	case "SlowDown", "Throttling", "Throttled", "TooManyRequests", "RequestLimitExceeded":
		return true
	}
	return false
}

// retryable decides whether the request may be sent again. safe requests read, or carry a key that makes them idempotent;
// others are repeated only if they cannot have been acted on. The caller's own end is its caller's to see: a timeout of the
// transport is a context.DeadlineExceeded too.
func (o outcome) retryable(safe bool) bool {
	if o.err != nil {
		return safe || neverSent(o.err)
	}
	if throttling(o.errorType) {
		return safe || o.retryAfter >= 0
	}
	switch o.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return safe || o.retryAfter >= 0
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return safe
	}
	return false
}

// neverSent: the connection was not even made.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// wait before attempt n+1 (n counts from 1): the server's word within reason, or full jitter.
func (o outcome) wait(n int) time.Duration {
	if o.retryAfter >= 0 {
		return min(o.retryAfter, retryAfterMax)
	}
	top := backoffMax
	if n < 7 {
		top = min(backoffMax, backoffFirst<<(n-1))
	}
	return rand.N(top)
}

// parseRetryAfter reads seconds or a date; -1 = absent or unreadable.
func parseRetryAfter(h string, now time.Time) time.Duration {
	if h == "" {
		return -1
	}
	if s, err := strconv.ParseInt(h, 10, 32); err == nil && s >= 0 {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(now))
	}
	return -1
}

// sleep ends early, with ctx's error, when ctx does.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
