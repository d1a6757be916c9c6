package build

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Leaf is a cursor over the chunk of a leaf inside lists, maps or structs. It reads whole rows (records): the levels of
// every entry, and an array with a place for each entry whose definition level reaches the slot level.
//
// Pages of version 1 may end within a row, so the end of a row is seen only when the next one begins, or when the chunk has
// given all its entries.
type Leaf struct {
	Column
	maxRep, maxDef uint8
	slot           uint8
	bare           bool  // levels only
	entries        int64 // of the chunk
	read           int64 // entries of pages begun, skipped ones included

	reps, defs levelReader
	rep, def   []uint8 // levels read ahead, from the cursor on
	repBuf     [levelStep]uint8
	defBuf     [levelStep]uint8
	aligned    bool // the page ends with a row

	outRep, outDef []uint8 // their memory is used again
	perRow         float64 // entries, by the metadata
	most           int64   // bytes that the metadata is believed for
	inRow          bool    // entries of a row were taken that may go on
}

// levelStep is how many levels are read ahead.
const levelStep = 2048

// LeafOptions of NewLeaf.
type LeafOptions struct {
	Options
	MaxRep, MaxDef int
	Slot           uint8
	Rows, Entries  int64 // of the chunk, from its metadata
	Aligned        bool  // pages are known to begin with a row
}

// NewLeaf makes a cursor at the chunk's first row. p is nil if only levels are wanted.
func NewLeaf(p *Plan, c thrift.Codec, pages Pages, o LeafOptions) *Leaf {
	l := &Leaf{maxRep: uint8(o.MaxRep), maxDef: uint8(o.MaxDef), slot: o.Slot, bare: p == nil, entries: o.Entries, aligned: o.Aligned}
	if p == nil {
		p = &Plan{sink: sinkNull}
	} else {
		own := *p
		own.nullable = o.MaxDef > int(o.Slot)
		p = &own
	}
	l.perRow, l.most = 1, max(o.SoftBytes, 1<<16)
	if o.Rows > 0 && o.Entries > o.Rows {
		l.perRow = 1.02 * float64(o.Entries) / float64(o.Rows)
	}
	o.SoftBytes = maxBytes
	l.Column = *New(p, c, pages, o.Options)
	return l
}

// levelReader gives levels of one kind.
type levelReader struct {
	hybrid  encoding.Hybrid
	plain   []uint8 // BIT_PACKED, unpacked
	maximum uint8
}

func (r *levelReader) init(b []byte, maximum uint8, old bool, n int) error {
	*r = levelReader{maximum: maximum}
	width := bits.Len8(maximum)
	if !old || maximum == 0 {
		return r.hybrid.Init(b, uint(width))
	}
	// Most significant bit first: turned around, each level has its bits in the wrong order.
	flipped := make([]byte, len(b))
	for i, x := range b {
		flipped[i] = bits.Reverse8(x)
	}
	r.plain = make([]uint8, n)
	for i := range r.plain {
		v := uint8(0)
		for k := range width {
			at := i*width + k
			v = v<<1 | flipped[at>>3]>>(at&7)&1
		}
		if v > maximum {
			return fmt.Errorf("%w: level %d above %d", ErrCorrupt, v, maximum)
		}
		r.plain[i] = v
	}
	return nil
}

func (r *levelReader) next(dst []uint8) error {
	switch {
	case r.maximum == 0:
		clear(dst)
		return nil
	case r.plain != nil:
		r.plain = r.plain[copy(dst, r.plain):]
		return nil
	}
	return r.hybrid.Levels(dst, r.maximum)
}

// Begin starts an array of about rows rows.
func (l *Leaf) Begin(rows int) {
	l.Column.Begin(int(min(float64(rows)*l.perRow, float64(l.most)/float64(max(l.plan.Width(), 1)))))
	l.outRep, l.outDef = l.outRep[:0], l.outDef[:0]
}

// Append decodes the next n rows. A leaf never stops early: more string bytes than an array holds, or more bytes than a page
// may have, are ErrTooLarge.
func (l *Leaf) Append(ctx context.Context, n int) (int, error) {
	l.enter()
	defer l.exit()
	if !l.bare {
		l.begin()
	}
	done, err := l.rows(ctx, n, l.take)
	l.row += int64(done)
	return done, err
}

// Skip passes over n rows.
func (l *Leaf) Skip(ctx context.Context, n int64) error {
	l.enter()
	defer l.exit()
	for n > 0 {
		n -= l.leave(n)
		jumped, err := l.jump(n)
		if err != nil {
			return err
		}
		if n -= jumped; n == 0 {
			return nil
		}
		k, err := l.rows(ctx, int(min(n, levelStep)), l.pass)
		l.row += int64(k)
		n -= int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

// leave passes over the rest of the page at the cursor if the rows to skip reach beyond it and its end is known: the pages
// behind it may not be at hand.
func (l *Leaf) leave(n int64) (rows int64) {
	end, ok := l.pages.PageEnd()
	if !ok || end < l.row || l.inRow || len(l.def) == 0 && l.pg.left == 0 || l.row+n < end {
		return 0
	}
	rows = end - l.row
	l.row, l.pg.left, l.rep, l.def = end, 0, nil, nil
	return rows
}

// jump passes over whole pages whose rows are known without reading them.
func (l *Leaf) jump(n int64) (rows int64, err error) {
	if l.inRow || len(l.def) > 0 || l.pg.left > 0 {
		return 0, nil
	}
	if first, ok := l.pages.SeekRow(l.row + n); ok && first > l.row {
		rows = first - l.row
		l.row, l.read = first, -1 // how many entries that were is not known
	}
	for rows < n {
		if err := l.nextPage(); err != nil {
			return rows, err
		}
		l.count1()
		k := int64(l.pg.NumRows)
		if l.pg.Type != thrift.DataPageV2 || k > n-rows {
			return rows, nil
		}
		l.pg.left = 0
		l.row += k
		rows += k
	}
	return rows, nil
}

// count1 counts the entries of a page that was begun.
func (l *Leaf) count1() {
	if l.read >= 0 {
		l.read += int64(l.pg.left)
	}
}

// rows reads n rows and gives their entries to use, in pieces.
func (l *Leaf) rows(ctx context.Context, n int, use func(rep, def []uint8) error) (done int, err error) {
	for {
		if len(l.def) == 0 {
			more, err := l.more(ctx, done == n)
			if err != nil {
				return done, err
			}
			if !more { // the last row ends here
				l.inRow = false
				return done, nil
			}
		}
		k, begun := l.span(n - done)
		if k > 0 {
			if err := use(l.rep[:k], l.def[:k]); err != nil {
				return done, err
			}
		}
		l.rep, l.def = l.rep[k:], l.def[k:]
		done += begun
		l.inRow = true
		if len(l.def) > 0 {
			l.inRow = false
			return done, nil
		}
	}
}

// span is how many entries at the cursor belong to rows wanted, and how many rows begin among them. It ends before the
// entry that begins row n+1.
func (l *Leaf) span(n int) (k, begun int) {
	if l.maxRep == 0 {
		k = min(n, len(l.def))
		return k, k
	}
	return nested.CountRows(l.rep, n)
}

// more reads levels ahead. With last set all rows wanted have begun; it reports false if nothing can follow that still
// belongs to them.
func (l *Leaf) more(ctx context.Context, last bool) (bool, error) {
	for l.pg.left == 0 {
		if last && (l.maxRep == 0 || l.aligned || l.read == l.entries || l.count > 0 && l.pg.Type == thrift.DataPageV2) {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		err := l.nextPage()
		if last && l.ended && err != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		l.count1()
	}
	if last && l.maxRep == 0 {
		return false, nil
	}
	if !l.pg.open {
		if err := l.openLevels(); err != nil {
			return false, err
		}
	}
	k := min(l.pg.left, levelStep)
	l.rep, l.def = l.repBuf[:k], l.defBuf[:k]
	if err := l.reps.next(l.rep); err != nil {
		return false, err
	}
	if err := l.defs.next(l.def); err != nil {
		return false, err
	}
	if !l.inRow && !last && l.rep[0] != 0 {
		return false, fmt.Errorf("%w: a row begins with repetition level %d", ErrCorrupt, l.rep[0])
	}
	l.pg.left -= k
	return true, nil
}

// openLevels opens the page at the cursor.
func (l *Leaf) openLevels() error {
	parts, err := l.parts(int(l.maxRep), int(l.maxDef), true)
	if err != nil {
		return err
	}
	v1 := l.pg.Type == thrift.DataPage
	n := l.pg.left
	if err := l.reps.init(parts.Repetition, l.maxRep, v1 && l.pg.RepetitionEncoding == thrift.BitPacked, n); err != nil {
		return err
	}
	if err := l.defs.init(parts.Definition, l.maxDef, v1 && l.pg.DefinitionEncoding == thrift.BitPacked, n); err != nil {
		return err
	}
	l.pg.open = true
	if l.plan.sink == sinkNull {
		return nil
	}
	return l.startValues(parts.Values)
}

// take adds entries to the levels and the array.
func (l *Leaf) take(rep, def []uint8) error {
	if l.maxRep > 0 {
		l.outRep = append(l.outRep, rep...)
	}
	l.outDef = append(l.outDef, def...)
	if most := max(l.opt.MaxPage, levelStep); l.Bytes() > most {
		// Runs make billions of entries of a few bytes: what one array takes is bounded whatever they claim.
		return &TooLargeError{What: "the values of a few rows", Need: l.Bytes(), Budget: most}
	}
	if l.bare {
		return nil
	}
	l.s.slots = grow(l.s.slots, len(def)/8+16)
	slots, ones := nested.PackSlots(l.s.slots, def, l.slot, l.maxDef)
	if l.plan.sink == sinkNull {
		l.out.pos += slots
		return nil
	}
	l.room(slots)
	l.pg.nulls = ones < slots
	if err := l.pg.levels.InitPlain(l.s.slots, slots); err != nil {
		return err
	}
	for slots > 0 {
		k, err := l.appendOpen(slots)
		if err != nil {
			return err
		}
		if k == 0 {
			return &TooLargeError{What: "string bytes of one batch", Need: maxBytes + 1, Budget: maxBytes}
		}
		l.out.pos += k
		slots -= k
	}
	return nil
}

// Bytes is what was appended since Begin takes, levels included.
func (l *Leaf) Bytes() int64 {
	n := int64(len(l.outRep)+len(l.outDef)) + int64(l.out.used)
	switch l.plan.sink {
	case sinkFixed:
		n += int64(l.out.pos) * int64(l.plan.outWidth)
	case sinkBytes:
		n += 4 * int64(l.out.pos)
	}
	return n
}

// pass passes over entries.
func (l *Leaf) pass(_, def []uint8) error {
	if l.plan.sink == sinkNull {
		return nil
	}
	values := 0
	for _, d := range def {
		if d == l.maxDef {
			values++
		}
	}
	return l.skipValues(values)
}

// room grows the output for n more slots.
func (l *Leaf) room(n int) {
	o := &l.out
	if o.pos+n <= o.rows {
		return
	}
	was := o.rows
	o.rows = max(o.pos+n, 2*o.rows, 1024)
	switch l.plan.sink {
	case sinkFixed:
		o.vals.ResizeNoShrink(o.head + o.rows*l.plan.outWidth + slack)
	case sinkBool:
		o.vals.ResizeNoShrink((o.rows+7)/8 + slack)
		clear(o.vals.Buf()[(was+7)/8:])
	case sinkBytes:
		o.vals.ResizeNoShrink(4*(o.rows+1) + slack)
	}
	if o.valid != nil {
		o.valid.ResizeNoShrink((o.rows+7)/8 + slack)
		clear(o.valid.Buf()[(was+7)/8:])
	}
}

// Take hands out what was appended since Begin; the caller releases the array, which is nil if only levels are wanted. The
// levels are lent until the next Begin.
func (l *Leaf) Take() (arrow.Array, nested.Levels) {
	levels := nested.Levels{Rep: l.outRep, Def: l.outDef}
	if l.maxRep > 0 && levels.Rep == nil {
		levels.Rep = []uint8{}
	}
	if l.bare {
		return nil, levels
	}
	return l.Column.Finish(), levels
}
