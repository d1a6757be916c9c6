package nested

import (
	"encoding/binary"
	"math/bits"

	"github.com/lakescan/lakescan/parquet/thrift"
)

const repeated = thrift.Repeated

// Levels of one leaf for whole rows: one entry each. Rep is nil for a leaf outside any list.
type Levels struct{ Rep, Def []uint8 }

// ge is 1 if a >= b, for levels (below 128).
func ge(a, b uint8) int { return int((uint32(a) + 256 - uint32(b)) >> 8) }

// PackSlots writes a bit for each entry that has a slot (def >= slot): is it a value (def >= value)? It returns the number
// of slots and of ones. dst must have room for a bit an entry, rounded up to 8 bytes.
func PackSlots(dst []byte, def []uint8, slot, value uint8) (slots, ones int) {
	if slot == 0 {
		return len(def), packGE(dst, def, value)
	}
	var acc uint64
	k, at := 0, 0
	for _, d := range def {
		acc |= uint64(ge(d, value)) << k
		k += ge(d, slot)
		if k == 64 {
			binary.LittleEndian.PutUint64(dst[at:], acc)
			ones += bits.OnesCount64(acc)
			acc, k, at = 0, 0, at+8
		}
	}
	ones += flush(dst[at:], acc, k)
	return at*8 + k, ones
}

// flush writes the last k bits.
func flush(dst []byte, acc uint64, k int) (ones int) {
	for i := 0; i < (k+7)/8; i++ {
		dst[i] = byte(acc >> (8 * i))
	}
	return bits.OnesCount64(acc)
}

// packGE writes a bit an entry: def >= value. Eight levels at a time: adding 128-value sets the high bit of those that reach
// it, and a multiplication gathers the high bits.
func packGE(dst []byte, def []uint8, value uint8) (ones int) {
	bias := uint64(128-value) * 0x0101010101010101
	i := 0
	for ; i+8 <= len(def); i += 8 {
		x := binary.LittleEndian.Uint64(def[i:]) + bias
		m := byte(x >> 7 & 0x0101010101010101 * 0x0102040810204080 >> 56)
		dst[i/8] = m
		ones += bits.OnesCount8(m)
	}
	var acc uint64
	for k := i; k < len(def); k++ {
		acc |= uint64(ge(def[k], value)) << (k - i)
	}
	return ones + flush(dst[i/8:], acc, len(def)-i)
}

// validity writes the bits of a node whose slots have repetition level rep: of n slots, which are present? It returns the
// ones, and false if there are not n slots.
func validity(dst []byte, l Levels, rep, slot, def uint8, n int) (ones int, ok bool) {
	if l.Rep == nil && slot == 0 {
		if len(l.Def) != n {
			return 0, false
		}
		return packGE(dst, l.Def, def), true
	}
	var acc uint64
	k, at := 0, 0
	for i, d := range l.Def {
		in := ge(d, slot)
		if l.Rep != nil {
			in &= ge(rep, l.Rep[i])
		}
		acc |= uint64(ge(d, def)&in) << k
		k += in
		if k == 64 {
			if at*8+64 > n {
				return 0, false
			}
			binary.LittleEndian.PutUint64(dst[at:], acc)
			ones += bits.OnesCount64(acc)
			acc, k, at = 0, 0, at+8
		}
	}
	if at*8+k != n {
		return 0, false
	}
	return ones + flush(dst[at:], acc, k), true
}

// offsets fills off with the starts of n lists (n+1 numbers), counting their elements. ok is false if there are not n lists.
func offsets(off []int32, l Levels, rep, slot, entry uint8) (ok bool) {
	n := len(off) - 1
	s, e := 0, int32(0)
	if rep == 1 && slot == 0 {
		for i, d := range l.Def {
			off[s] = e
			r := l.Rep[i]
			if s += 1 - ge(r, 1); s > n {
				return false
			}
			// An entry deeper than this list's own level is part of an element already counted.
			e += int32(ge(d, entry) & ge(1, r))
		}
		off[n] = e
		return s == n
	}
	for i, d := range l.Def {
		off[s] = e
		r := l.Rep[i]
		if s += ge(rep-1, r) & ge(d, slot); s > n {
			return false
		}
		e += int32(ge(d, entry) & ge(rep, r))
	}
	off[n] = e
	return s == n
}
