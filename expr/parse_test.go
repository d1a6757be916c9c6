package expr

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`a = 1`, `a = 1`},
		{`a==1 and b!=2`, `a = 1 AND b <> 2`},
		{`5 < a`, `a > 5`},
		{`a < b`, `a < b`},
		{`a.b."c d" >= -1.50`, `a.b."c d" >= -1.50`},
		{`"AND" = 'it''s'`, `"AND" = 'it''s'`},
		{`a between 1 and 2 or b`, `(a >= 1 AND a <= 2) OR b = TRUE`},
		{`a not between 1 and 2`, `a < 1 OR a > 2`},
		{`not a in (1, null)`, `NOT (a IN (1, NULL))`},
		{`a not in (1,2)`, `a NOT IN (1, 2)`},
		{`a is not null and b is nan and not isnan(c)`, `a IS NOT NULL AND b IS NAN AND c IS NOT NAN`},
		{`a like 'x%' and not starts_with(b, 'y')`, `a LIKE 'x%' AND NOT starts_with(b, 'y')`},
		{`match_any(msg, 'x y') or not MATCH_PHRASE(msg, 'z')`, `match(msg, 'x y') OR NOT match_phrase(msg, 'z')`},
		{`not (isnan(c))`, `NOT (c IS NAN)`},
		{`a = 1 and (b = 2 or c = 3) and not (d = 4)`, `a = 1 AND (b = 2 OR c = 3) AND NOT (d = 4)`},
		{`(a = 1 and b = 2) and c = 3`, `(a = 1 AND b = 2) AND c = 3`},
		{`d = DATE '2020-02-29'`, `d = DATE '2020-02-29'`},
		{`d = date '-0001-01-01'`, `d = DATE '-0001-01-01'`},
		{`date = 'x' and time is null`, `date = 'x' AND time IS NULL`},
		{`t = TIME '1:02:03.5'`, `t = TIME '01:02:03.5'`},
		{`t = TIME '23:59:59.123456789'`, `t = TIME '23:59:59.123456789'`},
		{`t = TIMESTAMP '2020-01-01T00:00'`, `t = TIMESTAMP '2020-01-01 00:00:00'`},
		{`t = TIMESTAMP '1969-12-31 23:59:59.999999'`, `t = TIMESTAMP '1969-12-31 23:59:59.999999'`},
		{`t = TIMESTAMPTZ '2020-01-01 00:00:00.0000005+05:45'`, `t = TIMESTAMPTZ '2019-12-31 18:15:00.000000500+00:00'`},
		{`t = TIMESTAMPTZ '2020-01-01'`, `t = TIMESTAMP '2020-01-01 00:00:00'`},
		{`b = x'00FF'`, `b = X'00ff'`},
		{`x = 1 and u = UUID 'F79C3E09677C4BBDA479512F87F7D8A5'`, `x = 1 AND u = UUID 'f79c3e09-677c-4bbd-a479-512f87f7d8a5'`},
		{`f > 1E5 and f < double 'inf'`, `f > 1e+05 AND f < DOUBLE 'Infinity'`},
		{`f = DOUBLE 'nan' or f = -0e0`, `f = DOUBLE 'NaN' OR f = -0e+00`},
		{`n = 9223372036854775808 or n = -9223372036854775808`, `n = 9223372036854775808 OR n = -9223372036854775808`},
		{`n = .5 or n = 5. or n = -.05`, `n = 0.5 OR n = 5 OR n = -0.05`},
		{`1 = 1.0`, `TRUE`},
		{`1 > 1.5`, `FALSE`},
		{`1.5 > 1`, `TRUE`},
		{`1 < 99999999999999999999`, `TRUE`},
		{`2 > -99999999999999999999`, `TRUE`},
		{`'a' <> 'b' and null = 1 and null is null`, `TRUE AND NULL AND TRUE`},
		{`café = 1`, `café = 1`},
		{`not not a`, `NOT (NOT (a = TRUE))`},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := e.String(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		if again, err := Parse(e.String()); err != nil || !Equal(again, e) {
			t.Errorf("%s does not round-trip: %v, %v", e, again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{``, `column 1, at the end: expected a column or a value`},
		{`a = `, `at the end: expected a column or a value`},
		{`a = 'x`, `the quote is not closed`},
		{`a ! 1`, `column 3, near "! 1": unexpected character`},
		{`(a = 1`, `expected )`},
		{`a = 1 b`, `expected AND, OR or the end`},
		{`a in 1`, `expected ( after IN`},
		{`a in (b)`, `expected a value`},
		{`a in (1 2)`, `expected , or )`},
		{`a between 1 or 2`, `expected AND`},
		{`a not = 1`, `expected IN, BETWEEN or LIKE after NOT`},
		{`a like b`, `expected a 'pattern'`},
		{`a like 'x\'`, `escapes nothing`},
		{`a is 5`, `expected NULL or NAN`},
		{`5`, `a value is not a condition`},
		{`lower(a) = 'x'`, `no function lower in a filter`},
		{`start_with(a, 'x')`, `did you mean starts_with?`},
		{`match(a)`, `expected ,`},
		{`d = DATE '2021-02-29'`, `no such day`},
		{`d = DATE '21-02-2'`, `write a date as YYYY-MM-DD`},
		{`t = TIMESTAMP '2021-02-02 25:00'`, `no such time of day`},
		{`t = TIMESTAMP '2021-02-02 01:00Z'`, `write TIMESTAMPTZ`},
		{`t = TIMESTAMP '1111111-02-02 01:00'`, `outside the range`},
		{`t = TIMESTAMP '9999-02-02 01:00:00.0000001'`, `outside the range`},
		{`b = X'0'`, `pairs of hexadecimal digits`},
		{`u = UUID 'f79c3e09-677c-4bbd-a479'`, `write a UUID as`},
		{`i = INTERVAL '1 day'`, `no type INTERVAL`},
		{`n = 1e999`, `outside the range of a double`},
		{`n = ` + strings.Repeat("9", 77), `at most 76 digits`},
		{strings.Repeat("(", 2000) + "a", `nested deeper`},
		{strings.Repeat("not ", 2000) + "a", `nested deeper`},
		{`1 = 'x'`, `"x" is not a int64`},
		{`"" = 1`, `a name is empty`},
	} {
		e, err := Parse(c.text)
		var se *SyntaxError
		if !errors.As(err, &se) || !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40s: got %v, %v, want a syntax error", c.text, e, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s\n got %v\nwant …%s…", c.text, err, c.want)
		}
	}
}

func TestLiteralTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Literal{
		`1`:                    {arrow.PrimitiveTypes.Int64, int64(1)},
		`1.50`:                 {&arrow.Decimal128Type{Precision: 3, Scale: 2}, big.NewInt(150)},
		`0.05`:                 {&arrow.Decimal128Type{Precision: 2, Scale: 2}, big.NewInt(5)},
		`1e0`:                  {arrow.PrimitiveTypes.Float64, 1.0},
		`DATE '1969-12-31'`:    {arrow.FixedWidthTypes.Date32, int64(-1)},
		`TIME '00:00:00.1'`:    {arrow.FixedWidthTypes.Time64us, int64(100000)},
		`X''`:                  {arrow.BinaryTypes.Binary, []byte{}},
		`DATE '9999-12-31'`:    {arrow.FixedWidthTypes.Date32, int64(2932896)},
		`DATE '0000-03-01'`:    {arrow.FixedWidthTypes.Date32, int64(-719468)},
		`9223372036854775808`:  {&arrow.Decimal128Type{Precision: 19}, new(big.Int).Lsh(big.NewInt(1), 63)},
		`-9223372036854775808`: {arrow.PrimitiveTypes.Int64, int64(math.MinInt64)},
	} {
		e := MustParse("a = " + text)
		if got := e.(Compare).Lit; !got.Equal(want) {
			t.Errorf("%s: %v %v, want %v %v", text, got.Type, got.Value, want.Type, want.Value)
		}
	}
}

func TestLitOfGoValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "NULL"},
		{true, "TRUE"},
		{7, "7"},
		{uint8(7), "7"},
		{float32(0.1), "0.1"},
		{0.1, "1e-01"},
		{"x'y", "'x''y'"},
		{[]byte{1}, "X'01'"},
		{big.NewInt(-5), "-5"},
		{at, "TIMESTAMPTZ '2020-01-02 02:04:05.000006+00:00'"},
		{at.Add(7), "TIMESTAMPTZ '2020-01-02 02:04:05.000006007+00:00'"},
	} {
		if got := Lit(c.v).String(); got != c.want {
			t.Errorf("Lit(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}

// The calendar agrees with package time over ±3000 years.
func TestCalendar(t *testing.T) {
	t.Parallel()
	for days := int64(-1_500_000); days < 1_500_000; days += 13 {
		y, m, d := time.Unix(days*secondsPerDay, 0).UTC().Date()
		gy, gm, gd := civilFromDays(days)
		if gy != int64(y) || gm != int(m) || gd != d {
			t.Fatalf("day %d is %d-%d-%d, want %d-%d-%d", days, gy, gm, gd, y, m, d)
		}
		if back := daysFromCivil(gy, gm, gd); back != days {
			t.Fatalf("%d-%d-%d is day %d, want %d", y, m, d, back, days)
		}
		if back, err := parseDate(formatDate(days)); err != nil || back != days {
			t.Fatalf("%s reads as %d, %v", formatDate(days), back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`a = 1 and not b.c in ('x', 2.5, null) or d is not null`, `x between -1e3 and .5`,
		`match_all("q""", 'w') or not starts_with(a, '')`, `t >= TIMESTAMPTZ '2020-01-01 00:00:00.1234567+02'`, `X'00' = b`,
		`u <> UUID 'f79c3e09-677c-4bbd-a479-512f87f7d8a5' and f = DOUBLE '-inf'`, `a like '%\%_'`, `((a))`, `1 = 2 or null`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("error of another class: %v", err)
			}
			return
		}
		again, err := Parse(e.String())
		if err != nil || !Equal(again, e) {
			t.Fatalf("%q prints as %q, which reads as %v, %v", text, e, again, err)
		}
	})
}
