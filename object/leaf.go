package object

import (
	"fmt"
	"strings"
)

// What every leaf store does alike, and a store of your own may use.

// Opaque is an ETag without the mark W/ of a weak one. A proxy that may recode answers marks the tags of a store, or takes a mark away, in some
// answers and not in others: two tags that differ in it alone are of one version, and the size is compared as well.
func Opaque(etag string) string { return strings.TrimPrefix(etag, "W/") }

// Verify compares an answer's ETag and size with the pins; a difference is ErrChanged.
func (o ReadOptions) Verify(got Info) error {
	switch {
	case o.ETag != "" && got.ETag != "" && Opaque(o.ETag) != Opaque(got.ETag):
		return fmt.Errorf("%w: ETag %q, pinned %q", ErrChanged, got.ETag, o.ETag)
	case o.Size > 0 && got.Size >= 0 && o.Size != got.Size:
		return fmt.Errorf("%w: %d bytes, expected %d", ErrChanged, got.Size, o.Size)
	}
	return nil
}

// Admit refuses an answer of n bytes over the limit, when the caller did not state the length.
func (o ReadOptions) Admit(r Range, n int64) error {
	limit := o.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	if !r.Known() && n > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, n, limit)
	}
	return nil
}

// Buffer is dst[:n] when n fits into len(dst), else a fresh slice.
func Buffer(dst []byte, n int64) []byte {
	if int64(len(dst)) >= n {
		return dst[:n]
	}
	return make([]byte, n)
}

// CheckCondition applies the ifMatch of Writer.Create to what is there.
func CheckCondition(ifMatch string, exists bool, etag string) error {
	switch {
	case ifMatch == "":
		return nil
	case ifMatch == "*":
		if exists {
			return ErrExists
		}
		return nil
	case !exists:
		return fmt.Errorf("%w: nothing is there, expected ETag %q", ErrChanged, ifMatch)
	case etag != ifMatch:
		return fmt.Errorf("%w: ETag %q, expected %q", ErrChanged, etag, ifMatch)
	}
	return nil
}
