package deletes

import (
	"errors"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/lakescan/lakescan/internal/usage"
)

func FuzzRoaring(f *testing.F) {
	for _, rows := range rowPatterns() {
		if len(rows) < 2000 {
			f.Add(write(f, rows, false))
			f.Add(write(f, rows, true))
		}
	}
	f.Add(write(f, []uint64{1, 2, 3, 70000, 1 << 33}, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r *roaring
		var err error
		if got := usage.Allocated(func() { r, err = parseRoaring(b) }); got > 400*uint64(len(b))+1<<14 {
			t.Fatalf("%d bytes allocated for %d", got, len(b))
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if r.bytes() > 128*int64(len(b))+64 {
			t.Fatalf("%d bytes for %d", r.bytes(), len(b))
		}
		s := r.selection()
		if n := s.Count(1 << 62); n != r.cardinality && r.last < 1<<62 {
			t.Fatalf("%d rows selected of %d", n, r.cardinality)
		}
		// What we accept, the library must read to the same rows.
		lib := roaring64.New()
		if _, err := lib.FromUnsafeBytes(slices.Clone(b)); err != nil {
			t.Skip("the library is stricter: ", err)
		}
		if lib.GetCardinality() != uint64(r.cardinality) {
			t.Fatalf("cardinality %d, the library counts %d", r.cardinality, lib.GetCardinality())
		}
		if r.cardinality > 1<<20 || r.last >= 1<<62 {
			return
		}
		// A key with no row below it is read by us and by the library, whose iterator then panics.
		if lib.Validate() != nil {
			t.Skip("the library reads this, but cannot list its rows")
		}
		for it := lib.Iterator(); it.HasNext(); {
			if p := it.Next(); !s.Contains(int64(p)) {
				t.Fatalf("position %d is missing", p)
			}
		}
	})
}

// FuzzVector: the frame of a deletion vector and the bitmap inside, which a second mode frames well, so that the bitmap is reached.
// Memory stays in proportion to the blob: 8 KiB of bits for a container of a few bytes (a run of rows) are the most.
func FuzzVector(f *testing.F) {
	for _, rows := range [][]uint64{nil, {0}, {1, 2, 3, 70000, 1 << 33}, {65535, 65536}} {
		for _, optimize := range []bool{false, true} {
			f.Add(frame(write(f, rows, optimize)), false)
			f.Add(write(f, rows, optimize), true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, framed bool) {
		if framed {
			b = frame(b)
		}
		var err error
		got := usage.Allocated(func() {
			var r *roaring
			if r, err = parseVector(b); err != nil {
				return
			}
			if r.cardinality < 0 || r.cardinality > 0 && r.last < r.cardinality-1 {
				t.Errorf("%d positions up to %d", r.cardinality, r.last)
			}
			if err := checkVector(r, r.cardinality+1, -1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("a wrong cardinality: %v", err)
			}
			if err := checkVector(r, r.cardinality, r.last); r.cardinality > 0 && !errors.Is(err, ErrCorrupt) {
				t.Errorf("a position past the rows: %v", err)
			}
			if s, err := DecodeVector(b); err != nil || s.None() != (r.cardinality == 0) {
				t.Errorf("decoded whole: %v", err)
			}
		})
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("untyped error %v", err)
		}
		if most := 2000*uint64(len(b)) + 1<<16; got > most {
			t.Errorf("%d bytes allocated for %d", got, len(b))
		}
	})
}
