package deletes

import (
	"errors"
	"fmt"
)

// Classes of errors; those of the store and of package parquet stay visible through errors.Is.
var (
	ErrCorrupt     = errors.New("deletes: corrupt")
	ErrUnsupported = errors.New("deletes: unsupported")
	ErrTooLarge    = errors.New("deletes: larger than the memory budget")
)

// Error names the delete file and, if there is one, the data file that needed it.
type Error struct {
	File     string
	Data     string
	Snapshot string // as the caller names it; "" = not said
	Err      error
}

func (e *Error) Error() string {
	s := "delete file " + e.File
	if e.Data != "" {
		s += " for " + e.Data
	}
	if e.Snapshot != "" {
		s += " (snapshot " + e.Snapshot + ")"
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// TooLargeError is an ErrTooLarge: the budget refused Need more bytes while Held were taken for deletes.
type TooLargeError struct{ Need, Held, Allowed int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v: %d bytes more are needed, %d are held for deletes and %d allowed; raise the memory limit, read less of the table at once, or compact it",
		ErrTooLarge, e.Need, e.Held, e.Allowed)
}

// Is makes it ErrTooLarge.
func (*TooLargeError) Is(target error) bool { return target == ErrTooLarge }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
