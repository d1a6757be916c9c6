package prune

import (
	"errors"
	"fmt"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// ErrPageIndex is the class of page indexes that contradict themselves or their chunk: they are ignored as a whole.
var ErrPageIndex = errors.New("prune: page index")

// Pages is the checked page index of one chunk.
type Pages struct {
	firstRows []int64
	metrics   []Metrics
}

// CheckOffsets tells if an offset index can be trusted for a chunk whose bytes lie at [off, off+n) and which has the given
// number of rows: pages in order, apart and inside the chunk, first rows rising from 0.
func CheckOffsets(x *thrift.OffsetIndex, off, n, rows int64) error {
	if rows > 0 && len(x.Pages) == 0 {
		return fmt.Errorf("%w: no page for %d rows", ErrPageIndex, rows)
	}
	at, row := off, int64(-1)
	for i, p := range x.Pages {
		switch {
		case p.Offset < at || p.Size <= 0 || int64(p.Size) > off+n-p.Offset:
			return fmt.Errorf("%w: page %d at %d of %d bytes in a chunk at %d of %d", ErrPageIndex, i, p.Offset, p.Size, off, n)
		case p.FirstRow <= row || i == 0 && p.FirstRow != 0 || p.FirstRow >= rows:
			return fmt.Errorf("%w: page %d starts at row %d of %d, the one before at %d", ErrPageIndex, i, p.FirstRow, rows, row)
		}
		at, row = p.Offset+int64(p.Size), p.FirstRow
	}
	return nil
}

// NewPages checks both halves of a page index against each other; the offsets must have passed CheckOffsets.
func NewPages(c Column, offsets *thrift.OffsetIndex, index *thrift.ColumnIndex, rows int64) (*Pages, error) {
	n := len(offsets.Pages)
	if len(index.NullPages) != n || len(index.MinValues) != n || len(index.MaxValues) != n ||
		index.NullCounts != nil && len(index.NullCounts) != n || index.NaNCounts != nil && len(index.NaNCounts) != n {
		return nil, fmt.Errorf("%w: lists of unlike length", ErrPageIndex)
	}
	x := c.codec()
	p := &Pages{firstRows: make([]int64, n), metrics: make([]Metrics, n)}
	for i, l := range offsets.Pages {
		p.firstRows[i] = l.FirstRow
		end := rows
		if i+1 < n {
			end = offsets.Pages[i+1].FirstRow
		}
		m, err := pageMetrics(c, x, index, i, end-l.FirstRow)
		if err != nil {
			return nil, err
		}
		p.metrics[i] = m
	}
	if err := p.checkOrder(index.Boundary); err != nil {
		return nil, err
	}
	return p, nil
}

func pageMetrics(c Column, x codec, index *thrift.ColumnIndex, i int, rows int64) (Metrics, error) {
	nulls, nans := int64(-1), int64(-1)
	if index.NullCounts != nil {
		if nulls = index.NullCounts[i]; nulls < 0 || c.Node.Rep == 0 && nulls > rows {
			return Metrics{}, fmt.Errorf("%w: %d nulls in a page of %d rows", ErrPageIndex, nulls, rows)
		}
	}
	if index.NaNCounts != nil {
		nans = index.NaNCounts[i]
	}
	if !index.NullPages[i] {
		m := c.counts(x, nulls, nans, rows)
		if c.ordered(x) {
			m = c.bounds(x, m, index.MinValues[i], index.MaxValues[i])
		}
		return m, nil
	}
	if c.Node.Rep == 0 && nulls >= 0 && nulls != rows || c.Node.Def == 0 {
		return Metrics{}, fmt.Errorf("%w: a page without values has %d nulls in %d rows", ErrPageIndex, nulls, rows)
	}
	return c.counts(x, rows, 0, rows), nil
}

// checkOrder tests the order that the writer claims; pages without known bounds have no part in it.
func (p *Pages) checkOrder(order thrift.BoundaryOrder) error {
	if order != thrift.Ascending && order != thrift.Descending {
		return nil
	}
	var before *Metrics
	for i := range p.metrics {
		m := &p.metrics[i]
		if m.Lower.Value == nil || m.Upper.Value == nil {
			continue
		}
		if before != nil {
			low, high := before.Lower.Compare(m.Lower), before.Upper.Compare(m.Upper)
			if order == thrift.Descending {
				low, high = -low, -high
			}
			if low > 0 || high > 0 {
				return fmt.Errorf("%w: page %d breaks the order claimed", ErrPageIndex, i)
			}
		}
		before = m
	}
	return nil
}

// leaf gives a verdict a page.
func (p *Pages) leaf(e expr.Expr) []expr.Verdict {
	out := make([]expr.Verdict, len(p.metrics))
	for i, m := range p.metrics {
		out[i] = m.leaf(e)
	}
	return out
}
