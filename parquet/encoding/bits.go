package encoding

import (
	"encoding/binary"
	"math/bits"
)

// SetBits sets n bits of b from bit pos on.
func SetBits(b []byte, pos, n int) {
	for ; n > 0 && pos&7 != 0; n-- {
		b[pos>>3] |= 1 << (pos & 7)
		pos++
	}
	full := b[pos>>3:][:n>>3]
	for i := range full {
		full[i] = 0xff
	}
	pos += len(full) * 8
	if n &= 7; n > 0 {
		b[pos>>3] |= 1<<n - 1
	}
}

// ClearBits clears n bits of b from bit pos on.
func ClearBits(b []byte, pos, n int) {
	for ; n > 0 && pos&7 != 0; n-- {
		b[pos>>3] &^= 1 << (pos & 7)
		pos++
	}
	clear(b[pos>>3:][:n>>3])
	pos += n &^ 7
	if n &= 7; n > 0 {
		b[pos>>3] &^= 1<<n - 1
	}
}

// CopyBits puts n bits of src, from bit from on, at bit pos of dst, whose bits from there on are zero. It returns the
// number of ones. dst and src hold all the bits named.
func CopyBits(dst []byte, pos int, src []byte, from, n int) (ones int) {
	for n > 0 && (from&7 != 0 || n < 64) {
		k := min(n, 8-from&7, 8)
		x := src[from>>3] >> (from & 7) & (1<<k - 1)
		ones += bits.OnesCount8(x)
		orByte(dst, pos, x)
		pos, from, n = pos+k, from+k, n-k
	}
	sh, o := uint(pos&7), pos>>3
	s := src[from>>3:]
	i := 0
	for ; n >= 64 && o+i+9 <= len(dst); i, n = i+8, n-64 {
		x := binary.LittleEndian.Uint64(s[i:])
		ones += bits.OnesCount64(x)
		d := dst[o+i : o+i+9]
		if sh == 0 {
			binary.LittleEndian.PutUint64(d, x)
			continue
		}
		binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(d)|x<<sh)
		d[8] = byte(x >> (64 - sh))
	}
	pos += i * 8
	for s = s[i:]; n > 0; n -= 8 {
		x := s[0]
		if n < 8 {
			x &= 1<<n - 1
		}
		ones += bits.OnesCount8(x)
		orByte(dst, pos, x)
		pos, s = pos+8, s[1:]
	}
	return ones
}

// orByte puts up to eight bits at bit pos; bits beyond the end of dst must be zero in x.
func orByte(dst []byte, pos int, x byte) {
	sh := pos & 7
	dst[pos>>3] |= x << sh
	if sh != 0 && x>>(8-sh) != 0 {
		dst[pos>>3+1] |= x >> (8 - sh)
	}
}

// CountBits counts the ones among n bits from bit pos on.
func CountBits(b []byte, pos, n int) (ones int) {
	for n > 0 && pos&7 != 0 {
		ones += int(b[pos>>3] >> (pos & 7) & 1)
		pos, n = pos+1, n-1
	}
	b = b[pos>>3:]
	for ; n >= 64; n -= 64 {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for ; n > 0; n -= 8 {
		x := b[0]
		if n < 8 {
			x &= 1<<n - 1
		}
		ones += bits.OnesCount8(x)
		b = b[1:]
	}
	return ones
}

// SpreadBits moves dense bits to the positions of the ones among n bits of valid, from bit pos on; dst is zero there.
// dense holds as many bits as there are ones.
func SpreadBits(dst, valid []byte, pos, n int, dense []byte) {
	j := 0
	for i := pos; i < pos+n; i++ {
		if valid[i>>3]>>(i&7)&1 != 0 {
			dst[i>>3] |= dense[j>>3] >> (j & 7) & 1 << (i & 7)
			j++
		}
	}
}

// Bits reads a hybrid of width 1 as bits: definition levels of a column whose only optional field is itself, or booleans.
type Bits struct {
	rest   []byte
	packed []byte
	from   int // bit of packed
	run    int
	one    bool
}

// Init starts reading b, which is kept.
func (r *Bits) Init(b []byte) { *r = Bits{rest: b} }

// InitPlain starts reading n bits that are packed without any run header, least significant first.
func (r *Bits) InitPlain(b []byte, n int) error {
	if len(b) < (n+7)/8 {
		return errShort
	}
	*r = Bits{packed: b, run: n}
	return nil
}

func (r *Bits) next() error {
	header, k := binary.Uvarint(r.rest)
	if k <= 0 {
		if len(r.rest) == 0 {
			return errShort
		}
		return errVarint
	}
	r.rest = r.rest[k:]
	n := header >> 1
	if n == 0 {
		return errRun
	}
	if len(r.rest) == 0 {
		return errShort
	}
	if header&1 == 0 {
		if r.rest[0] > 1 {
			return errLevel
		}
		r.one, r.packed, r.run = r.rest[0] == 1, nil, int(min(n, 1<<40))
		r.rest = r.rest[1:]
		return nil
	}
	n = min(n, uint64(len(r.rest)))
	r.packed, r.rest, r.from, r.run = r.rest[:n], r.rest[n:], 0, int(n)*8
	return nil
}

// Ones reports whether the next n bits are known to be ones without reading further than the current run; if so they
// are consumed.
func (r *Bits) Ones(n int) bool {
	if r.run == 0 && r.next() != nil {
		return false // the fault is still there for the next call
	}
	if r.packed != nil || !r.one || r.run < n {
		return false
	}
	r.run -= n
	return true
}

// Append puts the next n bits at bit pos of dst, which is zero from there on, and returns the number of ones.
func (r *Bits) Append(dst []byte, pos, n int) (ones int, err error) {
	for n > 0 {
		if r.run == 0 {
			if err := r.next(); err != nil {
				return ones, err
			}
		}
		k := min(n, r.run)
		switch {
		case r.packed != nil:
			ones += CopyBits(dst, pos, r.packed, r.from, k)
			r.from += k
		case r.one:
			SetBits(dst, pos, k)
			ones += k
		}
		r.run -= k
		pos, n = pos+k, n-k
	}
	return ones, nil
}

// Skip passes over n bits and returns the number of ones.
func (r *Bits) Skip(n int) (ones int, err error) {
	for n > 0 {
		if r.run == 0 {
			if err := r.next(); err != nil {
				return ones, err
			}
		}
		k := min(n, r.run)
		switch {
		case r.packed != nil:
			ones += CountBits(r.packed, r.from, k)
			r.from += k
		case r.one:
			ones += k
		}
		r.run -= k
		n -= k
	}
	return ones, nil
}
