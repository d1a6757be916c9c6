package eval

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// onText tests strings and bytes. The layout of the array and the test meet at blocks of 64 values, so that neither costs a
// call per row through an interface.
type onText struct {
	test textTest
	c    int
}

func newText(t textTest, cost int) kernel { return onText{t, cost} }

func (k onText) cost() int { return k.c }

// block holds the values of the open rows of one word; the others are stale.
type block [64][]byte

// textTest clears the bits of open whose value fails.
type textTest interface {
	block(vals *block, open uint64) uint64
}

func (k onText) run(f *frame, v view, rows []uint64) error {
	get, err := textOf(v)
	if err != nil {
		return err
	}
	vals := &f.vals
	for w, open := range rows {
		if open == 0 {
			continue
		}
		if err := get.fill(w*64, open, vals); err != nil {
			return err
		}
		rows[w] = k.test.block(vals, open)
	}
	return nil
}

// runIndexed tests the rows of a dictionary array one by one, where it has many more entries than there are open rows.
func (k onText) runIndexed(f *frame, v, entries view, rows []uint64, negated bool) error {
	get, err := textOf(entries)
	if err != nil {
		return err
	}
	valid := entries.validity()
	vals := &f.vals
	for w, open := range rows {
		for m := open; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			e, err := indexAt(v, w*64+i, entries.n)
			if err != nil {
				return err
			}
			if len(valid) > 0 && loadBits(valid, entries.off+e)&1 == 0 {
				open &^= 1 << i
				continue
			}
			if vals[i], err = get.at(e); err != nil {
				return err
			}
		}
		passed := k.test.block(vals, open)
		if negated {
			passed = open &^ passed
		}
		rows[w] = passed
	}
	return nil
}

// indexAt is the dictionary entry of row i.
func indexAt(v view, i, n int) (int, error) {
	width := v.d.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	b, err := v.buffer(1, width, 0)
	if err != nil {
		return 0, err
	}
	b = b[(v.off+i)*width:]
	var e uint64
	switch width {
	case 1:
		e = uint64(b[0])
	case 2:
		e = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		e = uint64(binary.LittleEndian.Uint32(b))
	default:
		e = binary.LittleEndian.Uint64(b)
	}
	if e >= uint64(n) {
		return 0, typeError("row %d points at entry %d of a dictionary of %d", i, e, n)
	}
	return int(e), nil
}

// texts reads the values of one array; exactly one of the layouts is set.
type texts struct {
	data    []byte
	small   []int32 // offsets, n+1
	large   []int64
	width   int // fixed size
	headers [][16]byte
	bufs    [][]byte
}

func textOf(v view) (texts, error) {
	var t texts
	var err error
	switch dt := expr.ValueType(v.d.DataType()); dt.ID() {
	case arrow.STRING, arrow.BINARY:
		t.small, err = fixed[int32](view{v.d, v.off, v.n + 1})
		t.data = v.bytes(2)
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		t.large, err = fixed[int64](view{v.d, v.off, v.n + 1})
		t.data = v.bytes(2)
	case arrow.FIXED_SIZE_BINARY:
		t.width = dt.(*arrow.FixedSizeBinaryType).ByteWidth
		if t.data, err = v.buffer(1, t.width, 0); err == nil {
			t.data = t.data[v.off*t.width:]
		}
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		t.headers, err = fixed[[16]byte](v)
		for i := 2; i < len(v.d.Buffers()); i++ {
			t.bufs = append(t.bufs, v.bytes(i))
		}
	default:
		err = typeError("a %s is not text", dt)
	}
	return t, err
}

func (v view) bytes(i int) []byte {
	if bufs := v.d.Buffers(); i < len(bufs) && bufs[i] != nil {
		return bufs[i].Bytes()
	}
	return nil
}

// fill reads the open rows of the 64 from row on.
func (t *texts) fill(row int, open uint64, vals *block) error {
	if t.small == nil {
		for m := open; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			var err error
			if vals[i], err = t.at(row + i); err != nil {
				return err
			}
		}
		return nil
	}
	off := t.small[row:min(row+65, len(t.small))]
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		lo, hi := uint(off[i]), uint(off[i+1])
		if lo > hi || hi > uint(len(t.data)) {
			return badOffset(row+i, len(t.data))
		}
		vals[i] = t.data[lo:hi:hi]
	}
	return nil
}

func (t *texts) at(i int) ([]byte, error) {
	var lo, hi uint
	data := t.data
	switch {
	case t.small != nil:
		lo, hi = uint(t.small[i]), uint(t.small[i+1])
	case t.large != nil:
		lo, hi = uint(t.large[i]), uint(t.large[i+1])
	case t.headers != nil:
		h := &t.headers[i]
		n := uint(binary.LittleEndian.Uint32(h[:]))
		if n <= 12 {
			return h[4 : 4+n : 4+n], nil
		}
		b := int(binary.LittleEndian.Uint32(h[8:]))
		if b >= len(t.bufs) {
			return nil, badOffset(i, 0)
		}
		data = t.bufs[b]
		lo = uint(binary.LittleEndian.Uint32(h[12:]))
		hi = lo + n
	default:
		lo, hi = uint(i*t.width), uint((i+1)*t.width)
	}
	if lo > hi || hi > uint(len(data)) {
		return nil, badOffset(i, len(data))
	}
	return data[lo:hi:hi], nil
}

func badOffset(row, n int) error {
	return typeError("the offsets of row %d lie outside %d bytes of text", row, n)
}

type textEQ string

func (t textEQ) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		open &^= b2u(string(vals[i]) != string(t)) << i
	}
	return open
}

type textLT string

func (t textLT) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		open &^= b2u(string(vals[i]) >= string(t)) << i
	}
	return open
}

type textLE string

func (t textLE) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		open &^= b2u(string(vals[i]) > string(t)) << i
	}
	return open
}

func textCompare(op expr.Op, v string) kernel {
	switch op {
	case expr.EQ:
		return newText(textEQ(v), 3)
	case expr.LT:
		return newText(textLT(v), 5)
	}
	return newText(textLE(v), 5)
}

// prefix is starts_with.
type prefix string

func (p prefix) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		if v := vals[i]; len(v) < len(p) || string(v[:len(p)]) != string(p) {
			open &^= 1 << i
		}
	}
	return open
}

// textSet is IN; lens has a bit for each length of a member (63 = that or longer), which most strangers fail.
type textSet struct {
	lens    uint64
	members map[string]struct{}
}

func textIn(lits []expr.Literal) kernel {
	s := textSet{members: make(map[string]struct{}, len(lits))}
	for _, l := range lits {
		v, ok := l.Value.(string)
		if !ok {
			v = string(l.Value.([]byte))
		}
		s.members[v] = struct{}{}
		s.lens |= 1 << min(len(v), 63)
	}
	return newText(s, 6)
}

func (s textSet) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		v := vals[i]
		if s.lens>>min(len(v), 63)&1 != 0 {
			if _, ok := s.members[string(v)]; ok {
				continue
			}
		}
		open &^= 1 << i
	}
	return open
}

// tester is a test of one value.
type tester func(value []byte) bool

func (t tester) block(vals *block, open uint64) uint64 {
	for m := open; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		if !t(vals[i]) {
			open &^= 1 << i
		}
	}
	return open
}
