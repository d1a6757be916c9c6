package encoding

import "encoding/binary"

// Hybrid reads the run-length and bit-packing hybrid: runs of one value, and groups of eight packed values, least
// significant bit first (Encodings.md, RLE = 3). A stream does not say how many values it holds.
type Hybrid struct {
	rest   []byte // what follows the current run
	packed []byte // of the current run, from a group's start; nil for a run of one value
	run    int    // values left in the current run
	taken  int    // values of the first group of packed that are used up, 0..7
	value  uint32
	width  uint8
}

// batch is how many indices are unpacked at once, on the stack.
const batch = 1024

// Init starts reading b at a bit width of 0..32; b is kept.
func (h *Hybrid) Init(b []byte, width uint) error {
	if width > 32 {
		return errWidth
	}
	*h = Hybrid{rest: b, width: uint8(width)}
	return nil
}

// next reads the header of a run.
func (h *Hybrid) next() error {
	if h.width == 0 { // nothing but zeros; writers may leave the runs out
		h.run, h.value, h.packed = 1<<30, 0, nil
		return nil
	}
	header, k := binary.Uvarint(h.rest)
	if k <= 0 {
		if len(h.rest) == 0 {
			return errShort
		}
		return errVarint
	}
	h.rest = h.rest[k:]
	if header&1 == 0 {
		return h.runLength(header >> 1)
	}
	groups := header >> 1
	if groups == 0 {
		return errRun
	}
	// A last group may be cut short.
	have := uint64(len(h.rest))
	n, count := groups*uint64(h.width), groups*8
	if groups > have || n > have {
		n = have
		count = n * 8 / uint64(h.width)
	}
	if count == 0 {
		return errShort
	}
	h.packed, h.rest = h.rest[:n], h.rest[n:]
	h.run, h.taken = int(count), 0
	return nil
}

func (h *Hybrid) runLength(n uint64) error {
	k := int(h.width+7) / 8
	if n == 0 {
		return errRun
	}
	if len(h.rest) < k {
		return errShort
	}
	var v uint32
	for i := range k {
		v |= uint32(h.rest[i]) << (8 * i)
	}
	if h.width < 32 && v>>h.width != 0 {
		return errWidth
	}
	h.rest = h.rest[k:]
	h.run, h.value, h.packed = int(min(n, 1<<40)), v, nil
	return nil
}

// take unpacks up to n values of the packed run into dst and returns how many: whole groups, or what is left of a group of
// which a part was used up before.
func (h *Hybrid) take(dst []uint32, n int) int {
	n = min(n, h.run)
	w := int(h.width)
	if h.taken > 0 || n < 8 {
		var group [8]uint32
		unpack32(group[:], h.packed[:min(w, len(h.packed))], uint(w))
		n = min(n, 8-h.taken)
		copy(dst[:n], group[h.taken:])
		h.advance(n)
		return n
	}
	n &^= 7
	unpack32(dst[:n], h.packed[:min(n/8*w, len(h.packed))], uint(w))
	h.advance(n)
	return n
}

func (h *Hybrid) advance(n int) {
	h.run -= n
	h.taken += n
	k := min(h.taken/8*int(h.width), len(h.packed))
	h.packed = h.packed[k:]
	h.taken &= 7
}

// Uint32 fills dst.
func (h *Hybrid) Uint32(dst []uint32) error {
	for len(dst) > 0 {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		n := min(h.run, len(dst))
		if h.packed == nil {
			s := dst[:n]
			for i := range s {
				s[i] = h.value
			}
			h.run -= n
		} else {
			n = h.take(dst, n)
		}
		dst = dst[n:]
	}
	return nil
}

// Levels fills dst with levels of at most maximum.
func (h *Hybrid) Levels(dst []uint8, maximum uint8) error {
	var idx [8]uint32
	u := newLevelUnpacker(int(h.width), min(maximum, 127))
	for len(dst) > 0 {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		n := min(h.run, len(dst))
		if h.packed == nil {
			if h.value > uint32(maximum) {
				return errLevel
			}
			s := dst[:n]
			for i := range s {
				s[i] = uint8(h.value)
			}
			h.run -= n
		} else {
			if k := h.wholeLevels(n); k > 0 {
				if !u.unpack(dst[:k], h.packed) {
					return errLevel
				}
				h.advance(k)
				dst = dst[k:]
				continue
			}
			n = h.take(idx[:], min(n, 8))
			s := dst[:n]
			for i := range s {
				v := idx[i]
				if v > uint32(maximum) {
					return errLevel
				}
				s[i] = uint8(v)
			}
		}
		dst = dst[n:]
	}
	return nil
}

// wholeLevels is how many of the next n values lie in whole groups that are all there.
func (h *Hybrid) wholeLevels(n int) int {
	if h.taken > 0 || h.width > 7 {
		return 0
	}
	return min(n, h.run, len(h.packed)/int(h.width)*8) &^ 7
}

// Skip passes over n values.
func (h *Hybrid) Skip(n int) error {
	for n > 0 {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		k := min(n, h.run)
		if h.packed == nil {
			h.run -= k
		} else {
			h.advance(k)
		}
		n -= k
	}
	return nil
}

// Gather fills dst with the values of a dictionary that the next indices name: len(dst)/width of them. dict holds entries
// of width bytes. An index beyond dict is an error.
func (h *Hybrid) Gather(dst, dict []byte, width int) error {
	var idx [batch]uint32
	entries := uint(len(dict) / width)
	for len(dst) > 0 {
		if h.run == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		n := min(h.run, len(dst)/width)
		if h.packed == nil {
			if uint(h.value) >= entries {
				return errIndex
			}
			fill(dst[:n*width], dict[int(h.value)*width:][:width])
			h.run -= n
		} else {
			n = h.take(idx[:], min(n, batch))
			if !gather(dst[:n*width], dict, idx[:n], width) {
				return errIndex
			}
		}
		dst = dst[n*width:]
	}
	return nil
}
