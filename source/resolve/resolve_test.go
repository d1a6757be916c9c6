package resolve

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
)

type resolveCase struct {
	name      string
	file      string
	want      string
	mapping   string
	constants map[int]expr.Literal
	defaults  map[int]expr.Literal
	plan      string // expected, or:
	err       string // a part of the error
	class     error
}

func (c resolveCase) run(t *testing.T) {
	t.Parallel()
	in := Input{Want: schema(t, c.want), Constants: c.constants, Defaults: c.defaults, File: "s3://b/f.parquet", FirstRowID: -1}
	if c.mapping != "" {
		n, err := ParseNames([]byte(c.mapping))
		if err != nil {
			t.Fatal(err)
		}
		in.Names = n
	}
	p, err := New(schema(t, c.file), in)
	if c.err != "" {
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrInvalid) || c.class != nil && !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.err) {
			t.Fatalf("error %v, want one with %q", err, c.err)
		}
		if e.File != in.File || !strings.Contains(err.Error(), in.File) {
			t.Fatalf("error does not name the file: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(p), lines(c.plan); got != want {
		t.Errorf("plan\n%swant\n%s", got, want)
	}
}

func lit(t arrow.DataType, v any) expr.Literal { return expr.Literal{Type: t, Value: v} }

var (
	i32 = arrow.PrimitiveTypes.Int32
	i64 = arrow.PrimitiveTypes.Int64
	str = arrow.BinaryTypes.String
)

func TestL15_IDsAtEveryLevel(t *testing.T) {
	t.Parallel()
	for _, c := range []resolveCase{
		{name: "same file", file: "1 s {2 x int32}", want: "1 s {2 x int32}", plan: `
			s: read s
			  x: read s/x`},
		{name: "re-added under the same names", file: "1 s {2 x int32}", want: "5 s {6 x int32}", plan: `
			s: null
			  x: null`},
		{name: "renamed at top and inside", file: "1 s {2 x int32}, 3 k int64", want: "3 key int64, 1 t {2 y int32}", plan: `
			key: read k
			t: read s
			  y: read s/x`},
		{name: "inner re-added", file: "1 s {2 x int32}", want: "1 s {7 x int32}", plan: `
			s: read s
			  x: null`},
		{name: "names swapped", file: "1 a int32, 2 b int32", want: "2 a int32, 1 b int32", plan: `
			a: read b
			b: read a`},
		{name: "reordered inside a list of structs", file: "1 l [2 element {3 a int32, 4 b int32}]", want: "1 l [2 element {4 b int32, 3 a int32}]", plan: `
			l: read l
			  element: read l/element
			    b: read l/element/b
			    a: read l/element/a`},
		{name: "map value struct", file: "1 m <2 key string, 3 value {4 a int32}>", want: "1 m <2 key string, 3 value {5 n int32, 4 a int32}>", plan: `
			m: read m
			  key: read m/key
			  value: read m/value
			    n: null
			    a: read m/value/a`},
		{name: "columns without an id are invisible", file: "1 a int32, - b int32", want: "1 a int32, 2 b int32", plan: `
			a: read a
			b: null`},
		{name: "dots belong to names", file: "1 a.b int32, 2 a {3 b int32}", want: "1 a.b int32, 2 a {3 b int32}", plan: `
			a.b: read a.b
			a: read a
			  b: read a/b`},
		{name: "one id twice", file: "1 a int32, 1 b int32", want: "1 a int32", err: `two such columns, "a" and "b"`},
	} {
		t.Run(c.name, c.run)
	}
}

func TestL18_IdentityConstants(t *testing.T) {
	t.Parallel()
	for _, c := range []resolveCase{
		{name: "absent column", file: "1 a int32", want: "1 a int32, 2 p int32", constants: map[int]expr.Literal{2: lit(i32, int64(7))}, plan: `
			a: read a
			p: const 7`},
		{name: "null", file: "1 a int32", want: "2 p int32", constants: map[int]expr.Literal{2: lit(i32, nil)}, plan: "p: null"},
		{
			name: "null goes before the default", file: "1 a int32", want: "2 p int32", constants: map[int]expr.Literal{2: lit(i32, nil)},
			defaults: map[int]expr.Literal{2: lit(i32, int64(9))}, plan: "p: null",
		},
		{name: "the file has it", file: "2 p int32", want: "2 p int32", constants: map[int]expr.Literal{2: lit(i32, int64(7))}, plan: "p: read p"},
		{
			name: "before the mapping", file: "- p int32", want: "2 p int32", mapping: `[{"field-id":2,"names":["p"]}]`,
			constants: map[int]expr.Literal{2: lit(i32, int64(7))}, plan: "p: const 7",
		},
		{name: "file without ids, constants only", file: "- a int32", want: "2 p int32", constants: map[int]expr.Literal{2: lit(i32, int64(7))}, plan: "p: const 7"},
		{name: "inside a struct of the file", file: "1 s {2 x int32}", want: "1 s {2 x int32, 3 p string}", constants: map[int]expr.Literal{3: lit(str, "v")}, plan: `
			s: read s
			  x: read s/x
			  p: const v`},
		{name: "proves an absent struct", file: "9 z int32", want: "1 s {2 x int32, 3 p string}", constants: map[int]expr.Literal{3: lit(str, "v")}, plan: `
			s: const {}
			  x: null
			  p: const v`},
		{name: "null proves nothing", file: "9 z int32", want: "1 s {3 p string}", constants: map[int]expr.Literal{3: lit(str, nil)}, plan: `
			s: null
			  p: null`},
		{name: "wrong type", file: "1 a int32", want: "2 p int32", constants: map[int]expr.Literal{2: lit(str, "x")}, err: "cannot be read as int32"},
	} {
		t.Run(c.name, c.run)
	}
}

func TestL19_NameMapping(t *testing.T) {
	t.Parallel()
	const mapping = `[{"field-id":1,"names":["first"]},{"field-id":2,"names":["second","renamed"]},{"names":["third"]},
		{"field-id":4,"names":["s"],"fields":[{"field-id":5,"names":["a.b","c"]}]}]`
	for _, c := range []resolveCase{
		{name: "several names an id", file: "- first int32, - second int32, - third int32", want: "1 first int32, 2 renamed int32, 3 third int32", mapping: mapping, plan: `
			first: read first
			renamed: read second
			third: null`},
		{name: "the newer name", file: "- renamed int32", want: "2 renamed int32", mapping: mapping, plan: "renamed: read renamed"},
		{name: "nested, dots literal", file: "- s {- a.b int32, - c2 int32}", want: "4 s {5 x int32}", mapping: mapping, plan: `
			s: read s
			  x: read s/a.b`},
		{name: "two of the names", file: "- second int32, - renamed int32", want: "2 x int32", mapping: mapping, err: "two such columns"},
		{name: "case counts", file: "- FIRST int32", want: "1 first int32", mapping: mapping, plan: "first: null"},
		{name: "no mapping", file: "- first int32", want: "1 first int32", err: "schema.name-mapping.default", class: ErrNoIDs},
		{name: "empty mapping", file: "- first int32", want: "1 first int32", mapping: "[]", plan: "first: null"},
		{name: "ids win, the mapping is not asked", file: "7 first int32, 1 other int32", want: "1 first int32", mapping: mapping, plan: "first: read other"},
		{name: "ids at depth count", file: "- first {9 x int32}", want: "1 first {2 x int32}", mapping: mapping, plan: `
			first: null
			  x: null`},
		{name: "nothing wanted", file: "- first int32", want: "", plan: "\n"},
	} {
		t.Run(c.name, c.run)
	}
}

func TestL20_ListsAndMapsByStructure(t *testing.T) {
	t.Parallel()
	const mapping = `[{"field-id":1,"names":["l"],"fields":[{"field-id":2,"names":["element"],"fields":[{"field-id":3,"names":["x"]}]}]},
		{"field-id":4,"names":["m"],"fields":[{"field-id":5,"names":["key"]},{"field-id":6,"names":["value"]}]}]`
	for _, c := range []resolveCase{
		{name: "odd names", file: "1 l [2 array_element int32], 3 m <4 k string, 5 v int32>", want: "1 l [2 element int64], 3 m <4 key string, 5 value int32>", plan: `
			l: read l
			  element: read l/array_element
			m: read m
			  key: read m/key
			  value: read m/value`},
		{name: "inner ids missing", file: "1 l [- item int32]", want: "1 l [2 element int32]", plan: `
			l: read l
			  element: read l/item`},
		{name: "mapping, odd names", file: "- l [- array_element {- x int32}], - m <- k string, - v int32>", want: "1 l [2 element {3 y int32}], 4 m <5 key string, 6 value int32>", mapping: mapping, plan: `
			l: read l
			  element: read l/array_element
			    y: read l/array_element/x
			m: read m
			  key: read m/key
			  value: read m/value`},
		{name: "another id", file: "1 l [9 element int32]", want: "1 l [2 element int32]", err: "another field id"},
		{name: "list for a map", file: "1 l [2 element int32]", want: "1 l <2 key string, 3 value int32>", err: "cannot be read"},
		{name: "struct for a list", file: "1 l {2 element int32}", want: "1 l [2 element int32]", err: "cannot be read"},
		{name: "leaf for a struct", file: "1 l int32", want: "1 l {2 element int32}", err: "cannot be read"},
		{name: "absent list", file: "9 z int32", want: "1 l [2 element int32]", plan: "l: null"},
	} {
		t.Run(c.name, c.run)
	}
}

func TestL21_Defaults(t *testing.T) {
	t.Parallel()
	nine := map[int]expr.Literal{2: lit(i32, int64(9))}
	for _, c := range []resolveCase{
		{name: "top", file: "1 a int32", want: "1 a int32, 2 c int32", defaults: nine, plan: `
			a: read a
			c: const 9`},
		{name: "widened", file: "1 a int32", want: "2 c int64", defaults: nine, plan: "c: const 9"},
		{name: "required", file: "1 a int32", want: "2 c int32!", defaults: nine, plan: "c: const 9"},
		{name: "required without", file: "1 a int32", want: "2 c int32!", err: "required"},
		{name: "required inside", file: "1 s {3 x int32}", want: "1 s {2 c int32!}", err: `"s.c" (id 2)`},
		{name: "inside a struct of the file", file: "1 s {3 x int32}", want: "1 s {2 c int32}", defaults: nine, plan: `
			s: read s
			  c: const 9`},
		{name: "inside a list", file: "1 l [4 element {3 x int32}]", want: "1 l [4 element {2 c int32}]", defaults: nine, plan: `
			l: read l
			  element: read l/element
			    c: const 9`},
		{name: "inside a null struct", file: "3 x int32", want: "1 s {2 c int32!}", defaults: nine, plan: `
			s: null
			  c: null`},
		{name: "struct with an empty default", file: "3 x int32", want: "1 s {2 c int32}", defaults: map[int]expr.Literal{1: {Value: map[string]any{}}, 2: lit(i32, int64(9))}, plan: `
			s: const {}
			  c: const 9`},
		{name: "present column", file: "2 c int32", want: "2 c int32", defaults: nine, plan: "c: read c"},
		{name: "unknown type", file: "2 c int32", want: "2 c null", plan: "c: null"},
	} {
		t.Run(c.name, c.run)
	}
}

func TestWantWithoutIDsIsFoundByName(t *testing.T) {
	t.Parallel()
	for _, c := range []resolveCase{
		{name: "file with ids", file: "1 a int32, 2 s {3 x int32}", want: "- a int32, - s {- x int32}", plan: `
			a: read a
			s: read s
			  x: read s/x`},
		{name: "file without", file: "- a int32", want: "- a int64, - b int64", plan: `
			a: read a
			b: null`},
	} {
		t.Run(c.name, c.run)
	}
}

func TestPromotions(t *testing.T) {
	t.Parallel()
	types := []string{
		"bool", "int8", "int32", "int64", "uint32", "uint64", "float", "double", "string", "binary", "date", "ts", "ts_ms", "tsz",
		"ts_ns", "time", "time_ms", "dec9_2", "dec18_2", "dec18_3", "fixed4", "fixed16",
	}
	readable := map[string]string{ // table type: file types beside itself
		"int32": "int8", "int64": "int8 int32 uint32", "double": "float", "string": "binary",
		"ts": "date ts_ms tsz ts_ns", "ts_ms": "date ts tsz ts_ns", "tsz": "ts ts_ms ts_ns", "ts_ns": "date ts ts_ms tsz",
		"time": "time_ms", "time_ms": "time", "dec18_2": "dec9_2",
	}
	for _, w := range types {
		for _, f := range types {
			ok := f == w
			for _, r := range strings.Fields(readable[w]) {
				ok = ok || r == f
			}
			_, err := New(schema(t, "1 c "+f), Input{Want: schema(t, "1 c "+w), File: "f"})
			if ok != (err == nil) {
				t.Errorf("file %s as %s: error %v, readable %v", f, w, err, ok)
			}
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("file %s as %s: %v is no ErrInvalid", f, w, err)
			}
		}
	}
}

func TestWiden(t *testing.T) {
	t.Parallel()
	date, us, ns := arrow.FixedWidthTypes.Date32, leafTypes["ts"], leafTypes["ts_ns"]
	for _, c := range []struct {
		in   expr.Literal
		to   arrow.DataType
		want any // nil = error
	}{
		{lit(i32, int64(7)), i64, int64(7)},
		{lit(arrow.PrimitiveTypes.Uint32, uint64(7)), i64, int64(7)},
		{lit(arrow.PrimitiveTypes.Float32, 1.5), arrow.PrimitiveTypes.Float64, 1.5},
		{lit(date, int64(-1)), us, int64(-86_400_000_000)},
		{lit(date, int64(1)), ns, int64(86_400_000_000_000)},
		{lit(date, int64(1<<40)), ns, nil},
		{lit(ns, int64(-1)), us, int64(-1)},
		{lit(ns, int64(-1000)), us, int64(-1)},
		{lit(us, int64(1)<<62), ns, nil},
		{lit(leafTypes["binary"], []byte("ab")), str, "ab"},
		{lit(leafTypes["dec9_2"], big.NewInt(5)), leafTypes["dec18_2"], big.NewInt(5)},
		{lit(i64, int64(7)), i32, nil},
		{lit(i64, "seven"), i64, nil},
		{lit(leafTypes["fixed4"], []byte("abc")), leafTypes["fixed4"], nil},
		{lit(str, "x"), leafTypes["binary"], nil},
	} {
		got, err := Widen(c.in, c.to)
		if (c.want == nil) != (err != nil) {
			t.Errorf("%v %v to %v: %v, error %v", c.in.Type, c.in.Value, c.to, got.Value, err)
			continue
		}
		if b, ok := c.want.(*big.Int); ok && b.Cmp(got.Value.(*big.Int)) != 0 || !ok && c.want != nil && got.Value != c.want {
			t.Errorf("%v %v to %v: %v, want %v", c.in.Type, c.in.Value, c.to, got.Value, c.want)
		}
	}
}

func TestMetadataColumns(t *testing.T) {
	t.Parallel()
	want := "2147483646 _file string, 2147483645 _pos int64, 2147483643 _spec_id int32, 2147483642 _partition {1000 p int64, 1001 q int32}, " +
		"2147483540 _row_id int64, 2147483539 _seq int64"
	in := Input{
		Want: schema(t, want), File: "s3a://b/f", SpecID: 3, FirstRowID: 100, DataSequence: 8,
		Partition: map[int]expr.Literal{1000: lit(i32, int64(7))},
	}
	for _, c := range []struct {
		name, file, tail string
		first            int64
	}{
		{"new file", "- a int32", "_row_id: null\n  fill 100 position=true\n_seq: null\n  fill 8 position=false\n", 100},
		{"rewritten file", "1 a int32, 2147483540 r int64, 2147483539 s int64", "_row_id: read r\n  fill 100 position=true\n_seq: read s\n  fill 8 position=false\n", 100},
		{"no lineage", "1 a int32, 2147483540 r int64, 2147483539 s int64", "_row_id: null\n_seq: null\n", -1},
	} {
		in := in
		in.FirstRowID = c.first
		p, err := New(schema(t, c.file), in)
		if err != nil {
			t.Fatal(err)
		}
		head := "_file: const s3a://b/f\n_pos: position\n_spec_id: const 3\n_partition: const {}\n  p: const 7\n  q: null\n"
		if got := show(p); got != head+c.tail {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

func TestFillApply(t *testing.T) {
	t.Parallel()
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewInt64Builder(mem)
	b.AppendValues([]int64{5, 0, 0}, []bool{true, false, false})
	col := b.NewArray()
	b.Release()
	defer col.Release()
	for _, c := range []struct {
		fill      Fill
		positions []int64
		want      string
	}{
		{Fill{Base: 100, Position: true}, nil, "[5 141 142]"},
		{Fill{Base: 100, Position: true}, []int64{3, 7, 9}, "[5 107 109]"},
		{Fill{Base: 8}, []int64{3, 7, 9}, "[5 8 8]"},
	} {
		got, err := c.fill.Apply(col, 40, c.positions, mem)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != c.want {
			t.Errorf("%+v: %v, want %s", c.fill, got, c.want)
		}
		got.Release()
	}
}

func TestParseNamesRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not JSON":   "x",
		"a name two": `[{"field-id":1,"names":["a"]},{"field-id":2,"names":["a"]}]`,
		"tail":       `[] []`,
		"deep":       strings.Repeat(`[{"names":["a"],"fields":`, 100) + "[]" + strings.Repeat("}]", 100),
	} {
		if _, err := ParseNames([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
