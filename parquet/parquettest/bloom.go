package parquettest

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Bloom is header and bits of a split-block filter of n blocks over stored values (BloomFilter.md).
func Bloom(n int, values [][]byte) []byte {
	var c compact
	c.group(func() {
		c.i32(1, int32(32*n))
		for id := int16(2); id <= 4; id++ { // block algorithm, xxHash, no compression
			c.structure(id, func() { c.structure(1, func() {}) })
		}
	})
	salts := [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
	words := make([]uint32, 8*n)
	for _, v := range values {
		h := xxhash.Sum64(v)
		block := int((h >> 32) * uint64(n) >> 32)
		for i, s := range salts {
			words[8*block+i] |= 1 << (uint32(h) * s >> 27)
		}
	}
	for _, w := range words {
		c.b = binary.LittleEndian.AppendUint32(c.b, w)
	}
	return c.b
}
