package thrift

import "math"

// FileMetaData is a footer, reduced to what readers use.
type FileMetaData struct {
	Version   int32
	NumRows   int64
	CreatedBy string
	Schema    []SchemaElement // depth first, root first
	Orders    []Order         // one a leaf; empty if the file says nothing
	Columns   int             // chunks in each row group
	Groups    []RowGroup
	KeyValues []KeyValue
	Encrypted bool // some columns are encrypted, the footer is not

	chunks []Chunk // Columns a row group
	raw    []byte  // statistics of all chunks
}

// Chunk is column i of row group g. The pointer is valid as long as the FileMetaData; do not change it.
func (m *FileMetaData) Chunk(g, i int) *Chunk { return &m.chunks[g*m.Columns+i] }

// Statistics parses those of a chunk; ok is false if it has none.
func (m *FileMetaData) Statistics(c *Chunk) (s Statistics, ok bool, err error) {
	if c.statLen == 0 {
		return Statistics{}, false, nil
	}
	s, err = ParseStatistics(m.raw[c.statOff : c.statOff+c.statLen])
	return s, err == nil, err
}

// KeyValue is an entry of the file's metadata.
type KeyValue struct{ Key, Value string }

// SchemaElement is a node of the schema; a group has Type NoType.
type SchemaElement struct {
	Name        string
	Logical     Logical
	TypeLength  int32
	NumChildren int32
	FieldID     int32
	Scale       int32
	Precision   int32
	Type        Type
	Repetition  Repetition
	Converted   Converted
	HasFieldID  bool
	HasType     bool
	// NestedVector marks the fixed-size vector repetition, which this reader refuses.
	NestedVector bool
}

// RowGroup without its chunks.
type RowGroup struct {
	NumRows        int64
	TotalByteSize  int64 // uncompressed
	SortingColumns []SortingColumn
}

// SortingColumn says how rows of a group are ordered.
type SortingColumn struct {
	Column                 int32
	Descending, NullsFirst bool
}

// Chunk is one column of one row group. Offsets are absolute in the file, sizes in bytes; zero means absent for
// dictionary, index and Bloom fields.
type Chunk struct {
	NumValues         int64
	UncompressedSize  int64
	CompressedSize    int64
	DataPageOffset    int64
	DictionaryOffset  int64
	OffsetIndexOffset int64
	ColumnIndexOffset int64
	BloomOffset       int64
	UnencodedBytes    int64 // of BYTE_ARRAY values without length prefixes; -1 = unknown
	OffsetIndexLength int32
	ColumnIndexLength int32
	BloomLength       int32
	statOff, statLen  uint32
	Encodings         uint16 // bit i = Encoding i; bit 15 = an unknown one
	Type              Type
	Codec             Codec
	DictionaryOnly    bool // encoding statistics prove that every data page holds dictionary indices
	OtherFile         bool // file_path is set
	Encrypted         bool
	hasMeta           bool
}

// HasStatistics reports whether the chunk has a statistics field.
func (c *Chunk) HasStatistics() bool { return c.statLen > 0 }

// Start is the offset of the chunk's first page, the dictionary page if there is one.
func (c *Chunk) Start() int64 {
	if c.DictionaryOffset > 0 && c.DictionaryOffset < c.DataPageOffset {
		return c.DictionaryOffset
	}
	return c.DataPageOffset
}

// names collects strings so that they share one allocation.
type names struct{ b []byte }

type span struct{ off, len int }

func (n *names) add(b []byte) span {
	n.b = append(n.b, b...)
	return span{len(n.b) - len(b), len(b)}
}

type footerReader struct {
	cursor
	m     *FileMetaData
	names names
	spans []span // of schema names
	raw   []byte
	seen  uint16
}

// ParseFileMetaData reads a footer. The result does not point into b.
func ParseFileMetaData(b []byte) (*FileMetaData, error) {
	r := &footerReader{cursor: cursor{b: b}, m: &FileMetaData{}}
	var last int16
	for {
		id, w := r.field(&last)
		if w == wireStop {
			break
		}
		r.fileField(id, w)
	}
	const required = 1<<1 | 1<<2 | 1<<3 | 1<<4
	if r.err == nil && r.seen&required != required {
		r.fail("footer without version, schema, row count or row groups")
	}
	if r.err != nil {
		return nil, r.err
	}
	all := string(r.names.b)
	for i, s := range r.spans {
		r.m.Schema[i].Name = all[s.off : s.off+s.len]
	}
	r.m.raw = r.raw
	return r.m, nil
}

func (r *footerReader) fileField(id int16, w uint8) {
	switch {
	case id == 1 && isInt(w):
		r.m.Version = r.i32()
	case id == 2 && w == wireList:
		r.schema()
	case id == 3 && isInt(w):
		r.m.NumRows = r.u64()
	case id == 4 && w == wireList:
		r.rowGroups()
	case id == 5 && w == wireList:
		r.keyValues()
	case id == 6 && w == wireBinary:
		r.m.CreatedBy = string(r.bytes())
	case id == 7 && w == wireList:
		r.orders()
	case id == 8 && w == wireStruct:
		r.m.Encrypted = true
		r.skip(w)
	default:
		r.skip(w)
		return
	}
	r.seen |= 1 << id
}

func (r *footerReader) schema() {
	n := r.listOf(wireStruct)
	// An element takes five bytes at least (name, children or type, end), so memory stays in proportion to the input.
	r.m.Schema = make([]SchemaElement, 0, min(n, (len(r.b)-r.pos)/5))
	r.spans = make([]span, 0, cap(r.m.Schema))
	r.names.b = make([]byte, 0, 16*cap(r.m.Schema))
	for i := 0; i < n && r.err == nil; i++ {
		r.m.Schema = append(r.m.Schema, SchemaElement{Type: NoType, Converted: NoConverted})
		r.element(&r.m.Schema[i])
	}
}

func (r *footerReader) element(e *SchemaElement) {
	var last int16
	named := false
	for {
		id, w := r.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			e.Type, e.HasType = Type(r.code()), true
		case id == 2 && isInt(w):
			e.TypeLength = r.i32()
		case id == 3 && isInt(w):
			e.Repetition = Repetition(r.code())
		case id == 4 && w == wireBinary:
			if named {
				r.fail("two names")
				return
			}
			r.spans = append(r.spans, r.names.add(r.bytes()))
			named = true
		case id == 5 && isInt(w):
			e.NumChildren = r.u32()
		case id == 6 && isInt(w):
			e.Converted = Converted(r.code())
		case id == 7 && isInt(w):
			e.Scale = r.i32()
		case id == 8 && isInt(w):
			e.Precision = r.i32()
		case id == 9 && isInt(w):
			e.FieldID, e.HasFieldID = r.i32(), true
		case id == 10 && w == wireStruct:
			r.logical(&e.Logical)
		case id == 11 && isInt(w):
			e.NestedVector = true
			r.i32()
		default:
			r.skip(w)
		}
	}
	if !named {
		r.fail("schema element without a name")
	}
}

func (c *cursor) logical(l *Logical) {
	if !c.enter() {
		return
	}
	var last int16
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		l.Kind = OtherLogical
		if id > 0 && id <= int16(LogicalGeography) && id != int16(LogicalInterval) {
			l.Kind = LogicalKind(id)
		}
		switch {
		case w != wireStruct:
			c.skip(w)
		case l.Kind == LogicalDecimal, l.Kind == LogicalTime, l.Kind == LogicalTimestamp, l.Kind == LogicalInt:
			c.logicalParameters(l)
		default:
			c.skip(w)
		}
	}
	c.leave()
}

func (c *cursor) logicalParameters(l *Logical) {
	var last int16
	for {
		id, w := c.field(&last)
		if w == wireStop {
			return
		}
		switch {
		case l.Kind == LogicalDecimal && id == 1 && isInt(w):
			l.Scale = c.i32()
		case l.Kind == LogicalDecimal && id == 2 && isInt(w):
			l.Precision = c.i32()
		case l.Kind == LogicalInt && id == 1 && w == wireByte:
			l.BitWidth = uint8(c.i8())
		case l.Kind == LogicalInt && id == 2 && isBool(w):
			l.Signed = w == wireTrue
		case l.Kind != LogicalInt && l.Kind != LogicalDecimal && id == 1 && isBool(w):
			l.UTC = w == wireTrue
		case l.Kind != LogicalInt && l.Kind != LogicalDecimal && id == 2 && w == wireStruct:
			if u := c.union(); u >= int16(Millis) && u <= int16(Nanos) {
				l.Unit = Unit(u)
			}
		default:
			c.skip(w)
		}
	}
}

func (r *footerReader) rowGroups() {
	n := r.listOf(wireStruct)
	r.m.Groups = make([]RowGroup, 0, min(n, (len(r.b)-r.pos)/8))
	for i := 0; i < n && r.err == nil; i++ {
		r.m.Groups = append(r.m.Groups, RowGroup{NumRows: -1})
		r.rowGroup(i, n)
	}
}

func (r *footerReader) rowGroup(i, n int) {
	g := &r.m.Groups[i]
	var last int16
	columns := -1
	for {
		id, w := r.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && w == wireList:
			if columns >= 0 {
				r.fail("two lists of columns")
				return
			}
			columns = r.columns(n - i)
		case id == 2 && isInt(w):
			g.TotalByteSize = r.i64()
		case id == 3 && isInt(w):
			g.NumRows = r.u64()
		case id == 4 && w == wireList:
			g.SortingColumns = r.sorting()
		default:
			r.skip(w)
		}
	}
	switch {
	case columns < 0 || g.NumRows < 0:
		r.fail("row group without columns or row count")
	case i == 0:
		r.m.Columns = columns
	case columns != r.m.Columns:
		r.fail("row groups of unlike column counts")
	}
}

// columns reads the chunks of one row group; groups is how many may follow with as many chunks.
func (r *footerReader) columns(groups int) int {
	n := r.listOf(wireStruct)
	if r.m.chunks == nil {
		// A chunk takes 24 bytes at least.
		r.m.chunks = make([]Chunk, 0, min(n*groups, (len(r.b)-r.pos)/24+1))
		r.raw = make([]byte, 0, (len(r.b)-r.pos)/2)
	}
	for i := 0; i < n && r.err == nil; i++ {
		r.m.chunks = append(r.m.chunks, Chunk{UnencodedBytes: -1})
		r.chunk(&r.m.chunks[len(r.m.chunks)-1])
	}
	return n
}

func (r *footerReader) chunk(c *Chunk) {
	var last int16
	for {
		id, w := r.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && w == wireBinary:
			c.OtherFile = len(r.bytes()) > 0
		case id == 3 && w == wireStruct:
			c.hasMeta = true
			r.columnMetaData(c)
		case id == 4 && isInt(w):
			c.OffsetIndexOffset = r.u64()
		case id == 5 && isInt(w):
			c.OffsetIndexLength = r.u32()
		case id == 6 && isInt(w):
			c.ColumnIndexOffset = r.u64()
		case id == 7 && isInt(w):
			c.ColumnIndexLength = r.u32()
		case id == 8 && w == wireStruct:
			c.Encrypted = true
			r.skip(w)
		default:
			r.skip(w)
		}
	}
	if !c.hasMeta && !c.Encrypted {
		r.fail("column chunk without metadata")
	}
}

const requiredMeta = 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<9

func (r *footerReader) columnMetaData(c *Chunk) {
	var last int16
	var seen uint32
	for {
		id, w := r.field(&last)
		if w == wireStop {
			break
		}
		if isInt(w) {
			if !r.columnNumber(c, id) {
				r.uvarint()
			}
		} else {
			r.columnOther(c, id, w)
		}
		if id > 0 && id < 32 {
			seen |= 1 << id
		}
	}
	if seen&requiredMeta != requiredMeta {
		r.fail("column metadata lacks a required field")
	}
}

func (r *footerReader) columnNumber(c *Chunk, id int16) bool {
	switch id {
	case 1:
		c.Type = Type(r.code())
	case 4:
		c.Codec = Codec(r.code())
	case 5:
		c.NumValues = r.u64()
	case 6:
		c.UncompressedSize = r.u64()
	case 7:
		c.CompressedSize = r.u64()
	case 9:
		c.DataPageOffset = r.u64()
	case 11:
		c.DictionaryOffset = r.i64()
	case 14:
		c.BloomOffset = r.u64()
	case 15:
		c.BloomLength = r.u32()
	default:
		return false
	}
	return true
}

func (r *footerReader) columnOther(c *Chunk, id int16, w uint8) {
	switch {
	case id == 2 && w == wireList:
		n := r.listOf(wireI32)
		for i := 0; i < n && r.err == nil; i++ {
			c.Encodings |= 1 << min(r.code(), 15)
		}
	case id == 12 && w == wireStruct:
		from := r.pos
		r.skip(w)
		if r.err == nil && len(r.raw)+r.pos-from <= math.MaxUint32 {
			c.statOff, c.statLen = uint32(len(r.raw)), uint32(r.pos-from)
			r.raw = append(r.raw, r.b[from:r.pos]...)
		}
	case id == 13 && w == wireList:
		r.encodingStats(c)
	case id == 16 && w == wireStruct:
		r.sizeStatistics(c)
	default:
		r.skip(w)
	}
}

// encodingStats keeps one fact: every data page is dictionary encoded.
func (r *footerReader) encodingStats(c *Chunk) {
	n := r.listOf(wireStruct)
	dict, other := false, false
	for i := 0; i < n && r.err == nil; i++ {
		var last int16
		page, enc, count := PageType(255), Encoding(255), int32(1)
		for {
			id, w := r.field(&last)
			if w == wireStop {
				break
			}
			switch {
			case id == 1 && isInt(w):
				page = PageType(r.code())
			case id == 2 && isInt(w):
				enc = Encoding(r.code())
			case id == 3 && isInt(w):
				count = r.i32()
			default:
				r.skip(w)
			}
		}
		if (page == DataPage || page == DataPageV2) && count != 0 {
			dict = dict || enc.Dictionary()
			other = other || !enc.Dictionary()
		}
	}
	c.DictionaryOnly = dict && !other
}

func (r *footerReader) sizeStatistics(c *Chunk) {
	var last int16
	for {
		id, w := r.field(&last)
		switch {
		case w == wireStop:
			return
		case id == 1 && isInt(w):
			c.UnencodedBytes = r.u64()
		default:
			r.skip(w)
		}
	}
}

func (r *footerReader) sorting() []SortingColumn {
	n := r.listOf(wireStruct)
	out := make([]SortingColumn, 0, min(n, (len(r.b)-r.pos)/4+1))
	for i := 0; i < n && r.err == nil; i++ {
		s := SortingColumn{Column: -1}
		var last int16
		for {
			id, w := r.field(&last)
			if w == wireStop {
				break
			}
			switch {
			case id == 1 && isInt(w):
				s.Column = r.i32()
			case id == 2 && isBool(w):
				s.Descending = w == wireTrue
			case id == 3 && isBool(w):
				s.NullsFirst = w == wireTrue
			default:
				r.skip(w)
			}
		}
		out = append(out, s)
	}
	return out
}

func (r *footerReader) keyValues() {
	n := r.listOf(wireStruct)
	r.m.KeyValues = make([]KeyValue, 0, min(n, (len(r.b)-r.pos)/4+1))
	for i := 0; i < n && r.err == nil; i++ {
		var kv KeyValue
		var last int16
		for {
			id, w := r.field(&last)
			if w == wireStop {
				break
			}
			switch {
			case id == 1 && w == wireBinary:
				kv.Key = string(r.bytes())
			case id == 2 && w == wireBinary:
				kv.Value = string(r.bytes())
			default:
				r.skip(w)
			}
		}
		r.m.KeyValues = append(r.m.KeyValues, kv)
	}
}

func (r *footerReader) orders() {
	n := r.listOf(wireStruct)
	r.m.Orders = make([]Order, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		o := OrderUndefined
		if id := r.union(); id >= int16(OrderType) && id <= int16(OrderInt96) {
			o = Order(id)
		}
		r.m.Orders = append(r.m.Orders, o)
	}
}
