package parquettest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// plain appends one value as PLAIN stores it, byte arrays without their length.
func plain(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	case int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v))
	case float32:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	case float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	case []byte:
		return append(dst, v...)
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	}
	panic(fmt.Sprintf("parquettest: no PLAIN form of a %T", v))
}

// encodePlain is PLAIN of many values.
func encodePlain(t thrift.Type, values []any) []byte {
	var out []byte
	if t == thrift.Boolean {
		return packBits(values)
	}
	for _, v := range values {
		if t == thrift.ByteArray {
			out = binary.LittleEndian.AppendUint32(out, uint32(len(v.([]byte))))
		}
		out = plain(out, v)
	}
	return out
}

func packBits(values []any) []byte {
	out := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		if v.(bool) {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// Runs chooses how levels and indices are cut into runs.
type Runs uint8

const (
	// MixedRuns repeats eight equal values or more, and packs the rest.
	MixedRuns Runs = iota
	// PackedRuns never repeats.
	PackedRuns
	// RepeatedRuns never packs.
	RepeatedRuns
)

// hybrid writes the run-length and bit-packing hybrid.
func hybrid(values []uint32, width int, runs Runs) []byte {
	out, _ := []byte(nil), 0
	var packed []uint32
	flush := func() {
		if len(packed) == 0 {
			return
		}
		groups := (len(packed) + 7) / 8
		out = binary.AppendUvarint(out, uint64(groups)<<1|1)
		out = append(out, bitPack(packed, width, groups*width)...)
		packed = packed[:0]
	}
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		// A packed run has whole groups, so a run may begin only where one ends.
		if runs == RepeatedRuns || runs == MixedRuns && n >= 8 && len(packed)%8 == 0 {
			flush()
			out = binary.AppendUvarint(out, uint64(n)<<1)
			for k := range (width + 7) / 8 {
				out = append(out, byte(values[i]>>(8*k)))
			}
			i += n
			continue
		}
		packed = append(packed, values[i])
		i++
	}
	flush()
	return out
}

// bitPack packs values least significant bit first into size bytes.
func bitPack(values []uint32, width, size int) []byte {
	out := make([]byte, size)
	for i, v := range values {
		for b := range width {
			if v>>b&1 == 1 {
				at := i*width + b
				out[at/8] |= 1 << (at % 8)
			}
		}
	}
	return out
}

// oldBitPack is the BIT_PACKED encoding of levels: most significant bit first.
func oldBitPack(values []uint32, width int) []byte {
	out := make([]byte, (len(values)*width+7)/8)
	for i, v := range values {
		for b := range width {
			if v>>(width-1-b)&1 == 1 {
				at := i*width + b
				out[at/8] |= 0x80 >> (at % 8)
			}
		}
	}
	return out
}

func levelWidth(maximum int) int { return bits.Len(uint(maximum)) }

func wide(levels []uint8) []uint32 {
	out := make([]uint32, len(levels))
	for i, l := range levels {
		out[i] = uint32(l)
	}
	return out
}

// delta is DELTA_BINARY_PACKED of 32- or 64-bit numbers, with blocks of the given size in four miniblocks.
func delta(values []int64, is32 bool, block int) []byte {
	const minis = 4
	per := block / minis
	out := binary.AppendUvarint(nil, uint64(block))
	out = binary.AppendUvarint(out, minis)
	out = binary.AppendUvarint(out, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(out, 0)
	}
	out = binary.AppendVarint(out, values[0])
	for at := 1; at < len(values); at += block {
		deltas := make([]int64, 0, block)
		low := int64(math.MaxInt64)
		for i := at; i < min(at+block, len(values)); i++ {
			d := values[i] - values[i-1]
			if is32 {
				d = int64(int32(d))
			}
			deltas = append(deltas, d)
			low = min(low, d)
		}
		out = binary.AppendVarint(out, low)
		var widths, body []byte
		for m := range minis {
			w := 0
			mini := make([]uint64, per)
			for k := range per {
				if i := m*per + k; i < len(deltas) {
					mini[k] = uint64(deltas[i] - low)
					if is32 {
						mini[k] = uint64(uint32(mini[k]))
					}
					w = max(w, bits.Len64(mini[k]))
				}
			}
			widths = append(widths, byte(w))
			if m*per < len(deltas) {
				body = append(body, pack64(mini, w)...)
			}
		}
		out = append(append(out, widths...), body...)
	}
	return out
}

func pack64(values []uint64, width int) []byte {
	out := make([]byte, len(values)*width/8)
	for i, v := range values {
		for b := range width {
			if v>>b&1 == 1 {
				at := i*width + b
				out[at/8] |= 1 << (at % 8)
			}
		}
	}
	return out
}

func encodeDelta(values []any) []byte {
	is32 := false
	numbers := make([]int64, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case int32:
			numbers[i], is32 = int64(v), true
		case int64:
			numbers[i] = v
		}
	}
	return delta(numbers, is32, 128)
}

func lengths(values []any) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = int64(len(v.([]byte)))
	}
	return out
}

func encodeDeltaLength(values []any) []byte {
	out := delta(lengths(values), true, 128)
	for _, v := range values {
		out = append(out, v.([]byte)...)
	}
	return out
}

func encodeDeltaByteArray(values []any) []byte {
	var prefixes []int64
	var suffixes []any
	var before []byte
	for _, v := range values {
		b := v.([]byte)
		n := 0
		for n < min(len(b), len(before)) && b[n] == before[n] {
			n++
		}
		prefixes = append(prefixes, int64(n))
		suffixes = append(suffixes, b[n:])
		before = b
	}
	return append(delta(prefixes, true, 128), encodeDeltaLength(suffixes)...)
}

// encodeSplit is BYTE_STREAM_SPLIT: byte k of every value, for each k.
func encodeSplit(values []any) []byte {
	var stored [][]byte
	for _, v := range values {
		stored = append(stored, plain(nil, v))
	}
	var out bytes.Buffer
	for k := 0; len(stored) > 0 && k < len(stored[0]); k++ {
		for _, s := range stored {
			out.WriteByte(s[k])
		}
	}
	return out.Bytes()
}

// indices of values in a dictionary.
func indices(dictionary, values []any) []uint32 {
	at := map[string]uint32{}
	for i, v := range dictionary {
		at[string(plain(nil, v))] = uint32(i)
	}
	out := make([]uint32, len(values))
	for i, v := range values {
		k, ok := at[string(plain(nil, v))]
		if !ok {
			panic(fmt.Sprintf("parquettest: %v is not in the dictionary", v))
		}
		out[i] = k
	}
	return out
}

// encode is the values of a page.
func encode(e thrift.Encoding, t thrift.Type, values, dictionary []any, runs Runs) []byte {
	switch e {
	case thrift.Plain:
		return encodePlain(t, values)
	case thrift.PlainDictionary, thrift.RLEDictionary:
		width := max(bits.Len(uint(max(len(dictionary)-1, 0))), 0)
		return append([]byte{byte(width)}, hybrid(indices(dictionary, values), width, runs)...)
	case thrift.RLE: // booleans
		bools := make([]uint32, len(values))
		for i, v := range values {
			if v.(bool) {
				bools[i] = 1
			}
		}
		h := hybrid(bools, 1, runs)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(h))), h...)
	case thrift.DeltaBinaryPacked:
		return encodeDelta(values)
	case thrift.DeltaLengthByteArray:
		return encodeDeltaLength(values)
	case thrift.DeltaByteArray:
		return encodeDeltaByteArray(values)
	case thrift.ByteStreamSplit:
		return encodeSplit(values)
	}
	panic("parquettest: cannot encode as " + e.String())
}

// Encodings lists those that values of a type may have.
func Encodings(t thrift.Type) []thrift.Encoding {
	dict := []thrift.Encoding{thrift.Plain, thrift.PlainDictionary, thrift.RLEDictionary}
	switch t {
	case thrift.Boolean:
		return []thrift.Encoding{thrift.Plain, thrift.RLE}
	case thrift.Int32, thrift.Int64:
		return append(dict, thrift.DeltaBinaryPacked, thrift.ByteStreamSplit)
	case thrift.Float, thrift.Double:
		return append(dict, thrift.ByteStreamSplit)
	case thrift.ByteArray:
		return append(dict, thrift.DeltaLengthByteArray, thrift.DeltaByteArray)
	case thrift.FixedLenByteArray:
		return append(dict, thrift.DeltaByteArray, thrift.ByteStreamSplit)
	}
	return dict
}
