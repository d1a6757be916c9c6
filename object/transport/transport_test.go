package transport_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/object/transport"
)

func TestValidateReportsEveryFault(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := transport.Config{CAFile: empty, CertFile: "cert.pem", ProxyURL: "ftp://user:hush@proxy", ConnectTimeout: -1}
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"holds no certificate", "key's file", "ftp", "negative"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("%q shows a password", err)
	}
	for _, c := range []transport.Config{{CAFile: "/none"}, {CertFile: "/none", KeyFile: "/none"}, {ProxyURL: "http://"}, {ProxyURL: "::"}, {MaxConns: -1}} {
		if _, err := c.New(); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	tr, err := transport.Config{ProxyURL: "none"}.New()
	if err != nil {
		t.Fatal(err)
	}
	if tr.Proxy != nil || tr.MaxIdleConnsPerHost != tr.MaxConnsPerHost || tr.MaxIdleConns != 0 || !tr.DisableCompression ||
		tr.ResponseHeaderTimeout != 30*time.Second || tr.TLSHandshakeTimeout != 3*time.Second || tr.ForceAttemptHTTP2 {
		t.Errorf("%+v", tr)
	}
	tr, err = transport.Config{ProxyURL: "http://proxy:3128"}.New()
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := tr.Proxy(r); err != nil || u.Host != "proxy:3128" {
		t.Errorf("%v %v", u, err)
	}
}
