//go:build !purego && (amd64 || arm64)

package encoding

import (
	"encoding/binary"
	"math/bits"
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

// gatherT takes four indices at a time: their checks and loads then run side by side, which entries of 16 bytes gain by.
func gatherT[T any](dst, dict []T, idx []uint32) bool {
	dst = dst[:len(idx)]
	entries := uint(len(dict))
	i := 0
	for ; i+4 <= len(idx); i += 4 {
		four, out := idx[i:i+4:i+4], dst[i:i+4:i+4]
		a, b, c, d := uint(four[0]), uint(four[1]), uint(four[2]), uint(four[3])
		if a >= entries || b >= entries || c >= entries || d >= entries {
			return false
		}
		out[0], out[1], out[2], out[3] = dict[a], dict[b], dict[c], dict[d]
	}
	for ; i < len(idx); i++ {
		v := uint(idx[i])
		if v >= entries {
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

// spreadT goes from the back, a word of the bitmap at a time where it can.
func spreadT[T any](out []T, bitmap []byte, pos, valid int) {
	clear(out[valid:])
	j := valid - 1
	i := len(out) - 1
	for i > j && j >= 0 {
		if (pos+i)&63 == 63 && i >= 63 {
			w := binary.LittleEndian.Uint64(bitmap[(pos+i)>>3-7:])
			ones := bits.OnesCount64(w)
			switch {
			case ones == 64:
				copy(out[i-63:i+1], out[j-63:j+1])
			case ones <= 16:
				for k := j; w != 0; k-- {
					top := 63 - bits.LeadingZeros64(w)
					out[i-63+top] = out[k]
					w &^= 1 << top
				}
			default:
				spreadWord(out[i-63:i+1], out[:j+1], w)
			}
			i, j = i-64, j-ones
			continue
		}
		p := pos + i
		if bitmap[p>>3]>>(p&7)&1 != 0 {
			out[i] = out[j]
			j--
		}
		i--
	}
}

// spreadWord fills 64 places from the end of dense without a branch: a place without a one gets a value of the column too.
// dst and dense may overlap, with dense ending before dst.
func spreadWord[T any](dst, dense []T, w uint64) {
	j := len(dense) - 1
	dst = dst[:64]
	for i := 63; i >= 0; i-- {
		if j < 0 {
			return
		}
		dst[i] = dense[j]
		j -= int(w >> 63)
		w <<= 1
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

// Blocks that are moved whole: a value is copied in one or a few of them whatever its length, since a branch on the length
// costs more than the bytes. They are structs because the compiler calls memmove for arrays that may overlap.
type (
	block16 struct{ _ [16]byte }
	block32 struct{ _, _ [16]byte }
	block64 struct{ a, b, c, d [16]byte }
)

// Strings: see stringsSafe. Values are moved in blocks, so Raw and dst must have a block of capacity beyond what is named;
// without, the twin does the work.
func Strings(dst []byte, ends []int32, base int, e *Entries, idx []uint32) (int, bool) {
	switch {
	case len(idx) == 0:
		return 0, true
	case cap(e.Raw)-len(e.Raw) < 64 || cap(dst) < len(idx)*e.MaxLen+64 || len(ends) < len(idx):
		return stringsSafe(dst, ends, base, e, idx)
	case e.MaxLen <= 16:
		return stringsT[block16](dst, ends, base, e, idx)
	case e.MaxLen <= 32:
		return stringsT[block32](dst, ends, base, e, idx)
	case e.MaxLen <= 64:
		return stringsT[block64](dst, ends, base, e, idx)
	}
	return stringsLong(dst, ends, base, e, idx)
}

// stringsT: no entry is longer than a block. The end of an entry is at most len(Raw), and the end of what was written at
// most len(idx)*MaxLen, so a block from either start stays within the capacity.
func stringsT[B block16 | block32 | block64](dst []byte, ends []int32, base int, e *Entries, idx []uint32) (int, bool) {
	starts := e.Starts[:len(e.Starts)-1]
	next := e.Starts[1:][:len(starts)]
	src := unsafe.Add(unsafe.Pointer(unsafe.SliceData(e.Raw)), int(e.Gap))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	gap := e.Gap
	ends = ends[:len(idx)]
	p := 0
	for i, v := range idx {
		if uint(v) >= uint(len(starts)) {
			return p, false
		}
		s := starts[v]
		*(*B)(unsafe.Add(out, p)) = *(*B)(unsafe.Add(src, int(s)))
		p += int(next[v] - s - gap)
		ends[i] = int32(base + p)
	}
	return p, true
}

func stringsLong(dst []byte, ends []int32, base int, e *Entries, idx []uint32) (int, bool) {
	src := unsafe.Pointer(unsafe.SliceData(e.Raw))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	n := e.Len()
	ends = ends[:len(idx)]
	p := 0
	for i, v := range idx {
		if int(v) >= n {
			return p, false
		}
		s := int(e.Starts[v] + e.Gap)
		k := int(e.Starts[v+1]) - s
		if k <= 64 {
			*(*block64)(unsafe.Add(out, p)) = *(*block64)(unsafe.Add(src, s))
		} else {
			copy(dst[p:p+k], e.Raw[s:s+k])
		}
		p += k
		ends[i] = int32(base + p)
	}
	return p, true
}

// Plain: see plainSafe. Values are moved in blocks while there is room for one on both sides; the block is chosen by the
// average length.
func Plain(dst []byte, ends []int32, base int, b []byte) (read, wrote int, ok bool) {
	if len(ends) == 0 {
		return 0, 0, true
	}
	switch avg := len(b)/len(ends) - 4; {
	case avg <= 10:
		read, wrote, ok = plainT[block16](dst, ends, base, b)
	case avg <= 20:
		read, wrote, ok = plainT[block32](dst, ends, base, b)
	default:
		read, wrote, ok = plainT[block64](dst, ends, base, b)
	}
	return read, wrote, ok
}

func plainT[B block16 | block32 | block64](dst []byte, ends []int32, base int, b []byte) (read, wrote int, ok bool) {
	var block B
	size := int(unsafe.Sizeof(block))
	q, p, i := 0, 0, 0
	src := unsafe.Pointer(unsafe.SliceData(b))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	last, room := len(b)-4-size, cap(dst)-size
	for ; i < len(ends) && q <= last && p <= room; i++ {
		// q+4+size <= len(b): the length and a block after it can be read. p+size <= cap(dst): a block can be written.
		k := int(*(*uint32)(unsafe.Add(src, q)))
		q += 4
		if k <= size {
			*(*B)(unsafe.Add(out, p)) = *(*B)(unsafe.Add(src, q))
		} else {
			if k > len(b)-q || k > len(dst)-p {
				return q, p, false
			}
			copy(dst[p:p+k], b[q:q+k])
		}
		q += k
		p += k
		ends[i] = int32(base + p)
	}
	if p > len(dst) || q > len(b) {
		return q, p, false
	}
	r, w, ok := plainSafe(dst[p:], ends[i:], base+p, b[q:])
	return q + r, p + w, ok
}
