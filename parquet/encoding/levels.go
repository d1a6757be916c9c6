package encoding

import "encoding/binary"

// levelUnpacker spreads eight packed levels of one width over the bytes of a word, by halves: two halves of four levels each
// go to the ends of the word's halves, then pairs, then single levels.
type levelUnpacker struct {
	width                  int
	shift4, shift2, shift1 uint
	low4, low2, low1       uint64 // the lower half of each field, which stays
	over                   uint64 // added to a byte, sets its high bit if it is above the maximum
}

func newLevelUnpacker(width int, maximum uint8) levelUnpacker {
	field := func(bits int) uint64 { return 1<<bits - 1 }
	return levelUnpacker{
		width:  width,
		shift4: uint(32 - 4*width), shift2: uint(16 - 2*width), shift1: uint(8 - width),
		low4: field(4 * width),
		low2: field(2*width) * 0x0000000100000001,
		low1: field(width) * 0x0001000100010001,
		over: uint64(127-maximum) * 0x0101010101010101,
	}
}

// unpack fills dst, of a multiple of eight levels, from whole groups of width bytes, and reports false if a level is above
// the maximum. Widths are 1 to 7.
func (u *levelUnpacker) unpack(dst, src []byte) bool {
	bad := uint64(0)
	for len(dst) >= 8 {
		var x uint64
		if len(src) >= 8 {
			x = binary.LittleEndian.Uint64(src) & (1<<(8*u.width) - 1)
		} else {
			for i, b := range src[:u.width] {
				x |= uint64(b) << (8 * i)
			}
		}
		x = x&u.low4 | x&^u.low4<<u.shift4
		x = x&u.low2 | x&^u.low2<<u.shift2
		x = x&u.low1 | x&^u.low1<<u.shift1
		bad |= x + u.over
		binary.LittleEndian.PutUint64(dst, x)
		dst, src = dst[8:], src[u.width:]
	}
	return bad&0x8080808080808080 == 0
}
