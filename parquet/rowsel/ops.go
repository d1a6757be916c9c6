package rowsel

import "math"

// Truth tables of the operations, bit a<<1|b.
const (
	tableAnd    = 0b1000
	tableOr     = 0b1110
	tableAndNot = 0b0100
)

// And selects the rows that both select.
func (s Selection) And(o Selection) Selection {
	switch {
	case s.s == nil:
		return o
	case o.s == nil:
		return s
	}
	return combine(s.s, o.s, tableAnd)
}

// Or selects the rows that either selects.
func (s Selection) Or(o Selection) Selection {
	if s.s == nil || o.s == nil {
		return Selection{}
	}
	return combine(s.s, o.s, tableOr)
}

// AndNot selects the rows of s that o does not select.
func (s Selection) AndNot(o Selection) Selection {
	if o.s == nil {
		return None()
	}
	return combine(s.orAll(), o.s, tableAndNot)
}

// Not selects the rows that s does not select.
func (s Selection) Not() Selection { return Selection{}.AndNot(s) }

func (s Selection) orAll() *set {
	if s.s == nil {
		return &set{ranges: []span{{0, forever}}}
	}
	return s.s
}

func combine(a, b *set, table uint) Selection {
	if a.isBitmap() || b.isBitmap() {
		// Far sets would make a bitmap of zeros between them; the walk over ranges does not mind.
		aLow, aHigh, _ := a.extent()
		bLow, bHigh, _ := b.extent()
		if low, high := min(aLow, bLow), max(aHigh, bHigh); high-low <= 2*(aHigh-aLow+bHigh-bLow) {
			return combineWords(a.bitmap(), b.bitmap(), table, low, high)
		}
	}
	return combineRanges(a, b, table)
}

// combineWords works on 64 rows at a time.
func combineWords(a, b *set, table uint, low, high int64) Selection {
	low &^= 63
	high = (high + 63) &^ 63
	out := &set{words: make([]uint64, (high-low)/64), base: low, low: low, high: high, tail: pick(table, a.tail, b.tail)}
	for i := range out.words {
		at := low + 64*int64(i)
		x, y := a.wordAndTail(at), b.wordAndTail(at)
		switch table {
		case tableAnd:
			x &= y
		case tableOr:
			x |= y
		case tableAndNot:
			x &^= y
		}
		out.words[i] = x
	}
	return Selection{out.compact()}
}

// wordAndTail is word with the endless part filled in.
func (s *set) wordAndTail(at int64) uint64 {
	w := s.word(at)
	if s.tail {
		w |= ^lowMask(s.high - at)
	}
	return w
}

// combineRanges walks the borders of both sets.
func combineRanges(a, b *set, table uint) Selection {
	var out Builder
	x, y := walker{c: cursor{s: a}}, walker{c: cursor{s: b}}
	x.step()
	y.step()
	for row := int64(0); row != forever; {
		inX, endX := x.at(row)
		inY, endY := y.at(row)
		end := min(endX, endY)
		if pick(table, inX, inY) {
			out.Add(row, end)
		}
		row = end
	}
	return out.Selection()
}

func pick(table uint, a, b bool) bool {
	i := 0
	if a {
		i = 2
	}
	if b {
		i++
	}
	return table>>i&1 == 1
}

// walker answers "is this row selected, and until where does that hold" for rising rows.
type walker struct {
	c   cursor
	cur span
}

func (w *walker) step() {
	from, to, ok := w.c.next()
	if !ok {
		from, to = forever, forever
	}
	w.cur = span{from, to}
}

func (w *walker) at(row int64) (in bool, until int64) {
	for w.cur.to <= row && w.cur.from != forever {
		w.step()
	}
	if row < w.cur.from {
		return false, w.cur.from
	}
	return true, w.cur.to
}

// Cut takes the rows [firstRow, firstRow+rows) and renumbers them from 0: the selection of a row group. Rows beyond its end
// are not defined: the result is All if every row of the cut is selected.
func (s Selection) Cut(firstRow, rows int64) Selection {
	if s.s == nil {
		return s
	}
	end := min(firstRow+rows, forever)
	if end < firstRow { // overflow
		end = forever
	}
	if s.s.isBitmap() && s.s.overlapsWords(firstRow, end) {
		return s.s.cutBitmap(firstRow, end, rows)
	}
	var out Builder
	for from, to := range s.Between(firstRow, end) {
		out.Add(from-firstRow, to-firstRow)
	}
	if len(out.ranges) == 1 && out.ranges[0] == (span{0, rows}) {
		return Selection{}
	}
	return out.Selection()
}

func (s *set) overlapsWords(from, to int64) bool { return from < s.high && to > s.low }

// cutBitmap shares the words.
func (s *set) cutBitmap(firstRow, end, rows int64) Selection {
	c := *s
	c.low, c.high = max(s.low, firstRow)-firstRow, min(s.high, end)-firstRow
	c.base -= firstRow
	c.tail = s.tail && end > s.high
	drop := max(0, (c.low-c.base)/64)
	c.words = c.words[drop:]
	c.base += 64 * drop
	keep := min((c.high-c.base+63)/64, int64(len(c.words)))
	c.words = c.words[:keep]
	out := Selection{c.compact()}
	if out.CountBetween(0, rows) == rows {
		return Selection{}
	}
	return out
}

// Shift renumbers row r as r+by (by >= 0), so Cut's rows become absolute again; rows below by are not selected.
func (s Selection) Shift(by int64) Selection {
	if by < 0 {
		panic("rowsel: Shift below 0")
	}
	if by == 0 {
		return s
	}
	if s.s != nil && s.s.isBitmap() {
		c := *s.s
		c.base, c.low, c.high = c.base+by, c.low+by, c.high+by
		return Selection{&c}
	}
	var out Builder
	for _, r := range s.orAll().ranges {
		to := r.to
		if to < math.MaxInt64-by {
			to += by
		} else {
			to = forever
		}
		out.Add(r.from+by, to)
	}
	return out.Selection()
}
