package query

import (
	"fmt"
	"strings"
)

// Class says what kind of fault ended a statement, for exit codes and for deciding.
type Class uint8

// Classes. A fault of the storage or the catalog keeps its own type and is found with errors.As below the *Error.
const (
	ClassSyntax      Class = iota + 1 // the text is not SQL
	ClassBind                         // unknown column or function, a type that does not fit, a parameter without value
	ClassRefused                      // SQL, but nothing that a read-only, sandboxed client runs
	ClassNotFound                     // no such table
	ClassUnsupported                  // known and not supported, for instance a type that the engine cannot hold
	ClassExecution                    // a value: overflow, a cast that fails, a subquery with two rows
	ClassSource                       // a scan failed; Err is its error
	ClassMemory                       // the statement's memory or spill space is used up; the text names the limit
	ClassCanceled                     // the context ended; Err is its cause
	ClassInternal                     // a fault of the engine or of ours; the statement's instance is gone
)

var classNames = [...]string{
	ClassSyntax: "syntax", ClassBind: "bind", ClassRefused: "refused", ClassNotFound: "not found",
	ClassUnsupported: "unsupported", ClassExecution: "execution", ClassSource: "source", ClassMemory: "memory",
	ClassCanceled: "canceled", ClassInternal: "internal",
}

func (c Class) String() string {
	if int(c) < len(classNames) && classNames[c] != "" {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// Error is a fault of one statement. Line and Col count from 1 in the statement's own text, Col in characters; 0 = unknown.
type Error struct {
	Class     Class
	Line, Col int
	Near      string // a few characters of the statement at that place
	Msg       string // what is wrong; one or more lines of text
	Hint      string // what to try; may be empty
	Err       error  // the cause, if it has a type of its own
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sql: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d column %d: ", e.Line, e.Col)
	}
	switch {
	case e.Msg != "":
		b.WriteString(e.Msg)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString(e.Class.String() + " error")
	}
	if e.Near != "" && !strings.Contains(e.Msg, e.Near) {
		fmt.Fprintf(&b, " (near %q)", e.Near)
	}
	if e.Msg != "" && e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// At fills Line, Col and Near from a byte offset in the statement's text and returns e.
func (e *Error) At(sql string, offset int) *Error {
	if offset < 0 || offset > len(sql) {
		return e
	}
	e.Line, e.Col = position(sql, offset)
	e.Near = near(sql, offset)
	return e
}

func position(sql string, offset int) (line, col int) {
	head := sql[:offset]
	line = 1 + strings.Count(head, "\n")
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[i+1:]
	}
	return line, 1 + len([]rune(head))
}

// near is the word at the place, or what is left of the line up to 24 characters.
func near(sql string, offset int) string {
	rest := sql[offset:]
	if toks := Lex(rest); len(toks) > 0 && toks[0].Start == 0 {
		rest = rest[:toks[0].End]
	}
	rest, _, _ = strings.Cut(rest, "\n")
	if r := []rune(rest); len(r) > 24 {
		rest = string(r[:24]) + "…"
	}
	return strings.TrimSpace(rest)
}
