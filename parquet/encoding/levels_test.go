package encoding

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Levels of every width, in packed runs and repeated ones of odd lengths, read in odd steps; levels above the maximum are
// found wherever they stand.
func TestLevelsOfEveryWidth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 11))
		width := 1 + int(seed%7)
		maximum := uint8(1<<(width-1) + r.IntN(1<<(width-1)))
		var want []uint8
		var b []byte
		for range 1 + r.IntN(5) {
			if r.IntN(3) == 0 {
				v, n := uint8(r.IntN(int(maximum)+1)), 1+r.IntN(40)
				b = append(binary.AppendUvarint(b, uint64(n)<<1), v)
				for range n {
					want = append(want, v)
				}
				continue
			}
			groups := 1 + r.IntN(6)
			b = binary.AppendUvarint(b, uint64(groups)<<1|1)
			packed := make([]byte, groups*width)
			for i := range groups * 8 {
				v := uint8(r.IntN(int(maximum) + 1))
				want = append(want, v)
				for k := range width {
					if v>>k&1 == 1 {
						at := i*width + k
						packed[at/8] |= 1 << (at % 8)
					}
				}
			}
			b = append(b, packed...)
		}
		read := func(maximum uint8) ([]uint8, error) {
			var h Hybrid
			if err := h.Init(b, uint(width)); err != nil {
				t.Fatal(err)
			}
			got := make([]uint8, len(want))
			for at := 0; at < len(got); {
				n := min(1+r.IntN(20), len(got)-at)
				if err := h.Levels(got[at:at+n], maximum); err != nil {
					return nil, err
				}
				at += n
			}
			return got, nil
		}
		got, err := read(maximum)
		if err != nil {
			t.Fatalf("seed %d, width %d: %v", seed, width, err)
		}
		top := uint8(0)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %d, width %d: level %d is %d, want %d", seed, width, i, got[i], want[i])
			}
			top = max(top, want[i])
		}
		if top > 0 {
			if _, err := read(top - 1); err == nil {
				t.Fatalf("seed %d, width %d: a level of %d passed a maximum of %d", seed, width, top, top-1)
			}
		}
	}
}
