package encoding

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/lakescan/lakescan/parquet/parquettest/bounded"
)

// Levels are those of the naive reader, whole and in pieces that begin anywhere; one above the maximum is an error.
func FuzzLevels(f *testing.F) {
	f.Add([]byte{0x03, 0b11100100, 0b11100100, 8, 3}, uint8(2), uint16(20), uint16(3))
	f.Add([]byte{0x05, 1, 2, 3, 4, 5, 6, 20, 1}, uint8(5), uint16(26), uint16(9))
	f.Fuzz(func(t *testing.T, b []byte, maximum uint8, n, skip uint16) {
		width := uint(1)
		for ; maximum>>width != 0; width++ {
		}
		want, ok := naiveHybrid(b, int(width), int(n))
		for _, v := range want {
			ok = ok && v <= uint32(maximum)
		}
		bounded.Run(t, 1<<20, func() {
			var h Hybrid
			if err := h.Init(b, width); err != nil {
				t.Fatal(err)
			}
			got := make([]uint8, n)
			if err := h.Levels(got, maximum); (err == nil) != ok || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v; naive %v", err, ok)
			}
			if !ok {
				return
			}
			for i, v := range want {
				if uint32(got[i]) != v {
					t.Fatalf("level %d is %d, want %d", i, got[i], v)
				}
			}
			from := int(min(skip, n))
			_ = h.Init(b, width)
			if err := h.Skip(from); err != nil {
				t.Fatal(err)
			}
			rest := make([]uint8, int(n)-from)
			if err := h.Levels(rest, maximum); err != nil || !bytes.Equal(rest, got[from:]) {
				t.Fatalf("from %d on: %v", from, err)
			}
		})
	})
}

// Streams are joined as the definition says, from any value on.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint8(8), uint16(1), uint16(2))
	f.Add([]byte("0123456789abcdef"), uint8(4), uint16(0), uint16(4))
	f.Fuzz(func(t *testing.T, b []byte, width uint8, skip, n uint16) {
		if width == 0 {
			return
		}
		w := int(width)
		bounded.Run(t, uint64(w)*uint64(n)+1<<20, func() {
			var s Split
			if err := s.Init(b, w); err != nil {
				if len(b)%w == 0 || !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				return
			}
			all := len(b) / w
			if err := s.Skip(int(skip)); (err == nil) != (int(skip) <= all) {
				t.Fatalf("skip %d of %d: %v", skip, all, err)
			} else if err != nil {
				return
			}
			got := make([]byte, int(n)*w)
			if err := s.Next(got); (err == nil) != (int(n) <= all-int(skip)) {
				t.Fatalf("%d of %d: %v", n, all-int(skip), err)
			} else if err != nil {
				return
			}
			for i := range int(n) {
				for k := range w {
					if got[i*w+k] != b[k*all+int(skip)+i] {
						t.Fatalf("byte %d of value %d", k, i)
					}
				}
			}
		})
	})
}

// Views say what the format's definition says, for sound and broken byte strings, near the end of their bytes too.
func FuzzViews(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00abc\x0c\x00\x00\x00twelve bytes\x0d\x00\x00\x00thirteen here"), uint8(3), uint16(7), uint8(2))
	f.Add([]byte("\x00\x00\x00\x00\x04\x00\x00\x00four"), uint8(2), uint16(0), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint8, base uint16, buffer uint8) {
		bounded.Run(t, 1<<20, func() {
			dst := bytes.Repeat([]byte{0xee}, int(n)*ViewWidth)
			read, long, ok := Views(dst, b, int(base), uint32(buffer))
			at, sum, sound := 0, 0, true
			for i := range int(n) {
				if len(b)-at < 4 || int64(binary.LittleEndian.Uint32(b[at:])) > int64(len(b)-at-4) {
					sound = false
					break
				}
				k := int(binary.LittleEndian.Uint32(b[at:]))
				value := b[at+4 : at+4+k]
				want := make([]byte, ViewWidth)
				binary.LittleEndian.PutUint32(want, uint32(k))
				copy(want[4:], value)
				if k > Inline {
					sum += k
					binary.LittleEndian.PutUint32(want[8:], uint32(buffer))
					binary.LittleEndian.PutUint32(want[12:], uint32(int(base)+at+4))
				}
				if got := dst[i*ViewWidth:][:ViewWidth]; !bytes.Equal(got, want) {
					t.Fatalf("view %d of %q is %x, want %x", i, value, got, want)
				}
				at += 4 + k
			}
			if ok != sound || ok && (read != at || long != sum) {
				t.Fatalf("%v after %d bytes, %d in buffers; want %v, %d, %d", ok, read, long, sound, at, sum)
			}
		})
	})
}
