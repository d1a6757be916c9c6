package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Lit is a typed literal; V nil = NULL.
type Lit struct {
	T *Type
	V any
}

// Pred is a predicate: And, Or, Not over Args, or a test of one column.
type Pred struct {
	Op   string // and or not; = <> < <= > >= in "not in" between "is null" "is not null" prefix "not prefix" "is nan"
	Args []*Pred
	Col  Column
	Lits []Lit
}

func (p *Pred) leaves(f func(*Pred)) {
	if p.Args == nil {
		f(p)
	}
	for _, a := range p.Args {
		a.leaves(f)
	}
}

// text renders a predicate: column and literal are the reader's own spelling.
func (p *Pred) text(column func(Column) string, literal func(Lit) string, special func(*Pred) (string, bool)) string {
	if special != nil {
		if s, ok := special(p); ok {
			return s
		}
	}
	switch p.Op {
	case "and", "or":
		var parts []string
		for _, a := range p.Args {
			parts = append(parts, "("+a.text(column, literal, special)+")")
		}
		return strings.Join(parts, " "+p.Op+" ")
	case "not":
		return "not (" + p.Args[0].text(column, literal, special) + ")"
	}
	c := column(p.Col)
	var lits []string
	for _, l := range p.Lits {
		lits = append(lits, literal(l))
	}
	switch p.Op {
	case "is null", "is not null":
		return c + " " + p.Op
	case "is nan":
		return "isnan(" + c + ")"
	case "in", "not in":
		return c + " " + p.Op + " (" + strings.Join(lits, ", ") + ")"
	case "between":
		return c + " between " + lits[0] + " and " + lits[1]
	case "prefix", "not prefix":
		op := " like "
		if p.Op == "not prefix" {
			op = " not like "
		}
		return c + op + quoted(p.Lits[0].V.(string)+"%", '\'')
	}
	return c + " " + p.Op + " " + lits[0]
}

func quoted(s string, q byte) string {
	return string(q) + strings.ReplaceAll(s, string(q), string([]byte{q, q})) + string(q)
}

// lakescanText is the predicate in expr's text form.
func (p *Pred) lakescanText() string {
	return p.text(func(c Column) string {
		var parts []string
		for _, n := range c.names() {
			parts = append(parts, quoted(n, '"'))
		}
		return strings.Join(parts, ".")
	}, func(l Lit) string {
		if l.V == nil {
			return "NULL"
		}
		switch l.T.Kind {
		case Float, Double:
			f := l.V.(float64)
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return "DOUBLE '" + strconv.FormatFloat(f, 'g', -1, 64) + "'"
			}
			return strconv.FormatFloat(f, 'e', -1, 64)
		case UUID:
			u := uuid.UUID([]byte(l.V.(string)))
			return "UUID '" + u.String() + "'"
		case Fixed, Binary:
			return "X'" + hex.EncodeToString([]byte(l.V.(string))) + "'"
		}
		return plainLiteral(l)
	}, nil)
}

// duckdbText is the predicate in DuckDB's SQL.
func (p *Pred) duckdbText() string {
	return p.text(func(c Column) string {
		out := quoted(c.Path[0].Name, '"')
		for _, f := range c.Path[1:] {
			out = "struct_extract(" + out + ", " + quoted(f.Name, '\'') + ")"
		}
		return out
	}, func(l Lit) string {
		if l.V == nil {
			return "NULL"
		}
		switch l.T.Kind {
		case Float, Double:
			return "CAST('" + strconv.FormatFloat(l.V.(float64), 'g', -1, map[bool]int{true: 32, false: 64}[l.T.Kind == Float]) + "' AS " + map[bool]string{true: "FLOAT", false: "DOUBLE"}[l.T.Kind == Float] + ")"
		case UUID:
			u := uuid.UUID([]byte(l.V.(string)))
			return "CAST('" + u.String() + "' AS UUID)"
		case Fixed, Binary:
			var b strings.Builder
			for _, c := range []byte(l.V.(string)) {
				fmt.Fprintf(&b, "\\x%02X", c)
			}
			return "CAST('" + b.String() + "' AS BLOB)"
		case TimestampNs:
			return "CAST('" + moment(l.V.(int64), 1, "") + "' AS TIMESTAMP_NS)"
		}
		return plainLiteral(l)
	}, nil)
}

// plainLiteral spells what all dialects of SQL share.
func plainLiteral(l Lit) string {
	switch l.T.Kind {
	case Bool:
		return strconv.FormatBool(l.V.(bool))
	case Int, Long:
		return strconv.FormatInt(l.V.(int64), 10)
	case Decimal:
		return decimalText(l.V.(*big.Int), l.T.S)
	case Date:
		return "DATE '" + time.Unix(l.V.(int64)*86400, 0).UTC().Format("2006-01-02") + "'"
	case Time:
		return "TIME '" + time.UnixMicro(l.V.(int64)).UTC().Format("15:04:05.000000") + "'"
	case Timestamp:
		return "TIMESTAMP '" + moment(l.V.(int64), 1000, "") + "'"
	case Timestamptz:
		return "TIMESTAMPTZ '" + moment(l.V.(int64), 1000, "Z") + "'"
	case TimestampNs:
		return "TIMESTAMP '" + moment(l.V.(int64), 1, "") + "'"
	case TimestamptzNs:
		return "TIMESTAMPTZ '" + moment(l.V.(int64), 1, "Z") + "'"
	case String:
		return quoted(l.V.(string), '\'')
	}
	panic(l.T.String())
}

func moment(v, unit int64, zone string) string {
	t := time.UnixMicro(v).UTC()
	if unit == 1 {
		return time.Unix(0, v).UTC().Format("2006-01-02T15:04:05.000000000") + zone
	}
	return t.Format("2006-01-02T15:04:05.000000") + zone
}

// tree is the predicate for PyIceberg, as JSON; ok is false where PyIceberg has no such literal.
func (p *Pred) tree() (any, bool) {
	switch p.Op {
	case "and", "or", "not":
		out := []any{p.Op}
		for _, a := range p.Args {
			t, ok := a.tree()
			if !ok {
				return nil, false
			}
			out = append(out, t)
		}
		return out, true
	}
	lits := []any{}
	for _, l := range p.Lits {
		t := p.Col.field().Type
		if l.V == nil || l.T.Kind != t.Kind || l.T.S != t.S || l.T.P != t.P {
			return nil, false
		}
		lits = append(lits, jsonValue(l.V, l.T))
	}
	return []any{p.Op, strings.Join(p.Col.names(), "."), p.Col.field().Type.String(), lits}, true
}

// jsonValue spells a primitive for the Python side: numbers as text, bytes as hex.
func jsonValue(v any, t *Type) any {
	switch t.Kind {
	case Bool:
		return v
	case Float, Double:
		return strconv.FormatFloat(v.(float64), 'g', -1, 64)
	case Decimal:
		return decimalText(v.(*big.Int), t.S)
	case String:
		return v
	case UUID, Fixed, Binary:
		return hex.EncodeToString([]byte(v.(string)))
	}
	return strconv.FormatInt(v.(int64), 10)
}

// randomPred makes a predicate over the rows of a table.
func randomPred(r *rand.Rand, t *Type, rows []Row, depth int) *Pred {
	if depth > 0 {
		switch r.IntN(6) {
		case 0, 1:
			op := []string{"and", "or"}[r.IntN(2)]
			p := &Pred{Op: op}
			for range 2 + r.IntN(2) {
				p.Args = append(p.Args, randomPred(r, t, rows, depth-1))
			}
			return p
		case 2:
			return &Pred{Op: "not", Args: []*Pred{randomPred(r, t, rows, depth-1)}}
		}
	}
	cols := columns(t, nil)
	col := cols[r.IntN(len(cols))]
	for tries := 0; tries < 4 && !col.field().Type.primitive(); tries++ {
		col = cols[r.IntN(len(cols))]
	}
	typ := col.field().Type
	if !typ.primitive() {
		return &Pred{Op: []string{"is null", "is not null"}[r.IntN(2)], Col: col}
	}
	ops := []string{"=", "=", "<>", "<", "<=", ">", ">=", "in", "in", "not in", "between", "is null", "is not null"}
	if typ.Kind == String {
		ops = append(ops, "prefix", "prefix", "not prefix")
	}
	if typ.floating() {
		ops = append(ops, "is nan")
	}
	p := &Pred{Op: ops[r.IntN(len(ops))], Col: col}
	n := map[string]int{"in": 1 + r.IntN(5), "not in": 1 + r.IntN(5), "between": 2, "is null": 0, "is not null": 0, "is nan": 0}
	count, ok := n[p.Op]
	if !ok {
		count = 1
	}
	for range count {
		p.Lits = append(p.Lits, randomLit(r, col, rows))
	}
	switch p.Op {
	case "prefix", "not prefix":
		p.Lits[0] = Lit{typ, cutText(r, p.Lits[0])}
	case "between":
		if r.IntN(8) != 0 && p.Lits[0].V != nil && p.Lits[1].V != nil && compare(p.Lits[0].V, p.Lits[0].T, p.Lits[1].V, p.Lits[1].T) > 0 {
			p.Lits[0], p.Lits[1] = p.Lits[1], p.Lits[0]
		}
	case "in", "not in":
		if r.IntN(12) == 0 {
			p.Lits = append(p.Lits, Lit{typ, nil})
		}
	}
	return p
}

// cutText is a prefix of a literal, without what LIKE reads as a wildcard.
func cutText(r *rand.Rand, l Lit) string {
	s, _ := l.V.(string)
	runes := []rune(s)
	if len(runes) > 0 {
		runes = runes[:r.IntN(len(runes)+1)]
	}
	return strings.NewReplacer("%", "", "_", "", `\`, "").Replace(string(runes))
}

// randomLit is a value of the column, one beside it, a bound, an extreme, or a value of another type that compares with it.
func randomLit(r *rand.Rand, c Column, rows []Row) Lit {
	t := c.field().Type
	var v any
	for tries := 0; tries < 5 && v == nil && len(rows) > 0; tries++ {
		v = dig(rows[r.IntN(len(rows))].Values, c.Path)
	}
	if v == nil || r.IntN(10) == 0 {
		v = randomValue(r, t, profile{special: 0.5})
	}
	if r.IntN(3) == 0 {
		v = beside(r, v, t)
	}
	if r.IntN(8) == 0 {
		return otherType(r, v, t)
	}
	return Lit{t, v}
}

// beside is the next or previous value, if the type has one.
func beside(r *rand.Rand, v any, t *Type) any {
	up := r.IntN(2) == 0
	switch t.Kind {
	case Int, Long, Date, Time, Timestamp, Timestamptz, TimestampNs, TimestamptzNs:
		d := int64(-1)
		if up {
			d = 1
		}
		lo, hi := limits(t)
		return min(max(v.(int64)+d, lo), hi) // at the ends of long the sum wraps, which is a value as good as any
	case Float:
		return float64(math.Nextafter32(float32(v.(float64)), float32(math.Inf(map[bool]int{true: 1, false: -1}[up]))))
	case Double:
		return math.Nextafter(v.(float64), math.Inf(map[bool]int{true: 1, false: -1}[up]))
	case Decimal:
		d := new(big.Int).Add(v.(*big.Int), big.NewInt(map[bool]int64{true: 1, false: -1}[up]))
		if len(new(big.Int).Abs(d).String()) > t.P {
			return v
		}
		return d
	case String:
		s := v.(string)
		if up || s == "" {
			return s + "a"
		}
		rs := []rune(s)
		return string(rs[:len(rs)-1])
	case Binary:
		s := v.(string)
		if up || s == "" {
			return s + "\x00"
		}
		return s[:len(s)-1]
	}
	return v
}

func otherType(r *rand.Rand, v any, t *Type) Lit {
	switch t.Kind {
	case Int:
		if r.IntN(2) == 0 {
			return Lit{&Type{Kind: Long}, []int64{math.MaxInt32 + 1, math.MinInt32 - 1, 1 << 40, v.(int64)}[r.IntN(4)]}
		}
		return Lit{&Type{Kind: Decimal, P: 12, S: 1}, big.NewInt(v.(int64)*10 + int64(r.IntN(11)-5))}
	case Date:
		return Lit{&Type{Kind: Timestamp}, v.(int64)*86400e6 + int64(r.IntN(3)-1)}
	case Decimal:
		if t.P < 15 {
			return Lit{&Type{Kind: Decimal, P: t.P + 2, S: t.S + 1}, new(big.Int).Add(new(big.Int).Mul(v.(*big.Int), big.NewInt(10)), big.NewInt(int64(r.IntN(3)-1)))}
		}
	}
	return Lit{t, v}
}
