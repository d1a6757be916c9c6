//go:build integration

package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

const (
	keyLife   = 5 * time.Second
	tokenLife = 3 * time.Second
)

// shortKeys vends keys of MinIO's STS that are over after keyLife. MinIO's shortest session is 15 minutes, so a proxy in front of it
// looks at the clock and refuses in S3's words.
type shortKeys struct {
	t        *testing.T
	endpoint string
	next     http.Handler

	mu      sync.Mutex
	ends    map[string]time.Time
	refused int
	served  map[string]int
}

func (s *shortKeys) vend([]string, string) []fakerest.Credential {
	c, err := credentials.NewSTSAssumeRole(s.endpoint, credentials.STSAssumeRoleOptions{AccessKey: rig.AccessKey, SecretKey: rig.SecretKey, DurationSeconds: 900, Location: rig.Region})
	if err != nil {
		s.t.Error(err)
		return nil
	}
	v, err := c.GetWithContext(&credentials.CredContext{Client: http.DefaultClient})
	if err != nil {
		s.t.Error(err)
		return nil
	}
	end := time.Now().Add(keyLife)
	s.mu.Lock()
	s.ends[v.AccessKeyID] = end
	s.mu.Unlock()
	return []fakerest.Credential{{Prefix: "s3://" + rig.Warehouse, Config: map[string]string{
		"s3.access-key-id": v.AccessKeyID, "s3.secret-access-key": v.SecretAccessKey, "s3.session-token": v.SessionToken,
		"s3.session-token-expires-at-ms": strconv.FormatInt(end.UnixMilli(), 10),
	}}}
}

func (s *shortKeys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	end, known := s.ends[id]
	live := known && time.Now().Before(end)
	if live {
		s.served[id]++
	} else {
		s.refused++
	}
	s.mu.Unlock()
	if !live {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"))
		return
	}
	s.next.ServeHTTP(w, r)
}

// TestP8_AScanOutlivesItsKeysAndTokens reads a table slowly with four scans at once, while its storage keys last five seconds and
// the catalog's tokens three: eight seconds, or as many as LAKESCAN_EXPIRY_SECONDS says.
func TestP8_AScanOutlivesItsKeysAndTokens(t *testing.T) {
	seconds := 8
	if v := os.Getenv("LAKESCAN_EXPIRY_SECONDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		seconds = n
	}
	l := getLab(t)
	tr := &trial{lab: l, t: t}
	keys := &shortKeys{t: t, endpoint: l.rig.S3, next: tr.forward(), ends: map[string]time.Time{}, served: map[string]int{}}
	front := httptest.NewServer(keys)
	catalog := fakerest.New(fakerest.Config{
		OAuth: &fakerest.OAuth{ClientID: "reader", Secret: "secret", Lifetime: tokenLife}, Vend: keys.vend,
		Endpoints: []string{"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}", "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"},
	})
	location, document := l.metadata(t)
	if err := catalog.AddTable([]string{"faults"}, "t", location, document); err != nil {
		t.Fatal(err)
	}
	rest := httptest.NewServer(catalog)
	cfg := lakescan.Config{Memory: 256 << 20, Catalog: iceberg.CatalogConfig{URI: rest.URL, Properties: map[string]string{"credential": "reader:secret"}}}
	cfg.S3.Access = object.Access{Endpoint: front.URL, PathStyle: true, Region: rig.Region}
	c, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var rows, failed atomic.Int64
	var wg sync.WaitGroup
	for i, depth := range []source.Depth{source.Off, 1, 1, 2} {
		wg.Go(func() {
			n, err := slowly(t, c, depth, time.Duration(seconds)*time.Second)
			rows.Add(n)
			if err != nil {
				failed.Add(1)
				t.Errorf("scan %d: after %d rows: %v", i, n, err)
			}
		})
	}
	wg.Wait()
	wall := time.Since(start)
	stats := c.Requests()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	front.Close()
	rest.Close()
	for _, f := range tr.cleanup {
		f()
	}
	keys.mu.Lock()
	defer keys.mu.Unlock()
	served := 0
	for _, n := range keys.served {
		served += n
	}
	tokens, renewals := catalog.Count("POST", "/tokens"), catalog.Count("GET", "/credentials")
	t.Logf("%v: four scans, %d rows, %d requests served by %d sets of keys (%d renewals), %d tokens, %d refused, %d retries, %d scans failed",
		wall.Round(100*time.Millisecond), rows.Load(), served, len(keys.ends), renewals, tokens, keys.refused, stats.Retries, failed.Load())
	if want := int64(4 * labFiles * labRows); rows.Load() != want {
		t.Errorf("%d rows, want %d", rows.Load(), want)
	}
	if keys.refused > 0 {
		t.Errorf("%d requests came with keys that were over", keys.refused)
	}
	// Each scan loads the table, with keys of its own. They are renewed after half their life, and only while there are requests.
	if most := 4 * (int(wall/(keyLife/2)) + 2); len(keys.ends) > most || len(keys.ends) < int(wall/keyLife) {
		t.Errorf("%d sets of keys in %v, want %d at most", len(keys.ends), wall, most)
	}
	if tokens < 1+int(wall/keyLife)/2 || tokens > int(wall/(tokenLife/2))+2 {
		t.Errorf("%d tokens in %v", tokens, wall)
	}
}

// slowly reads the lab's table at an even pace that takes that long.
func slowly(t *testing.T, c *lakescan.Client, depth source.Depth, long time.Duration) (rows int64, err error) {
	r, err := c.Scan(t.Context(), labTable, lakescan.Columns("k", "v"), lakescan.MaxFilesToPrefetch(depth))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	start := time.Now()
	for b, err := range r.All() {
		if err != nil {
			return rows, err
		}
		k := b.Record.Column(0).(*array.Int64)
		for i := range int(b.Record.NumRows()) {
			if k.Value(i) != rows {
				return rows, fmt.Errorf("WRONG ROW %d: %d", rows, k.Value(i))
			}
			rows++
		}
		pace := time.Duration(float64(long) * float64(rows) / (labFiles * labRows))
		select {
		case <-time.After(pace - time.Since(start)):
		case <-t.Context().Done():
			return rows, t.Context().Err()
		}
	}
	return rows, nil
}

// metadata is the table's newest metadata file.
func (l *lab) metadata(t *testing.T) (location string, document []byte) {
	t.Helper()
	prefix, _, _ := strings.Cut(l.files[0].key, "/data/")
	var newest string
	for o := range l.minio.ListObjects(t.Context(), rig.Warehouse, minio.ListObjectsOptions{Prefix: prefix + "/metadata/", Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if strings.HasSuffix(o.Key, ".metadata.json") {
			newest = max(newest, o.Key)
		}
	}
	o, err := l.minio.GetObject(t.Context(), rig.Warehouse, newest, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if document, err = io.ReadAll(o); err != nil {
		t.Fatal(err)
	}
	return "s3://" + rig.Warehouse + "/" + newest, document
}
