package exit

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/render"
)

// Object is an error for machines; absent fields are unknown. New fields may come.
type Object struct {
	Code      Code   `json:"code"`
	Kind      string `json:"kind"`
	Op        string `json:"op,omitempty"`
	Location  string `json:"location,omitempty"`
	Offset    *int64 `json:"offset,omitempty"` // of a ranged read
	Length    *int64 `json:"length,omitempty"`
	Line      int    `json:"line,omitempty"` // of SQL, from 1
	Column    int    `json:"column,omitempty"`
	Attempts  int    `json:"attempts,omitempty"`
	Status    int    `json:"status,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
}

// Describe reads the object off an error; r cleans its texts. nil describes as OK.
func Describe(err error, r *Redactor) Object {
	o := Object{Code: Of(err)}
	o.Kind = o.Code.Kind()
	if err == nil {
		return o
	}
	o.Message = err.Error()
	if e, ok := errors.AsType[*meta.Error](err); ok {
		o.Op, o.Location = e.Op, e.Ident.String()
		o.Attempts, o.Status, o.RequestID = e.Attempts, e.Status, e.RequestID
	}
	if e, ok := errors.AsType[*object.Error](err); ok {
		o.Op, o.Location = e.Op, e.Location.Recorded
		o.Attempts, o.Status, o.RequestID = e.Attempts, e.Status, e.RequestID
		if e.Op == "read" && e.Range != object.Whole && e.Range != (object.Range{}) {
			off, n := e.Range.Off, e.Range.Len
			o.Offset, o.Length = &off, &n
		}
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		o.Line, o.Column = e.Line, e.Col
	}
	o.Hint = hint(err, o.Code)
	for _, s := range []*string{&o.Op, &o.Location, &o.RequestID, &o.Message, &o.Hint} {
		*s = r.Clean(*s)
	}
	return o
}

// hint is what to try, from what the error knows of itself, else from its class.
func hint(err error, code Code) string {
	if e, ok := errors.AsType[*UsageError](err); ok {
		return e.Hint
	}
	if e, ok := errors.AsType[*query.Error](err); ok && e.Hint != "" {
		return e.Hint
	}
	if e, ok := errors.AsType[*meta.UnsupportedError](err); ok && e.Hint != "" {
		return "" // its text ends in it
	}
	if h := filterHint(err); h != "" {
		return h
	}
	switch {
	case errors.Is(err, meta.ErrNoSuchSnapshot):
		return "lakescan snapshots TABLE lists them"
	case errors.Is(err, meta.ErrNoSuchRef):
		return "lakescan refs TABLE lists them"
	case errors.Is(err, ErrTimeout):
		return "raise --timeout"
	case errors.Is(err, ErrMaxBytes):
		return "raise --max-bytes, or read fewer columns and rows"
	case diskFull(err):
		return "the disk is full: make room, or write elsewhere"
	case errors.Is(err, memory.ErrRefused), code == Limit:
		return "raise --memory, or lower --max-files-to-prefetch"
	case errors.Is(err, object.ErrChanged):
		return "the file was replaced while it was read: run again"
	case object.Throttled(err):
		return "raise --retries or lower --max-files-to-prefetch"
	case code == Unavailable:
		return "check the address (lakescan config show), or raise --retries"
	case code == Denied:
		return "see where the credentials come from: lakescan config show"
	}
	return ""
}

// filterHint knows two habits of SQL that a filter does not share.
func filterHint(err error) string {
	if e, ok := errors.AsType[*expr.SyntaxError](err); ok && strings.HasPrefix(e.Msg, "no function ") {
		return "lakescan query has functions"
	}
	var s *iceberg.SelectError
	if e, ok := errors.AsType[*expr.BindError](err); ok && !errors.As(err, &s) && strings.HasSuffix(e.Msg, "no such column") && len(e.Near) == 0 {
		return "text is written in single quotes: '" + strings.Trim(e.Column, `"`) + "'"
	}
	return ""
}

// JSON is {"error":{…}} on one line.
func (o Object) JSON() []byte {
	b, err := json.Marshal(struct {
		Error Object `json:"error"`
	}{o})
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	return append(b, '\n')
}

// Text is the line for people, and a second one with the hint.
func (o Object) Text() string {
	s := "lakescan: " + o.Message + "\n"
	if o.Hint != "" {
		s += "  try: " + o.Hint + "\n"
	}
	return s
}

// visible escapes control characters but keeps the line breaks of a message of several lines.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = render.Visible(l)
	}
	return strings.Join(lines, "\n")
}
