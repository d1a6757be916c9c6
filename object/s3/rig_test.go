package s3_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
)

// rig is the whole way from Retry to a server, over in-process connections: inside a bubble it runs in virtual time.
type rig struct {
	srv   *fakes3.Server
	rules *faulty.Rules
	meter *object.Meter
	s3    *s3.Store
	store object.Store
	pipe  *fakes3.Pipe
	way   *way
}

// way watches the requests on their way: a clean-up may not overtake what it cleans up.
type way struct {
	next http.RoundTripper
	mu   struct {
		sync.Mutex
		puts      int
		overtaken int // DELETEs sent while a PUT was under way
	}
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if r.Method == http.MethodDelete && w.mu.puts > 0 {
		w.mu.overtaken++
	}
	if r.Method == http.MethodPut {
		w.mu.puts++
		defer func() {
			w.mu.Lock()
			w.mu.puts--
			w.mu.Unlock()
		}()
	}
	w.mu.Unlock()
	return w.next.RoundTrip(r)
}

func newRig(t *testing.T, rules string, cfg object.RetryConfig) *rig {
	t.Helper()
	g := &rig{srv: fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}}, "bucket"), rules: faulty.New(t, rules)}
	g.pipe = fakes3.Serve(g.rules.Handler(g.srv))
	tr, err := transport.Config{Dial: g.pipe.DialContext}.New()
	if err != nil {
		t.Fatal(err)
	}
	g.way = &way{next: tr}
	g.s3, err = s3.New(s3.Config{Credentials: object.Static(access("http://fake")), Transport: tr, PartSize: 5 << 20, Wrap: func(rt http.RoundTripper) http.RoundTripper {
		if rt == http.RoundTripper(tr) {
			return g.way
		}
		return rt
	}})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Meter == nil {
		cfg.Meter = object.NewMeter(nil)
	}
	g.meter = cfg.Meter
	g.store = object.Retry(object.Metered(object.Mux(map[string]object.Store{"s3": g.s3}), g.meter), cfg)
	t.Cleanup(func() {
		if g.way.mu.overtaken > 0 {
			t.Errorf("%d clean-ups overtook an upload", g.way.mu.overtaken)
		}
		tr.CloseIdleConnections()
		g.s3.Close()
		g.pipe.Close()
	})
	return g
}

// put stores reproducible bytes and tells where.
func (g *rig) put(t *testing.T, key string, n int) (object.Location, []byte) {
	t.Helper()
	data := objecttest.Bytes(n)
	g.srv.Put("bucket", key, data)
	return at(t, "s3://bucket/"+key), data
}

func (g *rig) read(t *testing.T, loc object.Location, r object.Range, o object.ReadOptions) ([]byte, object.Info, error) {
	t.Helper()
	return g.store.Read(t.Context(), loc, r, nil, o)
}

// wantBytes fails unless the answer is exactly the object's range.
func wantBytes(t *testing.T, got []byte, err error, want []byte) {
	t.Helper()
	if err != nil {
		t.Errorf("error %v", err)
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, not the %d of the range", len(got), len(want))
	}
}

func wantClass(t *testing.T, err, class error) *object.Error {
	t.Helper()
	e, ok := errors.AsType[*object.Error](err)
	if !errors.Is(err, class) || !ok {
		t.Fatalf("error %v, want an *object.Error that is %v", err, class)
	}
	return e
}

// since gives the virtual time that fn takes.
func since(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
