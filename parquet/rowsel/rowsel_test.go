package rowsel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the naive set: bools of the first rows, and whether the rest is selected.
type model struct {
	rows []bool
	tail bool
}

func (m model) at(row int64) bool {
	if row < int64(len(m.rows)) {
		return m.rows[row]
	}
	return m.tail
}

func (m model) selection() Selection {
	var b Builder
	for i, in := range m.rows {
		if in {
			b.Add(int64(i), int64(i)+1)
		}
	}
	if m.tail {
		b.Add(int64(len(m.rows)), forever)
	}
	return b.Selection()
}

// forms returns the selection in both representations.
func forms(s Selection) []Selection {
	if s.s == nil {
		return []Selection{s}
	}
	ranges := &set{}
	for c := (cursor{s: s.s}); ; {
		from, to, ok := c.next()
		if !ok {
			break
		}
		ranges.ranges = append(ranges.ranges, span{from, to})
	}
	return []Selection{{ranges}, {ranges.bitmap()}}
}

// check compares every answer of s with the model's, over rows [0, n).
func check(t interface{ Fatalf(string, ...any) }, what string, s Selection, m model, n int64) {
	count, runs := int64(0), []span(nil)
	for r := range n {
		if m.at(r) != s.Contains(r) {
			t.Fatalf("%s: row %d: want %v, got %v in %s", what, r, m.at(r), !m.at(r), s)
		}
		if !m.at(r) {
			continue
		}
		count++
		if len(runs) > 0 && runs[len(runs)-1].to == r {
			runs[len(runs)-1].to++
		} else {
			runs = append(runs, span{r, r + 1})
		}
	}
	if got := s.Count(n); got != count {
		t.Fatalf("%s: count: want %d, got %d of %s", what, count, got, s)
	}
	var got []span
	for a, b := range s.Ranges(n) {
		got = append(got, span{a, b})
	}
	if !slices.Equal(got, runs) {
		t.Fatalf("%s: ranges: want %v, got %v", what, runs, got)
	}
	mask := slices.Repeat([]byte{0xaa}, int(n+7)/8)
	if got := s.Mask(mask, 0, n); got != count {
		t.Fatalf("%s: mask count: want %d, got %d", what, count, got)
	}
	for r := range int64(len(mask)) * 8 {
		if mask[r/8]>>(r%8)&1 == 1 != (r < n && m.at(r)) {
			t.Fatalf("%s: mask bit %d is wrong", what, r)
		}
	}
	sound(t, what, s)
}

// sound checks what the representation promises.
func sound(t interface{ Fatalf(string, ...any) }, what string, s Selection) {
	if s.s == nil || s.s.isBitmap() {
		return
	}
	for i, r := range s.s.ranges {
		if r.from >= r.to || r.from < 0 || i > 0 && r.from <= s.s.ranges[i-1].to {
			t.Fatalf("%s: ranges %v are not sorted and apart", what, s.s.ranges)
		}
	}
	if slices.Equal(s.s.ranges, []span{{0, forever}}) {
		t.Fatalf("%s: all is not the zero value", what)
	}
}

func TestZeroValueIsAllAndNotNone(t *testing.T) {
	t.Parallel()
	var all Selection
	if !all.All() || all.None() || all.Count(7) != 7 || !all.Contains(1<<60) {
		t.Error("the zero value must select every row")
	}
	none := None()
	if none.All() || !none.None() || none.Count(7) != 0 || none.Contains(0) {
		t.Error("None must select no row")
	}
	if !all.Not().Equal(none) || !none.Not().All() || none.Equal(all) {
		t.Error("All and None must be each other's complement")
	}
	if !FromRanges(0, 5, 5, forever).All() || !FromRanges().None() || !FromRanges(3, 3).None() {
		t.Error("ranges must be normalised")
	}
}

// Every pair of subsets of 6 rows, with and without the endless rest, in every representation, under every operation.
func TestOperationsExhaustively(t *testing.T) {
	t.Parallel()
	const n = 6
	var models []model
	for bits := range 1 << (n + 1) {
		m := model{rows: make([]bool, n), tail: bits>>n == 1}
		for i := range m.rows {
			m.rows[i] = bits>>i&1 == 1
		}
		models = append(models, m)
	}
	combined := func(a, b model, f func(a, b bool) bool) model {
		m := model{rows: make([]bool, n), tail: f(a.tail, b.tail)}
		for i := range m.rows {
			m.rows[i] = f(a.rows[i], b.rows[i])
		}
		return m
	}
	for _, a := range models {
		for fa, x := range forms(a.selection()) {
			check(t, fmt.Sprint(a), x, a, n+2)
			check(t, "not", x.Not(), combined(a, a, func(a, _ bool) bool { return !a }), n+2)
			for _, b := range models {
				for fb, y := range forms(b.selection()) {
					what := fmt.Sprintf("%v form %d, %v form %d", a, fa, b, fb)
					check(t, "and "+what, x.And(y), combined(a, b, func(a, b bool) bool { return a && b }), n+2)
					check(t, "or "+what, x.Or(y), combined(a, b, func(a, b bool) bool { return a || b }), n+2)
					check(t, "and not "+what, x.AndNot(y), combined(a, b, func(a, b bool) bool { return a && !b }), n+2)
					if x.Equal(y) != combined(a, b, func(a, b bool) bool { return a == b }).all() {
						t.Fatalf("equal %s", what)
					}
				}
			}
		}
	}
}

func (m model) all() bool { return m.tail && !slices.Contains(m.rows, false) }

func TestCutAndShiftExhaustively(t *testing.T) {
	t.Parallel()
	const n = 7
	for bits := range 1 << (n + 1) {
		m := model{rows: make([]bool, n), tail: bits>>n == 1}
		for i := range m.rows {
			m.rows[i] = bits>>i&1 == 1
		}
		for _, s := range forms(m.selection()) {
			for first := range int64(n + 2) {
				for rows := range int64(n + 3) {
					cut := s.Cut(first, rows)
					want := model{}
					for r := range rows {
						want.rows = append(want.rows, m.at(first+r))
					}
					check(t, fmt.Sprintf("cut %d+%d of %v", first, rows, m), cut, want, rows)
					if whole := !slices.Contains(want.rows, false); rows > 0 && whole != cut.All() {
						t.Fatalf("cut %d+%d of %v: All is %v", first, rows, m, cut.All())
					}
				}
				shifted := model{rows: append(make([]bool, first), m.rows...), tail: m.tail}
				check(t, fmt.Sprintf("shift %d of %v", first, m), s.Shift(first), shifted, n+first+2)
			}
		}
	}
}

func TestFarRangesStaySmall(t *testing.T) {
	t.Parallel()
	var b Builder
	for i := range int64(1000) {
		b.Add(2*i, 2*i+1)
	}
	dense := b.Selection()
	if !dense.s.isBitmap() {
		t.Error("dense single rows must become a bitmap")
	}
	far := FromRanges(1<<60, 1<<60+1)
	for _, s := range []Selection{dense.Or(far), far.Or(dense), far.AndNot(dense), dense.AndNot(far), dense.Not(), dense.Shift(1 << 61)} {
		if s.Bytes() > 1000*16+64 {
			t.Errorf("%s takes %d bytes", s, s.Bytes())
		}
	}
	if got := dense.Or(far).Count(forever); got != 1001 {
		t.Errorf("count %d", got)
	}
	if one := FromRanges(0, 1).Or(far); one.Bytes() > 64 {
		t.Errorf("two rows take %d bytes", one.Bytes())
	}
}

// randomModel makes runs of very unlike lengths, so both representations come up.
func randomModel(t *rapid.T, label string) model {
	seed := rapid.Uint64().Draw(t, label+" seed")
	n := rapid.IntRange(0, 2000).Draw(t, label+" rows")
	long := rapid.SampledFrom([]int{1, 2, 5, 100, 1000}).Draw(t, label+" run")
	r := rand.New(rand.NewPCG(seed, 1))
	m := model{rows: make([]bool, n), tail: r.IntN(2) == 0}
	for i, in := 0, r.IntN(2) == 0; i < n; in = !in {
		for range min(1+r.IntN(long), n-i) {
			m.rows[i] = in
			i++
		}
	}
	return m
}

func TestRandomSelectionsEqualNaiveSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := randomModel(t, "a"), randomModel(t, "b")
		x, y := a.selection(), b.selection()
		n := int64(max(len(a.rows), len(b.rows)) + 10)
		op := func(f func(a, b bool) bool) model {
			m := model{tail: f(a.tail, b.tail)}
			for r := range n {
				m.rows = append(m.rows, f(a.at(r), b.at(r)))
			}
			return m
		}
		check(t, "and", x.And(y), op(func(a, b bool) bool { return a && b }), n)
		check(t, "or", x.Or(y), op(func(a, b bool) bool { return a || b }), n)
		check(t, "and not", x.AndNot(y), op(func(a, b bool) bool { return a && !b }), n)
		check(t, "not not", x.Not().Not(), a, n)

		first, rows := rapid.Int64Range(0, n).Draw(t, "first"), rapid.Int64Range(0, n).Draw(t, "rows")
		cut := model{}
		for r := range rows {
			cut.rows = append(cut.rows, a.at(first+r))
		}
		check(t, "cut", x.Cut(first, rows), cut, rows)
		check(t, "cut, shifted back", x.Cut(first, rows).And(FromRanges(0, rows)).Shift(first),
			model{rows: append(make([]bool, first), cut.rows...)}, n)

		var positions []int64
		for r := range n {
			if a.at(r) {
				positions = append(positions, r)
			}
		}
		check(t, "positions", FromPositions(positions), model{rows: op(func(a, _ bool) bool { return a }).rows}, n+5)
	})
}

func TestPagesEqualNaiveOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := randomModel(t, "a")
		rows := int64(len(m.rows) + 1)
		starts := []int64{0}
		for {
			next := starts[len(starts)-1] + rapid.Int64Range(1, 300).Draw(t, "page rows")
			if next >= rows {
				break
			}
			starts = append(starts, next)
		}
		var want []int
		for i := range starts {
			for r := starts[i]; r < pageEnd(starts, i, rows); r++ {
				if m.at(r) {
					want = append(want, i)
					break
				}
			}
		}
		got := slices.Collect(m.selection().Pages(starts, rows))
		if !slices.Equal(got, want) {
			t.Fatalf("pages: want %v, got %v", want, got)
		}
		whole := FromPages(starts, rows, func(i int) bool { return slices.Contains(want, i) })
		if !m.selection().Cut(0, rows).AndNot(whole).And(FromRanges(0, rows)).None() {
			t.Fatalf("FromPages(Pages(s)) must cover s")
		}
		if again := slices.Collect(whole.Pages(starts, rows)); !slices.Equal(again, want) {
			t.Fatalf("pages of pages: want %v, got %v", want, again)
		}
	})
}

func TestRangesStopEarly(t *testing.T) {
	t.Parallel()
	for _, s := range forms(FromRanges(0, 1, 2, 3, 4, 5)) {
		n := 0
		for range s.Ranges(100) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%d ranges after a break", n)
		}
	}
}

func BenchmarkAndNot(b *testing.B) {
	const rows = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	sparse, dense := []int64{}, []int64{}
	for i := range int64(rows) {
		if r.IntN(1000) == 0 {
			sparse = append(sparse, i)
		}
		if r.IntN(2) == 0 {
			dense = append(dense, i)
		}
	}
	for name, rowsOf := range map[string][]int64{"deletes=1/1000": sparse, "deletes=1/2": dense} {
		deletes := FromPositions(rowsOf)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Selection{}.AndNot(deletes)
			}
		})
	}
}

func TestWalkGivesTheRangesOfRanges(t *testing.T) {
	for _, s := range []Selection{{}, None(), FromRanges(0, 3), FromRanges(2, 5, 9, forever), FromPositions([]int64{1, 3, 5, 7, 9, 64, 65, 200}), FromWords(64, []uint64{0x5555, 0, 1 << 63})} {
		for _, rows := range []int64{0, 1, 4, 10, 65, 300} {
			next := s.Walk(rows)
			for from, to := range s.Ranges(rows) {
				if a, b, ok := next(); a != from || b != to || !ok {
					t.Fatalf("%v below %d: [%d, %d) %v, want [%d, %d)", s, rows, a, b, ok, from, to)
				}
			}
			for range 2 {
				if a, b, ok := next(); ok {
					t.Fatalf("%v below %d: [%d, %d) too much", s, rows, a, b)
				}
			}
		}
	}
}
