//go:build purego || !(amd64 || arm64)

package encoding

func fill(dst, value []byte) { fillSafe(dst, value) }

func gather(dst, dict []byte, idx []uint32, width int) bool { return gatherSafe(dst, dict, idx, width) }

func join(dst, b []byte, stride, n, width int) { joinSafe(dst, b, stride, n, width) }

// Spread: see spreadSafe.
func Spread(out, bitmap []byte, pos, n, valid, width int) {
	spreadSafe(out, bitmap, pos, n, valid, width)
}

// Strings: see stringsSafe.
func Strings(dst []byte, ends []int32, base int, e *Entries, idx []uint32) (int, bool) {
	return stringsSafe(dst, ends, base, e, idx)
}

// Plain: see plainSafe.
func Plain(dst []byte, ends []int32, base int, b []byte) (read, wrote int, ok bool) {
	return plainSafe(dst, ends, base, b)
}

// Widen: see widenSafe.
func Widen(dst, src []byte, n, from, to int, signed bool) { widenSafe(dst, src, n, from, to, signed) }
