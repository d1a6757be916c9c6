//go:build !purego && (amd64 || arm64)

package encoding

import (
	"encoding/binary"
	"unsafe"
)

// cast reads bytes as values of a fixed size; the result has as many as fit. T holds no pointer, so no alignment is asked
// for on the machines this file is built for.
func cast[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

type pair [2]uint64

func fill(dst, value []byte) {
	switch len(value) {
	case 4:
		fillT(cast[uint32](dst), cast[uint32](value))
	case 8:
		fillT(cast[uint64](dst), cast[uint64](value))
	case 16:
		fillT(cast[pair](dst), cast[pair](value))
	default:
		fillSafe(dst, value)
	}
}

func fillT[T any](dst, value []T) {
	v := value[0]
	for i := range dst {
		dst[i] = v
	}
}

func gather(dst, dict []byte, idx []uint32, width int) bool {
	switch width {
	case 1:
		return gatherT(dst, dict, idx)
	case 2:
		return gatherT(cast[uint16](dst), cast[uint16](dict), idx)
	case 4:
		return gatherT(cast[uint32](dst), cast[uint32](dict), idx)
	case 8:
		return gatherT(cast[uint64](dst), cast[uint64](dict), idx)
	case 16:
		return gatherT(cast[pair](dst), cast[pair](dict), idx)
	}
	return gatherSafe(dst, dict, idx, width)
}

func gatherT[T any](dst, dict []T, idx []uint32) bool {
	dst = dst[:len(idx)]
	for i, v := range idx {
		if uint(v) >= uint(len(dict)) {
			return false
		}
		dst[i] = dict[v]
	}
	return true
}

func join(dst, b []byte, stride, n, width int) {
	if n == 0 {
		return
	}
	switch width {
	case 4:
		join4(cast[uint32](dst)[:n], b[:n], b[stride:][:n], b[2*stride:][:n], b[3*stride:][:n])
	case 8:
		join8(cast[uint64](dst)[:n], b, stride, n)
	default:
		joinSafe(dst, b, stride, n, width)
	}
}

func join4(dst []uint32, a, b, c, d []byte) {
	b, c, d, dst = b[:len(a)], c[:len(a)], d[:len(a)], dst[:len(a)]
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		z, w := binary.LittleEndian.Uint64(c[i:]), binary.LittleEndian.Uint64(d[i:])
		o := dst[i : i+8 : i+8]
		for k := range o {
			s := uint(k) * 8
			o[k] = uint32(x>>s)&0xff | uint32(y>>s)&0xff<<8 | uint32(z>>s)&0xff<<16 | uint32(w>>s)<<24
		}
	}
	for ; i < len(a); i++ {
		dst[i] = uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
	}
}

// join8 transposes eight values at a time: 8 x 8 bytes.
func join8(dst []uint64, b []byte, stride, n int) {
	var s [8][]byte
	for k := range s {
		s[k] = b[k*stride:][:n]
	}
	i := 0
	for ; i+8 <= n; i += 8 {
		var r [8]uint64
		for k := range r {
			r[k] = binary.LittleEndian.Uint64(s[k][i:])
		}
		transpose8(&r)
		copy(dst[i:i+8], r[:])
	}
	for ; i < n; i++ {
		var v uint64
		for k := range s {
			v |= uint64(s[k][i]) << (8 * k)
		}
		dst[i] = v
	}
}

func transpose8(r *[8]uint64) {
	const lo32, lo16, lo8 = 0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff
	for i := range 4 {
		a, b := r[i], r[i+4]
		r[i], r[i+4] = a&lo32|b<<32, a>>32|b&^lo32
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		a, b := r[i], r[i+2]
		r[i], r[i+2] = a&lo16|b&lo16<<16, a>>16&lo16|b&^lo16
	}
	for i := 0; i < 8; i += 2 {
		a, b := r[i], r[i+1]
		r[i], r[i+1] = a&lo8|b&lo8<<8, a>>8&lo8|b&^lo8
	}
}

// Spread: see spreadSafe.
func Spread(out, bitmap []byte, pos, n, valid, width int) {
	switch width {
	case 4:
		spreadT(cast[uint32](out)[:n], bitmap, pos, valid)
	case 8:
		spreadT(cast[uint64](out)[:n], bitmap, pos, valid)
	case 16:
		spreadT(cast[pair](out)[:n], bitmap, pos, valid)
	default:
		spreadSafe(out, bitmap, pos, n, valid, width)
	}
}

func spreadT[T any](out []T, bitmap []byte, pos, valid int) {
	j := valid - 1
	i := len(out) - 1
	for ; i > j && j >= 0; i-- {
		p := pos + i
		out[i] = out[j] // a null slot gets some value of the column
		j -= int(bitmap[p>>3] >> (p & 7) & 1)
	}
	if j < 0 { // nothing but nulls before: what the dense values did not cover is not ours
		clear(out[min(valid, i+1) : i+1])
	}
}

// Widen: see widenSafe.
func Widen(dst, src []byte, n, from, to int, signed bool) {
	switch {
	case from == 8 && to == 16 && signed:
		in, out := cast[int64](src)[:n], cast[[2]int64](dst)[:n]
		for i, v := range in {
			out[i] = [2]int64{v, v >> 63}
		}
	case from == 4 && to == 16 && signed:
		in, out := cast[int32](src)[:n], cast[[2]int64](dst)[:n]
		for i, v := range in {
			out[i] = [2]int64{int64(v), int64(v) >> 63}
		}
	case from == 4 && to == 8 && signed:
		in, out := cast[int32](src)[:n], cast[int64](dst)[:n]
		for i, v := range in {
			out[i] = int64(v)
		}
	default:
		widenSafe(dst, src, n, from, to, signed)
	}
}

// Strings: see stringsSafe. Values of up to 16 bytes are moved as 16, so raw and dst must have 16 bytes of capacity
// beyond what is named; without, the twin does the work.
func Strings(dst []byte, ends []int32, base int, raw []byte, offs []uint32, idx []uint32) int {
	if len(idx) == 0 {
		return 0
	}
	if cap(raw)-len(raw) < 16 {
		return stringsSafe(dst, ends, base, raw, offs, idx)
	}
	ends = ends[:len(idx)]
	src := unsafe.Pointer(unsafe.SliceData(raw))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	limit := cap(dst) - 16
	p := 0
	for i, v := range idx {
		s := offs[v]
		k := int(offs[v+1] - s)
		if k <= 16 && p <= limit {
			// s <= len(raw) and p <= cap(dst)-16, so both moves stay within their capacity.
			*(*[16]byte)(unsafe.Add(out, p)) = *(*[16]byte)(unsafe.Add(src, int(s)))
		} else {
			copy(dst[p:], raw[s:int(s)+k])
		}
		p += k
		ends[i] = int32(base + p)
	}
	return p
}

// Plain: see plainSafe. Values are moved in blocks of 32 bytes while at least 64 bytes are left on both sides.
func Plain(dst []byte, ends []int32, base int, b []byte) (read, wrote int, ok bool) {
	q, p, i := 0, 0, 0
	src := unsafe.Pointer(unsafe.SliceData(b))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	last, room := len(b)-4-64, cap(dst)-64
	for ; i < len(ends) && q <= last && p <= room; i++ {
		// q+4+64 <= len(b): the length and 64 bytes after it can be read. p+64 <= cap(dst): 64 bytes can be written.
		k := int(*(*uint32)(unsafe.Add(src, q)))
		q += 4
		switch {
		case k <= 32:
			*(*[32]byte)(unsafe.Add(out, p)) = *(*[32]byte)(unsafe.Add(src, q))
		case k <= 64:
			*(*[32]byte)(unsafe.Add(out, p)) = *(*[32]byte)(unsafe.Add(src, q))
			*(*[32]byte)(unsafe.Add(out, p+32)) = *(*[32]byte)(unsafe.Add(src, q+32))
		case k > len(b)-q:
			return q, p, false
		default:
			copy(dst[p:p+k], b[q:q+k])
		}
		q += k
		p += k
		ends[i] = int32(base + p)
	}
	r, w, ok := plainSafe(dst[p:], ends[i:], base+p, b[q:])
	return q + r, p + w, ok
}
