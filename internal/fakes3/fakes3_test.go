package fakes3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The example of "Authenticating Requests: Using the Authorization Header", Amazon S3 API Reference: GET Object.
func TestSignatureOfTheReference(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	r.Header.Set("Range", "bytes=0-9")
	r.Header.Set("X-Amz-Content-Sha256", hexSHA(""))
	r.Header.Set("X-Amz-Date", "20130524T000000Z")
	sig, f := parseAuthorization("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date," +
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
	if f != nil {
		t.Fatal(f.message)
	}
	c := &checker{secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", sig: sig, date: time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)}
	if got := c.sign("AWS4-HMAC-SHA256", hexSHA(canonical(r, sig.headers))); got != sig.value {
		t.Errorf("signature %s, want %s", got, sig.value)
	}
}

var user = Keys{ID: "ID", Secret: "SECRET", Token: "TOKEN"}

// client is plain minio-go over a pipe, with its default ways of signing (chunked, over HTTP).
func client(t *testing.T, s *Server, k Keys) *minio.Client {
	t.Helper()
	p := Serve(s)
	tr := p.Transport()
	c, err := minio.New("fake", &minio.Options{Creds: credentials.NewStaticV4(k.ID, k.Secret, k.Token), Transport: tr, Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.CloseIdleConnections(); p.Close() })
	return c
}

func code(err error) string { return minio.ToErrorResponse(err).Code }

// What minio-go writes its own way comes back: chunk signatures, parts, odd keys.
func TestMinioRoundTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Keys: []Keys{user}}, "bucket")
		c := client(t, s, user)
		ctx := t.Context()
		big := bytes.Repeat([]byte("0123456789abcdef"), 11<<20/16)
		for key, data := range map[string][]byte{"small": []byte("x"), "empty": {}, "chunks": big[:200_001], "parts": big, "a b%20/+?&=ü//x": []byte("odd")} {
			if _, err := c.PutObject(ctx, "bucket", key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{PartSize: 5 << 20, UserMetadata: map[string]string{"K": "v"}}); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			o, err := c.GetObject(ctx, "bucket", key, minio.GetObjectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(o)
			if st, _ := o.Stat(); err != nil || !bytes.Equal(got, data) || st.UserMetadata["K"] != "v" {
				t.Errorf("%s: %d bytes, %v, %+v", key, len(got), err, st)
			}
			o.Close()
		}
		if !strings.HasSuffix(s.Get("bucket", "parts").ETag, "-3") || s.Uploads() != 0 {
			t.Errorf("ETag of parts %s, %d uploads left", s.Get("bucket", "parts").ETag, s.Uploads())
		}
		if _, err := c.PutObject(ctx, "nowhere", "k", strings.NewReader("x"), 1, minio.PutObjectOptions{}); code(err) != "NoSuchBucket" {
			t.Errorf("%v", err)
		}
		if err := c.MakeBucket(ctx, "second", minio.MakeBucketOptions{}); err != nil {
			t.Error(err)
		}
		if ok, err := c.BucketExists(ctx, "second"); err != nil || !ok {
			t.Errorf("%v %v", ok, err)
		}
		if b, err := c.ListBuckets(ctx); err != nil || len(b) != 2 {
			t.Errorf("%v %v", b, err)
		}
		if err := c.RemoveObject(ctx, "bucket", "small", minio.RemoveObjectOptions{}); err != nil || s.Get("bucket", "small") != nil {
			t.Error(err)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Keys: []Keys{user}}, "bucket")
		s.Put("bucket", "k", []byte("x"))
		for name, c := range map[string]struct {
			keys Keys
			want string
		}{
			"right":         {user, ""},
			"secret":        {Keys{user.ID, "other", user.Token}, "SignatureDoesNotMatch"},
			"id":            {Keys{"nobody", user.Secret, user.Token}, "InvalidAccessKeyId"},
			"token":         {Keys{user.ID, user.Secret, "other"}, "InvalidToken"},
			"token missing": {Keys{user.ID, user.Secret, ""}, "InvalidToken"},
			"anonymous":     {Keys{}, "AccessDenied"},
		} {
			mc := client(t, s, c.keys)
			_, err := mc.StatObject(t.Context(), "bucket", "k", minio.StatObjectOptions{})
			if (err == nil) != (c.want == "") {
				t.Errorf("%s: %v", name, err)
			}
			_, err = mc.PutObject(t.Context(), "bucket", "k2", strings.NewReader("x"), 1, minio.PutObjectOptions{})
			if code(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.Expire(user.ID)
		if _, err := client(t, s, user).PutObject(t.Context(), "bucket", "k2", strings.NewReader("x"), 1, minio.PutObjectOptions{}); code(err) != "ExpiredToken" {
			t.Errorf("%v", err)
		}
	})
}

// send signs a request with minio-go's signer, then lets a test spoil it.
func send(t *testing.T, s *Server, method, url string, body []byte, spoil func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Content-Sha256", hexSHA(body))
	r = signer.SignV4(*r, user.ID, user.Secret, user.Token, "us-east-1")
	if spoil != nil {
		spoil(r)
	}
	r.RequestURI = r.URL.RequestURI()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestSpoiledRequestsAreSeen(t *testing.T) {
	t.Parallel()
	s := New(Config{Keys: []Keys{user}}, "bucket")
	for name, c := range map[string]struct {
		spoil func(*http.Request)
		want  string
	}{
		"nothing":           {nil, ""},
		"body":              {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("yy")) }, "XAmzContentSHA256Mismatch"},
		"short body":        {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("x")) }, "IncompleteBody"},
		"path":              {func(r *http.Request) { r.URL.Path = "/bucket/other" }, "SignatureDoesNotMatch"},
		"query":             {func(r *http.Request) { r.URL.RawQuery = "x=1" }, "SignatureDoesNotMatch"},
		"method":            {func(r *http.Request) { r.Method = "DELETE" }, "SignatureDoesNotMatch"},
		"unsigned header":   {func(r *http.Request) { r.Header.Set("X-Amz-Meta-New", "1") }, "AccessDenied"},
		"old date":          {func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") }, "AccessDenied"},
		"signed MD5 absent": {func(r *http.Request) { r.Header.Set("Content-Md5", "AAAA") }, "BadDigest"},
		"no credential":     {func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x") }, "AuthorizationHeaderMalformed"},
		"another scheme":    {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, "InvalidRequest"},
	} {
		w := send(t, s, "PUT", "http://fake/bucket/key", []byte("xx"), c.spoil)
		if got := w.Body.String(); (c.want == "" && w.Code != 200) || (c.want != "" && !strings.Contains(got, "<Code>"+c.want+"</Code>")) {
			t.Errorf("%s: %d %s", name, w.Code, got)
		}
	}
}

func TestListingPagesAndFolders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{MaxKeys: 3}, "bucket")
		for _, k := range []string{"a", "dir/1", "dir/2", "dir/sub/3", "dir/z", "dir0", "é&<"} {
			s.Put("bucket", k, nil)
		}
		c := client(t, s, Keys{})
		for _, v := range []struct {
			opts minio.ListObjectsOptions
			want []string
		}{
			{minio.ListObjectsOptions{Recursive: true}, []string{"a", "dir/1", "dir/2", "dir/sub/3", "dir/z", "dir0", "é&<"}},
			{minio.ListObjectsOptions{Recursive: true, UseV1: true}, []string{"a", "dir/1", "dir/2", "dir/sub/3", "dir/z", "dir0", "é&<"}},
			{minio.ListObjectsOptions{Recursive: true, Prefix: "dir/", StartAfter: "dir/1"}, []string{"dir/2", "dir/sub/3", "dir/z"}},
			{minio.ListObjectsOptions{}, []string{"a", "dir0", "é&<", "dir/"}},
			{minio.ListObjectsOptions{Prefix: "dir/"}, []string{"dir/1", "dir/2", "dir/z", "dir/sub/"}},
			{minio.ListObjectsOptions{Prefix: "none"}, nil},
		} {
			var got []string
			for o := range c.ListObjectsIter(t.Context(), "bucket", v.opts) {
				if o.Err != nil {
					t.Fatal(o.Err)
				}
				got = append(got, o.Key)
			}
			slices.Sort(got)
			slices.Sort(v.want)
			if !slices.Equal(got, v.want) {
				t.Errorf("%+v: %q, want %q", v.opts, got, v.want)
			}
		}
	})
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	for v, want := range map[string][4]int64{ // offset, length, ranged, satisfiable
		"":               {0, 10, 0, 1},
		"bytes=0-0":      {0, 1, 1, 1},
		"bytes=3-5":      {3, 3, 1, 1},
		"bytes=3-99":     {3, 7, 1, 1},
		"bytes=3-":       {3, 7, 1, 1},
		"bytes=-4":       {6, 4, 1, 1},
		"bytes=-40":      {0, 10, 1, 1},
		"bytes=10-":      {0, 0, 0, 0},
		"bytes=10-12":    {0, 0, 0, 0},
		"bytes=-0":       {0, 0, 0, 0},
		"bytes=5-3":      {0, 10, 0, 1},
		"bytes=x-3":      {0, 10, 0, 1},
		"bytes=0-1,3-4":  {0, 10, 0, 1},
		"items=0-1":      {0, 10, 0, 1},
		"bytes=0-1-2":    {0, 10, 0, 1},
		"bytes=99999-":   {0, 0, 0, 0},
		"bytes=--5":      {0, 0, 0, 0},
		"bytes=0-999999": {0, 10, 1, 1},
	} {
		off, n, ranged, ok := parseRange(v, 10)
		b := map[bool]int64{true: 1}
		if got := [4]int64{off, n, b[ranged], b[ok]}; got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}
