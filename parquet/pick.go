package parquet

import (
	"context"
	"iter"

	"github.com/lakescan/lakescan/parquet/build"
)

// Selected rows that lie close together are decoded with the rows between them, which are dropped at once: to jump costs some 300 ns, to
// decode a row 5 to 50.
const (
	pickGap  = 32   // rows between two ranges that are decoded together
	pickRows = 4096 // of a stretch: what an array is larger than its rows
)

// stretch is rows that are decoded at once: ranges of the selection, in rows of the row group, with short gaps.
type stretch struct {
	from, to int64
	keep     []build.Span // relative to from
}

// stretches joins ranges whose gaps are at most gap rows, as long as they span at most pickRows. A stretch is lent until the next one.
func stretches(ranges iter.Seq2[int64, int64], gap int64) iter.Seq[*stretch] {
	return func(yield func(*stretch) bool) {
		var s stretch
		var one [1]build.Span // of whole units
		s.keep = one[:0]
		for from, to := range ranges {
			if len(s.keep) > 0 && (from-s.to > gap || to-s.from > pickRows) {
				if !yield(&s) {
					return
				}
				s.keep = s.keep[:0]
			}
			if len(s.keep) == 0 {
				s.from = from
			}
			s.to = to
			s.keep = append(s.keep, build.Span{From: int(min(from-s.from, pickRows)), To: int(min(to-s.from, 1<<31-1))})
		}
		if len(s.keep) > 0 {
			yield(&s)
		}
	}
}

// gap is how many rows between selected ones may be decoded: -1 (ranges stay apart) in nested columns, and where a page may lie among them that nobody
// has asked for, since it holds no selected row.
func (c *openCursor) gap() int64 {
	if _, flat := c.cursor.(flatCursor); !flat || c.pages[0].least() <= pickGap {
		return -1
	}
	return pickGap
}

// least is the rows of the smallest page, or as many as there can be if the places of pages are not known: then all are at hand.
func (c *chunkPages) least() int64 {
	least := int64(1) << 62
	for i, p := range c.pages {
		end := c.rows
		if i+1 < len(c.pages) {
			end = c.pages[i+1].FirstRow
		}
		least = min(least, end-p.FirstRow)
	}
	return least
}

// pick decodes what is left of a stretch, from the cursor on. It reports full if the array can take no more.
func (c *openCursor) pick(ctx context.Context, s *stretch) (kept int, full bool, err error) {
	for c.row < s.to {
		passed := int(c.row - s.from)
		keep := c.spans[:0]
		for _, k := range s.keep {
			if k.To > passed {
				keep = append(keep, build.Span{From: max(k.From-passed, 0), To: k.To - passed})
			}
		}
		c.spans = keep
		n := int(s.to - c.row)
		read, k, err := c.cursor.(flatCursor).AppendPicked(ctx, n, keep)
		if err != nil {
			return kept, false, err
		}
		c.row += int64(read)
		kept += k
		if read < n && (read == 0 || c.cursor.(flatCursor).Rows() > 0) {
			return kept, true, nil
		}
	}
	return kept, false, nil
}
