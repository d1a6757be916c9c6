package main

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
)

// Truth is a value of SQL's three-valued logic.
type Truth int8

const (
	No Truth = iota
	Yes
	Unknown
)

func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// dialect is a set of ways in which a reader's meaning of a predicate differs from SQL's, which is the model's and lakescan's: NULL makes a test unknown, NOT of
// unknown is unknown, floats are in total order with NaN equal to itself and above all.
type dialect uint16

const (
	nanIEEE         dialect = 1 << iota // no comparison with NaN is true but <>
	nullNotIn                           // NULL NOT IN (…) is true, NULL IN (…) is false
	absentTwo                           // a test of a column that the row's file lacks is decided before NOT and AND: NULL <> x is true, NULL < x false
	uuidPartition                       // a UUID of a partition tuple is unequal to every literal
	nanLow                              // NaN is below all, or follows the bounds that do not know it
	signedZero                          // 0.0 is not IN (-0.0), nor the other way round
	farLiteral                          // a literal beyond an int is decided for a file that has the column as int, so that NULL <> x is true
	nestedDefault                       // a field's default counts even where its struct is NULL
	reversed                            // a UUID that only the partition has is tested as reversedUUID reads it
	floatLiteral                        // a literal is rounded to a float for files that have the column as float
	temporalDefault                     // the default of a temporal column that the file lacks is unequal to every literal
)

// each calls f with every subset of d until it returns false.
func (d dialect) each(f func(dialect) bool) {
	for sub := d; ; sub = (sub - 1) & d {
		if !f(sub) || sub == 0 {
			return
		}
	}
}

// eval is the truth of the predicate for a row.
func (p *Pred) eval(row Row, d dialect) Truth {
	switch p.Op {
	case "and", "or":
		out := truth(p.Op == "and")
		for _, a := range p.Args {
			switch v := a.eval(row, d); {
			case v == Unknown:
				if out == truth(p.Op == "and") {
					out = Unknown
				}
			case v != truth(p.Op == "and"):
				return v
			}
		}
		return out
	case "not":
		switch v := p.Args[0].eval(row, d); v {
		case Unknown:
			return v
		default:
			return 1 - v
		}
	}
	return p.evalLeaf(row, d)
}

func (p *Pred) evalLeaf(row Row, d dialect) Truth {
	v, t := dig(row.Values, p.Col.Path), p.Col.field().Type
	if v == nil && d&nestedDefault != 0 && !holds(row.File.Stored, p.Col.field().ID) {
		v = p.Col.field().Default
	}
	switch p.Op {
	case "is null":
		return truth(v == nil)
	case "is not null":
		return truth(v != nil)
	}
	if v != nil && d&reversed != 0 && t.Kind == UUID && onlyPartition(row, p.Col.field().ID) {
		v = reverse(v.(string))
	}
	absent := !holds(row.File.Stored, p.Col.field().ID)
	negative := truth(p.Op == "not in" || p.Op == "<>" || p.Op == "not prefix")
	switch {
	case v != nil && d&uuidPartition != 0 && t.Kind == UUID && row.File.Spec.identity(p.Col.field().ID):
		return negative
	case v != nil && d&temporalDefault != 0 && absent && slices.Contains(temporal, t.Kind) && slices.Contains([]string{"=", "<>", "in", "not in"}, p.Op):
		return negative
	case v != nil && d&floatLiteral != 0 && !absent && stored(row.File.Stored, p.Col.field().ID).Kind == Float:
		return p.rounded().test(v, t, d)
	case v != nil:
		return p.test(v, t, d)
	case d&farLiteral != 0 && p.beyondInt(), absent && d&absentTwo != 0, d&nullNotIn != 0 && (p.Op == "in" || p.Op == "not in"):
		return negative
	}
	return Unknown
}

// rounded is a leaf with the nearest floats for literals.
func (p *Pred) rounded() *Pred {
	out := *p
	out.Lits = slices.Clone(p.Lits)
	for i, l := range out.Lits {
		if x, ok := l.V.(float64); ok {
			out.Lits[i].V = float64(float32(x))
		}
	}
	return &out
}

// beyondInt is true of a test of a long with a literal that no int is.
func (p *Pred) beyondInt() bool {
	return p.Col.field().Type.Kind == Long && slices.ContainsFunc(p.Lits, func(l Lit) bool {
		v, ok := l.V.(int64)
		return ok && (v < math.MinInt32 || v > math.MaxInt32)
	})
}

var temporal = []Kind{Date, Time, Timestamp, Timestamptz, UUID}

// test is the truth of a leaf for a value that is not null.
func (p *Pred) test(v any, t *Type, d dialect) Truth {
	switch p.Op {
	case "is nan":
		return truth(math.IsNaN(v.(float64)))
	case "prefix":
		return truth(strings.HasPrefix(v.(string), p.Lits[0].V.(string)))
	case "not prefix":
		return truth(!strings.HasPrefix(v.(string), p.Lits[0].V.(string)))
	case "in", "not in":
		out := No
		for _, l := range p.Lits {
			if x, ok := v.(float64); ok && d&signedZero != 0 && l.V != nil && math.Signbit(x) != math.Signbit(l.V.(float64)) {
				continue
			}
			switch test(v, t, "=", l, d) {
			case Yes:
				return truth(p.Op == "in")
			case Unknown:
				out = Unknown
			}
		}
		if out == No && p.Op == "not in" {
			return Yes
		}
		return out
	case "between":
		a, b := test(v, t, ">=", p.Lits[0], d), test(v, t, "<=", p.Lits[1], d)
		switch {
		case a == No || b == No:
			return No
		case a == Unknown || b == Unknown:
			return Unknown
		}
		return Yes
	}
	return test(v, t, p.Op, p.Lits[0], d)
}

// test compares a value that is not null with a literal.
func test(v any, t *Type, op string, l Lit, d dialect) Truth {
	if l.V == nil {
		return Unknown
	}
	if t.floating() && d&nanLow != 0 && math.IsNaN(v.(float64)) {
		return truth(op == "<" || op == "<=" || op == "<>")
	}
	if t.floating() && d&nanIEEE != 0 {
		if b, ok := l.V.(float64); ok && (math.IsNaN(v.(float64)) || math.IsNaN(b)) {
			return truth(op == "<>")
		}
	}
	c := compare(v, t, l.V, l.T)
	switch op {
	case "=":
		return truth(c == 0)
	case "<>":
		return truth(c != 0)
	case "<":
		return truth(c < 0)
	case "<=":
		return truth(c <= 0)
	case ">":
		return truth(c > 0)
	}
	return truth(c >= 0)
}

// compare orders two values, of the same family of types.
func compare(a any, at *Type, b any, bt *Type) int {
	switch at.Kind {
	case Bool:
		return cmp.Compare(map[bool]int{true: 1}[a.(bool)], map[bool]int{true: 1}[b.(bool)])
	case Float, Double:
		x, y := a.(float64), b.(float64)
		switch nx, ny := math.IsNaN(x), math.IsNaN(y); {
		case nx && ny:
			return 0
		case nx:
			return 1
		case ny:
			return -1
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case String, UUID, Fixed, Binary:
		return cmp.Compare(a.(string), b.(string))
	}
	if at.Kind == bt.Kind && at.Kind != Decimal {
		return cmp.Compare(a.(int64), b.(int64))
	}
	return rational(a, at).Cmp(rational(b, bt))
}

// rational is a number, or the nanoseconds of a moment.
func rational(v any, t *Type) *big.Rat {
	switch t.Kind {
	case Decimal:
		return new(big.Rat).SetFrac(v.(*big.Int), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.S)), nil))
	}
	unit := map[Kind]int64{Date: 86400e9, Timestamp: 1000, Timestamptz: 1000}[t.Kind]
	if unit == 0 {
		unit = 1
	}
	return new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(v.(int64)), big.NewInt(unit)))
}
