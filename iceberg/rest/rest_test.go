package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
)

// metadata of an empty table, with the snapshots of ids; the last is current.
func metadata(snapshots ...int64) []byte {
	var list, refs string
	current := "null"
	for i, id := range snapshots {
		list += fmt.Sprintf(`{"snapshot-id":%d,"timestamp-ms":%d,"sequence-number":%d,"manifest-list":"s3://b/t/m%d.avro","summary":{"operation":"append"},"schema-id":0},`, id, 1000+i, i+1, id)
		current = fmt.Sprint(id)
		refs = fmt.Sprintf(`"main":{"snapshot-id":%d,"type":"branch"}`, id)
	}
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://b/t","last-sequence-number":%d,
"last-updated-ms":2000,"last-column-id":1,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":false,"type":"int"}]}],
"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],
"properties":{},"current-snapshot-id":%s,"refs":{%s},"snapshots":[%s]}`, len(snapshots), current, refs, strings.TrimSuffix(list, ","))
}

func open(t testing.TB, s http.Handler, props map[string]string) *Client {
	t.Helper()
	c, err := tryOpen(t, s, props)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryOpen(t testing.TB, s http.Handler, props map[string]string) (*Client, error) {
	c, err := Open(t.Context(), Config{
		URI: "http://catalog.test/api", Warehouse: props["warehouse"], Properties: props,
		Transport: fakerest.Pipe(t, http.StripPrefix("/api", s)),
	})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func catalog(cfg fakerest.Config) *fakerest.Server {
	s := fakerest.New(cfg)
	if err := s.AddTable([]string{"ns"}, "t", "s3://b/t/metadata/v1.metadata.json", metadata(1, 2)); err != nil {
		panic(err)
	}
	return s
}

var nsT = meta.Ident{Namespace: []string{"ns"}, Name: "t"}

func TestConfigIsMerged(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{
		Prefix: "p", Defaults: map[string]string{"a": "default", "b": "default", "d": "default"},
		Overrides: map[string]string{"c": "override", "b": "override"}, Endpoints: []string{routeCredentials},
	})
	c := open(t, s, map[string]string{"a": "client", "b": "client", "c": "client", "warehouse": "w h"})
	got := c.Properties()
	want := map[string]string{"a": "client", "b": "override", "c": "override", "d": "default", "prefix": "p", "warehouse": "w h", "uri": "http://catalog.test/api"}
	if !maps.Equal(got, want) {
		t.Errorf("properties %v\nwant %v", got, want)
	}
	if _, err := c.Load(t.Context(), nsT, false); err != nil {
		t.Fatal(err)
	}
	log := s.Log()
	if len(log) != 2 || log[0].Query.Get("warehouse") != "w h" || log[1].Path != "/v1/p/namespaces/ns/tables/t" {
		t.Errorf("requests %+v", log)
	}
}

func TestLoadIsOneRequestAndValidated(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{})
	c := open(t, s, nil)
	first, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.LoadTable(t.Context(), nsT, true)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Error("a validated table is not used again")
	}
	count := func(tb *Table) (n int) {
		for range tb.Metadata.Snapshots() {
			n++
		}
		return n
	}
	if count(first) != 1 || count(all) != 2 {
		t.Errorf("snapshots: refs %d, all %d", count(first), count(all))
	}
	if err := s.AddTable([]string{"ns"}, "t", "s3://b/t/metadata/v2.metadata.json", metadata(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	newer, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil || newer == first || newer.MetadataLocation != "s3://b/t/metadata/v2.metadata.json" {
		t.Errorf("a changed table: %+v, %v", newer, err)
	}
	var status []int
	for _, r := range s.Log()[1:] {
		status = append(status, r.Status)
		if r.Header.Get("X-Iceberg-Access-Delegation") != "vended-credentials" {
			t.Error("no delegation header")
		}
	}
	if !slices.Equal(status, []int{200, 304, 200, 200}) {
		t.Errorf("statuses %v", status)
	}
}

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

func TestL70_NamesOnTheWire(t *testing.T) {
	t.Parallel()
	ids := []meta.Ident{
		{Namespace: []string{"a"}, Name: "t"},
		{Namespace: []string{"a", "b"}, Name: "t"},
		{Namespace: []string{"a.b"}, Name: "t"},
		{Namespace: []string{"a"}, Name: "x/y"},
		{Namespace: []string{"a b", "c+d"}, Name: "e%20f"},
		{Namespace: []string{"é"}, Name: "../.."},
		{Namespace: []string{".."}, Name: "."},
		{Namespace: []string{"a?b#c"}, Name: `q"\`},
	}
	for _, cfg := range []fakerest.Config{{}, {Prefix: "ws|1"}, {Prefix: "a/b"}, {Prefix: "p%7Cq"}, {Separator: "%2E"}, {Separator: "%2C"}} {
		sent := encodeTestPrefix(cfg.Prefix)
		served := cfg
		served.Prefix = sent
		s := fakerest.New(served)
		for i, id := range ids {
			if err := s.AddTable(id.Namespace, id.Name, fmt.Sprintf("loc%d", i), metadata()); err != nil {
				t.Fatal(err)
			}
		}
		override := cfg.Prefix
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/config" && override != "" { // the server names its prefix raw, and is asked for it encoded
				fmt.Fprintf(w, `{"defaults":{},"overrides":{"prefix":%q}}`, override)
				return
			}
			s.ServeHTTP(w, r)
		})
		c := open(t, h, nil)
		for i, id := range ids {
			tb, err := c.LoadTable(t.Context(), id, false)
			if cfg.Separator == "%2E" && id.Namespace[0] == ".." { // no path can say it: sent plainly it is a step upwards
				if !errors.Is(err, meta.ErrNoSuchTable) {
					t.Errorf("%v under separator %s: %v", id, cfg.Separator, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("prefix %q separator %q: %v: %v", cfg.Prefix, cfg.Separator, id, err)
				continue
			}
			if want := fmt.Sprintf("loc%d", i); tb.MetadataLocation != want {
				t.Errorf("%v loaded %s, want %s", id, tb.MetadataLocation, want)
			}
			found := false
			for got, err := range c.Tables(t.Context(), id.Namespace) {
				if err != nil {
					t.Error(err)
				}
				found = found || reflect.DeepEqual(got, id)
			}
			if !found {
				t.Errorf("%v is not listed in its namespace", id)
			}
		}
		if _, err := c.LoadTable(t.Context(), meta.Ident{Namespace: []string{"a", ""}, Name: "t"}, false); !errors.Is(err, meta.ErrNoSuchTable) {
			t.Errorf("empty part: %v", err)
		}
	}
}

// encodeTestPrefix is what each prefix of the table above must look like on the wire.
func encodeTestPrefix(p string) string {
	return map[string]string{"": "", "ws|1": "ws%7C1", "a/b": "a/b", "p%7Cq": "p%7Cq"}[p]
}

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

func TestL72_Throttling(t *testing.T) {
	t.Parallel()
	body := func(typ string) string { return fmt.Sprintf(`{"error":{"message":"m","type":%q,"code":0}}`, typ) }
	for _, c := range []struct {
		name    string
		status  int
		typ     string
		header  http.Header
		times   int
		tries   int // requests seen
		elapsed time.Duration
		class   error
	}{
		{"400 throttle", 400, "ThrottlingException", nil, 3, 4, -1, nil},
		{"403 slow down", 403, "SlowDown", nil, 3, 4, -1, nil},
		{"400 request limit", 400, "RequestLimitExceeded", nil, 3, 4, -1, nil},
		{"429", 429, "", nil, 3, 4, -1, nil},
		{"503", 503, "", nil, 3, 4, -1, nil},
		{"503 always", 503, "", nil, 99, 5, -1, meta.ErrUnavailable},
		{"throttle always", 400, "TooManyRequestsException", nil, 99, 5, -1, meta.ErrUnavailable},
		{"retry after", 503, "", http.Header{"Retry-After": {"2"}}, 2, 3, 4 * time.Second, nil},
		{"retry after too long", 429, "", http.Header{"Retry-After": {"3600"}}, 1, 2, 5 * time.Second, nil},
		{"403", 403, "ForbiddenException", nil, 99, 1, 0, meta.ErrDenied},
		{"404", 404, "NoSuchTableException", nil, 99, 1, 0, meta.ErrNoSuchTable},
		{"400", 400, "BadRequestException", nil, 99, 1, 0, nil},
		{"500", 500, "InternalServerError", nil, 99, 1, 0, meta.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := 0
				s := catalog(fakerest.Config{Before: func(r *http.Request) *fakerest.Answer {
					if !strings.Contains(r.URL.Path, "/tables/") {
						return nil
					}
					if seen++; seen > c.times {
						return nil
					}
					return &fakerest.Answer{Status: c.status, Header: c.header, Body: body(c.typ)}
				}})
				cl := open(t, s, nil)
				start := time.Now()
				_, err := cl.Load(t.Context(), nsT, false)
				if (err != nil) != (c.times == 99) || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v, want class %v", err, c.class)
				}
				if seen != c.tries {
					t.Errorf("%d tries, want %d", seen, c.tries)
				}
				if c.elapsed >= 0 && time.Since(start) != c.elapsed {
					t.Errorf("took %v, want %v", time.Since(start), c.elapsed)
				}
				if e, ok := errors.AsType[*meta.Error](err); ok && (e.Status != c.status || e.Attempts != c.tries || e.Type != c.typ || e.Ident.Name != "t") {
					t.Errorf("error %+v", e)
				}
			})
		})
	}
}

func TestPostIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		status   int
		header   http.Header
		lifetime string
		tries    int
		class    error
	}{
		{"503", 503, nil, "", 1, meta.ErrCommitUnknown},
		{"503 with a time", 503, http.Header{"Retry-After": {"1"}}, "", 2, nil},
		{"502 with a time", 502, http.Header{"Retry-After": {"1"}}, "", 1, meta.ErrCommitUnknown},
		{"502 with keys", 502, nil, "PT1H", 2, nil},
		{"409", 409, nil, "PT1H", 1, meta.ErrConflict},
		{"500", 500, nil, "PT1H", 1, meta.ErrCommitUnknown},
		{"404", 404, nil, "", 1, meta.ErrNoSuchTable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				var keys []string
				s := catalog(fakerest.Config{IdempotencyLifetime: c.lifetime, Before: func(r *http.Request) *fakerest.Answer {
					if r.Method != "POST" {
						return nil
					}
					keys = append(keys, r.Header.Get("Idempotency-Key"))
					if tries++; tries == 1 {
						return &fakerest.Answer{Status: c.status, Header: c.header}
					}
					return nil
				}})
				cl := open(t, s, nil)
				_, err := cl.Post(t.Context(), nsT, []byte(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"v"}}]}`))
				if (err == nil) != (c.class == nil) || c.class != nil && !errors.Is(err, c.class) {
					t.Errorf("error %v, want class %v", err, c.class)
				}
				if tries != c.tries {
					t.Errorf("%d tries, want %d", tries, c.tries)
				}
				for _, k := range keys {
					if (k != "") != (c.lifetime != "") || k != keys[0] || k != "" && len(k) != 36 {
						t.Errorf("idempotency keys %q", keys)
					}
				}
			})
		})
	}
}

// vending makes keys that live for a time, and counts.
type vending struct {
	mu   sync.Mutex
	n    int
	life time.Duration
}

func (v *vending) vend([]string, string) []fakerest.Credential {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	return []fakerest.Credential{{Prefix: "s3://b/t", Config: map[string]string{
		"s3.access-key-id":     fmt.Sprintf("key%d", v.n),
		"s3.secret-access-key": "secret", "s3.session-token": "session", "s3.session-token-expires-at-ms": fmt.Sprint(time.Now().Add(v.life).UnixMilli()),
	}}}
}

func location(t testing.TB, s string) object.Location {
	scheme, rest, _ := strings.Cut(s, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	return object.Location{Recorded: s, Scheme: scheme, Bucket: bucket, Key: key}
}

func TestL64_VendedKeysAreRenewed(t *testing.T) {
	t.Parallel()
	for _, route := range []bool{true, false} {
		t.Run(fmt.Sprintf("credentials route %v", route), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &vending{life: 5 * time.Second}
				cfg := fakerest.Config{Vend: v.vend}
				if route {
					cfg.Endpoints = []string{routeCredentials}
				}
				s := catalog(cfg)
				c := open(t, s, nil)
				tb, err := c.LoadTable(t.Context(), nsT, false)
				if err != nil {
					t.Fatal(err)
				}
				loc := location(t, "s3://b/t/data/f.parquet")
				var wg sync.WaitGroup
				for range 16 {
					wg.Go(func() {
						for range 600 {
							a, err := tb.Credentials().Access(t.Context(), loc, object.Access{})
							if err != nil || !time.Now().Before(a.Expires) || a.Token != "session" {
								t.Errorf("access %+v, error %v", a, err)
								return
							}
							time.Sleep(100 * time.Millisecond)
						}
					})
				}
				wg.Wait()
				// Keys are renewed after half their life: 60 s / 2.6 s.
				if v.n < 20 || v.n > 25 {
					t.Errorf("keys were vended %d times in 60 s", v.n)
				}
				if n := s.Count("GET", "/credentials"); route && n != v.n-1 || !route && n != 0 {
					t.Errorf("%d calls of the credentials route for %d sets", n, v.n)
				}
				for _, r := range s.Log() {
					if r.Status == 304 {
						t.Error("keys were to come, but the load was validated")
					}
				}
			})
		})
	}
}

func TestP8_AnExpiredTokenAnswerRenewsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &vending{life: time.Hour}
		s := catalog(fakerest.Config{Vend: v.vend, Endpoints: []string{routeCredentials}, Before: func(*http.Request) *fakerest.Answer {
			return &fakerest.Answer{Delay: 20 * time.Millisecond}
		}})
		c := open(t, s, nil)
		tb, err := c.LoadTable(t.Context(), nsT, false)
		if err != nil {
			t.Fatal(err)
		}
		loc := location(t, "s3a://b/t/data/f.parquet")
		old, err := tb.Credentials().Access(t.Context(), loc, object.Access{})
		if err != nil || old.KeyID != "key1" {
			t.Fatalf("access %+v, %v", old, err)
		}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond) // some come while the renewal runs, some after
				a, err := tb.Credentials().Access(t.Context(), loc, old)
				if err != nil || a.KeyID != "key2" {
					t.Errorf("after a refusal: %+v, %v", a, err)
				}
			})
		}
		wg.Wait()
		if v.n != 2 {
			t.Errorf("keys were vended %d times, want 2", v.n)
		}
	})
}

func TestOldKeysServeWhileRenewalFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &vending{life: 100 * time.Second}
		failing := true
		s := catalog(fakerest.Config{Vend: v.vend, Endpoints: []string{routeCredentials}, Before: func(r *http.Request) *fakerest.Answer {
			if failing && strings.HasSuffix(r.URL.Path, "/credentials") {
				return &fakerest.Answer{Status: 403}
			}
			return nil
		}})
		c := open(t, s, nil)
		tb, err := c.LoadTable(t.Context(), nsT, false)
		if err != nil {
			t.Fatal(err)
		}
		loc := location(t, "s3://b/t/x")
		access := func() (object.Access, error) { return tb.Credentials().Access(t.Context(), loc, object.Access{}) }
		time.Sleep(60 * time.Second)
		for range 100 { // one failure a second, not a hundred
			if a, err := access(); err != nil || a.KeyID != "key1" {
				t.Fatalf("access %+v, %v", a, err)
			}
			synctest.Wait()
		}
		if n := s.Count("GET", "/credentials"); n != 1 {
			t.Errorf("%d failed renewals at once", n)
		}
		time.Sleep(41 * time.Second)
		if _, err := access(); !errors.Is(err, meta.ErrDenied) {
			t.Errorf("keys have ended: %v", err)
		}
		failing = false
		if a, err := access(); err != nil || a.KeyID != "key2" {
			t.Errorf("access %+v, %v", a, err)
		}
	})
}

func TestCredentialsAreChosenByFile(t *testing.T) {
	t.Parallel()
	key := func(id string) map[string]string {
		return map[string]string{"s3.access-key-id": id, "s3.secret-access-key": id}
	}
	set := &credentialSet{entries: []vended{
		{"s3://b/t", key("t")},
		{"s3://b/t/data/", key("data")},
		{"s3://b/t/da", key("da")},
		{"s3", key("scheme")},
		{"gs://b/t/data/x", key("gs")},
		{"s3://other/", key("other")},
	}}
	for loc, want := range map[string]string{
		"s3://b/t/data/f.parquet":  "data",
		"s3a://b/t/data/f.parquet": "data",
		"s3://b/t/database":        "t",
		"s3://b/t/da":              "da",
		"s3://b/t":                 "t",
		"s3://b/tt/x":              "scheme",
		"s3n://elsewhere/x":        "scheme",
		"s3://other/x":             "other",
		"file:///x":                "",
	} {
		if got := set.choose(loc)["s3.access-key-id"]; got != want {
			t.Errorf("%s: key of %q, want %q", loc, got, want)
		}
	}
}

func TestL66_Precedence(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{
		Defaults:  map[string]string{"s3.endpoint": "http://default", "s3.region": "default-region"},
		Overrides: map[string]string{"client.region": "override"},
		TableConfig: func([]string, string) map[string]string {
			return map[string]string{"s3.endpoint": "http://table", "client.region": "table-client", "s3.access-key-id": "table", "s3.secret-access-key": "st", "s3.session-token": "tt"}
		},
		Vend: func([]string, string) []fakerest.Credential {
			return []fakerest.Credential{{Prefix: "s3://b/t/", Config: map[string]string{"s3.access-key-id": "vended", "s3.secret-access-key": "sv", "s3.region": "vended-region"}}}
		},
	})
	c := open(t, s, map[string]string{"s3.endpoint": "http://client", "s3.path-style-access": "true", "s3.access-key-id": "client", "s3.secret-access-key": "sc"})
	tb, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	for loc, want := range map[string]object.Access{
		// no session token of a lower level is mixed in
		"s3://b/t/x":     {Endpoint: "http://table", Region: "vended-region", KeyID: "vended", Secret: "sv", PathStyle: true},
		"s3://b/other/x": {Endpoint: "http://table", Region: "table-client", KeyID: "table", Secret: "st", Token: "tt", PathStyle: true},
	} {
		got, err := tb.Credentials().Access(t.Context(), location(t, loc), object.Access{})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v\nwant %+v", loc, got, err, want)
		}
		want.KeyID, want.Secret, want.Token = "", "", ""
		got, err = tb.Credentials().(object.Settings).Settings(t.Context(), location(t, loc))
		if err != nil || got != want {
			t.Errorf("%s: settings %+v, %v\nwant %+v", loc, got, err, want)
		}
	}
	for _, st := range []struct {
		props       map[string]string
		path, vhost bool
	}{
		{nil, false, false},
		{map[string]string{"s3.path-style-access": "false"}, false, true},
		{map[string]string{"s3.force-virtual-addressing": "false"}, true, false},
		{map[string]string{"s3.force-virtual-addressing": "true"}, false, true},
	} {
		if a := resolveAccess([]map[string]string{nil, st.props}); a.PathStyle != st.path || a.VirtualHost != st.vhost {
			t.Errorf("%v: path %v, virtual host %v", st.props, a.PathStyle, a.VirtualHost)
		}
	}
	if c.Credentials(nsT) == nil || c.Credentials(meta.Ident{Namespace: []string{"ns"}, Name: "never"}) != nil {
		t.Error("Credentials by ident")
	}
}

func TestL68_RemoteSigning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config map[string]string
		vend   bool
		own    bool
		client map[string]string
		refuse bool
	}{
		{"a signer address alone", map[string]string{"s3.signer.uri": "http://signer", "s3.signer.endpoint": "v1/sign"}, false, false, nil, false},
		{"signing off", map[string]string{"s3.signer.uri": "http://signer", "s3.remote-signing-enabled": "false"}, false, false, nil, false},
		{"signing on", map[string]string{"s3.remote-signing-enabled": "true"}, false, false, nil, true},
		{"signing on, keys vended", map[string]string{"s3.remote-signing-enabled": "true"}, true, false, nil, false},
		{"signing on, user keys", map[string]string{"s3.remote-signing-enabled": "true"}, false, false, map[string]string{"s3.access-key-id": "u"}, false},
		{"signing on, own keys", map[string]string{"s3.remote-signing-enabled": "true"}, false, true, nil, false},
		{"signing on, anonymous", map[string]string{"s3.remote-signing-enabled": "true"}, false, false, map[string]string{"s3.anonymous": "true"}, false},
	} {
		cfg := fakerest.Config{TableConfig: func([]string, string) map[string]string { return c.config }}
		if c.vend {
			cfg.Vend = (&vending{life: time.Hour}).vend
		}
		cl := open(t, catalog(cfg), c.client)
		cl.cfg.OwnS3Keys = c.own
		tb, err := cl.LoadTable(t.Context(), nsT, false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tb.Credentials().Access(t.Context(), location(t, "s3://b/t/x"), object.Access{})
		if errors.Is(err, meta.ErrUnsupported) != c.refuse || !c.refuse && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.refuse && (!strings.Contains(err.Error(), "remote signing") || !strings.Contains(err.Error(), "vend")) {
			t.Errorf("%s: the error names no way out: %v", c.name, err)
		}
	}
}

func TestServerSidePlanningIsRefused(t *testing.T) {
	t.Parallel()
	for mode, refuse := range map[string]bool{"server": true, "client": false, "": false} {
		c := open(t, catalog(fakerest.Config{TableConfig: func([]string, string) map[string]string {
			return map[string]string{"scan-planning-mode": mode}
		}}), nil)
		if _, err := c.Load(t.Context(), nsT, false); errors.Is(err, meta.ErrUnsupported) != refuse {
			t.Errorf("%q: %v", mode, err)
		}
	}
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

func TestL78_EachCallObeysItsOwnContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := time.Duration(0)
		s := catalog(fakerest.Config{OAuth: &fakerest.OAuth{Secret: "s", Lifetime: time.Hour}, Before: func(*http.Request) *fakerest.Answer {
			return &fakerest.Answer{Delay: slow}
		}})
		tr := fakerest.Pipe(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		c, err := Open(ctx, Config{URI: "http://c", Properties: map[string]string{"credential": "s"}, Transport: tr, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cancel()
		if _, err := c.Load(t.Context(), nsT, false); err != nil {
			t.Errorf("after the context of Open ended: %v", err)
		}
		slow = 10 * time.Second
		start := time.Now()
		ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := c.Load(ctx, nsT, true); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		// A caller that leaves does not spoil the token that others wait for.
		s.Revoke()
		var wg sync.WaitGroup
		hasty, leave := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := c.Load(hasty, nsT, false); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		wg.Go(func() {
			time.Sleep(time.Second)
			if _, err := c.Load(t.Context(), nsT, false); err != nil {
				t.Errorf("the patient caller: %v", err)
			}
		})
		time.Sleep(12 * time.Second) // the first is refused and waits for the token
		leave()
		wg.Wait()
		if n := s.Count("POST", "/oauth/tokens"); n != 2 {
			t.Errorf("%d tokens, want 2", n)
		}
	})
}
