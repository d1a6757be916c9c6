package canon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// variantDecoder walks the binary form of a variant (apache/parquet-format, VariantEncoding.md). It is independent of the
// reader under test on purpose. Slices out of range panic and become an error at the entry.
type variantDecoder struct {
	value []byte
	names [][]byte
}

// appendVariant appends the canonical text of a variant given by its two byte strings.
func appendVariant(dst, metadata, value []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = dst, fmt.Errorf("canon: broken variant: %v", r)
		}
	}()
	metadata, value = slices.Clip(metadata), slices.Clip(value) // a slice beyond the length must panic, whatever the capacity
	size := int(metadata[0]>>6) + 1
	n := little(metadata[1 : 1+size])
	offset := func(i int) int { return little(metadata[1+size*(i+1) : 1+size*(i+2)]) }
	base := 1 + size*(n+2)
	d := variantDecoder{value: value}
	for i := range n {
		d.names = append(d.names, metadata[base+offset(i):base+offset(i+1)])
	}
	return d.append(dst, 0), nil
}

func (d *variantDecoder) append(dst []byte, p int) []byte {
	head := d.value[p]
	basic, high := head&3, int(head>>2)
	switch basic {
	case 0:
		return d.appendPrimitive(dst, high, d.value[p+1:])
	case 1:
		return appendText(dst, d.value[p+1:p+1+high])
	case 2:
		return d.appendObject(dst, high, p+1)
	default:
		return d.appendArray(dst, high, p+1)
	}
}

func (d *variantDecoder) appendObject(dst []byte, high, p int) []byte {
	offsetSize, idSize, countSize := high&3+1, high>>2&3+1, 1
	if high>>4&1 == 1 {
		countSize = 4
	}
	n := little(d.value[p : p+countSize])
	ids := p + countSize
	offsets := ids + n*idSize
	base := offsets + (n+1)*offsetSize
	type field struct {
		name []byte
		at   int
	}
	fields := make([]field, n)
	for i := range fields {
		id := little(d.value[ids+i*idSize : ids+(i+1)*idSize])
		fields[i] = field{d.names[id], base + little(d.value[offsets+i*offsetSize:offsets+(i+1)*offsetSize])}
	}
	slices.SortFunc(fields, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, f.name), ':')
		dst = d.append(dst, f.at)
	}
	return append(dst, '}')
}

func (d *variantDecoder) appendArray(dst []byte, high, p int) []byte {
	offsetSize, countSize := high&3+1, 1
	if high>>2&1 == 1 {
		countSize = 4
	}
	n := little(d.value[p : p+countSize])
	offsets := p + countSize
	base := offsets + (n+1)*offsetSize
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = d.append(dst, base+little(d.value[offsets+i*offsetSize:offsets+(i+1)*offsetSize]))
	}
	return append(dst, ']')
}

// appendPrimitive takes the primitive's type number and the bytes behind its header.
func (d *variantDecoder) appendPrimitive(dst []byte, kind int, b []byte) []byte {
	switch kind {
	case 0:
		return append(dst, "null"...)
	case 1, 2:
		return strconv.AppendBool(dst, kind == 1)
	case 3, 4, 5, 6:
		return strconv.AppendInt(dst, signed(b[:1<<(kind-3)]), 10)
	case 7:
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)), 16)
	case 8, 9, 10:
		return appendDecimal(dst, signedBig(b[1:1+4<<(kind-8)]), int(b[0]))
	case 11:
		return appendDate(dst, signed(b[:4]))
	case 12, 13:
		return appendTimestamp(dst, signed(b[:8]), 1e6, kind == 12)
	case 14:
		return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 8)
	case 15, 16:
		body := b[4 : 4+little(b[:4])]
		if kind == 15 {
			return appendBytes(dst, body)
		}
		return appendText(dst, body)
	case 17:
		return appendTime(dst, signed(b[:8])*1000)
	case 18, 19:
		return appendTimestamp(dst, signed(b[:8]), 1e9, kind == 18)
	case 20:
		return appendUUID(dst, b[:16])
	}
	panic(fmt.Sprintf("variant primitive %d", kind))
}

func signed(b []byte) int64 {
	shift := 64 - 8*len(b)
	return int64(little(b)) << shift >> shift
}

func signedBig(b []byte) *big.Int {
	be := slices.Clone(b)
	slices.Reverse(be)
	v := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return v
}
