package main

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OpenTelemetry collector that keeps the names of spans.
type collector struct {
	mu     sync.Mutex
	names  map[string]bool
	faults []string
	trace  string // of the newest span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fail := func(err error) { c.faults = append(c.faults, err.Error()); w.WriteHeader(http.StatusBadRequest) }
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			fail(err)
			return
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		fail(err)
		return
	}
	var request collect.ExportTraceServiceRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		fail(err)
		return
	}
	if c.names == nil {
		c.names = map[string]bool{}
	}
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.names[s.Name], c.trace = true, hex.EncodeToString(s.TraceId)
			}
		}
	}
}

func spans(ts *testscript.TestScript, _ bool, args []string) {
	c := lakeOf(ts).collector
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		ts.Fatalf("the collector got what it cannot read: %q", c.faults)
	}
	if len(args) > 1 && args[0] == "-trace" {
		if c.trace != args[1] {
			ts.Fatalf("spans of trace %s, want %s", c.trace, args[1])
		}
		args = args[2:]
	}
	got := slices.Sorted(maps.Keys(c.names))
	slices.Sort(args)
	if !slices.Equal(got, args) {
		ts.Fatalf("spans %q, want %q", got, args)
	}
	c.names = nil
}
