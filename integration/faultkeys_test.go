//go:build integration

package integration

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// sessions hands out temporary keys of MinIO's own STS, as a catalog vends them.
type sessions struct {
	endpoint string
	renews   bool

	mu struct {
		sync.Mutex
		now     object.Access
		renewed int
	}
}

// Access gives the present keys; stale ones are exchanged, if there are others.
func (s *sessions) Access(_ context.Context, _ object.Location, stale object.Access) (object.Access, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.now.KeyID != "" && (s.mu.now.KeyID != stale.KeyID || !s.renews) {
		return s.mu.now, nil
	}
	c, err := credentials.NewSTSAssumeRole(s.endpoint, credentials.STSAssumeRoleOptions{AccessKey: rig.AccessKey, SecretKey: rig.SecretKey, DurationSeconds: 900, Location: rig.Region})
	if err != nil {
		return object.Access{}, err
	}
	v, err := c.GetWithContext(&credentials.CredContext{Client: http.DefaultClient})
	if err != nil {
		return object.Access{}, err
	}
	s.mu.now = object.Access{KeyID: v.AccessKeyID, Secret: v.SecretAccessKey, Token: v.SessionToken}
	s.mu.renewed++
	return s.mu.now, nil
}

// expiring makes the first session's keys expire after twenty requests: MinIO's shortest session is 15 minutes, so a proxy says it, in S3's words.
func expiring(renews bool) func(*trial, source.Depth) {
	return func(tr *trial, _ source.Depth) {
		keys := &sessions{endpoint: tr.rig.S3, renews: renews}
		tr.config.S3.Fallback = keys
		next := tr.forward()
		var mu sync.Mutex
		uses := map[string]int{}
		first := ""
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
			id, _, _ := strings.Cut(rest, "/")
			mu.Lock()
			if first == "" {
				first = id
			}
			uses[id]++
			over := id == first && uses[id] > 20
			mu.Unlock()
			if over {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte("<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"))
				return
			}
			next.ServeHTTP(w, r)
		}))
		tr.s3 = srv.URL
		tr.defers(func() {
			srv.Close()
			keys.mu.Lock()
			defer keys.mu.Unlock()
			if want := map[bool]int{true: 2, false: 1}[renews]; keys.mu.renewed != want {
				tr.t.Errorf("%d sessions were asked for, want %d: one renewal for all workers", keys.mu.renewed, want)
			}
		})
	}
}

// lateClock makes every signature 20 minutes old; the real server refuses it.
func lateClock(tr *trial, _ source.Depth) {
	next := tr.forward()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Amz-Date", time.Now().UTC().Add(-20*time.Minute).Format("20060102T150405Z"))
		next.ServeHTTP(w, r)
	}))
	tr.s3 = srv.URL
	tr.defers(srv.Close)
}
