package thrift

// Statistics of a chunk or page. Bounds are nil if absent, counts -1. Bounds are PLAIN values, byte arrays without a
// length. Min and Max are the deprecated pair, ordered by signed comparison; MinValue and MaxValue follow the column order.
type Statistics struct {
	Min, Max           []byte
	MinValue, MaxValue []byte
	NullCount          int64
	DistinctCount      int64
	NaNCount           int64
	MinExact, MaxExact bool
}

// ParseStatistics reads the raw field. The result points into b.
func ParseStatistics(b []byte) (Statistics, error) {
	c := &cursor{b: b}
	s := Statistics{NullCount: -1, DistinctCount: -1, NaNCount: -1}
	var last int16
	for {
		id, w := c.field(&last)
		if w == wireStop {
			break
		}
		switch {
		case id == 1 && w == wireBinary:
			s.Max = nonNil(c.bytes())
		case id == 2 && w == wireBinary:
			s.Min = nonNil(c.bytes())
		case id == 3 && isInt(w):
			s.NullCount = c.u64()
		case id == 4 && isInt(w):
			s.DistinctCount = c.u64()
		case id == 5 && w == wireBinary:
			s.MaxValue = nonNil(c.bytes())
		case id == 6 && w == wireBinary:
			s.MinValue = nonNil(c.bytes())
		case id == 7 && isBool(w):
			s.MaxExact = w == wireTrue
		case id == 8 && isBool(w):
			s.MinExact = w == wireTrue
		case id == 9 && isInt(w):
			s.NaNCount = c.u64()
		default:
			c.skip(w)
		}
	}
	if c.err != nil {
		return Statistics{NullCount: -1, DistinctCount: -1, NaNCount: -1}, c.err
	}
	return s, nil
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
