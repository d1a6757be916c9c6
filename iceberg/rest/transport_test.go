package rest

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object/transport"
)

func TestL63_StalledCatalogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		stall func(w http.ResponseWriter, r *http.Request)
		least time.Duration
	}{
		{"before the headers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 5 * 30 * time.Second},
		{"in the body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"metadata":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 5 * 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := catalog(fakerest.Config{})
				base := fakerest.Pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.Path, "/tables/") {
						c.stall(w, r)
						return
					}
					s.ServeHTTP(w, r)
				}))
				tr, err := transport.Config{Dial: base.DialContext}.New()
				if err != nil {
					t.Fatal(err)
				}
				defer tr.CloseIdleConnections()
				cl, err := Open(t.Context(), Config{URI: "http://c", Transport: tr})
				if err != nil {
					t.Fatal(err)
				}
				defer cl.Close()
				start := time.Now()
				_, err = cl.Load(t.Context(), nsT, false)
				took := time.Since(start)
				if !errors.Is(err, meta.ErrUnavailable) || took < c.least || took > c.least+10*time.Second {
					t.Errorf("error %v after %v, want at least %v", err, took, c.least)
				}
				if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
					t.Errorf("%v is no timeout", err)
				}
			})
		})
	}
}

func TestASlowBodyIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := catalog(fakerest.Config{})
		c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "/tables/") {
				s.ServeHTTP(w, r)
				return
			}
			for _, b := range fmt.Appendf(nil, `{"metadata":%s}`, metadata(1)) {
				w.Write([]byte{b})
				w.(http.Flusher).Flush()
				time.Sleep(9 * time.Second)
			}
		}), nil)
		if _, err := c.Load(t.Context(), nsT, false); err != nil {
			t.Error(err)
		}
	})
}

func TestL67_PrivateCA(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(catalog(fakerest.Config{}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	ca := func(raw []byte) string {
		f := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(f, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	try := func(cfg transport.Config) error {
		tr, err := cfg.New()
		if err != nil {
			t.Fatal(err)
		}
		defer tr.CloseIdleConnections()
		c, err := Open(t.Context(), Config{URI: srv.URL, Transport: tr, Attempts: 1})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Load(t.Context(), nsT, false)
		return err
	}
	if err := try(transport.Config{CAFile: ca(srv.Certificate().Raw)}); err != nil {
		t.Errorf("right CA: %v", err)
	}
	if err := try(transport.Config{}); !errors.Is(err, meta.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("no CA: %v", err)
	}
}

func TestConnectionErrorsAreRetriedForReadsOnly(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := catalog(fakerest.Config{})
			c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == method && strings.Contains(r.URL.Path, "/tables/") {
					if n++; n < 3 {
						panic(http.ErrAbortHandler) // the connection breaks before an answer
					}
				}
				s.ServeHTTP(w, r)
			}), nil)
			var err error
			if method == "GET" {
				_, err = c.Load(t.Context(), nsT, false)
			} else {
				_, err = c.Post(t.Context(), nsT, []byte(`{}`))
			}
			switch {
			case method == "GET" && (err != nil || n != 3):
				t.Errorf("GET: %v after %d tries", err, n)
			case method == "POST" && (!errors.Is(err, meta.ErrCommitUnknown) || n != 1):
				t.Errorf("POST: %v after %d tries", err, n)
			}
		})
	}
}

func TestRefusedConnectionNamesTheHost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = Open(t.Context(), Config{URI: "http://" + addr, Attempts: 2})
	if !errors.Is(err, meta.ErrUnavailable) || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "2 attempts") {
		t.Errorf("error %v", err)
	}
}
