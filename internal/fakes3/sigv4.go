package fakes3

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // Content-MD5
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	unsigned       = "UNSIGNED-PAYLOAD"
	signedChunks   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	unsignedChunks = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	amzDate        = "20060102T150405Z"
	maxBody        = 1 << 30
	maxSkew        = 15 * time.Minute
)

// signature is the Authorization header, in parts.
type signature struct {
	keyID, day, region, service string
	headers                     []string
	value                       string
}

func parseAuthorization(h string) (signature, *fault) {
	var sig signature
	rest, ok := strings.CutPrefix(h, "AWS4-HMAC-SHA256 ")
	if !ok {
		return sig, fail(400, "InvalidRequest", "The authorization mechanism you have provided is not supported")
	}
	for field := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch k {
		case "Credential":
			p := strings.Split(v, "/")
			if len(p) < 5 || p[len(p)-1] != "aws4_request" {
				return sig, fail(400, "AuthorizationHeaderMalformed", "the Credential is mal-formed")
			}
			n := len(p)
			sig.keyID, sig.day, sig.region, sig.service = strings.Join(p[:n-4], "/"), p[n-4], p[n-3], p[n-2]
		case "SignedHeaders":
			sig.headers = strings.Split(v, ";")
		case "Signature":
			sig.value = v
		}
	}
	if sig.keyID == "" || len(sig.headers) == 0 || sig.value == "" || sig.service != "s3" {
		return sig, fail(400, "AuthorizationHeaderMalformed", "the authorization header is incomplete")
	}
	return sig, nil
}

// authorize checks who asks and reads the body.
func (s *Server) authorize(q *request) *fault {
	s.mu.Lock()
	open := len(s.mu.keys) == 0
	b := s.mu.buckets[q.bucket]
	s.mu.Unlock()
	header := q.Header.Get("Authorization")
	if header == "" {
		reading := q.Method == http.MethodGet || q.Method == http.MethodHead
		if !open && (b == nil || !b.public || !reading) {
			return fail(403, "AccessDenied", "Access Denied")
		}
		if f := q.checkRegion(b, ""); f != nil {
			return f
		}
		return q.readBody(nil)
	}
	sig, f := parseAuthorization(header)
	if f != nil {
		return f
	}
	if f := q.checkRegion(b, sig.region); f != nil {
		return f
	}
	if open {
		return q.readBody(nil)
	}
	return s.verify(q, sig)
}

func (s *Server) verify(q *request, sig signature) *fault {
	s.mu.Lock()
	keys, ok := s.mu.keys[sig.keyID]
	expired := s.mu.expired[sig.keyID]
	s.mu.Unlock()
	if !ok {
		return fail(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records")
	}
	at, err := time.Parse(amzDate, q.Header.Get("X-Amz-Date"))
	switch {
	case err != nil || at.Format("20060102") != sig.day:
		return fail(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
	case time.Since(at).Abs() > maxSkew:
		return fail(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large")
	case q.Header.Get("X-Amz-Security-Token") != keys.Token:
		return fail(403, "InvalidToken", "The provided token is malformed or otherwise invalid")
	case !slices.Contains(sig.headers, "host"):
		return fail(403, "AccessDenied", "the host must be signed")
	}
	for h := range q.Header {
		if h = strings.ToLower(h); strings.HasPrefix(h, "x-amz-") && !slices.Contains(sig.headers, h) {
			return fail(403, "AccessDenied", "There were headers present in the request which were not signed: %s", h)
		}
	}
	c := &checker{secret: keys.Secret, sig: sig, date: at}
	if want := c.sign("AWS4-HMAC-SHA256", hexSHA(canonical(q.Request, sig.headers))); !hmac.Equal([]byte(want), []byte(sig.value)) {
		return fail(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided")
	}
	if expired {
		return fail(400, "ExpiredToken", "The provided token has expired.")
	}
	c.previous = sig.value
	return q.readBody(c)
}

// canonical builds the canonical request of Signature Version 4 as S3 defines it: the path is encoded once, never cleaned.
func canonical(r *http.Request, headers []string) string {
	var b strings.Builder
	b.WriteString(r.Method + "\n" + encode(r.URL.Path, true) + "\n")
	var params []string
	for k, vs := range r.URL.Query() {
		for _, v := range vs {
			params = append(params, encode(k, false)+"="+encode(v, false))
		}
	}
	slices.Sort(params)
	b.WriteString(strings.Join(params, "&") + "\n")
	for _, h := range headers {
		v := strings.Join(r.Header.Values(h), ",")
		switch h {
		case "host":
			v = r.Host
		case "content-length":
			v = strconv.FormatInt(r.ContentLength, 10)
		}
		b.WriteString(h + ":" + strings.Join(strings.Fields(v), " ") + "\n")
	}
	b.WriteString("\n" + strings.Join(headers, ";") + "\n")
	payload := r.Header.Get("X-Amz-Content-Sha256")
	if payload == "" {
		payload = unsigned
	}
	b.WriteString(payload)
	return b.String()
}

// encode writes every byte outside of RFC 3986 unreserved as %XX.
func encode(s string, keepSlash bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~', c == '/' && keepSlash:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// checker signs what the client should have signed.
type checker struct {
	secret, previous string
	sig              signature
	date             time.Time
}

func (c *checker) sign(algorithm string, lines ...string) string {
	scope := c.sig.day + "/" + c.sig.region + "/s3/aws4_request"
	key := []byte("AWS4" + c.secret)
	for _, part := range []string{c.sig.day, c.sig.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	text := strings.Join(append([]string{algorithm, c.date.Format(amzDate), scope}, lines...), "\n")
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func hexSHA[T string | []byte](v T) string {
	h := sha256.Sum256([]byte(v))
	return hex.EncodeToString(h[:])
}

// readBody reads, undoes chunking, and checks payload hash and Content-MD5; c is nil for requests without a signature.
func (q *request) readBody(c *checker) *fault {
	raw, err := io.ReadAll(io.LimitReader(q.Body, maxBody))
	if err != nil || (q.ContentLength >= 0 && int64(len(raw)) != q.ContentLength) {
		return fail(400, "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header")
	}
	q.body = raw
	switch payload := q.Header.Get("X-Amz-Content-Sha256"); {
	case payload == signedChunks || payload == unsignedChunks:
		if payload == unsignedChunks {
			c = nil
		}
		if q.body, err = dechunk(raw, c); err != nil {
			return fail(403, "SignatureDoesNotMatch", "chunk: %v", err)
		}
		if n := q.Header.Get("X-Amz-Decoded-Content-Length"); n != strconv.Itoa(len(q.body)) {
			return fail(400, "IncompleteBody", "decoded length %d, announced %s", len(q.body), n)
		}
	case c != nil && payload != "" && payload != unsigned && payload != hexSHA(raw):
		return fail(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed")
	}
	if want := q.Header.Get("Content-Md5"); want != "" {
		sum := md5.Sum(q.body) //nolint:gosec // see above
		if want != base64.StdEncoding.EncodeToString(sum[:]) {
			return fail(400, "BadDigest", "The Content-MD5 you specified did not match what we received")
		}
	}
	return nil
}

// dechunk undoes aws-chunked framing and checks the chain of chunk signatures.
func dechunk(raw []byte, c *checker) ([]byte, error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	var out []byte
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, ext, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n < 0 || n > int64(len(raw)) {
			return nil, fmt.Errorf("size %q", size)
		}
		chunk := make([]byte, n)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		if c != nil {
			want := c.sign("AWS4-HMAC-SHA256-PAYLOAD", c.previous, hexSHA(""), hexSHA(chunk))
			if strings.TrimPrefix(ext, "chunk-signature=") != want {
				return nil, errors.New("signature differs")
			}
			c.previous = want
		}
		if n == 0 {
			return out, nil // trailers are not looked at
		}
		out = append(out, chunk...)
		if _, err := in.Discard(2); err != nil {
			return nil, err
		}
	}
}

// checkRegion refuses a request signed for another region; unsigned ones are redirected only.
func (q *request) checkRegion(b *bucket, signed string) *fault {
	if b == nil || b.region == "" || signed == b.region || (signed == "" && !q.s.cfg.Redirect) {
		return nil
	}
	if signed == "" {
		return nil
	}
	if q.s.cfg.Redirect {
		f := fail(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint")
		f.header = [][2]string{{"X-Amz-Bucket-Region", b.region}}
		return f
	}
	f := fail(400, "AuthorizationHeaderMalformed", "The authorization header is malformed; the region '%s' is wrong; expecting '%s'", signed, b.region)
	f.extra = [][2]string{{"Region", b.region}}
	return f
}
