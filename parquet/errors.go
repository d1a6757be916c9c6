package parquet

import (
	"errors"
	"fmt"
	"strings"
)

// Classes of failure, for errors.Is.
var (
	ErrCorrupt     = errors.New("parquet: corrupt")
	ErrUnsupported = errors.New("parquet: unsupported")
	ErrTooLarge    = errors.New("parquet: larger than the budget")
)

// CorruptError is ErrCorrupt with its place. RowGroup and Page are -1, Column is "" and Offset -1 where they do not apply.
// The name of the file is added by whoever opened it.
type CorruptError struct {
	RowGroup int
	Column   string
	Page     int
	Offset   int64
	Reason   string
	Err      error  // cause, may be nil
	Stack    []byte // of a panic that was caught, else nil
}

func (e *CorruptError) Error() string {
	var b strings.Builder
	b.WriteString("parquet: corrupt")
	place(&b, e.RowGroup, e.Column, e.Page, e.Offset)
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Is makes it ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap gives the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// UnsupportedError is ErrUnsupported: Ability names what is missing.
type UnsupportedError struct {
	Ability  string
	RowGroup int
	Column   string
}

func (e *UnsupportedError) Error() string {
	var b strings.Builder
	b.WriteString("parquet: unsupported: " + e.Ability)
	place(&b, e.RowGroup, e.Column, -1, -1)
	return b.String()
}

// Is makes it ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// TooLargeError is ErrTooLarge: Need bytes at once, where Budget is the most allowed.
type TooLargeError struct {
	Need, Budget int64
	What         string
	RowGroup     int
	Column       string
}

func (e *TooLargeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "parquet: larger than the budget: %s needs %d bytes of %d", e.What, e.Need, e.Budget)
	place(&b, e.RowGroup, e.Column, -1, -1)
	return b.String()
}

// Is makes it ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

func place(b *strings.Builder, rg int, column string, page int, off int64) {
	if rg >= 0 {
		fmt.Fprintf(b, ": row group %d", rg)
	}
	if column != "" {
		fmt.Fprintf(b, ": column %s", column)
	}
	if page >= 0 {
		fmt.Fprintf(b, ": page %d", page)
	}
	if off >= 0 {
		fmt.Fprintf(b, ": offset %d", off)
	}
}

func corruptFooter(reason string, err error) error {
	return &CorruptError{RowGroup: -1, Page: -1, Offset: -1, Reason: reason, Err: err}
}
