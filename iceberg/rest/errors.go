package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/lakescan/lakescan/iceberg/meta"
)

const (
	maxRawMessage = 512
	maxMessage    = 2048
)

// serverError is the body of a failed answer: the specification's form, OAuth's, or whatever else came.
type serverError struct {
	message, errorType string
	known              bool // it was one of the two forms
}

func parseServerError(body []byte) serverError {
	var doc struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	if json.Unmarshal(body, &doc) == nil && len(doc.Error) > 0 {
		var e struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		}
		if json.Unmarshal(doc.Error, &e) == nil && (e.Message != "" || e.Type != "") {
			return serverError{clean(e.Message, maxMessage), clean(e.Type, 128), true}
		}
		var code string
		if json.Unmarshal(doc.Error, &code) == nil {
			return serverError{clean(doc.Description, maxMessage), clean(code, 128), true}
		}
	}
	if title := htmlTitle(body); title != "" {
		return serverError{message: title}
	}
	return serverError{message: clean(string(body), maxRawMessage)}
}

// htmlTitle is what an error page of a server or proxy is about; "" if the body is no such page.
func htmlTitle(body []byte) string {
	text := string(body[:min(len(body), 1<<14)])
	lower := strings.ToLower(text)
	if !strings.HasPrefix(strings.TrimSpace(lower), "<") || len(lower) != len(text) {
		return ""
	}
	from := strings.Index(lower, "<title>")
	to := strings.Index(lower, "</title>")
	if from < 0 || to < from {
		return ""
	}
	return clean(text[from+len("<title>"):to], maxRawMessage)
}

// clean takes out control characters and cuts to n bytes: the text goes to terminals.
func clean(s string, n int) string {
	s = strings.ToValidUTF8(s[:min(len(s), 2*n)], "")
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			space = b.Len() > 0
			continue
		}
		if b.Len() >= n {
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// statusError makes the error of an answer that is no success.
func (c *Client) statusError(rq request, status int, h http.Header, body []byte, attempts int) *meta.Error {
	s := parseServerError(body)
	s.message = c.redact(s.message)
	e := &meta.Error{Op: rq.op, Ident: rq.id, Status: status, Type: s.errorType, Attempts: attempts, RequestID: requestID(h)}
	class := rq.class(status, s)
	switch msg := strings.TrimSpace(s.message); {
	case class == nil && msg == "":
		e.Err = errors.New("the catalog refused the request")
	case class == nil:
		e.Err = errors.New(msg)
	case msg == "":
		e.Err = class
	default:
		e.Err = fmt.Errorf("%w: %s", class, msg)
	}
	if status >= 300 && status < 400 {
		e.Err = fmt.Errorf("%w: the catalog answers with a redirect to %q: set the catalog's uri to where it leads", meta.ErrUnavailable, redactURL(h.Get("Location")))
	}
	if status == http.StatusNotFound && !s.known {
		e.Err = fmt.Errorf("%w (the answer is no Iceberg error: is the catalog's uri right?)", e.Err)
	}
	return e
}

// class maps status and type to one of meta's classes; nil = none fits.
func (rq request) class(status int, s serverError) error {
	t := s.errorType
	missing := strings.Contains(t, "NoSuch") || strings.Contains(t, "NotFound")
	switch {
	case throttling(t):
		return meta.ErrUnavailable
	case rq.commit && (status >= 500 || strings.HasPrefix(t, "CommitStateUnknown")):
		return meta.ErrCommitUnknown
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == 419:
		return meta.ErrDenied
	case missing && strings.Contains(t, "Warehouse"):
		return meta.ErrNoSuchWarehouse
	case missing && strings.Contains(t, "Namespace"):
		return meta.ErrNoSuchNamespace
	case missing && strings.Contains(t, "Table"):
		return meta.ErrNoSuchTable
	case status == http.StatusNotFound && rq.missing != nil && (s.known || rq.missing != meta.ErrNoSuchWarehouse):
		return rq.missing
	case status == http.StatusConflict:
		return meta.ErrConflict
	case status == http.StatusNotAcceptable, status == http.StatusNotImplemented, t == "UnsupportedOperationException":
		return meta.ErrUnsupported
	case status == http.StatusNotFound, status == http.StatusTooManyRequests, status >= 500:
		return meta.ErrUnavailable
	}
	return nil
}

// lostError makes the error of a request that got no answer.
func (c *Client) lostError(rq request, err error, attempts int) *meta.Error {
	class := meta.ErrUnavailable
	if rq.commit && !neverSent(err) {
		class = meta.ErrCommitUnknown
	}
	return &meta.Error{Op: rq.op, Ident: rq.id, Attempts: attempts, Err: fmt.Errorf("%w: %w", class, err)}
}

func requestID(h http.Header) string {
	for _, k := range []string{"X-Request-Id", "X-Amzn-Requestid", "X-Amz-Request-Id"} {
		if v := h.Get(k); v != "" {
			return clean(v, 128)
		}
	}
	return ""
}
