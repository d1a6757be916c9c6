package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An address with /v1, as other clients' documents show it, says what is wrong; one that works so is not touched.
func TestAddressWithVersion(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/config" && r.URL.Path != "/odd/v1/v1/config" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"defaults":{},"overrides":{}}`))
	}))
	defer s.Close()
	for path, fails := range map[string]bool{"": false, "/v1": true, "/v1/": true, "/odd/v1": false} {
		c, err := Open(t.Context(), Config{URI: s.URL + path})
		if (err != nil) != fails || fails && (!strings.Contains(err.Error(), "ends before its /v1")) {
			t.Errorf("%q: %v", path, err)
		}
		if err == nil {
			c.Close()
		}
	}
}
