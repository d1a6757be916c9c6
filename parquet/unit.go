package parquet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// cursor reads one output column of a row group from its first row to its last.
type cursor interface {
	// Begin starts an array of at most rows rows, Append decodes into it, Finish hands it out.
	Begin(rows int)
	Append(ctx context.Context, n int) (int, error)
	Finish() (arrow.Array, error)
	// Skip passes over rows.
	Skip(ctx context.Context, n int64) error
	// Place is the page and offset met last.
	Place() (page int, offset int64)
	Close()
}

// group is what the units of a row group share.
type group struct {
	r    *Reader
	rg   int
	cols []groupColumn
	left atomic.Int32 // units not closed

	found map[int]*foundPages // by leaf: of a Walk; nil = by the offset index, or the chunk as a whole
}

// groupColumn keeps the cursor of an output column between units, so that units taken in order go on where the one before
// stopped: in the middle of a page, with the dictionary read. Another order costs a walk over page headers.
type groupColumn struct {
	mu struct {
		sync.Mutex
		idle *openCursor
	}
}

// openCursor is a cursor with its place.
type openCursor struct {
	cursor
	pages []*chunkPages
	row   int64 // next row in the row group
	spans []build.Span
}

func (c *openCursor) give(b Bytes) {
	for _, p := range c.pages {
		p.give(b)
	}
}

// segment is a finished array of which some rows were handed out.
type segment struct {
	arr  arrow.Array
	used int
}

// unitColumn is an output column of a unit.
type unitColumn struct {
	segments []segment
	first    [1]segment  // memory of the only one, in most columns
	done     int         // rows decoded
	begun    bool        // by Decode
	rest     *openCursor // of a column that stopped early because its strings are long; Next goes on
}

// Unit is one window of rows of a row group. Decode calls for different columns may run at once; Next follows when all
// are done, and belongs to one goroutine.
type Unit struct {
	g     *group
	from  int64 // window in the row group
	to    int64
	sel   rowsel.Selection // relative to the row group
	rows  int              // selected ones in the window
	at    int              // handed out
	cols  []unitColumn
	fills []fill
	done  atomic.Bool // closed
}

// maxUnits bounds the windows of a row group; beyond it windows grow.
const maxUnits = 1 << 16

// maxUnitRows bounds a window whatever its columns.
const maxUnitRows = 1 << 24

// Open prepares a row group: windows of at most UnitBytes, by estimate, in the order of rows. sel is relative to the row
// group; windows without a selected row are left out. Every unit must be closed, in any order. Nothing is fetched or
// decoded yet, but chunks that cannot be read are errors here.
func (r *Reader) Open(rg int, sel rowsel.Selection) ([]*Unit, error) { return r.open(rg, sel, nil) }

func (r *Reader) open(rg int, sel rowsel.Selection, found map[int]*foundPages) ([]*Unit, error) {
	g := &group{r: r, rg: rg, cols: make([]groupColumn, len(r.cols)), found: found}
	for i := range r.cols {
		if err := r.readable(rg, i); err != nil {
			return nil, err
		}
	}
	units, err := g.windows(sel)
	if err != nil {
		return nil, err
	}
	g.left.Store(int32(len(units)))
	return units, nil
}

// readable checks the chunks of an output column.
func (r *Reader) readable(rg, col int) error {
	f := r.f
	for _, leaf := range r.cols[col].leaves {
		if _, _, err := f.ChunkRange(rg, leaf); err != nil {
			return err
		}
		if err := codec.Supported(f.Chunk(rg, leaf).Codec); err != nil {
			return &UnsupportedError{Ability: err.Error(), RowGroup: rg, Column: f.tree.Leaves[leaf].String()}
		}
	}
	return nil
}

// newCursor starts at the row group's first row.
func (g *group) newCursor(col int) *openCursor {
	b, f := &g.r.cols[col], g.r.f
	o := build.Options{Allocator: g.r.o.Allocator, MaxPage: g.r.o.MaxPage, SoftBytes: softBytes(g.r.o), SkipCRC: g.r.o.SkipCRC}
	if g.r.o.Decoded != nil {
		o.Account = g.r.o.Decoded
	}
	if b.nested != nil {
		c := &openCursor{}
		for _, leaf := range b.leaves {
			pages := g.chunkPages(leaf)
			c.pages = append(c.pages, &pages)
		}
		c.cursor = g.newNested(b, c.pages, o)
		return c
	}
	o.Allocator, o.Pages = g.r.o.Values, g.r.o.pages
	c := &openFlat{chunk: g.chunkPages(b.leaves[0])}
	c.one[0] = &c.chunk
	c.pages = c.one[:]
	c.column = build.Make(b.plan, f.Chunk(g.rg, b.leaves[0]).Codec, &c.chunk, o)
	c.cursor = flatCursor{&c.column}
	return &c.openCursor
}

// openFlat is what the cursor of a column of one leaf consists of, in one piece: a scan opens very many.
type openFlat struct {
	openCursor
	chunk  chunkPages
	one    [1]*chunkPages
	column build.Column
}

func (g *group) chunkPages(leaf int) chunkPages {
	if found := g.found[leaf]; found != nil {
		return makeWalkedPages(g.r, g.rg, leaf, found)
	}
	return makeChunkPages(g.r, g.rg, leaf)
}

// flatCursor is a Column as a cursor.
type flatCursor struct{ *build.Column }

// Finish hands out the array.
func (c flatCursor) Finish() (arrow.Array, error) { return c.Column.Finish(), nil }

// borrow gives a cursor that stands at row from or before.
func (g *group) borrow(col int, from int64) *openCursor {
	gc := &g.cols[col]
	gc.mu.Lock()
	defer gc.mu.Unlock()
	if c := gc.mu.idle; c != nil && c.row <= from {
		gc.mu.idle = nil
		return c
	}
	return g.newCursor(col)
}

// giveBack keeps the cursor for the next unit, unless another one got further.
func (g *group) giveBack(col int, c *openCursor) {
	c.give(nil)
	gc := &g.cols[col]
	gc.mu.Lock()
	defer gc.mu.Unlock()
	switch {
	case c.row >= g.r.f.Rows(g.rg) || g.left.Load() == 0:
	case gc.mu.idle == nil:
		gc.mu.idle = c
		return
	case gc.mu.idle.row < c.row:
		gc.mu.idle, c = c, gc.mu.idle
	}
	c.Close()
}

// end closes the cursors that are left.
func (g *group) end() {
	for i := range g.cols {
		gc := &g.cols[i]
		gc.mu.Lock()
		c := gc.mu.idle
		gc.mu.idle = nil
		gc.mu.Unlock()
		if c != nil {
			c.Close()
		}
	}
}

// softBytes is where a column's string bytes end an array: estimates of a unit can be wrong by that much.
func softBytes(o Options) int64 { return max(o.UnitBytes, 1<<20) }

// windows cuts the selected rows.
func (g *group) windows(sel rowsel.Selection) ([]*Unit, error) {
	total := g.r.f.Rows(g.rg)
	selected := sel.Count(total)
	per := max(g.unitRows(), (selected+maxUnits-1)/maxUnits)
	if per > 1<<31-1 {
		return nil, &TooLargeError{Need: per, Budget: 1<<31 - 1, What: "rows of a unit", RowGroup: g.rg}
	}
	var units []*Unit
	var u *Unit
	for from, to := range sel.Ranges(total) {
		for from < to {
			if u == nil || int64(u.rows) == per {
				u = &Unit{g: g, from: from, sel: sel, cols: make([]unitColumn, len(g.cols))}
				units = append(units, u)
			}
			n := min(to-from, per-int64(u.rows))
			u.rows += int(n)
			from += n
			u.to = from
		}
	}
	return units, nil
}

// unitRows is how many rows make UnitBytes.
func (g *group) unitRows() int64 {
	bytes := 0.0
	total := g.r.f.Rows(g.rg)
	for i := range g.r.cols {
		bytes += g.rowBytes(&g.r.cols[i], float64(max(total, 1)))
	}
	n := min(int64(float64(g.r.o.UnitBytes)/max(bytes, 1)), maxUnitRows)
	if n >= total {
		return max(n, 64)
	}
	return max(n&^63, 64)
}

// rowBytes estimates what a row takes in an output column.
func (g *group) rowBytes(b *bound, rows float64) float64 {
	switch {
	case b.origin == fromPosition:
		return 8
	case b.origin == fromConst:
		return 0 // one array serves all batches
	}
	bytes := 0.0
	plans := b.inner
	if b.nested == nil {
		plans = []*build.Plan{b.plan}
	}
	for i, leaf := range b.leaves {
		c := g.r.f.Chunk(g.rg, leaf)
		entries := float64(c.NumValues) / rows
		if b.nested != nil {
			bytes += 2 * entries // levels
		}
		if plans[i] == nil {
			continue
		}
		bytes += entries * float64(plans[i].Width())
		switch {
		case !plans[i].Bytes():
		case c.UnencodedBytes >= 0:
			bytes += float64(c.UnencodedBytes) / rows
		default:
			bytes += float64(c.UncompressedSize) / rows
		}
	}
	return bytes
}

// Rows is how many rows the unit hands out.
func (u *Unit) Rows() int { return u.rows }

// Selection is the rows that the unit hands out, relative to the row group.
func (u *Unit) Selection() rowsel.Selection {
	return rowsel.FromRanges(u.from, u.to).And(u.sel)
}

// Columns lists the output columns of a part that Decode must be called for, the largest first, so that workers who share them end at
// about the same time: none when no row is left.
func (u *Unit) Columns(p Part) []int {
	var out []int
	for i := range u.g.r.cols {
		if b := &u.g.r.cols[i]; b.origin == fromFile && b.part == p && u.rows > 0 {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(u.g.stored(b), u.g.stored(a)) })
	return out
}

// stored is the bytes of an output column's chunks, as the footer has them.
func (g *group) stored(col int) (n int64) {
	for _, leaf := range g.r.cols[col].leaves {
		n += max(g.r.f.Chunk(g.rg, leaf).CompressedSize, 0)
	}
	return n
}

// Decode is the work item (unit, column): it decodes the unit's selected rows of one output column. ctx is looked at once
// a page. b must hold what Ranges named and stay valid until the unit is closed; a miss in it is its error, wrapped.
//
// Units of a row group may be decoded in any order and at once, but in order is cheapest: a column then goes on where the
// unit before it stopped.
func (u *Unit) Decode(ctx context.Context, col int, b Bytes) error {
	uc := &u.cols[col]
	if u.g.r.cols[col].origin != fromFile {
		return nil
	}
	if uc.begun {
		return fmt.Errorf("parquet: column %s of a unit decoded twice", u.g.r.name(col))
	}
	uc.begun = true
	c := u.g.borrow(col, u.from)
	c.give(b)
	return u.run(ctx, col, c)
}

// run decodes until the unit's rows are done or the column's array is full.
func (u *Unit) run(ctx context.Context, col int, c *openCursor) error {
	uc := &u.cols[col]
	full, err := u.decode(ctx, col, c)
	switch {
	case err != nil:
		c.Close()
	case full:
		uc.rest = c
	default:
		u.g.giveBack(col, c)
	}
	return err
}

func (u *Unit) decode(ctx context.Context, col int, c *openCursor) (full bool, err error) {
	defer func() {
		if err != nil {
			err = locate(err, u.g.rg, u.g.r.name(col), c)
		}
	}()
	defer guard(&err)
	uc := &u.cols[col]
	most := u.rows // of a segment
	if u.g.r.cols[col].nested != nil {
		most = u.g.r.o.BatchRows // batches of nested columns should not be slices
	}
	finish := func() error {
		a, err := c.Finish()
		if err == nil {
			if uc.segments == nil {
				uc.segments = uc.first[:0]
			}
			uc.segments = append(uc.segments, segment{arr: a})
		}
		return err
	}
	gap, spare := c.gap(), 0
	if gap > 0 && !u.sel.All() {
		spare = pickRows
	}
	c.Begin(min(u.rows-uc.done, most) + spare)
	have := 0 // rows of the segment
	for s := range stretches(u.sel.Between(max(u.from, c.row), u.to), gap) {
		if s.from > c.row {
			if err := c.Skip(ctx, s.from-c.row); err != nil {
				return false, err
			}
			c.row = s.from
		}
		if len(s.keep) > 1 {
			n, full, err := c.pick(ctx, s)
			if err != nil {
				return false, err
			}
			uc.done += n
			have += n
			if full {
				return true, finish()
			}
			continue
		}
		for c.row < s.to {
			if have == most {
				if err := finish(); err != nil {
					return false, err
				}
				c.Begin(min(u.rows-uc.done, most))
				have = 0
			}
			want := min(int(s.to-c.row), most-have)
			n, err := c.Append(ctx, want)
			if err != nil {
				return false, err
			}
			c.row += int64(n)
			uc.done += n
			have += n
			if n < want {
				return true, finish()
			}
		}
	}
	return false, finish()
}

func (r *Reader) name(col int) string {
	if n := r.cols[col].node; n != nil {
		return n.String()
	}
	return r.cols[col].Output.Name
}

// Next returns the next rows as a batch of at most rows rows (0 = Options.BatchRows) and about Options.BatchBytes, and
// io.EOF at the end. Batches start at multiples of 64 rows of the unit. The caller owns the batch and releases it.
func (u *Unit) Next(rows int) (arrow.RecordBatch, error) {
	if u.at == u.rows {
		return nil, io.EOF
	}
	if rows <= 0 {
		rows = u.g.r.o.BatchRows
	}
	if err := u.refill(); err != nil {
		return nil, err
	}
	n := u.batchRows(rows)
	arrs := make([]arrow.Array, len(u.cols))
	for i := range u.cols {
		var err error
		if arrs[i], err = u.take(i, n); err != nil {
			for _, a := range arrs[:i] {
				a.Release()
			}
			return nil, err
		}
	}
	u.at += n
	rec := array.NewRecordBatch(u.g.r.schema, arrs, int64(n))
	for _, a := range arrs {
		a.Release()
	}
	return rec, nil
}

// refill makes sure that every column has rows at hand.
func (u *Unit) refill() error {
	for i := range u.cols {
		c := &u.cols[i]
		if u.g.r.cols[i].origin != fromFile || len(c.segments) > 0 {
			continue
		}
		if c.rest == nil {
			return fmt.Errorf("parquet: Next before column %s was decoded", u.g.r.name(i))
		}
		rest := c.rest
		c.rest = nil
		if err := u.run(context.Background(), i, rest); err != nil {
			return err
		}
	}
	return nil
}

// batchRows is how many rows the next batch has.
func (u *Unit) batchRows(rows int) int {
	n := min(rows, u.rows-u.at)
	perRow := 0.0
	for i := range u.cols {
		if u.g.r.cols[i].origin != fromFile {
			continue
		}
		s := &u.cols[i].segments[0]
		n = min(n, s.arr.Len()-s.used)
		perRow += bytesOf(s.arr.Data()) / float64(max(s.arr.Len(), 1))
	}
	if most := float64(u.g.r.o.BatchBytes) / max(perRow, 1); float64(n) > most {
		n = max(int(most), 1)
	}
	if n > 64 && n < u.rows-u.at {
		n &^= 63
	}
	return n
}

func bytesOf(d arrow.ArrayData) float64 {
	n := 0
	for _, b := range d.Buffers() {
		if b != nil {
			n += b.Len()
		}
	}
	sum := float64(n)
	for _, c := range d.Children() {
		sum += bytesOf(c)
	}
	if d.Dictionary() != nil && d.DataType().ID() == arrow.DICTIONARY {
		sum += bytesOf(d.Dictionary())
	}
	return sum
}

// take gives n rows of a column.
func (u *Unit) take(i, n int) (arrow.Array, error) {
	switch b := &u.g.r.cols[i]; b.origin {
	case fromPosition:
		return u.positions(n), nil
	case fromConst:
		return u.constant(i, n)
	}
	c := &u.cols[i]
	s := &c.segments[0]
	length := s.arr.Len()
	if s.used == 0 && n == length {
		a := s.arr
		c.segments = c.segments[1:]
		return a, nil
	}
	var a arrow.Array
	if u.g.r.cols[i].nested != nil {
		a = nested.Cut(u.g.r.o.Allocator, s.arr, s.used, n)
	} else {
		a = array.NewSlice(s.arr, int64(s.used), int64(s.used+n))
	}
	if s.used += n; s.used == length {
		s.arr.Release()
		c.segments = c.segments[1:]
	}
	return a, nil
}

// Close frees what was not handed out; idempotent. The batches handed out live on. No Decode may be running.
func (u *Unit) Close() {
	if u.done.Swap(true) {
		return
	}
	for i := range u.cols {
		c := &u.cols[i]
		for _, s := range c.segments {
			s.arr.Release()
		}
		c.segments = nil
		if c.rest != nil {
			c.rest.Close()
			c.rest = nil
		}
	}
	for i := range u.fills {
		u.fills[i].release()
	}
	u.fills = nil
	u.at = u.rows
	if u.g.left.Add(-1) == 0 {
		u.g.end()
	}
}
