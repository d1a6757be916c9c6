package expr

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

func (b Bool) String() string { return strings.ToUpper(strconv.FormatBool(bool(b))) }

func (Unknown) String() string { return "NULL" }

func (a And) String() string { return joinArgs(a, " AND ", "TRUE") }

func (o Or) String() string { return joinArgs(o, " OR ", "FALSE") }

// joinArgs puts an And or Or inside another into parentheses: those of one kind would be read as one list otherwise.
func joinArgs(args []Expr, sep, empty string) string {
	if len(args) == 0 {
		return empty
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.String()
		switch a.(type) {
		case And, Or:
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, sep)
}

// String always writes parentheses, since NOT in front of a call is read as the call's own negation.
func (n Not) String() string { return "NOT (" + n.X.String() + ")" }

func (c Compare) String() string { return c.Col.String() + " " + c.Op.String() + " " + c.Lit.String() }

func (c CompareColumns) String() string {
	return c.Left.String() + " " + c.Op.String() + " " + c.Right.String()
}

func (i In) String() string {
	var b strings.Builder
	b.WriteString(i.Col.String() + not(i.Negated) + " IN (")
	for n, l := range i.Lits {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(l.String())
	}
	b.WriteString(")")
	return b.String()
}

func (i IsNull) String() string { return i.Col.String() + " IS" + not(i.Negated) + " NULL" }

func (i IsNaN) String() string { return i.Col.String() + " IS" + not(i.Negated) + " NAN" }

func (s StartsWith) String() string {
	return strings.TrimLeft(not(s.Negated)+" starts_with("+s.Col.String()+", "+quote(s.Prefix)+")", " ")
}

func (l Like) String() string { return l.Col.String() + not(l.Negated) + " LIKE " + quote(l.Pattern) }

func (m Match) String() string {
	return strings.TrimLeft(not(m.Negated)+" "+m.Kind+"("+m.Col.String()+", "+quote(m.Text)+")", " ")
}

func not(negated bool) string {
	if negated {
		return " NOT"
	}
	return ""
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// String is the path as Parse reads it: dots between struct levels, quotes where a name is not a plain word.
func (c Column) String() string {
	parts := make([]string, len(c.Path))
	for i, p := range c.Path {
		parts[i] = quoteName(p)
	}
	return strings.Join(parts, ".")
}

var reserved = []string{"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"}

func quoteName(s string) string {
	plain := s != "" && !slices.Contains(reserved, strings.ToUpper(s))
	for i := 0; i < len(s) && plain; i++ {
		plain = wordByte(s[i], i == 0)
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// wordByte says what an unquoted word is made of: ASCII letters, digits and _, and every byte above ASCII.
func wordByte(b byte, first bool) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || b == '_' || b >= 0x80 || !first && ('0' <= b && b <= '9' || b == '$')
}

// String is the literal as Parse reads it.
func (l Literal) String() string {
	if l.Value == nil {
		return "NULL"
	}
	if !l.valid() {
		return fmt.Sprintf("<%v: Go %T>", l.Type, l.Value)
	}
	switch v := l.Value.(type) {
	case bool:
		return Bool(v).String()
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return formatFloat(v, l.Type)
	case *big.Int:
		return formatDecimal(v, l.Type.(arrow.DecimalType).GetScale())
	case string:
		return quote(v)
	case []byte:
		if t, ok := l.Type.(*arrow.FixedSizeBinaryType); ok && t.ByteWidth == 16 && len(v) == 16 {
			return fmt.Sprintf("UUID '%x-%x-%x-%x-%x'", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
		}
		return fmt.Sprintf("X'%x'", v)
	}
	return formatInt(l.Value.(int64), l.Type)
}

func formatInt(v int64, t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return "DATE '" + formatDate(v) + "'"
	case *arrow.Date64Type:
		if v%(secondsPerDay*1000) != 0 {
			return "TIMESTAMP '" + formatTimestamp(v, arrow.Millisecond) + "'"
		}
		return "DATE '" + formatDate(v/(secondsPerDay*1000)) + "'"
	case arrow.TemporalWithUnit:
		if t.ID() != arrow.TIMESTAMP {
			return "TIME '" + formatClock(v, perSecond(t.TimeUnit())) + "'"
		}
		if t.(*arrow.TimestampType).TimeZone != "" {
			return "TIMESTAMPTZ '" + formatTimestamp(v, t.TimeUnit()) + "+00:00'"
		}
		return "TIMESTAMP '" + formatTimestamp(v, t.TimeUnit()) + "'"
	}
	return strconv.FormatInt(v, 10)
}

// formatFloat writes a float64 with an exponent, which marks it as one. A narrower float is written as the shortest exact
// literal that rounds to it, which reads as the same value of a column of its type.
func formatFloat(v float64, t arrow.DataType) string {
	switch {
	case v != v:
		return "DOUBLE 'NaN'"
	case math.IsInf(v, 0):
		return "DOUBLE '" + strings.Trim(strconv.FormatFloat(v, 'g', -1, 64), "+") + "inity'"
	case t.ID() == arrow.FLOAT32 && math.Abs(v) < 1e15 && (v == 0 || math.Abs(v) > 1e-15):
		return strconv.FormatFloat(v, 'f', -1, 32)
	}
	return strconv.FormatFloat(v, 'e', -1, 64)
}

func formatDecimal(v *big.Int, scale int32) string {
	digits := new(big.Int).Abs(v).String()
	if scale < 0 {
		digits += strings.Repeat("0", int(-scale))
		scale = 0
	}
	if n := int(scale) + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	if scale > 0 {
		at := len(digits) - int(scale)
		digits = digits[:at] + "." + digits[at:]
	}
	if v.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}
