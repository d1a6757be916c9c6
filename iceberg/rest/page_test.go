package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestListing(t *testing.T) {
	t.Parallel()
	s := fakerest.New(fakerest.Config{PageSize: 3})
	s.AddNamespace("a", "b")
	s.AddNamespace("a", "c.d")
	for i := range 10 {
		s.AddTable([]string{"a", "b"}, fmt.Sprintf("t%d", i), "", metadata())
	}
	c := open(t, s, nil)
	var names []string
	for id, err := range c.Tables(t.Context(), []string{"a", "b"}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, id.String())
	}
	if len(names) != 10 || names[9] != "a.b.t9" {
		t.Errorf("tables %v", names)
	}
	if n := s.Count("GET", "/tables"); n != 4 {
		t.Errorf("%d page requests, want 4", n)
	}
	for _, r := range s.Log() {
		if strings.HasSuffix(r.Path, "/tables") && (!r.Query.Has("pageToken") || r.Query.Get("pageSize") != "1000") {
			t.Errorf("page query %v", r.Query)
		}
	}
	var ns []string
	for n, err := range c.Namespaces(t.Context(), []string{"a"}) {
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, strings.Join(n, "|"))
	}
	if !slices.Equal(ns, []string{"a|b", "a|c.d"}) {
		t.Errorf("namespaces %q", ns)
	}
	for _, err := range c.Tables(t.Context(), []string{"zz"}) {
		if !errors.Is(err, meta.ErrNoSuchNamespace) {
			t.Errorf("unknown namespace: %v", err)
		}
	}
	before := s.Count("GET", "/tables")
	for range c.Tables(t.Context(), []string{"a", "b"}) {
		break
	}
	if n := s.Count("GET", "/tables") - before; n != 1 {
		t.Errorf("a range that was left after one table made %d requests", n)
	}
}

func TestListingEndsOnARepeatedToken(t *testing.T) {
	t.Parallel()
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/config") {
			w.Write([]byte(`{"defaults":{},"overrides":{}}`))
			return
		}
		w.Write([]byte(`{"identifiers":[{"namespace":["n"],"name":"x"}],"next-page-token":"again"}`))
	}), nil)
	n := 0
	for _, err := range c.Tables(t.Context(), []string{"n"}) {
		if n++; err != nil {
			if !errors.Is(err, meta.ErrInvalidMetadata) {
				t.Errorf("error %v", err)
			}
			break
		}
		if n > 10 {
			t.Fatal("the listing does not end")
		}
	}
}
