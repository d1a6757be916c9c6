package parquet

import (
	"cmp"
	"slices"

	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// Ranges plans one wave of a row group: disjoint ranges inside the file, rising. A column whose chunk cannot be read has no
// range; Open says why.
func (r *Reader) Ranges(rg int, p Part, sel rowsel.Selection, c Cost) []Range {
	if sel.None() {
		return nil
	}
	var want []Range
	switch p {
	case PartIndex:
		return merge(r.indexRanges(rg, sel), c)
	case PartBloom:
		return merge(r.bloomRanges(rg), c)
	}
	for i := range r.cols {
		b := &r.cols[i]
		if b.part != p {
			continue
		}
		for _, leaf := range b.leaves {
			for _, w := range r.chunkRanges(rg, leaf, sel) {
				w.Need = []Need{{RowGroup: rg, Column: i}}
				want = append(want, w)
			}
		}
	}
	return merge(want, c)
}

// wholeChunk is the part of a chunk, in percent, from which on it is read as one rather than by pages.
const wholeChunk = 60

// chunkRanges is what a selection needs of a chunk: its dictionary and the pages with selected rows, if the places of pages
// are known and that leaves enough out; else all of it.
func (r *Reader) chunkRanges(rg, leaf int, sel rowsel.Selection) []Range {
	off, n, err := r.f.ChunkRange(rg, leaf)
	if err != nil || n == 0 {
		return nil
	}
	chunk := []Range{{Off: off, Len: n}}
	x := r.offsetIndex(rg, leaf)
	if x == nil || sel.All() || len(x.Pages) == 0 {
		return chunk
	}
	var out []Range
	total := int64(0)
	add := func(from, size int64) {
		total += size
		if k := len(out); k > 0 && out[k-1].Off+out[k-1].Len == from {
			out[k-1].Len += size
			return
		}
		out = append(out, Range{Off: from, Len: size})
	}
	if dict := x.Pages[0].Offset - off; dict > 0 {
		add(off, dict)
	}
	first := make([]int64, len(x.Pages))
	for i, p := range x.Pages {
		first[i] = p.FirstRow
	}
	for i := range sel.Pages(first, r.f.Rows(rg)) {
		add(x.Pages[i].Offset, int64(x.Pages[i].Size))
	}
	if total*100 >= n*wholeChunk {
		return chunk
	}
	return out
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

// indexRanges is where the page index lies that can save something: bounds for a filter that can use them, and the pages'
// places of all wanted columns if not all of their pages will be read. Need is empty: it serves no Decode.
func (r *Reader) indexRanges(rg int, sel rowsel.Selection) []Range {
	uses := make(map[int]bool) // leaves
	if r.filter != nil {
		pages, _, _ := prune.Uses(r.filter)
		for id := range pages {
			if l := r.leaves[id]; l.node != nil {
				uses[l.node.Leaf] = true
			}
		}
	}
	if sel.All() && len(uses) == 0 {
		return nil
	}
	var want []Range
	for i := range r.cols {
		for _, leaf := range r.cols[i].leaves {
			offsets, columns := r.f.IndexRange(rg, leaf)
			if offsets.Len == 0 {
				continue
			}
			if r.offsetIndex(rg, leaf) == nil {
				want = append(want, offsets)
			}
			if uses[leaf] && columns.Len > 0 {
				want = append(want, columns)
			}
		}
	}
	return want
}

// bloomGuess is fetched of a Bloom filter whose length the footer does not say.
const bloomGuess = 64 << 10

func (r *Reader) bloomRanges(rg int) []Range {
	if r.filter == nil {
		return nil
	}
	var want []Range
	_, _, bloom := prune.Uses(r.filter)
	for id := range bloom {
		l := r.leaves[id]
		if l.node == nil {
			continue
		}
		at, exact := r.f.BloomRange(rg, l.node.Leaf)
		if at.Len > 0 && !exact {
			at.Len = min(bloomGuess, r.f.metaStart-at.Off)
		}
		if at.Len > 0 {
			want = append(want, at)
		}
	}
	return want
}
