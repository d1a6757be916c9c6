package parquet

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// chunkPages walks the pages of a chunk through the bytes at hand: all of the chunk, or with an offset index only the
// dictionary and the pages that are wanted.
type chunkPages struct {
	bytes Bytes
	off   int64 // of the chunk
	end   int64
	at    int64 // next page

	rows  int64                 // of the row group
	pages []thrift.PageLocation // nil: places of pages are not known
	next  int                   // index in pages of the next data page
	flat  bool                  // a page has as many rows as values
	front bool                  // what lies before the first data page was read
}

func newChunkPages(r *Reader, rg, leaf int) *chunkPages {
	off, n, _ := r.f.ChunkRange(rg, leaf)
	c := &chunkPages{off: off, end: off + n, at: off, rows: r.f.Rows(rg), flat: r.f.tree.Leaves[leaf].Rep == 0, front: true}
	if x := r.offsetIndex(rg, leaf); x != nil && len(x.Pages) > 0 {
		c.pages = x.Pages
		c.front = x.Pages[0].Offset <= off
	}
	return c
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
		end = c.pages[0].Offset
	case c.next >= len(c.pages):
		return io.EOF
	default:
		c.at = c.pages[c.next].Offset
		end = c.at + int64(c.pages[c.next].Size)
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
		c.front = c.at >= c.pages[0].Offset
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

// headGuess is asked for of a page of unknown size: its header, and with luck all of it.
const headGuess = 64 << 10

// read reads the page at the cursor, which ends at end or before. Only the page's own bytes are asked for: what is at hand may lie in
// pieces, and a range that crosses two of them has to be joined.
func (c *chunkPages) read(end int64, p *page.Page) (int, error) {
	if c.pages != nil && c.front {
		b, err := c.bytes.Slice(c.at, end-c.at)
		if err != nil {
			return 0, err
		}
		return page.Read(b, c.at, p)
	}
	for ask := min(end-c.at, headGuess); ; {
		b, err := c.bytes.Slice(c.at, ask)
		if err != nil {
			return 0, err
		}
		n, err := page.Read(b, c.at, p)
		if !errors.Is(err, page.ErrShort) || ask == end-c.at {
			return n, err
		}
		if head, err := thrift.ParsePageHeader(b, &p.PageHeader); err == nil {
			ask = min(int64(head)+int64(p.CompressedSize), end-c.at)
		} else {
			ask = min(16*ask, end-c.at)
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
	c.next = i
	return c.pages[i].FirstRow, true
}

// PageEnd is the row after the last one of the data page read last, if the places of pages are known.
func (c *chunkPages) PageEnd() (row int64, ok bool) {
	switch {
	case c.pages == nil || c.next == 0:
		return 0, false
	case c.next == len(c.pages):
		return c.rows, true
	}
	return c.pages[c.next].FirstRow, true
}
