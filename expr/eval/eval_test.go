package eval_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/expr/exprtest"
)

// table is a random batch with what it should hold, by column id.
type table struct {
	rec    arrow.RecordBatch
	schema *arrow.Schema
	cols   []exprtest.Column
	ids    []int
	values map[int][]any
	types  map[int]arrow.DataType
}

// randomTable has columns of some types: plain, as dictionaries, and inside two levels of structs, each sliced.
func randomTable(r *rand.Rand, mem memory.Allocator, rows int) *table {
	tb := &table{values: map[int][]any{}, types: map[int]arrow.DataType{}}
	before, after := r.IntN(70), r.IntN(3)
	n := before + rows + after
	var fields []arrow.Field
	var arrays []arrow.Array
	id := 0
	some := []arrow.DataType{randomType(r), randomType(r), randomType(r)} // few, so that columns can be compared
	column := func(path []string, hidden func(i int) bool) (arrow.Field, arrow.Array) {
		id++
		typ := some[r.IntN(len(some))]
		vals := make([]any, n)
		nulls := r.IntN(3)
		for i := range vals {
			if nulls == 0 || r.IntN(8) > nulls {
				vals[i] = exprtest.Random(r, typ)
			}
		}
		at := typ
		if r.IntN(3) == 0 {
			index := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int64}
			at = &arrow.DictionaryType{IndexType: index[r.IntN(len(index))], ValueType: typ}
		}
		a := exprtest.Array(mem, at, vals)
		kept := exprtest.Values(a, vals)[before : before+rows]
		for i := range kept {
			if hidden != nil && hidden(before+i) {
				kept[i] = nil
			}
		}
		name := exprtest.Name(id, typ)
		tb.cols = append(tb.cols, exprtest.Column{Path: append(slices.Clone(path), name), Type: typ})
		tb.ids = append(tb.ids, id)
		tb.values[id], tb.types[id] = kept, typ
		return expr.WithFieldID(arrow.Field{Name: name, Type: at, Nullable: true}, id), a
	}
	add := func(f arrow.Field, a arrow.Array) {
		fields, arrays = append(fields, f), append(arrays, a)
	}
	for range 4 {
		add(column(nil, nil))
	}
	outerValid := func(i int) bool { return i%5 != 0 }
	innerValid := func(i int) bool { return i%3 != 0 }
	f, a := column([]string{"outer", "inner"}, func(i int) bool { return !outerValid(i) || !innerValid(i) })
	inner := exprtest.StructOf([]arrow.Field{f}, []arrow.Array{a}, n, innerValid)
	innerField := expr.WithFieldID(arrow.Field{Name: "inner", Type: inner.DataType(), Nullable: true}, 101)
	g, b := column([]string{"outer"}, func(i int) bool { return !outerValid(i) })
	outer := exprtest.StructOf([]arrow.Field{innerField, g}, []arrow.Array{inner, b}, n, outerValid)
	add(expr.WithFieldID(arrow.Field{Name: "outer", Type: outer.DataType(), Nullable: true}, 100), outer)
	for _, x := range []arrow.Array{a, b, inner} {
		x.Release()
	}
	tb.schema = arrow.NewSchema(fields, nil)
	whole := array.NewRecordBatch(tb.schema, arrays, int64(n))
	tb.rec = whole.NewSlice(int64(before), int64(before+rows))
	whole.Release()
	for _, x := range arrays {
		x.Release()
	}
	return tb
}

func randomType(r *rand.Rand) arrow.DataType { return exprtest.Types[r.IntN(len(exprtest.Types))] }

func (tb *table) row(i int) func(expr.Column) exprtest.Value {
	return func(c expr.Column) exprtest.Value {
		id := c.ID
		if id == 0 {
			for k, col := range tb.cols {
				if slices.Equal(col.Path, c.Path) {
					id = tb.ids[k]
				}
			}
		}
		return exprtest.Value{Type: tb.types[id], Value: tb.values[id][i]}
	}
}

// Random trees over random batches select the rows that the reference selects.
func TestAgainstReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			r := rand.New(rand.NewPCG(seed, 7))
			var sel eval.Selection
			for range 4 {
				tb := randomTable(r, mem, []int{0, 1, 63, 64, 65, 200, 331}[r.IntN(7)])
				for range 40 {
					e := exprtest.Tree(r, tb.cols, 3)
					b, err := expr.Bind(e, tb.schema, expr.BindOptions{})
					if err != nil {
						continue
					}
					check(t, tb, b, &sel)
				}
				tb.rec.Release()
			}
		})
	}
}

func check(t *testing.T, tb *table, b expr.Expr, sel *eval.Selection) {
	t.Helper()
	ev, err := eval.New(b, tb.schema)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if err := ev.Eval(tb.rec, sel); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	n := int(tb.rec.NumRows())
	count := 0
	for i := range n {
		want := exprtest.Evaluate(b, tb.row(i)) == exprtest.True
		if sel.Has(i) != want {
			t.Fatalf("%s\nrow %d of %d: selected %v", b, i, n, sel.Has(i))
		}
		if want {
			count++
		}
	}
	if sel.Count() != count || sel.Len() != n || len(sel.Bits()) != (n+7)/8 {
		t.Fatalf("%s: %d of %d, want %d of %d", b, sel.Count(), sel.Len(), count, n)
	}
	next := 0
	for from, to := range sel.Runs() {
		for ; next < from; next++ {
			if sel.Has(next) {
				t.Fatalf("row %d is missing from the runs", next)
			}
		}
		for ; next < to; next++ {
			if !sel.Has(next) || sel.Bits()[next/8]>>(next%8)&1 == 0 {
				t.Fatalf("row %d is too much in the runs", next)
			}
		}
	}
	for ; next < n; next++ {
		if sel.Has(next) {
			t.Fatalf("row %d is missing from the runs", next)
		}
	}
}

func schemaOf(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

func field(name string, id int, t arrow.DataType) arrow.Field {
	return expr.WithFieldID(arrow.Field{Name: name, Type: t, Nullable: true}, id)
}

func bind(t testing.TB, text string, s *arrow.Schema) expr.Expr {
	t.Helper()
	b, err := expr.Bind(expr.MustParse(text), s, expr.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func one(t testing.TB, f arrow.Field, vals ...any) arrow.RecordBatch {
	t.Helper()
	a := exprtest.Array(memory.DefaultAllocator, f.Type, vals)
	defer a.Release()
	return array.NewRecordBatch(schemaOf(f), []arrow.Array{a}, int64(len(vals)))
}

// Dictionaries that are larger than the batch are tested row by row, others entry by entry; a large IN uses a table.
func TestDictionarySizes(t *testing.T) {
	t.Parallel()
	f := field("s", 1, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String})
	vals := make([]any, 300)
	for i := range vals {
		vals[i] = fmt.Sprintf("v%02d", i%90)
		if i%90 == 7 {
			vals[i] = nil
		}
	}
	rec := one(t, f, vals...)
	var sel eval.Selection
	for text, want := range map[string]func(s string) bool{
		`s in ('v03', 'v05')`:     func(s string) bool { return s == "v03" || s == "v05" },
		`s not in ('v03', 'v05')`: func(s string) bool { return s != "v03" && s != "v05" },
		`s like '%4'`:             func(s string) bool { return s[2] == '4' },
		`s < 'v40'`:               func(s string) bool { return s < "v40" },
	} {
		for _, size := range []int{300, 20} {
			part := rec.NewSlice(0, int64(size))
			ev, err := eval.New(bind(t, text, schemaOf(f)), schemaOf(f))
			if err != nil {
				t.Fatal(err)
			}
			if err := ev.Eval(part, &sel); err != nil {
				t.Fatal(err)
			}
			for i := range size {
				s, ok := vals[i].(string)
				if sel.Has(i) != (ok && want(s)) {
					t.Errorf("%s of %d rows: row %d (%v) is %v", text, size, i, vals[i], sel.Has(i))
				}
			}
		}
	}
}

func TestLargeIn(t *testing.T) {
	t.Parallel()
	for _, spread := range []int64{1, 3, 1 << 40} {
		in := expr.In{Col: expr.Col("x")}
		vals := []any{}
		for i := range int64(1000) {
			in.Lits = append(in.Lits, expr.Lit((i-500)*2*spread))
			vals = append(vals, (i-500)*spread)
		}
		f := field("x", 1, arrow.PrimitiveTypes.Int64)
		b, err := expr.Bind(in, schemaOf(f), expr.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := eval.New(b, schemaOf(f))
		if err != nil {
			t.Fatal(err)
		}
		var sel eval.Selection
		if err := ev.Eval(one(t, f, vals...), &sel); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			if sel.Has(i) != (i%2 == 0) {
				t.Fatalf("spread %d: row %d is %v", spread, i, sel.Has(i))
			}
		}
	}
}

type contains string

func (c contains) Match(v []byte) bool { return string(v) == string(c) }
func (c contains) Config() string      { return "test" }

func TestMatch(t *testing.T) {
	t.Parallel()
	f := field("s", 1, arrow.BinaryTypes.String)
	b := bind(t, "not match(s, 'x')", schemaOf(f))
	if _, err := eval.New(b, schemaOf(f)); err == nil {
		t.Error("a Match without a Matcher compiles")
	}
	m := b.(expr.Match)
	m.Matcher = contains("x")
	ev, err := eval.New(m, schemaOf(f))
	if err != nil {
		t.Fatal(err)
	}
	var sel eval.Selection
	if err := ev.Eval(one(t, f, "x", "y", nil), &sel); err != nil || sel.Has(0) || !sel.Has(1) || sel.Has(2) {
		t.Errorf("%v, %v", err, sel.Bits())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	f := field("x", 1, arrow.PrimitiveTypes.Int64)
	for _, e := range []expr.Expr{nil, expr.Not{X: expr.Bool(true)}, expr.Compare{Col: expr.Col("x"), Lit: expr.Lit(1)}, expr.In{Col: expr.Col("x")}} {
		if _, err := eval.New(e, schemaOf(f)); err == nil {
			t.Errorf("%v compiles although it is not bound", e)
		}
	}
	b := bind(t, "x > 1", schemaOf(f))
	for _, g := range []arrow.Field{field("x", 2, arrow.PrimitiveTypes.Int64), field("x", 1, arrow.PrimitiveTypes.Int32)} {
		if _, err := eval.New(b, schemaOf(g)); !errors.Is(err, eval.ErrType) {
			t.Errorf("schema %v: %v", g, err)
		}
	}
	ev, err := eval.New(b, schemaOf(f))
	if err != nil {
		t.Fatal(err)
	}
	var sel eval.Selection
	if err := ev.Eval(one(t, field("x", 1, arrow.PrimitiveTypes.Int32), int64(2)), &sel); !errors.Is(err, eval.ErrType) || sel.Len() != 0 {
		t.Errorf("a batch of another type: %v", err)
	}
}

// Malformed arrays are errors: offsets outside the text, indices outside the dictionary, buffers that are too short.
func TestMalformedArrays(t *testing.T) {
	t.Parallel()
	le := func(vals ...uint32) *memory.Buffer {
		b := []byte{}
		for _, v := range vals {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return memory.NewBufferBytes(b)
	}
	str := arrow.BinaryTypes.String
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: str}
	entries := exprtest.Array(memory.DefaultAllocator, str, []any{"a", "b"})
	for _, c := range []struct {
		name string
		typ  arrow.DataType
		text string
		data arrow.ArrayData
	}{
		{"offsets fall", str, "x = 'a'", array.NewData(str, 2, []*memory.Buffer{nil, le(0, 5, 2), memory.NewBufferBytes([]byte("abcdef"))}, nil, 0, 0)},
		{"offsets beyond", str, "x = 'a'", array.NewData(str, 1, []*memory.Buffer{nil, le(0, 9), memory.NewBufferBytes([]byte("abcdef"))}, nil, 0, 0)},
		{"short offsets", str, "x like '%a_'", array.NewData(str, 3, []*memory.Buffer{nil, le(0, 1), memory.NewBufferBytes([]byte("abcdef"))}, nil, 0, 0)},
		{"short values", arrow.PrimitiveTypes.Int32, "x = 1", array.NewData(arrow.PrimitiveTypes.Int32, 3, []*memory.Buffer{nil, le(0, 1)}, nil, 0, 0)},
		{"index beyond", dict, "x = 'a'", array.NewDataWithDictionary(dict, 3, []*memory.Buffer{nil, le(0, 1, 2)}, 0, 0, entries.Data().(*array.Data))},
	} {
		f := field("x", 1, c.typ)
		ev, err := eval.New(bind(t, c.text, schemaOf(f)), schemaOf(f))
		if err != nil {
			t.Fatal(err)
		}
		var sel eval.Selection
		if err := ev.Eval(fake{data: c.data, schema: schemaOf(f)}, &sel); !errors.Is(err, eval.ErrType) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// fake is a batch of one malformed column, which arrow-go would not construct.
type fake struct {
	arrow.RecordBatch
	data   arrow.ArrayData
	schema *arrow.Schema
}

func (f fake) NumRows() int64         { return int64(f.data.Len()) }
func (f fake) NumCols() int64         { return 1 }
func (f fake) Column(int) arrow.Array { return fakeArray{data: f.data} }

type fakeArray struct {
	arrow.Array
	data arrow.ArrayData
}

func (a fakeArray) Data() arrow.ArrayData { return a.data }

// A steady stream of batches allocates nothing.
func TestNoAllocations(t *testing.T) {
	f := field("x", 1, arrow.PrimitiveTypes.Int64)
	g := field("s", 2, arrow.BinaryTypes.String)
	xs, ss := make([]any, 5000), make([]any, 5000)
	for i := range xs {
		xs[i], ss[i] = int64(i%100), fmt.Sprint("text ", i%100)
	}
	a, b := exprtest.Array(memory.DefaultAllocator, f.Type, xs), exprtest.Array(memory.DefaultAllocator, g.Type, ss)
	rec := array.NewRecordBatch(schemaOf(f, g), []arrow.Array{a, b}, 5000)
	ev, err := eval.New(bind(t, `(x between 5 and 70 and s <> 'text 9') or s like '%9_' or x in (1, 2, 3, 90000000) or s is null`, schemaOf(f, g)), schemaOf(f, g))
	if err != nil {
		t.Fatal(err)
	}
	var sel eval.Selection
	if n := testing.AllocsPerRun(20, func() {
		if err := ev.Eval(rec, &sel); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
