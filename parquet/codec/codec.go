package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/lakescan/lakescan/parquet/thrift"
	"github.com/pierrec/lz4/v4"
)

// Classes of failure.
var (
	ErrCorrupt     = errors.New("codec: corrupt")
	ErrUnsupported = errors.New("codec: unsupported")
)

// Slack is how much capacity beyond the output makes decompression fastest; bytes there may be overwritten.
const Slack = 32

// Decoder keeps codec state between pages. The zero value is ready.
type Decoder struct {
	zstd    *zstd.Decoder // the page's own CRC was verified
	zstdSum *zstd.Decoder // checks the frame's checksum
	gzip    *gzip.Reader
	brotli  *brotli.Reader
	src     bytes.Reader
}

// Supported reports whether pages of c can be read; the error names c.
func Supported(c thrift.Codec) error {
	switch c {
	case thrift.Uncompressed, thrift.Snappy, thrift.Gzip, thrift.Brotli, thrift.LZ4Hadoop, thrift.Zstd, thrift.LZ4Raw:
		return nil
	}
	return fmt.Errorf("%w: %v", ErrUnsupported, c)
}

// Decode fills dst exactly from src. It may write into the capacity of dst beyond its length. verified says that the
// bytes of src passed a checksum, which makes the codec's own one superfluous.
func (d *Decoder) Decode(c thrift.Codec, dst, src []byte, verified bool) error {
	n, err := d.decode(c, dst, src, verified)
	switch {
	case errors.Is(err, ErrUnsupported):
		return err
	case err != nil:
		return fmt.Errorf("%w: %v: %w", ErrCorrupt, c, err)
	case n != len(dst):
		return fmt.Errorf("%w: %v: %d bytes instead of %d", ErrCorrupt, c, n, len(dst))
	}
	return nil
}

func (d *Decoder) decode(c thrift.Codec, dst, src []byte, verified bool) (int, error) {
	switch c {
	case thrift.Uncompressed:
		if len(src) != len(dst) {
			return len(src), nil
		}
		return copy(dst, src), nil
	case thrift.Snappy:
		return snappyDecode(dst, src)
	case thrift.Zstd:
		return d.zstdDecode(dst, src, verified)
	case thrift.LZ4Raw:
		return lz4Block(dst, src)
	case thrift.LZ4Hadoop:
		return hadoop(dst, src)
	case thrift.Gzip:
		return d.gzipDecode(dst, src)
	case thrift.Brotli:
		d.src.Reset(src)
		if d.brotli == nil {
			d.brotli = brotli.NewReader(nil)
		}
		if err := d.brotli.Reset(&d.src); err != nil {
			return 0, err
		}
		return readAll(dst, d.brotli)
	}
	return 0, Supported(c)
}

func snappyDecode(dst, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil || n != len(dst) {
		return n, err
	}
	out, err := snappy.Decode(dst, src)
	return len(out), err
}

func (d *Decoder) zstdDecode(dst, src []byte, verified bool) (int, error) {
	z := &d.zstdSum
	if verified {
		z = &d.zstd
	}
	if *z == nil {
		var err error
		*z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(verified))
		if err != nil {
			return 0, err
		}
	}
	out, err := (*z).DecodeAll(src, dst[:0:min(cap(dst), len(dst)+Slack)])
	return len(out), err
}

func (d *Decoder) gzipDecode(dst, src []byte) (int, error) {
	d.src.Reset(src)
	if d.gzip == nil {
		r, err := gzip.NewReader(&d.src)
		if err != nil {
			return 0, err
		}
		d.gzip = r
	} else if err := d.gzip.Reset(&d.src); err != nil {
		return 0, err
	}
	return readAll(dst, d.gzip) // several members in a page are one stream
}

// readAll fills dst and makes sure that the stream ends there, which also checks its trailer.
func readAll(dst []byte, r io.Reader) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil && !(err == io.EOF && len(dst) == 0) {
		return n, err
	}
	var one [1]byte
	for {
		k, err := r.Read(one[:])
		if k > 0 {
			return n + k, nil
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// lz4Block decodes one block. The library wants room for output: a block of none is nothing at all, or a token of no literals.
func lz4Block(dst, src []byte) (int, error) {
	if len(dst) > 0 {
		return lz4.UncompressBlock(src, dst)
	}
	if len(src) > 1 || len(src) == 1 && src[0] != 0 {
		return 0, errors.New("output where none was announced")
	}
	return 0, nil
}

// hadoop reads what writers have stored under the deprecated LZ4 codec: blocks in Hadoop's frame (big-endian sizes before
// and after compression, the output cut into one or more blocks), or a bare block.
func hadoop(dst, src []byte) (int, error) {
	if n, ok := hadoopFrame(dst, src); ok && n == len(dst) {
		return n, nil
	}
	if len(dst) == 0 && len(src) >= 8 && binary.BigEndian.Uint32(src) == 0 { // a frame of nothing, which some fill with an empty block
		return 0, nil
	}
	n, err := lz4Block(dst, src)
	if err != nil || n != len(dst) {
		return 0, errors.New("neither Hadoop's frame nor a raw block")
	}
	return n, nil
}

func hadoopFrame(dst, src []byte) (n int, ok bool) {
	for len(src) > 0 {
		if len(src) < 8 {
			return n, false
		}
		want := int64(binary.BigEndian.Uint32(src))
		src = src[4:]
		if want > int64(len(dst)-n) {
			return n, false
		}
		for end := n + int(want); n < end; {
			if len(src) < 4 {
				return n, false
			}
			k := int64(binary.BigEndian.Uint32(src))
			src = src[4:]
			if k == 0 || k > int64(len(src)) {
				return n, false
			}
			m, err := lz4.UncompressBlock(src[:k], dst[n:end:end])
			if err != nil || m == 0 {
				return n, false
			}
			n += m
			src = src[k:]
		}
	}
	return n, true
}

// Grow gives a slice of n bytes with Slack beyond, reusing b's memory if it is large enough. Contents are not kept.
func Grow(b []byte, n int) []byte {
	if cap(b) < n+Slack {
		b = slices.Grow(b[:0], n+Slack)
	}
	return b[:n]
}
