package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// locate places lit among the values of f's type: floor is the greatest value of that type not above lit, exact says that it
// equals lit, below that there is none. With that every comparison can be said in the column's own type, without narrowing
// and without widening the column:
//
//	     floor     next             x <  lit  is  x <= floor     x = lit  is  FALSE
//	───────┼────────┼──── values    x >= lit  is  x >  floor     x <> lit is  x IS NOT NULL
//	           ↑ lit, not exact
//
// An exact literal (integer or decimal) is first rounded to a float column's type, as SQL engines do; see the package comment.
func locate(f arrow.Field, lit Literal, zone *time.Location) (below bool, floor Literal, exact bool, err error) {
	t := ValueType(f.Type)
	lit.Type = ValueType(lit.Type)
	if !lit.valid() {
		return false, floor, false, fmt.Errorf("the literal of type %v holds a Go %T", lit.Type, lit.Value)
	}
	to, from := kindOf(t), kindOf(lit.Type)
	floor.Type = t
	switch {
	case to != kindFloat && to != kindFixed && to != kindDecimal && arrow.TypeEqual(t, lit.Type):
		return false, lit, true, nil
	case from == kindString && to != kindString:
		if lit, err = readAs(f, lit.Value.(string)); err != nil {
			return false, floor, false, err
		}
		return locate(f, lit, zone)
	case to == kindBool && from == kindBool, to == kindString && from == kindString, to == kindBytes && from.bytes():
		floor.Value = lit.Value
		return false, floor, true, nil
	case to == kindFixed && from.bytes():
		floor.Value, exact = fitBytes(lit.Value.([]byte), t.(*arrow.FixedSizeBinaryType).ByteWidth)
		return floor.Value == nil, floor, exact, nil
	case to == kindFloat && from.numeric():
		floor.Value, exact = fitFloat(lit, t)
		return false, floor, exact, nil
	case to.numeric() && from == kindFloat && !finite(lit.Value.(float64)):
		return locateInfinite(t, lit.Value.(float64))
	case to.numeric() && from.numeric():
		below, floor.Value, exact = fitGrid(t, number(lit))
		return below, floor, exact, nil
	case to == kindTime && from == kindTime:
		below, floor.Value, exact = fitGrid(t, number(lit))
		return below, floor, exact, nil
	case (to == kindDate || to == kindTimestamp) && (from == kindDate || from == kindTimestamp):
		below, floor.Value, exact = fitGrid(t, shift(number(lit), hasZone(lit.Type), hasZone(t), zone))
		return below, floor, exact, nil
	}
	return false, floor, false, mismatch(f, lit)
}

func finite(f float64) bool { return f-f == 0 }

func mismatch(f arrow.Field, lit Literal) error {
	hint := ""
	switch {
	case kindOf(ValueType(f.Type)) == kindString && kindOf(lit.Type).numeric():
		hint = ": quote the value"
	case kindOf(ValueType(f.Type)) == kindOther:
		return fmt.Errorf("a %s has no values to compare with: only IS NULL works on it", f.Type)
	}
	return fmt.Errorf("a %s cannot be compared with %s%s", TypeName(f), lit, hint)
}

// readAs reads a quoted text as a value of the column's type.
func readAs(f arrow.Field, s string) (Literal, error) {
	l, err := Literal{}, error(nil)
	text := strings.TrimSpace(s)
	switch t := ValueType(f.Type); kindOf(t) {
	case kindBool:
		b, perr := strconv.ParseBool(strings.ToLower(text))
		l, err = Lit(b), perr
	case kindInt, kindUint, kindFloat, kindDecimal:
		p := &parser{text: text}
		if p.toks, err = lex(text); err == nil {
			if l, err = p.mustLiteral(); err == nil && (p.peek().kind != tokEOF || !kindOf(l.Type).numeric()) {
				err = ErrSyntax
			}
		}
		if err != nil && kindOf(t) == kindFloat {
			var v float64
			v, err = strconv.ParseFloat(text, 64)
			l = Lit(v)
		}
	case kindDate, kindTimestamp:
		var tz bool
		if ts, ok := t.(*arrow.TimestampType); ok {
			tz = ts.TimeZone != ""
		}
		if l, err = parseTimestampLiteral(text, tz); err != nil {
			return l, fmt.Errorf("%q is not a %s: %w", s, TypeName(f), err)
		}
	case kindTime:
		if l, err = parseTimeLiteral(text); err != nil {
			return l, fmt.Errorf("%q is not a %s: %w", s, TypeName(f), err)
		}
	case kindFixed:
		if !IsUUID(f) {
			return l, fmt.Errorf("write bytes as X'%x'", s)
		}
		if l, err = parseUUID(text); err != nil {
			return l, fmt.Errorf("%q is not a UUID: %w", s, err)
		}
	case kindBytes:
		return l, fmt.Errorf("write bytes as X'%x'", s)
	default:
		return l, mismatch(f, Lit(s))
	}
	if err != nil {
		return l, fmt.Errorf("%q is not a %s", s, TypeName(f))
	}
	return l, nil
}

// fitBytes gives the greatest value of n bytes not above v; nil if there is none.
func fitBytes(v []byte, n int) (floor any, exact bool) {
	switch {
	case len(v) == n:
		return v, true
	case len(v) > n: // v[:n] is a prefix of v, so it is below it, and the next value is above
		return v[:n:n], false
	}
	// Values that begin with v are above it; the greatest one below is the predecessor of v padded with zeros.
	low := append(bytes.Clone(v), make([]byte, n-len(v))...)
	for i := n - 1; i >= 0; i-- {
		low[i]--
		if low[i] != 0xff {
			return low, false
		}
	}
	return nil, false
}

// fitFloat gives the float of type t for lit. NaN is the greatest value.
func fitFloat(lit Literal, t arrow.DataType) (floor any, exact bool) {
	v, isFloat := lit.Value.(float64)
	if isFloat {
		if !finite(v) || t.ID() == arrow.FLOAT64 {
			return noNegativeZero(v), true
		}
		return floorTo(v, t)
	}
	r := number(lit)
	if v, ok := roundTo(r, t); ok {
		return noNegativeZero(v), true
	}
	v, _ = r.Float64() // beyond the range of t, perhaps infinite, but no infinity is meant
	return floorTo(v, t)
}

// roundTo is the nearest finite value of a float type.
func roundTo(r *big.Rat, t arrow.DataType) (float64, bool) {
	switch t.ID() {
	case arrow.FLOAT64:
		v, _ := r.Float64()
		return v, finite(v)
	case arrow.FLOAT32:
		v, _ := r.Float32()
		return float64(v), finite(float64(v))
	}
	return nearestHalf(r)
}

// floorTo is the greatest value of a float type not above v; an infinite v stands for a number beyond every range.
func floorTo(v float64, t arrow.DataType) (floor any, exact bool) {
	largest := largestFloat(t)
	switch {
	case v > largest:
		return largest, false
	case v < -largest:
		return math.Inf(-1), false
	}
	f := floorHalf(v)
	if t.ID() == arrow.FLOAT32 {
		g := float32(v)
		if f = float64(g); f > v {
			f = float64(math.Nextafter32(g, float32(math.Inf(-1))))
		}
	}
	return noNegativeZero(f), f == v
}

func largestFloat(t arrow.DataType) float64 {
	switch t.ID() {
	case arrow.FLOAT16:
		return 65504
	case arrow.FLOAT32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

func noNegativeZero(v float64) float64 { return v + 0 }

// locateInfinite places NaN and the infinities among the numbers of an exact type, which are all below NaN and +Inf.
func locateInfinite(t arrow.DataType, v float64) (below bool, floor Literal, exact bool, err error) {
	if v < 0 {
		return true, Literal{Type: t}, false, nil
	}
	_, most := bounds(t)
	return false, Literal{t, gridValue(t, most)}, false, nil
}

// number is the exact value of a finite numeric, date, time or timestamp literal: times and timestamps in seconds.
func number(l Literal) *big.Rat {
	switch v := l.Value.(type) {
	case float64:
		return new(big.Rat).SetFloat64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	case *big.Int:
		return new(big.Rat).Mul(new(big.Rat).SetInt(v), quantum(l.Type))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt64(l.Value.(int64)), quantum(l.Type))
}

// quantum is the step between the values of a type, in ones or seconds.
func quantum(t arrow.DataType) *big.Rat {
	switch t := t.(type) {
	case arrow.DecimalType:
		s := t.GetScale()
		pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(s, -s))), nil)
		if s < 0 {
			return new(big.Rat).SetInt(pow)
		}
		return new(big.Rat).SetFrac(big.NewInt(1), pow)
	case *arrow.Date32Type:
		return big.NewRat(secondsPerDay, 1)
	case *arrow.Date64Type:
		return big.NewRat(1, 1000)
	case arrow.TemporalWithUnit:
		return big.NewRat(1, perSecond(t.TimeUnit()))
	}
	return big.NewRat(1, 1)
}

// bounds are the least and the greatest value of a type on a grid, in steps.
func bounds(t arrow.DataType) (least, most *big.Int) {
	if d, ok := t.(arrow.DecimalType); ok {
		most = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.GetPrecision())), nil)
		most.Sub(most, big.NewInt(1))
		return new(big.Int).Neg(most), most
	}
	bits := uint(t.(arrow.FixedWidthDataType).BitWidth())
	if kindOf(t) == kindUint {
		most = new(big.Int).Lsh(big.NewInt(1), bits)
		return new(big.Int), most.Sub(most, big.NewInt(1))
	}
	most = new(big.Int).Lsh(big.NewInt(1), bits-1)
	return new(big.Int).Neg(most), new(big.Int).Sub(most, big.NewInt(1))
}

func gridValue(t arrow.DataType, v *big.Int) any {
	switch kindOf(t) {
	case kindDecimal:
		return v
	case kindUint:
		return v.Uint64()
	}
	return v.Int64()
}

// fitGrid gives the greatest value of a type with evenly spaced values that is not above r.
func fitGrid(t arrow.DataType, r *big.Rat) (below bool, floor any, exact bool) {
	steps := new(big.Rat).Quo(r, quantum(t))
	n := new(big.Int).Div(steps.Num(), steps.Denom()) // Euclidean, and the divisor is positive: the floor
	exact = steps.IsInt()
	least, most := bounds(t)
	if n.Cmp(least) < 0 {
		return true, nil, false
	}
	if n.Cmp(most) > 0 {
		n, exact = most, false
	}
	return false, gridValue(t, n), exact
}

func hasZone(t arrow.DataType) bool {
	ts, ok := t.(*arrow.TimestampType)
	return ok && ts.TimeZone != ""
}

// shift turns wall seconds into an instant's or back where one side has a zone and the other has none.
func shift(r *big.Rat, fromZone, toZone bool, zone *time.Location) *big.Rat {
	if fromZone == toZone || zone == nil || zone == time.UTC {
		return r
	}
	sec := new(big.Int).Div(r.Num(), r.Denom()).Int64()
	var off int64
	if fromZone {
		_, o := time.Unix(sec, 0).In(zone).Zone()
		off = int64(o)
	} else {
		y, m, d := civilFromDays(floorDiv(sec, secondsPerDay))
		wall := time.Date(int(y), time.Month(m), d, 0, 0, int(sec-floorDiv(sec, secondsPerDay)*secondsPerDay), 0, zone)
		off = wall.Unix() - sec
	}
	return new(big.Rat).Add(r, new(big.Rat).SetInt64(off))
}
