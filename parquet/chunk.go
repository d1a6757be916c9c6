package parquet

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// chunkPages walks the pages of a chunk through the bytes at hand: all of the chunk, or where the places of pages are known (by an
// offset index, or a Walk) only the dictionary and the pages that are wanted.
type chunkPages struct {
	bytes Bytes
	off   int64 // of the chunk
	end   int64
	at    int64 // next page

	before int64 // bytes of the page before

	rows  int64                 // of the row group
	pages []thrift.PageLocation // nil: places of pages are not known
	next  int                   // index in pages of the next data page
	flat  bool                  // a page has as many rows as values
	front bool                  // what lies before the first data page was read
	ahead int64                 // where that ends

	walked bool  // the places come from a Walk: they need no check, and one of them may be several pages
	exact  bool  // each place is one page
	shift  int64 // from an offset to its address (Walk.Address)
	run    int64 // end of the place that was begun
}

// makeChunkPages reads a whole chunk.
func makeChunkPages(r *Reader, rg, leaf int) chunkPages {
	off, n, _ := r.f.ChunkRange(rg, leaf)
	c := chunkPages{off: off, end: off + n, at: off, rows: r.f.Rows(rg), flat: r.f.tree.Leaves[leaf].Rep == 0, front: true}
	if x := r.offsetIndex(rg, leaf); x != nil && len(x.Pages) > 0 {
		c.pages = x.Pages
		c.exact = true
		c.ahead = x.Pages[0].Offset
		c.front = c.ahead <= off
	}
	return c
}

// makeWalkedPages reads the pages that a Walk has found.
func makeWalkedPages(r *Reader, rg, leaf int, found *foundPages) chunkPages {
	off, n, _ := r.f.ChunkRange(rg, leaf)
	return chunkPages{
		off: off, end: off + n, at: found.dict.Off, ahead: found.dict.Off + found.dict.Len, front: found.dict.Len == 0,
		rows: found.rows, pages: found.pages, flat: r.f.tree.Leaves[leaf].Rep == 0, walked: true, exact: found.aligned, shift: found.shift,
	}
}

// give hands over bytes for the next calls; those given before are forgotten.
func (c *chunkPages) give(b Bytes) {
	c.bytes = b
}

// Next reads the next page.
func (c *chunkPages) Next(p *page.Page) error {
	end := c.end
	switch {
	case c.pages == nil:
	case !c.front:
		end = c.ahead
	case c.at < c.run:
		end = c.run
	case c.next >= len(c.pages):
		return io.EOF
	default:
		c.at = c.pages[c.next].Offset
		end = c.at + int64(c.pages[c.next].Size)
		if c.walked {
			c.run = end
			c.next++
		}
	}
	if c.at >= end {
		return io.EOF
	}
	n, err := c.read(end, p)
	if err != nil {
		return err
	}
	c.at += int64(n)
	if c.pages == nil {
		return nil
	}
	if !c.front {
		if p.Data() {
			return fmt.Errorf("%w: a data page before the first one of the offset index", page.ErrCorrupt)
		}
		c.front = c.at >= c.ahead
		return nil
	}
	if c.walked {
		return nil
	}
	return c.check(p)
}

// check compares a page with what the offset index says, since rows are counted by it.
func (c *chunkPages) check(p *page.Page) error {
	end := c.rows
	if c.next+1 < len(c.pages) {
		end = c.pages[c.next+1].FirstRow
	}
	rows := end - c.pages[c.next].FirstRow
	c.next++
	if !p.Data() || c.flat && int64(p.NumValues) != rows || !c.flat && p.Type == thrift.DataPageV2 && int64(p.NumRows) != rows {
		return fmt.Errorf("%w: the offset index does not fit the page", page.ErrCorrupt)
	}
	return nil
}

// Of a page of unknown size as much is asked for as the page before took, within these bounds: its header, and with luck all of it. More
// would be copied for nothing where what is at hand lies in pieces; pages may be tiny, and many.
const (
	leastGuess = 1 << 10
	mostGuess  = 64 << 10
)

// read reads the page at the cursor, which ends at end or before. Only the page's own bytes are asked for: what is at hand may lie in
// pieces, and a range that crosses two of them has to be joined.
func (c *chunkPages) read(end int64, p *page.Page) (int, error) {
	if c.pages != nil && c.front && c.exact {
		b, err := c.bytes.Slice(c.at+c.shift, end-c.at)
		if err != nil {
			return 0, err
		}
		return page.Read(b, c.at, p)
	}
	for ask := min(end-c.at, max(c.before, leastGuess)); ; {
		b, err := c.bytes.Slice(c.at+c.shift, ask)
		if err != nil {
			return 0, err
		}
		n, fits, err := page.Fit(b, c.at, p)
		switch {
		case fits:
			c.before = min(int64(n), mostGuess)
			return n, nil
		case ask == end-c.at:
			return page.Read(b, c.at, p) // for its error
		case err == nil:
			ask = min(int64(n), end-c.at)
		case errors.Is(err, page.ErrShort):
			ask = min(16*ask, end-c.at)
		default:
			return 0, err
		}
	}
}

// SeekRow moves to the page that holds a row, if the places of pages are known.
func (c *chunkPages) SeekRow(row int64) (first int64, ok bool) {
	if c.pages == nil {
		return 0, false
	}
	i := sort.Search(len(c.pages), func(i int) bool { return c.pages[i].FirstRow > row }) - 1
	if i < c.next {
		return 0, false
	}
	c.next, c.run = i, 0
	return c.pages[i].FirstRow, true
}

// PageEnd is the row after the last one of the data page read last, if the places of pages are known.
func (c *chunkPages) PageEnd() (row int64, ok bool) {
	switch {
	case c.pages == nil || c.next == 0 || c.at < c.run:
		return 0, false
	case c.next == len(c.pages):
		return c.rows, true
	}
	return c.pages[c.next].FirstRow, true
}
