package s3_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/internal/faulty"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/s3"
	"github.com/lakescan/lakescan/object/transport"
)

// wire is an s3 store over a handler in the process.
func wire(t *testing.T, h http.Handler, creds object.Credentials) (*s3.Store, *faulty.Rules) {
	t.Helper()
	rules := faulty.New(t, "")
	p := fakes3.Serve(rules.Handler(h))
	tr, err := transport.Config{Dial: p.DialContext}.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := s3.New(s3.Config{Credentials: creds, Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close(); p.Close() })
	return s, rules
}

// L66: the written precedence, level by level and field by field.
func TestL66_PrecedenceOfSettings(t *testing.T) {
	t.Parallel()
	explicit := object.Access{Endpoint: "http://user", PathStyle: true}
	vended := object.Access{KeyID: "vended", Secret: "s", Token: "t"}
	table := object.Access{Endpoint: "http://table", Region: "table-1", KeyID: "table", Secret: "s", VirtualHost: true}
	env := object.Access{Endpoint: "http://env", Region: "env-1", KeyID: "env", Secret: "s"}
	for _, c := range []struct {
		name   string
		levels []object.Access
		want   object.Access
	}{
		{"all", []object.Access{explicit, vended, table, env}, object.Access{Endpoint: "http://user", Region: "table-1", KeyID: "vended", Secret: "s", Token: "t", PathStyle: true}},
		{"no vended", []object.Access{explicit, {}, table, env}, object.Access{Endpoint: "http://user", Region: "table-1", KeyID: "table", Secret: "s", PathStyle: true}},
		{"keys go as a whole", []object.Access{table, vended}, table},
		{"environment only", []object.Access{{}, {}, {}, env}, env},
		{"anonymous above keys", []object.Access{{Anonymous: true}, vended, table, env}, object.Access{Endpoint: "http://table", Region: "table-1", VirtualHost: true, Anonymous: true}},
		{"anonymous below keys", []object.Access{vended, {Anonymous: true}}, vended},
		{"nothing", nil, object.Access{}},
	} {
		var levels []object.Credentials
		for _, a := range c.levels {
			levels = append(levels, object.Static(a), nil)
		}
		got, err := object.Layered(levels...).Access(t.Context(), object.Location{}, object.Access{})
		if err != nil || got != c.want {
			t.Errorf("%s: %#v, %v\nwant %#v", c.name, got, err, c.want)
		}
	}
}

// asked counts questions for keys and for settings.
type asked struct {
	object.Access
	keys, settings atomic.Int32
}

func (a *asked) get(context.Context, object.Location, object.Access) (object.Access, error) {
	a.keys.Add(1)
	return a.Access, nil
}

type costly struct{ *asked }

func (c costly) Access(ctx context.Context, loc object.Location, stale object.Access) (object.Access, error) {
	return c.get(ctx, loc, stale)
}

func (c costly) Settings(context.Context, object.Location) (object.Access, error) {
	c.settings.Add(1)
	return object.Access{Region: c.Region}, nil
}

// L66: once the keys are found, or anonymous is asked for, nobody looks for keys further down.
func TestL66_LowerLevelsAreAskedOnlyForWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		top            object.Access
		keys, settings int32
	}{
		{object.Access{Endpoint: "http://e", Region: "r", Anonymous: true}, 0, 0},
		{object.Access{Anonymous: true}, 0, 1},
		{object.Access{KeyID: "k", Secret: "s"}, 0, 1},
		{object.Access{Endpoint: "http://e", Region: "r"}, 1, 0},
	} {
		low := &asked{Access: object.Access{KeyID: "env", Secret: "s", Region: "env-1"}}
		if _, err := object.Layered(object.Static(c.top), costly{low}).Access(t.Context(), object.Location{}, object.Access{}); err != nil {
			t.Fatal(err)
		}
		if low.keys.Load() != c.keys || low.settings.Load() != c.settings {
			t.Errorf("%v: asked %d times for keys, %d for settings, want %d, %d", c.top, low.keys.Load(), low.settings.Load(), c.keys, c.settings)
		}
	}
}

// L66: a bucket of another region is found by one extra request, by 301 with a header or by 400 with XML, and remembered.
func TestL66_RegionIsLearntPerBucket(t *testing.T) {
	t.Parallel()
	for _, redirect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}, Redirect: redirect})
			for i, region := range []string{"us-east-1", "eu-central-1", "ap-south-1"} {
				b := fmt.Sprintf("bucket%d", i)
				srv.CreateBucket(b, region)
				srv.Put(b, "f", []byte(region))
			}
			store, rules := wire(t, srv, object.Static(access("http://fake")))
			for range 3 {
				for i, region := range []string{"us-east-1", "eu-central-1", "ap-south-1"} {
					got, _, err := store.Read(t.Context(), at(t, fmt.Sprintf("s3://bucket%d/f", i)), object.Whole, nil, object.ReadOptions{})
					if err != nil || string(got) != region {
						t.Errorf("redirect %v: %q, %v", redirect, got, err)
					}
				}
			}
			if n := len(rules.Log()); n != 9+2 {
				t.Errorf("redirect %v: %d requests, want 11: %v", redirect, n, rules.Log())
			}
		})
	}
}

// L66: a region that is named wrongly by settings is corrected too; a redirect in a circle ends.
func TestL66_WrongRegionInSettings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}})
		srv.CreateBucket("bucket", "eu-central-1")
		srv.Put("bucket", "f", []byte("x"))
		a := access("http://fake")
		a.Region = "us-west-2"
		store, rules := wire(t, srv, object.Static(a))
		if _, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{}); err != nil {
			t.Error(err)
		}
		if err := rules.Add("* * -> status 301 region=mars-1 x1\n* * -> status 301 region=moon-1"); err != nil {
			t.Fatal(err)
		}
		_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		wantClass(t, err, object.ErrInvalid)
		if n := len(rules.Log()); n != 4 {
			t.Errorf("%d requests", n)
		}
	})
}

// L66: public data is read without a signature although keys are around; without the explicit mode the keys are used.
func TestL66_AnonymousIsExplicit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}}, "public", "private")
		srv.SetPublic("public")
		srv.Put("public", "f", []byte("x"))
		srv.Put("private", "f", []byte("y"))
		wrong := object.Static(object.Access{Endpoint: "http://fake", KeyID: "unknown", Secret: "x"}) // as found in the environment
		anonymous, _ := wire(t, srv, object.Layered(object.Static(object.Access{Anonymous: true}), wrong))
		if got, _, err := anonymous.Read(t.Context(), at(t, "s3://public/f"), object.Whole, nil, object.ReadOptions{}); err != nil || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
		_, _, err := anonymous.Read(t.Context(), at(t, "s3://private/f"), object.Whole, nil, object.ReadOptions{})
		wantClass(t, err, object.ErrDenied)
		keyed, _ := wire(t, srv, wrong)
		_, _, err = keyed.Read(t.Context(), at(t, "s3://public/f"), object.Whole, nil, object.ReadOptions{})
		if e := wantClass(t, err, object.ErrDenied); e.Code != "InvalidAccessKeyId" {
			t.Errorf("%+v", e)
		}
	})
}

// A wrong secret is refused, and no text shows it.
func TestWrongSecretIsDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}}, "bucket")
		a := access("http://fake")
		a.Secret = "hush-hush"
		store, _ := wire(t, srv, object.Static(a))
		_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		if e := wantClass(t, err, object.ErrDenied); e.Code != "SignatureDoesNotMatch" {
			t.Errorf("%+v", e)
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", a), fmt.Sprintf("%#v", a), fmt.Sprint(a)} {
			if strings.Contains(text, "hush") {
				t.Errorf("secret in %q", text)
			}
		}
	})
}

// L66: bucket in the path, in the host, and automatic.
func TestL66_AddressingStyles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}, Domain: "s3.example"}, "bucket")
		srv.Put("bucket", "dir/a b", []byte("x"))
		for _, c := range []struct {
			access object.Access
			want   string
		}{
			{object.Access{Endpoint: "http://s3.example"}, "bucket/dir/a b"},
			{object.Access{Endpoint: "http://s3.example", PathStyle: true}, "bucket/dir/a b"},
			{object.Access{Endpoint: "http://s3.example", VirtualHost: true}, "dir/a b"},
		} {
			c.access.KeyID, c.access.Secret = keys.ID, keys.Secret
			store, rules := wire(t, srv, object.Static(c.access))
			got, _, err := store.Read(t.Context(), at(t, "s3://bucket/dir/a b"), object.Whole, nil, object.ReadOptions{})
			if err != nil || string(got) != "x" || rules.Log()[0].Path != c.want {
				t.Errorf("%v: %q, %v, path %q", c.access, got, err, rules.Log()[0].Path)
			}
		}
	})
}

func TestEndpointsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, e := range []string{"ftp://host", "http://", "http://user:pw@host", "http://host/path", "http://host?x=1", "http://ho st"} {
		store := open(t, s3.Config{Credentials: object.Static(object.Access{Endpoint: e, Anonymous: true})})
		_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		if wantClass(t, err, object.ErrInvalid); strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v", e, err)
		}
	}
}

// vault hands out numbered keys; stale keys get newer ones.
type vault struct {
	mu    sync.Mutex
	keys  fakes3.Keys
	calls []object.Access // the stale of each call
	next  func() fakes3.Keys
}

func (v *vault) Access(_ context.Context, _ object.Location, stale object.Access) (object.Access, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, stale)
	if stale.KeyID == v.keys.ID && v.next != nil {
		v.keys = v.next()
	}
	return object.Access{Endpoint: "http://fake", KeyID: v.keys.ID, Secret: v.keys.Secret, Token: v.keys.Token}, nil
}

// L64, the store's part: an expired token is renewed and the request repeated once; a source without newer keys ends it.
func TestL64_ExpiredTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, fresh := fakes3.Keys{ID: "old", Secret: "s1", Token: "t1"}, fakes3.Keys{ID: "new", Secret: "s2", Token: "t2"}
		srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{old, fresh}}, "bucket")
		srv.Put("bucket", "f", []byte("x"))
		v := &vault{keys: old, next: func() fakes3.Keys { return fresh }}
		store, rules := wire(t, srv, v)
		read := func() error {
			_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
			return err
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		srv.Expire("old")
		if err := read(); err != nil {
			t.Error(err)
		}
		if n := len(rules.Log()); n != 3 || len(v.calls) != 3 || v.calls[2].KeyID != "old" {
			t.Errorf("%d requests, calls %v", n, v.calls)
		}
		srv.Expire("new")
		v.next = nil
		if e := wantClass(t, read(), object.ErrDenied); e.Code != "ExpiredToken" || len(rules.Log()) != 4 {
			t.Errorf("%+v after %d requests", e, len(rules.Log()))
		}
	})
}

// A source whose every key has expired is asked once for newer ones, not for ever.
func TestL64_KeysThatAreBornExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []fakes3.Keys
		for i := range 10 {
			all = append(all, fakes3.Keys{ID: fmt.Sprint("k", i), Secret: "s", Token: "t"})
		}
		srv := fakes3.New(fakes3.Config{Keys: all}, "bucket")
		for _, k := range all {
			srv.Expire(k.ID)
		}
		n := 0
		store, rules := wire(t, srv, &vault{keys: all[0], next: func() fakes3.Keys { n++; return all[n%10] }})
		_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		wantClass(t, err, object.ErrDenied)
		if len(rules.Log()) != 2 {
			t.Errorf("%d requests, want 2", len(rules.Log()))
		}
	})
}

// authority is a private CA with a server and a client certificate, in files.
type authority struct {
	ca, cert, key string
	server        tls.Certificate
	pool          *x509.CertPool
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	dir := t.TempDir()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	caTemplate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, caKey.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: caTemplate.NotBefore, NotAfter: caTemplate.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	for file, block := range map[string]*pem.Block{
		a.ca: {Type: "CERTIFICATE", Bytes: caDER}, a.cert: {Type: "CERTIFICATE", Bytes: leafDER}, a.key: {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.pool.AddCert(ca)
	if a.server, err = tls.LoadX509KeyPair(a.cert, a.key); err != nil {
		t.Fatal(err)
	}
	return a
}

// L67: a private CA works by its file, a client certificate where the server wants one; without them the failure is at once, and says
// what to set.
func TestL67_PrivateCAAndClientCertificate(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t, "own"), newAuthority(t, "other")
	srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}}, "bucket")
	srv.Put("bucket", "f", []byte("x"))
	for _, c := range []struct {
		name   string
		mutual bool
		cfg    transport.Config
		hint   string // "" = works
	}{
		{"right CA", false, transport.Config{CAFile: own.ca}, ""},
		{"no CA", false, transport.Config{}, "CA file"},
		{"wrong CA", false, transport.Config{CAFile: other.ca}, "CA file"},
		{"client certificate", true, transport.Config{CAFile: own.ca, CertFile: own.cert, KeyFile: own.key}, ""},
		{"no client certificate", true, transport.Config{CAFile: own.ca}, "client certificate"},
		{"client certificate of another CA", true, transport.Config{CAFile: own.ca, CertFile: other.cert, KeyFile: other.key}, "client certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ts := httptest.NewUnstartedServer(srv)
			ts.TLS = &tls.Config{Certificates: []tls.Certificate{own.server}}
			ts.Config.ErrorLog = quiet
			if c.mutual {
				ts.TLS.ClientAuth, ts.TLS.ClientCAs = tls.RequireAndVerifyClientCert, own.pool
			}
			ts.StartTLS()
			t.Cleanup(ts.Close)
			tr, err := c.cfg.New()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(tr.CloseIdleConnections)
			var requests atomic.Int32
			store := open(t, s3.Config{Credentials: object.Static(access(ts.URL)), Transport: tr, Wrap: func(rt http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) { requests.Add(1); return rt.RoundTrip(r) })
			}})
			chain := object.Retry(store, object.RetryConfig{})
			got, _, err := chain.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
			if c.hint == "" {
				if err != nil || string(got) != "x" {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			wantClass(t, err, object.ErrInvalid)
			if !strings.Contains(err.Error(), c.hint) || requests.Load() != 1 {
				t.Errorf("%v, after %d requests", err, requests.Load())
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// L67: data goes through the proxy that is set, also the requests on fresh connections.
func TestL67_Proxy(t *testing.T) {
	t.Parallel()
	srv := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}}, "bucket")
	srv.Put("bucket", "f", []byte("x"))
	rules := faulty.New(t, "GET * #1 -> refuse")
	behind := rules.Handler(srv)
	var through atomic.Int32
	proxy := fakes3.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "unreachable.invalid" { // an HTTP proxy gets the absolute form
			through.Add(1)
		}
		behind.ServeHTTP(w, r)
	}))
	tr, err := transport.Config{ProxyURL: proxy}.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.CloseIdleConnections)
	store := object.Retry(open(t, s3.Config{Credentials: object.Static(access("http://unreachable.invalid")), Transport: tr}), object.RetryConfig{Base: time.Millisecond})
	got, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
	if err != nil || string(got) != "x" || through.Load() != 2 {
		t.Errorf("%q, %v, %d requests through the proxy", got, err, through.Load())
	}
}

func TestPlainHTTPWhereTLSWasMeant(t *testing.T) {
	t.Parallel()
	url := fakes3.Start(t, fakes3.New(fakes3.Config{}, "bucket"))
	store := open(t, s3.Config{Credentials: object.Static(access(strings.TrimPrefix(url, "http://")))}) // no scheme = https
	_, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
	wantClass(t, err, object.ErrInvalid)
	if !strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
}

// trickle is a server that writes an answer in pieces of any size; the last arrives with the end of the connection.
func trickle(t *testing.T, data []byte, piece int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var first, last int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
			t.Error(err)
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		head := fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nETag: \"e\"\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\nConnection: close\r\nContent-Length: %d\r\nContent-Range: bytes %d-%d/%d\r\n\r\n",
			last-first+1, first, last, len(data))
		write(buf, []byte(head))
		for body := data[first : last+1]; len(body) > 0; {
			n := min(piece, len(body))
			write(buf, body[:n])
			body = body[n:]
		}
	})
}

func write(buf *bufio.ReadWriter, b []byte) {
	_, _ = buf.Write(b) // the client may have gone
	_ = buf.Flush()
}

// L51, the store's part: the same bytes, however short the reads are that deliver them, and if the last come with EOF.
func TestL51_ShortReads(t *testing.T) {
	t.Parallel()
	data := make([]byte, 30_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, piece := range []int{1, 3, 1000, 1024, 4096, 29_999, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			store, _ := wire(t, trickle(t, data, piece), object.Static(object.Access{Endpoint: "http://fake", Anonymous: true}))
			for _, r := range []object.Range{{Off: 0, Len: 2000}, {Off: 17, Len: 29_983}, {Off: 29_999, Len: 1}} {
				got, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), r, nil, object.ReadOptions{})
				wantBytes(t, got, err, data[r.Off:r.Off+r.Len])
			}
		})
	}
	// A transport whose bodies give one byte a time, and the last one together with io.EOF.
	store := open(t, s3.Config{Credentials: object.Static(object.Access{Endpoint: "http://fake", Anonymous: true}), Wrap: func(http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 206, Request: r, ContentLength: 100, Body: io.NopCloser(&withEOF{data[10:110]}),
				Header: http.Header{"Content-Range": {"bytes 10-109/30000"}, "Content-Length": {"100"}, "Etag": {`"e"`}},
			}, nil
		})
	}})
	got, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Range{Off: 10, Len: 100}, nil, object.ReadOptions{})
	wantBytes(t, got, err, data[10:110])
}

type withEOF struct{ rest []byte }

func (w *withEOF) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], w.rest)
	if w.rest = w.rest[n:]; len(w.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// A server whose word on the length is absurd makes no allocation of that size: the bytes have to come first.
func TestAbsurdLengthsAllocateNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			write(buf, []byte("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 900000000\r\n\r\nfew bytes"))
		})
		store, _ := wire(t, h, object.Static(object.Access{Endpoint: "http://fake", Anonymous: true}))
		got, _, err := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		wantClass(t, err, object.ErrUnavailable)
		if string(got) != "few bytes" || cap(got) > 8<<20 {
			t.Errorf("%d bytes in %d allocated", len(got), cap(got))
		}
		_, _, err = store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{Limit: 1 << 20})
		wantClass(t, err, object.ErrTooLarge)
	})
}

var errNoKeys = errors.New("no keys here")

type failing struct{ err error }

func (f failing) Access(context.Context, object.Location, object.Access) (object.Access, error) {
	return object.Access{}, f.err
}

func TestCredentialsThatFail(t *testing.T) {
	t.Parallel()
	for err, class := range map[error]error{errNoKeys: object.ErrDenied, fmt.Errorf("%w: catalog", object.ErrUnavailable): object.ErrUnavailable, context.Canceled: context.Canceled} {
		store := open(t, s3.Config{Credentials: failing{err}})
		_, _, got := store.Read(t.Context(), at(t, "s3://bucket/f"), object.Whole, nil, object.ReadOptions{})
		if wantClass(t, got, class); !errors.Is(got, err) {
			t.Errorf("%v hides %v", got, err)
		}
	}
}
