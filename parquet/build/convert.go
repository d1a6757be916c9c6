package build

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/lakescan/lakescan/parquet/encoding"
)

type convKind uint8

const (
	convNone      convKind = iota
	convCut                // low bytes of a little-endian integer
	convWiden              // integer to a wider one, decimals in integers too
	convFloat              // float to double
	convMultiply           // integer times factor, 8 bytes out
	convFloor              // integer divided by factor, rounded down
	convInt96              // nanoseconds and Julian day to factor a second
	convBigEndian          // two's complement, big-endian, of any length
	convExact              // byte strings that must be of one length
)

// conv turns stored values into those of the array. The zero value copies.
type conv struct {
	kind   convKind
	signed bool
	factor int64
}

var (
	errRange  = fmt.Errorf("%w: value out of the range of its type", ErrCorrupt)
	errFixed  = fmt.Errorf("%w: byte string of another length than the fixed one", ErrCorrupt)
	errValues = fmt.Errorf("%w: values missing", ErrCorrupt)
	errIndex  = fmt.Errorf("%w: index beyond the dictionary", ErrCorrupt)
	errPrefix = fmt.Errorf("%w: prefix longer than the value before, or suffix than the page", ErrCorrupt)
)

var le = binary.LittleEndian

// apply converts n values of p.width bytes in src to p.outWidth bytes in dst.
func (p *Plan) apply(dst, src []byte, n int) error {
	dst, src = dst[:n*p.outWidth], src[:n*p.width]
	switch p.conv.kind {
	case convNone:
		copy(dst, src)
	case convCut:
		cut(dst, src, p.outWidth, p.width)
	case convWiden:
		encoding.Widen(dst, src, n, p.width, p.outWidth, p.conv.signed)
	case convFloat:
		for ; len(src) >= 4 && len(dst) >= 8; src, dst = src[4:], dst[8:] {
			le.PutUint64(dst, math.Float64bits(widenFloat(le.Uint32(src))))
		}
	case convMultiply:
		return p.multiply(dst, src)
	case convFloor:
		p.floor(dst, src)
	case convInt96:
		for ; len(src) >= 12 && len(dst) >= 8; src, dst = src[12:], dst[8:] {
			v, ok := int96(src, p.conv.factor)
			if !ok {
				return errRange
			}
			le.PutUint64(dst, uint64(v))
		}
	case convBigEndian:
		if !bigEndians(dst, src, p.outWidth, p.width) {
			return errRange
		}
	case convExact:
		return errFixed // only byte arrays get here, through applyBytes
	}
	return nil
}

// widenFloat keeps the payload of a NaN, which the machine's conversion would make quiet.
func widenFloat(b uint32) float64 {
	if b&0x7f800000 == 0x7f800000 && b&0x007fffff != 0 {
		return math.Float64frombits(uint64(b>>31)<<63 | 0x7ff<<52 | uint64(b&0x007fffff)<<29)
	}
	return float64(math.Float32frombits(b))
}

// applyBytes converts one byte array.
func (p *Plan) applyBytes(dst, v []byte) error {
	switch p.conv.kind {
	case convBigEndian:
		if !bigEndian(dst, v) {
			return errRange
		}
	default:
		if len(v) != len(dst) {
			return errFixed
		}
		copy(dst, v)
	}
	return nil
}

func cut(dst, src []byte, to, from int) {
	for ; len(src) >= from && len(dst) >= to; src, dst = src[from:], dst[to:] {
		copy(dst[:to], src)
	}
}

func (p *Plan) multiply(dst, src []byte) error {
	f := p.conv.factor
	limit := math.MaxInt64 / f
	for ; len(src) >= p.width && len(dst) >= p.outWidth; src, dst = src[p.width:], dst[p.outWidth:] {
		v := p.int(src)
		if v > limit || v < -limit {
			return errRange
		}
		p.put(dst, v*f)
	}
	return nil
}

func (p *Plan) floor(dst, src []byte) {
	f := p.conv.factor
	for ; len(src) >= p.width && len(dst) >= p.outWidth; src, dst = src[p.width:], dst[p.outWidth:] {
		p.put(dst, floorDiv(p.int(src), f))
	}
}

func (p *Plan) int(b []byte) int64 {
	if p.width == 4 {
		return int64(int32(le.Uint32(b)))
	}
	return int64(le.Uint64(b))
}

func (p *Plan) put(b []byte, v int64) {
	if p.outWidth == 4 {
		le.PutUint32(b, uint32(v))
		return
	}
	le.PutUint64(b, uint64(v))
}

func floorDiv(v, f int64) int64 {
	q := v / f
	if v%f < 0 {
		q--
	}
	return q
}

const julianUnixEpoch = 2440588

// int96 is a timestamp of nanoseconds in a day and a Julian day, in units of which a second has perSecond. Microseconds
// are computed modulo 2^64, as the writer did: Spark adds the Julian epoch to its own microseconds before it splits off
// the day, which overflows for dates near the end of its range, and only the same overflow gives them back (L38). For
// nanoseconds a value out of range is an error.
func int96(b []byte, perSecond int64) (int64, bool) {
	part := floorDiv(int64(le.Uint64(b)), 1e9/perSecond)
	day := int64(int32(le.Uint32(b[8:]))) - julianUnixEpoch
	perDay := 86400 * perSecond
	if perSecond <= 1e6 {
		return day*perDay + part, true
	}
	if limit := math.MaxInt64 / perDay; day > limit || day < -limit {
		return 0, false
	}
	v := day * perDay
	sum := v + part
	return sum, part >= 0 == (sum >= v)
}

// bigEndians is bigEndian for values of one width after the other. Those that take a word or two, as nearly all decimals do, are
// read by whole words; a load may take in bytes of the next value.
func bigEndians(dst, src []byte, to, from int) bool {
	switch {
	case from >= 1 && from <= 8 && to == 8:
		for shift := 64 - 8*from; len(src) >= 8 && len(dst) >= 8; src, dst = src[from:], dst[8:] {
			le.PutUint64(dst, uint64(int64(binary.BigEndian.Uint64(src))>>(shift&63)))
		}
	case from >= 1 && from <= 8 && to == 16:
		for shift := 64 - 8*from; len(src) >= 8 && len(dst) >= 16; src, dst = src[from:], dst[16:] {
			v := int64(binary.BigEndian.Uint64(src)) >> (shift & 63)
			le.PutUint64(dst, uint64(v))
			le.PutUint64(dst[8:], uint64(v>>63))
		}
	case from > 8 && from <= 16 && to == 16:
		for shift := 128 - 8*from; len(src) >= from && len(dst) >= 16; src, dst = src[from:], dst[16:] {
			le.PutUint64(dst, binary.BigEndian.Uint64(src[from-8:]))
			le.PutUint64(dst[8:], uint64(int64(binary.BigEndian.Uint64(src))>>(shift&63)))
		}
	}
	for ; len(src) >= from && len(dst) >= to; src, dst = src[from:], dst[to:] {
		if !bigEndian(dst[:to], src[:from]) {
			return false
		}
	}
	return true
}

// bigEndian reads two's complement of any length into len(dst) little-endian bytes; false if it does not fit.
func bigEndian(dst, v []byte) bool {
	var sign byte
	if len(v) > 0 && v[0]&0x80 != 0 {
		sign = 0xff
	}
	for len(v) > len(dst) {
		if v[0] != sign {
			return false
		}
		v = v[1:]
		if v[0]&0x80 != sign&0x80 {
			return false
		}
	}
	if len(dst) == 16 && len(v) == 16 {
		le.PutUint64(dst, binary.BigEndian.Uint64(v[8:]))
		le.PutUint64(dst[8:], binary.BigEndian.Uint64(v))
		return true
	}
	n := len(v)
	for i := range n {
		dst[i] = v[n-1-i]
	}
	for i := n; i < len(dst); i++ {
		dst[i] = sign
	}
	return true
}
