package parquet

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// FilterBatch is all rows of the unit in the columns that the filter reads, constants included, so that the filter can be
// evaluated before the rest is decoded. It follows Decode of all columns of PartFilter, and goes before Next. ok is false
// if the rows are not at hand as one batch (strings so long that they are decoded piece by piece): filter the batches of
// Next instead. The caller releases the batch.
func (u *Unit) FilterBatch() (rec arrow.RecordBatch, ok bool, err error) {
	var fields []arrow.Field
	var arrs []arrow.Array
	defer func() {
		for _, a := range arrs {
			a.Release()
		}
	}()
	for i := range u.cols {
		b, c := &u.g.r.cols[i], &u.cols[i]
		if !b.filter {
			continue
		}
		var a arrow.Array
		switch {
		case b.origin == fromConst:
			if a, err = u.constant(i, u.rows); err != nil {
				return nil, false, err
			}
		case b.origin == fromPosition:
			a = u.positions(u.rows)
		case !c.begun:
			return nil, false, fmt.Errorf("parquet: FilterBatch before column %s was decoded", u.g.r.name(i))
		case c.rest != nil || u.at > 0:
			return nil, false, nil
		default:
			if a, err = c.joined(u.g.r.o.Allocator); err != nil {
				return nil, false, err
			}
		}
		arrs = append(arrs, a)
		fields = append(fields, b.Output)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrs, int64(u.rows)), true, nil
}

var errNarrow = errors.New("parquet: Narrow after rows were handed out, or after FilterBatch said no")

// Narrow keeps only the rows that sel selects; it counts the unit's rows from 0, as FilterBatch shows them. Columns that are
// decoded are compacted, the others will be decoded for these rows only. It may follow FilterBatch and goes before Next.
// With no row left, Columns names none and Next is at its end.
func (u *Unit) Narrow(sel rowsel.Selection) error {
	rows := int(sel.Count(int64(u.rows)))
	if rows == u.rows {
		return nil
	}
	if u.at > 0 {
		return errNarrow
	}
	for i := range u.cols {
		c := &u.cols[i]
		if !c.begun {
			continue
		}
		if c.rest != nil {
			return errNarrow
		}
		base := int64(0)
		for k := range c.segments {
			s := &c.segments[k]
			n := int64(s.arr.Len())
			a := build.Compact(u.g.r.o.Allocator, s.arr, shifted(sel.Between(base, base+n), -base), int(sel.CountBetween(base, base+n)))
			s.arr.Release()
			s.arr = a
			base += n
		}
		c.segments = slices.DeleteFunc(c.segments, func(s segment) bool {
			if s.arr.Len() > 0 {
				return false
			}
			s.arr.Release()
			return true
		})
		c.done = rows
	}
	u.sel = u.pick(sel)
	u.rows = rows
	return nil
}

func shifted(ranges iter.Seq2[int64, int64], by int64) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for from, to := range ranges {
			if !yield(from+by, to+by) {
				return
			}
		}
	}
}

// joined is the column as one array, a new reference.
func (c *unitColumn) joined(mem arrowmem.Allocator) (arrow.Array, error) {
	if len(c.segments) == 1 {
		c.segments[0].arr.Retain()
		return c.segments[0].arr, nil
	}
	arrs := make([]arrow.Array, len(c.segments))
	for i, s := range c.segments {
		arrs[i] = s.arr
	}
	return array.Concatenate(arrs, mem)
}

// pick turns a selection among the unit's rows into one of the row group's.
func (u *Unit) pick(sel rowsel.Selection) rowsel.Selection {
	var b rowsel.Builder
	base := int64(0) // unit row of from
	for from, to := range u.sel.Between(u.from, u.to) {
		for x, y := range sel.Between(base, base+to-from) {
			b.Add(from+x-base, from+y-base)
		}
		base += to - from
	}
	return b.Selection()
}
