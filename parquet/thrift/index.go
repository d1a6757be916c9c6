package thrift

// PageLocation of a data page.
type PageLocation struct {
	Offset   int64 // in the file, of the page header
	FirstRow int64 // in the row group
	Size     int32 // with the header
}

// OffsetIndex lists the data pages of a chunk. It is as the file says: check it before use.
type OffsetIndex struct {
	Pages          []PageLocation
	UnencodedBytes []int64 // BYTE_ARRAY bytes a page; nil if absent
}

// ParseOffsetIndex reads an offset index.
func ParseOffsetIndex(b []byte) (*OffsetIndex, error) {
	c := &cursor{b: b}
	x := &OffsetIndex{}
	var last int16
	seen := false
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && w == wireList:
			seen = true
			n := c.listOf(wireStruct)
			x.Pages = make([]PageLocation, 0, min(n, (len(b)-c.pos)/7+1))
			for i := 0; i < n && c.err == nil; i++ {
				x.Pages = append(x.Pages, c.pageLocation())
			}
		case id == 2 && w == wireList:
			x.UnencodedBytes = c.i64s()
		default:
			c.skip(w)
		}
	}
	if c.err == nil && !seen {
		c.fail("offset index without pages")
	}
	if c.err != nil {
		return nil, c.err
	}
	return x, nil
}

func (c *cursor) pageLocation() (p PageLocation) {
	var last int16
	seen := 0
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			p.Offset = c.u64()
			seen |= 1
		case id == 2 && isInt(w):
			p.Size = c.u32()
			seen |= 2
		case id == 3 && isInt(w):
			p.FirstRow = c.u64()
			seen |= 4
		default:
			c.skip(w)
		}
	}
	if seen != 7 {
		c.fail("page location lacks a required field")
	}
	return p
}

func (c *cursor) i64s() []int64 {
	n := c.listOf(wireI64)
	out := make([]int64, 0, n)
	for i := 0; i < n && c.err == nil; i++ {
		out = append(out, c.i64())
	}
	return out
}

// BoundaryOrder of a column index.
type BoundaryOrder uint8

// Boundary orders.
const (
	Unordered BoundaryOrder = iota
	Ascending
	Descending
)

// ColumnIndex holds bounds a page. Lists may be of unlike length in a broken file: check before use. Bounds point into
// the bytes given to ParseColumnIndex.
type ColumnIndex struct {
	NullPages            []bool
	MinValues, MaxValues [][]byte
	Boundary             BoundaryOrder
	NullCounts           []int64 // nil if absent
	NaNCounts            []int64 // nil if absent
}

// ParseColumnIndex reads a column index.
func ParseColumnIndex(b []byte) (*ColumnIndex, error) {
	c := &cursor{b: b}
	x := &ColumnIndex{}
	var last int16
	seen := 0
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && w == wireList:
			x.NullPages = c.bools()
		case id == 2 && w == wireList:
			x.MinValues = c.binaries()
		case id == 3 && w == wireList:
			x.MaxValues = c.binaries()
		case id == 4 && isInt(w):
			x.Boundary = BoundaryOrder(c.code())
		case id == 5 && w == wireList:
			x.NullCounts = c.i64s()
		case id == 8 && w == wireList:
			x.NaNCounts = c.i64s()
		default:
			c.skip(w)
			continue
		}
		if id <= 4 {
			seen |= 1 << id
		}
	}
	if c.err == nil && seen != 0b11110 {
		c.fail("column index lacks a required field")
	}
	if c.err != nil {
		return nil, c.err
	}
	return x, nil
}

func (c *cursor) bools() []bool {
	w, n := c.list()
	if n > 0 && !isBool(w) {
		c.fail("list of an unexpected type")
		return nil
	}
	out := make([]bool, 0, n)
	for i := 0; i < n && c.err == nil; i++ {
		out = append(out, c.i8() == wireTrue)
	}
	return out
}

func (c *cursor) binaries() [][]byte {
	n := c.listOf(wireBinary)
	out := make([][]byte, 0, n)
	for i := 0; i < n && c.err == nil; i++ {
		out = append(out, nonNil(c.bytes()))
	}
	return out
}
