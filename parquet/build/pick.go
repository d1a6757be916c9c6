package build

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/encoding"
)

// Span is the rows From to To-1, counted from the row at the cursor.
type Span struct{ From, To int }

// AppendPicked decodes the next n rows and keeps those of rising, disjoint spans. Where spans are a few rows apart that is many times
// cheaper than to Skip and Append them one by one. With those appended before, the n rows must not exceed what Begin announced. It
// returns how many of the n rows it decoded, as Append does, and how many it kept.
func (c *Column) AppendPicked(ctx context.Context, n int, keep []Span) (read, kept int, err error) {
	o := &c.out
	at, nulls, long := o.pos, o.nulls, o.views.long
	if read, err = c.Append(ctx, n); err != nil {
		return read, 0, err
	}
	for i, s := range keep {
		if s.To > read {
			keep[i].To = max(read, s.From)
			keep = keep[:i+1]
			break
		}
	}
	for _, s := range keep {
		kept += s.To - s.From
	}
	if kept == read {
		return read, kept, nil
	}
	if o.valid != nil {
		o.nulls = nulls + kept - pickBits(o.valid.Buf(), at, read, keep)
	}
	switch c.plan.sink {
	case sinkFixed, sinkDict:
		pickFixed(o.fixed()[at*c.plan.outWidth:], c.plan.outWidth, keep)
	case sinkBool:
		pickBits(o.vals.Buf(), at, read, keep)
	case sinkBytes:
		c.pickBytes(at, keep)
	case sinkView:
		views := o.vals.Buf()[at*encoding.ViewWidth:]
		pickFixed(views, encoding.ViewWidth, keep)
		o.views.long = long
		for i := range kept {
			if k := le.Uint32(views[i*encoding.ViewWidth:]); k > encoding.Inline {
				o.views.long += int64(k)
			}
		}
	}
	o.pos = at + kept
	return read, kept, nil
}

// pickFixed moves the values of spans to the front of b.
func pickFixed(b []byte, width int, keep []Span) {
	to := 0
	if width == 8 {
		v := arrow.Uint64Traits.CastFromBytes(b)
		for _, s := range keep {
			for i := s.From; i < s.To; i++ {
				v[to] = v[i]
				to++
			}
		}
		return
	}
	for _, s := range keep {
		to += copy(b[to:], b[s.From*width:s.To*width])
	}
}

// pickBytes moves byte strings and their ends.
func (c *Column) pickBytes(at int, keep []Span) {
	o := &c.out
	ends := arrow.Int32Traits.CastFromBytes(o.vals.Buf())[at:] // ends[0] is the end of what was there before
	var data []byte
	if o.data != nil {
		data = o.data.Buf()
	}
	used, to := ends[0], 1
	for _, s := range keep {
		from, end := ends[s.From], ends[s.To]
		copy(data[used:], data[from:end])
		shift := used - from
		for _, e := range ends[s.From+1 : s.To+1] {
			ends[to] = e + shift
			to++
		}
		used += end - from
	}
	o.used = int(used)
}

// pickBits moves the bits of spans, counted from bit at, to bit at, clears what is left of n bits, and returns the number of ones.
func pickBits(b []byte, at, n int, keep []Span) (ones int) {
	to := at
	for _, s := range keep {
		for i := at + s.From; i < at+s.To; i++ {
			bit := b[i>>3] >> (i & 7) & 1
			b[to>>3] = b[to>>3]&^(1<<(to&7)) | bit<<(to&7)
			ones += int(bit)
			to++
		}
	}
	encoding.ClearBits(b, to, at+n-to)
	return ones
}
