package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lakescan/lakescan/object"
)

// errorBody is the XML of an S3 error; fields that only some stores send stay empty.
type errorBody struct {
	Code, Message, Region, Endpoint string
	RequestID                       string `xml:"RequestId"`
	ActualObjectSize                string
}

// refusal reads an error answer: XML if it is, else the status line and the first bytes of whatever came (a proxy's HTML).
func (x *exchange) refusal() errorBody {
	var b errorBody
	if err := xml.Unmarshal(x.errBody, &b); err != nil || b.Code == "" {
		b = errorBody{Message: printable(x.errBody, 200)}
	}
	if code := x.header.Get("X-Minio-Error-Code"); code != "" {
		b.Code = code // an answer to HEAD has no body
	}
	b.Region = or(strings.TrimSpace(b.Region), x.header.Get("X-Amz-Bucket-Region"))
	b.RequestID = or(b.RequestID, x.header.Get("X-Amz-Request-Id"))
	// These end up on terminals and in logs.
	b.Code, b.Message, b.RequestID = printable([]byte(b.Code), 100), printable([]byte(b.Message), 500), printable([]byte(b.RequestID), 100)
	return b
}

func printable(b []byte, limit int) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b[:min(len(b), limit)]), "?"))
	return strings.TrimSpace(s)
}

// fail turns the end of an attempt into an *object.Error. outer is the caller's context, inner the attempt's; err is what
// minio-go or the body said.
func (x *exchange) fail(outer, inner context.Context, op string, err error) error {
	e := &object.Error{Op: op, Location: x.loc, Range: x.rng, Status: x.status, Attempts: 1}
	if x.header != nil {
		e.RequestID = x.header.Get("X-Amz-Request-Id")
		e.RetryAfter = retryAfter(x.header.Get("Retry-After"))
	}
	switch cause := context.Cause(inner); {
	case outer.Err() != nil:
		e.Err = object.ContextError(outer)
	case hasClass(err):
		e.Err = err
	case x.status >= 300:
		b := x.refusal()
		e.Code, e.RequestID = b.Code, or(b.RequestID, e.RequestID)
		e.Err = fmt.Errorf("%w%s", classOf(x.status, b.Code), suffix(or(b.Message, http.StatusText(x.status))))
	case errors.Is(cause, errStall):
		e.Err = fmt.Errorf("%w: %w", object.ErrUnavailable, errStall)
	case x.netErr != nil:
		e.Err = netError(x.netErr)
	case x.status != 0:
		e.Err = fmt.Errorf("%w: %w", object.ErrUnavailable, err) // the body broke, or headers that cannot be read
	default:
		e.Err = fmt.Errorf("%w: %w", object.ErrInvalid, err) // refused before it was sent
	}
	return e
}

func suffix(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// classOf maps status and code to a class. The code goes first: throttling and timeouts come under several statuses.
func classOf(status int, code string) error {
	switch code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
		"TooManyRequests", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted", "ConditionalRequestConflict":
		return object.ErrUnavailable
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired", "InvalidAccessKeyId",
		"SignatureDoesNotMatch", "AccessDenied", "RequestTimeTooSkewed":
		return object.ErrDenied
	case "NoSuchKey", "NoSuchBucket", "NoSuchUpload":
		return object.ErrNotFound
	}
	switch {
	case status == 401 || status == 403:
		return object.ErrDenied
	case status == 404 || status == 410:
		return object.ErrNotFound
	case status == 412:
		return object.ErrChanged
	case status == 416:
		return object.ErrRange
	case status == 501:
		return errors.ErrUnsupported
	case status == 408 || status == 409 || status == 425 || status == 429 || status == 499 || status >= 500:
		return object.ErrUnavailable
	}
	return object.ErrInvalid // redirects that lead nowhere, and other refusals of the request as such
}

// netError is the class of a failed round trip: everything can be tried again but what the configuration has wrong.
func netError(err error) error {
	class := object.ErrUnavailable
	hint := ""
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		record  tls.RecordHeaderError
		op      *net.OpError
	)
	switch {
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &host):
		class, hint = object.ErrInvalid, " (the server's certificate is not trusted: set the CA file)"
	case errors.As(err, &op) && op.Op == "remote error": // an alert: crypto/tls keeps its type to itself
		class, hint = object.ErrInvalid, " (TLS refused: is a client certificate wanted?)"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		class, hint = object.ErrInvalid, " (the server speaks plain HTTP: write the endpoint with http://)"
	}
	return fmt.Errorf("%w: %w%s", class, err, hint)
}

func hasClass(err error) bool {
	for _, c := range []error{object.ErrChanged, object.ErrRange, object.ErrTooLarge, object.ErrCorrupt, object.ErrExists, object.ErrInvalid} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

func throttled(x *exchange) bool {
	return x.status == 429 || x.status == 503
}

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3); 0 = none.
func retryAfter(v string) time.Duration {
	if v == "" {
		return 0
	}
	if sec, err := strconv.ParseInt(v, 10, 32); err == nil {
		return max(0, time.Duration(sec)*time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// expired reports an answer that newer keys may change.
func (x *exchange) expired(a object.Access) bool {
	if x.status != 400 && x.status != 401 && x.status != 403 {
		return false
	}
	switch x.refusal().Code {
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken", "InvalidTokenId", "TokenRefreshRequired":
		return true
	case "InvalidAccessKeyId":
		return a.Token != "" // temporary keys that the store has already forgotten
	}
	return false
}

// elsewhere gives the region that the store names for the bucket, if the request was signed for another.
func (x *exchange) elsewhere(signed string) (string, bool) {
	switch x.status {
	case 301, 307, 308, 400, 403:
		region := x.refusal().Region
		return region, region != "" && region != signed
	}
	return "", false
}
