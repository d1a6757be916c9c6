package avro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// ErrCorrupt is the class of every error about a file's bytes.
var ErrCorrupt = errors.New("avro: corrupt")

// ErrCodec says that a block codec is not known.
var ErrCodec = errors.New("avro: unknown codec")

// MaxBlock bounds an unpacked block.
const MaxBlock = 64 << 20

func corrupt(off int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrCorrupt, what, off)
}

var magic = []byte("Obj\x01")

const syncSize = 16

// File is an object container file in memory. It keeps the bytes given to Open.
type File struct {
	meta  map[string][]byte
	codec string
	sync  [syncSize]byte
	data  []byte
	body  int // offset of the first block
}

// Open reads the header (Avro specification, "Object Container Files"). The caller must not change data afterwards.
func Open(data []byte) (*File, error) {
	if !bytes.HasPrefix(data, magic) {
		return nil, corrupt(0, "no Avro container file")
	}
	d := decoder{buf: data, pos: len(magic)}
	f := &File{meta: map[string][]byte{}, data: data}
	for {
		n := d.blockCount()
		if n == 0 || d.bad {
			break
		}
		for ; n > 0 && !d.bad; n-- {
			key := d.bytes()
			f.meta[string(key)] = d.bytes()
		}
	}
	copy(f.sync[:], d.fixed(syncSize))
	if d.bad {
		return nil, corrupt(d.at, "malformed header")
	}
	f.body = d.pos
	f.codec = string(f.meta["avro.codec"])
	switch f.codec {
	case "", "null", "deflate", "snappy", "zstandard":
		return f, nil
	}
	return nil, fmt.Errorf("%w %q", ErrCodec, f.codec)
}

// Meta returns a header value, nil if the key is absent. The slice aliases the file.
func (f *File) Meta(key string) []byte { return f.meta[key] }

// SchemaJSON is the file's schema as written; with it a compiled program can be found again.
func (f *File) SchemaJSON() []byte { return f.meta["avro.schema"] }

// Rows iterates over the records of the file with a program compiled for its schema.
func (f *File) Rows(p *Program) *Rows {
	return &Rows{f: f, p: p, off: f.body}
}

// Rows yields the records of one file. It belongs to one goroutine.
type Rows struct {
	f     *File
	p     *Program
	d     decoder
	off   int   // of the next block
	left  int64 // records of the current block
	buf   []byte
	flate io.ReadCloser
	zstd  *zstd.Decoder
}

// Next fills row with the next record; io.EOF ends the file. Views in row are valid until the next call.
func (r *Rows) Next(row *Row) error {
	for r.left == 0 {
		if r.d.pos != len(r.d.buf) {
			return corrupt(r.off, "bytes left over in the block that ends")
		}
		if r.off == len(r.f.data) {
			return io.EOF
		}
		if err := r.block(); err != nil {
			return err
		}
	}
	r.left--
	row.reset(r.p)
	r.d.exec(r.p.ops, row)
	if r.d.bad {
		return corrupt(r.off, "malformed record in the block that ends")
	}
	return nil
}

// block opens the next block.
func (r *Rows) block() error {
	d := decoder{buf: r.f.data, pos: r.off}
	count, size := d.long(), d.long()
	packed := d.fixed(size)
	mark := d.fixed(syncSize)
	if d.bad || count < 0 {
		return corrupt(r.off, "malformed block")
	}
	if !bytes.Equal(mark, r.f.sync[:]) {
		return corrupt(d.pos-syncSize, "wrong sync marker")
	}
	plain, err := r.unpack(packed)
	if err != nil {
		return fmt.Errorf("%w: block at byte %d: %w", ErrCorrupt, r.off, err)
	}
	if count > int64(len(plain)) { // only records of nothing but nulls have no byte
		return corrupt(r.off, "more records than bytes")
	}
	r.off, r.left = d.pos, count
	r.d = decoder{buf: plain}
	return nil
}

var errTooLong = fmt.Errorf("more than %d bytes unpacked", MaxBlock)

func (r *Rows) unpack(packed []byte) ([]byte, error) {
	switch r.f.codec {
	case "deflate":
		return r.inflate(packed)
	case "snappy":
		return r.unsnap(packed)
	case "zstandard":
		if r.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock), zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, err
			}
			r.zstd = z
		}
		var err error
		r.buf, err = r.zstd.DecodeAll(packed, r.buf[:0])
		return r.buf, err
	}
	return packed, nil
}

func (r *Rows) inflate(packed []byte) ([]byte, error) {
	src := bytes.NewReader(packed)
	if r.flate == nil {
		r.flate = flate.NewReader(src)
	} else if err := r.flate.(flate.Resetter).Reset(src, nil); err != nil {
		return nil, err
	}
	buf := r.buf[:0]
	for {
		if len(buf) == cap(buf) {
			if len(buf) > MaxBlock {
				return nil, errTooLong
			}
			grown := make([]byte, len(buf), max(4*len(packed), 2*cap(buf), 512))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.flate.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	r.buf = buf
	if len(buf) > MaxBlock {
		return nil, errTooLong
	}
	return buf, nil
}

// unsnap reads Avro's snappy: the block and then its CRC-32, big-endian.
func (r *Rows) unsnap(packed []byte) ([]byte, error) {
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
	if r.buf, err = snappy.Decode(r.buf[:cap(r.buf)], packed); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(r.buf) != sum {
		return nil, errors.New("wrong checksum")
	}
	return r.buf, nil
}
