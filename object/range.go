package object

import (
	"fmt"
	"math"
	"strconv"
)

// Range is [Off, Off+Len). Len < 0 reads to the end; Off < 0 reads the last -Off bytes, or all there are if fewer. Len 0
// with Off >= 0 is refused, never sent: on the wire an empty range means the whole object.
type Range struct{ Off, Len int64 }

// Whole is the range of an entire object of unknown size.
var Whole = Range{Len: -1}

// Suffix is the range of the last n bytes.
func Suffix(n int64) Range { return Range{Off: -n, Len: -1} }

// Check reports a range that can mean nothing.
func (r Range) Check() error {
	switch {
	case r.Off < 0 && r.Off != math.MinInt64: // a suffix; its Len is of no account
		return nil
	case r.Len == 0:
		return fmt.Errorf("%w: length 0", ErrRange)
	case r.Off < 0 || r.Len > math.MaxInt64-r.Off:
		return fmt.Errorf("%w: not representable", ErrRange)
	}
	return nil
}

// Resolve gives the bytes [off, off+n) that r means in an object of the given size, or ErrRange.
func (r Range) Resolve(size int64) (off, n int64, err error) {
	if err := r.Check(); err != nil {
		return 0, 0, err
	}
	switch {
	case r.Off < 0:
		n = min(-r.Off, size)
		return size - n, n, nil
	case r.Len < 0 && r.Off <= size:
		return r.Off, size - r.Off, nil
	case r.Len > 0 && r.Off+r.Len <= size:
		return r.Off, r.Len, nil
	}
	return 0, 0, fmt.Errorf("%w: the object has %d bytes", ErrRange, size)
}

// Known reports whether the length of the answer is known before asking.
func (r Range) Known() bool { return r.Off >= 0 && r.Len > 0 }

// String is "off+len", "off-" to the end, "-n" for the last n.
func (r Range) String() string {
	switch {
	case r.Off < 0:
		return strconv.FormatInt(r.Off, 10)
	case r.Len < 0:
		return strconv.FormatInt(r.Off, 10) + "-"
	}
	return strconv.FormatInt(r.Off, 10) + "+" + strconv.FormatInt(r.Len, 10)
}
