package eval

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// The kernels below test blocks of 64 values into one word, without a branch per value. b2u is a SETcc.
func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// boolean is the test for one of the two values.
type boolean bool

func (boolean) cost() int { return 1 }

func (want boolean) run(_ *frame, v view, rows []uint64) error {
	var b []byte
	if bufs := v.d.Buffers(); len(bufs) > 1 && bufs[1] != nil {
		b = bufs[1].Bytes()
	}
	if len(b)*8 < v.off+v.n {
		return typeError("a bool array of %d rows from %d has %d bytes", v.n, v.off, len(b))
	}
	for i := range rows {
		w := loadBits(b, v.off+i*64)
		if !want {
			w = ^w
		}
		rows[i] &= w
	}
	return nil
}

// intRange is lo <= x <= hi. Both are kept in an order that is unsigned: signed values have their sign bit flipped.
type intRange struct {
	width  int // bytes
	bias   uint64
	lo, hi uint64
}

func (intRange) cost() int { return 1 }

// newRange is the range of the values for which x op v, op one of EQ, LT, LE.
func newRange(t arrow.DataType, op expr.Op, v any) intRange {
	width := t.(arrow.FixedWidthDataType).BitWidth() / 8
	r := intRange{width: width, hi: 1<<(8*width) - 1}
	var x uint64
	switch v := v.(type) {
	case uint64:
		x = v
	case int64:
		r.bias = 1 << 63
		r.lo = 1<<63 - 1<<(8*width-1)
		r.hi = 1<<63 + (1<<(8*width-1) - 1)
		x = uint64(v) ^ r.bias
	}
	switch {
	case op == expr.EQ:
		r.lo, r.hi = x, x
	case op == expr.LE:
		r.hi = x
	case x == r.lo: // below the least value
		r.lo, r.hi = 1, 0
	default:
		r.hi = x - 1
	}
	return r
}

func (r intRange) intersect(s intRange) intRange {
	r.lo, r.hi = max(r.lo, s.lo), min(r.hi, s.hi)
	return r
}

func (r intRange) run(_ *frame, v view, rows []uint64) error {
	if r.lo > r.hi {
		clear(rows)
		return nil
	}
	lo, span := r.lo^r.bias, r.hi-r.lo
	switch r.width {
	case 1:
		return runRange(v, rows, uint8(lo), uint8(span))
	case 2:
		return runRange(v, rows, uint16(lo), uint16(span))
	case 4:
		return runRange(v, rows, uint32(lo), uint32(span))
	}
	return runRange(v, rows, lo, span)
}

func runRange[T unsigned](v view, rows []uint64, lo, span T) error {
	vals, err := fixed[T](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		switch part := vals[w*64:]; {
		case open == 0:
		case len(part) >= 64:
			rows[w] = open & inRange((*[64]T)(part), lo, span)
		default:
			var m uint64
			for i, x := range part {
				m |= b2u(x-lo <= span) << i
			}
			rows[w] = open & m
		}
	}
	return nil
}

// inRange is unrolled, so that the shifts are constants and eight tests are in flight.
func inRange[T unsigned](p *[64]T, lo, span T) uint64 {
	var m uint64
	for k := 0; k < 64; k += 8 {
		q := (*[8]T)(p[k : k+8])
		m |= (b2u(q[0]-lo <= span) | b2u(q[1]-lo <= span)<<1 | b2u(q[2]-lo <= span)<<2 | b2u(q[3]-lo <= span)<<3 |
			b2u(q[4]-lo <= span)<<4 | b2u(q[5]-lo <= span)<<5 | b2u(q[6]-lo <= span)<<6 | b2u(q[7]-lo <= span)<<7) << k
	}
	return m
}

type floatOp uint8

const (
	floatEQ floatOp = iota
	floatLT
	floatLE
	floatNaN
)

// floats is x op v for a v that is not NaN. NaN is above every number, so it fails all of EQ, LT and LE, as in hardware.
type floats struct {
	width int
	op    floatOp
	v     float64
}

func floatKernel(t arrow.DataType, op floatOp, v float64) (kernel, error) {
	if v != v {
		return nil, errUnbound
	}
	switch expr.ValueType(t).ID() {
	case arrow.FLOAT16:
		return halves{op, v}, nil
	case arrow.FLOAT32:
		return floats{4, op, v}, nil
	case arrow.FLOAT64:
		return floats{8, op, v}, nil
	}
	return nil, fmt.Errorf("eval: a %s is not a float", t)
}

func (floats) cost() int { return 1 }

func (k floats) run(_ *frame, v view, rows []uint64) error {
	if k.width == 4 {
		return runFloats(v, rows, k.op, float32(k.v))
	}
	return runFloats(v, rows, k.op, k.v)
}

func runFloats[T float32 | float64](v view, rows []uint64, op floatOp, lit T) error {
	vals, err := fixed[T](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		if open != 0 {
			rows[w] = open & floatBlock(vals[w*64:min(w*64+64, len(vals))], op, lit)
		}
	}
	return nil
}

func floatBlock[T float32 | float64](p []T, op floatOp, lit T) uint64 {
	var m uint64
	switch op {
	case floatLT:
		for i := len(p) - 1; i >= 0; i-- {
			m = m<<1 | b2u(p[i] < lit)
		}
	case floatLE:
		for i := len(p) - 1; i >= 0; i-- {
			m = m<<1 | b2u(p[i] <= lit)
		}
	case floatEQ:
		for i := len(p) - 1; i >= 0; i-- {
			m = m<<1 | b2u(p[i] == lit)
		}
	case floatNaN:
		for i := len(p) - 1; i >= 0; i-- {
			m = m<<1 | b2u(p[i] != p[i])
		}
	}
	return m
}

// halves widens float16 values one by one: they are rare.
type halves struct {
	op floatOp
	v  float64
}

func (halves) cost() int { return 2 }

func (k halves) run(_ *frame, v view, rows []uint64) error {
	vals, err := fixed[uint16](v)
	if err != nil {
		return err
	}
	for w := range rows {
		for m := rows[w]; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			one := [1]float64{expr.Half(vals[w*64+i])}
			rows[w] &^= (^floatBlock(one[:], k.op, k.v) & 1) << i
		}
	}
	return nil
}

// wide is a two's complement number of 128 or 256 bits, lowest word first.
type wide interface{ [2]uint64 | [4]uint64 }

// wideWords cuts v into n words.
func wideWords(v *big.Int, n int) []uint64 {
	mod := new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(64*n)), big.NewInt(1)))
	out := make([]uint64, n)
	for i := range out {
		out[i] = new(big.Int).Rsh(mod, uint(64*i)).Uint64()
	}
	return out
}

const signBit = 1 << 63

// less is the borrow of a − b with the sign bits flipped.
func less128(a, b *[2]uint64) uint64 {
	_, c := bits.Sub64(a[0], b[0], 0)
	_, c = bits.Sub64(a[1]^signBit, b[1]^signBit, c)
	return c
}

func less256(a, b *[4]uint64) uint64 {
	_, c := bits.Sub64(a[0], b[0], 0)
	_, c = bits.Sub64(a[1], b[1], c)
	_, c = bits.Sub64(a[2], b[2], c)
	_, c = bits.Sub64(a[3]^signBit, b[3]^signBit, c)
	return c
}

type decimal128 struct {
	op expr.Op
	v  [2]uint64
}

type decimal256 struct {
	op expr.Op
	v  [4]uint64
}

func decimalKernel(t arrow.DataType, op expr.Op, v *big.Int) kernel {
	switch t.ID() {
	case arrow.DECIMAL128:
		return decimal128{op, [2]uint64(wideWords(v, 2))}
	case arrow.DECIMAL256:
		return decimal256{op, [4]uint64(wideWords(v, 4))}
	}
	return newRange(t, op, v.Int64())
}

func (decimal128) cost() int { return 2 }
func (decimal256) cost() int { return 3 }

func (k decimal128) run(_ *frame, v view, rows []uint64) error {
	vals, err := fixed[[2]uint64](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		if open == 0 {
			continue
		}
		p := vals[w*64 : min(w*64+64, len(vals))]
		var m uint64
		switch k.op {
		case expr.EQ:
			for i := range p {
				m |= b2u(p[i] == k.v) << i
			}
		case expr.LT:
			for i := range p {
				m |= less128(&p[i], &k.v) << i
			}
		case expr.LE:
			for i := range p {
				m |= (1 - less128(&k.v, &p[i])) << i
			}
		}
		rows[w] = open & m
	}
	return nil
}

func (k decimal256) run(_ *frame, v view, rows []uint64) error {
	vals, err := fixed[[4]uint64](v)
	if err != nil {
		return err
	}
	for w, open := range rows {
		if open == 0 {
			continue
		}
		var m uint64
		for i, x := range vals[w*64 : min(w*64+64, len(vals))] {
			var b uint64
			switch k.op {
			case expr.EQ:
				b = b2u(x == k.v)
			case expr.LT:
				b = less256(&x, &k.v)
			case expr.LE:
				b = 1 - less256(&k.v, &x)
			}
			m |= b << i
		}
		rows[w] = open & m
	}
	return nil
}
