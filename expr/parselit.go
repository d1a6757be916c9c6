package expr

import (
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxDigits is the precision of the widest decimal.
const maxDigits = 76

func (p *parser) mustLiteral() (Literal, error) {
	t := p.peek()
	l, ok, err := p.literal()
	if err == nil && !ok {
		err = p.fail(t, "expected a value")
	}
	return l, err
}

// literal reads a literal if one stands here; ok is false, and nothing consumed, if not.
func (p *parser) literal() (l Literal, ok bool, err error) {
	t := p.peek()
	switch {
	case t.kind == tokNumber:
		p.next()
		l, err = p.number(t, false)
		return l, true, err
	case t.op("-") || t.op("+"):
		p.next()
		n := p.next()
		if n.kind != tokNumber {
			return l, true, p.fail(n, "expected a number")
		}
		l, err = p.number(n, t.text == "-")
		return l, true, err
	case t.kind == tokString:
		p.next()
		return Lit(t.text), true, nil
	case t.is("TRUE"), t.is("FALSE"):
		p.next()
		return Lit(t.is("TRUE")), true, nil
	case t.is("NULL"):
		p.next()
		return Lit(nil), true, nil
	case t.kind == tokWord && p.ahead(1).kind == tokString:
		return p.typed(t)
	}
	return l, false, nil
}

func (p *parser) number(t token, negative bool) (Literal, error) {
	text := t.text
	if negative {
		text = "-" + text
	}
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return Literal{}, p.fail(t, "the number is outside the range of a double")
		}
		return Lit(f), nil
	}
	whole, frac, _ := strings.Cut(text, ".")
	if frac == "" {
		if v, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return Lit(v), nil
		}
	}
	if len(whole)+len(frac) > 10*maxDigits { // leading zeros are harmless, a megabyte of them is not
		return Literal{}, p.fail(t, "a number has at most %d digits", maxDigits)
	}
	v, _ := new(big.Int).SetString(whole+frac, 10)
	l := decimalLiteral(v, int32(len(frac)))
	if l.Type.(arrow.DecimalType).GetPrecision() > maxDigits {
		return Literal{}, p.fail(t, "a number has at most %d digits", maxDigits)
	}
	return l, nil
}

// typed reads TYPE 'text'. Which words are types is known here alone: elsewhere they are names of columns.
func (p *parser) typed(word token) (Literal, bool, error) {
	body := p.ahead(1)
	var l Literal
	var err error
	switch name := strings.ToUpper(word.text); name {
	case "DATE":
		var days int64
		if days, err = parseDate(body.text); err == nil {
			l, err = dateLiteral(days)
		}
	case "TIME":
		l, err = parseTimeLiteral(body.text)
	case "TIMESTAMP", "TIMESTAMPTZ":
		l, err = parseTimestampLiteral(body.text, name == "TIMESTAMPTZ")
	case "X":
		if !body.glue {
			return l, false, nil
		}
		var b []byte
		if b, err = hex.DecodeString(body.text); err != nil {
			err = errors.New("write bytes as pairs of hexadecimal digits")
		}
		l = Literal{arrow.BinaryTypes.Binary, b}
	case "UUID":
		l, err = parseUUID(body.text)
	case "DOUBLE":
		var f float64
		if f, err = strconv.ParseFloat(strings.TrimSpace(body.text), 64); err != nil {
			err = errors.New("not a double")
		}
		l = Lit(f)
	default:
		return l, true, p.fail(word, "no type %s: DATE, TIME, TIMESTAMP, TIMESTAMPTZ, X, UUID or DOUBLE", word.text)
	}
	if err != nil {
		return l, true, p.fail(body, "%v", err)
	}
	p.next()
	p.next()
	return l, true, nil
}

func dateLiteral(days int64) (Literal, error) {
	if days < math.MinInt32 || days > math.MaxInt32 {
		return Literal{}, errors.New("outside the range of a date")
	}
	return Literal{arrow.FixedWidthTypes.Date32, days}, nil
}

// parseTimeLiteral gives microseconds, or nanoseconds if more than six digits are written.
func parseTimeLiteral(s string) (Literal, error) {
	t, err := parseClock(s)
	if err != nil {
		return Literal{}, err
	}
	if t.frac > 6 {
		return Literal{arrow.FixedWidthTypes.Time64ns, t.sec*1e9 + t.nano}, nil
	}
	return Literal{arrow.FixedWidthTypes.Time64us, t.sec*1e6 + t.nano/1e3}, nil
}

// parseTimestampLiteral gives microseconds, or nanoseconds if more than six digits are written. TIMESTAMPTZ without a zone
// is a timestamp of the zone that Bind is told, which is what a TIMESTAMP compared with a zoned column is.
func parseTimestampLiteral(s string, tz bool) (Literal, error) {
	m, err := parseMoment(s)
	if err != nil {
		return Literal{}, err
	}
	if m.zoned && !tz {
		return Literal{}, errors.New("TIMESTAMP has no zone: write TIMESTAMPTZ")
	}
	t := &arrow.TimestampType{Unit: arrow.Microsecond}
	if m.frac > 6 {
		t.Unit = arrow.Nanosecond
	}
	if m.zoned {
		t.TimeZone = "UTC"
	}
	v, err := m.in(t.Unit)
	return Literal{t, v}, err
}

func parseUUID(s string) (Literal, error) {
	bad := errors.New("write a UUID as 8-4-4-4-12 hexadecimal digits")
	s = strings.TrimSpace(s)
	if len(s) == 36 {
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return Literal{}, bad
		}
		s = strings.ReplaceAll(s, "-", "")
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 16 {
		return Literal{}, bad
	}
	return Literal{&arrow.FixedSizeBinaryType{ByteWidth: 16}, b}, nil
}
