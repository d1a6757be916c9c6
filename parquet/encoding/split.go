package encoding

// Split reads BYTE_STREAM_SPLIT (Encodings.md, BYTE_STREAM_SPLIT = 9): width streams, stream k holding byte k of every
// value. Any value can be reached at once.
type Split struct {
	b      []byte
	stride int // values in all = length of each stream
	at     int
	width  int
}

// Init starts reading b, which is kept; width > 0.
func (s *Split) Init(b []byte, width int) error {
	if len(b)%width != 0 {
		return errSplit
	}
	*s = Split{b: b, stride: len(b) / width, width: width}
	return nil
}

// Left is how many values are still to come.
func (s *Split) Left() int { return s.stride - s.at }

// Skip passes over n values.
func (s *Split) Skip(n int) error {
	if n > s.Left() {
		return errShort
	}
	s.at += n
	return nil
}

// Next fills dst with len(dst)/width whole values.
func (s *Split) Next(dst []byte) error {
	n := len(dst) / s.width
	if n > s.Left() {
		return errShort
	}
	join(dst, s.b[s.at:], s.stride, n, s.width)
	s.at += n
	return nil
}
