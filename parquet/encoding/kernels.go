package encoding

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The functions of this file are safe on any input; each is the twin of a kernel in kernels_unsafe.go, which must do the
// same.

// fillSafe repeats value over dst, whose length is a multiple of it.
func fillSafe(dst, value []byte) {
	if len(dst) == 0 {
		return
	}
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// gatherSafe copies entries of width bytes; false if an index lies beyond dict.
func gatherSafe(dst, dict []byte, idx []uint32, width int) bool {
	entries := uint(len(dict) / width)
	for i, v := range idx {
		if uint(v) >= entries {
			return false
		}
		copy(dst[i*width:(i+1)*width], dict[int(v)*width:])
	}
	return true
}

// joinSafe gathers n values of width bytes from as many streams, each stride bytes apart, the first at b[0].
func joinSafe(dst, b []byte, stride, n, width int) {
	for k := range width {
		s := b[k*stride:]
		for i := range n {
			dst[i*width+k] = s[i]
		}
	}
}

// spreadSafe moves the first valid values of out to the places of the ones among n bits of bitmap, from bit pos on. Places
// without a one keep some value of the column or zero.
func spreadSafe(out, bitmap []byte, pos, n, valid, width int) {
	clear(out[valid*width : n*width])
	j := valid - 1
	for i := n - 1; i > j && j >= 0; i-- {
		p := pos + i
		if bitmap[p>>3]>>(p&7)&1 != 0 {
			copy(out[i*width:(i+1)*width], out[j*width:(j+1)*width])
			j--
		}
	}
}

// widenSafe extends n little-endian integers of from bytes to to bytes, by their sign or by zeros.
func widenSafe(dst, src []byte, n, from, to int, signed bool) {
	for i := range n {
		s, d := src[i*from:(i+1)*from], dst[i*to:(i+1)*to]
		copy(d, s)
		var x byte
		if signed && s[from-1]&0x80 != 0 {
			x = 0xff
		}
		for k := from; k < to; k++ {
			d[k] = x
		}
	}
}

// Entries is a dictionary of byte strings: entry v is Raw[Starts[v]+Gap : Starts[v+1]]. Starts has one number more than
// there are entries, rises by Gap at least, and ends within Raw.
type Entries struct {
	Raw    []byte
	Starts []uint32
	Gap    uint32 // bytes of a length prefix before each entry
	MaxLen int
}

// Len is the number of entries.
func (e *Entries) Len() int { return max(len(e.Starts)-1, 0) }

// Size of entry v.
func (e *Entries) Size(v uint32) int { return int(e.Starts[v+1] - e.Starts[v] - e.Gap) }

// Entry v.
func (e *Entries) Entry(v uint32) []byte { return e.Raw[e.Starts[v]+e.Gap : e.Starts[v+1]] }

// stringsSafe copies entries behind each other. ends[i] becomes the end of value i in dst, counted from base; dst has room
// for len(idx) times MaxLen. It returns the bytes written, and false if an index lies beyond the dictionary.
func stringsSafe(dst []byte, ends []int32, base int, e *Entries, idx []uint32) (int, bool) {
	p := 0
	for i, v := range idx {
		if int(v) >= e.Len() {
			return p, false
		}
		p += copy(dst[p:], e.Entry(v))
		ends[i] = int32(base + p)
	}
	return p, true
}

// plainSafe copies length-prefixed byte strings behind each other: as many as ends has room for. It returns the bytes
// read and written, and false if a length lies beyond b or the values beyond dst, which has room for those of a sound page:
// len(b) less four bytes a value.
func plainSafe(dst []byte, ends []int32, base int, b []byte) (read, wrote int, ok bool) {
	q, p := 0, 0
	for i := range ends {
		if len(b)-q < 4 {
			return q, p, false
		}
		k := int(binary.LittleEndian.Uint32(b[q:]))
		q += 4
		if k > len(b)-q || k > len(dst)-p {
			return q, p, false
		}
		p += copy(dst[p:], b[q:q+k])
		q += k
		ends[i] = int32(base + p)
	}
	return q, p, true
}

// SpreadEnds turns the ends of dense values into those of all n rows: a row whose bit is zero ends where the one before
// does. ends[:valid] are dense; base is the end before the first row.
func SpreadEnds(ends []int32, base int32, bitmap []byte, pos, n, valid int) {
	j := valid - 1
	for i := n - 1; i >= 0; i-- {
		if j >= 0 {
			ends[i] = ends[j]
		} else {
			ends[i] = base
		}
		p := pos + i
		j -= int(bitmap[p>>3] >> (p & 7) & 1)
	}
}

// NextOne is the first one of b at or after bit pos and before bit end; end if there is none.
func NextOne(b []byte, pos, end int) int {
	for pos < end {
		if x := b[pos>>3] >> (pos & 7); x != 0 {
			return min(pos+bits.TrailingZeros8(x), end)
		}
		pos = pos&^7 + 8
	}
	return end
}

// Below reports whether every index is below n.
func Below(idx []uint32, n int) bool {
	var top uint32
	for _, v := range idx {
		top = max(top, v)
	}
	return len(idx) == 0 || int64(top) < int64(n)
}

// The same numbers, read as unsigned: same size and alignment.
func asUint64(s []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func asUint32(s []int32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
