package commit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// boundLength is what is kept of text and bytes: as many characters, or bytes, as other writers keep.
const boundLength = 16

// cutBounds shortens the bounds of text and bytes: the lower by cutting, the upper by cutting and raising. A bound that
// cannot be raised, or text that is not UTF-8, has none. The maps given are not changed.
func cutBounds(lower, upper map[int][]byte, field func(id int) (meta.Field, bool)) (lo, hi map[int][]byte) {
	lo, hi = make(map[int][]byte, len(lower)), make(map[int][]byte, len(upper))
	for id, b := range lower {
		f, ok := field(id)
		if !ok {
			continue
		}
		switch f.Type.Kind {
		case meta.String:
			if utf8.Valid(b) {
				lo[id] = b[:textCut(b)]
			}
		case meta.Binary:
			lo[id] = b[:min(len(b), boundLength)]
		default:
			lo[id] = b
		}
	}
	for id, b := range upper {
		f, ok := field(id)
		if !ok {
			continue
		}
		switch f.Type.Kind {
		case meta.String:
			b = raiseText(b)
		case meta.Binary:
			b = raiseBytes(b)
		}
		if b != nil {
			hi[id] = b
		}
	}
	return lo, hi
}

// textCut is the length of the first boundLength characters.
func textCut(b []byte) int {
	at := 0
	for range boundLength {
		if at == len(b) {
			break
		}
		_, n := utf8.DecodeRune(b[at:])
		at += n
	}
	return at
}

// raiseText cuts and gives the next text of that length; nil = there is none.
func raiseText(b []byte) []byte {
	if !utf8.Valid(b) {
		return nil
	}
	cut := b[:textCut(b)]
	if len(cut) == len(b) {
		return b
	}
	for len(cut) > 0 {
		r, n := utf8.DecodeLastRune(cut)
		cut = cut[:len(cut)-n]
		if r++; r == 0xd800 { // no character lies among the surrogates
			r = 0xe000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(bytes.Clone(cut), r)
		}
	}
	return nil
}

func raiseBytes(b []byte) []byte {
	if len(b) <= boundLength {
		return b
	}
	cut := bytes.Clone(b[:boundLength])
	for i := len(cut) - 1; i >= 0; i-- {
		if cut[i] < math.MaxUint8 {
			cut[i]++
			return cut[:i+1]
		}
	}
	return nil
}

// summaries describes the tuples of a manifest's files, field by field of its spec.
func summaries(table *meta.Metadata, spec *meta.Spec, tuples []map[int]expr.Literal) []manifest.Summary {
	out := make([]manifest.Summary, len(spec.Fields))
	for i, f := range spec.Fields {
		typ := manifest.PartitionType(table, nil, f)
		s := manifest.Summary{ContainsNaN: manifest.No}
		var lo, hi any
		for _, t := range tuples {
			switch v := t[f.FieldID].Value; {
			case v == nil:
				s.ContainsNull = true
			case isNaN(v):
				s.ContainsNaN = manifest.Yes
			default:
				if lo == nil || compare(v, lo) < 0 {
					lo = v
				}
				if hi == nil || compare(v, hi) > 0 {
					hi = v
				}
			}
		}
		s.Lower, s.Upper = encode(lo, typ), encode(hi, typ)
		if s.Lower == nil || s.Upper == nil {
			s.Lower, s.Upper = nil, nil
		}
		out[i] = s
	}
	return out
}

func isNaN(v any) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

// compare orders two values of one partition field.
func compare(a, b any) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b)
		}
	case []byte:
		if b, ok := b.([]byte); ok {
			return bytes.Compare(a, b)
		}
	case *big.Int:
		if b, ok := b.(*big.Int); ok {
			return a.Cmp(b)
		}
	case bool:
		if b, ok := b.(bool); ok && a != b {
			if b {
				return -1
			}
			return 1
		}
	}
	return 0
}

// Bound is the single-value form of a metric, for DataFile.Lower and Upper; nil for NULL.
func Bound(lit expr.Literal) []byte { return encode(lit.Value, lit.Type) }

// encode is the single-value form of the specification (appendix D); nil for what has none.
func encode(v any, typ arrow.DataType) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case int64:
		if id := typ.ID(); id == arrow.INT32 || id == arrow.DATE32 {
			return binary.LittleEndian.AppendUint32(nil, uint32(v))
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(v))
	case float64:
		if typ.ID() == arrow.FLOAT32 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	case string:
		return []byte(v)
	case []byte:
		return v
	case *big.Int:
		return twosComplement(v)
	}
	return nil
}

// twosComplement is the shortest big-endian form.
func twosComplement(v *big.Int) []byte {
	if v.Sign() >= 0 {
		b := v.Bytes()
		if len(b) == 0 || b[0] >= 0x80 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	n := len(new(big.Int).Not(v).Bytes())
	b := new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*(n+1)))).FillBytes(make([]byte, n+1))
	if len(b) > 1 && b[0] == 0xff && b[1] >= 0x80 {
		b = b[1:]
	}
	return b
}
