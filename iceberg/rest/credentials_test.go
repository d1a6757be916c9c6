package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
	"github.com/lakescan/lakescan/object"
)

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
