package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestL69_TokensAreRenewed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		oauth fakerest.OAuth
		// requests of the token route over 20 s of one call each 100 ms, and 401 answers seen
		tokens, refused int
	}{
		{"expires_in", fakerest.OAuth{Lifetime: 3 * time.Second}, 8, 0},
		{"exp claim", fakerest.OAuth{Lifetime: 3 * time.Second, NoExpiresIn: true, JWT: true}, 10, 0},
		{"nothing said", fakerest.OAuth{Lifetime: 3 * time.Second, NoExpiresIn: true}, 7, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				oauth := c.oauth
				oauth.ClientID, oauth.Secret = "id", "se:cr:et"
				s := catalog(fakerest.Config{OAuth: &oauth})
				cl := open(t, s, map[string]string{"credential": "id:se:cr:et", "scope": "PRINCIPAL_ROLE:ALL", "audience": "aud", "resource": "res"})
				for range 200 {
					if _, err := cl.Load(t.Context(), nsT, false); err != nil {
						t.Fatal(err)
					}
					time.Sleep(100 * time.Millisecond)
				}
				refused := 0
				for _, r := range s.Log() {
					if r.Status == 401 {
						refused++
					}
				}
				if n := s.Count("POST", "/oauth/tokens"); n != c.tokens || refused != c.refused {
					t.Errorf("%d tokens and %d refusals, want %d and %d", n, refused, c.tokens, c.refused)
				}
				form := s.Log()[0].Form
				for k, v := range map[string]string{
					"grant_type": "client_credentials", "client_id": "id", "client_secret": "se:cr:et",
					"scope": "PRINCIPAL_ROLE:ALL", "audience": "aud", "resource": "res",
				} {
					if form.Get(k) != v || len(form[k]) != 1 {
						t.Errorf("form field %s = %q, want %q", k, form[k], v)
					}
				}
			})
		})
	}
}

func TestP8_OneTokenForAllCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		oauth := fakerest.OAuth{Secret: "s", Lifetime: 3 * time.Second, NoExpiresIn: true}
		s := catalog(fakerest.Config{OAuth: &oauth, Before: func(*http.Request) *fakerest.Answer { return &fakerest.Answer{Delay: 50 * time.Millisecond} }})
		c := open(t, s, map[string]string{"credential": "s"})
		time.Sleep(5 * time.Second) // the token has ended, and nobody said when
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, err := c.Load(t.Context(), nsT, false); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := s.Count("POST", "/oauth/tokens"); n != 2 {
			t.Errorf("%d tokens fetched, want 2", n)
		}
		if n := s.Count("GET", "/tables/t"); n != 32 {
			t.Errorf("%d loads sent, want 16 refused and 16 repeated", n)
		}
	})
}

func TestASecondRefusalIsDenied(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 419} {
		s := catalog(fakerest.Config{OAuth: &fakerest.OAuth{Secret: "sesame", Lifetime: time.Hour}})
		refusing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/tables/") {
				w.WriteHeader(status)
				fmt.Fprint(w, `{"error":{"message":"no sesame for you","type":"NotAuthorizedException"}}`)
				return
			}
			s.ServeHTTP(w, r)
		})
		c := open(t, refusing, map[string]string{"credential": "sesame"})
		_, err := c.Load(t.Context(), nsT, false)
		if !errors.Is(err, meta.ErrDenied) || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "credential") {
			t.Errorf("error %v", err)
		}
		if n := s.Count("POST", "/oauth/tokens"); n != 2 {
			t.Errorf("%d tokens, want 2", n)
		}
	}
}

func TestStaticTokenIsNotRetried(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{Token: "right-token"})
	_, err := Open(t.Context(), Config{
		URI: "http://c", Properties: map[string]string{"token": "wrong-token"}, Transport: fakerest.Pipe(t, s),
		Origin: func(k string) string { return "LAKESCAN_TOKEN" },
	})
	if !errors.Is(err, meta.ErrDenied) || !strings.Contains(err.Error(), "setting token from LAKESCAN_TOKEN") || strings.Contains(err.Error(), "wrong-token") {
		t.Errorf("error %v", err)
	}
	if len(s.Log()) != 1 {
		t.Errorf("%d requests, want 1", len(s.Log()))
	}
	open(t, s, map[string]string{"token": "right-token"})
}

func TestTableTokenIsUsedForTheTable(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{Token: "main", Vend: (&vending{life: time.Hour}).vend, TableConfig: func([]string, string) map[string]string {
		return map[string]string{"token": "of-the-table"}
	}})
	c := open(t, s, map[string]string{"token": "main"})
	if _, err := c.LoadTable(t.Context(), nsT, false); err != nil {
		t.Fatal(err)
	}
	// The stub knows the main token only: the table's is tried first, then the catalog's.
	if _, err := c.Post(t.Context(), nsT, []byte(`{"requirements":[],"updates":[]}`)); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, r := range s.Log()[1:] {
		tokens = append(tokens, r.Header.Get("Authorization"))
	}
	if !slices.Equal(tokens, []string{"Bearer main", "Bearer of-the-table", "Bearer main"}) {
		t.Errorf("tokens %q", tokens)
	}
}
