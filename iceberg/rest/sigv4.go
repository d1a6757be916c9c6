package rest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// sigv4 signs requests by AWS Signature Version 4 (AWS, "Create a signed AWS API request").
type sigv4 struct {
	region, service string
	keys            func(context.Context) (signingKeys, error)
	origin          string
}

type signingKeys struct{ id, secret, token string }

func (c *Client) newSigV4() authenticator {
	region := first([]map[string]string{c.props}, keySigningRegion, "client.region", "s3.region")
	s := &sigv4{region: region, service: c.props[keySigningName], origin: "the caller's AWS keys"}
	if s.service == "" {
		s.service = "execute-api"
	}
	static := signingKeys{c.props[keySigningKey], c.props[keySigningSecret], c.props[keySigningToken]}
	s.keys = func(ctx context.Context) (signingKeys, error) {
		if static.id != "" {
			return static, nil
		}
		if c.cfg.Keys == nil {
			return signingKeys{}, errors.New("no keys to sign with: set " + keySigningKey + " or configure AWS")
		}
		id, secret, token, err := c.cfg.Keys(ctx)
		return signingKeys{id, secret, token}, err
	}
	if static.id != "" {
		s.origin = c.origin(keySigningKey)
	}
	return s
}

func (s *sigv4) authorize(ctx context.Context, r *http.Request, _ string) (string, error) {
	if s.region == "" {
		return "", &meta.Error{Op: "sign request", Err: fmt.Errorf("%w: no region to sign for: set %s", meta.ErrDenied, keySigningRegion)}
	}
	k, err := s.keys(ctx)
	if err != nil {
		return "", &meta.Error{Op: "sign request", Err: fmt.Errorf("%w: %w", meta.ErrDenied, err)}
	}
	var body []byte
	if r.GetBody != nil {
		rc, err := r.GetBody()
		if err != nil {
			return "", err
		}
		if body, err = io.ReadAll(rc); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(body)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	signV4(r, k, s.region, s.service, hex.EncodeToString(sum[:]), now())
	return "", nil
}

func (*sigv4) renews() bool       { return false }
func (s *sigv4) describe() string { return "the request was signed with " + s.origin }

const (
	amzTime      = "20060102T150405Z"
	sigAlgorithm = "AWS4-HMAC-SHA256"
)

// signV4 adds X-Amz-Date, X-Amz-Security-Token and Authorization. Every header that r has by then is signed.
func signV4(r *http.Request, k signingKeys, region, service, bodyHash string, t time.Time) {
	t = t.UTC()
	r.Header.Set("X-Amz-Date", t.Format(amzTime))
	if k.token != "" {
		r.Header.Set("X-Amz-Security-Token", k.token)
	}
	canonical, signed := canonicalRequest(r, bodyHash)
	scope := t.Format("20060102") + "/" + region + "/" + service + "/aws4_request"
	sum := sha256.Sum256([]byte(canonical))
	toSign := sigAlgorithm + "\n" + t.Format(amzTime) + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{t.Format("20060102"), region, service, "aws4_request"} {
		key = hmac256(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		sigAlgorithm, k.id, scope, signed, hex.EncodeToString(hmac256(key, toSign))))
}

func hmac256(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalRequest is step 1 of the signature. Path bytes are encoded once more than on the wire, as for every service but S3.
func canonicalRequest(r *http.Request, bodyHash string) (text, signedHeaders string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	headers := map[string]string{"host": host}
	for k, vs := range r.Header {
		lower := strings.ToLower(k)
		switch lower {
		case "authorization", "user-agent", "x-amzn-trace-id", "expect", "connection", "accept-encoding":
			continue
		}
		trimmed := make([]string, len(vs))
		for i, v := range vs {
			trimmed[i] = strings.Join(strings.Fields(v), " ")
		}
		headers[lower] = strings.Join(trimmed, ",")
	}
	names := make([]string, 0, len(headers))
	for k := range headers {
		names = append(names, k)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Method, canonicalPath(r.URL.EscapedPath()), canonicalQuery(r.URL.RawQuery))
	for _, n := range names {
		fmt.Fprintf(&b, "%s:%s\n", n, headers[n])
	}
	signedHeaders = strings.Join(names, ";")
	fmt.Fprintf(&b, "\n%s\n%s", signedHeaders, bodyHash)
	return b.String(), signedHeaders
}

func canonicalPath(escaped string) string {
	if escaped == "" {
		return "/"
	}
	parts := strings.Split(escaped, "/")
	for i, p := range parts {
		parts[i] = encodeQuery(p)
	}
	return strings.Join(parts, "/")
}

// canonicalQuery sorts by name, then value, as encoded.
func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	pairs := strings.Split(raw, "&")
	for i, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		pairs[i] = reencode(name) + "=" + reencode(value)
	}
	slices.SortFunc(pairs, func(a, b string) int {
		an, av, _ := strings.Cut(a, "=")
		bn, bv, _ := strings.Cut(b, "=")
		if c := strings.Compare(an, bn); c != 0 {
			return c
		}
		return strings.Compare(av, bv)
	})
	return strings.Join(pairs, "&")
}

// reencode brings a query text, in which a plus is a space, to the canonical encoding.
func reencode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			c, _ := hex.DecodeString(s[i+1 : i+3])
			b.WriteByte(c[0])
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return encodeQuery(b.String())
}

func encodeQuery(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; unreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}
