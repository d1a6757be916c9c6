package meta

import (
	"errors"
	"fmt"
	"strings"
)

// Classes; callers decide with errors.Is.
var (
	ErrNoSuchTable     = errors.New("iceberg: no such table")
	ErrNoSuchNamespace = errors.New("iceberg: no such namespace")
	ErrNoSuchWarehouse = errors.New("iceberg: no such warehouse")
	ErrNoSuchSnapshot  = errors.New("iceberg: no such snapshot")
	ErrNoSuchRef       = errors.New("iceberg: no such branch or tag")
	ErrDenied          = errors.New("iceberg: access denied")
	ErrUnavailable     = errors.New("iceberg: catalog unavailable")
	ErrUnsupported     = errors.New("iceberg: unsupported")
	ErrInvalidMetadata = errors.New("iceberg: invalid metadata")
	ErrConflict        = errors.New("iceberg: commit conflict")
	ErrCommitUnknown   = errors.New("iceberg: commit outcome unknown")
)

// Error says what was asked of a catalog and how it answered. Err is one of the classes, or wraps one.
type Error struct {
	Op        string
	Ident     Ident
	Status    int    // HTTP; 0 = no answer
	Type      string // the server's name of the error
	Attempts  int
	RequestID string
	Err       error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Ident.Name != "" || len(e.Ident.Namespace) > 0 {
		b.WriteString(" " + strings.TrimSuffix(e.Ident.String(), "."))
	}
	var notes []string
	if e.Status != 0 {
		notes = append(notes, fmt.Sprintf("status %d", e.Status))
	}
	if e.Type != "" {
		notes = append(notes, e.Type)
	}
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d attempts", e.Attempts))
	}
	if e.RequestID != "" {
		notes = append(notes, "request "+e.RequestID)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if len(notes) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(notes, ", "))
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// UnsupportedError names an ability that a table needs and lakescan lacks. It is an ErrUnsupported.
type UnsupportedError struct {
	Ability string // "ORC data files"
	Where   string // the file, table or column that needs it
	Hint    string // a way out, if there is one
}

func (e *UnsupportedError) Error() string {
	s := ErrUnsupported.Error() + ": " + e.Ability
	if e.Where != "" {
		s += " (" + e.Where + ")"
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is makes every UnsupportedError an ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// InvalidError names the file, and the place in it, that breaks a rule we depend on. It is an ErrInvalidMetadata.
type InvalidError struct {
	File string
	What string
	Err  error // the cause, if another package found it
}

func (e *InvalidError) Error() string {
	s := ErrInvalidMetadata.Error()
	if e.File != "" {
		s += ": " + e.File
	}
	s += ": " + e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every InvalidError an ErrInvalidMetadata.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalidMetadata }

func (e *InvalidError) Unwrap() error { return e.Err }

// Invalidf makes an InvalidError; file may be empty.
func Invalidf(file, format string, args ...any) error {
	return &InvalidError{File: file, What: fmt.Sprintf(format, args...)}
}
