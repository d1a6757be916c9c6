package puffin

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Decode unpacks the stored bytes of a blob; limit bounds what comes out. A blob that is not packed is returned as it is.
func (b Blob) Decode(stored []byte, limit int64) ([]byte, error) {
	if int64(len(stored)) != b.Length {
		return nil, corrupt("blob %s: %d bytes given, %d stored", b.Type, len(stored), b.Length)
	}
	var out []byte
	var err error
	switch b.Codec {
	case Plain:
		if b.Length > limit {
			err = fmt.Errorf("%w: %d bytes", ErrTooLarge, b.Length)
		}
		out = stored
	case LZ4:
		out, err = unpackLZ4(stored, limit)
	case Zstd:
		out, err = unpackZstd(stored, limit)
	default:
		err = fmt.Errorf("%w: compression codec %q", ErrUnsupported, b.Codec)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", b.Type, err)
	}
	return out, nil
}

func unpackLZ4(b []byte, limit int64) ([]byte, error) {
	return drain(lz4.NewReader(bytes.NewReader(b)), limit)
}

func unpackZstd(b []byte, limit int64) ([]byte, error) {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max(limit, 1<<10))))
	if err != nil {
		return nil, corrupt("zstd: %v", err)
	}
	defer r.Close()
	return drain(r, limit)
}

// drain reads to the end, as far as the limit.
func drain(r io.Reader, limit int64) ([]byte, error) {
	var out bytes.Buffer
	n, err := out.ReadFrom(io.LimitReader(r, limit+1))
	switch {
	case n > limit:
		return nil, fmt.Errorf("%w: more than %d bytes unpacked", ErrTooLarge, limit)
	case err != nil:
		return nil, corrupt("packed bytes: %v", err)
	}
	return out.Bytes(), nil
}

// pack is deterministic: the same blob gives the same bytes.
func pack(codec string, b []byte) ([]byte, error) {
	switch codec {
	case Plain:
		return b, nil
	case Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		out := e.EncodeAll(b, nil)
		return out, e.Close()
	case LZ4: // one frame that states its content's size [spec]
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := w.Apply(lz4.SizeOption(uint64(len(b)))); err != nil {
			return nil, err
		}
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}
	return nil, fmt.Errorf("%w: compression codec %q", ErrUnsupported, codec)
}
