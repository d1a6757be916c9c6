package encoding

import (
	"bytes"
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
