package puffin

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Classes of errors.
var (
	ErrCorrupt     = errors.New("puffin: corrupt")
	ErrUnsupported = errors.New("puffin: unsupported")
	ErrTooLarge    = errors.New("puffin: larger than the limit")
)

const (
	magic      = "PFA1"
	trailer    = 4 + 4 + len(magic) // payload size, flags, magic
	minFooter  = len(magic) + trailer
	flagPacked = 1 // the payload is an LZ4 frame
	maxPayload = 64 << 20
)

// Codecs of blobs.
const (
	Plain = ""
	LZ4   = "lz4"
	Zstd  = "zstd"
)

// Blob describes one blob. Offset and Length are those of the bytes as stored.
type Blob struct {
	Type       string            `json:"type"`
	Fields     []int             `json:"fields"`
	Snapshot   int64             `json:"snapshot-id"`
	Sequence   int64             `json:"sequence-number"`
	Offset     int64             `json:"offset"`
	Length     int64             `json:"length"`
	Codec      string            `json:"compression-codec,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// File is a parsed footer.
type File struct {
	Blobs      []Blob
	Properties map[string]string
	Size       int64 // of the whole file
	FooterSize int64 // from the footer's first magic to the end
}

type payload struct {
	Blobs      []Blob            `json:"blobs"`
	Properties map[string]string `json:"properties,omitempty"`
}

// ParseFooter reads the footer out of the last bytes of a file of size bytes. missing > 0 says how many bytes before tail are
// needed too.
func ParseFooter(tail []byte, size int64) (f *File, missing int64, err error) {
	if size < int64(len(magic)+minFooter) || int64(len(tail)) > size {
		return nil, 0, corrupt("a file of %d bytes", size)
	}
	if len(tail) < trailer {
		return nil, int64(trailer - len(tail)), nil
	}
	end := tail[len(tail)-trailer:]
	if string(end[8:]) != magic {
		return nil, 0, corrupt("no magic at the end")
	}
	n, flags := int64(int32(binary.LittleEndian.Uint32(end))), binary.LittleEndian.Uint32(end[4:])
	footer := n + int64(minFooter)
	if n < 0 || footer > size-int64(len(magic)) {
		return nil, 0, corrupt("footer payload of %d bytes in a file of %d", n, size)
	}
	if n > maxPayload {
		return nil, 0, fmt.Errorf("%w: footer payload of %d bytes", ErrTooLarge, n)
	}
	if flags&^flagPacked != 0 {
		return nil, 0, fmt.Errorf("%w: footer flags %#x", ErrUnsupported, flags)
	}
	if int64(len(tail)) < footer {
		return nil, footer - int64(len(tail)), nil
	}
	text := tail[int64(len(tail))-footer : len(tail)-trailer]
	if string(text[:len(magic)]) != magic {
		return nil, 0, corrupt("no magic before the footer")
	}
	text = text[len(magic):]
	if flags&flagPacked != 0 {
		if text, err = unpackLZ4(text, maxPayload); err != nil {
			return nil, 0, err
		}
	}
	if f, err = parsePayload(text, size-footer); err != nil {
		return nil, 0, err
	}
	f.Size, f.FooterSize = size, footer
	return f, 0, nil
}

// parsePayload checks each blob against the bytes before the footer.
func parsePayload(text []byte, end int64) (*File, error) {
	var p payload
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&p); err != nil {
		return nil, corrupt("footer: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, corrupt("footer: text after the object")
	}
	for i, b := range p.Blobs {
		if b.Offset < int64(len(magic)) || b.Length < 0 || b.Offset > end || b.Length > end-b.Offset {
			return nil, corrupt("blob %d (%s) at [%d, +%d): the blobs end at %d", i, b.Type, b.Offset, b.Length, end)
		}
	}
	return &File{Blobs: p.Blobs, Properties: p.Properties}, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
