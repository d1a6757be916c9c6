package thrift

// PageHeader of any page type; fields of other types are zero.
type PageHeader struct {
	Type             PageType
	UncompressedSize int32
	CompressedSize   int32
	CRC              uint32
	HasCRC           bool

	NumValues          int32 // data pages: nulls included; dictionary page: entries
	Encoding           Encoding
	DefinitionEncoding Encoding // v1
	RepetitionEncoding Encoding // v1

	NumNulls         int32 // v2
	NumRows          int32 // v2
	DefinitionLength int32 // v2, bytes
	RepetitionLength int32 // v2, bytes
	Plain            bool  // v2: values are stored uncompressed whatever the chunk's codec

	hasBody bool
}

// ParsePageHeader reads a header at the start of b and returns the bytes it takes.
func ParsePageHeader(b []byte, h *PageHeader) (n int, err error) {
	*h = PageHeader{}
	c := cursor{b: b}
	var last int16
	var seen uint8
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			h.Type = PageType(c.code())
		case id == 2 && isInt(w):
			h.UncompressedSize = c.u32()
		case id == 3 && isInt(w):
			h.CompressedSize = c.u32()
		case id == 4 && isInt(w):
			// Writers store the checksum as a signed or an unsigned number.
			h.CRC, h.HasCRC = uint32(c.i64()), true
		case id == 5 && w == wireStruct && h.Type == DataPage:
			c.dataPageV1(h)
		case id == 7 && w == wireStruct && h.Type == DictionaryPage:
			c.dictionaryPage(h)
		case id == 8 && w == wireStruct && h.Type == DataPageV2:
			c.dataPageV2(h)
		default:
			c.skip(w)
			continue
		}
		if id < 8 {
			seen |= 1 << id
		}
	}
	if c.err == nil && seen&0b1110 != 0b1110 {
		c.fail("page header without type or sizes")
	}
	if c.err == nil && !h.hasBody && (h.Type == DataPage || h.Type == DictionaryPage || h.Type == DataPageV2) {
		c.fail("page header lacks the part of its type")
	}
	return c.pos, c.err
}

func (c *cursor) dataPageV1(h *PageHeader) {
	h.hasBody = true
	var last int16
	seen := 0
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			h.NumValues = c.u32()
			seen |= 1
		case id == 2 && isInt(w):
			h.Encoding = Encoding(c.code())
			seen |= 2
		case id == 3 && isInt(w):
			h.DefinitionEncoding = Encoding(c.code())
		case id == 4 && isInt(w):
			h.RepetitionEncoding = Encoding(c.code())
		default:
			c.skip(w)
		}
	}
	if seen != 3 {
		c.fail("data page header lacks a required field")
	}
}

func (c *cursor) dictionaryPage(h *PageHeader) {
	h.hasBody = true
	var last int16
	seen := 0
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			h.NumValues = c.u32()
			seen |= 1
		case id == 2 && isInt(w):
			h.Encoding = Encoding(c.code())
			seen |= 2
		default:
			c.skip(w)
		}
	}
	if seen != 3 {
		c.fail("dictionary page header lacks a required field")
	}
}

func (c *cursor) dataPageV2(h *PageHeader) {
	h.hasBody = true
	h.DefinitionEncoding, h.RepetitionEncoding = RLE, RLE
	var last int16
	seen := 0
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		if isInt(w) && id >= 1 && id <= 6 {
			seen |= 1 << id
			v := &h.NumValues
			switch id {
			case 2:
				v = &h.NumNulls
			case 3:
				v = &h.NumRows
			case 4:
				h.Encoding = Encoding(c.code())
				continue
			case 5:
				v = &h.DefinitionLength
			case 6:
				v = &h.RepetitionLength
			}
			*v = c.u32()
			continue
		}
		if id == 7 && isBool(w) {
			h.Plain = w == wireFalse
			continue
		}
		c.skip(w)
	}
	if seen != 0b1111110 {
		c.fail("data page header lacks a required field")
	}
}
