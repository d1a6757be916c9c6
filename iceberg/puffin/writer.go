package puffin

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Writer writes one file to a stream, blob by blob; it keeps no blob.
type Writer struct {
	w    io.Writer
	at   int64
	file payload
	err  error // the first; nothing is written after it
	done bool
}

// NewWriter writes the magic. The stream is the caller's, who closes it.
func NewWriter(w io.Writer) (*Writer, error) {
	out := &Writer{w: w, file: payload{Blobs: []Blob{}}}
	out.write([]byte(magic))
	return out, out.err
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.at += int64(n)
	w.err = err
}

// SetProperty adds a property of the file, such as created-by.
func (w *Writer) SetProperty(key, value string) {
	if w.file.Properties == nil {
		w.file.Properties = map[string]string{}
	}
	w.file.Properties[key] = value
}

// Add packs content by b.Codec and writes it; Offset and Length of b are ignored. It returns the description as written.
func (w *Writer) Add(b Blob, content []byte) (Blob, error) {
	stored, err := pack(b.Codec, content)
	if err != nil {
		return b, err
	}
	return w.AddStored(b, stored)
}

// AddStored writes bytes that are packed by b.Codec already: so a blob is carried over from another file unchanged.
func (w *Writer) AddStored(b Blob, stored []byte) (Blob, error) {
	if w.done {
		return b, errors.New("puffin: writer is closed")
	}
	if b.Type == "" {
		return b, errors.New("puffin: a blob needs a type")
	}
	b.Offset, b.Length = w.at, int64(len(stored))
	b.Fields, b.Properties = slices.Clone(b.Fields), maps.Clone(b.Properties)
	if b.Fields == nil {
		b.Fields = []int{}
	}
	w.write(stored)
	if w.err == nil {
		w.file.Blobs = append(w.file.Blobs, b)
	}
	return b, w.err
}

// Close writes the footer and returns what ParseFooter will.
func (w *Writer) Close() (*File, error) {
	if w.done {
		return nil, errors.New("puffin: writer is closed")
	}
	w.done = true
	text, err := json.Marshal(w.file)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPayload || len(text) > math.MaxInt32 {
		return nil, fmt.Errorf("%w: footer payload of %d bytes", ErrTooLarge, len(text))
	}
	start := w.at
	w.write([]byte(magic))
	w.write(text)
	end := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	end = binary.LittleEndian.AppendUint32(end, 0)
	w.write(append(end, magic...))
	if w.err != nil {
		return nil, w.err
	}
	return &File{Blobs: w.file.Blobs, Properties: w.file.Properties, Size: w.at, FooterSize: w.at - start}, nil
}
