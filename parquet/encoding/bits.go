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
	filled bool // a run's byte may be all ones
}

// Init starts reading b, which is kept.
func (r *Bits) Init(b []byte) { *r = Bits{rest: b} }

// InitBooleans is Init for values: a run of true may have all bits of its byte set, as parquet-go writes it, not only the
// lowest as the format has it.
func (r *Bits) InitBooleans(b []byte) { *r = Bits{rest: b, filled: true} }

// InitPlain starts reading n bits that are packed without any run header, least significant first.
func (r *Bits) InitPlain(b []byte, n int) error {
	if len(b) < (n+7)/8 {
		return errShort
	}
	*r = Bits{packed: b, run: n}
	return nil
}

func (r *Bits) next() error {
	if len(r.rest) == 0 {
		return errShort
	}
	header, k := uint64(r.rest[0]), 1
	if header >= 0x80 {
		if header, k = binary.Uvarint(r.rest); k <= 0 {
			return errVarint
		}
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
		if r.rest[0] > 1 && !(r.filled && r.rest[0] == 0xff) {
			return errLevel
		}
		r.one, r.packed, r.run = r.rest[0] != 0, nil, int(min(n, 1<<40))
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

// Append puts the next n bits at bit pos of dst, which is zero from there on, and returns the number of ones. dst must
// hold whole words of 8 bytes up to the last bit.
func (r *Bits) Append(dst []byte, pos, n int) (ones int, err error) {
	if n == 0 {
		return 0, nil
	}
	// Bits are collected in a word and stored when it is full.
	at, fill := pos>>6*8, uint(pos&63)
	word := binary.LittleEndian.Uint64(dst[at:])
	ones = -bits.OnesCount64(word)
	for n > 0 {
		if r.run == 0 {
			if err := r.next(); err != nil {
				return 0, err
			}
		}
		k := uint(min(n, r.run, 64))
		var x uint64
		switch {
		case r.packed != nil:
			if x, k = r.load(k); k == 0 {
				return 0, errShort
			}
		case r.one:
			x = ^uint64(0) >> (64 - k)
		}
		r.run -= int(k)
		n -= int(k)
		word |= x << fill
		if fill += k; fill >= 64 {
			binary.LittleEndian.PutUint64(dst[at:], word)
			ones += bits.OnesCount64(word)
			at += 8
			fill -= 64
			word = x >> (k - fill) // the bits that did not fit; none if fill is 0
			if fill == 0 {
				word = 0
			}
		}
	}
	if fill > 0 {
		binary.LittleEndian.PutUint64(dst[at:], word)
		ones += bits.OnesCount64(word)
	}
	return ones, nil
}

// load takes up to k packed bits, at least one if there is one.
func (r *Bits) load(k uint) (x uint64, n uint) {
	p, sh := r.packed[r.from>>3:], uint(r.from&7)
	if len(p) >= 8 {
		x = binary.LittleEndian.Uint64(p) >> sh
		k = min(k, 64-sh)
	} else {
		for i, b := range p {
			x |= uint64(b) << (8 * i)
		}
		x >>= sh
		k = min(k, uint(len(p))*8-sh)
	}
	r.from += int(k)
	return x & (1<<k - 1), k
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
