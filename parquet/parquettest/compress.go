package parquettest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// Codecs that this package writes.
var Codecs = []thrift.Codec{thrift.Uncompressed, thrift.Snappy, thrift.Gzip, thrift.Brotli, thrift.LZ4Hadoop, thrift.Zstd, thrift.LZ4Raw}

// Compress is a page body in a codec.
func Compress(c thrift.Codec, b []byte) []byte {
	switch c {
	case thrift.Uncompressed:
		return b
	case thrift.Snappy:
		return snappy.Encode(nil, b)
	case thrift.Zstd:
		return zstdEncoder().EncodeAll(b, nil)
	case thrift.LZ4Raw:
		return lz4Block(b)
	case thrift.LZ4Hadoop: // one frame of one block: both lengths big-endian, then the block
		block := lz4Block(b)
		out := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
		return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	case thrift.Gzip:
		w := gzips.Get().(*gzip.Writer)
		defer gzips.Put(w)
		var out bytes.Buffer
		w.Reset(&out)
		return write(w, &out, b)
	case thrift.Brotli:
		w := brotlis.Get().(*brotli.Writer)
		defer brotlis.Put(w)
		var out bytes.Buffer
		w.Reset(&out)
		return write(w, &out, b)
	}
	panic("parquettest: cannot compress as " + c.String())
}

// Encoders are dear to make, and pages in tests are small.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithWindowSize(64<<10))
		must(err)
		return w
	})
	gzips   = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	brotlis = sync.Pool{New: func() any { return brotli.NewWriterLevel(nil, 3) }}
)

func write(w io.WriteCloser, out *bytes.Buffer, b []byte) []byte {
	_, err := w.Write(b)
	must(err)
	must(w.Close())
	return out.Bytes()
}

func lz4Block(b []byte) []byte {
	out := make([]byte, lz4.CompressBlockBound(len(b))+16)
	var c lz4.Compressor
	n, err := c.CompressBlock(b, out)
	must(err)
	if n > 0 || len(b) == 0 {
		return out[:n]
	}
	// Incompressible: one sequence of literals only.
	out = out[:0]
	if len(b) < 15 {
		out = append(out, byte(len(b))<<4)
	} else {
		out = append(out, 0xf0)
		k := len(b) - 15
		for ; k >= 255; k -= 255 {
			out = append(out, 255)
		}
		out = append(out, byte(k))
	}
	return append(out, b...)
}

func must(err error) {
	if err != nil {
		panic("parquettest: " + err.Error())
	}
}
