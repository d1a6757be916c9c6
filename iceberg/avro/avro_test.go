package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const everyKind = `{"type":"record","name":"r","fields":[
 {"name":"b","type":"boolean","field-id":1},{"name":"i","type":["null","int"],"field-id":2},{"name":"l","type":["long","null"],"field-id":3},
 {"name":"f","type":"float","field-id":4},{"name":"d","type":"double","field-id":5},{"name":"y","type":"bytes","field-id":6},{"name":"s","type":["null","string"],"field-id":7},
 {"name":"x","type":{"type":"fixed","name":"fx","size":3},"field-id":8},{"name":"e","type":{"type":"enum","name":"en","symbols":["A","B"]},"field-id":9},
 {"name":"in","type":{"type":"record","name":"inner","fields":[{"name":"a","type":"int","field-id":11},{"name":"again","type":"fx","field-id":12}]},"field-id":10},
 {"name":"list","type":["null",{"type":"array","items":"int"}],"field-id":13},
 {"name":"sizes","type":["null",{"type":"array","items":{"type":"record","name":"kv1","fields":[{"name":"key","type":"int"},{"name":"value","type":"long"}]}}],"field-id":14},
 {"name":"bounds","type":{"type":"array","items":{"type":"record","name":"kv2","fields":[{"name":"key","type":"int"},{"name":"value","type":["null","bytes"]}]}},"field-id":15},
 {"name":"recs","type":{"type":"array","items":{"type":"record","name":"rec","fields":[{"name":"n","type":["null","boolean"],"field-id":17},{"name":"v","type":["null","bytes"],"field-id":18}]}},"field-id":16},
 {"name":"m","type":{"type":"map","values":["null","string","long"]},"field-id":19},
 {"name":"end","type":"int","field-id":20}]}`

// record encodes one record of everyKind; n varies the values. Blocks of arrays are written in both forms.
func record(n int64, null bool) []byte {
	b := AppendBool(nil, n%2 == 1)
	if null {
		b = AppendLong(AppendLong(b, 0), 1)
	} else {
		b = AppendLong(AppendLong(b, 1), n)
		b = AppendLong(AppendLong(b, 0), n<<40)
	}
	b = AppendDouble(AppendFloat(b, float32(n)+0.5), -float64(n))
	b = AppendBytes(b, nil)
	if null {
		b = AppendLong(b, 0)
	} else {
		b = AppendString(AppendLong(b, 1), fmt.Sprint("s", n))
	}
	b = append(b, 1, 2, byte(n))
	b = AppendLong(b, 1)                    // enum
	b = append(AppendLong(b, -n), "abc"...) // inner
	if null {
		b = AppendLong(AppendLong(b, 0), 0) // list, sizes
	} else {
		b = AppendLong(b, 1)
		b = AppendLong(AppendLong(AppendLong(b, -2), 2), n) // two elements in two bytes
		b = AppendLong(b, n+1)
		b = AppendLong(AppendLong(AppendLong(b, 1), 7), 0) // one more block
		b = AppendLong(AppendLong(b, 1), 3)
		for k := range int64(3) {
			b = AppendLong(AppendLong(b, k+1), 100*(k+1))
		}
		b = AppendLong(b, 0)
	}
	b = AppendLong(b, 2) // bounds
	b = AppendBytes(AppendLong(AppendLong(b, 1), 1), []byte("low"))
	b = AppendLong(AppendLong(b, 2147483546), 0)
	b = AppendLong(b, 0)
	b = AppendLong(b, 2) // recs
	b = AppendBytes(AppendLong(AppendBool(AppendLong(b, 1), true), 1), []byte("v"))
	b = AppendLong(AppendLong(b, 0), 0)
	b = AppendLong(b, 0)
	b = AppendLong(AppendString(AppendLong(b, 3), "k"), 0) // map of three kinds of values
	b = AppendString(AppendLong(AppendString(b, "k2"), 1), "v")
	b = AppendLong(AppendLong(AppendString(b, "k3"), 2), 9)
	b = AppendLong(b, 0)
	return AppendLong(b, 77)
}

func file(t testing.TB, codec string, records int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterConfig{Schema: []byte(everyKind), Codec: codec, Meta: map[string]string{"content": "data"}, BlockBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := w.Append(record(int64(i), i%3 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var everything = []Want{
	{ID: 1, Slot: 0},
	{ID: 2, Slot: 1},
	{ID: 3, Slot: 2},
	{ID: 4, Slot: 3},
	{ID: 5, Slot: 4},
	{ID: 6, Slot: 5},
	{ID: 7, Slot: 6},
	{ID: 8, Slot: 7},
	{ID: 9, Slot: 8},
	{ID: 10, Fields: []Want{{ID: 11, Slot: 9}, {ID: 12, Slot: 10}}},
	{ID: 13, Slot: 0, List: true},
	{ID: 14, Slot: 11, Keys: map[int]int{1: 11, 3: 11}, Sum: true},
	{ID: 15, Keys: map[int]int{1: 12, 2147483546: 13, 9: 14}},
	{ID: 16, Slot: 0, Each: []Want{{ID: 17, Slot: 0}, {ID: 18, Slot: 1}}},
	{ID: 20, Slot: 15},
	{ID: 99, Slot: 16},
}

func TestReadWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			f, err := Open(file(t, codec, 50))
			if err != nil {
				t.Fatal(err)
			}
			if string(f.Meta("content")) != "data" {
				t.Error("header lost")
			}
			s, err := ParseSchema(f.SchemaJSON())
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(s, everything)
			if err != nil {
				t.Fatal(err)
			}
			rows := f.Rows(p, nil)
			var row Row
			n := int64(0)
			for ; ; n++ {
				if err := rows.Next(&row); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				check(t, n, &row)
			}
			if n != 50 {
				t.Errorf("%d records", n)
			}
		})
	}
}

func check(t *testing.T, n int64, row *Row) {
	t.Helper()
	null := n%3 == 0
	num := func(slot int, want int64, has bool) {
		t.Helper()
		if row.Has[slot] != has || has && row.Num[slot] != want {
			t.Errorf("record %d slot %d: %d %v, want %d %v", n, slot, row.Num[slot], row.Has[slot], want, has)
		}
	}
	str := func(slot int, want string, has bool) {
		t.Helper()
		if (row.Bytes[slot] != nil) != has || string(row.Bytes[slot]) != want {
			t.Errorf("record %d slot %d: %q", n, slot, row.Bytes[slot])
		}
	}
	num(0, n%2, true)
	num(1, n, !null)
	num(2, n<<40, !null)
	num(3, int64(math.Float64bits(float64(n)+0.5)), true)
	num(4, int64(math.Float64bits(-float64(n))), true)
	str(5, "", true)
	if null {
		str(6, "", false)
	} else {
		str(6, fmt.Sprint("s", n), true)
	}
	str(7, string([]byte{1, 2, byte(n)}), true)
	num(8, 1, true)
	num(9, -n, true)
	str(10, "abc", true)
	num(11, 400, !null)
	str(12, "low", true)
	str(13, "", false)
	str(14, "", false)
	num(15, 77, true)
	num(16, 0, false)
	if null != (len(row.List[0]) == 0) || !null && (len(row.List[0]) != 3 || row.List[0][1] != n+1 || row.List[0][2] != 7) {
		t.Errorf("record %d: list %v", n, row.List[0])
	}
	if e := row.Each[0]; len(e) != 2 || e[0].Num[0] != 1 || !e[0].Has[0] || string(e[0].Bytes[1]) != "v" || e[1].Has[0] || e[1].Bytes[1] != nil {
		t.Errorf("record %d: each %+v", n, e)
	}
}

// Skipping everything but the last field reaches the same place.
func TestSkipping(t *testing.T) {
	t.Parallel()
	f, err := Open(file(t, "null", 20))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := ParseSchema(f.SchemaJSON())
	p, err := Compile(s, []Want{{ID: 20, Slot: 0}})
	if err != nil {
		t.Fatal(err)
	}
	rows := f.Rows(p, nil)
	var row Row
	for range 20 {
		if err := rows.Next(&row); err != nil || row.Num[0] != 77 {
			t.Fatal(row, err)
		}
	}
	if err := rows.Next(&row); err != io.EOF {
		t.Fatal(err)
	}
}

func TestSchemaRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `"int"` + strings.Repeat(`}`, 100)
	for _, text := range []string{
		``, `{`, `"unknown"`, `[]`, `{"type":"record","name":"r","fields":[{"name":"a","type":"r"}]}`, `{"type":"array"}`,
		`{"type":"record","name":"r","fields":[{"name":"a"}]}`, deep, `{"type":{"type":{"type":7}}}`, `{"type":"fixed","name":"f","size":-1}`,
	} {
		if _, err := ParseSchema([]byte(text)); err == nil {
			t.Errorf("%.60s: no error", text)
		}
	}
	for _, c := range []struct {
		typ  string
		want Want
	}{
		{`{"type":"array","items":"int"}`, Want{ID: 1}},
		{`"int"`, Want{ID: 1, List: true}},
		{`"int"`, Want{ID: 1, Fields: []Want{{ID: 2}}}},
		{`["null","int","string"]`, Want{ID: 1}},
		{`"string"`, Want{ID: 1, Keys: map[int]int{1: 1}}},
		{`{"type":"map","values":"int"}`, Want{ID: 1, Keys: map[int]int{1: 1}}},
		{`{"type":"array","items":"int"}`, Want{ID: 1, Each: []Want{{ID: 1}}}},
	} {
		s, err := ParseSchema([]byte(`{"type":"record","name":"r","fields":[{"name":"a","type":` + c.typ + `,"field-id":1}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(s, []Want{c.want}); err == nil {
			t.Errorf("%s: %+v was taken", c.typ, c.want)
		}
	}
}

func TestNamespacesAndSpelledOutPrimitives(t *testing.T) {
	t.Parallel()
	s, err := ParseSchema([]byte(`{"type":"record","name":"r","namespace":"a.b","fields":[{"name":"x","type":{"type":"fixed","name":"f","size":2},"field-id":1},
		{"name":"y","type":"a.b.f","field-id":2},{"name":"z","type":["null","f"],"field-id":3},{"name":"w","type":{"type":"int","logicalType":"date"},"field-id":4}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{1, 2, 3} {
		f, ok := s.Field(id)
		if !ok || f.Type.NonNull().Kind != Fixed || f.Type.NonNull().Size != 2 {
			t.Errorf("field %d: %+v", id, f.Type)
		}
	}
	if f, _ := s.Field(4); f.Type.Logical != "date" || f.Type.Kind != Int {
		t.Errorf("%+v", f.Type)
	}
}

// Every truncation and every flipped byte ends in a typed error or in records, never in a panic or a hang.
func TestP13_DamagedFiles(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		good := file(t, codec, 6)
		for i := range good {
			read(t, good[:i])
			bad := bytes.Clone(good)
			bad[i] ^= 0x55
			read(t, bad)
		}
	}
}

func read(t testing.TB, data []byte) (n int) {
	f, err := Open(data)
	if err == nil {
		var s *Schema
		if s, err = ParseSchema(f.SchemaJSON()); err != nil {
			return 0
		}
		var p *Program
		if p, err = Compile(s, everything); err != nil {
			return 0
		}
		rows := f.Rows(p, nil)
		var row Row
		for err == nil {
			err = rows.Next(&row)
			n++
		}
	}
	if err != io.EOF && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrCodec) {
		t.Fatalf("untyped error %v", err)
	}
	return n
}

// A small file that unpacks to gigabytes, and counts that promise more than there is.
func TestP13_BombsAreBounded(t *testing.T) {
	schema := []byte(`{"type":"record","name":"r","fields":[{"name":"a","type":"bytes","field-id":6}]}`)
	for _, codec := range []string{"deflate", "snappy", "zstandard"} {
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterConfig{Schema: schema, Codec: codec, BlockBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Append(AppendBytes(nil, make([]byte, MaxBlock+1))), w.Close()); err != nil {
			t.Fatal(err)
		}
		f, err := Open(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, _ := ParseSchema(f.SchemaJSON())
		p, _ := Compile(s, []Want{{ID: 6}})
		var row Row
		if err := f.Rows(p, nil).Next(&row); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", codec, err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, b := range [][]byte{AppendLong(nil, math.MaxInt64), AppendLong(nil, math.MinInt64), AppendLong(AppendLong(nil, 1<<40), 5)} {
		d := decoder{buf: b}
		d.exec([]op{{code: opList}}, &Row{List: make([][]int64, 1)})
		d = decoder{buf: b}
		d.exec([]op{{code: opSkipBlocks, n: 1}, {code: opSkipVar}}, &Row{})
		d = decoder{buf: b}
		d.exec([]op{{code: opSkipBytes}}, &Row{})
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
}

// The corpus holds manifests of Java, PyIceberg, Spark and others: each must read to its end.
func TestCorpusManifestsRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../shared/corpus/iceberg/*/metadata/*.avro")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, err := ParseSchema(f.SchemaJSON())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := Compile(s, []Want{{ID: 2, Fields: []Want{{ID: 100, Slot: 0}}}, {ID: 500, Slot: 0}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rows := f.Rows(p, nil)
		var row Row
		for {
			if err := rows.Next(&row); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if len(row.Bytes[0]) == 0 {
				t.Errorf("%s: record without a path", name)
			}
		}
	}
}

// A schema is parsed once, however many manifests carry it; of many, few are kept.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	c := schemaCache{max: 3}
	a, err := c.parse([]byte(everyKind))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.parse([]byte(everyKind)); err != nil || b != a {
		t.Errorf("parsed again: %v", err)
	}
	for i := range 10 {
		text := fmt.Appendf(nil, `{"type":"fixed","name":"f%d","size":%d}`, i, i)
		c.put(text, &Schema{Size: i})
		if s := c.get(text); s == nil || s.Size != i || len(c.mu.byText) > 3 {
			t.Errorf("schema %d: %v of %d", i, s, len(c.mu.byText))
		}
	}
	c.put(make([]byte, maxSchemaText+1), a)
	if len(c.mu.byText) > 3 || c.get(make([]byte, maxSchemaText+1)) != nil {
		t.Error("a very long text is kept")
	}
	if _, err := ParseSchema([]byte(`"nothing"`)); err == nil {
		t.Error("an unknown type")
	}
}
