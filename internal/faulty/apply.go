package faulty

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errRefused is what a refused connection looks like to a client.
var errRefused = &net.OpError{Op: "dial", Net: "faulty", Err: syscall.ECONNREFUSED}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// before runs what happens before an answer. It gives the fault that ends the request, if one does.
func (p *plan) before(r *http.Request) (*fault, error) {
	for i := range p.faults {
		f := &p.faults[i]
		switch f.kind {
		case delay:
			if err := hear(r); err != nil {
				return nil, err
			}
			if err := sleep(r.Context(), f.wait(p.draws[i])); err != nil {
				return nil, err
			}
		case hang, deaf:
			if f.kind == hang { // a server that has heard the request out: only then net/http watches for the client's leaving
				if err := hear(r); err != nil {
					return nil, err
				}
			}
			if f.dur == 0 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			if err := sleep(r.Context(), f.dur); err != nil {
				return nil, err
			}
		case call:
			p.rules.mu.Lock()
			fn := p.rules.mu.calls[f.text]
			p.rules.mu.Unlock()
			if fn != nil {
				fn(r)
			}
		case status, refuse:
			return f, nil
		}
	}
	return nil, nil
}

// hear reads the body of a request, and puts it back for whoever comes next.
func hear(r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	all, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(all))
	return err
}

// statusXML is the body of a status fault.
func (f *fault) statusXML() string {
	code := f.params["code"]
	if code == "" {
		code = map[int64]string{429: "TooManyRequests", 500: "InternalError", 503: "SlowDown", 403: "AccessDenied", 404: "NoSuchKey", 412: "PreconditionFailed"}[f.n]
	}
	if code == "" {
		code = http.StatusText(int(f.n))
	}
	region := ""
	if v := f.params["region"]; v != "" {
		region = "<Region>" + v + "</Region>"
	}
	return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>injected</Message>" + region + "</Error>"
}

func (f *fault) statusHeader(h http.Header) {
	h.Set("Content-Type", "application/xml")
	if v := f.params["retry-after"]; v != "" {
		h.Set("Retry-After", v)
	}
	if v := f.params["region"]; v != "" {
		h.Set("X-Amz-Bucket-Region", v)
	}
}

// rewrite changes headers and status of a good answer. pad is how many zero bytes go before and after the body.
func (p *plan) rewrite(code int, h http.Header) (status int, before, after int64) {
	status = code
	for i := range p.faults {
		f := &p.faults[i]
		switch f.kind {
		case etag:
			if f.text == "W/" {
				h.Set("Etag", "W/"+h.Get("Etag"))
			} else {
				h.Set("Etag", `"`+f.text+`"`)
			}
		case contentRange:
			rewriteRange(f, h)
		case ignoreRange:
			if code != http.StatusPartialContent {
				continue
			}
			var first, last, total int64
			if _, err := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); err != nil {
				continue
			}
			status, before, after = http.StatusOK, first, total-last-1
			h.Del("Content-Range")
			h.Set("Content-Length", strconv.FormatInt(total, 10))
		}
	}
	return status, before, after
}

func rewriteRange(f *fault, h http.Header) {
	var first, last, total int64
	if _, err := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); err != nil {
		return
	}
	number := func(k string) int64 {
		n, _ := strconv.ParseInt(strings.TrimPrefix(f.params[k], "+"), 10, 64) // absent = 0
		return n
	}
	if f.text == "none" {
		h.Del("Content-Range")
		return
	}
	shift := number("shift")
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first+shift, last+shift-number("short"), total+number("total")))
}

// spoil is the next thing that happens to the body at byte pos or later.
type spoil struct {
	at int64
	f  *fault
}

func (p *plan) spoils() []spoil {
	var out []spoil
	for i := range p.faults {
		switch f := &p.faults[i]; f.kind {
		case cut, reset, stall, corrupt:
			out = append(out, spoil{f.n, f})
		}
	}
	return out
}

// Handler puts the rules in front of a server.
func (r *Rules) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		p := r.admit(q)
		defer r.finish(p)
		end, err := p.before(q)
		switch {
		case err != nil:
			panic(http.ErrAbortHandler) // the client is gone
		case end != nil && end.kind == refuse:
			abort(w, false)
		case end != nil:
			// The body is read, as a server would, so that the client sees the answer and not a broken connection.
			_, _ = io.Copy(io.Discard, q.Body)
			end.statusHeader(w.Header())
			r.note(p, int(end.n), 0)
			w.WriteHeader(int(end.n))
			if q.Method != http.MethodHead {
				_, _ = io.WriteString(w, end.statusXML())
			}
			return
		}
		if p.has(lose) {
			next.ServeHTTP(&nowhere{http.Header{}}, q)
			abort(w, false)
		}
		fw := &writer{ResponseWriter: w, plan: p, ctx: q.Context(), spoils: p.spoils()}
		next.ServeHTTP(fw, q)
		fw.finish()
	})
}

func (p *plan) has(k kind) bool {
	return slices.ContainsFunc(p.faults, func(f fault) bool { return f.kind == k })
}

// nowhere is the writer of an answer that is lost.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

func (r *Rules) note(p *plan, status int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status != 0 {
		p.entry.Status = status
	}
	p.entry.Bytes += bytes
}

func (r *Rules) finish(p *plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !p.entry.Closed {
		p.entry.Closed, p.entry.End = true, time.Now()
	}
}

// abort ends the connection, by RST if it can.
func abort(w http.ResponseWriter, rst bool) {
	if rst {
		if h, ok := w.(http.Hijacker); ok {
			if c, _, err := h.Hijack(); err == nil {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				c.Close()
			}
		}
	}
	panic(http.ErrAbortHandler)
}

// writer spoils the answer of a handler.
type writer struct {
	http.ResponseWriter
	plan   *plan
	ctx    context.Context
	spoils []spoil
	pos    int64
	after  int64
	begun  bool
	taken  bool // hijacked
}

// Hijack hands the connection to a handler that writes its answer itself.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.taken = true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *writer) WriteHeader(code int) {
	if w.begun {
		return
	}
	w.begun = true
	status, before, after := w.plan.rewrite(code, w.Header())
	w.plan.rules.note(w.plan, status, 0)
	w.ResponseWriter.WriteHeader(status)
	w.after = after
	w.pad(before)
}

func (w *writer) pad(n int64) {
	zeros := make([]byte, min(n, 64<<10))
	for n > 0 {
		m := min(n, int64(len(zeros)))
		if _, err := w.Write(zeros[:m]); err != nil {
			return
		}
		n -= m
	}
}

func (w *writer) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	total := len(b)
	for len(b) > 0 || w.due(0) != nil {
		s := w.due(int64(len(b)))
		if s == nil {
			break
		}
		head := s.at - w.pos
		if err := w.send(b[:head]); err != nil {
			return total - len(b), err
		}
		b = w.spoil(s, b[head:])
	}
	return total, w.send(b)
}

// due is the first spoil that falls within the next n bytes.
func (w *writer) due(n int64) *spoil {
	var first *spoil
	for i := range w.spoils {
		s := &w.spoils[i]
		if s.f == nil || s.at > w.pos+n || (s.f.kind == corrupt && s.at == w.pos+n) {
			continue
		}
		if first == nil || s.at < first.at {
			first = s
		}
	}
	return first
}

func (w *writer) spoil(s *spoil, b []byte) []byte {
	f := s.f
	s.f = nil
	switch f.kind {
	case corrupt:
		b = append([]byte(nil), b...)
		b[0] ^= 0xFF
	case stall:
		w.flush()
		if f.dur == 0 {
			<-w.ctx.Done()
			panic(http.ErrAbortHandler)
		}
		if sleep(w.ctx, f.dur) != nil {
			panic(http.ErrAbortHandler)
		}
	case cut, reset:
		w.flush()
		abort(w.ResponseWriter, f.kind == reset)
	}
	return b
}

func (w *writer) flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush() // best effort
}

func (w *writer) send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := w.ResponseWriter.Write(b)
	w.pos += int64(n)
	w.plan.rules.note(w.plan, 0, int64(n))
	return err
}

func (w *writer) finish() {
	if w.taken {
		return
	}
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	w.pad(w.after)
	_, _ = w.Write(nil) // a spoil at the very end of the body
}

// RoundTripper puts the rules below a client.
func (r *Rules) RoundTripper(next http.RoundTripper) http.RoundTripper { return &tripper{r, next} }

type tripper struct {
	rules *Rules
	next  http.RoundTripper
}

func (t *tripper) RoundTrip(q *http.Request) (*http.Response, error) {
	p := t.rules.admit(q)
	end, err := p.before(q)
	if err == nil && end != nil && end.kind == refuse {
		err = errRefused
	}
	if err != nil {
		t.rules.finish(p)
		closeBody(q)
		return nil, err
	}
	if end != nil {
		closeBody(q)
		h := http.Header{}
		end.statusHeader(h)
		text := end.statusXML()
		resp := &http.Response{
			StatusCode: int(end.n), Status: fmt.Sprintf("%d %s", end.n, http.StatusText(int(end.n))), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: h, ContentLength: int64(len(text)), Request: q,
		}
		t.rules.note(p, int(end.n), 0)
		resp.Body = &body{in: io.NopCloser(strings.NewReader(text)), plan: p, ctx: q.Context()}
		return resp, nil
	}
	resp, err := t.next.RoundTrip(q)
	if err == nil && p.has(lose) {
		resp.Body.Close()
		err = &net.OpError{Op: "read", Net: "faulty", Err: syscall.ECONNRESET}
	}
	if err != nil {
		t.rules.finish(p)
		return nil, err
	}
	code, before, after := p.rewrite(resp.StatusCode, resp.Header)
	resp.StatusCode, resp.Status = code, fmt.Sprintf("%d %s", code, http.StatusText(code))
	t.rules.note(p, code, 0)
	in := resp.Body
	if before+after > 0 {
		resp.ContentLength += before + after
		in = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(zeros{}, before), resp.Body, io.LimitReader(zeros{}, after)), resp.Body}
	}
	resp.Body = &body{in: in, plan: p, ctx: q.Context(), spoils: p.spoils()}
	return resp, nil
}

func closeBody(q *http.Request) {
	if q.Body != nil {
		q.Body.Close()
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// body spoils the answer that a client reads.
type body struct {
	in     io.ReadCloser
	plan   *plan
	ctx    context.Context
	spoils []spoil
	pos    int64
}

func (b *body) Read(p []byte) (int, error) {
	for i := range b.spoils {
		s := &b.spoils[i]
		if s.f == nil || s.f.kind == corrupt {
			continue
		}
		if s.at > b.pos {
			p = p[:min(int64(len(p)), s.at-b.pos)]
			continue
		}
		f := s.f
		switch f.kind {
		case cut:
			return 0, io.ErrUnexpectedEOF
		case reset:
			return 0, &net.OpError{Op: "read", Net: "faulty", Err: syscall.ECONNRESET}
		case stall:
			if f.dur == 0 {
				<-b.ctx.Done()
				return 0, b.ctx.Err()
			}
			if err := sleep(b.ctx, f.dur); err != nil {
				return 0, err
			}
			s.f = nil
		}
	}
	n, err := b.in.Read(p)
	for _, s := range b.spoils {
		if s.f != nil && s.f.kind == corrupt && s.at >= b.pos && s.at < b.pos+int64(n) {
			p[s.at-b.pos] ^= 0xFF
		}
	}
	b.pos += int64(n)
	b.plan.rules.note(b.plan, 0, int64(n))
	return n, err
}

func (b *body) Close() error {
	b.plan.rules.finish(b.plan)
	return b.in.Close()
}
