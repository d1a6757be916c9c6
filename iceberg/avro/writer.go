package avro

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// WriterConfig of a container file. Meta are the header's further keys; Codec is null, deflate (the default), snappy or
// zstandard; BlockBytes is the unpacked size at which a block ends, 64 KiB by default.
type WriterConfig struct {
	Schema     []byte
	Meta       map[string]string
	Codec      string
	BlockBytes int
}

// Writer writes a container file. It belongs to one goroutine. The same records with the same configuration give the same
// bytes: the sync marker is derived from the header.
type Writer struct {
	w       io.Writer
	codec   string
	limit   int
	sync    [syncSize]byte
	block   []byte
	records int64
	flate   *flate.Writer
	zstd    *zstd.Encoder
	err     error
}

// NewWriter writes the header. The schema is written as given and not checked.
func NewWriter(w io.Writer, c WriterConfig) (*Writer, error) {
	out := &Writer{w: w, codec: c.Codec, limit: c.BlockBytes}
	if out.codec == "" {
		out.codec = "deflate"
	}
	if out.limit <= 0 {
		out.limit = 64 << 10
	}
	var err error
	switch out.codec {
	case "null", "snappy":
	case "deflate":
		out.flate, err = flate.NewWriter(nil, flate.DefaultCompression)
	case "zstandard":
		out.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	default:
		err = fmt.Errorf("%w %q", ErrCodec, c.Codec)
	}
	if err != nil {
		return nil, err
	}
	meta := map[string]string{"avro.schema": string(c.Schema), "avro.codec": out.codec}
	maps.Copy(meta, c.Meta)
	head := AppendLong(slices.Clone(magic), int64(len(meta)))
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		head = AppendString(AppendString(head, k), meta[k])
	}
	head = AppendLong(head, 0)
	sum := sha256.Sum256(head)
	copy(out.sync[:], sum[:])
	_, err = w.Write(append(head, out.sync[:]...))
	return out, err
}

// Append adds one record, encoded by the Append functions in the order of the schema.
func (w *Writer) Append(record []byte) error {
	if w.err != nil {
		return w.err
	}
	w.block = append(w.block, record...)
	w.records++
	if len(w.block) >= w.limit {
		w.err = w.flush()
	}
	return w.err
}

// Close writes the last block; it does not close the writer below.
func (w *Writer) Close() error {
	if w.err == nil && w.records > 0 {
		w.err = w.flush()
	}
	return w.err
}

func (w *Writer) flush() error {
	packed, err := w.pack()
	if err != nil {
		return err
	}
	out := AppendLong(AppendLong(nil, w.records), int64(len(packed)))
	out = append(append(out, packed...), w.sync[:]...)
	w.block, w.records = w.block[:0], 0
	_, err = w.w.Write(out)
	return err
}

func (w *Writer) pack() ([]byte, error) {
	switch w.codec {
	case "deflate":
		var b bytes.Buffer
		w.flate.Reset(&b)
		if _, err := w.flate.Write(w.block); err != nil {
			return nil, err
		}
		err := w.flate.Close()
		return b.Bytes(), err
	case "snappy":
		return binary.BigEndian.AppendUint32(snappy.Encode(nil, w.block), crc32.ChecksumIEEE(w.block)), nil
	case "zstandard":
		return w.zstd.EncodeAll(w.block, nil), nil
	}
	return w.block, nil
}

// AppendLong appends an int or long. A null branch, an enum, an array's count are longs too.
func AppendLong(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v)<<1^uint64(v>>63))
}

// AppendBool appends a boolean.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendFloat appends a float.
func AppendFloat(b []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}

// AppendDouble appends a double.
func AppendDouble(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendBytes appends bytes with their length; a fixed is appended without one, by append.
func AppendBytes(b, v []byte) []byte { return append(AppendLong(b, int64(len(v))), v...) }

// AppendString appends a string.
func AppendString(b []byte, v string) []byte { return append(AppendLong(b, int64(len(v))), v...) }
