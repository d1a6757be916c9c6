package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

// The example keys, region, service and date of the AWS signature test suite.
var (
	suiteKeys = signingKeys{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	suiteTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
)

func TestSigV4_Suite(t *testing.T) {
	t.Parallel()
	empty := sha256.Sum256(nil)
	for _, c := range []struct{ name, method, url, signature string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-unreserved", "GET", "https://example.amazonaws.com/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	} {
		r, err := http.NewRequest(c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		signV4(r, suiteKeys, "us-east-1", "service", hex.EncodeToString(empty[:]), suiteTime)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + c.signature
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

func TestSigV4_AgainstTheSDK(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, url, body string
		header            http.Header
		token             string
	}{
		{"GET", "https://h.example/iceberg/v1/config?warehouse=arn%3Aaws%3As3%3A%3A%3Abucket%2Fa+b", "", nil, ""},
		{"GET", "https://h.example/iceberg/v1/ws%7C1/namespaces/a%1Fb%20c/tables/x%2Fy%2Bz?snapshots=refs", "", nil, "session=="},
		{"POST", "https://h.example:8443/v1/p/namespaces/n/tables/t", `{"updates":[]}`, http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"k"}}, "tok"},
		{"GET", "https://h.example/v1/namespaces?parent=a%1Fb&pageToken=&pageSize=1000&b=2&b=1&a", "", http.Header{"X-Two": {" a  b ", "c"}}, ""},
		{"DELETE", "https://h.example", "", nil, ""},
	} {
		sum := sha256.Sum256([]byte(c.body))
		hash := hex.EncodeToString(sum[:])
		request := func() *http.Request {
			r, err := http.NewRequest(c.method, c.url, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = c.header.Clone()
			if r.Header == nil {
				r.Header = http.Header{}
			}
			r.Header.Set("X-Amz-Content-Sha256", hash)
			r.ContentLength = 0 // the SDK would sign a length, which this package leaves out
			return r
		}
		ours, theirs := request(), request()
		k := suiteKeys
		k.token = c.token
		signV4(ours, k, "eu-west-1", "execute-api", hash, suiteTime)
		err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: k.id, SecretAccessKey: k.secret, SessionToken: k.token}, theirs, hash, "execute-api", "eu-west-1", suiteTime)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := ours.Header.Get("Authorization"), theirs.Header.Get("Authorization"); a != b {
			t.Errorf("%s %s\nours   %s\ntheirs %s", c.method, c.url, a, b)
		}
	}
}

func TestSigV4_Client(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{})
	c := open(t, s, map[string]string{
		"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1", "rest.signing-name": "glue",
		"rest.access-key-id": "AKID", "rest.secret-access-key": "planted-secret",
	})
	if _, err := c.Load(t.Context(), nsT, false); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Log() {
		a := r.Header.Get("Authorization")
		if !strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKID/") || !strings.Contains(a, "/eu-west-1/glue/aws4_request") {
			t.Errorf("authorization %q", a)
		}
	}
	if _, err := tryOpen(t, s, map[string]string{"rest.auth.type": "sigv4"}); !errors.Is(err, meta.ErrDenied) || !strings.Contains(err.Error(), keySigningRegion) {
		t.Errorf("no region: %v", err)
	}
	if _, err := tryOpen(t, s, map[string]string{"rest.auth.type": "sigv4", "rest.signing-region": "r"}); !errors.Is(err, meta.ErrDenied) || !strings.Contains(err.Error(), "no keys") {
		t.Errorf("no keys: %v", err)
	}
	if _, err := tryOpen(t, s, map[string]string{"rest.auth.type": "kerberos"}); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("unknown kind: %v", err)
	}
	_, err := Open(t.Context(), Config{
		URI: "http://c", Transport: fakerest.Pipe(t, s), Properties: map[string]string{"rest.auth.type": "sigv4", "rest.signing-region": "r"},
		Keys: func(context.Context) (string, string, string, error) { return "", "", "", errors.New("no profile") },
	})
	if !errors.Is(err, meta.ErrDenied) || !strings.Contains(err.Error(), "no profile") {
		t.Errorf("failing provider: %v", err)
	}
}
