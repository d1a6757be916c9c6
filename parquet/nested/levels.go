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

// Eight levels at a time, as the bytes of a word: adding 128-value sets the high bit of the bytes that reach the value, and a
// multiplication gathers the high bits into one byte, lowest level first.
const (
	ones8 = 0x0101010101010101
	fold8 = 0x0102040810204080
)

// maskGE has a bit for each level of the word that is at least value.
func maskGE(word uint64, value uint8) uint8 {
	return uint8((word + uint64(128-value)*ones8) >> 7 & ones8 * fold8 >> 56)
}

// squeeze4[m][v] holds the bits of v at the ones of m, close together.
var squeeze4 = func() (t [16][16]uint8) {
	for m := range uint8(16) {
		for v := range uint8(16) {
			k := 0
			for b := range 4 {
				if m>>b&1 == 1 {
					t[m][v] |= v >> b & 1 << k
					k++
				}
			}
		}
	}
	return t
}()

// squeeze takes the bits of v at the ones of m.
func squeeze(v, m uint8) uint64 {
	return uint64(squeeze4[m&15][v&15]) | uint64(squeeze4[m>>4][v>>4])<<bits.OnesCount8(m&15)
}

// packer writes bits one behind the other.
type packer struct {
	dst  []byte
	acc  uint64
	k    int // bits in acc, below 64
	ones int
}

// add appends the low n bits of v (n <= 8), which has no others.
func (p *packer) add(v uint64, n int) {
	p.acc |= v << p.k
	p.k += n
	if p.k >= 64 {
		binary.LittleEndian.PutUint64(p.dst, p.acc)
		p.ones += bits.OnesCount64(p.acc)
		p.dst = p.dst[8:]
		p.k -= 64
		p.acc = v >> (n - p.k)
	}
}

// flush writes the last bits.
func (p *packer) flush() {
	for i := 0; i < (p.k+7)/8; i++ {
		p.dst[i] = byte(p.acc >> (8 * i))
	}
	p.ones += bits.OnesCount64(p.acc)
}

// PackSlots writes a bit for each entry that has a slot (def >= slot): is it a value (def >= value)? It returns the number
// of slots and of ones. dst must have room for a bit an entry, rounded up to 8 bytes, and 8 bytes more.
func PackSlots(dst []byte, def []uint8, slot, value uint8) (slots, ones int) {
	if slot == 0 {
		return len(def), packGE(dst, def, value)
	}
	p := packer{dst: dst}
	i := 0
	for ; i+8 <= len(def); i += 8 {
		w := binary.LittleEndian.Uint64(def[i:])
		m, n := maskGE(w, slot), 8
		v := uint64(maskGE(w, value))
		if m != 0xff {
			v, n = squeeze(uint8(v), m), bits.OnesCount8(m)
		}
		slots += n
		p.add(v, n)
	}
	for ; i < len(def); i++ {
		if def[i] >= slot {
			slots++
			p.add(uint64(ge(def[i], value)), 1)
		}
	}
	p.flush()
	return slots, p.ones
}

// packGE writes a bit an entry: def >= value.
func packGE(dst []byte, def []uint8, value uint8) (ones int) {
	i := 0
	for ; i+8 <= len(def); i += 8 {
		m := maskGE(binary.LittleEndian.Uint64(def[i:]), value)
		dst[i/8] = m
		ones += bits.OnesCount8(m)
	}
	if i < len(def) {
		m := uint8(0)
		for k := i; k < len(def); k++ {
			m |= uint8(ge(def[k], value)) << (k - i)
		}
		dst[i/8] = m
		ones += bits.OnesCount8(m)
	}
	return ones
}

// CountRows returns how many of the entries belong to the next n rows, and how many rows begin among them: it ends before
// the entry that begins one more.
func CountRows(rep []uint8, n int) (entries, begun int) {
	i := 0
	for ; i+8 <= len(rep); i += 8 {
		k := 8 - bits.OnesCount8(maskGE(binary.LittleEndian.Uint64(rep[i:]), 1))
		if begun+k > n {
			break
		}
		begun += k
	}
	for ; i < len(rep); i++ {
		if rep[i] == 0 {
			if begun == n {
				return i, begun
			}
			begun++
		}
	}
	return i, begun
}

// validity writes the bits of a node whose slots have repetition level rep: of n slots, which are present? It returns the
// ones, and false if there are not n slots. dst has room for n bits, rounded up to 8 bytes and 8 more.
func validity(dst []byte, l Levels, rep, slot, def uint8, n int) (ones int, ok bool) {
	if l.Rep == nil && slot == 0 {
		if len(l.Def) != n {
			return 0, false
		}
		return packGE(dst, l.Def, def), true
	}
	p := packer{dst: dst}
	slots, i := 0, 0
	for ; i+8 <= len(l.Def); i += 8 {
		w := binary.LittleEndian.Uint64(l.Def[i:])
		m := maskGE(w, slot)
		if l.Rep != nil {
			m &^= maskGE(binary.LittleEndian.Uint64(l.Rep[i:]), rep+1)
		}
		k := bits.OnesCount8(m)
		if slots += k; slots > n {
			return 0, false
		}
		p.add(squeeze(maskGE(w, def), m), k)
	}
	for ; i < len(l.Def); i++ {
		if l.Def[i] < slot || l.Rep != nil && l.Rep[i] > rep {
			continue
		}
		if slots++; slots > n {
			return 0, false
		}
		p.add(uint64(ge(l.Def[i], def)), 1)
	}
	if slots != n {
		return 0, false
	}
	p.flush()
	return p.ones, true
}

// offsets fills off with the starts of n lists (n+1 numbers), counting their elements. ok is false if there are not n lists.
func offsets(off []int32, l Levels, rep, slot, entry uint8) (ok bool) {
	n := len(off) - 1
	s, e, i := 0, int32(0), 0
	for ; i+8 <= len(l.Def); i += 8 {
		w, r := binary.LittleEndian.Uint64(l.Def[i:]), binary.LittleEndian.Uint64(l.Rep[i:])
		begins := uint(maskGE(w, slot) &^ maskGE(r, rep))
		elements := uint(maskGE(w, entry) &^ maskGE(r, rep+1))
		if s+bits.OnesCount8(uint8(begins)) > n {
			return false
		}
		if s+8 > n {
			for k := range 8 {
				off[s] = e
				s += int(begins >> k & 1)
				e += int32(elements >> k & 1)
			}
			continue
		}
		s += starts((*[8]int32)(off[s:]), begins, elements, e)
		e += int32(bits.OnesCount8(uint8(elements)))
	}
	for ; i < len(l.Def); i++ {
		d, r := l.Def[i], l.Rep[i]
		if r < rep && d >= slot {
			if s == n {
				return false
			}
			off[s] = e
			s++
		}
		if r <= rep && d >= entry {
			e++
		}
	}
	off[n] = e
	return s == n
}

// starts writes where the lists begin that eight entries begin, and returns how many do. Every entry writes where the next
// start belongs, so there is no branch; those that begin none are written over.
func starts(off *[8]int32, begins, elements uint, e int32) int {
	j := uint(0)
	off[j&7] = e
	j, e = j+begins&1, e+int32(elements&1)
	off[j&7] = e
	j, e = j+begins>>1&1, e+int32(elements>>1&1)
	off[j&7] = e
	j, e = j+begins>>2&1, e+int32(elements>>2&1)
	off[j&7] = e
	j, e = j+begins>>3&1, e+int32(elements>>3&1)
	off[j&7] = e
	j, e = j+begins>>4&1, e+int32(elements>>4&1)
	off[j&7] = e
	j, e = j+begins>>5&1, e+int32(elements>>5&1)
	off[j&7] = e
	j, e = j+begins>>6&1, e+int32(elements>>6&1)
	off[j&7] = e
	return int(j + begins>>7&1)
}
