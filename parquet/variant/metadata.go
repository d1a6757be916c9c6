package variant

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Classes of failure.
var (
	ErrCorrupt     = errors.New("variant: corrupt")
	ErrUnsupported = errors.New("variant: unsupported")
	ErrTooLarge    = errors.New("variant: too large for 32-bit offsets")
)

// Metadata is a dictionary of field names. It points into the bytes it was read from.
type Metadata struct {
	b      []byte
	names  [][]byte
	sorted bool
}

// ParseMetadata checks a dictionary whole.
func ParseMetadata(b []byte) (Metadata, error) {
	if len(b) < 1 || b[0]&15 != 1 {
		return Metadata{}, fmt.Errorf("%w: metadata of %d bytes and an unknown version", ErrCorrupt, len(b))
	}
	size := int(b[0]>>6) + 1
	n, ok := little(b, 1, size)
	if !ok || n > len(b)/size {
		return Metadata{}, fmt.Errorf("%w: metadata of %d bytes with %d names", ErrCorrupt, len(b), n)
	}
	base := 1 + size*(n+2)
	if base > len(b) {
		return Metadata{}, fmt.Errorf("%w: metadata of %d bytes with %d names", ErrCorrupt, len(b), n)
	}
	m := Metadata{b: b, names: make([][]byte, n), sorted: b[0]>>4&1 == 1}
	from, _ := little(b, 1+size, size)
	for i := range n {
		to, _ := little(b, 1+size*(i+2), size)
		if from > to || to > len(b)-base {
			return Metadata{}, fmt.Errorf("%w: name %d of the metadata lies at %d to %d of %d", ErrCorrupt, i, from, to, len(b)-base)
		}
		m.names[i] = b[base+from : base+to : base+to]
		from = to
	}
	if m.sorted && !slices.IsSortedFunc(m.names, bytes.Compare) {
		m.sorted = false // the claim is only a hint
	}
	return m, nil
}

// Find returns the id of a name.
func (m Metadata) Find(name []byte) (id int, ok bool) {
	if m.sorted {
		id = sort.Search(len(m.names), func(i int) bool { return bytes.Compare(m.names[i], name) >= 0 })
		return id, id < len(m.names) && bytes.Equal(m.names[id], name)
	}
	id = slices.IndexFunc(m.names, func(n []byte) bool { return bytes.Equal(n, name) })
	return id, id >= 0
}

// extend encodes the dictionary with more names at its end.
func (m Metadata) extend(more [][]byte) []byte {
	names := slices.Concat(m.names, more)
	total := 0
	for _, n := range names {
		total += len(n)
	}
	size := width(max(total, len(names)))
	head := byte(1) | byte(size-1)<<6
	if slices.IsSortedFunc(names, bytes.Compare) && len(slices.CompactFunc(slices.Clone(names), bytes.Equal)) == len(names) {
		head |= 1 << 4
	}
	out := appendLittle([]byte{head}, len(names), size)
	at := 0
	out = appendLittle(out, 0, size)
	for _, n := range names {
		at += len(n)
		out = appendLittle(out, at, size)
	}
	for _, n := range names {
		out = append(out, n...)
	}
	return out
}

// little reads an unsigned number of size bytes at b[at:]; ok is false if it does not lie in b or does not fit an int.
func little(b []byte, at, size int) (v int, ok bool) {
	if at < 0 || at > len(b)-size {
		return 0, false
	}
	u := uint64(0)
	for i := range size {
		u |= uint64(b[at+i]) << (8 * i)
	}
	return int(u), u <= 1<<32
}

func appendLittle(dst []byte, v, size int) []byte {
	for range size {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// width is the bytes that a number needs, at least one.
func width(v int) int {
	w := 1
	for v >>= 8; v > 0; v >>= 8 {
		w++
	}
	return w
}
