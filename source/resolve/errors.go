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
	if e.File == "" {
		return "resolve: " + e.Within()
	}
	return fmt.Sprintf("resolve: %s: %s", e.File, e.Within())
}

// Within is the message for who names the file. An id that only this process knows is left out.
func (e *Error) Within() string {
	if len(e.Field) == 0 {
		return e.Reason
	}
	column := fmt.Sprintf("column %q", strings.Join(e.Field, "."))
	if e.ID != 0 && e.ID < madeUpID {
		column += fmt.Sprintf(" (id %d)", e.ID)
	}
	return column + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }
