package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrCorrupt says that the bytes are no DEFLATE stream; a stream that is cut off is io.ErrUnexpectedEOF.
var ErrCorrupt = errors.New("inflate: corrupt stream")

// ErrTooLong says that a stream unpacks to more than the limit.
var ErrTooLong = errors.New("inflate: stream is too long")

// longest is what one symbol appends at most; slack is the room that the loop wants before a symbol, as matches are copied in
// words that may reach beyond their end.
const (
	longest = 258
	slack   = longest + 8
)

// Decoder of streams.
type Decoder struct {
	litlen [litlenSize]entry
	dist   [distSize]entry
	lens   [maxLitlen + maxDist]uint8
	fixed  bool // the tables are those of fixed blocks

	in    []byte
	pos   int
	bits  uint64 // not yet consumed, the next one lowest
	n     uint   // how many there are
	over  int    // bytes of zeros put after the input's end
	out   []byte // as long as its memory; the first o bytes are valid
	o     int
	limit int
}

// Append unpacks src into the memory of dst from its start, as append(dst[:0], …) would, and grows it as needed: in proportion
// to what has been unpacked, and to no more than limit bytes (ErrTooLong) and slack. Bytes after the stream's end are ignored.
func (d *Decoder) Append(dst, src []byte, limit int) ([]byte, error) {
	d.in, d.pos, d.bits, d.n, d.over = src, 0, 0, 0, 0
	d.out, d.o, d.limit = dst[:cap(dst)], 0, limit
	err := d.stream()
	out := d.out[:d.o]
	d.in, d.out = nil, nil
	if err == nil && len(out) > limit {
		err = ErrTooLong
	}
	return out, err
}

func (d *Decoder) stream() error {
	for {
		d.refill()
		last, kind := d.take(1), d.take(2)
		var err error
		switch kind {
		case 0:
			err = d.stored()
		case 1:
			d.fixedTables()
			err = d.block()
		case 2:
			if err = d.dynamicTables(); err == nil {
				err = d.block()
			}
		default:
			err = ErrCorrupt
		}
		if d.cut() {
			return io.ErrUnexpectedEOF
		}
		if err != nil || last == 1 {
			return err
		}
	}
}

// refill makes at least 56 bits available; after the end of the input they are zeros.
func (d *Decoder) refill() {
	if d.pos+8 <= len(d.in) {
		d.bits |= binary.LittleEndian.Uint64(d.in[d.pos:]) << (d.n & 63)
		d.pos += int((63 - d.n) >> 3)
		d.n |= 56
		return
	}
	for d.n < 56 {
		if d.pos < len(d.in) {
			d.bits |= uint64(d.in[d.pos]) << (d.n & 63)
			d.pos++
		} else {
			d.over++
		}
		d.n += 8
	}
}

// cut reports that more bits have been consumed than there were.
func (d *Decoder) cut() bool { return d.over > int(d.n>>3) }

// take consumes bits, of which there must be as many.
func (d *Decoder) take(n uint) int {
	v := int(d.bits & (1<<n - 1))
	d.bits >>= n & 63
	d.n -= n
	return v
}

// stored copies a block that is not packed.
func (d *Decoder) stored() error {
	d.take(d.n & 7)
	d.refill()
	n := d.take(16)
	if d.take(16) != n^0xffff {
		return ErrCorrupt
	}
	if d.cut() {
		return io.ErrUnexpectedEOF
	}
	d.pos -= int(d.n>>3) - d.over // give back whole bytes
	d.bits, d.n, d.over = 0, 0, 0
	if n > len(d.in)-d.pos {
		return io.ErrUnexpectedEOF
	}
	if err := d.room(n); err != nil {
		return err
	}
	d.o += copy(d.out[d.o:], d.in[d.pos:d.pos+n])
	d.pos += n
	return nil
}

// room makes the output n bytes longer at least than what is valid.
func (d *Decoder) room(n int) error {
	if d.o > d.limit {
		return ErrTooLong
	}
	if len(d.out)-d.o >= n {
		return nil
	}
	grown := make([]byte, min(max(4*len(d.in), 2*len(d.out)), d.limit+slack)+n)
	copy(grown, d.out[:d.o])
	d.out = grown
	return nil
}

// block unpacks the symbols of one block. The bits are kept in locals meanwhile; each round begins with a refill, which is
// enough for three literals, or for a length and a distance with their extra bits: 48, and 44 if the length's code is short, which a
// literal before it leaves.
func (d *Decoder) block() error {
	in, pos, bits, n := d.in, d.pos, d.bits, d.n
	out, o := d.out, d.o
	litlen, dist := &d.litlen, &d.dist
	for {
		if pos+8 <= len(in) {
			bits |= binary.LittleEndian.Uint64(in[pos:]) << (n & 63)
			pos += int((63 - n) >> 3)
			n |= 56
		} else {
			d.pos, d.bits, d.n = pos, bits, n
			if d.cut() {
				return io.ErrUnexpectedEOF
			}
			d.refill()
			pos, bits, n = d.pos, d.bits, d.n
		}
		if len(out)-o < slack+2 {
			d.o = o
			if err := d.room(slack + 2); err != nil {
				return err
			}
			out = d.out
		}
		e := litlen[bits&(1<<litlenBits-1)]
		if e.literal() {
			bits >>= e.length()
			n -= e.length()
			out[o] = e.value8()
			o++
			if e = litlen[bits&(1<<litlenBits-1)]; e.literal() {
				bits >>= e.length()
				n -= e.length()
				out[o] = e.value8()
				o++
				if e = litlen[bits&(1<<litlenBits-1)]; e.literal() {
					bits >>= e.length()
					n -= e.length()
					out[o] = e.value8()
					o++
				}
				continue
			}
			if n < 48 && e.special() { // a long code may need more
				continue
			}
		}
		if e.special() {
			if e.subtable() {
				bits >>= litlenBits
				n -= litlenBits
				e = litlen[(e.value()+int(bits&(1<<e.extra()-1)))&(litlenSize-1)]
			}
			bits >>= e.length()
			n -= e.length()
			if e.literal() {
				out[o] = e.value8()
				o++
				continue
			}
			if e.special() {
				d.pos, d.bits, d.n, d.o = pos, bits, n, o
				if e.end() {
					return nil
				}
				return ErrCorrupt
			}
		} else {
			bits >>= e.length()
			n -= e.length()
		}
		length := e.value() + int(bits&(1<<e.extra()-1))
		bits >>= e.extra()
		n -= e.extra()

		f := dist[bits&(1<<distBits-1)]
		if f.subtable() {
			bits >>= distBits
			n -= distBits
			f = dist[(f.value()+int(bits&(1<<f.extra()-1)))&(distSize-1)]
		}
		if f.special() {
			d.pos, d.bits, d.n, d.o = pos, bits, n, o
			return ErrCorrupt
		}
		bits >>= f.length()
		n -= f.length()
		back := f.value() + int(bits&(1<<f.extra()-1))
		bits >>= f.extra()
		n -= f.extra()
		if back > o {
			d.pos, d.bits, d.n, d.o = pos, bits, n, o
			return ErrCorrupt
		}
		if to := out[o:]; length <= 16 && back >= 8 {
			from := out[o-back:]
			binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
			binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		} else {
			for done := 0; done < length; { // what has been copied doubles the period
				done += copy(to[done:length], out[o-back:o+done])
			}
		}
		o += length
	}
}
