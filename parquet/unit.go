package parquet

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// cursor reads one output column of a row group from its first row to its last.
type cursor interface {
	// Begin starts an array of at most rows rows, Append decodes into it, Finish hands it out.
	Begin(rows int)
	Append(ctx context.Context, n int) (int, error)
	Rows() int
	Finish() arrow.Array
	// Skip passes over rows.
	Skip(ctx context.Context, n int64) error
	// Place is the page and offset met last.
	Place() (page int, offset int64)
	Close()
}

// group is what the units of a row group share: a cursor a column.
type group struct {
	r     *Reader
	rg    int
	cols  []groupColumn
	units int
	left  atomic.Int32 // units not closed
}

type groupColumn struct {
	mu struct {
		sync.Mutex
		busy bool
		next int // unit whose turn it is
		err  error
	}
	cur   cursor
	pages []*chunkPages
	row   int64 // next row of the cursor, in the row group
}

// segment is a finished array of which some rows were handed out.
type segment struct {
	arr  arrow.Array
	used int
}

// unitColumn is an output column of a unit.
type unitColumn struct {
	segments []segment
	done     int // rows decoded
	decoded  bool
}

// Unit is one window of rows of a row group. Decode calls for different columns may run at once; Next follows when all
// are done, and belongs to one goroutine.
type Unit struct {
	g     *group
	index int
	from  int64 // window in the row group
	to    int64
	sel   rowsel.Selection // relative to the row group
	rows  int              // selected ones
	at    int              // handed out
	cols  []unitColumn
	fills []fill
	close atomic.Bool
}

// maxUnits bounds the windows of a row group; beyond it windows grow.
const maxUnits = 1 << 16

// maxUnitRows bounds a window whatever its columns.
const maxUnitRows = 1 << 24

// Open prepares a row group: windows of at most UnitBytes, by estimate, in the order of rows. sel is relative to the row
// group; windows without a selected row are left out. Every unit must be closed, in any order. Nothing is fetched or
// decoded yet, but chunks that cannot be read are errors here.
func (r *Reader) Open(rg int, sel rowsel.Selection) ([]*Unit, error) {
	g := &group{r: r, rg: rg, cols: make([]groupColumn, len(r.cols))}
	for i := range r.cols {
		if err := g.open(i); err != nil {
			return nil, err
		}
	}
	units, err := g.windows(sel)
	if err != nil {
		return nil, err
	}
	g.units = len(units)
	g.left.Store(int32(len(units)))
	return units, nil
}

func (g *group) open(i int) error {
	b, c := &g.r.cols[i], &g.cols[i]
	if b.origin != fromFile {
		return nil
	}
	f := g.r.f
	for _, leaf := range b.leaves {
		off, n, err := f.ChunkRange(g.rg, leaf)
		if err != nil {
			return err
		}
		if err := codec.Supported(f.Chunk(g.rg, leaf).Codec); err != nil {
			return &UnsupportedError{Ability: err.Error(), RowGroup: g.rg, Column: f.tree.Leaves[leaf].String()}
		}
		c.pages = append(c.pages, &chunkPages{off: off, end: off + n, at: off})
	}
	o := build.Options{Allocator: g.r.o.Allocator, MaxPage: g.r.o.MaxPage, SoftBytes: softBytes(g.r.o), SkipCRC: g.r.o.SkipCRC}
	if g.r.o.Decoded != nil {
		o.Account = g.r.o.Decoded
	}
	c.cur = build.New(b.plan, f.Chunk(g.rg, b.leaves[0]).Codec, c.pages[0], o)
	return nil
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
				u = &Unit{g: g, index: len(units), from: from, sel: sel, cols: make([]unitColumn, len(g.cols))}
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
	rows := float64(max(g.r.f.Rows(g.rg), 1))
	for i := range g.r.cols {
		b := &g.r.cols[i]
		switch {
		case b.origin == fromPosition:
			bytes += 8
		case b.plan == nil:
			continue
		default:
			bytes += float64(b.plan.Width())
			if b.plan.Bytes() {
				c := g.r.f.Chunk(g.rg, b.leaves[0])
				if c.UnencodedBytes >= 0 {
					bytes += float64(c.UnencodedBytes) / rows
				} else {
					bytes += float64(c.UncompressedSize) / rows
				}
			}
		}
	}
	n := int64(float64(g.r.o.UnitBytes) / max(bytes, 1))
	if n >= g.r.f.Rows(g.rg) {
		return max(min(n, maxUnitRows), 64)
	}
	return max(min(n, maxUnitRows)&^63, 64)
}

// Rows is how many rows the unit hands out.
func (u *Unit) Rows() int { return u.rows }

// Bounds are the unit's rows in the row group, [from, to); selected ones lie within.
func (u *Unit) Bounds() (from, to int64) { return u.from, u.to }

// Columns lists the output columns of a part that Decode must be called for.
func (u *Unit) Columns(p Part) []int {
	var out []int
	for i := range u.g.r.cols {
		if b := &u.g.r.cols[i]; b.origin == fromFile && b.part == p {
			out = append(out, i)
		}
	}
	return out
}

// Decode is the work item (unit, column): it decodes the unit's selected rows of one output column. ctx is looked at once
// a page. b must hold what Ranges named and stay valid until the unit is closed; a miss in it is its error, wrapped.
// Units of a row group come in order, for each column.
func (u *Unit) Decode(ctx context.Context, col int, b Bytes) error {
	gc := &u.g.cols[col]
	if gc.cur == nil {
		return nil
	}
	if err := gc.enter(u.index); err != nil {
		return err
	}
	for _, p := range gc.pages {
		p.bytes, p.win = b, nil
	}
	err := u.decode(ctx, col, gc)
	gc.leave(u, err)
	return err
}

func (c *groupColumn) enter(unit int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.err != nil:
		return c.mu.err
	case c.mu.busy || c.mu.next != unit:
		return fmt.Errorf("parquet: unit %d of a column decoded while it is the turn of unit %d", unit, c.mu.next)
	}
	c.mu.busy = true
	return nil
}

func (c *groupColumn) leave(u *Unit, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.busy = false
	if err != nil {
		c.mu.err = err
		c.cur.Close()
		return
	}
	c.mu.next = u.index + 1
	if c.mu.next == u.g.units {
		c.cur.Close()
	}
}

func (u *Unit) decode(ctx context.Context, col int, gc *groupColumn) (err error) {
	uc := &u.cols[col]
	defer func() { err = locate(err, u.g.rg, u.g.r.name(col), gc.cur) }()
	defer guard(&err)
	gc.cur.Begin(u.rows)
	for from, to := range u.sel.Between(u.from, u.to) {
		if from > gc.row {
			if err := gc.cur.Skip(ctx, from-gc.row); err != nil {
				return err
			}
			gc.row = from
		}
		for gc.row < to {
			n, err := gc.cur.Append(ctx, int(to-gc.row))
			if err != nil {
				return err
			}
			gc.row += int64(n)
			uc.done += n
			if gc.row < to { // the array is full
				uc.segments = append(uc.segments, segment{arr: gc.cur.Finish()})
				gc.cur.Begin(u.rows - uc.done)
			}
		}
	}
	if gc.cur.Rows() > 0 || len(uc.segments) == 0 {
		uc.segments = append(uc.segments, segment{arr: gc.cur.Finish()})
	}
	uc.decoded = true
	return nil
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
	n, err := u.batchRows(rows)
	if err != nil {
		return nil, err
	}
	arrs := make([]arrow.Array, len(u.cols))
	for i := range u.cols {
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

// batchRows is how many rows the next batch has.
func (u *Unit) batchRows(rows int) (int, error) {
	n := min(rows, u.rows-u.at)
	perRow := 0.0
	for i := range u.cols {
		if u.g.r.cols[i].origin != fromFile {
			continue
		}
		c := &u.cols[i]
		if !c.decoded {
			return 0, fmt.Errorf("parquet: Next before column %s was decoded", u.g.r.name(i))
		}
		s := &c.segments[0]
		n = min(n, s.arr.Len()-s.used)
		perRow += bytesOf(s.arr.Data()) / float64(max(s.arr.Len(), 1))
	}
	if most := float64(u.g.r.o.BatchBytes) / max(perRow, 1); float64(n) > most {
		n = max(int(most), 1)
	}
	if n > 64 && n < u.rows-u.at {
		n &^= 63
	}
	return n, nil
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
	a := array.NewSlice(s.arr, int64(s.used), int64(s.used+n))
	if s.used += n; s.used == length {
		s.arr.Release()
		c.segments = c.segments[1:]
	}
	return a, nil
}

// Narrow applies the late filter before the rest is decoded.
func (u *Unit) Narrow(sel rowsel.Selection) {}

// Close frees what was not handed out; idempotent. The batches handed out live on. No Decode may be running.
func (u *Unit) Close() {
	if u.close.Swap(true) {
		return
	}
	for i := range u.cols {
		for _, s := range u.cols[i].segments {
			s.arr.Release()
		}
		u.cols[i].segments = nil
	}
	for i := range u.fills {
		u.fills[i].release()
	}
	u.fills = nil
	u.at = u.rows
	if u.g.left.Add(-1) == 0 {
		for i := range u.g.cols {
			if c := u.g.cols[i].cur; c != nil {
				c.Close()
			}
		}
	}
}
