package encoding

import "encoding/binary"

// Delta reads DELTA_BINARY_PACKED (Encodings.md, DELTA_BINARY_PACKED = 5): blocks of miniblocks of bit-packed differences
// from the value before, less the block's smallest difference. Arithmetic wraps.
type Delta struct {
	rest    []byte // from the current miniblock's unread bytes on
	widths  []byte // of the block's miniblocks that are still to come
	last    uint64
	least   uint64 // smallest difference of the block
	left    int    // values still to come, the first one included
	mini    int    // values still packed in the current miniblock
	perMini int
	perBlk  int
	group   [8]uint64 // a group of which a part is used up
	grouped int       // values left in group, at its end
	width   uint8
	first   bool // the first value is still to come
}

const maxDeltaBlock = 1 << 20

// Init reads the header of b, which is kept.
func (d *Delta) Init(b []byte) error {
	block, b, err := uvarint(b)
	if err != nil {
		return err
	}
	minis, b, err := uvarint(b)
	if err != nil {
		return err
	}
	total, b, err := uvarint(b)
	if err != nil {
		return err
	}
	first, k := binary.Varint(b)
	if k <= 0 {
		return errVarint
	}
	if block == 0 || block > maxDeltaBlock || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 || total > 1<<31-1 {
		return errDelta
	}
	*d = Delta{rest: b[k:], last: uint64(first), left: int(total), first: total > 0, perMini: int(block / minis), perBlk: int(minis)}
	return nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, nil, errVarint
	}
	return v, b[k:], nil
}

// Left is how many values are still to come.
func (d *Delta) Left() int { return d.left }

// nextMini moves to the next miniblock, of the next block if need be.
func (d *Delta) nextMini() error {
	if len(d.widths) == 0 {
		least, k := binary.Varint(d.rest)
		if k <= 0 {
			return errVarint
		}
		if len(d.rest)-k < d.perBlk {
			return errShort
		}
		d.least = uint64(least)
		d.widths, d.rest = d.rest[k:k+d.perBlk], d.rest[k+d.perBlk:]
	}
	d.width = d.widths[0]
	d.widths = d.widths[1:]
	if d.width > 64 {
		return errWidth
	}
	// Writers may leave out the padding of the very last miniblock.
	need := d.perMini * int(d.width) / 8
	if need > len(d.rest) && (min(d.left, d.perMini)*int(d.width)+7)/8 > len(d.rest) {
		return errShort
	}
	d.mini = d.perMini
	return nil
}

// packed gives the bytes of the next n values of the miniblock and moves on; n is a multiple of 8.
func (d *Delta) packed(n int) []byte {
	k := min(n*int(d.width)/8, len(d.rest))
	p := d.rest[:k]
	d.rest = d.rest[k:]
	d.mini -= n
	return p
}

// step brings n values closer: it returns how many of them come from the current miniblock in whole groups, or fills the
// group and returns 0.
func (d *Delta) step(n int) (int, error) {
	if d.mini == 0 {
		if err := d.nextMini(); err != nil {
			return 0, err
		}
	}
	if k := min(n, d.mini) &^ 7; k > 0 {
		return k, nil
	}
	unpack64(d.group[:], d.packed(8), uint(d.width))
	d.grouped = 8
	return 0, nil
}

// Int64 fills dst.
func (d *Delta) Int64(dst []int64) error {
	if len(dst) > d.left {
		return errShort
	}
	if len(dst) > 0 && d.first {
		dst[0], d.first, d.left = int64(d.last), false, d.left-1
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.grouped > 0 {
			n := min(len(dst), d.grouped)
			for i, v := range d.group[8-d.grouped:][:n] {
				d.last += v + d.least
				dst[i] = int64(d.last)
			}
			d.grouped -= n
			d.left -= n
			dst = dst[n:]
			continue
		}
		n, err := d.step(len(dst))
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		s := asUint64(dst[:n])
		unpack64(s, d.packed(n), uint(d.width))
		last, least := d.last, d.least
		for i, v := range s {
			last += v + least
			s[i] = last
		}
		d.last = last
		d.left -= n
		dst = dst[n:]
	}
	return nil
}

// Int32 fills dst; values are kept modulo 2^32.
func (d *Delta) Int32(dst []int32) error {
	if len(dst) > d.left {
		return errShort
	}
	if len(dst) > 0 && d.first {
		dst[0], d.first, d.left = int32(d.last), false, d.left-1
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.grouped > 0 {
			n := min(len(dst), d.grouped)
			for i, v := range d.group[8-d.grouped:][:n] {
				d.last += v + d.least
				dst[i] = int32(d.last)
			}
			d.grouped -= n
			d.left -= n
			dst = dst[n:]
			continue
		}
		n, err := d.step(len(dst))
		if err != nil {
			return err
		}
		switch {
		case n == 0:
			continue
		case d.width > 32: // wider than any difference of two int32 modulo 2^32, but it decodes
			n = 8
			unpack64(d.group[:], d.packed(8), uint(d.width))
			d.grouped = 8
			continue
		}
		s := asUint32(dst[:n])
		unpack32(s, d.packed(n), uint(d.width))
		last, least := uint32(d.last), uint32(d.least)
		for i, v := range s {
			last += v + least
			s[i] = last
		}
		d.last = uint64(last)
		d.left -= n
		dst = dst[n:]
	}
	return nil
}

// Skip passes over n values.
func (d *Delta) Skip(n int) error {
	var tmp [256]int64
	for n > 0 {
		k := min(n, len(tmp))
		if err := d.Int64(tmp[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// End passes over all values, cheaply, and returns what follows them.
func (d *Delta) End() ([]byte, error) {
	e := *d
	if e.first {
		e.first = false
		e.left--
	}
	e.left -= e.grouped
	for e.left > 0 {
		if e.mini == 0 {
			if err := e.nextMini(); err != nil {
				return nil, err
			}
		}
		n := e.mini
		e.packed(n)
		e.left -= n
	}
	if e.left < 0 { // the rest of a miniblock is padding
		e.left = 0
	}
	if e.mini > 0 {
		e.packed(e.mini)
	}
	return e.rest, nil
}
