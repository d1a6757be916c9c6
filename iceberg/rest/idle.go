package rest

import (
	"context"
	"io"
	"net/http"
	"time"
)

// errIdle is the cause of a body that stopped flowing. It is a timeout to net.Error.
var errIdle error = idleError{}

type idleError struct{}

func (idleError) Error() string   { return "the answer's body stalled" }
func (idleError) Timeout() bool   { return true }
func (idleError) Temporary() bool { return true }

// idleLimiter ends a request whose body brings no byte for a while. The limits on connecting and headers are the
// transport's; the total is the caller's context.
type idleLimiter struct {
	base http.RoundTripper
	idle time.Duration
}

func (l *idleLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	resp, err := l.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	b := &idleBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, idle: l.idle}
	b.timer = time.AfterFunc(l.idle, func() { cancel(errIdle) })
	resp.Body = b
	return resp, nil
}

// idleBody is read by one goroutine, at once and to its end, so the time between two reads is the server's.
type idleBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

func (b *idleBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.idle)
	}
	if err != nil && err != io.EOF && context.Cause(b.ctx) == errIdle {
		err = errIdle
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
