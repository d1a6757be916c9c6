package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Pages gives the pages of a chunk in order.
type Pages interface {
	// Next reads the next page; io.EOF at the end of the chunk.
	Next(p *page.Page) error
	// SeekRow moves to the data page that holds row of the row group, if it knows where that lies, and returns the page's first
	// row. A dictionary page that was not read yet is still given first.
	SeekRow(row int64) (first int64, ok bool)
	// PageEnd is the row after the last one of the page given last, if it knows.
	PageEnd() (row int64, ok bool)
}

// Options of a Column. The zero value of a limit is no limit.
type Options struct {
	Allocator arrowmem.Allocator
	// Pages gives the memory of pages, and of dictionaries, that later calls go on with: it need not be cleared. Nil = scratch memory,
	// which the collector takes back and clears.
	Pages     arrowmem.Allocator
	Account   Account
	MaxPage   int64 // bytes of an uncompressed page
	SoftBytes int64 // string bytes of an array after which Append stops
	SkipCRC   bool  // do not verify checksums
}

// Column is a cursor over one chunk. Errors leave it useless.
type Column struct {
	plan  *Plan
	opt   Options
	codec thrift.Codec
	pages Pages
	s     *scratch
	call  *callState     // during a call
	dec   *codec.Decoder // its codec
	held  int64          // scratch bytes told to the account
	row   int64          // next row of the row group
	pg    pageState
	dict  dictState
	page  []byte // of the page at the cursor, from opt.Pages
	later bool   // a later call goes on with the page opened last
	out   output
	count int   // data pages met
	at    int64 // offset of the page met last
	ended bool  // the chunk has no further page
}

// pageState is the data page at the cursor.
type pageState struct {
	page.Page
	left    int  // rows still to come
	open    bool // decompressed and split
	nulls   bool // levels decides; else every row has a value
	levels  encoding.Bits
	body    []byte // values still to come, PLAIN; all of them in other encodings
	indices encoding.Hybrid
	delta   encoding.Delta // numbers, lengths, or lengths of suffixes
	prefix  encoding.Delta
	split   encoding.Split
	bits    encoding.Bits
	buf     *arrowmem.Buffer // of values that views refer to
	bufAt   int              // its place among the array's buffers, 0 = not there yet
}

// New makes a cursor at the first row of a chunk whose pages are compressed by c.
func New(p *Plan, c thrift.Codec, pages Pages, o Options) *Column {
	made := Make(p, c, pages, o)
	return &made
}

// Make is New for a cursor that is part of something else.
func Make(p *Plan, c thrift.Codec, pages Pages, o Options) Column {
	if o.MaxPage <= 0 {
		o.MaxPage = 1<<31 - 1
	}
	if o.SoftBytes <= 0 || o.SoftBytes > maxBytes {
		o.SoftBytes = maxBytes
	}
	return Column{plan: p, opt: o, codec: c, pages: pages}
}

// Close frees scratch memory and rows that were not handed out.
func (c *Column) Close() {
	c.dropOutput()
	if c.s == nil {
		return
	}
	s := c.s
	c.s = nil
	c.dropPage()
	c.free(&c.page)
	c.free(&c.dict.mem)
	c.dict.release()
	c.pg, c.dict = pageState{}, dictState{}
	if s.size() <= maxPooled {
		scratches.Put(s)
	}
	if c.opt.Account != nil && c.held != 0 {
		c.opt.Account.Add(-c.held)
		c.held = 0
	}
}

// Place is the data page (counted from 0 in the chunk as far as it was read) and file offset met last, for errors.
func (c *Column) Place() (pageNumber int, offset int64) { return c.count - 1, c.at }

// charge tells the account what the scratch has grown to.
func (c *Column) charge() {
	if c.opt.Account == nil {
		return
	}
	if n := c.s.size() + int64(cap(c.call.page)); n != c.held {
		c.opt.Account.Add(n - c.held)
		c.held = n
	}
}

func (c *Column) enter() {
	if c.s == nil {
		c.s = scratches.Get().(*scratch)
	}
	c.call = calls.Get().(*callState)
	c.dec = &c.call.codec
	c.charge()
}

// exit ends a call: what is not decoded yet is copied out of the bytes at hand. The memory of a page that was read to its end is
// given back.
func (c *Column) exit() {
	if d := &c.dict; d.met && !d.open && !d.kept {
		d.page.Body, d.kept = slices.Clone(d.page.Body), true
	}
	if c.pg.left > 0 && !c.pg.open {
		c.copyBody()
	}
	switch {
	case c.pg.left == 0:
		c.free(&c.page)
	case c.pg.open && !c.later: // the array ended before the page did
		c.s.page, c.call.page, c.later = c.call.page, c.s.page, true
	}
	c.charge()
	if c.opt.Account != nil {
		c.opt.Account.Add(-int64(cap(c.call.page)))
		c.held -= int64(cap(c.call.page))
	}
	if cap(c.call.page) > maxPooled {
		c.call.page = nil
	}
	calls.Put(c.call)
	c.call, c.dec = nil, nil
}

// Append decodes the next n rows into the array; with those appended before they must not exceed what Begin announced.
// It returns how many it appended: fewer than n only if the array holds SoftBytes of string bytes or can hold no more; the
// pages' bytes must then stay valid until the next call, else nothing refers to them afterwards. ctx is looked at once a
// page.
func (c *Column) Append(ctx context.Context, n int) (done int, err error) {
	if c.plan.sink == sinkNull {
		return c.appendNulls(n)
	}
	c.enter()
	defer c.exit()
	c.begin()
	for done < n {
		if c.full() {
			return done, nil
		}
		if c.pg.left == 0 {
			if err := ctx.Err(); err != nil {
				return done, err
			}
			if err := c.nextPage(); err != nil {
				return done, err
			}
			continue
		}
		k, err := c.appendSome(n - done)
		if err != nil {
			return done, err
		}
		if k == 0 {
			return done, nil
		}
		done += k
	}
	return done, nil
}

func (c *Column) appendNulls(n int) (int, error) {
	c.out.pos += n
	c.row += int64(n)
	return n, nil
}

// full: the array may end here, so that its string bytes stay within bounds.
func (c *Column) full() bool {
	return c.plan.Bytes() && c.out.pos > 0 && int64(c.out.used)+c.out.views.held >= c.opt.SoftBytes
}

// appendSome appends up to n rows of the page at the cursor.
func (c *Column) appendSome(n int) (int, error) {
	if !c.pg.open {
		if n >= c.pg.left {
			if ok, err := c.direct(); err != nil || ok {
				k := c.pg.left
				c.advance(k)
				return k, err
			}
		}
		if !c.pg.open {
			if err := c.openPage(n < c.pg.left); err != nil {
				return 0, err
			}
		}
	}
	n, err := c.appendOpen(min(n, c.pg.left))
	if err == nil {
		c.advance(n)
		c.out.pos += n
	}
	return n, err
}

// appendOpen appends up to n rows of an open page and returns how many; moving on is the caller's.
func (c *Column) appendOpen(n int) (int, error) {
	switch c.plan.sink {
	case sinkFixed:
		return n, c.appendFixed(n)
	case sinkBool:
		return n, c.appendBools(n)
	case sinkView:
		return c.appendViews(n)
	case sinkDict:
		return c.appendIndices(n)
	}
	return c.appendBytes(n)
}

func (c *Column) advance(n int) {
	c.pg.left -= n
	c.row += int64(n)
}

// Skip passes over n rows: whole pages unread where their place or size is known, the rest by counting.
func (c *Column) Skip(ctx context.Context, n int64) error {
	if c.plan.sink == sinkNull {
		c.row += n
		return nil
	}
	c.enter()
	defer c.exit()
	for target := c.row + n; c.row < target; {
		if c.pg.left == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if first, ok := c.pages.SeekRow(target); ok && first >= c.row {
				c.row = first
			}
			if c.row >= target {
				return nil
			}
			if err := c.nextPage(); err != nil {
				return err
			}
			continue
		}
		rest := target - c.row
		if !c.pg.open && rest >= int64(c.pg.left) || rest >= int64(c.pg.left) {
			c.advance(c.pg.left)
			continue
		}
		if !c.pg.open {
			if err := c.openPage(true); err != nil {
				return err
			}
		}
		if err := c.skipSome(int(rest)); err != nil {
			return err
		}
		c.advance(int(rest))
	}
	return nil
}

// nextPage moves to the next data page and remembers a dictionary page on the way.
func (c *Column) nextPage() error {
	c.dropPage()
	for {
		p := &c.pg.Page
		err := c.pages.Next(p)
		if err != nil {
			if errors.Is(err, io.EOF) {
				c.ended = true
				return fmt.Errorf("%w: the chunk ends after %d rows", ErrCorrupt, c.row)
			}
			return err
		}
		c.at = p.Offset
		switch p.Type {
		case thrift.DictionaryPage:
			if c.dict.met {
				return fmt.Errorf("%w: a second dictionary page", ErrCorrupt)
			}
			c.dict.met, c.dict.page = true, *p
		case thrift.DataPage, thrift.DataPageV2:
			c.count++
			if p.NumValues == 0 {
				continue
			}
			c.pg.left, c.pg.open = int(p.NumValues), false
			return nil
		}
	}
}

// sized checks a page's declared size before memory is taken for it.
func (c *Column) sized(p *page.Page) error {
	if int64(p.UncompressedSize) > c.opt.MaxPage {
		return &TooLargeError{What: "page", Need: int64(p.UncompressedSize), Budget: c.opt.MaxPage}
	}
	return nil
}

// verify checks a page's checksum and reports whether it has one.
func (c *Column) verify(p *page.Page) (bool, error) {
	if c.opt.SkipCRC || !p.HasCRC {
		return false, nil
	}
	return true, p.Verify()
}
