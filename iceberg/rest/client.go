package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object/transport"
)

// Client of one catalog. It satisfies meta.Backend and meta.Vendor.
type Client struct {
	cfg     Config
	rt      http.RoundTripper
	own     *http.Transport // closed by Close; nil = the caller's
	props   map[string]string
	paths   paths
	offered endpoints
	auth    authenticator
	flights flights

	mu struct {
		sync.Mutex
		tables map[tableKey]*Table
		latest map[string]*Table // by ident, for Credentials
		warned map[string]bool
	}
}

func newClient(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, rt: cfg.Transport, props: cfg.Properties, paths: newPaths(cfg.URI, "", "")}
	c.mu.tables = map[tableKey]*Table{}
	c.mu.latest = map[string]*Table{}
	c.mu.warned = map[string]bool{}
	if c.rt == nil {
		t, err := transport.Config{}.New()
		if err != nil {
			return nil, err
		}
		t.DisableCompression = false // metadata is text; only objects must be read as stored
		c.rt, c.own = t, t
	}
	c.rt = &idleLimiter{c.rt, cfg.IdleBody}
	c.flights.init()
	if err := c.settleAuth(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends and joins what runs in the background; idempotent.
func (c *Client) Close() error {
	c.flights.close()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// warnOnce logs a message once a client.
func (c *Client) warnOnce(msg string, args ...any) {
	c.mu.Lock()
	said := c.mu.warned[msg]
	c.mu.warned[msg] = true
	c.mu.Unlock()
	if !said {
		c.cfg.Logger.Warn(msg, args...)
	}
}

// redact takes the client's secrets out of a text of the server, which may have echoed them.
func (c *Client) redact(s string) string {
	for _, k := range []string{keyToken, keyCredential, keySigningSecret, keySigningToken, "s3.secret-access-key", "s3.session-token"} {
		for _, v := range []string{c.props[k], afterColon(c.props[k])} {
			if len(v) >= 4 {
				s = strings.ReplaceAll(s, v, "****")
			}
		}
	}
	return s
}

func afterColon(s string) string {
	_, after, _ := strings.Cut(s, ":")
	return after
}

// request is one call of the API.
type request struct {
	op          string
	id          meta.Ident
	method, url string
	header      http.Header
	body        []byte
	contentType string
	auth        authenticator // nil = the client's
	missing     error         // class of a 404 without a telling type
	commit      bool          // a lost answer leaves the outcome unknown
	safe        bool          // may be repeated though it is no GET
	notModified *bool         // set on 304, which is an error without it
	decode      func(body []byte, h http.Header) error
}

func (rq request) repeatable() bool {
	return rq.safe || rq.method == http.MethodGet || rq.method == http.MethodHead || rq.header.Get("Idempotency-Key") != ""
}

// do sends the request until it is answered, must not be repeated, or has been tried often enough. Errors are *meta.Error,
// but for those of ctx.
func (c *Client) do(ctx context.Context, rq request) error {
	for attempt := 1; ; attempt++ {
		o, err := c.attempt(ctx, rq, attempt)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", rq.op, errors.Join(context.Cause(ctx), err))
		}
		if attempt >= c.cfg.Attempts || !o.retryable(rq.repeatable()) {
			return err
		}
		c.cfg.Logger.Debug("catalog request failed, trying again", "op", rq.op, "attempt", attempt, "status", o.status, "type", o.errorType)
		if serr := sleep(ctx, o.wait(attempt)); serr != nil {
			return fmt.Errorf("%s: %w", rq.op, errors.Join(serr, err))
		}
	}
}

// attempt is one try, with the repeat that a rejected token is worth.
func (c *Client) attempt(ctx context.Context, rq request, n int) (outcome, error) {
	auth := rq.auth
	if auth == nil {
		auth = c.auth
	}
	var stale string
	for {
		resp, used, err := c.send(ctx, rq, auth, stale)
		if err != nil {
			if e, ok := errors.AsType[*meta.Error](err); ok { // authentication failed; it has been retried already
				return outcome{status: e.Status}, err
			}
			return outcome{err: err, retryAfter: -1}, c.lostError(rq, err, n)
		}
		body, err := readBody(resp, c.cfg.MaxBody)
		if err != nil {
			if errors.Is(err, errTooLarge) {
				return outcome{}, c.malformed(rq, resp, nil, fmt.Errorf("%w: the answer is larger than %d bytes", meta.ErrInvalidMetadata, c.cfg.MaxBody), n)
			}
			return outcome{err: err, retryAfter: -1}, c.lostError(rq, err, n)
		}
		if (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == 419) && stale == "" && auth.renews() {
			if stale = used; stale != "" {
				continue
			}
		}
		return c.judge(rq, resp, body, auth, n)
	}
}

// judge turns an answer into the call's result.
func (c *Client) judge(rq request, resp *http.Response, body []byte, auth authenticator, n int) (outcome, error) {
	switch {
	case resp.StatusCode == http.StatusNotModified && rq.notModified != nil:
		*rq.notModified = true
		return outcome{}, nil
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		if rq.decode == nil {
			return outcome{}, nil
		}
		if resp.Uncompressed { // some servers mark the tag of a packed answer, and do not know the mark when it comes back
			resp.Header.Set("ETag", plainTag(resp.Header.Get("ETag")))
		}
		if err := rq.decode(body, resp.Header); err != nil {
			return outcome{}, c.malformed(rq, resp, body, err, n)
		}
		return outcome{}, nil
	}
	e := c.statusError(rq, resp.StatusCode, resp.Header, body, n)
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == 419 {
		e.Err = fmt.Errorf("%w (%s)", e.Err, auth.describe())
	}
	o := outcome{status: resp.StatusCode, errorType: e.Type, retryAfter: parseRetryAfter(resp.Header.Get("Retry-After"), now())}
	return o, e
}

// plainTag takes Jetty's and Apache's marks of compression off an ETag.
func plainTag(tag string) string {
	inner, quoted := strings.CutSuffix(tag, `"`)
	if bare, marked := strings.CutSuffix(inner, "-gzip"); marked {
		inner = strings.TrimSuffix(bare, "-")
	}
	if quoted {
		inner += `"`
	}
	return inner
}

// malformed is the error of a success whose body is not what it should be.
func (c *Client) malformed(rq request, resp *http.Response, body []byte, err error, n int) error {
	if rq.commit { // the server has accepted it
		return &meta.Error{
			Op: rq.op, Ident: rq.id, Status: resp.StatusCode, Attempts: n, RequestID: requestID(resp.Header),
			Err: fmt.Errorf("%w: %w", meta.ErrCommitUnknown, err),
		}
	}
	for _, class := range []error{meta.ErrInvalidMetadata, meta.ErrUnsupported} {
		if errors.Is(err, class) {
			return &meta.Error{Op: rq.op, Ident: rq.id, Attempts: n, RequestID: requestID(resp.Header), Err: err}
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		err = fmt.Errorf("the answer is no JSON object but %q: is the catalog's uri right?", clean(string(body), 80))
	}
	return &meta.Error{
		Op: rq.op, Ident: rq.id, Status: resp.StatusCode, Attempts: n, RequestID: requestID(resp.Header),
		Err: fmt.Errorf("%w: %w", meta.ErrInvalidMetadata, err),
	}
}

// send makes one HTTP request. used names the token it carried, for authenticators that renew.
func (c *Client) send(ctx context.Context, rq request, auth authenticator, stale string) (resp *http.Response, used string, err error) {
	var body io.Reader
	if rq.body != nil {
		body = bytes.NewReader(rq.body)
	}
	r, err := http.NewRequestWithContext(ctx, rq.method, rq.url, body)
	if err != nil {
		return nil, "", fmt.Errorf("malformed address %q", redactURL(rq.url))
	}
	for k, v := range c.props {
		if name, ok := strings.CutPrefix(k, headerPropPrefix); ok {
			r.Header.Set(name, v)
		}
	}
	r.Header.Set("Accept", "application/json")
	if rq.body != nil {
		r.Header.Set("Content-Type", rq.contentType)
	}
	for k, v := range rq.header {
		if len(r.Header[k]) == 0 { // a header that the user set stays
			r.Header[k] = slices.Clone(v)
		}
	}
	if used, err = auth.authorize(ctx, r, stale); err != nil {
		return nil, "", err
	}
	resp, err = c.rt.RoundTrip(r) // redirects are not followed: a token belongs to one server
	return resp, used, err
}

var errTooLarge = errors.New("body too large")

// readBody reads and closes.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	defer resp.Body.Close()
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	b.Grow(int(min(max(resp.ContentLength, 0), 1<<20)) + bytes.MinRead) // the header is a hint, not a promise
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if n > limit {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}
