package parquet

import (
	"errors"
	"fmt"
	"sort"

	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Indexed reports whether the places of the pages of all wanted columns of a row group are known, so that Parts can cut it.
func (r *Reader) Indexed(rg int) bool {
	for i := range r.cols {
		for _, leaf := range r.cols[i].leaves {
			x := r.offsetIndex(rg, leaf)
			if _, n, err := r.f.ChunkRange(rg, leaf); err != nil || n > 0 && (x == nil || len(x.Pages) == 0) {
				return false
			}
		}
	}
	return true
}

// Walk finds the pages of a row group from their headers, while the bytes of its chunks come in from first to last, so that a row
// group whose file has no offset index can be read piece by piece. The caller plans bytes (Plan), fetches them, hands them over chunk by
// chunk (Feed), opens the rows that are complete in every chunk (Rows, Open), and lets go of bytes before Keep.
//
// All chunks go in step: what is planned of each is what takes it to the same row, by the bytes a row that it took so far.
//
// A Walk belongs to one goroutine. Units that it opened are like any others.
type Walk struct {
	r      *Reader
	rg     int
	rows   int64
	leaves []walkedLeaf
}

// walkedLeaf is how far the pages of a chunk are known.
type walkedLeaf struct {
	leaf    int
	shift   int64 // from an offset to its address
	off     int64 // of the chunk
	end     int64
	planned int64 // bytes up to here were asked for
	at      int64 // next page header
	need    int64 // the page there cannot be walked over without bytes up to here
	done    bool  // no further page is wanted

	pages   []thrift.PageLocation // complete places, rising; only appended to
	last    thrift.PageLocation   // of a column with repetition levels: the place that may go on in the next page
	ends    int64                 // end of it, 0 = none
	begun   int64                 // rows begun
	entries int64
	dict    Range
	aligned bool // every place is one page

	rate   float64 // bytes a row, lately
	seen   int64   // rows and bytes when the rate was taken
	seenAt int64
	number int // data pages
}

// foundPages are the pages of a chunk up to a row.
type foundPages struct {
	pages   []thrift.PageLocation
	rows    int64 // the row after the last one of them
	dict    Range
	aligned bool
	shift   int64
}

// addressBits of an address are the offset in the file, the bits above the number of the chunk.
const addressBits = 44

// Address is how the bytes at an offset of chunk i are asked for, by the walk and by the units that it opens: every chunk has a space of
// its own, since chunks may overlap where the sizes that a writer recorded are known to be too small.
func (w *Walk) Address(i int, off int64) int64 { return int64(i)<<addressBits | off }

// WalkedChunk is where a chunk lies in the file.
type WalkedChunk struct{ Off, Len int64 }

// Walk begins at the first row of a row group.
func (r *Reader) Walk(rg int) (*Walk, error) {
	w := &Walk{r: r, rg: rg, rows: r.f.Rows(rg)}
	known := make(map[int]bool)
	for i := range r.cols {
		if err := r.readable(rg, i); err != nil {
			return nil, err
		}
		for _, leaf := range r.cols[i].leaves {
			off, n, err := r.f.ChunkRange(rg, leaf)
			if err != nil {
				return nil, err
			}
			if known[leaf] {
				continue
			}
			known[leaf] = true
			w.leaves = append(w.leaves, walkedLeaf{
				leaf: leaf, shift: w.Address(len(w.leaves), 0), off: off, end: off + n, planned: off, at: off, need: off, aligned: true, done: w.rows == 0,
				rate: max(float64(n)/float64(max(w.rows, 1)), 1e-9), seenAt: off,
			})
		}
	}
	if r.f.size >= 1<<addressBits || len(w.leaves) >= 1<<(63-addressBits) {
		return nil, &UnsupportedError{Ability: "a file this large without a page index", RowGroup: rg}
	}
	return w, nil
}

// Chunks are those of the wanted columns, each once; their places here number them for Plan, Feed, Keep, Dictionary and Span.
func (w *Walk) Chunks() []WalkedChunk {
	out := make([]WalkedChunk, len(w.leaves))
	for i := range w.leaves {
		out[i] = WalkedChunk{w.leaves[i].off, w.leaves[i].end - w.leaves[i].off}
	}
	return out
}

// Plan asks for about so many more bytes, split over the chunks so that all of them get to the same row, and in no smaller pieces
// than least. It returns by chunk where what is asked for ends; it begins where the plan before ended. A page larger than that is asked
// for whole. Nothing more is asked for at the end.
func (w *Walk) Plan(bytes, least int64) []int64 {
	to := w.rows
	if w.upTo(w.rows) > bytes {
		low, high := int64(0), w.rows
		for high-low > 1 {
			if mid := (low + high) / 2; w.upTo(mid) > bytes {
				high = mid
			} else {
				low = mid
			}
		}
		to = high
	}
	ends := make([]int64, len(w.leaves))
	for i := range w.leaves {
		l := &w.leaves[i]
		end := max(l.reach(to, w.rows), l.need)
		if end > l.planned && end-l.planned < least {
			end = l.planned + least
		}
		if end = min(end, l.end); l.end-end < least && end > l.planned {
			end = l.end
		}
		l.planned = max(l.planned, end)
		ends[i] = l.planned
	}
	return ends
}

// upTo is how many more bytes take all chunks to a row.
func (w *Walk) upTo(row int64) (sum int64) {
	for i := range w.leaves {
		l := &w.leaves[i]
		sum += max(l.reach(row, w.rows), l.need) - l.planned
	}
	return sum
}

// reach guesses where the rows before row end: not before what is planned already. What is left of the chunk has to hold all rows
// that are left, however few bytes those before took.
func (l *walkedLeaf) reach(row, rows int64) int64 {
	switch {
	case l.done:
		return l.planned
	case row >= rows:
		return l.end
	}
	rate := max(l.rate, float64(l.end-l.at)/float64(max(rows-l.begun, 1)))
	return min(max(l.at+int64(float64(max(row-l.begun, 0))*rate), l.planned), l.end)
}

// Planned reports whether every byte that is needed was asked for.
func (w *Walk) Planned() bool {
	for i := range w.leaves {
		if l := &w.leaves[i]; !l.done && l.planned < l.end {
			return false
		}
	}
	return true
}

// Feed walks on in chunk i, whose bytes are at hand up to offset end, from Keep on, by their Address.
func (w *Walk) Feed(i int, b Bytes, end int64) error {
	l := &w.leaves[i]
	for !l.done {
		short, err := w.step(l, b, min(end, l.end))
		if err != nil {
			return locateAt(err, w.rg, w.r.f.tree.Leaves[l.leaf].String(), l.number, l.at)
		}
		if short {
			break
		}
	}
	if l.begun > l.seen {
		l.rate = max(float64(l.at-l.seenAt)/float64(l.begun-l.seen), 1e-9)
		l.seen, l.seenAt = l.begun, l.at
	}
	return nil
}

// firstHeader is looked at of a page to find its header.
const firstHeader = 1 << 10

// step walks over one page. It is short if the page is not at hand.
func (w *Walk) step(l *walkedLeaf, b Bytes, end int64) (short bool, err error) {
	if l.at >= l.end {
		return false, w.exhausted(l)
	}
	var p page.Page
	head, err := l.header(b, end, &p.PageHeader)
	switch {
	case err != nil:
		return false, err
	case head == 0:
		l.need = min(max(l.need, end+firstHeader, l.at+4*(end-l.at)), l.end)
		return true, nil
	}
	after := l.at + int64(head) + int64(p.CompressedSize)
	if after > l.end {
		return false, fmt.Errorf("%w: page of %d bytes, %d left", page.ErrCorrupt, p.CompressedSize, l.end-l.at-int64(head))
	}
	if after > end {
		l.need = after
		return true, nil
	}
	switch {
	case p.Type == thrift.DictionaryPage:
		if l.dict.Len > 0 {
			return false, fmt.Errorf("%w: a second dictionary page", page.ErrCorrupt)
		}
		l.dict = Range{Off: l.at, Len: after - l.at}
	case p.Data() && p.NumValues > 0:
		if err := w.data(l, b, &p, after); err != nil {
			return false, err
		}
		l.number++
	}
	l.at = after
	return false, nil
}

// header reads the next page's header of the chunk's bytes before end; 0 = it does not end there.
func (l *walkedLeaf) header(b Bytes, end int64, h *thrift.PageHeader) (n int, err error) {
	for ask := min(end-l.at, firstHeader); ask > 0; {
		buf, err := b.Slice(l.at+l.shift, ask)
		if err != nil {
			return 0, err
		}
		n, err := thrift.ParsePageHeader(buf, h)
		switch {
		case err == nil:
			return n, nil
		case n < len(buf) || ask >= page.MaxHeader || ask == end-l.at && end == l.end:
			return 0, fmt.Errorf("%w: header: %w", page.ErrCorrupt, err)
		case ask == end-l.at:
			return 0, nil
		}
		ask = min(16*ask, end-l.at)
	}
	return 0, nil
}

// data notes a data page that ends at after.
func (w *Walk) data(l *walkedLeaf, b Bytes, p *page.Page, after int64) error {
	node := w.r.f.tree.Leaves[l.leaf]
	at := thrift.PageLocation{Offset: l.at, FirstRow: l.begun, Size: int32(after - l.at)}
	if node.Rep == 0 {
		l.pages = append(l.pages, at)
		l.begun = min(l.begun+int64(p.NumValues), w.rows)
		l.done = l.begun == w.rows
		return nil
	}
	raw, err := b.Slice(l.at+l.shift, after-l.at)
	if err != nil {
		return err
	}
	if _, err := page.Read(raw, l.at, p); err != nil {
		return err
	}
	begun, first, err := build.Records(p, w.r.f.Chunk(w.rg, l.leaf).Codec, node.Rep, w.r.o.MaxPage)
	if err != nil {
		return err
	}
	switch {
	case first:
		l.settle()
		l.last = at
	case l.ends == 0:
		return fmt.Errorf("%w: a row begins with a repetition level above 0", page.ErrCorrupt)
	case after-l.last.Offset > 1<<31-1:
		return &TooLargeError{Need: after - l.last.Offset, Budget: 1<<31 - 1, What: "pages of one row", RowGroup: w.rg, Column: node.String()}
	default:
		l.aligned = false
		l.last.Size = int32(after - l.last.Offset)
	}
	l.ends = after
	l.begun += begun
	l.entries += int64(p.NumValues)
	if l.begun > w.rows {
		l.begun = w.rows
	}
	if l.entries >= w.r.f.Chunk(w.rg, l.leaf).NumValues {
		l.settle()
		return w.exhausted(l)
	}
	return nil
}

// settle ends the place that might have gone on.
func (l *walkedLeaf) settle() {
	if l.ends > 0 {
		l.pages = append(l.pages, l.last)
		l.ends = 0
	}
}

// exhausted ends a chunk that has no further page.
func (w *Walk) exhausted(l *walkedLeaf) error {
	l.settle()
	l.done = true
	if l.begun < w.rows {
		return fmt.Errorf("%w: the chunk ends after %d rows", build.ErrCorrupt, l.begun)
	}
	return nil
}

// complete is the row after the last one that is wholly in known places.
func (l *walkedLeaf) complete() int64 {
	if l.ends > 0 {
		return l.last.FirstRow
	}
	return l.begun
}

// Rows is how many rows of the row group are complete in every chunk.
func (w *Walk) Rows() int64 {
	rows := w.rows
	for i := range w.leaves {
		rows = min(rows, w.leaves[i].complete())
	}
	return rows
}

// Keep is the offset in chunk i before which nothing is needed for the rows from row on, but the dictionary page.
func (w *Walk) Keep(i int, row int64) int64 {
	l := &w.leaves[i]
	if at := l.find(row); at < len(l.pages) && row < l.complete() {
		return l.pages[at].Offset
	}
	if l.ends > 0 {
		return l.last.Offset
	}
	if l.done {
		return l.end
	}
	return l.at
}

// find is the place that holds a row.
func (l *walkedLeaf) find(row int64) int {
	return max(sort.Search(len(l.pages), func(k int) bool { return l.pages[k].FirstRow > row })-1, 0)
}

// Dictionary is where the dictionary page of chunk i lies; Len 0 = none was met so far.
func (w *Walk) Dictionary(i int) Range { return w.leaves[i].dict }

// Span is where the places of rows [from, to) of chunk i lie, to at most Rows.
func (w *Walk) Span(i int, from, to int64) Range {
	l := &w.leaves[i]
	if from >= to || len(l.pages) == 0 {
		return Range{}
	}
	last := l.pages[l.find(to-1)]
	off := l.pages[l.find(from)].Offset
	return Range{Off: off, Len: last.Offset + int64(last.Size) - off}
}

var errWalk = errors.New("parquet: rows opened that the walk has not come to")

// Open prepares the rows of sel among [from, to), which have become complete. The bytes of Span and Dictionary of every chunk, by
// their Address, serve their Decode.
func (w *Walk) Open(sel rowsel.Selection, from, to int64) ([]*Unit, error) {
	if from > to || to > w.Rows() {
		return nil, errWalk
	}
	found := make(map[int]*foundPages, len(w.leaves))
	for i := range w.leaves {
		l := &w.leaves[i]
		f := &foundPages{rows: to, dict: l.dict, aligned: l.aligned, shift: l.shift}
		if from < to {
			a, z := l.find(from), l.find(to-1)+1
			f.pages = l.pages[a:z:z]
			if z < len(l.pages) {
				f.rows = l.pages[z].FirstRow
			} else {
				f.rows = l.complete()
			}
		}
		found[l.leaf] = f
	}
	return w.r.open(w.rg, sel.And(rowsel.FromRanges(from, to)), found)
}
