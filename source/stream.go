package source

import (
	"cmp"
	"slices"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
)

// stream reads a large row group of a file that does not say where its pages are: a window slides over all wanted chunks at once, its
// ranges end wherever they end, and the pages in them are found by their headers. A wave is planned when all but one before it have
// landed, since these tell how many bytes each column takes for a row; so two are on their way, and what is held of columns that got
// further than others is bounded by them.
//
// It belongs to the file's goroutine; the units that it makes hold their pieces themselves.
type stream struct {
	c      *parquetFile
	g      group
	walk   *parquet.Walk
	chunks []streamed
	row    int64 // the rows before it have units
	flying int   // waves on their way
	closed bool
}

// streamed is a chunk of a stream.
type streamed struct {
	planned int64
	landed  int64    // bytes before it have landed
	pieces  []*piece // rising; may still be needed. The stream holds each once.
	dict    *piece   // a copy of the dictionary page
}

// streamAhead is how many waves of a stream are on their way at once.
const streamAhead = 2

// A range of a stream is not smaller than a quarter of a column's share of a wave, within these bounds: narrow columns are read further
// ahead than wide ones, rather than in many small requests.
const (
	leastPiece = 16 << 10
	mostPiece  = 512 << 10
)

// streamBytes is what a wave of a stream has: two are on their way, one is decoded, and some is left over between them.
func (p *parquetFormat) streamBytes() int64 {
	size := p.partBytes()
	if b := p.cfg.Budget; b != nil {
		size = min(size, max(b.Limit()/4, pieceBytes))
	}
	return max(size, 1)
}

func (c *parquetFile) newStream(g group) (*stream, error) {
	walk, err := c.reader.Walk(g.rg)
	if err != nil {
		return nil, err
	}
	s := &stream{c: c, g: g, walk: walk}
	for _, ch := range walk.Chunks() {
		s.chunks = append(s.chunks, streamed{planned: ch.Off, landed: ch.Off})
	}
	return s, nil
}

// left guesses how many waves are still to be planned.
func (s *stream) left() int {
	if s.walk.Planned() {
		return 0
	}
	rest := int64(0)
	for i, ch := range s.walk.Chunks() {
		rest += ch.Off + ch.Len - s.chunks[i].planned
	}
	return max(1, int(rest/s.c.format.streamBytes()))
}

// may reports whether its next wave, or what comes after it, can be planned.
func (s *stream) may() bool { return s.flying < streamAhead && !s.walk.Planned() }

// wave plans the next window.
func (s *stream) wave() wave {
	bytes := s.c.format.streamBytes()
	least := min(max(bytes/int64(4*max(len(s.chunks), 1)), min(leastPiece, bytes)), mostPiece)
	w := wave{stream: s}
	for i, end := range s.walk.Plan(bytes, least) {
		if ch := &s.chunks[i]; end > ch.planned {
			w.spans = append(w.spans, object.Range{Off: ch.planned, Len: end - ch.planned})
			w.chunks = append(w.chunks, i)
			ch.planned = end
		}
	}
	s.flying++
	return w
}

// streamUnit is a unit with what it reads; each piece is counted for it.
type streamUnit struct {
	unit unit
	held []*piece
}

// pieces are the unit's bytes, as decoders see them.
func (u streamUnit) pieces(account *memory.Elastic) *pieces {
	p := &pieces{list: u.held, account: account}
	p.users.Store(1)
	return p
}

// own takes the pieces of a wave, span by span, in whatever state; the stream drops them. From now on they are known by address.
func (s *stream) own(w wave, list []*piece) {
	span, got := 0, int64(0)
	for _, p := range list {
		i := w.chunks[span]
		if got += p.span.Len; got == w.spans[span].Len {
			span, got = span+1, 0
		}
		p.refs.Add(1)
		p.span.Off = s.walk.Address(i, p.span.Off)
		s.chunks[i].pieces = append(s.chunks[i].pieces, p)
	}
}

// land takes note of a wave whose bytes are all there, and makes units of the rows that have become complete. Waves land in any order;
// a chunk's bytes are walked in theirs.
func (s *stream) land() (units []streamUnit, err error) {
	s.flying--
	if err := s.read(); err != nil {
		return nil, err
	}
	if from, to := s.row, s.walk.Rows(); from < to {
		opened, err := s.walk.Open(s.g.sel, from, to)
		if err != nil {
			return nil, err
		}
		s.row = to
		rows := float64(max(s.g.sel.Count(s.c.footer.Rows(s.g.rg)), 1))
		s.c.refs.Add(int32(len(opened)))
		for n, u := range opened {
			pu := &parquetUnit{c: s.c, g: s.g, u: u, after: n > 0, share: float64(u.Rows()) / rows}
			units = append(units, streamUnit{unit: pu, held: s.hold(from, to)})
		}
		s.letGo(to)
	}
	if s.flying == 0 && s.walk.Planned() {
		s.close()
		s.c.stream = nil
	}
	return units, nil
}

// read walks over the pages of every chunk that are at hand now.
func (s *stream) read() (err error) {
	view := &pieces{account: s.c.file.reads.account}
	view.users.Store(1)
	defer view.leave()
	for i := range s.chunks {
		view.list = append(view.list, s.chunks[i].pieces...)
	}
	slices.SortFunc(view.list, byOffset)
	for i := range s.chunks {
		ch := &s.chunks[i]
		for _, p := range ch.pieces {
			if p.here && p.span.Off == s.walk.Address(i, ch.landed) {
				ch.landed += p.span.Len
			}
		}
		if err := s.walk.Feed(i, view, ch.landed); err != nil {
			return err
		}
		if d := s.walk.Dictionary(i); d.Len > 0 && ch.dict == nil {
			if ch.dict, err = s.copied(view, i, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func byOffset(a, b *piece) int {
	return cmp.Or(cmp.Compare(a.span.Off, b.span.Off), cmp.Compare(a.span.Len, b.span.Len))
}

// copied keeps a dictionary page, so that the piece around it can go.
func (s *stream) copied(view *pieces, i int, d parquet.Range) (*piece, error) {
	d.Off = s.walk.Address(i, d.Off)
	b, err := view.Slice(d.Off, d.Len)
	if err != nil {
		return nil, err
	}
	r := s.c.file.reads
	r.account.Add(d.Len)
	p := &piece{
		span: object.Range{Off: d.Off, Len: d.Len}, here: true,
		read: &pending{reads: r, have: true, held: d.Len, answer: answer{bytes: slices.Clone(b)}},
	}
	p.refs.Store(1)
	return p, nil
}

// hold counts the pieces that rows [from, to) need, in order.
func (s *stream) hold(from, to int64) []*piece {
	var held []*piece
	for i := range s.chunks {
		ch := &s.chunks[i]
		span := s.walk.Span(i, from, to)
		span.Off = s.walk.Address(i, span.Off)
		whole := ch.dict == nil
		for _, p := range ch.pieces {
			if p.span.Off < span.Off+span.Len && p.span.Off+p.span.Len > span.Off {
				held = append(held, p)
				whole = whole || p.span.Off <= ch.dict.span.Off && p.span.Off+p.span.Len >= ch.dict.span.Off+ch.dict.span.Len
			}
		}
		if !whole {
			held = append(held, ch.dict)
		}
	}
	for _, p := range held {
		p.refs.Add(1)
	}
	slices.SortFunc(held, byOffset)
	return held
}

// letGo drops what no row from row on needs.
func (s *stream) letGo(row int64) {
	for i := range s.chunks {
		ch := &s.chunks[i]
		keep := s.walk.Address(i, s.walk.Keep(i, row))
		n := 0
		for n < len(ch.pieces) && ch.pieces[n].here && ch.pieces[n].span.Off+ch.pieces[n].span.Len <= keep {
			ch.pieces[n].drop()
			n++
		}
		ch.pieces = slices.Delete(ch.pieces, 0, n)
	}
}

// close drops all that the stream itself holds; idempotent.
func (s *stream) close() {
	if s.closed {
		return
	}
	s.closed = true
	for i := range s.chunks {
		ch := &s.chunks[i]
		for _, p := range ch.pieces {
			p.drop()
		}
		if ch.dict != nil {
			ch.dict.drop()
		}
		ch.pieces, ch.dict = nil, nil
	}
}
