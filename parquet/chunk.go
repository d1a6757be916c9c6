package parquet

import (
	"fmt"
	"io"
	"sort"

	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// chunkPages walks the pages of a chunk through the bytes at hand: all of the chunk, or with an offset index only the
// dictionary and the pages that are wanted.
type chunkPages struct {
	bytes  Bytes
	off    int64 // of the chunk
	end    int64
	at     int64 // next page
	win    []byte
	winOff int64

	rows   int64                 // of the row group
	pages  []thrift.PageLocation // nil: places of pages are not known
	next   int                   // index in pages of the next data page
	flat   bool                  // a page has as many rows as values
	sparse bool                  // the chunk is not at hand as a whole
	front  bool                  // what lies before the first data page was read
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
	c.bytes, c.win, c.sparse = b, nil, false
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
	b, err := c.from(c.at, end)
	if err != nil {
		return err
	}
	n, err := page.Read(b, c.at, p)
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

// from gives the bytes at hand from an offset on, at least up to end.
func (c *chunkPages) from(at, end int64) ([]byte, error) {
	if k := at - c.winOff; c.win != nil && k >= 0 && end-c.winOff <= int64(len(c.win)) {
		return c.win[k:], nil
	}
	if !c.sparse {
		b, err := c.bytes.Slice(at, c.end-at)
		if err == nil {
			c.win, c.winOff = b, at
			return b, nil
		}
		if c.pages == nil {
			return nil, err
		}
		c.sparse = true
	}
	b, err := c.bytes.Slice(at, end-at)
	c.win, c.winOff = b, at
	return b, err
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
