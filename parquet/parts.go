package parquet

import "github.com/lakescan/lakescan/parquet/rowsel"

// Offsets names where the places of the pages of all wanted columns of a row group are written, as far as they are not known: what
// Parts needs of it, through Prune.
func (r *Reader) Offsets(rg int) []Range {
	var want []Range
	for i := range r.cols {
		for _, leaf := range r.cols[i].leaves {
			if offsets, _ := r.f.IndexRange(rg, leaf); offsets.Len > 0 && r.offsetIndex(rg, leaf) == nil {
				want = append(want, offsets)
			}
		}
	}
	return merge(want, Cost{})
}

// Parts cuts the selected rows of a row group into stretches whose pages take about bytes, so that a row group larger than memory
// can be fetched, decoded and let go piece by piece: each part is opened for itself, in order. A page that two parts share, and
// every dictionary, is fetched for both, so parts are not smaller than a few pages of every column. One part, sel itself, is the
// answer if the row group is small, or if the places of its pages are not known.
func (r *Reader) Parts(rg int, sel rowsel.Selection, bytes int64) []rowsel.Selection {
	whole := []rowsel.Selection{sel}
	var total, twice, most int64
	widest := -1
	for i := range r.cols {
		for _, leaf := range r.cols[i].leaves {
			_, n, err := r.f.ChunkRange(rg, leaf)
			x := r.offsetIndex(rg, leaf)
			if err != nil || n > 0 && (x == nil || len(x.Pages) == 0) {
				return whole
			}
			if n == 0 {
				continue
			}
			sum := int64(0)
			for _, w := range r.chunkRanges(rg, leaf, sel) {
				sum += w.Len
			}
			off, _, _ := r.f.ChunkRange(rg, leaf)
			total += sum
			twice += max(x.Pages[0].Offset-off, 0) + n/int64(len(x.Pages))
			if len(x.Pages) > 1 && sum > most {
				widest, most = leaf, sum
			}
		}
	}
	bytes = max(bytes, 8*twice)
	if widest < 0 || total < 2*bytes {
		return whole
	}
	pages, rows := r.offsetIndex(rg, widest).Pages, r.f.Rows(rg)
	share := float64(total) / float64(most) // of a page of the widest column and its neighbours in the others
	var parts []rowsel.Selection
	from, sum := int64(0), 0.0
	for i, p := range pages {
		to := rows
		if i+1 < len(pages) {
			to = pages[i+1].FirstRow
		}
		if sel.Overlaps(p.FirstRow, to) {
			sum += float64(p.Size) * share
		}
		if to < rows && sum < float64(bytes) {
			continue
		}
		if part := sel.And(rowsel.FromRanges(from, to)); !part.None() {
			parts = append(parts, part)
		}
		from, sum = to, 0
	}
	return parts
}
