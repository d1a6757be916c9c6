package page_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/parquettest/bounded"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// stored is a page of a file that parquettest writes, and its bytes.
func stored(t testing.TB, version int, crc bool) []byte {
	t.Helper()
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated},
		thrift.SchemaElement{Name: "element", Type: thrift.Int32, Repetition: thrift.Optional})
	rows := []any{nil, []any{}, []any{int32(1), nil, int32(3)}, []any{int32(4)}}
	file := parquettest.Table(elements, [][]any{rows}, parquettest.Layout{Version: version, CRC: crc}).Bytes()
	return file[4:]
}

// Levels and values of both versions, to the byte.
func TestPartsOfBothVersions(t *testing.T) {
	t.Parallel()
	values := []byte{1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}
	for _, version := range []int{1, 2} {
		var p page.Page
		b := stored(t, version, true)
		n, err := page.Read(b, 4, &p)
		if err != nil || p.Offset != 4 || !p.Data() || n < len(p.Body) || !p.HasCRC {
			t.Fatalf("v%d: %+v, %d bytes, %v", version, p, n, err)
		}
		if err := p.Verify(); err != nil {
			t.Errorf("v%d: %v", version, err)
		}
		var parts page.Parts
		size := len(values)
		if version == 1 {
			parts, err = p.SplitV1(p.Body, 1, 3)
		} else {
			parts, size, err = p.SplitV2()
		}
		if err != nil || !bytes.Equal(parts.Values, values) || size != len(values) || len(parts.Repetition) == 0 || len(parts.Definition) == 0 {
			t.Errorf("v%d: %+v, %d, %v", version, parts, size, err)
		}
	}
}

// Bytes that end within a page say so: more of them may help.
func TestShortIsNotBroken(t *testing.T) {
	t.Parallel()
	b := stored(t, 1, false)
	var p page.Page
	n, err := page.Read(b, 0, &p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := page.Read(b[:i:i], 0, &p); !errors.Is(err, page.ErrShort) || !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", i, n, err)
		}
	}
}

// Q8: CRC-32 is over the body as stored; every bit of it counts.
func TestQ8_EveryBitOfABodyIsCovered(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		b := slices.Clone(stored(t, version, true))
		var p page.Page
		if _, err := page.Read(b, 0, &p); err != nil {
			t.Fatal(err)
		}
		for i := range p.Body {
			for bit := range 8 {
				p.Body[i] ^= 1 << bit
				if p.Verify() == nil {
					t.Errorf("v%d: bit %d of byte %d flipped", version, bit, i)
				}
				p.Body[i] ^= 1 << bit
			}
		}
		if p.Verify() != nil || p.CRC != crc32.ChecksumIEEE(p.Body) {
			t.Error("a sound page fails")
		}
		p.HasCRC, p.CRC = false, 0
		if p.Verify() != nil {
			t.Error("a page without a checksum fails")
		}
	}
}

// Lengths of levels are not believed.
func TestImpossibleLevels(t *testing.T) {
	t.Parallel()
	v1 := page.Page{PageHeader: thrift.PageHeader{Type: thrift.DataPage, NumValues: 9, DefinitionEncoding: thrift.RLE, RepetitionEncoding: thrift.RLE}}
	for name, b := range map[string][]byte{
		"no length":   {1, 0},
		"too long":    binary.LittleEndian.AppendUint32(nil, 1),
		"negative":    binary.LittleEndian.AppendUint32(nil, 1<<31),
		"second part": append(binary.LittleEndian.AppendUint32(nil, 1), 0, 5, 0, 0),
	} {
		if _, err := v1.SplitV1(b, 1, 1); !errors.Is(err, page.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := v1
	old.DefinitionEncoding = thrift.BitPacked
	if _, err := old.SplitV1([]byte{0}, 0, 1); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("nine levels in a byte: %v", err)
	}
	if parts, err := old.SplitV1([]byte{0xff, 0x80, 7}, 0, 1); err != nil || len(parts.Definition) != 2 || len(parts.Values) != 1 {
		t.Errorf("nine levels in two bytes: %+v, %v", parts, err)
	}
	old.DefinitionEncoding = thrift.Plain
	if _, err := old.SplitV1(make([]byte, 9), 0, 1); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("PLAIN levels: %v", err)
	}
	v2 := page.Page{PageHeader: thrift.PageHeader{Type: thrift.DataPageV2, RepetitionLength: 1<<31 - 1, DefinitionLength: 1<<31 - 1, UncompressedSize: 9}, Body: make([]byte, 9)}
	if _, _, err := v2.SplitV2(); !errors.Is(err, page.ErrCorrupt) {
		t.Errorf("v2: %v", err)
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for maximum, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 255: 8} {
		if got := page.Width(maximum); got != want {
			t.Errorf("levels to %d: %d bits, want %d", maximum, got, want)
		}
	}
}

// Headers and bodies of any bytes: parts lie inside the page, memory is that of the header.
func FuzzPage(f *testing.F) {
	f.Add(stored(f, 1, true), uint8(1), uint8(3))
	f.Add(stored(f, 2, true), uint8(1), uint8(3))
	f.Add(stored(f, 1, false), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, rep, def uint8) {
		bounded.Run(t, uint64(8*len(b)+64<<10), func() {
			var p page.Page
			for at := 0; at < len(b); {
				n, err := page.Read(b[at:], int64(at), &p)
				if err != nil {
					if !errors.Is(err, page.ErrCorrupt) {
						t.Fatal(err)
					}
					return
				}
				if n <= 0 || n > len(b)-at || len(p.Body) != int(p.CompressedSize) || len(p.Body) > n {
					t.Fatalf("page of %d bytes of %d: %+v", n, len(b)-at, p)
				}
				_ = p.Verify()
				if parts, err := p.SplitV1(p.Body, int(rep), int(def)); err == nil && len(parts.Repetition)+len(parts.Definition)+len(parts.Values) > len(p.Body) {
					t.Fatalf("v1: %d bytes make %+v", len(p.Body), parts)
				}
				if parts, size, err := p.SplitV2(); err == nil && (size < 0 || len(parts.Repetition)+len(parts.Definition)+len(parts.Values) != len(p.Body)) {
					t.Fatalf("v2: %d bytes make %+v and %d", len(p.Body), parts, size)
				}
				at += n
			}
		})
	})
}
