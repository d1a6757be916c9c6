package rowsel

import (
	"iter"
	"math/bits"
)

// Pages yields the index of each page that holds a selected row, rising. Page i covers the rows [firstRows[i],
// firstRows[i+1]), the last one ends at rows; firstRows must rise and all numbers be relative like the selection.
func (s Selection) Pages(firstRows []int64, rows int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		page := 0
		for from, to := range s.Ranges(rows) {
			for ; page < len(firstRows) && firstRows[page] < to; page++ {
				if pageEnd(firstRows, page, rows) <= from {
					continue
				}
				if !yield(page) {
					return
				}
			}
		}
	}
}

// FromPages selects the rows of the pages for which keep is true; the other half of Pages.
func FromPages(firstRows []int64, rows int64, keep func(page int) bool) Selection {
	var b Builder
	for i := range firstRows {
		if keep(i) {
			b.Add(firstRows[i], pageEnd(firstRows, i, rows))
		}
	}
	if len(b.ranges) == 1 && b.ranges[0] == (span{0, rows}) {
		return Selection{}
	}
	return b.Selection()
}

func pageEnd(firstRows []int64, page int, rows int64) int64 {
	if page+1 < len(firstRows) {
		return firstRows[page+1]
	}
	return rows
}

// Mask writes one bit a row of [from, to) into dst, lowest bit first as in Arrow, and returns the number of bits set. dst
// must hold (to-from+7)/8 bytes; bits behind the last row become 0.
func (s Selection) Mask(dst []byte, from, to int64) int64 {
	n := (to - from + 7) / 8
	clear(dst[:n])
	set := int64(0)
	if s.s != nil && s.s.isBitmap() {
		for at := from; at < to; at += 64 {
			w := s.s.wordAndTail(at) & lowMask(to-at)
			set += int64(bits.OnesCount64(w))
			for i := (at - from) / 8; i < n && w != 0; i++ {
				dst[i] = byte(w)
				w >>= 8
			}
		}
		return set
	}
	for a, b := range s.Between(from, to) {
		set += b - a
		fillBits(dst, a-from, b-from)
	}
	return set
}

func fillBits(dst []byte, from, to int64) {
	for from < to && from%8 != 0 {
		dst[from/8] |= 1 << (from % 8)
		from++
	}
	for ; from+8 <= to; from += 8 {
		dst[from/8] = 0xff
	}
	for ; from < to; from++ {
		dst[from/8] |= 1 << (from % 8)
	}
}
