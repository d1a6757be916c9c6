package parquet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/variant"
)

// guard turns a panic into ErrCorrupt. None is expected: unsafe code checks its input before, so a panic is a fault of
// ours; it must not end the process that scans other files.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = &CorruptError{RowGroup: -1, Page: -1, Offset: -1, Reason: fmt.Sprintf("decoder panicked: %v", p), Stack: debug.Stack()}
	}
}

// locate gives an error its class and place.
func locate(err error, rg int, column string, c cursor) error {
	pageNumber, off := -1, int64(-1)
	if c != nil && err != nil {
		pageNumber, off = c.Place()
	}
	return locateAt(err, rg, column, pageNumber, off)
}

func locateAt(err error, rg int, column string, pageNumber int, off int64) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var large *build.TooLargeError
	var own *CorruptError
	switch {
	case errors.As(err, &own):
		own.RowGroup, own.Column, own.Page, own.Offset = rg, column, pageNumber, off
		return own
	case errors.As(err, &large):
		return &TooLargeError{Need: large.Need, Budget: large.Budget, What: large.What, RowGroup: rg, Column: column}
	case errors.Is(err, nested.ErrTooLarge), errors.Is(err, variant.ErrTooLarge):
		return &TooLargeError{Need: math.MaxInt32 + 1, Budget: math.MaxInt32, What: "a batch of nested values", RowGroup: rg, Column: column}
	case errors.Is(err, build.ErrUnsupported), errors.Is(err, codec.ErrUnsupported), errors.Is(err, nested.ErrUnsupported), errors.Is(err, variant.ErrUnsupported):
		return &UnsupportedError{Ability: err.Error(), RowGroup: rg, Column: column}
	case errors.Is(err, build.ErrCorrupt), errors.Is(err, codec.ErrCorrupt), errors.Is(err, page.ErrCorrupt), errors.Is(err, encoding.ErrCorrupt),
		errors.Is(err, nested.ErrCorrupt), errors.Is(err, variant.ErrCorrupt):
		return &CorruptError{RowGroup: rg, Column: column, Page: pageNumber, Offset: off, Err: err}
	}
	return fmt.Errorf("parquet: row group %d: column %s: %w", rg, column, err)
}
