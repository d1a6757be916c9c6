package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
)

// The tests of this file are of faults related to those that users reported (TestN_KIND1_…).

// Keys vended for a table's folder are not lent to files elsewhere, be it a folder whose name starts alike.
func TestN_CRED1_VendedKeysStayInTheirFolder(t *testing.T) {
	t.Parallel()
	v := &vending{life: time.Hour}
	c := open(t, catalog(fakerest.Config{Vend: v.vend}), map[string]string{"s3.access-key-id": "own", "s3.secret-access-key": "own"})
	tb, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	for loc, want := range map[string]string{"s3://b/t/data/f.parquet": "key1", "s3://b/t2/f.parquet": "own", "s3://b/table/f.parquet": "own", "s3://other/t/f.parquet": "own"} {
		a, err := tb.Credentials().Access(t.Context(), location(t, loc), object.Access{})
		if err != nil || a.KeyID == "key1" != (want == "key1") {
			t.Errorf("%s: key %q, error %v; want %q", loc, a.KeyID, err, want)
		}
	}
}

// Keys that say no end are not renewed by the clock; a refusal renews them once.
func TestN_CRED2_KeysWithoutAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := catalog(fakerest.Config{Endpoints: []string{routeCredentials}, Vend: func([]string, string) []fakerest.Credential {
			n++
			return []fakerest.Credential{{Prefix: "s3://b/t", Config: map[string]string{"s3.access-key-id": fmt.Sprintf("key%d", n), "s3.secret-access-key": "secret"}}}
		}})
		c := open(t, s, nil)
		tb, err := c.LoadTable(t.Context(), nsT, false)
		if err != nil {
			t.Fatal(err)
		}
		loc := location(t, "s3://b/t/x")
		var last object.Access
		for range 50 {
			a, err := tb.Credentials().Access(t.Context(), loc, object.Access{})
			if err != nil || a.KeyID != "key1" {
				t.Fatalf("access %+v, %v", a, err)
			}
			last = a
			time.Sleep(time.Hour)
		}
		if n != 1 {
			t.Errorf("keys without an end were vended %d times", n)
		}
		if a, err := tb.Credentials().Access(t.Context(), loc, last); err != nil || a.KeyID != "key2" || n != 2 {
			t.Errorf("after a refusal: %+v, %v, vended %d times", a, err, n)
		}
	})
}

// A page may hold nothing and still name the next one.
func TestN_REST1_AnEmptyPageIsNotTheLast(t *testing.T) {
	t.Parallel()
	c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/config"):
			w.Write([]byte(`{"defaults":{},"overrides":{}}`))
		case r.URL.Query().Get("pageToken") == "":
			w.Write([]byte(`{"identifiers":[],"next-page-token":"2"}`))
		case r.URL.Query().Get("pageToken") == "2":
			w.Write([]byte(`{"next-page-token":"3"}`))
		default:
			w.Write([]byte(`{"identifiers":[{"namespace":["n"],"name":"x"}],"next-page-token":null}`))
		}
	}), nil)
	var names []string
	for id, err := range c.Tables(t.Context(), []string{"n"}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, id.Name)
	}
	if len(names) != 1 || names[0] != "x" {
		t.Errorf("tables %q", names)
	}
}

// A 304 to a load that sent no validator, an empty body and another format's body are errors, never a table without rows.
func TestN_REST2_AnswersThatAreNoTable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"304":         func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotModified) },
		"204":         func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"no metadata": func(w http.ResponseWriter) { w.Write([]byte(`{"metadata-location":"s3://b/t/m.json"}`)) },
		"null":        func(w http.ResponseWriter) { w.Write([]byte(`null`)) },
		"view": func(w http.ResponseWriter) {
			w.Write([]byte(`{"metadata":{"view-uuid":"u","format-version":1,"versions":[]}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/config") {
					w.Write([]byte(`{"defaults":{},"overrides":{}}`))
					return
				}
				answer(w)
			}), nil)
			tb, err := c.LoadTable(t.Context(), nsT, false)
			if err == nil {
				t.Fatalf("a table: %v", tb)
			}
			if !errors.Is(err, meta.ErrInvalidMetadata) && !errors.Is(err, meta.ErrUnavailable) {
				t.Errorf("untyped: %v", err)
			}
		})
	}
}
