package commit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/rest"
	"github.com/lakescan/lakescan/internal/fakerest"
)

// TestP11_PublishedOnceOrNotAtAll breaks a commit at each point, in each way, and looks at what became of it.
func TestP11_PublishedOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec string
		published  bool
		class      error // of the commit's error; nil = success
	}{
		{"manifest cannot be written", "iceberg/commit_write=1*error(disk)", false, errFailpoint},
		{"list cannot be written", "iceberg/commit_write=1*off->1*error(disk)", false, errFailpoint},
		{"stopped before the request", "iceberg/commit_post=1*error(stop)", false, errFailpoint},
		{"answer lost once", "iceberg/commit_answer=1*error(lost)", true, nil},
		{"answer lost always", "iceberg/commit_answer=error(lost)", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := created(t, fakerest.Config{}, "a")
				before := l.metadataFiles()
				ctx, _ := failpoints.Scoped(t, t.Context(), c.spec, nil)
				r, err := l.table.Commit(ctx, l.base, Change{Add: dataFiles("b")})
				if c.class == nil && err != nil || c.class != nil && !isClass(err, c.class) {
					t.Errorf("error %v", err)
				}
				if c.published {
					l.wantLive("a:1", "b:2")
					if m := l.load(); r != nil && mustHead(t, m) != r.Snapshot {
						t.Errorf("head is not the snapshot")
					}
					return
				}
				l.wantLive("a:1")
				if n := l.metadataFiles(); n != before {
					t.Errorf("%d metadata files, were %d", n, before)
				}
			})
		})
	}
}

func isClass(err, class error) bool {
	if class == errFailpoint {
		_, ok := errors.AsType[*failpoints.Error](err)
		return ok
	}
	return errors.Is(err, class)
}

// flaky scripts the answers to commits: "apply" lets the catalog act and loses the answer, a number is sent instead of acting,
// "ok" is left alone. The last repeats.
func flaky(script ...string) (cfg fakerest.Config, posts *int) {
	var mu sync.Mutex
	n := 0
	step := func(r *http.Request) string {
		if r.Method != "POST" || !strings.Contains(r.URL.Path, "/tables/t") {
			return "ok"
		}
		return script[min(n, len(script)-1)]
	}
	armed := false
	cfg.Before = func(r *http.Request) *fakerest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("X-Arm") != "" {
			armed = true
		}
		if !armed {
			return nil
		}
		var status int
		if _, err := fmt.Sscan(step(r), &status); err == nil {
			n++
			return &fakerest.Answer{Status: status}
		}
		return nil
	}
	cfg.After = func(r *http.Request, status int) *fakerest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if !armed || r.Method != "POST" || !strings.Contains(r.URL.Path, "/tables/t") {
			return nil
		}
		s := step(r)
		if s == "ok" || s == "apply" {
			n++
		}
		if s == "apply" {
			return &fakerest.Answer{Status: 502}
		}
		return nil
	}
	return cfg, &n
}

// arm begins the script.
func (l *lake) arm() {
	r, err := http.NewRequestWithContext(l.t.Context(), "GET", "http://c/v1/config", http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("X-Arm", "1")
	l.server.ServeHTTP(discard{}, r)
}

type discard struct{}

func (discard) Header() http.Header { return http.Header{} }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (discard) WriteHeader(int) {}

func TestP11_LostAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		script    []string
		published bool
		class     error
	}{
		{"applied, then 502", []string{"apply", "ok"}, true, nil},
		{"not applied, 500, sent again", []string{"500", "ok"}, true, nil},
		{"not applied twice", []string{"500", "504", "ok"}, true, nil},
		{"500, then applied and lost", []string{"500", "apply", "ok"}, true, nil},
		{"500 for ever", []string{"500"}, false, meta.ErrCommitUnknown},
		{"refused", []string{"403"}, false, meta.ErrDenied},
		{"500, then refused", []string{"500", "403"}, false, meta.ErrCommitUnknown},
		{"throttled, then accepted", []string{"429", "429", "ok"}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := flaky(c.script...)
				l := created(t, cfg, "a")
				before := l.metadataFiles()
				l.arm()
				r, err := l.table.Commit(t.Context(), l.base, Change{Add: dataFiles("b")})
				if c.class == nil && err != nil || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v", err)
				}
				if unknown, ok := errors.AsType[*UnknownError](err); ok {
					if unknown.Snapshot == 0 || len(unknown.Files) != 3 || !strings.Contains(err.Error(), "/data/b") {
						t.Errorf("unknown outcome %+v", unknown)
					}
					if n := l.metadataFiles(); n != before+2 {
						t.Errorf("%d metadata files: some were deleted while the outcome is unknown", n)
					}
				} else if !c.published && l.metadataFiles() != before {
					t.Errorf("%d metadata files, were %d", l.metadataFiles(), before)
				}
				if c.published {
					l.wantLive("a:1", "b:2")
					if m := l.load(); mustHead(t, m) != r.Snapshot {
						t.Error("another snapshot is the head")
					}
				} else {
					l.wantLive("a:1")
				}
			})
		})
	}
}

func TestP11_LostAnswerAndARival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Our request is lost before it acts; another commits before we look.
		l := created(t, fakerest.Config{}, "a")
		lost := 0
		b := &losing{Client: l.client, before: func() error {
			if lost++; lost == 1 {
				if err := l.rival("rival", Change{})(t.Context(), ""); err != nil {
					t.Error(err)
				}
				return fmt.Errorf("%w: the line went dead", meta.ErrCommitUnknown)
			}
			return nil
		}}
		r, err := (&Table{Backend: b, Ident: ident, Store: l.store}).Commit(t.Context(), l.base, Change{Add: dataFiles("b")})
		if err != nil || r.Rounds != 2 {
			t.Fatalf("result %+v, error %v", r, err)
		}
		l.wantLive("a:1", "b:3", "rival:2")
	})
}

// losing puts a hook before commits.
type losing struct {
	*rest.Client
	before func() error
}

func (b *losing) Post(ctx context.Context, id meta.Ident, body []byte) (*meta.Metadata, error) {
	if err := b.before(); err != nil {
		return nil, err
	}
	return b.Client.Post(ctx, id, body)
}

func TestP11_CancelledWhileTheRequestIsOut(t *testing.T) {
	t.Parallel()
	for _, lands := range []bool{true, false} {
		t.Run(fmt.Sprintf("lands %v", lands), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := false
				hold := func(r *http.Request) *fakerest.Answer {
					if slow && r.Method == "POST" {
						return &fakerest.Answer{Delay: time.Hour}
					}
					return nil
				}
				cfg := fakerest.Config{}
				if lands {
					cfg.After = func(r *http.Request, _ int) *fakerest.Answer {
						if slow && r.Method == "POST" {
							<-r.Context().Done() // done, but the answer never leaves
						}
						return nil
					}
				} else {
					cfg.Before = hold
				}
				l := created(t, cfg, "a")
				slow = true
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				r, err := l.table.Commit(ctx, l.base, Change{Add: dataFiles("b")})
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("took %v", took)
				}
				if lands {
					if err != nil {
						t.Errorf("it landed, and the error is %v", err)
					}
					l.wantLive("a:1", "b:2")
					return
				}
				if !errors.Is(err, meta.ErrCommitUnknown) || r != nil {
					t.Errorf("result %+v, error %v", r, err)
				}
				l.wantLive("a:1")
			})
		})
	}
}
