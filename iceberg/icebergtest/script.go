package icebergtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Step is one scripted answer: to the next request whose method and path match.
type Step struct {
	Match  string // "GET …/tables/t": method, and a part of the path after the dots
	Delay  time.Duration
	Status int // 0 = 200
	Header http.Header
	Body   string
	// Break closes the connection instead: before an answer, or after Body if there is one.
	Break bool
}

// Script is a REST catalog that says what it is told to, right or wrong. Steps are used in order, each once; a request that no
// step is left for fails the test. The configuration request is answered by an empty one unless a step matches.
func Script(t testing.TB, steps ...Step) http.Handler {
	s := &script{t: t, steps: steps}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, left := range s.steps {
			t.Errorf("icebergtest: nobody asked for %s", left.Match)
		}
	})
	return s
}

type script struct {
	t     testing.TB
	mu    sync.Mutex
	steps []Step
}

func (s Step) matches(r *http.Request) bool {
	method, part, _ := strings.Cut(s.Match, " ")
	return method == r.Method && strings.Contains(r.URL.EscapedPath(), strings.TrimPrefix(part, "…"))
}

func (s *script) next(r *http.Request) (Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) > 0 && s.steps[0].matches(r) {
		step := s.steps[0]
		s.steps = s.steps[1:]
		return step, true
	}
	return Step{}, false
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	step, ok := s.next(r)
	if !ok {
		if strings.HasSuffix(r.URL.Path, "/v1/config") {
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
			return
		}
		s.t.Errorf("icebergtest: no answer is scripted for %s %s", r.Method, r.URL)
		http.Error(w, "not scripted", http.StatusTeapot)
		return
	}
	if step.Delay > 0 {
		timer := time.NewTimer(step.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	for k, v := range step.Header {
		w.Header()[k] = v
	}
	if step.Break {
		if step.Body != "" {
			w.Header().Set("Content-Length", fmt.Sprint(len(step.Body)+100))
			fmt.Fprint(w, step.Body)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	if step.Status != 0 {
		w.WriteHeader(step.Status)
	}
	fmt.Fprint(w, step.Body)
}
