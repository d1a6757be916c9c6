package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/lakescan/lakescan/object"
)

// maxErrorBody is what of an error's body is kept, and what is drained so that its connection lives on.
const maxErrorBody = 64 << 10

// exchange is what one call sees of its HTTP exchange below minio-go. It is written by the goroutine that runs the call
// (minio-go calls the transport there), and by the connection's trace before RoundTrip returns.
type exchange struct {
	kind    object.Kind
	loc     object.Location
	rng     object.Range
	attempt *object.Attempt
	stop    context.CancelCauseFunc // ends the attempt's context, and with it minio-go's own backoff

	sent     bool
	start    time.Time
	ttfb     time.Duration
	newConn  bool
	status   int
	header   http.Header
	errBody  []byte
	netErr   error        // of the transport
	bytes    atomic.Int64 // of the body that counts for the kind; the transport may still send when it has answered
	reported bool
}

type exchangeKey struct{}

// begin binds a new exchange to a child of ctx. The caller calls end.
func begin(ctx context.Context, kind object.Kind, loc object.Location, r object.Range) (context.Context, *exchange) {
	ctx, stop := context.WithCancelCause(ctx)
	x := &exchange{kind: kind, loc: loc, rng: r, attempt: object.AttemptFrom(ctx), stop: stop}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { x.newConn = !i.Reused },
	}), x
}

// end reports the last request of the exchange, if any was sent.
func (x *exchange) end(err error) {
	x.stop(errOver)
	if !x.sent || x.reported {
		return
	}
	x.reported = true
	x.attempt.Report(object.Request{
		Kind: x.kind, Location: x.loc, Range: x.rng, Status: x.status, Bytes: x.bytes.Load(), Start: x.start, TTFB: x.ttfb,
		Duration: time.Since(x.start), NewConn: x.newConn, Throttled: throttled(x), Err: err,
	})
}

var (
	errOver   = errors.New("s3: attempt over")
	errFailed = errors.New("s3: answer was an error")
	errStall  = errors.New("s3: the body did not move in time")
)

// recorder is the transport of every client. It keeps what minio-go hides and picks the connection pool.
type recorder struct{ store *Store }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		return r.store.kept.RoundTrip(req)
	}
	if x.sent { // a further page of a listing
		x.end(nil)
		x.reported = false
	}
	x.sent, x.start, x.ttfb, x.status = true, time.Now(), 0, 0
	x.bytes.Store(0)
	rt := r.store.kept
	if x.attempt != nil && x.attempt.Fresh {
		rt = r.store.oneShot
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		x.netErr = err
		x.stop(errFailed)
		return nil, err
	}
	x.ttfb = time.Since(x.start)
	x.status, x.header = resp.StatusCode, resp.Header
	switch {
	case resp.StatusCode >= 300:
		r.takeError(x, resp)
	case x.kind == object.Get:
		tidy(resp.Header)
	default:
		resp.Body = &counted{ReadCloser: r.store.guard(x, resp.Body), x: x}
	}
	return resp, nil
}

// tidy keeps minio-go from refusing a good answer for headers that nobody here reads: a proxy's "Expires: 0", odd tags, no date.
func tidy(h http.Header) {
	for _, k := range []string{"Expires", "X-Amz-Tagging", "X-Amz-Tagging-Count", "X-Minio-Source-Mtime"} {
		h.Del(k)
	}
	if _, err := http.ParseTime(h.Get("Last-Modified")); err != nil {
		h.Set("Last-Modified", noDate)
	}
}

const noDate = "Thu, 01 Jan 1970 00:00:00 GMT"

// takeError reads the body of an error while the attempt lives, hands minio-go a copy, and then ends the attempt.
func (r *recorder) takeError(x *exchange, resp *http.Response) {
	body := r.store.guard(x, resp.Body)
	x.errBody, _ = io.ReadAll(io.LimitReader(body, maxErrorBody)) // a broken body still leaves the status
	body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(x.errBody))
	x.stop(errFailed)
}

// guard bounds the wait for each read of a body.
func (s *Store) guard(x *exchange, body io.ReadCloser) io.ReadCloser {
	g := &guarded{body: body, limit: s.cfg.BodyStall}
	g.timer = time.AfterFunc(g.limit, func() { x.stop(errStall) })
	return g
}

type guarded struct {
	body  io.ReadCloser
	limit time.Duration
	timer *time.Timer
}

func (g *guarded) Read(p []byte) (int, error) {
	g.timer.Reset(g.limit)
	return g.body.Read(p)
}

func (g *guarded) Close() error {
	g.timer.Stop()
	return g.body.Close()
}

// feed is the body of a PUT: it counts what is sent, and ends the attempt when the connection takes nothing for too long.
func (s *Store) feed(x *exchange, body []byte) io.Reader {
	return &feeder{in: bytes.NewReader(body), x: x, limit: 3 * s.cfg.BodyStall}
}

type feeder struct {
	in    *bytes.Reader
	x     *exchange
	limit time.Duration
	timer *time.Timer
}

func (f *feeder) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.x.bytes.Add(int64(n))
	switch {
	case f.in.Len() == 0: // from here on the limit for headers holds
		if f.timer != nil {
			f.timer.Stop()
		}
	case f.timer == nil:
		f.timer = time.AfterFunc(f.limit, func() { f.x.stop(errStall) })
	default:
		f.timer.Reset(f.limit)
	}
	return n, err
}

// counted counts the bytes of a body that minio-go reads (listings, answers of uploads).
type counted struct {
	io.ReadCloser
	x *exchange
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.x.kind == object.List {
		c.x.bytes.Add(int64(n))
	}
	return n, err
}
