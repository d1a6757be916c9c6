package prune

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/cespare/xxhash/v2"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// MaxBloom bounds the bits of one filter.
const MaxBloom = 128 << 20

// ErrBloom is the class of filters that cannot be used.
var ErrBloom = errors.New("prune: Bloom filter")

// Bloom is a split-block filter over the values of one chunk (apache/parquet-format, BloomFilter.md).
type Bloom struct{ bits []byte }

// BloomSize reads the header at the start of b and returns the bytes of header and filter together, so that a reader which
// does not know the length can fetch the rest.
func BloomSize(b []byte) (int64, error) {
	h, n, err := thrift.ParseBloomHeader(b)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrBloom, err)
	case !h.Known:
		return 0, fmt.Errorf("%w: unknown algorithm, hash or compression", ErrBloom)
	case h.NumBytes < 32 || h.NumBytes%32 != 0 || h.NumBytes > MaxBloom:
		return 0, fmt.Errorf("%w: %d bytes", ErrBloom, h.NumBytes)
	}
	return int64(n) + int64(h.NumBytes), nil
}

// NewBloom takes header and bits, which must be whole; bytes behind them are ignored. The filter points into b.
func NewBloom(b []byte) (*Bloom, error) {
	size, err := BloomSize(b)
	if err != nil {
		return nil, err
	}
	if size > int64(len(b)) {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrBloom, len(b), size)
	}
	h, _, _ := thrift.ParseBloomHeader(b)
	return &Bloom{bits: b[size-int64(h.NumBytes) : size]}, nil
}

// bloomSalts spread one hash over the eight words of a block.
var bloomSalts = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// MayContain takes the xxHash64 (seed 0) of a value in its PLAIN form, byte arrays without a length.
func (f *Bloom) MayContain(hash uint64) bool {
	blocks := uint64(len(f.bits) / 32)
	block := f.bits[32*((hash>>32)*blocks>>32):]
	for i, salt := range bloomSalts {
		word := binary.LittleEndian.Uint32(block[4*i:])
		if word>>(uint32(hash)*salt>>27)&1 == 0 {
			return false
		}
	}
	return true
}

// leaf can disprove = and IN only.
func (f *Bloom) leaf(e expr.Expr, c Column) expr.Verdict {
	x := c.codec()
	switch e := e.(type) {
	case expr.Compare:
		if e.Op == expr.EQ && f.lacks(x, e.Lit) {
			return expr.None
		}
	case expr.In:
		if e.Negated {
			return expr.Some
		}
		for _, l := range e.Lits {
			if !f.lacks(x, l) {
				return expr.Some
			}
		}
		return expr.None
	}
	return expr.Some
}

// lacks proves that no stored value equals the literal.
func (f *Bloom) lacks(x codec, lit expr.Literal) bool {
	keys, ok := x.bloomKeys(lit)
	if !ok {
		return false
	}
	for _, k := range keys {
		if f.MayContain(xxhash.Sum64(k)) {
			return false
		}
	}
	return true
}

// bloomKeys are the stored forms that read as the literal: none if no stored value can equal it. ok is false if they cannot
// be listed.
func (x codec) bloomKeys(lit expr.Literal) (keys [][]byte, ok bool) {
	switch v := lit.Value.(type) {
	case int64:
		return x.integerKeys(v)
	case uint64:
		if x.form != formUint {
			return nil, false
		}
		if x.physical == thrift.Int32 && v > math.MaxUint32 {
			return nil, true
		}
		return x.integerBytes(v), true
	case float64:
		return x.floatKeys(v)
	case *big.Int:
		return x.decimalKeys(v)
	case string:
		return x.arrayKeys([]byte(v), formString)
	case []byte:
		return x.arrayKeys(v, formBytes)
	}
	return nil, false
}

func (x codec) integerKeys(v int64) ([][]byte, bool) {
	if x.form != formInt && x.form != formTime && x.form != formDate || x.scaleDn > 1 {
		return nil, false // of a coarser unit: several stored values read as one
	}
	if v%x.scaleUp != 0 {
		return nil, true
	}
	v /= x.scaleUp
	if x.physical == thrift.Int32 && v != int64(int32(v)) {
		return nil, true
	}
	return x.integerBytes(uint64(v)), true
}

func (x codec) integerBytes(v uint64) [][]byte {
	if x.physical == thrift.Int32 {
		return [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(v))}
	}
	return [][]byte{binary.LittleEndian.AppendUint64(nil, v)}
}

// floatKeys: both zeros are equal, and NaN has too many forms.
func (x codec) floatKeys(v float64) ([][]byte, bool) {
	if x.form != formFloat || x.physical == thrift.FixedLenByteArray || math.IsNaN(v) {
		return nil, false
	}
	values := []float64{v}
	if v == 0 {
		values = []float64{0, math.Copysign(0, -1)}
	}
	var keys [][]byte
	for _, v := range values {
		if x.physical == thrift.Double {
			keys = append(keys, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		} else if f := float32(v); float64(f) == v {
			keys = append(keys, binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)))
		}
	}
	return keys, true
}

// decimalKeys: a BYTE_ARRAY may hold a number with any number of sign bytes in front.
func (x codec) decimalKeys(v *big.Int) ([][]byte, bool) {
	switch {
	case x.form != formDecimal || x.physical == thrift.ByteArray:
		return nil, false
	case x.physical == thrift.FixedLenByteArray:
		bits := uint(8 * x.length)
		if v.BitLen() >= int(bits) && !(v.Sign() < 0 && new(big.Int).Not(v).BitLen() < int(bits)) {
			return nil, true
		}
		u := v
		if v.Sign() < 0 {
			u = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), bits))
		}
		return [][]byte{u.FillBytes(make([]byte, x.length))}, true
	case !v.IsInt64() || x.physical == thrift.Int32 && v.Int64() != int64(int32(v.Int64())):
		return nil, true
	}
	return x.integerBytes(uint64(v.Int64())), true
}

func (x codec) arrayKeys(v []byte, f form) ([][]byte, bool) {
	if x.form != f {
		return nil, false
	}
	if x.physical == thrift.FixedLenByteArray && len(v) != x.length {
		return nil, true
	}
	return [][]byte{v}, true
}
