package eval

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// compareColumns is column op column: fast where both have one fixed-width type, else value by value in a common order.
type compareColumns struct {
	op          expr.Op
	left, right column
}

func (c *compiler) compareColumns(x expr.CompareColumns) (node, error) {
	l, err := c.column(x.Left)
	if err != nil {
		return nil, err
	}
	r, err := c.column(x.Right)
	if err != nil {
		return nil, err
	}
	return compareColumns{op: x.Op, left: l, right: r}, nil
}

func (compareColumns) cost() int { return 8 }

func (c compareColumns) eval(f *frame, open, out []uint64) error {
	copy(out, open)
	l, err := c.left.open(f, out)
	if err != nil {
		return err
	}
	r, err := c.right.open(f, out)
	if err != nil {
		return err
	}
	if done, err := c.fast(l, r, out); done || err != nil {
		return err
	}
	a, err := readerOf(l)
	if err != nil {
		return err
	}
	b, err := readerOf(r)
	if err != nil {
		return err
	}
	order := a.order(b)
	for w, rows := range out {
		for m := rows; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			p, okp, err := a.entry(w*64 + i)
			if err != nil {
				return err
			}
			q, okq, err := b.entry(w*64 + i)
			if err != nil {
				return err
			}
			if okp && okq {
				c1, err := order(p, q)
				if err != nil {
					return err
				}
				okp = c.op.Holds(c1)
			}
			if !okp || !okq {
				rows &^= 1 << i
			}
		}
		out[w] = rows
	}
	return nil
}

// fast compares columns of one type: integers and their like, floats.
func (c compareColumns) fast(l, r view, rows []uint64) (done bool, err error) {
	if l.d.DataType().ID() == arrow.DICTIONARY || r.d.DataType().ID() == arrow.DICTIONARY || !arrow.TypeEqual(c.left.typ, c.right.typ) {
		return false, nil
	}
	switch c.left.typ.ID() {
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.DECIMAL32:
		return true, runPair[int32](l, r, c.op, rows)
	case arrow.INT64, arrow.TIMESTAMP, arrow.TIME64, arrow.DATE64, arrow.DECIMAL64:
		return true, runPair[int64](l, r, c.op, rows)
	}
	return false, nil
}

func runPair[T int32 | int64](l, r view, op expr.Op, rows []uint64) error {
	a, err := fixed[T](l)
	if err != nil {
		return err
	}
	b, err := fixed[T](r)
	if err != nil {
		return err
	}
	for w, open := range rows {
		if open == 0 {
			continue
		}
		p := a[w*64 : min(w*64+64, len(a))]
		q := b[w*64:][:len(p)]
		var lt, eq uint64
		for i := len(p) - 1; i >= 0; i-- {
			lt = lt<<1 | b2u(p[i] < q[i])
			eq = eq<<1 | b2u(p[i] == q[i])
		}
		rows[w] = open & [...]uint64{expr.EQ: eq, expr.NE: ^eq, expr.LT: lt, expr.LE: lt | eq, expr.GT: ^(lt | eq), expr.GE: ^lt}[op]
	}
	return nil
}

// reader reads one value at a time; slow and general.
type reader struct {
	rows    view
	values  view // the entries of a dictionary, else rows
	dict    bool
	text    *texts
	typ     arrow.DataType
	quantum int64 // nanoseconds a step of a date or timestamp
}

func readerOf(v view) (*reader, error) {
	r := &reader{rows: v, values: v, typ: expr.ValueType(v.d.DataType())}
	if entries, ok := v.dict(); ok {
		r.dict, r.values = true, entries
	}
	switch t := r.typ.(type) {
	case *arrow.Date32Type:
		r.quantum = 86400e9
	case *arrow.Date64Type:
		r.quantum = 1e6
	case arrow.TemporalWithUnit:
		r.quantum = int64(t.TimeUnit().Multiplier())
	}
	switch r.typ.ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY, arrow.STRING_VIEW, arrow.BINARY_VIEW:
		t, err := textOf(r.values)
		r.text = &t
		return r, err
	}
	width := (r.typ.(arrow.FixedWidthDataType).BitWidth() + 7) / 8
	if r.typ.ID() == arrow.BOOL {
		return r, nil
	}
	_, err := r.values.buffer(1, width, 0)
	return r, err
}

// entry maps a row to its value's place; ok is false where a dictionary's entry is NULL.
func (r *reader) entry(i int) (place int, ok bool, err error) {
	if !r.dict {
		return i, true, nil
	}
	e, err := indexAt(r.rows, i, r.values.n)
	if err != nil {
		return 0, false, err
	}
	valid := r.values.validity()
	return e, len(valid) == 0 || loadBits(valid, r.values.off+e)&1 != 0, nil
}

// order gives the comparison of value i of r with value j of s. Bind has seen to it that there is one.
func (r *reader) order(s *reader) func(i, j int) (int, error) {
	if r.text != nil && s.text != nil {
		return func(i, j int) (int, error) {
			a, err := r.text.at(i)
			if err != nil {
				return 0, err
			}
			b, err := s.text.at(j)
			return bytes.Compare(a, b), err
		}
	}
	return func(i, j int) (int, error) { return r.number(i).compare(s.number(j)), nil }
}

// number is a value as a float, as an integer, or (big not nil) as an exact integer over 10^scale.
type number struct {
	float   float64
	isFloat bool
	int     int64
	big     *big.Int
	scale   int32
}

func (r *reader) number(i int) number {
	v := r.values
	b := v.bytes(1)
	if r.typ.ID() == arrow.BOOL {
		return number{int: int64(loadBits(b, v.off+i) & 1)}
	}
	width := r.typ.(arrow.FixedWidthDataType).BitWidth() / 8
	b = b[(v.off+i)*width:][:width]
	switch r.typ.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return number{float: floatAt(b), isFloat: true}
	}
	d, isDecimal := r.typ.(arrow.DecimalType)
	if !isDecimal && width <= 8 {
		if n, ok := smallInt(b, arrow.IsUnsignedInteger(r.typ.ID()), max(r.quantum, 1)); ok {
			return number{int: n}
		}
	}
	// Little-endian two's complement of any width.
	be := make([]byte, width)
	for k := range b {
		be[width-1-k] = b[k]
	}
	n := new(big.Int).SetBytes(be)
	if be[0]&0x80 != 0 && !arrow.IsUnsignedInteger(r.typ.ID()) {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	if r.quantum != 0 {
		n.Mul(n, big.NewInt(r.quantum))
	}
	if isDecimal {
		return number{big: n, scale: d.GetScale()}
	}
	return number{big: n}
}

// smallInt is the value times a positive factor, if that fits an int64.
func smallInt(b []byte, unsigned bool, factor int64) (int64, bool) {
	var u uint64
	for k, x := range b {
		u |= uint64(x) << (8 * k)
	}
	shift := 64 - 8*len(b)
	n := int64(u<<shift) >> shift
	if unsigned {
		if n = int64(u); n < 0 {
			return 0, false
		}
	}
	p := n * factor
	return p, p/factor == n
}

func (a number) compare(b number) int {
	switch {
	case a.isFloat && b.isFloat:
		return expr.CompareFloats(a.float, b.float)
	case a.isFloat:
		return -b.compareFloat(a.float)
	case b.isFloat:
		return a.compareFloat(b.float)
	case a.big == nil && b.big == nil:
		return cmp.Compare(a.int, b.int)
	case a.big != nil && b.big != nil && a.scale == b.scale:
		return a.big.Cmp(b.big)
	}
	return a.rat().Cmp(b.rat())
}

// compareFloat is exact: an int64 is not rounded to a float.
func (a number) compareFloat(f float64) int {
	switch {
	case f != f || math.IsInf(f, 1):
		return -1
	case math.IsInf(f, -1):
		return 1
	case a.big != nil:
		return a.rat().Cmp(new(big.Rat).SetFloat64(f))
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(a.int, int64(whole)), cmp.Compare(whole, f))
}

func (a number) rat() *big.Rat {
	if a.big == nil {
		return new(big.Rat).SetInt64(a.int)
	}
	pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(a.scale, -a.scale))), nil)
	if a.scale < 0 {
		return new(big.Rat).SetInt(pow.Mul(pow, a.big))
	}
	return new(big.Rat).SetFrac(a.big, pow)
}

func floatAt(b []byte) float64 {
	switch len(b) {
	case 2:
		return expr.Half(binary.LittleEndian.Uint16(b))
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
