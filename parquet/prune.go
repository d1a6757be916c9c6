package parquet

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// filterLeaf is where a column that the filter reads comes from.
type filterLeaf struct {
	node     *schema.Node // nil: a constant
	typ      arrow.DataType
	constant *expr.Literal
	nullable bool // a constant below a struct that may be null
}

// filterLeaves finds the leaves outside lists and maps that have one of the ids.
func (f *Footer) filterLeaves(cols []Column, ids map[int]bool) map[int]filterLeaf {
	out := make(map[int]filterLeaf)
	var walk func(c *Column, parent *schema.Node, nullable bool)
	walk = func(c *Column, parent *schema.Node, nullable bool) {
		var n *schema.Node
		if c.Path != nil && parent != nil && parent.Kind == schema.Struct {
			n = parent.Child(c.Path[len(c.Path)-1])
		}
		if id, ok := expr.FieldID(c.Output); ok && ids[id] && !c.Position {
			switch {
			case c.Path == nil && c.Children == nil:
				lit := c.Const
				if lit == nil {
					lit = &expr.Literal{Type: c.Output.Type}
				}
				out[id] = filterLeaf{typ: c.Output.Type, constant: lit, nullable: nullable}
			case n != nil && n.IsLeaf():
				out[id] = filterLeaf{node: n, typ: c.Output.Type}
			}
		}
		if _, ok := expr.ValueType(c.Output.Type).(*arrow.StructType); ok {
			for i := range c.Children {
				walk(&c.Children[i], n, nullable || c.Output.Nullable)
			}
		}
	}
	for i := range cols {
		walk(&cols[i], f.tree.Root, false)
	}
	return out
}

// Prune proves what it can about the filter and the rows of a row group from the evidence at hand: statistics in the
// footer, and of page index, dictionary pages and Bloom filters what ev has (nil: nothing). The selection is relative to
// the row group. The offset indexes seen are remembered: Ranges and Open use them to read pages instead of chunks.
func (r *Reader) Prune(rg int, ev Bytes) (expr.Verdict, rowsel.Selection) {
	res := r.PruneResult(rg, ev)
	return res.Verdict, res.Rows
}

// PruneResult is Prune, and which evaluator decided.
func (r *Reader) PruneResult(rg int, ev Bytes) prune.Result {
	r.loadIndex(rg, ev)
	if r.filter == nil {
		return prune.Result{Verdict: expr.All}
	}
	e := evidence{r: r, rg: rg, bytes: ev, chunks: make(map[int]*prune.Chunk)}
	e.pages, e.dictionary, e.bloom = prune.Uses(r.filter)
	return prune.Group(r.filter, r.f.Rows(rg), e.chunk, r.o.PruneOff)
}

// evidence collects what is at hand about the filter's columns.
type evidence struct {
	r                        *Reader
	rg                       int
	bytes                    Bytes
	chunks                   map[int]*prune.Chunk
	pages, dictionary, bloom map[int]bool
}

func (e *evidence) chunk(id int) *prune.Chunk {
	c, ok := e.chunks[id]
	if !ok {
		c = e.find(id)
		e.chunks[id] = c
	}
	return c
}

func (e *evidence) find(id int) *prune.Chunk {
	l, ok := e.r.leaves[id]
	if !ok {
		return nil
	}
	if l.node == nil {
		return &prune.Chunk{Constant: l.constant, ConstantNullable: l.nullable}
	}
	f, leaf := e.r.f, l.node.Leaf
	if _, _, err := f.ChunkRange(e.rg, leaf); err != nil {
		return nil
	}
	c := &prune.Chunk{Column: prune.Column{Node: l.node, Order: f.Order(leaf), Type: l.typ}}
	if s, ok := f.Statistics(e.rg, leaf); ok {
		c.Statistics = &s
	}
	off := e.r.o.PruneOff
	if e.pages[id] && !off.PageIndex {
		c.Pages = e.pageIndex(c.Column, leaf)
	}
	if e.dictionary[id] && !off.Dictionary {
		c.Dictionary = e.dictionaryOf(c.Column, leaf)
	}
	if e.bloom[id] && !off.Bloom {
		c.Bloom = e.bloomOf(leaf)
	}
	return c
}

// slice is what is at hand of a range; nil if it is not.
func (e *evidence) slice(off, n int64) []byte {
	if e.bytes == nil || n <= 0 {
		return nil
	}
	b, err := e.bytes.Slice(off, n)
	if err != nil {
		return nil
	}
	return b
}

func (e *evidence) pageIndex(c prune.Column, leaf int) *prune.Pages {
	offsets := e.r.offsetIndex(e.rg, leaf)
	_, columns := e.r.f.IndexRange(e.rg, leaf)
	b := e.slice(columns.Off, columns.Len)
	if offsets == nil || b == nil {
		return nil
	}
	index, err := thrift.ParseColumnIndex(slices.Clone(b)) // its bounds outlive the bytes at hand
	if err != nil {
		return nil
	}
	p, err := prune.NewPages(c, offsets, index, e.r.f.Rows(e.rg))
	if err != nil {
		return nil
	}
	return p
}

// dictionaryOf reads the dictionary page if every data page uses it.
func (e *evidence) dictionaryOf(c prune.Column, leaf int) *prune.Dictionary {
	m := e.r.f.Chunk(e.rg, leaf)
	if !m.DictionaryOnly || m.DictionaryOffset <= 0 || m.DictionaryOffset >= m.DataPageOffset {
		return nil
	}
	b := e.slice(m.DictionaryOffset, m.DataPageOffset-m.DictionaryOffset)
	var p page.Page
	if _, err := page.Read(b, m.DictionaryOffset, &p); err != nil || p.Type != thrift.DictionaryPage || p.Verify() != nil {
		return nil
	}
	if p.NumValues > prune.MaxDictionary || int64(p.UncompressedSize) > e.r.o.MaxPage {
		return nil
	}
	plain := make([]byte, p.UncompressedSize, int(p.UncompressedSize)+codec.Slack)
	if new(codec.Decoder).Decode(m.Codec, plain, p.Body, p.HasCRC) != nil {
		return nil
	}
	return prune.NewDictionary(c, plain, int(p.NumValues))
}

func (e *evidence) bloomOf(leaf int) *prune.Bloom {
	at, exact := e.r.f.BloomRange(e.rg, leaf)
	b := e.slice(at.Off, at.Len)
	if b != nil && !exact {
		n, err := prune.BloomSize(b)
		if err != nil || e.r.f.inside(at.Off, n).Len == 0 {
			return nil
		}
		b = e.slice(at.Off, n)
	}
	if b == nil {
		return nil
	}
	f, err := prune.NewBloom(b)
	if err != nil {
		return nil
	}
	return f
}

// loadIndex parses the offset indexes of the wanted columns that are at hand and not known yet.
func (r *Reader) loadIndex(rg int, ev Bytes) {
	if ev == nil {
		return
	}
	e := evidence{r: r, rg: rg, bytes: ev}
	for i := range r.cols {
		for _, leaf := range r.cols[i].leaves {
			if r.offsetIndex(rg, leaf) != nil {
				continue
			}
			offsets, _ := r.f.IndexRange(rg, leaf)
			b := e.slice(offsets.Off, offsets.Len)
			if b == nil {
				continue
			}
			x, err := thrift.ParseOffsetIndex(b)
			if err != nil {
				continue
			}
			off, n, err := r.f.ChunkRange(rg, leaf)
			if err != nil || prune.CheckOffsets(x, off, n, r.f.Rows(rg)) != nil {
				continue
			}
			r.index.Lock()
			if r.index.offsets == nil {
				r.index.offsets = make(map[[2]int]*thrift.OffsetIndex)
			}
			r.index.offsets[[2]int{rg, leaf}] = x
			r.index.Unlock()
		}
	}
}

// offsetIndex is the checked one, nil if it is not known.
func (r *Reader) offsetIndex(rg, leaf int) *thrift.OffsetIndex {
	r.index.Lock()
	defer r.index.Unlock()
	return r.index.offsets[[2]int{rg, leaf}]
}
