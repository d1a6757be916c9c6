package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  error
		text   string // a part of the error
	}{
		{"model", 404, `{"error":{"message":"Table does not exist: a.b","type":"NoSuchTableException","code":404}}`, meta.ErrNoSuchTable, "Table does not exist: a.b"},
		{"namespace", 404, `{"error":{"message":"m","type":"NoSuchNamespaceException","code":404}}`, meta.ErrNoSuchNamespace, "m"},
		{"warehouse", 404, `{"error":{"message":"m","type":"WarehouseNotFoundException","code":404}}`, meta.ErrNoSuchWarehouse, "m"},
		{"plain 404", 404, `not here`, meta.ErrNoSuchTable, "is the catalog's uri right"},
		{"HTML", 502, "<html>\n<body>\x1b[31mBad\tGateway</body></html>", meta.ErrUnavailable, "<html> <body> [31mBad Gateway</body></html>"},
		{"page with a title", 400, "<html><head>\n<Title>Error 400 Ambiguous\n URI</title></head>...", nil, "load table ns.t: Error 400 Ambiguous URI (status 400"},
		{"empty", 500, "", meta.ErrUnavailable, "status 500"},
		{"oauth form", 403, `{"error":"access_denied","error_description":"not you"}`, meta.ErrDenied, "not you"},
		{"long", 403, strings.Repeat("x", 5000), meta.ErrDenied, strings.Repeat("x", maxRawMessage)},
		{"null error", 403, `{"error":null}`, meta.ErrDenied, "status 403"},
		{"not supported", 501, `{"error":{"message":"no","type":"UnsupportedOperationException"}}`, meta.ErrUnsupported, "no"},
		{"redirect", 302, "", meta.ErrUnavailable, "set the catalog's uri"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cl := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/config") {
					fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
					return
				}
				w.Header().Set("X-Request-Id", "req-7")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}), nil)
			cl.cfg.Attempts = 1
			_, err := cl.Load(t.Context(), nsT, false)
			e, ok := errors.AsType[*meta.Error](err)
			if !ok || c.class != nil && !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v", err)
			}
			if e.RequestID != "req-7" || e.Op != "load table" || len(err.Error()) > 1000 {
				t.Errorf("error %+v", e)
			}
			if strings.ContainsAny(err.Error(), "\n\t\x1b") {
				t.Errorf("control characters in %q", err)
			}
		})
	}
}

func TestSuccessThatIsNone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"HTML": "<html>welcome</html>", "empty": "", "array": "[]", "no metadata": `{"metadata-location":"x"}`,
		"metadata of nothing": `{"metadata":{}}`, "cut": `{"metadata":{"format-version":2`, "wrong kind": `{"metadata":{"format-version":"two"}}`,
		"config of numbers": `{"metadata":{},"config":{"a":1}}`,
	} {
		cl := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/config") {
				fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
				return
			}
			fmt.Fprint(w, body)
		}), nil)
		if _, err := cl.Load(t.Context(), nsT, false); !errors.Is(err, meta.ErrInvalidMetadata) {
			t.Errorf("%s: load: %v", name, err)
		}
		if _, err := cl.Post(t.Context(), nsT, []byte("{}")); !errors.Is(err, meta.ErrCommitUnknown) {
			t.Errorf("%s: commit: %v", name, err)
		}
	}
}

func TestAnswerLargerThanTheLimit(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{})
	cl := open(t, s, nil)
	cl.cfg.MaxBody = 100
	if _, err := cl.Load(t.Context(), nsT, false); !errors.Is(err, meta.ErrInvalidMetadata) || !strings.Contains(err.Error(), "larger than 100 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "catalog", "ftp://x", "http://", "http://user:secret@h/", "::"} {
		err := Config{URI: uri}.Validate()
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", uri, err)
		}
	}
	if err := (Config{URI: "https://h:8181/catalog/"}).Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzServerError(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"m","type":"t"}}`))
	f.Add([]byte(`{"error":"x","error_description":"d"}`))
	f.Add([]byte("<html>\xff\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := parseServerError(body)
		if len(e.message) > maxMessage+8 || strings.ContainsAny(e.message+e.errorType, "\n\r\t\x1b\x00") {
			t.Errorf("%+v", e)
		}
	})
}

func TestPlainTag(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`0ff--gzip`: `0ff`, `"a-gzip"`: `"a"`, `"a--gzip"`: `"a"`, `W/"a"`: `W/"a"`, ``: ``, `"x-"`: `"x-"`, `"a"`: `"a"`} {
		if got := plainTag(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
