//go:build duckdb_arrow && cgo

package duckdb

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/variant"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query"
)

// icebergTypes are all types of the Iceberg specification but variant, as their Arrow fields.
func icebergTypes() []arrow.Field {
	decimal := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	fields := []arrow.Field{
		{Name: "boolean", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "int", Type: arrow.PrimitiveTypes.Int32},
		{Name: "long", Type: arrow.PrimitiveTypes.Int64},
		{Name: "float", Type: arrow.PrimitiveTypes.Float32},
		{Name: "double", Type: arrow.PrimitiveTypes.Float64},
		{Name: "decimal4", Type: decimal(4, 1)},
		{Name: "decimal9", Type: decimal(9, 2)},
		{Name: "decimal18", Type: decimal(18, 4)},
		{Name: "decimal38", Type: decimal(38, 10)},
		{Name: "date", Type: arrow.FixedWidthTypes.Date32},
		{Name: "time", Type: arrow.FixedWidthTypes.Time64us},
		{Name: "timestamp", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "timestamptz", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "timestamp_ns", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{Name: "timestamptz_ns", Type: arrow.FixedWidthTypes.Timestamp_ns},
		{Name: "string", Type: arrow.BinaryTypes.String},
		{Name: "binary", Type: arrow.BinaryTypes.Binary},
		{Name: "fixed", Type: &arrow.FixedSizeBinaryType{ByteWidth: 5}},
		{Name: "fixed16", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}},
		expr.AsUUID(arrow.Field{Name: "uuid"}),
		{Name: "geometry", Type: arrow.BinaryTypes.Binary, Metadata: arrow.NewMetadata([]string{extensionName}, []string{"geoarrow.wkb"})},
		{Name: "unknown", Type: arrow.Null},
		// not of Iceberg, but found in plain Parquet files
		{Name: "int8", Type: arrow.PrimitiveTypes.Int8},
		{Name: "uint16", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "uint32", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "uint64", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "timestamp_ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		{Name: "timestamptz_ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}},
		{Name: "time_ns", Type: arrow.FixedWidthTypes.Time64ns},
		{Name: "time_ms", Type: arrow.FixedWidthTypes.Time32ms},
		{Name: "half", Type: arrow.FixedWidthTypes.Float16},
		{Name: "large_string", Type: arrow.BinaryTypes.LargeString},
		{Name: "string_view", Type: arrow.BinaryTypes.StringView},
	}
	for i := range fields {
		fields[i].Nullable = true
	}
	return fields
}

// nestings wrap a type.
var nestings = []struct {
	name string
	wrap func(arrow.Field) arrow.DataType
}{
	{"plain", func(f arrow.Field) arrow.DataType { return f.Type }},
	{"struct", func(f arrow.Field) arrow.DataType { return arrow.StructOf(f) }},
	{"list", func(f arrow.Field) arrow.DataType { return arrow.ListOfField(f) }},
	{"map", func(f arrow.Field) arrow.DataType {
		return arrow.MapOfFields(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}, f)
	}},
	{"struct of list and struct", func(f arrow.Field) arrow.DataType {
		inner := arrow.Field{Name: "inner", Type: arrow.StructOf(f), Nullable: true}
		return arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOfField(f), Nullable: true}, inner)
	}},
	{"list of struct", func(f arrow.Field) arrow.DataType {
		return arrow.ListOfField(arrow.Field{Name: "element", Type: arrow.StructOf(f), Nullable: true})
	}},
}

// A column that SQL cannot hold is refused when it is read, and harms nothing else.
func TestTypes_Refused(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	s := withFieldIDs(arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "wide", Type: &arrow.Decimal256Type{Precision: 60, Scale: 2}, Nullable: true},
		{Name: "halves", Type: arrow.ListOf(arrow.FixedWidthTypes.Float16), Nullable: true},
		{Name: "fine", Type: arrow.FixedWidthTypes.Timestamp_ns, Nullable: true},
	}, nil))
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(1)
	for _, f := range b.Fields()[1:] {
		f.AppendNull()
	}
	tables := memTables{"t": newMemTable(b.NewRecordBatch())}
	for _, sql := range []string{"select * from t", "select wide from t", "select id from t where halves is null", "select max(halves) from t"} {
		_, err := run(t.Context(), e, query.Statement{SQL: sql}, tables)
		checkError(t, sql, err, query.ClassUnsupported, "which SQL cannot hold")
	}
	if _, err := run(t.Context(), e, query.Statement{SQL: "select id, fine from t where id > 0"}, tables); err != nil {
		t.Error(err)
	}
	_, err := run(t.Context(), e, query.Statement{SQL: "select fine from t", Zone: "Europe/Paris"}, tables)
	checkError(t, "nanoseconds in Paris", err, query.ClassUnsupported, "use UTC")
}

func TestTypes_ThereAndBack(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	for _, n := range nestings {
		for _, offset := range []int{0, 3, 13} {
			t.Run(fmt.Sprintf("%s/offset %d", n.name, offset), func(t *testing.T) {
				t.Parallel()
				mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
				defer mem.AssertSize(t, 0)
				var fields []arrow.Field
				for _, f := range icebergTypes() {
					wrapped := arrow.Field{Name: f.Name, Type: n.wrap(f), Nullable: true}
					if n.name == "plain" {
						wrapped = f
					} else if f.Name == "half" {
						continue // refused inside of others
					}
					fields = append(fields, wrapped)
				}
				rec := randomBatch(mem, withFieldIDs(arrow.NewSchema(fields, nil)), 2600+offset, uint64(offset))
				defer rec.Release()
				cut := rec.NewSlice(int64(offset), rec.NumRows())
				defer cut.Release()
				table := newMemTable(cut)
				checkSame(t, e, table, table.schema.Fields()...)
				if n.name == "plain" { // alone, so that each has its own way out
					for _, f := range table.schema.Fields() {
						checkSame(t, e, table, f)
					}
				}
			})
		}
	}
}

func TestTypes_VariantIsJSON(t *testing.T) {
	t.Parallel()
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := extensions.NewVariantBuilder(mem, extensions.NewDefaultVariantType())
	defer b.Release()
	texts := []string{`{"a":1,"b":[true,null,"x"]}`, `"text"`, `12.5`, `null`}
	for _, s := range texts {
		v, err := variant.ParseJSON(s, false)
		if err != nil {
			t.Fatal(err)
		}
		b.Append(v)
	}
	b.AppendNull()
	a := b.NewArray()
	defer a.Release()
	f := arrow.Field{Name: "v", Type: a.DataType(), Nullable: true}
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), []arrow.Array{a}, int64(a.Len()))
	defer rec.Release()
	e := testEngine(t, EngineConfig{})
	tables := memTables{"t": newMemTable(rec)}
	got, err := run(t.Context(), e, query.Statement{SQL: "select v from t"}, tables)
	if want := append(texts, "(null)"); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q %v", got, err)
	}
	got, err = run(t.Context(), e, query.Statement{SQL: "select v->>'$.b[2]' from t where (v->>'a') = '1'"}, tables)
	if err != nil || len(got) != 1 || got[0] != "x" {
		t.Errorf("%q %v", got, err)
	}
}

// The reason of compacted: a sliced struct that goes through the C data interface comes out shifted. When this fails, the
// copy can go.
func TestTypes_SlicedStructStillNeedsACopy(t *testing.T) {
	t.Parallel()
	s := arrow.NewSchema([]arrow.Field{{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32})}}, nil)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
	defer b.Release()
	for i := range int32(20) {
		b.Field(0).(*array.StructBuilder).Append(true)
		b.Field(0).(*array.StructBuilder).FieldBuilder(0).(*array.Int32Builder).Append(i)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	cut := rec.NewSlice(5, 8)
	defer cut.Release()
	in, err := openInstance(settings{threads: 1, memory: 64 << 20, spill: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	conv, ed := bindings.SchemaFromArrow(in.conn, s)
	if err := taken(ed); err != nil {
		t.Fatal(err)
	}
	defer bindings.DestroyArrowConvertedSchema(&conv)
	chunk, ed := bindings.DataChunkFromArrow(in.conn, cut, conv)
	if err := taken(ed); err != nil {
		t.Fatal(err)
	}
	defer bindings.DestroyDataChunk(&chunk)
	child := bindings.StructVectorGetChild(bindings.DataChunkGetVector(chunk, 0), 0)
	if got := *(*int32)(bindings.VectorGetData(child)); got == 5 {
		t.Error("the first value is right: arrow-go exports sliced structs well now")
	}
}

// checkSame selects columns of a one-batch table and compares value by value.
func checkSame(t *testing.T, e query.Engine, table *memTable, fields ...arrow.Field) {
	var names []string
	for _, f := range fields {
		names = append(names, query.QuoteIdent(f.Name))
	}
	p, err := e.Prepare(t.Context(), query.Statement{SQL: "select " + strings.Join(names, ", ") + " from t"}, memTables{"t": table})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !res.Schema().Equal(p.Schema()) {
		t.Errorf("the schema was said to be %v and is %v", p.Schema(), res.Schema())
	}
	want, row := table.batches[0], 0
	for rec, err := range res.All() {
		if err != nil {
			t.Fatal(err)
		}
		for c, f := range fields {
			from := want.Column(table.schema.FieldIndices(f.Name)[0])
			for i := range int(rec.NumRows()) {
				w, g := plain(f, from, row+i), plain(res.Schema().Field(c), rec.Column(c), i)
				if w != g {
					t.Fatalf("%s row %d: %s became %s, a %s", f.Name, row+i, w, g, rec.Column(c).DataType())
				}
			}
		}
		row += int(rec.NumRows())
	}
	if row != int(want.NumRows()) {
		t.Errorf("%d rows, not %d", row, want.NumRows())
	}
}

// plain writes a value so that equal values of different Arrow types have one text.
func plain(f arrow.Field, a arrow.Array, i int) string {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return "null"
	}
	switch a := a.(type) {
	case *array.Float32:
		return fmt.Sprintf("%08x", math.Float32bits(a.Value(i)))
	case *array.Float16:
		return fmt.Sprintf("%08x", math.Float32bits(a.Value(i).Float32()))
	case *array.Float64:
		return fmt.Sprintf("%016x", math.Float64bits(a.Value(i)))
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		unit := map[arrow.TimeUnit]time.Duration{arrow.Second: time.Second, arrow.Millisecond: time.Millisecond, arrow.Microsecond: time.Microsecond, arrow.Nanosecond: 1}[t.Unit]
		if unit >= time.Microsecond && t.TimeZone != "" {
			return fmt.Sprint(int64(a.Value(i))*int64(unit/time.Microsecond), " us")
		}
		return fmt.Sprint(int64(a.Value(i)), unit)
	case *array.Time32:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time32Type).Unit).Format("15:04:05.999999999")
	case *array.Time64:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999999")
	case *array.FixedSizeBinary:
		if isUUID(f) {
			h := hex.EncodeToString(a.Value(i))
			return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
		}
		return hex.EncodeToString(a.Value(i))
	case *array.Binary:
		return hex.EncodeToString(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Struct:
		var parts []string
		for k, g := range a.DataType().(*arrow.StructType).Fields() {
			parts = append(parts, g.Name+"="+plain(g, a.Field(k), i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case *array.Map:
		var parts []string
		m := a.DataType().(*arrow.MapType)
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			parts = append(parts, plain(m.KeyField(), a.Keys(), k)+":"+plain(m.ItemField(), a.Items(), k))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case array.ListLike:
		var parts []string
		from, to := a.ValueOffsets(i)
		for k := int(from); k < int(to); k++ {
			parts = append(parts, plain(a.DataType().(arrow.ListLikeType).ElemField(), a.ListValues(), k))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return strings.Clone(a.ValueStr(i))
}

// randomBatch fills a schema of any nesting; about every fifth value is null.
func randomBatch(mem arrowmem.Allocator, s *arrow.Schema, rows int, seed uint64) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	rng := rand.New(rand.NewPCG(seed, 1))
	for i, f := range s.Fields() {
		for range rows {
			appendRandom(b.Field(i), f, rng)
		}
	}
	return b.NewRecordBatch()
}

func appendRandom(b array.Builder, f arrow.Field, rng *rand.Rand) {
	if f.Nullable && rng.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	text := func() string {
		const letters = "abcdefghijklmnopqrstuvwxyzäöü€\x01"
		return strings.Repeat(letters[:rng.IntN(10)], rng.IntN(4)) + "é"
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(rng.IntN(2) == 0)
	case *array.Int8Builder:
		b.Append(int8(rng.Uint32()))
	case *array.Int32Builder:
		b.Append(int32(rng.Uint32()))
	case *array.Int64Builder:
		b.Append(int64(rng.Uint64()))
	case *array.Uint16Builder:
		b.Append(uint16(rng.Uint32()))
	case *array.Uint32Builder:
		b.Append(rng.Uint32())
	case *array.Uint64Builder:
		b.Append(rng.Uint64())
	case *array.Float16Builder:
		b.AppendValueFromString(fmt.Sprint(rng.IntN(2000)-1000, ".5"))
	case *array.Float32Builder:
		b.Append([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), rng.Float32()}[rng.IntN(5)])
	case *array.Float64Builder:
		b.Append([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), rng.NormFloat64() * 1e9}[rng.IntN(5)])
	case *array.Decimal128Builder:
		p := b.Type().(*arrow.Decimal128Type).Precision
		v := decimal128.New(int64(rng.Uint64()>>4), rng.Uint64()) // below 10^38
		if p <= 18 {
			v = decimal128.FromI64(rng.Int64N(int64(math.Pow10(int(p)))))
		}
		if rng.IntN(2) == 0 {
			v = v.Negate()
		}
		b.Append(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(rng.IntN(60000) - 30000))
	case *array.Time64Builder:
		us := rng.Int64N(86_400_000_000)
		if b.Type().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			us *= 1000
		}
		b.Append(arrow.Time64(us))
	case *array.Time32Builder:
		b.Append(arrow.Time32(rng.IntN(86_400_000)))
	case *array.TimestampBuilder:
		v := rng.Int64N(8e18) - 4e18
		if u := b.Type().(*arrow.TimestampType).Unit; u == arrow.Millisecond {
			v /= 1000
		} else if u == arrow.Microsecond {
			v /= 100
		}
		b.Append(arrow.Timestamp(v))
	case *array.StringBuilder:
		b.Append(text())
	case *array.LargeStringBuilder:
		b.Append(text())
	case *array.StringViewBuilder:
		b.Append(text())
	case *array.BinaryBuilder:
		v := make([]byte, rng.IntN(30))
		for i := range v {
			v[i] = byte(rng.Uint32())
		}
		b.Append(v)
	case *array.FixedSizeBinaryBuilder:
		v := make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)
		for i := range v {
			v[i] = byte(rng.Uint32())
		}
		b.Append(v)
	case *array.NullBuilder:
		b.AppendNull()
	case *array.StructBuilder:
		b.Append(true)
		for i, g := range b.Type().(*arrow.StructType).Fields() {
			appendRandom(b.FieldBuilder(i), g, rng)
		}
	case *array.MapBuilder:
		b.Append(true)
		for k := range rng.IntN(3) {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint("key ", k))
			appendRandom(b.ItemBuilder(), b.Type().(*arrow.MapType).ItemField(), rng)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range rng.IntN(4) {
			appendRandom(b.ValueBuilder(), b.Type().(*arrow.ListType).ElemField(), rng)
		}
	default:
		panic(fmt.Sprintf("no values for %T", b))
	}
}
