package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/internal/fakes3"
)

// served is a store of ours on a loopback port.
func served(t *testing.T) *Served {
	t.Helper()
	s := NewServer()
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnContext = s.ConnContext
	h.Start()
	t.Cleanup(func() { h.CloseClientConnections(); h.Close(); control.CloseIdleConnections() })
	return &Served{URL: h.URL}
}

func runner(t *testing.T, m *Matrix, dir string) *Runner {
	t.Helper()
	f, err := OpenFolder(dir, NewRun(m, "test", "test", Machine{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &Runner{Matrix: m, Stack: served(t), Folder: f, Do: func(ctx context.Context, j Job) (*Sample, error) { return Do(ctx, j, nil) }}
}

func TestRunTakesEverySample(t *testing.T) {
	t.Parallel()
	m := parse(t, smallMatrix)
	dir := t.TempDir()
	r := runner(t, m, dir)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, samples, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != m.Scans() {
		t.Fatalf("%d samples, want %d", len(samples), m.Scans())
	}
	warm := 0
	for _, s := range samples {
		if s.Warmup {
			warm++
		}
		if s.Error != "" || s.Rows == 0 || s.Wall <= 0 || s.FirstRow <= 0 || s.FileCount != 3 || s.Sent() < 6 {
			t.Errorf("sample lacks something: %+v", s)
		}
		if s.Server == nil || !s.agrees() || s.Server.Conns > s.Conns || s.Server.Conns == 0 {
			t.Errorf("%s: the store saw %+v, the scan counted %d requests on %d connections", s.Cell.ID(), s.Server, s.Sent(), s.Conns)
		}
		if s.Cell.Depth == "auto" && (s.Rounds < 1 || s.Plan <= 0 || len(s.Files) != 3 || s.Files[2].Fetched <= s.Files[2].Admitted) {
			t.Errorf("%s: no timeline: rounds %v, plan %v, files %+v", s.Cell.ID(), s.Rounds, s.Plan, s.Files)
		}
	}
	if warm != 4 {
		t.Errorf("%d warm-ups, want one a cell", warm)
	}
}

func TestBrokenOffRunGoesOn(t *testing.T) {
	t.Parallel()
	m := parse(t, smallMatrix)
	dir := t.TempDir()
	r := runner(t, m, dir)
	ctx, cancel := context.WithCancel(t.Context())
	do, n := r.Do, 0
	r.Do = func(ctx context.Context, j Job) (*Sample, error) {
		if n++; n == 4 {
			cancel()
			return nil, ctx.Err()
		}
		return do(ctx, j)
	}
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	if err := r.Folder.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, SamplesFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, `{"cell":{"lat`...), 0o600); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	again := runner(t, m, dir)
	if len(again.Folder.Samples) != 3 {
		t.Fatalf("%d samples are kept, want 3", len(again.Folder.Samples))
	}
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, samples, err := ReadFolder(dir)
	if err != nil || len(samples) != m.Scans() {
		t.Errorf("%d samples (%v), want %d", len(samples), err, m.Scans())
	}
	other := parse(t, "name: small\naxes: {files: [4]}\n")
	if _, err := OpenFolder(dir, NewRun(other, "", "", Machine{})); !errors.Is(err, ErrOtherMatrix) {
		t.Errorf("another matrix in the same folder gave %v", err)
	}
}

func TestWrongRowsEndARun(t *testing.T) {
	t.Parallel()
	r := runner(t, parse(t, smallMatrix), t.TempDir())
	do := r.Do
	r.Do = func(ctx context.Context, j Job) (*Sample, error) { j.Check++; return do(ctx, j) }
	if err := r.Run(t.Context()); !errors.Is(err, ErrWrongRows) {
		t.Errorf("got %v, want ErrWrongRows", err)
	}
}

func TestFailuresAreSamplesUntilTheyRepeat(t *testing.T) {
	t.Parallel()
	r := runner(t, parse(t, smallMatrix), t.TempDir())
	do, n := r.Do, 0
	bad := errors.New("store is gone")
	r.Do = func(ctx context.Context, j Job) (*Sample, error) {
		if n++; n == 1 || n > 3 {
			return nil, bad
		}
		return do(ctx, j)
	}
	if err := r.Run(t.Context()); !errors.Is(err, bad) {
		t.Fatalf("got %v, want the failure that repeats", err)
	}
	if n := len(r.Folder.Samples); n != 3+maxFailed || r.Folder.Samples[0].Error == "" {
		t.Errorf("%d samples, want 3 and %d failed ones", n, maxFailed)
	}
}

// Cells of every kind of scan deliver the rows that were written: two streams, arrival order, a warm cache, a neighbour, all columns, a small budget.
func TestEveryKindOfCellHasTheRightRows(t *testing.T) {
	t.Parallel()
	for name, axes := range map[string]string{
		"streams":   "{streams: [2], order: [arrival], depth: [0, 4, auto], files: [5], size: [128KiB], latency: [1ms], columns: [all]}",
		"neighbour": "{neighbour: [256], depth: [auto], files: [9], size: [64KiB], latency: [2ms]}",
		"bare":      "{depth: [bare], files: [5], size: [64KiB], latency: [2ms]}",
		"bare wide": "{depth: [bare], files: [5], size: [512KiB], latency: [0ms]}",
		"hot":       "{cache: [hot], depth: [auto], files: [3], size: [64KiB], latency: [0ms], memory: [64MiB]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, "name: k\nruns: 1\nwarmup: 0\naxes: "+axes+"\n")
			r := runner(t, m, t.TempDir())
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range r.Folder.Samples {
				if s.Error != "" {
					t.Errorf("%s: %s", s.Cell.ID(), s.Error)
				}
				if s.FileReads < s.FileCount || s.FileBytes == 0 {
					t.Errorf("%s: %d requests, %d bytes for %d files", s.Cell.ID(), s.FileReads, s.FileBytes, s.FileCount)
				}
				if name == "neighbour" && s.NeighbourRows == 0 {
					t.Error("the neighbour read nothing")
				}
			}
		})
	}
}

// The link in virtual time: latency before each answer, one rate for all connections together.
func TestLinkKeepsItsLatencyAndRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewServer()
		s.mu.objects["a"] = bytes.Repeat([]byte{7}, 1_000_000)
		pipe := fakes3.Serve(s)
		defer pipe.Close()
		tr := pipe.Transport()
		defer tr.CloseIdleConnections()
		get := func() time.Duration {
			began := time.Now()
			resp, err := (&http.Client{Transport: tr}).Get("http://store/" + lakeBucket + "/a")
			if err != nil {
				t.Error(err)
				return 0
			}
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); n != 1_000_000 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			return time.Since(began)
		}
		s.setLink(Link{LatencyMS: 100})
		if d := get(); d != 100*time.Millisecond {
			t.Errorf("an answer took %v, want 100ms", d)
		}
		s.setLink(Link{LatencyMS: 100, RateMBps: 10})
		began, done := time.Now(), make(chan time.Duration)
		for range 2 {
			go func() { done <- get() }()
		}
		<-done
		<-done
		if d := time.Since(began); d < 297*time.Millisecond || d > 303*time.Millisecond {
			t.Errorf("2 MB at 10 MB/s took %v, want 100ms + 200ms", d)
		}
		s.setLink(Link{LatencyMS: 100, JitterMS: 50, Seed: 3})
		low, high := time.Hour, time.Duration(0)
		for range 30 {
			d := get()
			low, high = min(low, d), max(high, d)
		}
		if low < 50*time.Millisecond || low > 70*time.Millisecond || high > 150*time.Millisecond || high < 130*time.Millisecond {
			t.Errorf("jitter of 50 ms gave %v to %v", low, high)
		}
	})
}

func TestGateOfCounts(t *testing.T) {
	t.Parallel()
	m := parse(t, smallMatrix+"gate: {requests_a_file: 0.5}\n")
	if err := runner(t, m, t.TempDir()).Run(t.Context()); !errors.Is(err, ErrGate) {
		t.Errorf("one request a file passed a gate of a half: %v", err)
	}
	seen := &Sample{Requests: map[string]int64{"get": 3}, Cell: Cell{Neighbour: "none", Cache: "cold"}, Server: &Traffic{Requests: map[string]int64{"GET": 4}}}
	if err := (Gate{}).check(seen); !errors.Is(err, ErrGate) {
		t.Errorf("a request that the scan does not know of passed: %v", err)
	}
}
