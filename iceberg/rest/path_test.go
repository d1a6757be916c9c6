package rest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestEncodePrefix(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "a", "a/b": "a/b", "ws|1": "ws%7C1", "p%7Cq": "p%7Cq", "100%": "100%25", "%zz": "%25zz", "a b+c": "a%20b%2Bc", "é": "%C3%A9"} {
		if got := encodePrefix(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzP9_Paths: what a Java server decodes is what was meant, for every name that can be said at all.
func FuzzP9_Paths(f *testing.F) {
	f.Add("a", "b", "t", "p", "")
	f.Add("a.b", "c+d e", "x/y", "ws|1/%7C", "%2E")
	f.Add("..", ".", "%20", "a/b", "%1F")
	f.Fuzz(func(t *testing.T, ns1, ns2, table, prefix, separator string) {
		if sep, err := url.PathUnescape(separator); err != nil || len(separator) != 3*len(sep) || strings.ToUpper(separator) != separator {
			t.Skip("no separator that a server could send")
		}
		if !utf8.ValidString(ns1 + ns2 + table) {
			t.Skip("names are text")
		}
		p := newPaths("http://h/base", prefix, separator)
		id := meta.Ident{Namespace: []string{ns1, ns2}, Name: table}
		if !p.expressible(id.Namespace) || table == "" {
			return
		}
		r, err := http.NewRequest("GET", p.table(id), nil)
		if err != nil {
			t.Fatalf("%q: %v", p.table(id), err)
		}
		wire := r.URL.EscapedPath()
		if "http://h"+wire != p.table(id) {
			t.Fatalf("net/http sends %q for %q", wire, p.table(id))
		}
		for _, c := range []byte(wire) {
			if !unreserved(c) && c != '%' && c != '/' {
				t.Fatalf("byte %q in %q", c, wire)
			}
		}
		parts := strings.Split(strings.TrimPrefix(wire, "/base/v1/"), "/")
		if n := len(parts); n < 4 || parts[n-4] != "namespaces" || parts[n-2] != "tables" {
			t.Fatalf("path %q", wire)
		}
		sep := separator
		if sep == "" {
			sep = unitSeparator
		}
		got := fakerest.DecodeNamespace(parts[len(parts)-3], sep)
		if len(got) != 2 || got[0] != ns1 || got[1] != ns2 {
			t.Errorf("namespace %q became %q under %s", id.Namespace, got, sep)
		}
		if got := fakerest.DecodeNamespace(parts[len(parts)-1], "no separator"); got[0] != table {
			t.Errorf("table %q became %q", table, got[0])
		}
	})
}
