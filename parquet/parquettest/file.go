package parquettest

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// File is written by Bytes.
type File struct {
	Schema    []thrift.SchemaElement // depth first, root first
	Groups    []Group
	CreatedBy string
	KeyValues []thrift.KeyValue
	// NoOrders leaves the column orders out, without which bounds mean nothing.
	NoOrders bool
	// Footer may change the metadata's bytes before its length and the magic are written behind it.
	Footer func(b []byte) []byte
}

// Group is a row group.
type Group struct {
	Rows    int64
	Chunks  []Chunk // one a leaf, in the schema's order
	Sorting []thrift.SortingColumn
}

// Chunk is a column of a row group.
type Chunk struct {
	Codec thrift.Codec
	// Dictionary is written in front of the pages if it is not nil; pages of dictionary encodings look values up in it.
	Dictionary []any
	// OldDictionary marks the dictionary page itself PLAIN_DICTIONARY.
	OldDictionary bool
	Pages         []Page
	Statistics    *thrift.Statistics // nil = none; counts of -1 and nil bounds are left out
	// Index writes the page index: bounds in the order of less, which is required then.
	Index bool
	// Order is Less's claim about pages in the column index.
	Boundary thrift.BoundaryOrder
	// BloomBlocks writes a filter of that many blocks over all values of the pages.
	BloomBlocks int
	// EncodingStats writes page encoding statistics.
	EncodingStats bool
	// Change may alter the metadata before it is written.
	Change func(m *thrift.Chunk)
}

// Page is a data page.
type Page struct {
	Version  int // 1 (also 0) or 2
	Encoding thrift.Encoding
	// Rep and Def are the levels of all entries; nil where the column has none, except that Def nil in an optional flat
	// column means no nulls, Entries of them.
	Rep, Def []uint8
	Values   []any // those that are present
	Runs     Runs  // of levels and indices
	CRC      bool
	// OldLevels packs v1 levels as BIT_PACKED.
	OldLevels bool
	// EmptyBody leaves values of no bytes out of a v2 page, rather than compress them.
	EmptyBody bool
	// Plain leaves a v2 page uncompressed whatever the codec.
	Plain bool
	// Min, Max, Nulls and NaNs go into the page index; NullPage is set when Values is empty.
	Min, Max    []byte
	Nulls, NaNs int64
	// Change may alter header and body (as stored, checksum included) before they are written.
	Change func(r *Raw)
}

// Raw is a page as it is about to be written.
type Raw struct {
	Header thrift.PageHeader
	Body   []byte
}

// Bytes writes the file.
func (f *File) Bytes() []byte {
	w := &fileWriter{f: f, b: []byte("PAR1")}
	w.leaves()
	for g := range f.Groups {
		for i := range f.Groups[g].Chunks {
			w.chunk(g, i)
		}
	}
	// All column indexes stand together, and so do the offset indexes: readers fetch them at once.
	for _, part := range []func(c *Chunk, p *placed){w.bloom, w.columnIndex, w.offsetIndex} {
		for g := range f.Groups {
			for i := range f.Groups[g].Chunks {
				part(&f.Groups[g].Chunks[i], &w.placed[g][i])
			}
		}
	}
	footer := w.footer()
	if f.Footer != nil {
		footer = f.Footer(footer)
	}
	w.b = append(w.b, footer...)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(footer)))
	return append(w.b, "PAR1"...)
}

// leaf is what the writer knows of a column.
type leaf struct {
	element        thrift.SchemaElement
	path           []string
	maxRep, maxDef int
}

// placed is what was written of a chunk.
type placed struct {
	meta      thrift.Chunk
	pages     []thrift.PageLocation
	encodings map[[2]int]int // page type, encoding: pages
}

type fileWriter struct {
	f      *File
	b      []byte
	cols   []leaf
	placed [][]placed
}

func (w *fileWriter) leaves() {
	next := 1
	var walk func(n int32, path []string, rep, def int)
	walk = func(n int32, path []string, rep, def int) {
		for range n {
			e := w.f.Schema[next]
			next++
			p := append(path[:len(path):len(path)], e.Name)
			r, d := rep, def
			if e.Repetition != thrift.Required {
				d++
			}
			if e.Repetition == thrift.Repeated {
				r++
			}
			if e.HasType {
				w.cols = append(w.cols, leaf{e, p, r, d})
				continue
			}
			walk(e.NumChildren, p, r, d)
		}
	}
	walk(w.f.Schema[0].NumChildren, nil, 0, 0)
}

func (w *fileWriter) chunk(g, i int) {
	c, l := &w.f.Groups[g].Chunks[i], &w.cols[i]
	p := placed{encodings: map[[2]int]int{}}
	m := &p.meta
	m.Type, m.Codec = l.element.Type, c.Codec
	start := len(w.b)
	if c.Dictionary != nil {
		m.DictionaryOffset = int64(len(w.b))
		e := thrift.Plain
		if c.OldDictionary {
			e = thrift.PlainDictionary
		}
		body := encodePlain(l.element.Type, c.Dictionary)
		r := Raw{Header: thrift.PageHeader{
			Type: thrift.DictionaryPage, NumValues: int32(len(c.Dictionary)), Encoding: e,
			UncompressedSize: int32(len(body)),
		}, Body: Compress(c.Codec, body)}
		p.encodings[[2]int{int(thrift.DictionaryPage), int(e)}]++
		w.page(&r, nil, len(c.Pages) > 0 && c.Pages[0].CRC, m)
	}
	m.DataPageOffset = int64(len(w.b))
	row := int64(0)
	for k := range c.Pages {
		pg := &c.Pages[k]
		r, entries, rows := w.dataPage(l, c, pg)
		at := len(w.b)
		w.page(&r, pg.Change, pg.CRC, m)
		p.pages = append(p.pages, thrift.PageLocation{Offset: int64(at), FirstRow: row, Size: int32(len(w.b) - at)})
		p.encodings[[2]int{int(r.Header.Type), int(pg.Encoding)}]++
		m.Encodings |= 1 << pg.Encoding
		m.NumValues += int64(entries)
		row += int64(rows)
	}
	m.CompressedSize = int64(len(w.b) - start)
	if g == len(w.placed) {
		w.placed = append(w.placed, nil)
	}
	w.placed[g] = append(w.placed[g], p)
}

// page writes header and body.
func (w *fileWriter) page(r *Raw, change func(*Raw), crc bool, m *thrift.Chunk) {
	r.Header.CompressedSize = int32(len(r.Body))
	if crc {
		r.Header.HasCRC, r.Header.CRC = true, crc32.ChecksumIEEE(r.Body)
	}
	if change != nil {
		change(r)
	}
	head := pageHeader(&r.Header)
	w.b = append(append(w.b, head...), r.Body...)
	m.UncompressedSize += int64(len(head)) + int64(r.Header.UncompressedSize)
}

func (w *fileWriter) dataPage(l *leaf, c *Chunk, pg *Page) (r Raw, entries, rows int) {
	entries = len(pg.Values)
	if pg.Def != nil {
		entries = len(pg.Def)
	}
	rows = entries
	if l.maxRep > 0 {
		rows = 0
		for _, x := range pg.Rep {
			if x == 0 {
				rows++
			}
		}
	}
	def := pg.Def
	if def == nil && l.maxDef > 0 {
		def = make([]uint8, entries)
		for i := range def {
			def[i] = uint8(l.maxDef)
		}
	}
	values := encode(pg.Encoding, l.element.Type, pg.Values, c.Dictionary, pg.Runs)
	if pg.Version == 2 {
		return w.dataPageV2(l, c, pg, def, values, entries, rows), entries, rows
	}
	var body []byte
	level := func(levels []uint8, maximum int) {
		switch {
		case maximum == 0:
		case pg.OldLevels:
			body = append(body, oldBitPack(wide(levels), levelWidth(maximum))...)
		default:
			h := hybrid(wide(levels), levelWidth(maximum), pg.Runs)
			body = append(binary.LittleEndian.AppendUint32(body, uint32(len(h))), h...)
		}
	}
	level(pg.Rep, l.maxRep)
	level(def, l.maxDef)
	body = append(body, values...)
	e := thrift.RLE
	if pg.OldLevels {
		e = thrift.BitPacked
	}
	r.Header = thrift.PageHeader{
		Type: thrift.DataPage, NumValues: int32(entries), Encoding: pg.Encoding, DefinitionEncoding: e,
		RepetitionEncoding: e, UncompressedSize: int32(len(body)),
	}
	r.Body = Compress(c.Codec, body)
	return r, entries, rows
}

func (w *fileWriter) dataPageV2(l *leaf, c *Chunk, pg *Page, def []uint8, values []byte, entries, rows int) (r Raw) {
	var rep, defs []byte
	if l.maxRep > 0 {
		rep = hybrid(wide(pg.Rep), levelWidth(l.maxRep), pg.Runs)
	}
	if l.maxDef > 0 {
		defs = hybrid(wide(def), levelWidth(l.maxDef), pg.Runs)
	}
	stored := values
	if !pg.Plain && !(pg.EmptyBody && len(values) == 0) {
		stored = Compress(c.Codec, values)
	}
	r.Header = thrift.PageHeader{
		Type: thrift.DataPageV2, NumValues: int32(entries), NumNulls: int32(entries - len(pg.Values)), NumRows: int32(rows),
		Encoding: pg.Encoding, DefinitionLength: int32(len(defs)), RepetitionLength: int32(len(rep)), Plain: pg.Plain,
		UncompressedSize: int32(len(rep) + len(defs) + len(values)),
	}
	r.Body = append(append(append([]byte(nil), rep...), defs...), stored...)
	return r
}

func (w *fileWriter) bloom(c *Chunk, p *placed) {
	if c.BloomBlocks == 0 {
		return
	}
	var values [][]byte
	for _, pg := range c.Pages {
		for _, v := range pg.Values {
			values = append(values, plain(nil, v))
		}
	}
	b := Bloom(c.BloomBlocks, values)
	p.meta.BloomOffset, p.meta.BloomLength = int64(len(w.b)), int32(len(b))
	w.b = append(w.b, b...)
}

func (w *fileWriter) columnIndex(c *Chunk, p *placed) {
	if c.Index {
		b := columnIndex(c)
		p.meta.ColumnIndexOffset, p.meta.ColumnIndexLength = int64(len(w.b)), int32(len(b))
		w.b = append(w.b, b...)
	}
}

func (w *fileWriter) offsetIndex(c *Chunk, p *placed) {
	if c.Index {
		b := OffsetIndex(p.pages)
		p.meta.OffsetIndexOffset, p.meta.OffsetIndexLength = int64(len(w.b)), int32(len(b))
		w.b = append(w.b, b...)
	}
}

// OffsetIndex in its stored form.
func OffsetIndex(pages []thrift.PageLocation) []byte {
	var c compact
	c.group(func() {
		c.list(1, tStruct, len(pages), func(i int) {
			c.group(func() {
				c.i64(1, pages[i].Offset)
				c.i32(2, pages[i].Size)
				c.i64(3, pages[i].FirstRow)
			})
		})
	})
	return c.b
}

func columnIndex(ch *Chunk) []byte {
	var c compact
	floats := false
	c.group(func() {
		n := len(ch.Pages)
		c.list(1, tTrue, n, func(i int) {
			if len(ch.Pages[i].Values) == 0 {
				c.b = append(c.b, tTrue)
			} else {
				c.b = append(c.b, tFalse)
			}
		})
		c.list(2, tBinary, n, func(i int) { c.raw(ch.Pages[i].Min) })
		c.list(3, tBinary, n, func(i int) { c.raw(ch.Pages[i].Max) })
		c.i32(4, int32(ch.Boundary))
		c.list(5, tI64, n, func(i int) { c.zigzag(ch.Pages[i].Nulls) })
		for _, p := range ch.Pages {
			if len(p.Values) > 0 {
				switch p.Values[0].(type) {
				case float32, float64:
					floats = true
				}
			}
		}
		if floats {
			c.list(8, tI64, n, func(i int) { c.zigzag(ch.Pages[i].NaNs) })
		}
	})
	return c.b
}

func (w *fileWriter) footer() []byte {
	var c compact
	rows := int64(0)
	for _, g := range w.f.Groups {
		rows += g.Rows
	}
	c.group(func() {
		c.i32(1, 2)
		c.list(2, tStruct, len(w.f.Schema), func(i int) { c.element(&w.f.Schema[i], i == 0) })
		c.i64(3, rows)
		c.list(4, tStruct, len(w.f.Groups), func(g int) { w.group(&c, g) })
		if w.f.KeyValues != nil {
			c.list(5, tStruct, len(w.f.KeyValues), func(i int) {
				c.group(func() {
					c.string(1, w.f.KeyValues[i].Key)
					c.string(2, w.f.KeyValues[i].Value)
				})
			})
		}
		if w.f.CreatedBy != "" {
			c.string(6, w.f.CreatedBy)
		}
		if !w.f.NoOrders {
			c.list(7, tStruct, len(w.cols), func(int) { c.group(func() { c.structure(1, func() {}) }) })
		}
	})
	return c.b
}

func (w *fileWriter) group(c *compact, g int) {
	group := &w.f.Groups[g]
	c.group(func() {
		total := int64(0)
		c.list(1, tStruct, len(group.Chunks), func(i int) {
			w.chunkMeta(c, g, i)
			total += w.placed[g][i].meta.UncompressedSize
		})
		c.i64(2, total)
		c.i64(3, group.Rows)
		if group.Sorting != nil {
			c.list(4, tStruct, len(group.Sorting), func(i int) {
				c.group(func() {
					c.i32(1, group.Sorting[i].Column)
					c.bool(2, group.Sorting[i].Descending)
					c.bool(3, group.Sorting[i].NullsFirst)
				})
			})
		}
	})
}

func (w *fileWriter) chunkMeta(c *compact, g, i int) {
	ch, p, l := &w.f.Groups[g].Chunks[i], &w.placed[g][i], &w.cols[i]
	m := p.meta
	if ch.Change != nil {
		ch.Change(&m)
	}
	c.group(func() {
		c.i64(2, m.DataPageOffset)
		c.structure(3, func() { w.columnMeta(c, ch, p, l, &m) })
		if m.OffsetIndexLength > 0 {
			c.i64(4, m.OffsetIndexOffset)
			c.i32(5, m.OffsetIndexLength)
			c.i64(6, m.ColumnIndexOffset)
			c.i32(7, m.ColumnIndexLength)
		}
	})
}

func (w *fileWriter) columnMeta(c *compact, ch *Chunk, p *placed, l *leaf, m *thrift.Chunk) {
	c.i32(1, int32(m.Type))
	var encodings []int32
	for e := range int32(16) {
		if m.Encodings>>e&1 == 1 {
			encodings = append(encodings, e)
		}
	}
	c.list(2, tI32, len(encodings), func(i int) { c.zigzag(int64(encodings[i])) })
	c.list(3, tBinary, len(l.path), func(i int) { c.raw([]byte(l.path[i])) })
	c.i32(4, int32(m.Codec))
	c.i64(5, m.NumValues)
	c.i64(6, m.UncompressedSize)
	c.i64(7, m.CompressedSize)
	c.i64(9, m.DataPageOffset)
	if m.DictionaryOffset > 0 {
		c.i64(11, m.DictionaryOffset)
	}
	if ch.Statistics != nil {
		c.structure(12, func() { statistics(c, ch.Statistics) })
	}
	if ch.EncodingStats {
		var keys [][2]int
		for t := range 4 {
			for e := range 16 {
				if p.encodings[[2]int{t, e}] > 0 {
					keys = append(keys, [2]int{t, e})
				}
			}
		}
		c.list(13, tStruct, len(keys), func(i int) {
			c.group(func() {
				c.i32(1, int32(keys[i][0]))
				c.i32(2, int32(keys[i][1]))
				c.i32(3, int32(p.encodings[keys[i]]))
			})
		})
	}
	if m.BloomOffset > 0 {
		c.i64(14, m.BloomOffset)
		c.i32(15, m.BloomLength)
	}
}
