package s3_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/objecttest"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = fakes3.Keys{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// access to a test server.
func access(endpoint string) object.Access {
	return object.Access{Endpoint: endpoint, KeyID: keys.ID, Secret: keys.Secret, Token: keys.Token}
}

// open makes a store that the test closes, with its idle connections.
func open(t testing.TB, cfg s3.Config) *s3.Store {
	t.Helper()
	if cfg.Transport == nil {
		tr, err := transport.Config{}.New()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tr.CloseIdleConnections)
		cfg.Transport = tr
	}
	s, err := s3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func at(t testing.TB, text string) object.Location {
	t.Helper()
	loc, err := object.ParseLocation(text)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, minio := range []bool{false, true} {
		t.Run(map[bool]string{false: "AWS", true: "MinIO"}[minio], func(t *testing.T) {
			t.Parallel()
			conformance(t, minio)
		})
	}
}

func conformance(t *testing.T, minio bool) {
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}, MinIO: minio}, "bucket")
		store := open(t, s3.Config{Credentials: object.Static(access(fakes3.Start(t, srv))), PartSize: 5 << 20})
		t.Cleanup(func() {
			if n := srv.Uploads(); n != 0 {
				t.Errorf("%d unfinished uploads left", n)
			}
		})
		return objecttest.Harness{Store: store, Root: at(t, "s3://bucket/root"), Large: 11 << 20}
	})
}
