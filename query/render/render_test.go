package render_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/query/render"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// sample has every kind of value that is easily written wrong.
func sample(t testing.TB) arrow.RecordBatch {
	t.Helper()
	uuid := arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"arrow.uuid"})
	point := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "f32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "dec", Type: &arrow.Decimal128Type{Precision: 38, Scale: 3}, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "u", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Nullable: true, Metadata: uuid},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "t", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "tz", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "iv", Type: arrow.FixedWidthTypes.MonthDayNanoInterval, Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "st", Type: point, Nullable: true},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), Nullable: true},
		{Name: "mi", Type: arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), Nullable: true},
		{Name: "s", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	text := `[
	{"id":9223372036854775807,"f":1,"f32":0.1,"ok":true,"dec":"12345678901234567890123456789012345.678","s":"a, \"b\"\nc|\t\\","bin":"3q2+7w==","u":"95c+CWd8S72keVEvh/fYpQ==","d":"2020-02-29","t":"23:59:59.000001","ts":"1969-12-31 23:59:59.999999","tz":"2020-01-01T00:00:00.123456789Z","iv":{"months":14,"days":-3,"nanoseconds":4500000000},"list":["x",null,"y\"z"],"st":{"x":1,"s":"q"},"m":[{"key":"k","value":1.5},{"key":"","value":null}],"mi":[{"key":1,"value":"one"}]},
	{},
	{"id":-5,"f":-0.0,"f32":16777216,"ok":false,"dec":"-0.005","s":"","bin":"","u":null,"d":"0001-01-01","t":"00:00:00","ts":"2020-01-01 00:00:00","tz":"1900-01-01T00:00:00Z","iv":{"months":0,"days":0,"nanoseconds":0},"list":[],"st":{"x":null,"s":null},"m":[],"mi":[]},
	{"id":9007199254740993,"f":1,"dec":"1.000","s":"\u001b[31mred\u202e\u0085 é 漢字"}
	]`
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(schema.Fields()[:17], nil), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	cols := append(slices.Clone(rec.Columns()), nil)
	cols[1] = float64s(1, nil, math.Copysign(0, -1), math.NaN())
	d := array.NewBuilder(memory.DefaultAllocator, schema.Field(17).Type).(*array.BinaryDictionaryBuilder)
	for _, s := range []string{"p", "q"} {
		if err := d.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	d.AppendNull()
	if err := d.AppendString("p"); err != nil {
		t.Fatal(err)
	}
	cols[17] = d.NewArray()
	return array.NewRecordBatch(schema, cols, rec.NumRows())
}

func float64s(vals ...any) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	for _, v := range vals {
		switch v := v.(type) {
		case nil:
			b.AppendNull()
		case int:
			b.Append(float64(v))
		case float64:
			b.Append(v)
		}
	}
	return b.NewArray()
}

func encode(t testing.TB, f render.Format, o render.Options, schema *arrow.Schema, recs ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	enc, err := render.New(&out, f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := enc.Begin(schema); err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		if err := enc.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	rec := sample(t)
	kathmandu := time.FixedZone("", 5*3600+45*60)
	for _, c := range []struct {
		file   string
		format render.Format
		o      render.Options
	}{
		{"sample.csv", render.CSV, render.Options{}},
		{"sample.tsv", render.TSV, render.Options{Zone: kathmandu}},
		{"sample.md", render.Markdown, render.Options{}},
		{"sample.json", render.JSON, render.Options{}},
		{"sample.ndjson", render.NDJSON, render.Options{NumbersAsStrings: true}},
		{"sample.table", render.Table, render.Options{}},
		{"sample.40.table", render.Table, render.Options{Width: 40, Color: true}},
		{"sample.200.table", render.Table, render.Options{Width: 200}},
		{"sample.x.table", render.Table, render.Options{Expanded: true, Null: "∅", Zone: kathmandu}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			golden(t, c.file, encode(t, c.format, c.o, rec.Schema(), rec))
		})
	}
}

func numbers(from, to int) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	s := array.NewStringBuilder(memory.DefaultAllocator)
	for i := from; i < to; i++ {
		b.Append(int64(i))
		s.Append(strings.Repeat("x", i%7))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray(), s.NewArray()}, int64(to-from))
}

// Head and tail are right however the rows are cut into batches.
func TestTableHeadAndTail(t *testing.T) {
	t.Parallel()
	for _, o := range []render.Options{{MaxRows: 5}, {MaxRows: 5, Expanded: true}, {MaxRows: 1}} {
		for _, total := range []int{0, 1, 5, 6, 7, 12, 3000} {
			schema := numbers(0, 1).Schema()
			whole := encode(t, render.Table, o, schema, numbers(0, total))
			if total <= 12 || total == 3000 && !o.Expanded {
				golden(t, fmt.Sprintf("rows.%d.%d.%v.table", o.MaxRows, total, o.Expanded), whole)
			}
			for _, size := range []int{1, 2, 3, 4, 11} {
				var parts []arrow.RecordBatch
				for i := 0; i < total; i += size {
					parts = append(parts, numbers(i, min(i+size, total)))
				}
				if got := encode(t, render.Table, o, schema, parts...); !bytes.Equal(got, whole) {
					t.Errorf("%d rows in batches of %d:\n%s\nwant\n%s", total, size, got, whole)
				}
			}
		}
	}
}

// A table of 200 columns fits every terminal.
func TestTableFits(t *testing.T) {
	t.Parallel()
	var fields []arrow.Field
	var cols []arrow.Array
	for i := range 200 {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("a_rather_long_name_%d", i), Type: arrow.PrimitiveTypes.Float64})
		cols = append(cols, float64s(i, math.Pi*1e100))
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, 2)
	for _, width := range []int{40, 80, 132, 250} {
		for line := range strings.Lines(string(encode(t, render.Table, render.Options{Width: width}, rec.Schema(), rec))) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width && strings.HasPrefix(line, "│") {
				t.Fatalf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
	golden(t, "wide.80.table", encode(t, render.Table, render.Options{Width: 80}, rec.Schema(), rec))
}

// An id, a number or a time is shown whole or not at all; texts and heads are cut for it.
func TestValuesStayWhole(t *testing.T) {
	t.Parallel()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "committed_at", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "snapshot_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "operation", Type: arrow.BinaryTypes.String},
		{Name: "total_records", Type: arrow.PrimitiveTypes.Int32},
		{Name: "manifest_list", Type: arrow.BinaryTypes.String},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"committed_at":"2026-11-30T21:52:48.138Z","snapshot_id":7492712499666648865,"operation":"append","total_records":69758,"manifest_list":"s3://bucket/metadata/snap-1.avro"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{30, 40, 80, 90, 100} {
		text := string(encode(t, render.Table, render.Options{Width: width}, s, rec))
		for _, v := range []string{"2026-11-30 21:52:48.138+00:00", "7492712499666648865", "69758"} {
			if width >= 90 && !strings.Contains(text, v) || width == 40 && strings.Contains(text, v[:4]) && !strings.Contains(text, v) {
				t.Errorf("width %d: no %s in\n%s", width, v, text)
			}
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width && strings.ContainsAny(line[:3], "│┌") {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

// No escape sequence, control character or turn of direction reaches a terminal out of data or names.
func TestNothingDrivesTheTerminal(t *testing.T) {
	t.Parallel()
	b := array.NewStringBuilder(memory.DefaultAllocator)
	var all strings.Builder
	for r := rune(0); r < 0x2100; r++ {
		all.WriteRune(r)
	}
	b.Append(all.String() + "\xff\x9b31m\u2066\ufeff")
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a\x1b[2Jb", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{b.NewArray()}, 1)
	for _, f := range []render.Format{render.Table, render.Markdown} {
		for _, x := range []bool{false, true} {
			out := string(encode(t, f, render.Options{Expanded: x}, rec.Schema(), rec))
			for _, r := range out {
				if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2066' || r == '\u200f' || r == '\ufeff' || r == '\u2028' {
					t.Errorf("%s lets U+%04X through", f, r)
				}
			}
		}
	}
}

// encoding/csv reads the fields back; NULL and the empty string differ in the raw text.
func TestCSVReadsBack(t *testing.T) {
	t.Parallel()
	out := encode(t, render.CSV, render.Options{}, sample(t).Schema(), sample(t))
	recs, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(recs) != 5 {
		t.Fatalf("%v, %d records", err, len(recs))
	}
	if got := recs[1][5]; got != "a, \"b\"\nc|\t\\" {
		t.Errorf("text is %q", got)
	}
	lines := strings.Split(string(out), "\n")
	if lines[3] != strings.Repeat(",", 17)+"q" {
		t.Errorf("a row of NULL is %q", lines[3])
	}
}

func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	var rows []map[string]any
	d := json.NewDecoder(bytes.NewReader(encode(t, render.JSON, render.Options{}, sample(t).Schema(), sample(t))))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || len(rows[0]) != 18 {
		t.Fatalf("%d rows of %d columns", len(rows), len(rows[0]))
	}
	for key, want := range map[string]any{
		"id": json.Number("9223372036854775807"), "dec": json.Number("12345678901234567890123456789012345.678"),
		"s": "a, \"b\"\nc|\t\\", "bin": "3q2+7w==", "tz": "2020-01-01T00:00:00.123456789Z", "s_1": "p",
	} {
		if rows[0][key] != want {
			t.Errorf("%s is %v", key, rows[0][key])
		}
	}
	if empty := encode(t, render.JSON, render.Options{}, sample(t).Schema()); string(empty) != "[]\n" {
		t.Errorf("no rows are %q", empty)
	}
	n := 0
	for line := range bytes.Lines(encode(t, render.NDJSON, render.Options{}, sample(t).Schema(), sample(t))) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d lines", n)
	}
}

func TestArrowReadsBack(t *testing.T) {
	t.Parallel()
	rec := sample(t)
	stream := encode(t, render.Arrow, render.Options{}, rec.Schema(), rec, rec)
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	n := 0
	for r.Next() {
		n++
		got := r.RecordBatch()
		for c := range rec.Columns() {
			if c == 17 { // decoded
				if s := got.Column(c).(*array.String); s.Value(0) != "p" || !s.IsNull(2) {
					t.Errorf("the dictionary is %v", s)
				}
			} else if c != 1 && !array.Equal(got.Column(c), rec.Column(c)) {
				t.Errorf("column %d is %v", c, got.Column(c))
			}
		}
		if f := got.Column(1).(*array.Float64); !math.Signbit(f.Value(2)) || !math.IsNaN(f.Value(3)) {
			t.Errorf("floats are %v", f)
		}
	}
	if n != 2 || r.Err() != nil {
		t.Errorf("%d batches, %v", n, r.Err())
	}
	file := encode(t, render.Arrow, render.Options{File: true}, rec.Schema(), rec, rec)
	fr, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil || fr.NumRecords() != 2 {
		t.Errorf("file: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for f, want := range map[render.Format]error{"xls": render.ErrFormat, render.Arrow: render.ErrTerminal, render.Parquet: render.ErrTerminal} {
		if _, err := render.New(io.Discard, f, render.Options{Terminal: true}); !errors.Is(err, want) {
			t.Errorf("%s: %v", f, err)
		}
	}
	for _, f := range []render.Format{render.Table, render.CSV, render.JSON, render.Arrow, render.Null} {
		enc, err := render.New(io.Discard, f, render.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Begin(sample(t).Schema()); err != nil {
			t.Fatal(err)
		}
		if err := enc.Write(numbers(0, 1)); !errors.Is(err, render.ErrSchema) {
			t.Errorf("%s takes another schema: %v", f, err)
		}
	}
}

// A batch's memory may go as soon as Write returns: nothing is kept of it.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	for _, f := range []render.Format{render.Table, render.CSV, render.JSON} {
		text := []byte("hello")
		offsets := arrow.Int32Traits.CastToBytes([]int32{0, 5})
		d := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(text)}, nil, 0, 0)
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{array.NewStringData(d)}, 1)
		var out bytes.Buffer
		enc, err := render.New(&out, f, render.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(enc.Begin(rec.Schema()), enc.Write(rec)); err != nil {
			t.Fatal(err)
		}
		copy(text, "XXXXX")
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "hello") {
			t.Errorf("%s: %s", f, out.String())
		}
	}
}

func TestByExtension(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]render.Format{
		"a.csv": render.CSV, "b.PARQUET": render.Parquet, "c.jsonl": render.NDJSON, "d.md": render.Markdown,
		"e": "", "f.gz": "", "g.null": "", "x.y/z.arrow": render.Arrow, "t.txt": render.Table,
	} {
		if f, ok := render.ByExtension(name); ok != (want != "") || ok && f != want {
			t.Errorf("%s is %q, %v", name, f, ok)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	rec := numbers(0, 8192)
	for _, f := range []render.Format{render.CSV, render.NDJSON, render.Table} {
		b.Run(string(f), func(b *testing.B) {
			enc, err := render.New(io.Discard, f, render.Options{MaxRows: 40})
			if err != nil {
				b.Fatal(err)
			}
			if err := enc.Begin(rec.Schema()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := enc.Write(rec); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/row")
		})
	}
}
