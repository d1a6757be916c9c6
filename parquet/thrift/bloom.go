package thrift

// BloomHeader precedes the bits of a Bloom filter.
type BloomHeader struct {
	NumBytes int32
	// Known: split blocks, xxHash64, uncompressed. Anything else cannot be used.
	Known bool
}

// ParseBloomHeader reads a header at the start of b and returns the bytes it takes.
func ParseBloomHeader(b []byte) (h BloomHeader, n int, err error) {
	c := &cursor{b: b}
	var last int16
	var algorithm, hash, compression int16
	seen := false
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && isInt(w):
			h.NumBytes, seen = c.u32(), true
		case id == 2 && w == wireStruct:
			algorithm = c.union()
		case id == 3 && w == wireStruct:
			hash = c.union()
		case id == 4 && w == wireStruct:
			compression = c.union()
		default:
			c.skip(w)
		}
	}
	if c.err == nil && !seen {
		c.fail("Bloom filter header without a size")
	}
	h.Known = algorithm == 1 && hash == 1 && compression == 1
	return h, c.pos, c.err
}
