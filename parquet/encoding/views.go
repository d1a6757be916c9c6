package encoding

import "encoding/binary"

// ViewWidth is the bytes of a view (Arrow's columnar format, "Variable-size Binary View Layout"): a length, then up to 12 bytes of
// the value itself, or its first four bytes, the number of a buffer, and the place in it, all in 32 bits.
const ViewWidth = 16

// Inline is the longest value that lies in the view itself.
const Inline = 12

// Views makes a view of each of len(dst)/ViewWidth PLAIN byte strings at the start of b. b begins at byte base of the buffer with
// number buffer. It returns the bytes read, and the bytes of the values that lie in the buffer; false if b ends before.
func Views(dst, b []byte, base int, buffer uint32) (read, long int, ok bool) {
	q := 0
	for ; len(dst) >= ViewWidth; dst = dst[ViewWidth:] {
		if len(b)-q < 4 {
			return q, long, false
		}
		k := int(binary.LittleEndian.Uint32(b[q:]))
		q += 4
		if k > len(b)-q {
			return q, long, false
		}
		View(dst, b[q:], k, base+q, buffer)
		if k > Inline {
			long += k
		}
		q += k
	}
	return q, long, true
}

// View writes the view of the first k bytes of b, which lie at byte at of a buffer. b may go on beyond them.
func View(dst, b []byte, k, at int, buffer uint32) {
	dst = dst[:ViewWidth]
	if len(b) < Inline { // so k is short
		clear(dst)
		binary.LittleEndian.PutUint32(dst, uint32(k))
		copy(dst[4:], b[:k])
		return
	}
	head, rest := uint64(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint64(b[4:])
	switch {
	case k > Inline:
		rest = uint64(at)<<32 | uint64(buffer)
	case k >= 4:
		rest &= 1<<(8*(k-4)) - 1 // a shift by 64 leaves nothing to mask: 0 - 1
	default:
		head &= 1<<(8*k) - 1
		rest = 0
	}
	binary.LittleEndian.PutUint64(dst, head<<32|uint64(uint32(k)))
	binary.LittleEndian.PutUint64(dst[8:], rest)
}
