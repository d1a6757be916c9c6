package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/lakescan/lakescan/iceberg/avro/inflate"
)

// MaxBlock bounds an unpacked block.
const MaxBlock = 64 << 20

// Blocks is memory for unpacked blocks, to be used for one file after the other, and the blocks at the start of a file that
// have been unpacked before they are wanted. The zero value is ready. It belongs to one goroutine at a time.
type Blocks struct {
	ahead [][]byte // unpacked before; beyond their number lies memory for more
	one   []byte   // memory of the one that is unpacked as it is wanted

	inflate *inflate.Decoder
	zstd    *zstd.Decoder
}

// Unpack unpacks blocks from the start of the file until they are limit bytes together, or a fault is met: Rows meets it
// again, and tells. whole: these are all blocks, or the file is not packed. What was unpacked before is forgotten.
func (b *Blocks) Unpack(f *File, limit int) (whole bool) {
	b.Forget()
	if f.stored() {
		return true
	}
	off := f.body
	for off < len(f.data) && limit > 0 {
		next, err := f.block(off)
		if err != nil {
			return false
		}
		n := len(b.ahead)
		if n == cap(b.ahead) {
			b.ahead = append(b.ahead, nil)[:n]
		}
		memory := b.ahead[:n+1][n]
		plain, err := b.unpack(f.codec, next.packed, memory)
		if err != nil {
			return false
		}
		b.ahead = append(b.ahead, plain)
		off, limit = next.end, limit-len(plain)
	}
	return off == len(f.data)
}

// Size of the blocks that have been unpacked.
func (b *Blocks) Size() (n int) {
	for _, plain := range b.ahead {
		n += len(plain)
	}
	return n
}

// Forget drops the unpacked blocks and keeps the memory.
func (b *Blocks) Forget() { b.ahead = b.ahead[:0] }

// next unpacks the block that is wanted now. It is valid until the next one.
func (b *Blocks) next(f *File, packed []byte) (plain []byte, err error) {
	if f.stored() {
		return packed, nil
	}
	plain, err = b.unpack(f.codec, packed, b.one)
	if err == nil {
		b.one = plain
	}
	return plain, err
}

var errTooLong = fmt.Errorf("more than %d bytes unpacked", MaxBlock)

// unpack uses memory, or takes more.
func (b *Blocks) unpack(codec string, packed, memory []byte) ([]byte, error) {
	switch codec {
	case "snappy":
		return unsnap(packed, memory)
	case "zstandard":
		if b.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, err
			}
			b.zstd = z
		}
		return b.zstd.DecodeAll(packed, memory[:0])
	}
	if b.inflate == nil {
		b.inflate = &inflate.Decoder{}
	}
	plain, err := b.inflate.Append(memory, packed, MaxBlock)
	if errors.Is(err, inflate.ErrTooLong) {
		err = errTooLong
	}
	return plain, err
}

// unsnap reads Avro's snappy: the block and then its CRC-32, big-endian.
func unsnap(packed, memory []byte) ([]byte, error) {
	if len(packed) < 4 {
		return nil, errors.New("snappy block without checksum")
	}
	sum := binary.BigEndian.Uint32(packed[len(packed)-4:])
	packed = packed[:len(packed)-4]
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, err
	}
	if n > MaxBlock || n > 64*len(packed)+64 { // 64 is above snappy's best ratio
		return nil, errTooLong
	}
	plain, err := snappy.Decode(memory[:cap(memory)], packed)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(plain) != sum {
		return nil, errors.New("wrong checksum")
	}
	return plain, nil
}
