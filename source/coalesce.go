package source

import (
	"cmp"
	"slices"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
)

// demand is a range that the units of one row group need.
type demand struct {
	span  object.Range
	group int // of the wave
}

// overRead is the most that a request may fetch for nothing, in parts of what is wanted of it.
const overRead = 4

// coalesce merges demands whose gap is at most gap, as long as the bytes fetched for nothing stay below a quarter of the
// wanted ones. It returns disjoint rising spans, by group the spans it needs, and the bytes of gaps.
func coalesce(demands []demand, gap int64, groups int) (spans []object.Range, needs [][]int, wasted int64) {
	slices.SortFunc(demands, func(a, b demand) int {
		return cmp.Or(cmp.Compare(a.span.Off, b.span.Off), cmp.Compare(a.span.Len, b.span.Len))
	})
	needs = make([][]int, groups)
	var want, waste int64 // of the last span
	for _, d := range demands {
		last := len(spans) - 1
		joined := false
		if last >= 0 {
			end := spans[last].Off + spans[last].Len
			hole := d.span.Off - end
			if hole <= 0 || hole <= gap && (waste+hole)*overRead <= want+d.span.Len {
				if grow := d.span.Off + d.span.Len - end; grow > 0 {
					spans[last].Len += grow
					want += min(grow, d.span.Len)
					waste += max(hole, 0)
					wasted += max(hole, 0)
				}
				joined = true
			}
		}
		if !joined {
			spans = append(spans, d.span)
			last++
			want, waste = d.span.Len, 0
		}
		if n := needs[d.group]; len(n) == 0 || n[len(n)-1] != last {
			needs[d.group] = append(n, last)
		}
	}
	return spans, needs, wasted
}

// without cuts out of a range what [from, to) already holds; the rest is one range or none, since what is held is the tail.
func without(r parquet.Range, from, to int64) (object.Range, bool) {
	off, end := r.Off, r.Off+r.Len
	if end > from && end <= to {
		end = max(min(end, from), off)
	}
	return object.Range{Off: off, Len: end - off}, end > off
}
