package parquet

import (
	"cmp"
	"slices"

	"github.com/lakescan/lakescan/parquet/rowsel"
)

// Ranges plans one wave of a row group: disjoint ranges inside the file, rising. A column whose chunk cannot be read has no
// range; Open says why.
func (r *Reader) Ranges(rg int, p Part, sel rowsel.Selection, c Cost) []Range {
	if sel.None() {
		return nil
	}
	var want []Range
	for i := range r.cols {
		b := &r.cols[i]
		if b.part != p {
			continue
		}
		for _, leaf := range b.leaves {
			off, n, err := r.f.ChunkRange(rg, leaf)
			if err == nil && n > 0 {
				want = append(want, Range{Off: off, Len: n, Need: []Need{{RowGroup: rg, Column: i}}})
			}
		}
	}
	return merge(want, c)
}

// merge joins ranges that overlap, and those with a gap of at most c.GapBytes as long as the bytes in gaps stay below a
// quarter of the bytes wanted.
func merge(want []Range, c Cost) []Range {
	slices.SortFunc(want, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Len, b.Len)) })
	out := want[:0]
	var wanted, wasted int64 // of the last range of out
	for _, w := range want {
		if len(out) > 0 {
			last := &out[len(out)-1]
			end := last.Off + last.Len
			gap := w.Off - end
			joined := max(end, w.Off+w.Len) - last.Off
			fits := c.MaxBytes <= 0 || joined <= c.MaxBytes
			if gap < 0 || fits && (gap == 0 || gap <= c.GapBytes && (wasted+gap)*4 <= wanted+w.Len) {
				last.Len = joined
				last.Need = append(last.Need, w.Need...)
				wanted, wasted = wanted+w.Len, wasted+max(gap, 0)
				continue
			}
		}
		out = append(out, w)
		wanted, wasted = w.Len, 0
	}
	for i := range out {
		slices.SortFunc(out[i].Need, func(a, b Need) int { return cmp.Compare(a.Column, b.Column) })
		out[i].Need = slices.Compact(out[i].Need)
	}
	return out
}
