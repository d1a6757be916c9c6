package source

import "testing"

func TestWorthNarrowing(t *testing.T) {
	t.Parallel()
	fill := func(rows int, set func(i int) bool) (words []uint64, n int) {
		words = make([]uint64, (rows+63)/64)
		for i := range rows {
			if set(i) {
				words[i/64] |= 1 << (i % 64)
				n++
			}
		}
		return words, n
	}
	for _, c := range []struct {
		name string
		set  func(i int) bool
		want bool
	}{
		{"none", func(int) bool { return false }, true},
		{"one in sixteen, single rows", func(i int) bool { return i%16 == 0 }, true},
		{"every second row", func(i int) bool { return i%2 == 0 }, false},
		{"half, in one run over word bounds", func(i int) bool { return i >= 100 && i < 4100 }, true},
		{"half, in runs of 100", func(i int) bool { return i/100%2 == 0 }, true},
		{"half, in runs of 20", func(i int) bool { return i/20%2 == 0 }, false},
		{"nine of ten, in one run", func(i int) bool { return i > 800 }, false},
	} {
		words, n := fill(8000, c.set)
		if got := worthNarrowing(words, 8000, n); got != c.want {
			t.Errorf("%s (%d of 8000): %v, want %v", c.name, n, got, c.want)
		}
	}
}

// A filter that does not pay is evaluated ever more rarely; one that pays is evaluated at once again.
func TestHintsBackOff(t *testing.T) {
	t.Parallel()
	var h hints
	asked := 0
	for range 1000 {
		if h.wants() {
			asked++
			h.learn(false)
		}
	}
	if asked < 5 || asked > 40 {
		t.Errorf("asked %d times of 1000", asked)
	}
	h.learn(true)
	for range 3 {
		if !h.wants() {
			t.Error("not asked after it had paid")
		}
		h.learn(true)
	}
}
