//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// public turns whatever ended a statement into the error that the caller sees: a *query.Error, with the Go error that a scan
// gave, if one did, below it.
func (s *statement) public(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*query.Error](err); ok && error(e) == err {
		return e
	}
	if errors.Is(err, errStatementClosed) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return &query.Error{Class: query.ClassCanceled, Err: cause}
	}
	if f, ok := errors.AsType[*plan.Fault](err); ok {
		f.Msg = shortened(f.Msg)
		return f.Public(s.st.SQL, s.original(f.Offset))
	}
	if s.fn != nil {
		if cause := s.fn.failure(); cause != nil {
			return s.scanError(cause)
		}
	}
	if e, ok := errors.AsType[*engineError](err); ok {
		return s.engineFault(e)
	}
	return s.scanError(err)
}

// scanError is a fault below an interface of ours: the table, its reader, or the code that hands batches over.
func (s *statement) scanError(err error) error {
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	class := query.ClassSource
	if p, ok := errors.AsType[*panicError](err); ok {
		class = query.ClassInternal
		s.engine.cfg.Logger.Error("panic below a statement", "panic", p.value, "stack", string(p.stack))
	}
	return &query.Error{Class: class, Err: err}
}

// original maps an offset of the text that runs to the user's own.
func (s *statement) original(offset int) int {
	if offset < 0 {
		return offset
	}
	return s.travel.Original(s.splice.Original(offset))
}

// engineFault reads DuckDB's text: "Binder Error: message\n\nLINE 1: text\n   ^".
func (s *statement) engineFault(e *engineError) error {
	msg, offset := s.place(strings.ReplaceAll(e.text, "\t", "  "))
	out := &query.Error{Class: class(e), Msg: shortened(msg)}
	if head, rest, ok := strings.Cut(out.Msg, " Error: "); ok && !strings.ContainsAny(head, "\n:") {
		out.Msg = rest
	}
	if out.Class == query.ClassMemory {
		out.Hint = "raise the statement's memory (--memory), or give it a spill folder with more space"
	}
	if offset >= 0 {
		out.At(s.st.SQL, s.original(offset))
	}
	return out
}

// shortened cuts a long list of candidates, or the stack of an internal error.
func shortened(msg string) string {
	const most = 8
	lines := strings.Split(msg, "\n")
	if len(lines) <= most+1 {
		return msg
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n… and %d lines more", len(lines)-most)
}

var caret = regexp.MustCompile(`(?s)\n\n?LINE (\d+): ([^\n]*)\n( *)\^`)

// place takes the position out of a message. DuckDB shows the line, cut at both ends with "..." if it is long, and a caret.
func (s *statement) place(text string) (msg string, offset int) {
	m := caret.FindStringSubmatchIndex(text)
	if m == nil {
		return strings.TrimSpace(text), -1
	}
	msg = strings.TrimSpace(text[:m[0]] + text[m[1]:])
	line, err := strconv.Atoi(text[m[2]:m[3]])
	shown := text[m[4]:m[5]]
	column := m[7] - m[6] - len("LINE : ") - (m[3] - m[2])
	if err != nil || column < 0 {
		return msg, -1
	}
	sql, start := s.splice.Text, 0
	for range line - 1 {
		i := strings.IndexByte(sql[start:], '\n')
		if i < 0 {
			return msg, -1
		}
		start += i + 1
	}
	full, _, _ := strings.Cut(sql[start:], "\n")
	at := runeOffset(shown, column)
	cut, ok := strings.CutPrefix(shown, "...")
	cut = strings.TrimSuffix(cut, "...")
	i := strings.Index(full, cut)
	if cut == "" || i < 0 {
		return msg, -1
	}
	if ok {
		at -= len("...")
	}
	return msg, start + i + max(at, 0)
}

// runeOffset is the byte offset of a column counted in characters.
func runeOffset(s string, column int) int {
	at := 0
	for range column {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return at
}

// engineError is DuckDB's own error.
type engineError struct {
	kind bindings.ErrorType
	text string
}

func (e *engineError) Error() string { return e.text }

// taken reads and frees an error of the C API. Some are JSON objects.
func taken(ed bindings.ErrorData) error {
	defer bindings.DestroyErrorData(&ed)
	if !bindings.ErrorDataHasError(ed) {
		return nil
	}
	e := &engineError{kind: bindings.ErrorDataErrorType(ed), text: bindings.ErrorDataMessage(ed)}
	var object struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
	}
	if json.Unmarshal([]byte(e.text), &object) == nil && object.Message != "" {
		e.text = object.Type + " Error: " + object.Message
	}
	return e
}

// classOf says what kind of fault the engine found, 0 for any other error.
func (s *statement) classOf(err error) query.Class {
	if f, ok := errors.AsType[*plan.Fault](err); ok {
		return f.Class
	}
	if e, ok := errors.AsType[*engineError](err); ok {
		return class(e)
	}
	return 0
}

// class of DuckDB's error type; the C API gives it for results, and only the text for the rest.
func class(e *engineError) query.Class {
	head, _, _ := strings.Cut(e.text, ":")
	switch {
	case e.kind == bindings.ErrorTypeOutOfMemory, head == "Out of Memory Error":
		return query.ClassMemory
	case e.kind == bindings.ErrorTypeInternal, e.kind == bindings.ErrorTypeFatal, head == "INTERNAL Error", head == "FATAL Error",
		strings.HasPrefix(e.text, "TransactionContext Error"):
		return query.ClassInternal
	case e.kind == bindings.ErrorTypeParser, e.kind == bindings.ErrorTypeSyntax, head == "Parser Error", head == "Syntax Error":
		return query.ClassSyntax
	case e.kind == bindings.ErrorTypePermission, head == "Permission Error":
		return query.ClassRefused
	case e.kind == bindings.ErrorTypeBinder, e.kind == bindings.ErrorTypeCatalog, head == "Binder Error", head == "Catalog Error",
		head == "Parameter Not Resolved Error", head == "Parameter Not Allowed Error":
		return query.ClassBind
	case e.kind == bindings.ErrorTypeNotImplemented, head == "Not implemented Error":
		return query.ClassUnsupported
	}
	return query.ClassExecution
}
