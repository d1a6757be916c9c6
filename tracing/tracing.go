package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

const scope = "github.com/lakescan/lakescan"

// Names of spans.
const (
	SpanScan    = "lakescan.scan"
	SpanPlan    = "lakescan.plan"
	SpanFile    = "lakescan.file"
	SpanRequest = "lakescan.request"
)

// Keys of attributes, beside http.response.status_code.
const (
	KeyFile    = "lakescan.file"
	KeyOrdinal = "lakescan.ordinal"
	KeyDepth   = "lakescan.depth"
	KeyBytes   = "lakescan.bytes"
	KeyRange   = "lakescan.range"
	KeyKind    = "lakescan.kind"
	KeyAttempt = "lakescan.attempt"
	KeyHedge   = "lakescan.hedge"
	KeyWait    = "lakescan.wait_ms"
	keyStatus  = "http.response.status_code"
)

// Tracer makes spans of one provider.
type Tracer struct {
	tracer trace.Tracer

	mu struct {
		sync.Mutex
		scans map[uint64]*scan
		files map[string]*file // those in hand, by location
		last  *scan            // opened last, of those under way
	}
}

type scan struct {
	ctx   context.Context // with the scan's span
	span  trace.Span
	start time.Time // when source.Event.At is zero
	depth int
	files map[int]*file
}

type file struct {
	ctx      context.Context
	span     trace.Span
	location string
}

// New makes a tracer of p's.
func New(p trace.TracerProvider) *Tracer {
	t := &Tracer{tracer: p.Tracer(scope)}
	t.mu.scans, t.mu.files = map[uint64]*scan{}, map[string]*file{}
	return t
}

// Attach has a client tell t of its scans and requests; hooks that cfg has already are called too.
func (t *Tracer) Attach(cfg *lakescan.Config) {
	onEvent, onStore := cfg.OnEvent, cfg.OnStore
	cfg.OnEvent = func(e source.Event) {
		t.Event(e)
		if onEvent != nil {
			onEvent(e)
		}
	}
	cfg.OnStore = func(e object.Event) {
		t.Request(e)
		if onStore != nil {
			onStore(e)
		}
	}
}

// Event is a hook for source.Config.OnEvent.
func (t *Tracer) Event(e source.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Name == "begin" {
		t.begin(e)
		return
	}
	s := t.mu.scans[e.Scan]
	if s == nil {
		return
	}
	at := trace.WithTimestamp(s.start.Add(e.At))
	if e.Ordinal >= 0 {
		t.file(s, e, at)
		return
	}
	switch e.Name {
	case "depth":
		s.depth = max(s.depth, e.Depth)
		s.span.AddEvent("depth", at, trace.WithAttributes(attribute.Int(KeyDepth, e.Depth)))
	case "wait":
		s.span.AddEvent("wait", at, trace.WithAttributes(attribute.Int64(KeyWait, e.Duration.Milliseconds())))
	case "end":
		t.end(e, s, at)
	}
}

// begin starts the span of a scan, planning included; the lock is held.
func (t *Tracer) begin(e source.Event) {
	s := &scan{start: time.Now(), files: map[int]*file{}}
	planned := trace.WithTimestamp(s.start.Add(-e.Duration))
	s.ctx, s.span = t.tracer.Start(e.Context, SpanScan, planned)
	if e.Duration > 0 {
		_, plan := t.tracer.Start(s.ctx, SpanPlan, planned)
		plan.End(trace.WithTimestamp(s.start))
	}
	t.mu.scans[e.Scan], t.mu.last = s, s
}

// end ends a scan's span and those of files that it gave up; the lock is held.
func (t *Tracer) end(e source.Event, s *scan, at trace.SpanEventOption) {
	for ordinal := range s.files {
		t.done(s, ordinal, at)
	}
	s.span.SetAttributes(attribute.Int64(KeyBytes, e.Bytes), attribute.Int(KeyDepth, s.depth))
	s.span.End(at)
	delete(t.mu.scans, e.Scan)
	if t.mu.last == s {
		t.mu.last = nil
		for _, other := range t.mu.scans {
			t.mu.last = other
		}
	}
}

// file follows one file of a scan; the lock is held.
func (t *Tracer) file(s *scan, e source.Event, at trace.SpanEventOption) {
	f := s.files[e.Ordinal]
	if f == nil {
		if e.Name != "claim" {
			if e.Name == "error" { // planning failed in the place of a file
				s.span.RecordError(e.Err, at)
				s.span.SetStatus(codes.Error, "")
			}
			return
		}
		f = &file{location: e.Location}
		f.ctx, f.span = t.tracer.Start(s.ctx, SpanFile, at, trace.WithAttributes(attribute.String(KeyFile, e.Location), attribute.Int(KeyOrdinal, e.Ordinal)))
		s.files[e.Ordinal] = f
		t.mu.files[e.Location] = f
		return
	}
	switch e.Name {
	case "error":
		f.span.RecordError(e.Err, at)
		f.span.SetStatus(codes.Error, "")
		s.span.SetStatus(codes.Error, "")
	case "open", "wave":
		f.span.AddEvent(e.Name, at, trace.WithAttributes(attribute.Int64(KeyBytes, e.Bytes), attribute.Int64(KeyWait, e.Duration.Milliseconds())))
	case "empty":
		f.span.AddEvent(e.Name, at)
		t.done(s, e.Ordinal, at)
	case "deliver":
		t.done(s, e.Ordinal, at)
	default:
		f.span.AddEvent(e.Name, at)
	}
}

func (t *Tracer) done(s *scan, ordinal int, at trace.SpanEventOption) {
	f := s.files[ordinal]
	f.span.End(at)
	delete(s.files, ordinal)
	if t.mu.files[f.location] == f {
		delete(t.mu.files, f.location)
	}
}

// Request is a hook for object.NewMeter: a span for each request that is over.
func (t *Tracer) Request(e object.Event) {
	if e.Kind != object.EventRequest {
		return
	}
	ctx := t.owner(e.Request.Location.Recorded)
	r := e.Request
	attrs := []attribute.KeyValue{
		attribute.String(KeyFile, r.Location.Recorded), attribute.String(KeyKind, r.Kind.String()), attribute.Int(KeyAttempt, r.Attempt), attribute.Int64(KeyBytes, r.Bytes),
	}
	if r.Kind == object.Get && r.Range != object.Whole {
		attrs = append(attrs, attribute.String(KeyRange, r.Range.String()))
	}
	if r.Hedge {
		attrs = append(attrs, attribute.Bool(KeyHedge, true))
	}
	if r.Status != 0 {
		attrs = append(attrs, attribute.Int(keyStatus, r.Status))
	}
	_, span := t.tracer.Start(ctx, SpanRequest, trace.WithTimestamp(r.Start), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	if r.TTFB > 0 {
		span.AddEvent("first byte", trace.WithTimestamp(r.Start.Add(r.TTFB)))
	}
	if r.Err != nil {
		span.RecordError(r.Err, trace.WithTimestamp(r.Start.Add(r.Duration)))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(r.Start.Add(r.Duration)))
}

// owner is the context of the file that a location belongs to, or of the scan under way, or none.
func (t *Tracer) owner(location string) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.files[location] != nil:
		return t.mu.files[location].ctx
	case t.mu.last != nil:
		return t.mu.last.ctx
	}
	return context.Background()
}
