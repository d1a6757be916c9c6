package thrift

import (
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzParsers: any bytes give a value or ErrMalformed, and never more memory than a small factor of their length.
func FuzzParsers(f *testing.F) {
	f.Add([]byte{0x15, 0x00, 0x15, 0x10, 0x15, 0x10, 0x2c, 0x15, 0x02, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00})
	f.Add([]byte{0x19, 0x1c, 0x16, 0x08, 0x15, 0x20, 0x16, 0x00, 0x00, 0x00})
	f.Add([]byte{0x15, 0x40, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h PageHeader
		n, err := ParsePageHeader(b, &h)
		check(t, "page header", err)
		if err == nil && (n > len(b) || h.CompressedSize < 0 || h.UncompressedSize < 0 || h.NumValues < 0) {
			t.Fatalf("%d of %d bytes: %+v", n, len(b), h)
		}
		x, err := ParseOffsetIndex(b)
		check(t, "offset index", err)
		if err == nil && cap(x.Pages) > len(b) {
			t.Fatalf("%d pages from %d bytes", cap(x.Pages), len(b))
		}
		_, err = ParseColumnIndex(b)
		check(t, "column index", err)
		_, n, err = ParseBloomHeader(b)
		check(t, "Bloom header", err)
		if n > len(b) {
			t.Fatalf("Bloom header of %d bytes in %d", n, len(b))
		}
		_, err = ParseStatistics(b)
		check(t, "statistics", err)
		_, err = ParseFileMetaData(b)
		check(t, "footer", err)
	})
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrMalformed) {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestLengthsAreNotBelieved(t *testing.T) {
	t.Parallel()
	huge := binary.AppendUvarint([]byte{0x19, 0xfc}, 1<<40) // field 1: a list of 2^40 structs
	if _, err := ParseOffsetIndex(huge); !errors.Is(err, ErrMalformed) {
		t.Errorf("list: %v", err)
	}
	text := binary.AppendUvarint([]byte{0x18}, 1<<40) // field 1: 2^40 bytes
	if _, err := ParseStatistics(text); !errors.Is(err, ErrMalformed) {
		t.Errorf("bytes: %v", err)
	}
	var deep []byte
	for range 1000 {
		deep = append(deep, 0x1c) // field 1: a struct
	}
	var h PageHeader
	if _, err := ParsePageHeader(deep, &h); !errors.Is(err, ErrMalformed) {
		t.Errorf("depth: %v", err)
	}
}
