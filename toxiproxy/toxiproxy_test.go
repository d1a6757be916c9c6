package toxiproxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestProfilesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if p.Name == "" || p.Source == "" || seen[p.Name] {
			t.Errorf("profile %+v: needs a unique name and the source of its figures", p)
		}
		seen[p.Name] = true
		if p.LatencyMS < 0 || p.JitterMS < 0 || p.RateKBps < 0 {
			t.Errorf("profile %s: negative figure", p.Name)
		}
	}
	if _, err := FindProfile("moon"); err == nil || !strings.Contains(err.Error(), "cross-region") {
		t.Errorf("unknown profile: got %v, want an error that lists the names", err)
	}
}

// The requests here are those of the real server's API; integration/ makes the same calls to it.
func TestApplySendsTheProfile(t *testing.T) {
	t.Parallel()
	var log []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log = append(log, r.Method+" "+r.URL.Path)
		switch {
		case r.Method == http.MethodGet:
			json.NewEncoder(w).Encode([]Toxic{{Name: "old"}})
		case strings.HasSuffix(r.URL.Path, "/missing/toxics"):
			http.Error(w, `{"error":"proxy not found"}`, http.StatusNotFound)
		}
	}))
	defer s.Close()
	c := &Client{BaseURL: s.URL}
	if err := c.Apply(t.Context(), "s3", Profile{LatencyMS: 100, RateKBps: 5}); err != nil {
		t.Fatal(err)
	}
	want := "GET /proxies/s3/toxics|DELETE /proxies/s3/toxics/old|POST /proxies/s3/toxics|POST /proxies/s3/toxics"
	if got := strings.Join(log, "|"); got != want {
		t.Errorf("requests:\n got %s\nwant %s", got, want)
	}
	var te *Error
	if err := c.Add(t.Context(), "missing", Toxic{}); !errors.As(err, &te) || te.Status != 404 {
		t.Errorf("got %v, want *Error with status 404", err)
	}
}

func TestWaitReadyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	c := &Client{BaseURL: "http://127.0.0.1:1"}
	if err := c.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}
