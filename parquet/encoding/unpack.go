package encoding

import "github.com/parquet-go/bitpack"

// unpack32 reads len(dst) values of width bits, least significant first; len(dst) is a multiple of 8. If src is shorter
// than they need, the missing bits count as zero. The fast kernel reads up to 16 bytes beyond what it needs: within the
// capacity of src if there is so much, else from a copy.
func unpack32(dst []uint32, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	const padding = bitpack.PaddingInt32
	need := (len(dst)*int(width) + 7) / 8
	if len(src) >= need && cap(src) >= need+padding {
		bitpack.Unpack(dst, src[:need+padding], width)
		return
	}
	var tmp [batch*4 + padding]byte
	for len(dst) > 0 {
		n := min(len(dst), batch)
		k := n * int(width) / 8
		c := copy(tmp[:k], src)
		clear(tmp[c:k])
		bitpack.Unpack(dst[:n], tmp[:k+padding], width)
		dst, src = dst[n:], src[c:]
	}
}

// unpack64 is unpack32 for widths up to 64; its kernel reads up to 32 bytes beyond.
func unpack64(dst []uint64, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	const padding = bitpack.PaddingInt64
	need := (len(dst)*int(width) + 7) / 8
	if len(src) >= need && cap(src) >= need+padding {
		bitpack.Unpack(dst, src[:need+padding], width)
		return
	}
	const piece = batch / 4
	var tmp [piece*8 + padding]byte
	for len(dst) > 0 {
		n := min(len(dst), piece)
		k := n * int(width) / 8
		c := copy(tmp[:k], src)
		clear(tmp[c:k])
		bitpack.Unpack(dst[:n], tmp[:k+padding], width)
		dst, src = dst[n:], src[c:]
	}
}
