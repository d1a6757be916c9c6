//go:build integration

package integration

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
	"github.com/lakescan/lakescan/toxiproxy"
)

// openStore is the whole chain over a server; rules are faults below it.
func openStore(t *testing.T, access object.Access, rules *faulty.Rules) (object.Store, *object.Meter) {
	t.Helper()
	tr, err := transport.Config{}.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg := s3.Config{Credentials: object.Static(access), Transport: tr, PartSize: 5 << 20}
	if rules != nil {
		cfg.Wrap = rules.RoundTripper
	}
	remote, err := s3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.CloseIdleConnections(); remote.Close() })
	meter := object.NewMeter(nil)
	return object.Retry(object.Metered(object.Mux(map[string]object.Store{"s3": remote}), meter), object.RetryConfig{Meter: meter}), meter
}

func rigAccess(endpoint string) object.Access {
	return object.Access{Endpoint: endpoint, Region: rig.Region, KeyID: rig.AccessKey, Secret: rig.SecretKey}
}

func location(t *testing.T, text string) object.Location {
	t.Helper()
	loc, err := object.ParseLocation(text)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// A real server keeps the contract that the fakes keep.
func TestStoreConformance(t *testing.T) {
	r := rig.Get(t)
	bucket := r.Bucket(t, "store-conformance")
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		store, _ := openStore(t, rigAccess(r.S3), nil)
		// MinIO keeps keys as paths of a file system: no empty segment, no dot segments.
		return objecttest.Harness{Store: store, Root: location(t, "s3://"+bucket+"/root"), Large: 12 << 20, PlainKeys: true}
	})
}

// The same, while requests fail, bodies break and answers are lost on the way.
func TestStoreConformanceUnderFaults(t *testing.T) {
	r := rig.Get(t)
	bucket := r.Bucket(t, "store-faults")
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		store, _ := openStore(t, rigAccess(r.S3), faulty.New(t, `
			* * 5% -> status 503
			* * 3% -> refuse
			GET * 10% -> cut 700
			* * 2% -> lose`))
		return objecttest.Harness{Store: store, Root: location(t, "s3://"+bucket+"/root"), Large: 12 << 20, PlainKeys: true}
	})
}

func TestStoreRefusals(t *testing.T) {
	r := rig.Get(t)
	bucket := r.Bucket(t, "store-refusals")
	loc := location(t, "s3://"+bucket+"/f")
	wrongSecret, wrongKey, wrongRegion := rigAccess(r.S3), rigAccess(r.S3), rigAccess(r.S3)
	wrongSecret.Secret, wrongKey.KeyID, wrongRegion.Region = "not-it", "nobody", "eu-central-1"
	for _, c := range []struct {
		name   string
		access object.Access
		loc    object.Location
		want   error
	}{
		{"wrong secret", wrongSecret, loc, object.ErrDenied},
		{"unknown key", wrongKey, loc, object.ErrDenied},
		{"anonymous", object.Access{Endpoint: r.S3, Anonymous: true}, loc, object.ErrDenied},
		{"missing object", rigAccess(r.S3), loc, object.ErrNotFound},
		{"missing bucket", rigAccess(r.S3), location(t, "s3://store-nowhere/f"), object.ErrNotFound},
		{"another region", wrongRegion, loc, object.ErrNotFound}, // MinIO without a region takes any
	} {
		store, meter := openStore(t, c.access, nil)
		_, _, err := store.Read(t.Context(), c.loc, object.Suffix(10), nil, object.ReadOptions{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if n := meter.Stats().Requests[object.Get]; n != 1 {
			t.Errorf("%s: %d requests, want 1", c.name, n)
		}
	}
}

// A server that is killed in mid-read and comes back costs a pause, not the read.
func TestStoreSurvivesARestart(t *testing.T) {
	r := rig.Get(t)
	if r.MinIO == nil {
		t.Fatal("the rig does not own the server: unset LAKESCAN_TEST_S3")
	}
	bucket := r.Bucket(t, "store-restart")
	loc := location(t, "s3://"+bucket+"/f")
	data := objecttest.Bytes(8 << 20)
	store, _ := openStore(t, rigAccess(r.S3), nil)
	u, err := store.(object.Writer).Create(t.Context(), loc, "*")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := u.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	killed := make(chan error, 1)
	rules := faulty.New(t, "GET * #2 -> call kill")
	rules.On("kill", func(*http.Request) {
		r.MinIO.Kill()
		go func() { killed <- r.RestartMinIO(t.Context()) }()
	})
	tr, err := transport.Config{}.New()
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	remote, err := s3.New(s3.Config{Credentials: object.Static(rigAccess(r.S3)), Transport: tr, Wrap: rules.RoundTripper})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	// The server takes seconds to come back: more patience than by default.
	patient := object.Retry(remote, object.RetryConfig{Attempts: 60, Base: time.Second})
	for i := range int64(4) {
		off := i * 2 << 20
		got, _, err := patient.Read(t.Context(), loc, object.Range{Off: off, Len: 2 << 20}, nil, object.ReadOptions{Size: int64(len(data))})
		if err != nil || !bytes.Equal(got, data[off:off+2<<20]) {
			t.Fatalf("piece %d: %d bytes, %v", i, len(got), err)
		}
	}
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
}

// Behind latency, one read is one latency once the connection stands, and concurrent reads share it.
func TestStoreBehindLatency(t *testing.T) {
	r := rig.Get(t)
	bucket := r.Bucket(t, "store-latency")
	loc := location(t, "s3://"+bucket+"/f")
	data := objecttest.Bytes(256 << 10)
	direct, _ := openStore(t, rigAccess(r.S3), nil)
	u, err := direct.(object.Writer).Create(t.Context(), loc, "")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := u.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Toxi.Apply(t.Context(), rig.Proxy, toxiproxy.Latency(100)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Toxi.Apply(t.Context(), rig.Proxy, toxiproxy.Latency(0)) }()
	slow, meter := openStore(t, rigAccess(r.Slow), nil)
	for range 5 {
		got, _, err := slow.Read(t.Context(), loc, object.Range{Off: 1000, Len: 64 << 10}, nil, object.ReadOptions{Size: 256 << 10})
		if err != nil || !bytes.Equal(got, data[1000:1000+64<<10]) {
			t.Fatal(err)
		}
	}
	s := meter.Stats()
	if s.Requests[object.Get] != 5 || len(s.Requests) != 1 || s.ConnsCreated != 1 || s.ConnsReused != 4 || s.TTFB < 100*time.Millisecond {
		t.Errorf("stats %+v", s)
	}
}
