package canon

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

var uuidMetadata = arrow.NewMetadata([]string{extensionKey}, []string{uuidName})

// build makes a one-column array from Arrow's own JSON reader.
func build(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(arrowmem.DefaultAllocator, typ, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ints(t *testing.T, typ arrow.DataType, values ...int64) arrow.Array {
	t.Helper()
	b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	for _, v := range values {
		switch b := b.(type) {
		case *array.Date32Builder:
			b.Append(arrow.Date32(v))
		case *array.Date64Builder:
			b.Append(arrow.Date64(v))
		case *array.Time32Builder:
			b.Append(arrow.Time32(v))
		case *array.Time64Builder:
			b.Append(arrow.Time64(v))
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(v))
		default:
			t.Fatalf("no ints for %s", typ)
		}
	}
	return b.NewArray()
}

func floats[T float32 | float64](values ...T) arrow.Array {
	switch v := any(values).(type) {
	case []float32:
		b := array.NewFloat32Builder(arrowmem.DefaultAllocator)
		b.AppendValues(v, nil)
		return b.NewArray()
	case []float64:
		b := array.NewFloat64Builder(arrowmem.DefaultAllocator)
		b.AppendValues(v, nil)
		return b.NewArray()
	}
	panic("unreachable")
}

func binaries(typ arrow.BinaryDataType, values ...string) arrow.Array {
	b := array.NewBinaryBuilder(arrowmem.DefaultAllocator, arrow.BinaryTypes.Binary)
	for _, v := range values {
		b.Append([]byte(v))
	}
	a := b.NewArray()
	return array.MakeFromData(array.NewData(typ, a.Len(), a.Data().Buffers(), nil, 0, 0))
}

func fixed(width int, values ...string) arrow.Array {
	b := array.NewFixedSizeBinaryBuilder(arrowmem.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: width})
	for _, v := range values {
		b.Append([]byte(v))
	}
	return b.NewArray()
}

func decimals(precision, scale int32, values ...string) arrow.Array {
	t := &arrow.Decimal256Type{Precision: precision, Scale: scale}
	b := array.NewDecimal256Builder(arrowmem.DefaultAllocator, t)
	for _, v := range values {
		x, _ := new(big.Int).SetString(v, 10)
		b.Append(decimal256.FromBigInt(x))
	}
	return b.NewArray()
}

func TestEveryTypeHasOneText(t *testing.T) {
	t.Parallel()
	dec := array.NewDecimal128Builder(arrowmem.DefaultAllocator, &arrow.Decimal128Type{Precision: 9, Scale: 2})
	dec.AppendValues([]decimal128.Num{decimal128.FromI64(-5), decimal128.FromI64(0), decimal128.FromI64(12345)}, nil)
	half := array.NewFloat16Builder(arrowmem.DefaultAllocator)
	half.AppendValues([]float16.Num{float16.New(1.5), float16.New(float32(math.Inf(-1))), float16.FromBits(1)}, nil) // the last is subnormal
	point := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: `y"`, Type: arrow.BinaryTypes.String, Nullable: true})
	cases := []struct {
		name  string
		field arrow.Field
		array arrow.Array
		typ   string
		want  string
	}{
		{"bool", arrow.Field{}, build(t, arrow.FixedWidthTypes.Boolean, `[true,null,false]`), "bool", "true null false"},
		{"int8", arrow.Field{}, build(t, arrow.PrimitiveTypes.Int8, `[-128,127]`), "int8", "-128 127"},
		{"uint64", arrow.Field{}, build(t, arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`), "uint64", "18446744073709551615"},
		{"int64", arrow.Field{}, build(t, arrow.PrimitiveTypes.Int64, `[-9223372036854775808]`), "int64", "-9223372036854775808"},
		{
			"float64",
			arrow.Field{},
			floats(1.0/3, math.Copysign(0, -1), 0, math.NaN(), math.Inf(1)), "float64",
			`3.3333333333333331e-01 -0.0000000000000000e+00 0.0000000000000000e+00 "NaN" "Infinity"`,
		},
		{"float32", arrow.Field{}, floats[float32](0.1), "float32", "1.00000001e-01"},
		{"float16", arrow.Field{}, half.NewArray(), "float16", `1.5000e+00 "-Infinity" 5.9605e-08`},
		{"decimal128", arrow.Field{}, dec.NewArray(), "decimal(9,2)", `"-0.05" "0.00" "123.45"`},
		{"decimal256", arrow.Field{}, decimals(50, 0, "-12345678901234567890123456789012345678901234567890"), "decimal(50,0)", `"-12345678901234567890123456789012345678901234567890"`},
		{"decimal with negative scale", arrow.Field{}, decimals(5, -2, "7"), "decimal(5,-2)", `"700"`},
		{"string", arrow.Field{}, binaries(arrow.BinaryTypes.String, "a\"\\\n\x01é", "\xff"), "string", `"a\"\\\u000a\u0001é" "0xff"`},
		{"binary", arrow.Field{}, binaries(arrow.BinaryTypes.Binary, "", "\x00\xab"), "binary", `"0x" "0x00ab"`},
		{"fixed", arrow.Field{}, fixed(3, "abc"), "fixed[3]", `"0x616263"`},
		{"uuid in metadata", arrow.Field{Metadata: uuidMetadata}, fixed(16, "\xf0\x0102345678901234"), "uuid", `"f0013032-3334-3536-3738-393031323334"`},
		{
			"date",
			arrow.Field{},
			ints(t, arrow.FixedWidthTypes.Date32, 0, -1, -719528, -719529, 2932897, 11016), "date",
			`"1970-01-01" "1969-12-31" "0000-01-01" "-0001-12-31" "10000-01-01" "2000-02-29"`,
		},
		{"date64", arrow.Field{}, ints(t, arrow.FixedWidthTypes.Date64, -1), "date", `"1969-12-31"`},
		{"time32", arrow.Field{}, ints(t, arrow.FixedWidthTypes.Time32ms, 86399999), "time[ms]", `"23:59:59.999000000"`},
		{"time64", arrow.Field{}, ints(t, arrow.FixedWidthTypes.Time64ns, 1), "time[ns]", `"00:00:00.000000001"`},
		{
			"timestamp",
			arrow.Field{},
			ints(t, &arrow.TimestampType{Unit: arrow.Microsecond}, -1, 1), "timestamp[us]",
			`"1969-12-31T23:59:59.999999000" "1970-01-01T00:00:00.000001000"`,
		},
		{
			"timestamp of a far year does not overflow",
			arrow.Field{},
			ints(t, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, 253402300800), "timestamptz[s]",
			`"10000-01-01T00:00:00.000000000Z"`,
		},
		{"null", arrow.Field{}, array.NewNull(2), "null", "null null"},
		{"list", arrow.Field{}, build(t, arrow.ListOf(arrow.PrimitiveTypes.Int16), `[[1,null],[],null]`), "list<int16>", "[1,null] [] null"},
		{
			"struct",
			arrow.Field{},
			build(t, point, `[{"x":1,"y\"":"s"},null,{"x":null,"y\"":null}]`), `struct<x:int32,y":string>`,
			`{"x":1,"y\"":"s"} null {"x":null,"y\"":null}`,
		},
		{"dictionary", arrow.Field{}, build(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a",null,"a"]`), "string", `"a" null "a"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.field.Type = c.array.DataType()
			if got := TypeName(c.field); got != c.typ {
				t.Errorf("type: want %s, got %s", c.typ, got)
			}
			var got []string
			for i := range c.array.Len() {
				text, err := AppendValue(nil, c.field, c.array, i, StoredOrder)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(text))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("want %s\ngot  %s", c.want, s)
			}
		})
	}
}

func TestMapOrderIsByKeyTextWhenAsked(t *testing.T) {
	t.Parallel()
	a := build(t, arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), `[[{"key":9,"value":"a"},{"key":10,"value":null}]]`)
	for order, want := range map[MapOrder]string{StoredOrder: `[[9,"a"],[10,null]]`, KeyOrder: `[[10,null],[9,"a"]]`} {
		got, err := AppendValue(nil, arrow.Field{Type: a.DataType()}, a, 0, order)
		if err != nil || string(got) != want {
			t.Errorf("order %d: want %s, got %s (%v)", order, want, got, err)
		}
	}
}

func TestSlicedArraysRenderTheirOwnRows(t *testing.T) {
	t.Parallel()
	typ := arrow.ListOf(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}))
	a := array.NewSlice(build(t, typ, `[[{"a":1}],[{"a":2},null],[],null]`), 1, 4)
	var got []string
	for i := range a.Len() {
		text, err := AppendValue(nil, arrow.Field{Type: typ}, a, i, StoredOrder)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if s := strings.Join(got, " "); s != `[{"a":2},null] [] null` {
		t.Error(s)
	}
}

// The manifest's digests are over lines it also shows when a result has at most three rows.
func TestDigestsAgreeWithTheCorpus(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range Corpus(t).Cases {
		e := c.Expected
		if e.RowsSHA256 == "" || e.NumRows > 3 || strings.Contains(strings.Join(e.FirstRows, ""), "sha256:") {
			continue
		}
		n++
		if got := sortedDigest(e.FirstRows); got != e.RowsSHA256 {
			t.Errorf("%s: want %s, got %s", c.ID, e.RowsSHA256, got)
		}
		if got := digest(e.FirstRows); e.RowsInOrderSHA256 != "" && got != e.RowsInOrderSHA256 {
			t.Errorf("%s in order: want %s, got %s", c.ID, e.RowsInOrderSHA256, got)
		}
	}
	if n < 50 {
		t.Errorf("only %d cases could be checked", n)
	}
}

func TestBrokenVariantIsAnError(t *testing.T) {
	t.Parallel()
	for _, b := range []string{"", "\x02\x01\x00\x00", "\x3d", "\x13\xff\xff\xff\xff", "\xfc"} {
		if text, err := appendVariant(nil, []byte("\x01\x00\x00"), []byte(b)); err == nil {
			t.Errorf("%x gave %s", b, text)
		}
	}
}

func TestDiffNamesEveryDifference(t *testing.T) {
	t.Parallel()
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}}, nil)
	facts := func(json string) Facts {
		a := build(t, arrow.PrimitiveTypes.Int32, json)
		table := NewTable(schema, StoredOrder)
		if err := table.Add(array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))); err != nil {
			t.Fatal(err)
		}
		return table.Facts()
	}
	if d := facts(`[1,2,null]`).Diff(facts(`[1,2,null]`), true); d != nil {
		t.Error(d)
	}
	d := strings.Join(facts(`[1,2,null]`).Diff(facts(`[1,7]`), true), "\n")
	for _, part := range []string{"rows: want 3, got 2", "rows_sha256", `"a" nulls: want 1, got 0`, `"a" max: want 2, got 7`, `"a" sum: want 3, got 8`, "first rows"} {
		if !strings.Contains(d, part) {
			t.Errorf("%q is missing from\n%s", part, d)
		}
	}
}
