package parquet

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// DefaultMaxFooter is the largest footer read when ParseFooter is given no limit.
const DefaultMaxFooter = 64 << 20

const tailBytes = 8 // length of the metadata and magic

// Footer is a file's metadata. It is immutable, keeps nothing of the bytes it was read from, and may be cached and shared.
type Footer struct {
	meta      *thrift.FileMetaData
	tree      *schema.Tree
	firstRow  []int64 // of each row group
	size      int64   // of the file
	metaStart int64   // where the metadata begins: column chunks end before
	faults    writerFaults

	schemaOnce sync.Once
	arrow      *arrow.Schema
}

// ParseFooter reads the metadata at the end of a file of size bytes; tail is its last bytes. missing > 0 says how many
// bytes before tail are needed too (f is nil then): fetch them, put them in front and call again. maxFooter bounds the
// metadata, 0 = DefaultMaxFooter. Errors: ErrCorrupt, ErrUnsupported (encrypted footer), ErrTooLarge.
func ParseFooter(tail []byte, size, maxFooter int64) (f *Footer, missing int64, err error) {
	if maxFooter <= 0 {
		maxFooter = DefaultMaxFooter
	}
	if int64(len(tail)) > size {
		return nil, 0, corruptFooter(fmt.Sprintf("tail of %d bytes, file of %d", len(tail), size), nil)
	}
	if size < tailBytes+4 {
		return nil, 0, corruptFooter(fmt.Sprintf("%d bytes are no Parquet file", size), nil)
	}
	if len(tail) < tailBytes {
		return nil, tailBytes - int64(len(tail)), nil
	}
	switch string(tail[len(tail)-4:]) {
	case "PAR1":
	case "PARE":
		return nil, 0, &UnsupportedError{Ability: "encryption (encrypted footer)", RowGroup: -1}
	default:
		return nil, 0, corruptFooter("no magic at the end", nil)
	}
	n := int64(binary.LittleEndian.Uint32(tail[len(tail)-8:]))
	switch {
	case n > size-tailBytes-4 || n == 0:
		return nil, 0, corruptFooter(fmt.Sprintf("metadata of %d bytes in a file of %d", n, size), nil)
	case n > maxFooter:
		return nil, 0, &TooLargeError{Need: n, Budget: maxFooter, What: "the footer", RowGroup: -1}
	case n+tailBytes > int64(len(tail)):
		return nil, n + tailBytes - int64(len(tail)), nil
	}
	end := int64(len(tail)) - tailBytes
	f, err = newFooter(tail[end-n:end], size)
	return f, 0, err
}

func newFooter(b []byte, size int64) (*Footer, error) {
	meta, err := thrift.ParseFileMetaData(b)
	if err != nil {
		return nil, corruptFooter("footer", err)
	}
	tree, err := schema.New(meta.Schema)
	if err != nil {
		return nil, corruptFooter("footer", err)
	}
	f := &Footer{meta: meta, tree: tree, size: size, metaStart: size - tailBytes - int64(len(b)), faults: faultsOf(meta.CreatedBy)}
	if len(meta.Groups) > 0 && meta.Columns != len(tree.Leaves) {
		return nil, corruptFooter(fmt.Sprintf("%d column chunks for %d columns", meta.Columns, len(tree.Leaves)), nil)
	}
	f.firstRow = make([]int64, len(meta.Groups)+1)
	for i := range meta.Groups {
		f.firstRow[i+1] = f.firstRow[i] + meta.Groups[i].NumRows
		if f.firstRow[i+1] < f.firstRow[i] {
			return nil, corruptFooter("row counts overflow", nil)
		}
	}
	return f, nil
}

// RowGroups is their number; zero is valid.
func (f *Footer) RowGroups() int { return len(f.meta.Groups) }

// Rows of a row group.
func (f *Footer) Rows(rg int) int64 { return f.meta.Groups[rg].NumRows }

// FirstRow is the absolute position of a row group's first row: the rows of the groups before, in the footer's order.
func (f *Footer) FirstRow(rg int) int64 { return f.firstRow[rg] }

// NumRows of the file: the sum of its row groups, since some writers leave the footer's own count at zero.
func (f *Footer) NumRows() int64 { return f.firstRow[len(f.firstRow)-1] }

// Schema is the file's own schema as Arrow, with field ids where the file has them.
func (f *Footer) Schema() *arrow.Schema {
	f.schemaOnce.Do(func() { f.arrow = f.tree.Arrow() })
	return f.arrow
}

// Tree is the schema with levels, physical and logical types.
func (f *Footer) Tree() *schema.Tree { return f.tree }

// Meta is the parsed metadata; do not change it.
func (f *Footer) Meta() *thrift.FileMetaData { return f.meta }

// Chunk is the metadata of leaf column leaf (its place in Tree().Leaves) in a row group.
func (f *Footer) Chunk(rg, leaf int) *thrift.Chunk { return f.meta.Chunk(rg, leaf) }

// Order of a leaf column's min_value and max_value.
func (f *Footer) Order(leaf int) thrift.Order {
	if n := f.tree.Leaves[leaf]; f.faults.floatBounds && (n.Physical == thrift.Float || n.Physical == thrift.Double) {
		return thrift.OrderUndefined // its page index is not to be believed either
	}
	if leaf < len(f.meta.Orders) {
		return f.meta.Orders[leaf]
	}
	return thrift.OrderUndefined
}

// Statistics of a chunk; ok is false if there are none, if they are malformed, or if the writer is known to have written
// wrong ones for this type.
func (f *Footer) Statistics(rg, leaf int) (s thrift.Statistics, ok bool) {
	c := f.Chunk(rg, leaf)
	s, ok, err := f.meta.Statistics(c)
	if err != nil || !ok {
		return thrift.Statistics{NullCount: -1, DistinctCount: -1, NaNCount: -1}, false
	}
	if f.faults.binaryStatistics && (c.Type == thrift.ByteArray || c.Type == thrift.FixedLenByteArray) {
		s.Min, s.Max = nil, nil // min_value and max_value came after the fault
	}
	if f.faults.floatBounds && (c.Type == thrift.Float || c.Type == thrift.Double) {
		s.Min, s.Max, s.MinValue, s.MaxValue = nil, nil, nil, nil
	}
	return s, true
}

// ChunkRange is where a chunk's pages lie in the file, the dictionary page included. It fails with ErrCorrupt or
// ErrUnsupported if the chunk cannot be read; nothing is checked for columns that nobody asks for.
func (f *Footer) ChunkRange(rg, leaf int) (off, n int64, err error) {
	c := f.Chunk(rg, leaf)
	node := f.tree.Leaves[leaf]
	corrupt := func(format string, args ...any) (int64, int64, error) {
		return 0, 0, &CorruptError{RowGroup: rg, Column: node.String(), Page: -1, Offset: -1, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.Encrypted:
		return 0, 0, &UnsupportedError{Ability: "encryption (encrypted column)", RowGroup: rg, Column: node.String()}
	case c.OtherFile:
		return 0, 0, &UnsupportedError{Ability: "column chunk in another file", RowGroup: rg, Column: node.String()}
	case c.Type != node.Physical:
		return corrupt("chunk of type %v in a column of type %v", c.Type, node.Physical)
	}
	rows := f.Rows(rg)
	if node.Rep == 0 && c.NumValues != rows || c.NumValues < rows {
		return corrupt("%d values for %d rows", c.NumValues, rows)
	}
	if rows == 0 && c.NumValues == 0 { // some writers leave nonsense offsets in empty row groups
		return 0, 0, nil
	}
	off = c.Start()
	end := off + c.CompressedSize
	if off < 4 && c.CompressedSize > 0 || end < off || end > f.metaStart {
		return corrupt("chunk at %d of %d bytes does not lie before the footer at %d", off, c.CompressedSize, f.metaStart)
	}
	return off, min(end+f.faults.chunkSlack, f.metaStart) - off, nil
}

// IndexRange is where a chunk's offset index and column index lie; a length of 0 means absent or outside the file.
func (f *Footer) IndexRange(rg, leaf int) (offsets, columns Range) {
	c := f.Chunk(rg, leaf)
	return f.inside(c.OffsetIndexOffset, int64(c.OffsetIndexLength)), f.inside(c.ColumnIndexOffset, int64(c.ColumnIndexLength))
}

// BloomRange is where a chunk's Bloom filter lies, header included; Len is 0 if there is none or its place is impossible.
// It is 0 too if the writer is known for wrong ones. Older writers give no length: Len is then what is surely enough for the header, and Exact is false.
func (f *Footer) BloomRange(rg, leaf int) (r Range, exact bool) {
	c := f.Chunk(rg, leaf)
	if c.BloomOffset <= 0 || f.faults.bloom {
		return Range{}, false
	}
	if c.BloomLength > 0 {
		return f.inside(c.BloomOffset, int64(c.BloomLength)), true
	}
	return f.inside(c.BloomOffset, min(64, f.metaStart-c.BloomOffset)), false
}

// inside drops what does not lie in the file's body. The page index may lie anywhere before the footer.
func (f *Footer) inside(off, n int64) Range {
	if off < 4 || n <= 0 || off > f.metaStart || n > f.metaStart-off {
		return Range{}
	}
	return Range{Off: off, Len: n}
}
