package icebergtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/iceberg/dir"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/rest"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, h http.Handler, properties map[string]string) *rest.Client {
	t.Helper()
	c, err := rest.Open(t.Context(), rest.Config{URI: "http://c", Transport: fakerest.Pipe(t, h), PageSize: 3, Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRESTStubConforms(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]fakerest.Config{
		"plain":           {},
		"prefix, paging":  {Prefix: "ws/1", PageSize: 2},
		"other separator": {Separator: "%2E", NoETag: true},
		"OAuth2":          {OAuth: &fakerest.OAuth{ClientID: "id", Secret: "s:e", Lifetime: time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			TestCatalog(t, Suite{
				Open: func(t *testing.T) (Catalog, func(meta.Ident, string)) {
					s := fakerest.New(cfg)
					properties := map[string]string{}
					if cfg.OAuth != nil {
						properties["credential"] = "id:s:e"
					}
					return open(t, s, properties), func(id meta.Ident, marker string) {
						for i := range id.Namespace {
							s.AddNamespace(id.Namespace[:i+1]...)
						}
						if err := s.AddTable(id.Namespace, id.Name, "", MetadataJSON("s3://b/t", marker)); err != nil {
							t.Fatal(err)
						}
					}
				},
				Names: []string{"dot.ted", "with space", "plus+", "per%20cent", "sl/ash", "é", "?#&=", `q"uote`, "CASE", "case"},
			})
		})
	}
}

func TestDirectoryConforms(t *testing.T) {
	t.Parallel()
	TestCatalog(t, Suite{
		Open: func(t *testing.T) (Catalog, func(meta.Ident, string)) {
			store := mem.New()
			return dir.New(store, "s3://b/warehouse"), func(id meta.Ident, marker string) {
				location := "s3://b/warehouse/" + strings.Join(append(id.Namespace[:len(id.Namespace):len(id.Namespace)], id.Name), "/")
				store.Put(location+"/metadata/v1.metadata.json", MetadataJSON(location, marker))
				store.Put(location+"/metadata/version-hint.text", []byte("1"))
			}
		},
		Names:   []string{"dot.ted", "with space", "plus+", "per%20cent", "é", "?#&=", `q"uote`, "CASE", "case"},
		Lenient: true,
	})
}

// TestWrongAnswers: what no honest catalog sends ends in a clear error, never in a wrong table.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	load := "GET …/namespaces/ns/tables/t"
	good := fmt.Sprintf(`{"metadata-location":"s3://b/t/v1.json","metadata":%s}`, MetadataJSON("s3://b/t", "m"))
	for name, c := range map[string]struct {
		steps []Step
		class error // nil = the table is loaded after all
	}{
		"HTML":                      {[]Step{{Match: load, Body: "<html>hello</html>"}}, meta.ErrInvalidMetadata},
		"an empty answer":           {[]Step{{Match: load}}, meta.ErrInvalidMetadata},
		"no metadata":               {[]Step{{Match: load, Body: `{"metadata-location":"s3://b/x"}`}}, meta.ErrInvalidMetadata},
		"null metadata":             {[]Step{{Match: load, Body: `{"metadata":null}`}}, meta.ErrInvalidMetadata},
		"metadata of version 4":     {[]Step{{Match: load, Body: strings.Replace(good, `"format-version":2`, `"format-version":4`, 1)}}, meta.ErrUnsupported},
		"304 that nobody asked":     {[]Step{{Match: load, Status: 304}}, errAny},
		"204":                       {[]Step{{Match: load, Status: 204}}, meta.ErrInvalidMetadata},
		"cut short, then whole":     {[]Step{{Match: load, Body: good[:100], Break: true}, {Match: load, Body: good}}, nil},
		"broken, then whole":        {[]Step{{Match: load, Break: true}, {Match: load, Body: good}}, nil},
		"cut short for ever":        {[]Step{{Match: load, Body: good[:9], Break: true}, {Match: load, Break: true}, {Match: load, Break: true}, {Match: load, Break: true}, {Match: load, Break: true}}, meta.ErrUnavailable},
		"404 without a body":        {[]Step{{Match: load, Status: 404}}, meta.ErrNoSuchTable},
		"error object in a 200":     {[]Step{{Match: load, Body: `{"error":{"message":"no","type":"X","code":500}}`}}, meta.ErrInvalidMetadata},
		"keys of numbers":           {[]Step{{Match: load, Body: strings.Replace(good, `{"metadata-`, `{"config":{"a":1},"metadata-`, 1)}}, meta.ErrInvalidMetadata},
		"credentials of nonsense":   {[]Step{{Match: load, Body: strings.Replace(good, `{"metadata-`, `{"storage-credentials":7,"metadata-`, 1)}}, meta.ErrInvalidMetadata},
		"unknown members, all well": {[]Step{{Match: load, Body: strings.Replace(good, `{"metadata-`, `{"future":{"a":[1,{}]},"metadata-`, 1)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, err := open(t, Script(t, c.steps...), nil).Load(t.Context(), ident("t", "ns"), false)
				switch {
				case c.class == nil:
					if err != nil || m.Properties["marker"] != "m" {
						t.Errorf("%+v, %v", m, err)
					}
				case err == nil || m != nil || c.class != errAny && !errors.Is(err, c.class):
					t.Errorf("%+v, error %v", m, err)
				}
			})
		})
	}
}

var errAny = errors.New("any error")
