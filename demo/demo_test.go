package main

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestLakeComesUp(t *testing.T) {
	l, err := start(t.Context(), options{latencyMS: 100, s3: "127.0.0.1:0", slow: "127.0.0.1:0", rest: "127.0.0.1:0", slowREST: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, url := range []string{l.REST, l.SlowREST} {
		resp, err := http.Get(url + "/v1/namespaces/demo/tables/trips")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("load table from %s: %v, %v", url, resp, err)
		}
		resp.Body.Close()
	}
	if !strings.HasPrefix(l.S3, "http://127.0.0.1:") || !strings.HasPrefix(l.SlowS3, "http://127.0.0.1:") {
		t.Errorf("listens beyond the loopback address: %+v", l.Endpoints)
	}
	get := func(url string) time.Duration {
		begin := time.Now()
		resp, err := http.Get(url + "/" + bucket + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("unsigned request to %s: %s, want 403", url, resp.Status)
		}
		return time.Since(begin)
	}
	get(l.S3)
	if d := get(l.SlowS3); d < 100*time.Millisecond {
		t.Errorf("the slow store answered after %v", d)
	}
}
