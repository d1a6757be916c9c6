package faulty_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/faulty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is what every request would get without faults.
var served = func() []byte {
	b := make([]byte, 10_000)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}()

func plain() http.Handler {
	srv := fakes3.New(fakes3.Config{}, "bucket")
	for _, k := range []string{"f", "data/a.parquet", "data/b.parquet"} {
		srv.Put("bucket", k, served)
	}
	return srv
}

// both runs fn with the rules in front of a server and below a client: they must look alike.
func both(t *testing.T, rules string, fn func(t *testing.T, c *http.Client, r *faulty.Rules)) {
	t.Helper()
	for _, side := range []string{"handler", "roundtripper"} {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := faulty.New(t, rules)
				h := plain()
				if side == "handler" {
					h = r.Handler(h)
				}
				p := fakes3.Serve(h)
				tr := p.Transport()
				c := &http.Client{Transport: tr}
				if side == "roundtripper" {
					c.Transport = r.RoundTripper(tr)
				}
				t.Cleanup(func() { tr.CloseIdleConnections(); p.Close() })
				fn(t, c, r)
			})
		})
	}
}

type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of the request or the body
	took   time.Duration
}

func get(t *testing.T, c *http.Client, path, rng string) answer {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rng != "" {
		req.Header.Set("Range", "bytes="+rng)
	}
	resp, err := c.Do(req)
	if err != nil {
		return answer{err: err, took: time.Since(start)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body, err, time.Since(start)}
}

func TestStatusWithRetryAfter(t *testing.T) {
	both(t, "GET */data/*.parquet #2 -> status 503 retry-after=60 x2", func(t *testing.T, c *http.Client, r *faulty.Rules) {
		for i, want := range []int{200, 503, 200} {
			a := get(t, c, "bucket/data/a.parquet", "")
			if a.status != want {
				t.Errorf("request %d: %d, want %d", i+1, a.status, want)
			}
			if want == 503 && (a.header.Get("Retry-After") != "60" || !strings.Contains(string(a.body), "<Code>SlowDown</Code>")) {
				t.Errorf("%v %s", a.header, a.body)
			}
		}
		get(t, c, "bucket/data/b.parquet", "")
		if a := get(t, c, "bucket/data/b.parquet", ""); a.status != 503 {
			t.Errorf("ordinals are counted for each path: %d", a.status)
		}
		if a := get(t, c, "bucket/f", ""); a.status != 200 || !bytes.Equal(a.body, served) {
			t.Errorf("another path: %d", a.status)
		}
	})
}

func TestDelays(t *testing.T) {
	both(t, "* * -> delay 50ms\nGET bucket/f #2 -> delay 100ms", func(t *testing.T, c *http.Client, r *faulty.Rules) {
		for i, want := range []time.Duration{50, 150, 50} { // all matching rules apply
			if a := get(t, c, "bucket/f", ""); a.took != want*time.Millisecond || a.status != 200 {
				t.Errorf("request %d: %v, %d", i, a.took, a.status)
			}
		}
	})
	both(t, "* * -> delay 20ms..40ms\n* * -> delay lognormal(50ms;0.5)", func(t *testing.T, c *http.Client, r *faulty.Rules) {
		var all []time.Duration
		for range 200 {
			all = append(all, get(t, c, "bucket/f", "").took)
		}
		low, high := all[0], all[0]
		for _, d := range all {
			low, high = min(low, d), max(high, d)
		}
		if low < 25*time.Millisecond || high < 120*time.Millisecond || high > 600*time.Millisecond {
			t.Errorf("between %v and %v", low, high)
		}
	})
}

func TestBodies(t *testing.T) {
	both(t, "GET bucket/f #1 -> cut 1000\nGET bucket/f #2 -> reset 1000\nGET bucket/f #3 -> stall 1000 3s\nGET bucket/f #4 -> corrupt 1000\nGET bucket/f #5 -> cut 10000\nGET bucket/f #6 -> cut 0",
		func(t *testing.T, c *http.Client, r *faulty.Rules) {
			for i, want := range []struct {
				n    int
				ok   bool
				took time.Duration
			}{{1000, false, 0}, {1000, false, 0}, {10_000, true, 3 * time.Second}, {10_000, true, 0}, {10_000, true, 0}, {0, false, 0}} {
				synctest.Wait() // a connection that the server is about to close must not carry the next request
				a := get(t, c, "bucket/f", "")
				if len(a.body) != want.n || (a.err == nil) != want.ok && want.n != 10_000 || a.took != want.took {
					t.Errorf("request %d: %d bytes, %v, %v", i+1, len(a.body), a.err, a.took)
				}
				if same := bytes.Equal(a.body, served[:want.n]); same == (i == 3) {
					t.Errorf("request %d: bytes as served: %v", i+1, same)
				}
				if i == 3 && (a.body[1000] == served[1000] || !bytes.Equal(a.body[1001:], served[1001:])) {
					t.Error("the wrong byte is corrupt")
				}
			}
			synctest.Wait()
			if r.Open() != 0 || r.Count("GET", "bucket/f") != 6 || r.Count("PUT", "*") != 0 {
				t.Errorf("%d open, log %v", r.Open(), r.Log())
			}
		})
}

func TestRefuseHangLoseAndCall(t *testing.T) {
	both(t, "GET bucket/f #1 -> refuse\nGET bucket/f #2 -> hang 5s\nGET bucket/f #3 -> lose\nGET bucket/f #4 -> call seen", func(t *testing.T, c *http.Client, r *faulty.Rules) {
		called := 0
		r.On("seen", func(*http.Request) { called++ })
		if a := get(t, c, "bucket/f", ""); a.err == nil {
			t.Errorf("refused: %+v", a.status)
		}
		n := r.Count("GET", "*") // net/http asks again by itself when a connection of its own breaks
		for ; n < 2; n++ {
			if a := get(t, c, "bucket/f", ""); a.took != 5*time.Second || a.status != 200 {
				t.Errorf("hung: %v, %d", a.took, a.status)
			}
		}
		if a := get(t, c, "bucket/f", ""); a.err == nil && called == 0 {
			t.Errorf("lost: %+v", a.status)
		}
		if called == 0 {
			get(t, c, "bucket/f", "")
		}
		if called != 1 {
			t.Errorf("called %d times", called)
		}
	})
}

func TestWrongAnswers(t *testing.T) {
	both(t, `
		GET bucket/f range=10-19 #1 -> ignore-range
		GET bucket/f range=10-19 #2 -> content-range shift=5
		GET bucket/f range=10-19 #3 -> content-range total=+1, etag other
		GET bucket/f range=10-19 #4 -> content-range short=1
		GET bucket/f range=10-19 #5 -> content-range none`, func(t *testing.T, c *http.Client, r *faulty.Rules) {
		for i, want := range []struct {
			status int
			rng    string
			length int
		}{{200, "", 10_000}, {206, "bytes 15-24/10000", 10}, {206, "bytes 10-19/10001", 10}, {206, "bytes 10-18/10000", 10}, {206, "", 10}, {206, "bytes 10-19/10000", 10}} {
			a := get(t, c, "bucket/f", "10-19")
			if a.err != nil || a.status != want.status || a.header.Get("Content-Range") != want.rng || len(a.body) != want.length {
				t.Errorf("request %d: %d %q, %d bytes, %v", i+1, a.status, a.header.Get("Content-Range"), len(a.body), a.err)
			}
			if (a.header.Get("Etag") == `"other"`) != (i == 2) {
				t.Errorf("request %d: ETag %s", i+1, a.header.Get("Etag"))
			}
			if i == 0 && !bytes.Equal(a.body[10:20], served[10:20]) {
				t.Error("the range is not in its place")
			}
		}
	})
}

// Shares depend on path, range and repeat alone, never on the order in which goroutines come.
func TestSharesDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	run := func(paths ...string) map[string]string {
		r := faulty.New(t, "GET * 30% -> status 500")
		h := r.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		out := map[string]string{}
		for i := range 100 {
			for _, p := range paths {
				w := httptest.NewRecorder()
				q := httptest.NewRequest("GET", "/"+p, nil)
				q.Header.Set("Range", fmt.Sprintf("bytes=%d-", i%7))
				h.ServeHTTP(w, q)
				out[p] += fmt.Sprint(w.Code/100, " ")
			}
		}
		return out
	}
	alone, together := run("a"), run("b", "a", "c")
	if alone["a"] != together["a"] || together["a"] == together["b"] {
		t.Error("the draws depend on what else was asked")
	}
	if n := strings.Count(alone["a"], "5"); n < 15 || n > 45 {
		t.Errorf("%d of 100 at 30 %%", n)
	}
}

func TestListsAndHeadsAreTheirOwn(t *testing.T) {
	both(t, "LIST bucket/ -> status 500\nHEAD * -> status 403", func(t *testing.T, c *http.Client, r *faulty.Rules) {
		if a := get(t, c, "bucket/?list-type=2", ""); a.status != 500 {
			t.Errorf("list: %d", a.status)
		}
		if a := get(t, c, "bucket/f", ""); a.status != 200 {
			t.Errorf("get: %d", a.status)
		}
		resp, err := c.Head("http://fake/bucket/f")
		if err != nil || resp.StatusCode != 403 {
			t.Errorf("head: %v", err)
		}
		if err == nil {
			resp.Body.Close()
		}
		if r.Count("LIST", "*") != 1 || r.Count("HEAD", "*") != 1 || r.Count("", "*") != 3 {
			t.Errorf("log %v", r.Log())
		}
	})
}

// Over real sockets a reset is a reset.
func TestResetOverTCP(t *testing.T) {
	t.Parallel()
	r := faulty.New(t, "GET * #1 -> reset 100\nGET * #2 -> cut 100")
	url := fakes3.Start(t, r.Handler(plain()))
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for i, want := range []error{syscall.ECONNRESET, io.ErrUnexpectedEOF} {
		resp, err := c.Get(url + "/bucket/f")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}

func TestRulesRefuse(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"GET *", "GET -> status 500", "FETCH * -> status 500", "GET * ->", "GET * -> explode", "GET * -> status", "GET * -> status x", "GET * -> delay", "GET * -> delay 5",
		"GET * -> delay 50ms..20ms", "GET * -> delay lognormal(x;1)", "GET * #0 -> hang", "GET * #3-2 -> hang", "GET * #x -> hang", "GET * 101% -> hang", "GET * what -> hang",
		"GET * -> cut -1", "GET * -> cut", "GET * -> etag", "GET * -> call", "GET * -> hang x", "GET * -> status 500,, hang", "GET * x0 -> hang", "GET * -> x3",
	} {
		if _, err := faulty.Parse(rule, 1); err == nil {
			t.Errorf("%q was taken", rule)
		}
	}
	if _, err := faulty.Parse("\n# a comment\n  GET * -> hang # another\n", 1); err != nil {
		t.Error(err)
	}
}

func FuzzRules(f *testing.F) {
	f.Add("GET */data/*.parquet #2 -> status 503 retry-after=60 x2", "/bucket/data/x.parquet", "bytes=0-9")
	f.Add("* * 50% -> delay 0ms, corrupt 3, content-range shift=-5\nGET b* range=0-9 -> ignore-range", "/b/f", "bytes=-5")
	f.Add("GET * -> cut 3, stall 2 1ns, reset 1", "/bucket/f", "")
	f.Fuzz(func(t *testing.T, rules, path, rng string) {
		r, err := faulty.Parse(rules, 1)
		if err != nil || strings.Contains(rules, "delay") || strings.Contains(rules, "hang") || strings.Contains(rules, "deaf") || strings.Contains(rules, "stall") {
			return // these wait
		}
		q := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake/", nil)
		q.URL.Path = path
		q.Header["Range"] = []string{rng}
		func() {
			defer func() {
				if e := recover(); e != nil && e != http.ErrAbortHandler {
					panic(e)
				}
			}()
			r.Handler(plain()).ServeHTTP(httptest.NewRecorder(), q)
		}()
		if n := len(r.Log()); n != 1 || r.Open() != 0 {
			t.Errorf("%d requests logged, %d open", n, r.Open())
		}
	})
}
