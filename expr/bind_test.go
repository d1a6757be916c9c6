package expr

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

func field(name string, id int, t arrow.DataType) arrow.Field {
	return WithFieldID(arrow.Field{Name: name, Type: t, Nullable: true}, id)
}

func testSchema() *arrow.Schema {
	inner := arrow.StructOf(field("x", 31, arrow.PrimitiveTypes.Int64), field("Y", 32, arrow.BinaryTypes.String))
	return arrow.NewSchema([]arrow.Field{
		field("b", 1, arrow.FixedWidthTypes.Boolean),
		field("i8", 2, arrow.PrimitiveTypes.Int8),
		field("i", 3, arrow.PrimitiveTypes.Int32),
		field("l", 4, arrow.PrimitiveTypes.Int64),
		field("u8", 5, arrow.PrimitiveTypes.Uint8),
		field("h", 6, arrow.FixedWidthTypes.Float16),
		field("f", 7, arrow.PrimitiveTypes.Float32),
		field("d", 8, arrow.PrimitiveTypes.Float64),
		field("dec", 9, &arrow.Decimal128Type{Precision: 4, Scale: 2}),
		field("s", 10, arrow.BinaryTypes.String),
		field("bin", 11, arrow.BinaryTypes.Binary),
		field("fix", 12, &arrow.FixedSizeBinaryType{ByteWidth: 2}),
		AsUUID(field("id", 13, arrow.Null)),
		field("dt", 14, arrow.FixedWidthTypes.Date32),
		field("tm", 15, arrow.FixedWidthTypes.Time64us),
		field("ts", 16, &arrow.TimestampType{Unit: arrow.Microsecond}),
		field("tz", 17, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}),
		field("ns", 18, &arrow.TimestampType{Unit: arrow.Nanosecond}),
		field("tsec", 19, &arrow.TimestampType{Unit: arrow.Second}),
		field("dict", 20, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}),
		field("list", 21, arrow.ListOf(arrow.PrimitiveTypes.Int32)),
		field("st", 30, inner),
		field("none", 22, arrow.Null),
		field("Case", 40, arrow.PrimitiveTypes.Int32),
		field("CASE", 41, arrow.PrimitiveTypes.Int32),
		field("a.b", 42, arrow.PrimitiveTypes.Int32),
		{Name: "noid", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
}

func TestBind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		// Names: exact first, then fold.
		{`I8 = 1`, `i8 = 1`},
		{`ST.y = 'q'`, `st.Y = 'q'`},
		{`"Case" = 1 and "CASE" = 2`, `Case = 1 AND CASE = 2`},
		{`"a.b" = 1`, `"a.b" = 1`},
		// NOT goes to the leaves.
		{`not (i = 1 and (l < 2 or s is null))`, `i <> 1 OR (l >= 2 AND s IS NOT NULL)`},
		{`not i in (1, 2)`, `i NOT IN (1, 2)`},
		{`not not b`, `b = TRUE`},
		{`not s like 'a%b'`, `s NOT LIKE 'a%b'`},
		{`not match(s, 'x')`, `NOT match(s, 'x')`},
		{`not (i < l)`, `i >= l`},
		// NULL is unknown, and an unknown part decides an AND.
		{`i = null`, `NULL`},
		{`not (i = null)`, `NULL`},
		{`i = null or l = 1`, `l = 1`},
		{`i = null and l = 1`, `NULL`},
		{`i in (1, null)`, `i = 1`},
		{`i not in (1, null)`, `NULL`},
		{`i in (null)`, `NULL`},
		// Constants.
		{`true and i = 1`, `i = 1`},
		{`false or not true`, `FALSE`},
		{`i = 1 and (l = 2 and s = '3')`, `i = 1 AND l = 2 AND s = '3'`},
		// Range of the type.
		{`i8 = 128`, `FALSE`},
		{`i8 <> 128`, `i8 IS NOT NULL`},
		{`i8 < 128`, `i8 IS NOT NULL`},
		{`i8 > 127`, `FALSE`},
		{`i8 >= 127`, `i8 = 127`},
		{`i8 > -129`, `i8 IS NOT NULL`},
		{`i8 < -128`, `FALSE`},
		{`i8 <= -128`, `i8 = -128`},
		{`u8 >= 0`, `u8 IS NOT NULL`},
		{`u8 = -1`, `FALSE`},
		{`l < 99999999999999999999`, `l IS NOT NULL`},
		{`i8 in (1, 300, 2, 1, -200)`, `i8 IN (1, 2)`},
		{`i8 not in (300)`, `i8 IS NOT NULL`},
		{`i8 in (300)`, `FALSE`},
		{`dec < 100`, `dec IS NOT NULL`},
		{`dec = 99.99`, `dec = 99.99`},
		{`dec <= 99.994`, `dec IS NOT NULL`},
		// Between two values of the type.
		{`i = 1.5`, `FALSE`},
		{`i <> 1.5`, `i IS NOT NULL`},
		{`i < 1.5`, `i <= 1`},
		{`i >= 1.5`, `i > 1`},
		{`i > -1.5`, `i > -2`},
		{`i = 2.0`, `i = 2`},
		{`i <= 1e0`, `i <= 1`},
		{`dec > 1.001`, `dec > 1.00`},
		{`dec = 1.5`, `dec = 1.50`},
		{`dec < 1e-3`, `dec <= 0.00`},
		// Infinity and NaN against exact types.
		{`i < double 'nan'`, `i IS NOT NULL`},
		{`i = double 'inf'`, `FALSE`},
		{`i > double '-inf'`, `i IS NOT NULL`},
		// Floats: exact literals round, doubles do not.
		{`f = 0.1`, `f = 0.1`},
		{`f = 1e-1`, `FALSE`},
		{`f < 1e-1`, `f <= 0.099999994`},
		{`f = 16777217`, `f = 16777216`},
		{`f > 1e300`, `f > 3.4028234663852886e+38`},
		{`h = 65519`, `h = 6.5504e+04`},
		{`h > 65520`, `h > 6.5504e+04`},
		{`h = 0.00000006`, `h = 5.960464477539063e-08`},
		{`d = 0.1`, `d = 1e-01`},
		{`d = -0.0 or d = -0e0`, `d = 0e+00 OR d = 0e+00`},
		{`d = double 'nan'`, `d IS NAN`},
		{`d <> double 'nan'`, `d IS NOT NAN`},
		{`d < double 'nan'`, `d IS NOT NAN`},
		{`d <= double 'nan'`, `d IS NOT NULL`},
		{`d > double 'nan'`, `FALSE`},
		{`d >= double 'nan'`, `d IS NAN`},
		{`d in (1, double 'nan', 2)`, `d IN (1e+00, 2e+00) OR d IS NAN`},
		{`d not in (1, double 'nan')`, `d <> 1e+00 AND d IS NOT NAN`},
		{`d in (double 'nan')`, `d IS NAN`},
		{`i is nan`, `FALSE`},
		{`i is not nan`, `i IS NOT NULL`},
		// Booleans are equalities.
		{`b`, `b = TRUE`},
		{`not b`, `b = FALSE`},
		{`b < true`, `b = FALSE`},
		{`b >= false`, `b IS NOT NULL`},
		{`b > true`, `FALSE`},
		{`b in (true, false)`, `b IS NOT NULL`},
		{`b not in (true, false)`, `FALSE`},
		{`b = 'TRUE'`, `b = TRUE`},
		// Quoted texts take the column's type.
		{`i = '5' and d = 'NaN' and dec = '1.5'`, `i = 5 AND d IS NAN AND dec = 1.50`},
		{`dt = '2020-01-02' and tm < '10:00'`, `dt = DATE '2020-01-02' AND tm < TIME '10:00:00'`},
		{`tz = '2020-01-02T00:00:00+01:00'`, `tz = TIMESTAMPTZ '2020-01-01 23:00:00+00:00'`},
		{`id = 'f79c3e09-677c-4bbd-a479-512f87f7d8a5'`, `id = UUID 'f79c3e09-677c-4bbd-a479-512f87f7d8a5'`},
		// Dates and timestamps.
		{`dt < TIMESTAMP '2020-01-02 12:00'`, `dt <= DATE '2020-01-02'`},
		{`dt >= TIMESTAMP '1969-12-31 12:00'`, `dt > DATE '1969-12-31'`},
		{`ts = DATE '2020-01-02'`, `ts = TIMESTAMP '2020-01-02 00:00:00'`},
		{`tz >= DATE '2020-01-02'`, `tz >= TIMESTAMPTZ '2020-01-02 00:00:00+00:00'`},
		{`ts > TIMESTAMP '1969-12-31 23:59:59.9999995'`, `ts > TIMESTAMP '1969-12-31 23:59:59.999999'`},
		{`tsec <= TIMESTAMP '1969-12-31 23:59:59.5'`, `tsec <= TIMESTAMP '1969-12-31 23:59:59'`},
		{`ns < TIMESTAMP '9999-01-01 00:00'`, `ns IS NOT NULL`},
		{`ns = TIMESTAMP '2020-01-01 00:00:00.5'`, `ns = TIMESTAMP '2020-01-01 00:00:00.500000000'`},
		// Bytes.
		{`fix < X'000100'`, `fix <= X'0001'`},
		{`fix >= X'01'`, `fix > X'00ff'`},
		{`fix = X'01'`, `FALSE`},
		{`fix < X'00'`, `FALSE`},
		{`fix >= X''`, `fix IS NOT NULL`},
		{`bin > X''`, `bin > X''`},
		{`s >= ''`, `s IS NOT NULL`},
		{`s < ''`, `FALSE`},
		// LIKE.
		{`s like 'ab%'`, `starts_with(s, 'ab')`},
		{`s not like 'a\%b%%'`, `NOT starts_with(s, 'a%b')`},
		{`s like 'ab'`, `s = 'ab'`},
		{`s like '%'`, `s IS NOT NULL`},
		{`s like '_%'`, `s LIKE '_%'`},
		{`starts_with(s, '')`, `s IS NOT NULL`},
		{`not starts_with(s, '')`, `FALSE`},
		{`dict like 'a%'`, `starts_with(dict, 'a')`},
		// Columns that hold nothing, structs, lists.
		{`none = 1 or none is null`, `TRUE`},
		{`none is not null or none in (1)`, `NULL`},
		{`list is null or st is not null`, `list IS NULL OR st IS NOT NULL`},
		{`st.x = 1`, `st.x = 1`},
		// Columns with columns.
		{`i = I`, `i IS NOT NULL`},
		{`i <> i`, `FALSE`},
		{`i < dec and s = dict and bin = fix and dt <= ts`, `i < dec AND s = dict AND bin = fix AND dt <= ts`},
		{`i = none`, `NULL`},
	} {
		e, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		b, err := Bind(e, testSchema(), BindOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := b.String(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		checkBound(t, b)
		again, err := Bind(b, testSchema(), BindOptions{})
		if err != nil || !Equal(again, b) {
			t.Errorf("%s: bound again: %v, %v", c.text, again, err)
		}
		read, err := Bind(MustParse(b.String()), testSchema(), BindOptions{})
		if err != nil || !Equal(read, b) {
			t.Errorf("%s: read and bound again: %v, %v", c.text, read, err)
		}
	}
}

// checkBound holds the promises of Bind about the shape of its result.
func checkBound(t *testing.T, e Expr) {
	t.Helper()
	lit := func(c Column, l Literal) {
		if c.ID == 0 || !arrow.TypeEqual(c.Type, l.Type) || !l.valid() {
			t.Errorf("%s: column %d of type %v has the literal %v %v", e, c.ID, c.Type, l.Type, l.Value)
		}
	}
	Walk(e, func(n Expr) bool {
		switch x := n.(type) {
		case Not:
			t.Errorf("%s: a Not is left", e)
		case Compare:
			lit(x.Col, x.Lit)
		case In:
			for i, l := range x.Lits {
				lit(x.Col, l)
				if i > 0 && x.Lits[i-1].Compare(l) >= 0 {
					t.Errorf("%s: not sorted and distinct", e)
				}
			}
		}
		return true
	})
}

func TestBindErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`cas = 1`, `column cas: no such column: did you mean Case or CASE`},
		{`case = 1`, `column case: the name is ambiguous: Case, CASE`},
		{`dicts = 'x'`, `column dicts: no such column: did you mean dict?`},
		{`st.zzz = 1`, `column st.zzz: no such column`},
		{`a.b = 1`, `no such column: did you mean "a.b"?`},
		{`i.x = 1`, `i is a int32, not a struct`},
		{`list.element = 1`, `list is a list, not a struct`},
		{`noid = 1`, `no field id`},
		{`s = 5`, `a string cannot be compared with 5: quote the value`},
		{`i = 'x'`, `"x" is not a int32`},
		{`i = 'nan'`, `"nan" is not a int32`},
		{`dt = 'x'`, `"x" is not a date: write a date as YYYY-MM-DD`},
		{`ts = '2020-01-01Z'`, `"2020-01-01Z" is not a timestamp[us]`},
		{`b = 1`, `a bool cannot be compared with 1`},
		{`bin = 'ab'`, `write bytes as X'6162'`},
		{`fix = 'ab'`, `write bytes as X'6162'`},
		{`st = 1`, `only IS NULL works on it`},
		{`list in (1)`, `only IS NULL works on it`},
		{`i like 'x'`, `LIKE needs text, not a int32`},
		{`starts_with(i, 'x')`, `a int32 has no prefix`},
		{`match(i, 'x')`, `match needs text`},
		{`s is nan`, `a string is never NaN`},
		{`ts = tz`, `cannot be compared with tz, a timestamptz[us]`},
		{`s = i`, `cannot be compared with i, a int32`},
		{`tm = ts`, `cannot be compared`},
		{`tm = DATE '2020-01-01'`, `a time64[us] cannot be compared with DATE '2020-01-01'`},
	} {
		e, err := Bind(MustParse(c.text), testSchema(), BindOptions{})
		var be *BindError
		if !errors.As(err, &be) || !errors.Is(err, ErrBind) {
			t.Errorf("%s: got %v, %v, want a bind error", c.text, e, err)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant …%s…", c.text, err, c.want)
		}
	}
	if _, err := Bind(MustParse("I = 1"), testSchema(), BindOptions{CaseSensitive: true}); err == nil {
		t.Error("I is found although only i exists")
	}
	if _, err := Bind(Compare{EQ, Col("i"), Literal{arrow.PrimitiveTypes.Int32, 5}}, testSchema(), BindOptions{}); err == nil {
		t.Error("a Go int is taken for an int64")
	}
	if _, err := Bind(nil, testSchema(), BindOptions{}); err == nil {
		t.Error("nil binds")
	}
}

// A bound tree follows its columns by id into a schema with other names, places and wider types.
func TestBindAgainAfterEvolution(t *testing.T) {
	t.Parallel()
	old := arrow.NewSchema([]arrow.Field{field("a", 1, arrow.PrimitiveTypes.Int32), field("b", 2, arrow.PrimitiveTypes.Float32)}, nil)
	now := arrow.NewSchema([]arrow.Field{field("a", 2, arrow.PrimitiveTypes.Float64), field("c", 1, arrow.PrimitiveTypes.Int64)}, nil)
	e, err := Bind(MustParse("a > 1 and b = 0.5"), old, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err = Bind(e, now, BindOptions{})
	if err != nil || e.String() != "c > 1 AND a = 5e-01" {
		t.Errorf("%v, %v", e, err)
	}
	checkBound(t, e)
}

func TestBindZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("NPT", 5*3600+45*60)
	for text, want := range map[string]string{
		`tz >= TIMESTAMP '2020-01-01 00:00'`:          `tz >= TIMESTAMPTZ '2019-12-31 18:15:00+00:00'`,
		`tz >= DATE '2020-01-01'`:                     `tz >= TIMESTAMPTZ '2019-12-31 18:15:00+00:00'`,
		`tz >= '2020-01-01'`:                          `tz >= TIMESTAMPTZ '2019-12-31 18:15:00+00:00'`,
		`tz >= '2020-01-01 00:00Z'`:                   `tz >= TIMESTAMPTZ '2020-01-01 00:00:00+00:00'`,
		`ts = TIMESTAMPTZ '2019-12-31 18:15:00.5Z'`:   `ts = TIMESTAMP '2020-01-01 00:00:00.5'`,
		`ts = TIMESTAMP '2020-01-01 00:00'`:           `ts = TIMESTAMP '2020-01-01 00:00:00'`,
		`dt = TIMESTAMPTZ '2019-12-31 18:15:00.000Z'`: `dt = DATE '2020-01-01'`,
	} {
		e, err := Bind(MustParse(text), testSchema(), BindOptions{Zone: zone})
		if err != nil || e.String() != want {
			t.Errorf("%s\n got %v, %v\nwant %s", text, e, err, want)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	e := MustParse(`i = 1 and (I > 2 or not s like 'x') and st.x < l and i is null`)
	var names []string
	for _, c := range Columns(e) {
		names = append(names, c.String())
	}
	if got := strings.Join(names, " "); got != "i I s st.x l" {
		t.Errorf("unbound: %s", got)
	}
	b, err := Bind(e, testSchema(), BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, c := range Columns(b) {
		ids = append(ids, c.ID)
	}
	if len(ids) != 4 || ids[0] != 3 || ids[1] != 10 || ids[2] != 31 || ids[3] != 4 {
		t.Errorf("bound: %v", ids)
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"_", "", false},
		{"_", "é", true},
		{"__", "é", false},
		{"a%", "abc", true},
		{"%c", "abc", true},
		{"%b%", "abc", true},
		{"%b", "abc", false},
		{"a%c", "ac", true},
		{"a%a", "a", false},
		{"%ab%ab%", "ab", false},
		{"%ab%ab%", "xabyabz", true},
		{"a_c", "abc", true},
		{"a_c", "ac", false},
		{`a\%`, "a%", true},
		{`a\%`, "ab", false},
		{`\\`, `\`, true},
		{"%_b", "ab", true},
		{"%_b", "b", false},
		{"%aab", "aaab", true},
		{"%a_b%", "aaxb", true},
		{"%é_", "xéz", true},
		{"_%_", "a", false},
		{"_%_", "ab", true},
		{"a%_", "a", false},
		{"%\xff%", "a\xffb", true},
		{"_", "\xff", true},
	} {
		l, err := CompileLike(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Match([]byte(c.s)); got != c.want {
			t.Errorf("%q LIKE %q = %v", c.s, c.pattern, got)
		}
	}
}
