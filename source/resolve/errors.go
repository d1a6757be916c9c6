package resolve

import (
	"errors"
	"fmt"
	"strings"
)

// Classes of errors.
var (
	// ErrInvalid says that file and table contradict each other, or that the name mapping is not one.
	ErrInvalid = errors.New("resolve: file does not fit the table")
	// ErrNoIDs says that the file has no field ids and the table no name mapping. It is an ErrInvalid too.
	ErrNoIDs = fmt.Errorf("%w: no field ids and no name mapping", ErrInvalid)
)

// Error names the file, the wanted field and its id (0 = none).
type Error struct {
	File   string
	Field  []string
	ID     int
	Reason string
	Err    error // ErrInvalid or ErrNoIDs
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("resolve")
	if len(e.Field) > 0 {
		fmt.Fprintf(&b, ": column %q", strings.Join(e.Field, "."))
		if e.ID != 0 {
			fmt.Fprintf(&b, " (id %d)", e.ID)
		}
	}
	if e.File != "" {
		fmt.Fprintf(&b, " of %s", e.File)
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }
