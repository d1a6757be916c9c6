package puffin

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/lakescan/lakescan/internal/usage"
)

// What the frames of a codec take before they have said anything: a block of LZ4 is 4 MiB, of which it wants a few.
const codecBytes = 24 << 20

func classed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrTooLarge) {
		t.Fatalf("untyped error %v", err)
	}
}

// FuzzFile: a whole file, its footer and each of its blobs. No panic, errors of a class, memory in proportion to the file.
func FuzzFile(f *testing.F) {
	b, _ := sample(f)
	f.Add(b)
	f.Add(footer(`{"blobs":[]}`, 0))
	f.Add(footer(`{"blobs":[]}`, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var file *File
		got := usage.Allocated(func() {
			var missing int64
			var err error
			if file, missing, err = ParseFooter(b, int64(len(b))); err != nil {
				classed(t, err)
			} else if missing != 0 {
				t.Fatalf("%d bytes missing of a whole file", missing)
			}
		})
		if most := uint64(len(b))*200 + codecBytes; got > most && !packedFooter(b) {
			t.Errorf("%d bytes allocated for the footer of %d", got, len(b))
		}
		if file == nil {
			return
		}
		for i, blob := range file.Blobs[:min(len(file.Blobs), 50)] {
			decodeBlob(t, i, blob, b[blob.Offset:blob.Offset+blob.Length])
		}
	})
}

// packedFooter: what it unpacks to is bounded by maxPayload alone.
func packedFooter(b []byte) bool { return len(b) >= trailer && b[len(b)-8]&flagPacked != 0 }

func decodeBlob(t *testing.T, i int, blob Blob, stored []byte) {
	const limit = 1 << 16
	got := usage.Allocated(func() {
		content, err := blob.Decode(stored, limit)
		if err != nil {
			classed(t, err)
		} else if len(content) > limit {
			t.Fatalf("%d bytes past the limit", len(content))
		}
	})
	if most := uint64(codecBytes + 4*limit + 8*len(stored)); got > most {
		t.Errorf("blob %d: %d bytes allocated for %d", i, got, len(stored))
	}
}

// FuzzBlob reaches the codecs without having to guess a file around them.
func FuzzBlob(f *testing.F) {
	for i, codec := range []string{Plain, LZ4, Zstd} {
		packed, err := pack(codec, bytes.Repeat([]byte("content "), 100))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, uint8(i))
	}
	f.Fuzz(func(t *testing.T, stored []byte, codec uint8) {
		decodeBlob(t, 0, Blob{Type: "t", Length: int64(len(stored)), Codec: []string{Plain, LZ4, Zstd, "other"}[codec%4]}, stored)
	})
}

// FuzzPayload reaches the footer's checks: the text is framed, plain and packed, and what is accepted is written and read again.
func FuzzPayload(f *testing.F) {
	b, file := sample(f)
	text, err := json.Marshal(payload{file.Blobs, file.Properties})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, uint16(len(b)))
	f.Add([]byte(`{"blobs":[{"type":"x","fields":[],"offset":4,"length":9223372036854775807}]}`), uint16(10))
	f.Fuzz(func(t *testing.T, text []byte, before uint16) {
		whole := append(append([]byte(magic), make([]byte, before)...), footer(string(text), 0)...)
		got := usage.Allocated(func() {
			file, missing, err := ParseFooter(whole, int64(len(whole)))
			if err != nil {
				classed(t, err)
				return
			}
			if missing != 0 || file.FooterSize != int64(len(text)+minFooter) {
				t.Fatalf("%d bytes missing, a footer of %d", missing, file.FooterSize)
			}
			for i, b := range file.Blobs {
				if b.Offset < int64(len(magic)) || b.Length < 0 || b.Offset+b.Length > file.Size-file.FooterSize {
					t.Fatalf("blob %d at [%d, +%d) of %d bytes", i, b.Offset, b.Length, file.Size-file.FooterSize)
				}
			}
		})
		if most := uint64(len(text))*200 + 1<<16; got > most {
			t.Errorf("%d bytes allocated for a text of %d", got, len(text))
		}
	})
}
