package source

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// parquetUnit is one window of a row group.
type parquetUnit struct {
	c        *parquetFile
	g        group
	u        *parquet.Unit
	share    float64 // of the row group's selected rows
	after    bool    // another unit of the row group goes before it
	two      bool    // the columns that the filter does not read are fetched when it has been evaluated
	filtered bool    // the filter has been evaluated
}

// size is what decoding will hold: the row group's bytes before compression, for the unit's part of its rows.
func (u *parquetUnit) size() int64 {
	meta := u.c.footer.Meta()
	var packed, plain int64
	for i := range meta.Columns {
		ch := meta.Chunk(u.g.rg, i)
		packed += max(ch.CompressedSize, 0)
		plain += max(ch.UncompressedSize, 0)
	}
	ratio := float64(plain) / float64(max(packed, 1))
	return int64(min(float64(u.g.bytes)*max(ratio, 1)*u.share, 1<<40))
}

func (u *parquetUnit) follows() bool { return u.after }

func (u *parquetUnit) columns(phase int) []int {
	if phase == 1 {
		return u.u.Columns(parquet.PartRest)
	}
	return u.u.Columns(parquet.PartFilter)
}

func (u *parquetUnit) decode(ctx context.Context, col int, b *pieces) error {
	return u.u.Decode(ctx, col, b)
}

// narrow evaluates the filter on its columns, so that the others are decoded for the rows that are left, and perhaps not
// fetched at all.
func (u *parquetUnit) narrow(context.Context) ([]object.Range, error) {
	hint := u.c.format.cfg.FilterHint
	u.filtered = hint
	if hint && !u.c.format.hints.wants() {
		return u.rest()
	}
	rec, ok, err := u.u.FilterBatch()
	if err != nil {
		return nil, err
	}
	if ok {
		err = u.c.filter.evaluate(rec, &u.c.filter.early, func(s *eval.Selection) error {
			u.filtered = true
			if hint {
				pays := worthNarrowing(s.Words(), s.Len(), s.Count())
				u.c.format.hints.learn(pays)
				if !pays {
					return nil
				}
			}
			if s.All() {
				return nil
			}
			return u.u.Narrow(rowsel.FromWords(0, slices.Clone(s.Words())))
		})
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	u.c.format.late.learn(u.u.Rows() == 0)
	return u.rest()
}

// rest are the ranges of the columns that the filter does not read, for the rows that are left.
func (u *parquetUnit) rest() ([]object.Range, error) {
	if !u.two || u.u.Rows() == 0 {
		return nil, nil
	}
	var demands []demand
	for _, r := range u.c.reader.Ranges(u.g.rg, parquet.PartRest, u.u.Selection(), parquet.Cost{}) {
		if rest, ok := u.c.missing(r); ok {
			demands = append(demands, demand{rest, 0})
		}
	}
	spans, _, wasted := coalesce(demands, gapOf(u.c.format.hop()), 1)
	u.c.format.stats.overRead.Add(wasted)
	return spans, nil
}

// finish makes the batches of the unit's rows.
func (u *parquetUnit) finish(ctx context.Context) (out []Batch, err error) {
	defer func() {
		if err != nil {
			for _, b := range out {
				b.Record.Release()
			}
			out = nil
		}
	}()
	var places *places
	if u.c.placed() {
		places = newPlaces(u.u.Selection(), u.c.footer.FirstRow(u.g.rg), u.c.footer.Rows(u.g.rg))
	}
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		rec, err := u.u.Next(0)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		o := Origin{Ordinal: u.c.file.task.Ordinal, RowGroup: u.g.rg}
		if places != nil {
			o.First, o.Positions = places.take(int(rec.NumRows()))
		}
		b, err := u.c.shape(rec, o, u.filtered)
		rec.Release()
		if err != nil {
			return out, err
		}
		if b.Record != nil {
			out = append(out, b)
		}
	}
}

func (u *parquetUnit) close() {
	u.u.Close()
	u.c.unref()
}

// places tells where in the file successive rows of a selection lie.
type places struct {
	next    func() (int64, int64, bool)
	base    int64
	at, end int64
}

func newPlaces(sel rowsel.Selection, base, rows int64) *places {
	return &places{base: base, next: sel.Walk(rows)}
}

// placed reports whether anybody looks at the places of rows: they cost more than a column where many short runs are selected, and a
// consumer that filters itself (SQL) has no use for them.
func (c *parquetFile) placed() bool {
	return !c.format.cfg.FilterHint || len(c.plan.Fills) > 0 || c.filter.deletes != nil
}

// take gives the positions of the next n rows: the first, and all of them unless they follow each other.
func (p *places) take(n int) (first int64, all []int64) {
	p.fill()
	first = p.base + p.at
	if p.end-p.at >= int64(n) {
		p.at += int64(n)
		return first, nil
	}
	all = make([]int64, 0, n)
	for len(all) < n {
		p.fill()
		for ; p.at < p.end && len(all) < n; p.at++ {
			all = append(all, p.base+p.at)
		}
	}
	return first, all
}

func (p *places) fill() {
	for p.at == p.end && p.next != nil {
		from, to, ok := p.next()
		if !ok {
			p.next = nil
			return
		}
		p.at, p.end = from, to
	}
}

// rowFilter is what removes rows of one file: its filter and its deletes.
type rowFilter struct {
	expr        expr.Expr
	deletes     applied // nil = none
	early, late compiled
}

// applied is what deletes.Loader answers for one data file.
type applied interface {
	Deleted() rowsel.Selection
	Keys() []arrow.Field
	Mask(dst []byte, columns []arrow.Array) ([]byte, int64, error)
	Release()
}

// compiled is a filter made ready for batches of one schema.
type compiled struct {
	once sync.Once
	ev   *eval.Evaluator
	err  error
}

var selections = sync.Pool{New: func() any { return new(eval.Selection) }}

// evaluate lends the selection to use.
func (f *rowFilter) evaluate(rec arrow.RecordBatch, c *compiled, use func(*eval.Selection) error) error {
	c.once.Do(func() { c.ev, c.err = eval.New(f.expr, rec.Schema()) })
	if c.err != nil {
		return c.err
	}
	s := selections.Get().(*eval.Selection)
	defer selections.Put(s)
	if err := c.ev.Eval(rec, s); err != nil {
		return err
	}
	return use(s)
}

// keys are the columns that equality deletes look at.
func (f *rowFilter) keys() []arrow.Field {
	if f.deletes == nil {
		return nil
	}
	return f.deletes.Keys()
}

// shape turns decoded columns into the output: lineage filled in, deleted rows marked or dropped, the filter applied if it has
// not been, extra columns left out. rec stays the caller's. A batch without rows left has a nil Record.
func (c *parquetFile) shape(rec arrow.RecordBatch, o Origin, filtered bool) (Batch, error) {
	rows := int(rec.NumRows())
	cols := slices.Clone(rec.Columns())
	var made []arrow.Array
	defer func() {
		for _, a := range made {
			a.Release()
		}
	}()
	for _, fill := range c.plan.Fills {
		a, err := fill.Apply(cols[fill.Column], o.First, o.Positions, c.format.mem)
		if err != nil {
			return Batch{}, err
		}
		made = append(made, a)
		cols[fill.Column] = a
	}
	gone, err := c.gone(cols, o, rows)
	if err != nil {
		return Batch{}, err
	}
	keep := rowsel.Selection{}
	if c.filter.expr != nil && !filtered && !c.format.cfg.FilterHint {
		full := array.NewRecordBatch(rec.Schema(), cols, int64(rows))
		err := c.filter.evaluate(full, &c.filter.late, func(s *eval.Selection) error {
			if !s.All() {
				keep = rowsel.FromWords(0, slices.Clone(s.Words()))
			}
			return nil
		})
		full.Release()
		if err != nil {
			return Batch{}, err
		}
	}
	b := Batch{Origin: o}
	if c.format.cfg.KeepDeleted {
		b.Deleted = gone
	} else if gone != nil {
		keep = keep.AndNot(bitsOf(gone))
	}
	left := int(keep.Count(int64(rows)))
	if left == 0 {
		return Batch{}, nil
	}
	cols = cols[:c.want.output]
	if left < rows {
		if cols, err = compactAll(c.format.mem, cols, keep, rows, left); err != nil {
			return Batch{}, err
		}
		made = append(made, cols...)
		b.Origin.pick(keep, rows)
		b.Deleted = pickBits(b.Deleted, keep, rows, left)
	}
	b.Record = array.NewRecordBatch(c.format.cfg.Schema, cols, int64(left))
	return b, nil
}

// gone marks the rows of a batch that deletes remove: nil = none. Positions have been dropped before decoding already, unless
// deleted rows are kept.
func (c *parquetFile) gone(cols []arrow.Array, o Origin, rows int) (mask []byte, err error) {
	d := c.filter.deletes
	if d == nil {
		return nil, nil
	}
	var n int64
	if c.format.cfg.KeepDeleted {
		if dead := d.Deleted(); !dead.None() {
			mask = make([]byte, (rows+7)/8)
			n = markPositions(mask, dead, o, rows)
		}
	}
	if keys := c.want.keys; len(keys) > 0 {
		at := make([]arrow.Array, len(keys))
		for i, k := range keys {
			at[i] = cols[k]
		}
		more := int64(0)
		if mask, more, err = d.Mask(mask, at); err != nil {
			return nil, err
		}
		n += more
	}
	if n == 0 {
		return nil, nil
	}
	return mask, nil
}

func markPositions(mask []byte, dead rowsel.Selection, o Origin, rows int) (n int64) {
	if o.Positions == nil {
		return dead.Mask(mask, o.First, o.First+int64(rows))
	}
	for i, at := range o.Positions {
		if dead.Contains(at) {
			mask[i/8] |= 1 << (i % 8)
			n++
		}
	}
	return n
}

// pick narrows the positions to the rows kept.
func (o *Origin) pick(keep rowsel.Selection, rows int) {
	var all []int64
	for from, to := range keep.Ranges(int64(rows)) {
		for i := from; i < to; i++ {
			if o.Positions != nil {
				all = append(all, o.Positions[i])
			} else {
				all = append(all, o.First+i)
			}
		}
	}
	o.First, o.Positions = all[0], all
	if all[len(all)-1]-all[0] == int64(len(all)-1) {
		o.Positions = nil
	}
}

// bitsOf is a selection of the set bits.
func bitsOf(mask []byte) rowsel.Selection {
	words := make([]uint64, (len(mask)+7)/8)
	for i, b := range mask {
		words[i/8] |= uint64(b) << (i % 8 * 8)
	}
	return rowsel.FromWords(0, words)
}

// pickBits keeps the bits of the rows kept; nil if none of them is set.
func pickBits(mask []byte, keep rowsel.Selection, rows, left int) []byte {
	if mask == nil {
		return nil
	}
	out, at, any := make([]byte, (left+7)/8), 0, false
	for from, to := range keep.Ranges(int64(rows)) {
		for i := from; i < to; i++ {
			if mask[i/8]>>(i%8)&1 != 0 {
				out[at/8] |= 1 << (at % 8)
				any = true
			}
			at++
		}
	}
	if !any {
		return nil
	}
	return out
}

// compactAll copies the kept rows of every column.
func compactAll(mem arrowmem.Allocator, cols []arrow.Array, keep rowsel.Selection, rows, left int) ([]arrow.Array, error) {
	out := make([]arrow.Array, 0, len(cols))
	for _, a := range cols {
		c, err := compact(mem, a, keep, rows, left)
		if err != nil {
			for _, a := range out {
				a.Release()
			}
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func compact(mem arrowmem.Allocator, a arrow.Array, keep rowsel.Selection, rows, left int) (arrow.Array, error) {
	switch a.DataType().(type) {
	case arrow.NestedType, arrow.ExtensionType:
		var parts []arrow.Array
		for from, to := range keep.Ranges(int64(rows)) {
			parts = append(parts, array.NewSlice(a, from, to))
		}
		defer func() {
			for _, p := range parts {
				p.Release()
			}
		}()
		return array.Concatenate(parts, mem)
	}
	return build.Compact(mem, a, keep.Ranges(int64(rows)), left), nil
}

// lateness decides whether a filter's columns are fetched alone first.
type lateness struct {
	mu struct {
		sync.Mutex
		n      int
		unused float64 // part of the units whose other columns nobody needed
	}
}

func (l *lateness) learn(unused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.n++
	x := 0.0
	if unused {
		x = 1
	}
	l.mu.unused += (x - l.mu.unused) / float64(min(l.mu.n, 16))
}

// pays reports that the bytes saved are worth the extra round.
func (l *lateness) pays(g group, hop int64) bool {
	if g.rest == 0 || g.rest == g.bytes {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.n >= 4 && int64(l.mu.unused*float64(g.rest)) > hop
}
