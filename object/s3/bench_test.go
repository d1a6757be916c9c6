package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
)

// canned is a transport without a network: what is left is the client's own cost.
type canned struct {
	header http.Header
	body   []byte
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 206, Request: r, Header: c.header.Clone(), ContentLength: int64(len(c.body)), Body: io.NopCloser(&cursor{c.body}),
	}, nil
}

type cursor struct{ rest []byte }

func (c *cursor) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// BenchmarkGet compares one ranged GET of 4 KiB: bare minio-go (Core.GetObject with a range), this package, and the whole chain.
// path=client has no network; path=loopback has a real one. requests/op and allocs/op are what to look at.
func BenchmarkGet(b *testing.B) {
	const n = 4096
	data := objecttest.Bytes(1 << 20)
	loc := at(b, "s3://bucket/data/part-00000.parquet")
	for _, path := range []string{"client", "loopback"} {
		var endpoint string
		var rt http.RoundTripper
		var requests func() int
		tr, err := transport.Config{}.New()
		if err != nil {
			b.Fatal(err)
		}
		if path == "client" {
			endpoint = "http://fake"
			rt = &canned{http.Header{
				"Content-Range": {"bytes 1000-5095/1048576"}, "Content-Length": {"4096"}, "Etag": {`"e"`}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"},
			}, data[1000 : 1000+n]}
		} else {
			srv := fakes3.New(fakes3.Config{}, "bucket")
			srv.Put("bucket", loc.Key, data)
			ts := httptest.NewServer(srv)
			defer ts.Close()
			endpoint, rt = ts.URL, tr
		}
		counter := &counting{next: rt}
		requests = func() int { return counter.n }
		store, err := s3.New(s3.Config{Credentials: object.Static(access(endpoint)), Transport: tr, Wrap: func(http.RoundTripper) http.RoundTripper { return counter }})
		if err != nil {
			b.Fatal(err)
		}
		bare, err := minio.New(strings.TrimPrefix(endpoint, "http://"), &minio.Options{
			Creds: credentials.NewStaticV4(keys.ID, keys.Secret, ""), Region: "us-east-1", Transport: counter, MaxRetries: 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		meter := object.NewMeter(nil)
		chain := object.Retry(object.Metered(object.Mux(map[string]object.Store{"s3": store}), meter), object.RetryConfig{Meter: meter})
		buf := make([]byte, n)
		run := func(side string, get func() error) {
			b.Run("path="+path+"/side="+side, func(b *testing.B) {
				b.ReportAllocs()
				before := requests()
				for b.Loop() {
					if err := get(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(requests()-before)/float64(b.N), "requests/op")
			})
		}
		run("minio-go", func() error {
			var o minio.GetObjectOptions
			if err := o.SetRange(1000, 1000+n-1); err != nil {
				return err
			}
			body, _, _, err := minio.Core{Client: bare}.GetObject(b.Context(), "bucket", loc.Key, o)
			if err != nil {
				return err
			}
			defer body.Close()
			_, err = io.ReadFull(body, buf)
			return err
		})
		run("s3", func() error {
			_, _, err := store.Read(b.Context(), loc, object.Range{Off: 1000, Len: n}, buf, object.ReadOptions{})
			return err
		})
		run("chain", func() error {
			_, _, err := chain.Read(b.Context(), loc, object.Range{Off: 1000, Len: n}, buf, object.ReadOptions{Urgent: always})
			return err
		})
		tr.CloseIdleConnections()
	}
}

type counting struct {
	next http.RoundTripper
	n    int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.next.RoundTrip(r)
}

// TestAllocationsOfAGet is the gate of BenchmarkGet: what the layers add to bare minio-go, whose own count is some 120.
func TestAllocationsOfAGet(t *testing.T) {
	data := objecttest.Bytes(4096)
	rt := &canned{http.Header{
		"Content-Range": {"bytes 0-4095/4096"}, "Content-Length": {"4096"}, "Etag": {`"e"`}, "Last-Modified": {"Mon, 02 Jan 2006 15:04:05 GMT"},
	}, data}
	store := open(t, s3.Config{Credentials: object.Static(access("http://fake")), Wrap: func(http.RoundTripper) http.RoundTripper { return rt }})
	bare, err := minio.New("fake", &minio.Options{Creds: credentials.NewStaticV4(keys.ID, keys.Secret, ""), Region: "us-east-1", Transport: rt, MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	meter := object.NewMeter(nil)
	chain := object.Retry(object.Metered(object.Mux(map[string]object.Store{"s3": store}), meter), object.RetryConfig{Meter: meter})
	buf := make([]byte, 4096)
	loc := at(t, "s3://bucket/f")
	with := testing.AllocsPerRun(200, func() {
		if _, _, err := chain.Read(t.Context(), loc, object.Range{Off: 0, Len: 4096}, buf, object.ReadOptions{Size: 4096}); err != nil {
			t.Fatal(err)
		}
	})
	without := testing.AllocsPerRun(200, func() {
		var o minio.GetObjectOptions
		if err := o.SetRange(0, 4095); err != nil {
			t.Fatal(err)
		}
		body, _, _, err := minio.Core{Client: bare}.GetObject(t.Context(), "bucket", "f", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(body, buf); err != nil {
			t.Fatal(err)
		}
		body.Close()
	})
	if with > without*1.5 {
		t.Errorf("%v allocations a GET through the chain, bare minio-go %v", with, without)
	}
	t.Logf("%v against %v", with, without)
}
