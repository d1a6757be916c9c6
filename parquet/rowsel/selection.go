package rowsel

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// forever ends a range that has no end.
const forever = math.MaxInt64

// Selection of rows. The zero value selects all, which is not the same as a selection of no rows (None).
type Selection struct {
	s *set // nil = all
}

// set holds either ranges or a bitmap.
type set struct {
	ranges []span // sorted, disjoint, not touching, none empty; the last may end at forever
	words  []uint64
	base   int64 // row of bit 0 of words[0]; may lie below low, even below 0
	low    int64 // rows below low are not selected, whatever the bits say
	high   int64 // nor are rows from high on, unless tail is set
	tail   bool  // every row from high on is selected
}

// span is the half-open range [from, to).
type span struct{ from, to int64 }

func (s *set) isBitmap() bool { return s.words != nil }

// None selects no row.
func None() Selection { return Selection{&set{}} }

// FromRanges takes half-open [from, to) pairs in any order; empty ones are dropped, overlapping ones merged, and rows below
// 0 do not exist. It panics if the number of arguments is odd.
func FromRanges(pairs ...int64) Selection {
	if len(pairs)%2 != 0 {
		panic("rowsel: FromRanges with an odd number of arguments")
	}
	spans := make([]span, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		if from, to := max(pairs[i], 0), pairs[i+1]; from < to {
			spans = append(spans, span{from, to})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return compare(a.from, b.from) })
	b := Builder{ranges: spans[:0]}
	for _, s := range spans {
		b.Add(s.from, s.to)
	}
	return b.Selection()
}

// FromPositions takes row numbers in rising order; repeated ones count once, negative ones do not exist. It panics if they
// fall.
func FromPositions(rows []int64) Selection {
	i, _ := slices.BinarySearch(rows, 0)
	rows = rows[i:]
	if len(rows) == 0 {
		return None()
	}
	runs := 1
	for i := 1; i < len(rows); i++ {
		if rows[i] < rows[i-1] {
			panic("rowsel: FromPositions with falling rows")
		}
		if rows[i] > rows[i-1]+1 {
			runs++
		}
	}
	first, last := rows[0]&^63, rows[len(rows)-1]
	if !prefersBitmap(runs, last-first+1) {
		var b Builder
		for _, r := range rows {
			b.Add(r, r+1)
		}
		return b.Selection()
	}
	words := make([]uint64, (last-first)/64+1)
	for _, r := range rows {
		words[(r-first)/64] |= 1 << ((r - first) % 64)
	}
	return FromWords(first, words)
}

// FromWords takes a bitmap whose lowest bit of words[0] is row first (>= 0). The words belong to the selection afterwards.
func FromWords(first int64, words []uint64) Selection {
	if first < 0 {
		panic("rowsel: FromWords below row 0")
	}
	return Selection{(&set{words: words, base: first, low: first, high: first + 64*int64(len(words))}).compact()}
}

// Builder collects ranges in rising order. The zero value is ready.
type Builder struct{ ranges []span }

// Add appends [from, to); from must not lie below the start of the range added before. Empty ranges are ignored.
func (b *Builder) Add(from, to int64) {
	if from >= to {
		return
	}
	if n := len(b.ranges); n > 0 {
		last := &b.ranges[n-1]
		if from < last.from {
			panic("rowsel: Builder.Add with falling ranges")
		}
		if from <= last.to {
			last.to = max(last.to, to)
			return
		}
	}
	b.ranges = append(b.ranges, span{from, to})
}

// Selection returns what was added; the Builder is empty afterwards.
func (b *Builder) Selection() Selection {
	s := &set{ranges: b.ranges}
	b.ranges = nil
	return Selection{s.compact()}
}

// prefersBitmap is the rule for the representation: a range costs 128 bits, a bitmap one bit a row.
func prefersBitmap(runs int, rows int64) bool { return runs > 2 && int64(runs) > rows/64 }

// compact picks the representation; nil = all.
func (s *set) compact() *set {
	if s.isBitmap() {
		return s.compactBitmap()
	}
	n := len(s.ranges)
	if n == 1 && s.ranges[0] == (span{0, forever}) {
		return nil
	}
	if n == 0 {
		return s
	}
	first, last, _ := s.extent()
	if !prefersBitmap(n, last-first) {
		return s
	}
	return s.bitmap()
}

// extent returns the borders outside of which nothing changes: no row below low is selected, and all or none from high on.
func (s *set) extent() (low, high int64, tail bool) {
	if s.isBitmap() {
		return s.low, s.high, s.tail
	}
	n := len(s.ranges)
	if n == 0 {
		return 0, 0, false
	}
	if last := s.ranges[n-1]; last.to == forever {
		return s.ranges[0].from, last.from, true
	}
	return s.ranges[0].from, s.ranges[n-1].to, false
}

// bitmap returns the same set as a bitmap.
func (s *set) bitmap() *set {
	if s.isBitmap() {
		return s
	}
	low, high, tail := s.extent()
	b := &set{base: low &^ 63, low: low, high: high, tail: tail}
	b.words = make([]uint64, (high-b.base+63)/64)
	for _, r := range s.ranges {
		if r.from < high {
			b.fill(r.from, min(r.to, high))
		}
	}
	return b
}

func (s *set) compactBitmap() *set {
	runs, first, end := s.countRuns()
	if prefersBitmap(runs, end-first) {
		return s
	}
	r := &set{ranges: make([]span, 0, runs)}
	for c := (cursor{s: s}); ; {
		from, to, ok := c.next()
		if !ok {
			break
		}
		r.ranges = append(r.ranges, span{from, to})
	}
	if runs == 1 && r.ranges[0] == (span{0, forever}) {
		return nil
	}
	return r
}

// countRuns returns the number of maximal ranges and the borders that prefersBitmap goes by.
func (s *set) countRuns() (runs int, first, end int64) {
	first, end = s.high, s.low
	carry := uint64(0) // the last row of the word before
	for at := s.low; at < s.high; at += 64 {
		w := s.word(at)
		runs += bits.OnesCount64(w &^ (w<<1 | carry))
		if w != 0 {
			first = min(first, at+int64(bits.TrailingZeros64(w)))
			end = at + int64(bits.Len64(w))
		}
		carry = w >> 63
	}
	if s.tail && !(end == s.high && end > s.low) {
		runs++ // the endless range is one of its own
	}
	return runs, min(first, end), end
}

// fill sets the bits of [from, to), which lie inside the words.
func (s *set) fill(from, to int64) {
	from, to = from-s.base, to-s.base
	for w := from / 64; w <= (to-1)/64; w++ {
		mask := ^uint64(0)
		if w == from/64 {
			mask <<= from % 64
		}
		if w == (to-1)/64 {
			mask &= ^uint64(0) >> (63 - (to-1)%64)
		}
		s.words[w] |= mask
	}
}

// All tells if every row is selected.
func (s Selection) All() bool { return s.s == nil }

// None tells if no row is selected.
func (s Selection) None() bool {
	if s.s == nil {
		return false
	}
	c := cursor{s: s.s}
	_, _, ok := c.next()
	return !ok
}

// Contains tells if a row is selected.
func (s Selection) Contains(row int64) bool { return row >= 0 && s.Overlaps(row, row+1) }

// Overlaps tells if a row of [from, to) is selected.
func (s Selection) Overlaps(from, to int64) bool {
	for range s.Between(from, to) {
		return true
	}
	return false
}

// Count is the number of selected rows below rows.
func (s Selection) Count(rows int64) int64 { return s.CountBetween(0, rows) }

// CountBetween is the number of selected rows in [from, to).
func (s Selection) CountBetween(from, to int64) int64 {
	from = max(from, 0)
	if from >= to {
		return 0
	}
	if s.s == nil {
		return to - from
	}
	n := int64(0)
	if s.s.isBitmap() {
		for at := max(from, s.s.low); at < min(to, s.s.high); at += 64 {
			n += int64(bits.OnesCount64(s.s.word(at) & lowMask(min(to, s.s.high)-at)))
		}
		if s.s.tail {
			n += max(0, to-max(from, s.s.high))
		}
		return n
	}
	for a, b := range s.Between(from, to) {
		n += b - a
	}
	return n
}

// Ranges yields the maximal ranges [from, to) of selected rows below rows, rising.
func (s Selection) Ranges(rows int64) iter.Seq2[int64, int64] { return s.Between(0, rows) }

// Between yields the maximal ranges of selected rows inside [from, to), rising.
func (s Selection) Between(from, to int64) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		from := max(from, 0)
		if from >= to {
			return
		}
		if s.s == nil {
			yield(from, to)
			return
		}
		for c := s.s.from(from); ; {
			a, b, ok := c.next()
			if !ok || a >= to || !yield(max(a, from), min(b, to)) {
				return
			}
		}
	}
}

// Walk returns the ranges that Ranges yields, one a call, until ok is false. Unlike iter.Pull it is no coroutine: a call costs little, may
// come from any thread, and there is nothing to stop.
func (s Selection) Walk(rows int64) (next func() (from, to int64, ok bool)) {
	if s.s == nil {
		return func() (int64, int64, bool) {
			to := rows
			rows = 0
			return 0, to, to > 0
		}
	}
	c := s.s.from(0)
	return func() (int64, int64, bool) {
		from, to, ok := c.next()
		if !ok || from >= rows {
			return 0, 0, false
		}
		return from, min(to, rows), true
	}
}

// Equal tells if both select the same rows.
func (s Selection) Equal(o Selection) bool {
	if s.s == nil || o.s == nil {
		return s.s == o.s
	}
	a, b := cursor{s: s.s}, cursor{s: o.s}
	for {
		af, at, aok := a.next()
		bf, bt, bok := b.next()
		if af != bf || at != bt || aok != bok {
			return false
		}
		if !aok {
			return true
		}
	}
}

// Bytes is the memory that the selection holds, for accounting.
func (s Selection) Bytes() int64 {
	if s.s == nil {
		return 0
	}
	return int64(len(s.s.ranges))*16 + int64(len(s.s.words))*8
}

// String lists at most 8 ranges: "all", "none", "0-9 20-29 40-".
func (s Selection) String() string {
	if s.s == nil {
		return "all"
	}
	var parts []string
	for c := (cursor{s: s.s}); ; {
		from, to, ok := c.next()
		switch {
		case !ok && parts == nil:
			return "none"
		case !ok:
			return strings.Join(parts, " ")
		case len(parts) == 8:
			return strings.Join(parts, " ") + " …"
		case to == forever:
			parts = append(parts, fmt.Sprintf("%d-", from))
		case to == from+1:
			parts = append(parts, fmt.Sprint(from))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", from, to-1))
		}
	}
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// lowMask has the lowest n bits set, all of them from 64 on.
func lowMask(n int64) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<max(n, 0) - 1
}

// from is a cursor whose first range is the first that ends behind row.
func (s *set) from(row int64) cursor {
	if s.isBitmap() {
		// A run that began earlier is cut here, which the caller's clipping would do anyway.
		return cursor{s: s, at: row}
	}
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].to > row })
	return cursor{s: s, at: int64(i)}
}

// cursor walks the maximal ranges of a set.
type cursor struct {
	s  *set
	at int64 // index of a range, or the row where the search goes on
}

func (c *cursor) next() (from, to int64, ok bool) {
	if !c.s.isBitmap() {
		if c.at >= int64(len(c.s.ranges)) {
			return 0, 0, false
		}
		r := c.s.ranges[c.at]
		c.at++
		return r.from, r.to, true
	}
	from = c.s.find(max(c.at, c.s.low), 0)
	if from == forever {
		return 0, 0, false
	}
	to = c.s.find(from, ^uint64(0))
	c.at = to
	return from, to, true
}

// find returns the first row >= row that is selected (flip 0) or is not (flip all ones); forever if there is none.
func (s *set) find(row int64, flip uint64) int64 {
	for at := row; at < s.high; at += 64 {
		if w := (s.word(at) ^ flip) & lowMask(s.high-at); w != 0 {
			return at + int64(bits.TrailingZeros64(w))
		}
	}
	if s.tail == (flip == 0) {
		return max(row, s.high)
	}
	return forever
}

// word returns the bits of the rows [at, at+64), those outside [low, high) being 0 whatever the tail.
func (s *set) word(at int64) uint64 {
	if at >= s.high || at+64 <= s.low {
		return 0
	}
	i, shift := (at-s.base)>>6, uint((at-s.base)&63)
	w := s.at(i) >> shift
	if shift > 0 {
		w |= s.at(i+1) << (64 - shift)
	}
	if at < s.low {
		w &^= lowMask(s.low - at)
	}
	return w & lowMask(s.high-at)
}

func (s *set) at(i int64) uint64 {
	if i < 0 || i >= int64(len(s.words)) {
		return 0
	}
	return s.words[i]
}
