package nested

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// A value is nil, a number, []any (list, or struct in the order of fields) or []pair (map).
type pair struct{ key, value any }

// text is the canonical text of a value, by the schema; what the assembled array must show.
func text(n *schema.Node, v any) string {
	if v == nil {
		return "null"
	}
	var parts []string
	switch n.Kind {
	case schema.List:
		for _, e := range v.([]any) {
			parts = append(parts, text(n.Element(), e))
		}
	case schema.Map:
		for _, p := range v.([]pair) {
			parts = append(parts, "["+text(n.Key(), p.key)+","+text(n.Value(), p.value)+"]")
		}
	case schema.Struct:
		for i, c := range n.Children {
			parts = append(parts, strconv.Quote(c.Name)+":"+text(c, v.([]any)[i]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	default:
		return fmt.Sprint(v)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// shredded is what a file holds of one leaf.
type shredded struct {
	Levels
	values []any // one an entry; nil where the entry has none
}

// shred writes one value the way Dremel's record shredding does: each leaf gets an entry with the level at which it repeats
// and the level to which its path is defined. Written from the paper, apart from the code under test.
func shred(leaves []*shredded, n *schema.Node, v any, rep int, def int) {
	absent := func() {
		for i := n.Leaf; i < n.Leaf+n.Leaves; i++ {
			leaves[i].Rep = append(leaves[i].Rep, uint8(rep))
			leaves[i].Def = append(leaves[i].Def, uint8(def))
			leaves[i].values = append(leaves[i].values, nil)
		}
	}
	if v == nil {
		absent()
		return
	}
	switch n.Kind {
	case schema.List, schema.Map:
		if n.Repetition == thrift.Optional {
			def++
		}
		count := 0
		entry := func(f func(rep int)) {
			r := rep
			if count++; count > 1 {
				r = n.Repeated().Rep
			}
			f(r)
		}
		if n.Kind == schema.List {
			for _, e := range v.([]any) {
				entry(func(r int) { shredEntry(leaves, n.Repeated(), []*schema.Node{n.Element()}, []any{e}, r, def+1) })
			}
		} else {
			for _, p := range v.([]pair) {
				entry(func(r int) {
					shredEntry(leaves, n.Repeated(), []*schema.Node{n.Key(), n.Value()}, []any{p.key, p.value}, r, def+1)
				})
			}
		}
		if count == 0 {
			absent()
		}
	case schema.Struct:
		if n.Repetition == thrift.Optional {
			def++
		}
		for i, c := range n.Children {
			shred(leaves, c, v.([]any)[i], rep, def)
		}
	default:
		if n.Repetition == thrift.Optional {
			def++
		}
		l := leaves[n.Leaf]
		l.Rep, l.Def, l.values = append(l.Rep, uint8(rep)), append(l.Def, uint8(def)), append(l.values, v)
	}
}

func shredEntry(leaves []*shredded, r *schema.Node, nodes []*schema.Node, values []any, rep, def int) {
	for i, n := range nodes {
		shred(leaves, n, values[i], rep, def)
	}
}

// random schemas and values

type generator struct {
	r        *rand.Rand
	elements []thrift.SchemaElement
	names    int
}

func (g *generator) add(e thrift.SchemaElement) int {
	e.Converted = thrift.NoConverted
	if e.Name == "" {
		g.names++
		e.Name = "f" + strconv.Itoa(g.names)
	}
	g.elements = append(g.elements, e)
	return len(g.elements) - 1
}

func (g *generator) repetition() thrift.Repetition { return thrift.Repetition(g.r.IntN(2)) }

func (g *generator) leaf(rep thrift.Repetition) {
	g.add(thrift.SchemaElement{Type: thrift.Int32, HasType: true, Repetition: rep})
}

// field adds a field of any kind; lists come in all the shapes that the rules for old files know.
func (g *generator) field(depth int, rep thrift.Repetition) {
	kind := g.r.IntN(6)
	if depth == 0 {
		kind = 0
	}
	group := func(logical thrift.LogicalKind, rep thrift.Repetition, children int32) {
		g.add(thrift.SchemaElement{Type: thrift.NoType, NumChildren: children, Repetition: rep, Logical: thrift.Logical{Kind: logical}})
	}
	named := func(name string, rep thrift.Repetition, children int32) {
		g.add(thrift.SchemaElement{Name: name, Type: thrift.NoType, NumChildren: children, Repetition: rep})
	}
	switch kind {
	case 0, 1:
		g.leaf(rep)
	case 2: // three-level list, whatever its groups are called
		group(thrift.LogicalList, rep, 1)
		named([]string{"list", "bag", "odd"}[g.r.IntN(3)], thrift.Repeated, 1)
		g.field(depth-1, g.repetition())
	case 3: // two-level list: of numbers, or of structs by the name "array" or by the number of fields
		group(thrift.LogicalList, rep, 1)
		switch g.r.IntN(3) {
		case 0:
			g.leaf(thrift.Repeated)
		case 1:
			named("array", thrift.Repeated, 1)
			g.field(depth-1, g.repetition())
		default:
			named("x", thrift.Repeated, 2)
			g.field(depth-1, g.repetition())
			g.field(depth-1, g.repetition())
		}
	case 4:
		group(thrift.LogicalMap, rep, 1)
		named([]string{"key_value", "map"}[g.r.IntN(2)], thrift.Repeated, 2)
		g.leaf(thrift.Required)
		g.field(depth-1, g.repetition())
	case 5:
		n := 1 + g.r.IntN(3)
		group(thrift.NoLogical, rep, int32(n))
		for range n {
			if g.r.IntN(8) == 0 { // a bare repeated field is a list
				g.leaf(thrift.Repeated)
				continue
			}
			g.field(depth-1, g.repetition())
		}
	}
}

func (g *generator) value(n *schema.Node) any {
	if n.Repetition == thrift.Optional && g.r.IntN(4) == 0 {
		return nil
	}
	count := []int{0, 1, 2, 3, 3}[g.r.IntN(5)]
	switch n.Kind {
	case schema.List:
		out := []any{}
		for range count {
			out = append(out, g.value(n.Element()))
		}
		return out
	case schema.Map:
		out := []pair{}
		for range count {
			out = append(out, pair{g.value(n.Key()), g.value(n.Value())})
		}
		return out
	case schema.Struct:
		var out []any
		for _, c := range n.Children {
			out = append(out, g.value(c))
		}
		return out
	}
	return int32(g.r.IntN(100))
}

// want asks for everything as the file has it.
func want(n *schema.Node) Want {
	w := Want{Field: n.Field(), Node: n}
	switch n.Kind {
	case schema.List:
		w.Children = []Want{want(n.Element())}
	case schema.Map:
		w.Children = []Want{want(n.Key()), want(n.Value())}
	case schema.Struct:
		for _, c := range n.Children {
			w.Children = append(w.Children, want(c))
		}
	}
	return w
}

func noCost(*schema.Node) int64 { return 1 }

// arrays of the leaves wanted, built value by value.
func arrays(mem memory.Allocator, p *Plan, leaves []*shredded) (levels []Levels, arrs []arrow.Array) {
	for _, l := range p.Leaves {
		s := leaves[l.Node.Leaf]
		lv := s.Levels
		if l.Node.Rep == 0 {
			lv.Rep = nil
		}
		levels = append(levels, lv)
		if l.Out == nil {
			arrs = append(arrs, nil)
			continue
		}
		b := array.NewInt32Builder(mem)
		for i, d := range s.Def {
			switch {
			case d < l.Slot:
			case s.values[i] == nil:
				b.AppendNull()
			default:
				b.Append(s.values[i].(int32))
			}
		}
		arrs = append(arrs, b.NewArray())
		b.Release()
	}
	return levels, arrs
}

func releaseAll(arrs []arrow.Array) {
	for _, a := range arrs {
		if a != nil {
			a.Release()
		}
	}
}

// column makes a random column with random rows.
func column(t testing.TB, r *rand.Rand, depth, rows int) (n *schema.Node, values []any, leaves []*shredded) {
	g := generator{r: r}
	g.add(thrift.SchemaElement{Name: "root", Type: thrift.NoType, NumChildren: 1})
	g.field(depth, g.repetition())
	tree, err := schema.New(g.elements)
	if err != nil {
		t.Fatal(err)
	}
	n = tree.Root.Children[0]
	for range tree.Leaves {
		leaves = append(leaves, &shredded{})
	}
	for range rows {
		v := g.value(n)
		values = append(values, v)
		shred(leaves, n, v, 0, 0)
	}
	return n, values, leaves
}

func compare(t testing.TB, f arrow.Field, a arrow.Array, want []string) {
	t.Helper()
	if a.Len() != len(want) {
		t.Fatalf("%d rows, want %d", a.Len(), len(want))
	}
	for i := range want {
		got, err := canon.AppendValue(nil, f, a, i, canon.StoredOrder)
		if err != nil || string(got) != want[i] {
			t.Fatalf("%s, row %d: want %s, got %s (%v)", f.Type, i, want[i], got, err)
		}
	}
	offsetsAreZero(t, a.Data())
	if err := validate(a); err != nil {
		t.Fatalf("%s: %v", f.Type, err)
	}
}

func offsetsAreZero(t testing.TB, d arrow.ArrayData) {
	if d.Offset() != 0 {
		t.Fatalf("%s begins at offset %d", d.DataType(), d.Offset())
	}
	for _, c := range d.Children() {
		offsetsAreZero(t, c)
	}
}

// validate is Arrow's own check, where the array has one.
func validate(a arrow.Array) error {
	if v, ok := a.(interface{ ValidateFull() error }); ok {
		return v.ValidateFull()
	}
	return nil
}

// L24: null, empty and absent stay apart at each level, whatever the shape.
func TestL24_RandomNestedValuesComeBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, values, leaves := column(t, r, 4, []int{0, 1, 7, 200}[r.IntN(4)])
		p, err := NewPlan(want(n), noCost)
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		levels, arrs := arrays(mem, p, leaves)
		a, err := p.Assemble(mem, len(values), levels, arrs)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, text(n, v))
		}
		compare(t, n.Field(), a, texts)
		from := r.IntN(len(values) + 1)
		k := r.IntN(len(values) - from + 1)
		cutOne := Cut(mem, a, from, k)
		compare(t, n.Field(), cutOne, texts[from:from+k])
		again := Cut(mem, cutOne, k/2, k-k/2)
		compare(t, n.Field(), again, texts[from+k/2:from+k])
		again.Release()
		cutOne.Release()
		a.Release()
		releaseAll(arrs)
		mem.AssertSize(t, 0)
	}
}

func TestL24_NullEmptyAndAbsentAtEachLevel(t *testing.T) {
	t.Parallel()
	r, o, rep := thrift.Required, thrift.Optional, thrift.Repeated
	group := func(name string, rp thrift.Repetition, l thrift.LogicalKind, n int32) thrift.SchemaElement {
		return thrift.SchemaElement{Name: name, Type: thrift.NoType, NumChildren: n, Repetition: rp, Converted: thrift.NoConverted, Logical: thrift.Logical{Kind: l}}
	}
	leaf := func(name string, rp thrift.Repetition) thrift.SchemaElement {
		return thrift.SchemaElement{Name: name, Type: thrift.Int32, HasType: true, Repetition: rp, Converted: thrift.NoConverted}
	}
	cases := []struct {
		name     string
		elements []thrift.SchemaElement
		values   []any
		want     []string
	}{
		{
			"map of lists",
			[]thrift.SchemaElement{
				group("m", o, thrift.LogicalMap, 1), group("kv", rep, 0, 2), leaf("k", r),
				group("v", o, thrift.LogicalList, 1), group("list", rep, 0, 1), leaf("e", o),
			},
			[]any{nil, []pair{}, []pair{{int32(1), []any{}}}, []pair{{int32(1), nil}, {int32(2), []any{nil, int32(3)}}}},
			[]string{"null", "[]", "[[1,[]]]", "[[1,null],[2,[null,3]]]"},
		},
		{
			"struct of list of struct of list",
			[]thrift.SchemaElement{
				group("s", o, 0, 1), group("l", o, thrift.LogicalList, 1), group("list", rep, 0, 1),
				group("e", o, 0, 1), group("x", o, thrift.LogicalList, 1), group("list", rep, 0, 1), leaf("e", o),
			},
			[]any{nil, []any{nil}, []any{[]any{}}, []any{[]any{nil, []any{nil}, []any{[]any{}}, []any{[]any{nil, int32(1)}}}}},
			[]string{"null", `{"l":null}`, `{"l":[]}`, `{"l":[null,{"x":null},{"x":[]},{"x":[null,1]}]}`},
		},
		{
			"lists in lists",
			[]thrift.SchemaElement{group("l", o, thrift.LogicalList, 1), group("list", rep, 0, 1), group("e", o, thrift.LogicalList, 1), group("list", rep, 0, 1), leaf("e", o)},
			[]any{nil, []any{}, []any{nil}, []any{[]any{}}, []any{[]any{nil}}, []any{[]any{int32(1), int32(2)}, nil, []any{int32(3)}}},
			[]string{"null", "[]", "[null]", "[[]]", "[[null]]", "[[1,2],null,[3]]"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree, err := schema.New(append([]thrift.SchemaElement{{Name: "root", Type: thrift.NoType, NumChildren: 1, Converted: thrift.NoConverted}}, c.elements...))
			if err != nil {
				t.Fatal(err)
			}
			n := tree.Root.Children[0]
			var leaves []*shredded
			for range tree.Leaves {
				leaves = append(leaves, &shredded{})
			}
			for _, v := range c.values {
				shred(leaves, n, v, 0, 0)
			}
			p, err := NewPlan(want(n), noCost)
			if err != nil {
				t.Fatal(err)
			}
			levels, arrs := arrays(memory.DefaultAllocator, p, leaves)
			a, err := p.Assemble(memory.DefaultAllocator, len(c.values), levels, arrs)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, n.Field(), a, c.want)
		})
	}
}

// prune drops children of structs, adds absent ones with and without a default, and says what the rows look like then.
type prunedWant struct {
	w    Want
	text func(v any) string
}

func drop(r *rand.Rand, n *schema.Node) prunedWant {
	null := func(f func(any) string) func(any) string {
		return func(v any) string {
			if v == nil {
				return "null"
			}
			return f(v)
		}
	}
	f := n.Field()
	switch n.Kind {
	case schema.List:
		e := drop(r, n.Element())
		f.Type = arrow.ListOfField(e.w.Field)
		return prunedWant{Want{Field: f, Node: n, Children: []Want{e.w}}, null(func(v any) string {
			var parts []string
			for _, x := range v.([]any) {
				parts = append(parts, e.text(x))
			}
			return "[" + strings.Join(parts, ",") + "]"
		})}
	case schema.Map:
		k, x := drop(r, n.Key()), drop(r, n.Value())
		f.Type = arrow.MapOfFields(k.w.Field, x.w.Field)
		return prunedWant{Want{Field: f, Node: n, Children: []Want{k.w, x.w}}, null(func(v any) string {
			var parts []string
			for _, p := range v.([]pair) {
				parts = append(parts, "["+k.text(p.key)+","+x.text(p.value)+"]")
			}
			return "[" + strings.Join(parts, ",") + "]"
		})}
	case schema.Struct:
		var kids []prunedWant
		var from []int
		for i, c := range n.Children {
			if r.IntN(3) > 0 {
				kids, from = append(kids, drop(r, c)), append(from, i)
			}
		}
		r.Shuffle(len(kids), func(i, j int) { kids[i], kids[j], from[i], from[j] = kids[j], kids[i], from[j], from[i] })
		if r.IntN(2) == 0 {
			kids, from = append(kids, absentChild(r)), append(from, -1)
		}
		w := Want{Field: f, Node: n}
		var fields []arrow.Field
		for _, k := range kids {
			fields, w.Children = append(fields, k.w.Field), append(w.Children, k.w)
		}
		w.Field.Type = arrow.StructOf(fields...)
		return prunedWant{w, null(func(v any) string {
			var parts []string
			for i, k := range kids {
				var x any
				if from[i] >= 0 {
					x = v.([]any)[from[i]]
				}
				parts = append(parts, strconv.Quote(k.w.Field.Name)+":"+k.text(x))
			}
			return "{" + strings.Join(parts, ",") + "}"
		})}
	}
	return prunedWant{Want{Field: f, Node: n}, null(func(v any) string { return fmt.Sprint(v) })}
}

// absentChild is a child that the file lacks: null, a default, or a struct of both.
func absentChild(r *rand.Rand) prunedWant {
	i32 := arrow.PrimitiveTypes.Int32
	switch r.IntN(4) {
	case 0:
		return prunedWant{Want{Field: arrow.Field{Name: "null", Type: arrow.ListOf(i32), Nullable: true}}, func(any) string { return "null" }}
	case 1:
		return prunedWant{Want{Field: arrow.Field{Name: "nine", Type: i32}, Const: &expr.Literal{Type: i32, Value: int64(9)}}, func(any) string { return "9" }}
	case 2:
		return prunedWant{Want{Field: arrow.Field{Name: "text", Type: arrow.BinaryTypes.String}, Const: &expr.Literal{Type: arrow.BinaryTypes.String, Value: "x"}}, func(any) string { return `"x"` }}
	}
	a := absentChild(r)
	st := arrow.StructOf(a.w.Field)
	return prunedWant{
		Want{Field: arrow.Field{Name: "s", Type: st}, Const: &expr.Literal{Type: st, Value: struct{}{}}, Children: []Want{a.w}},
		func(any) string { return "{" + strconv.Quote(a.w.Field.Name) + ":" + a.text(nil) + "}" },
	}
}

func TestChildrenBySchemaNodeAbsentOnesAsConstants(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, values, leaves := column(t, r, 4, []int{1, 30}[r.IntN(2)])
		d := drop(r, n)
		p, err := NewPlan(d.w, func(n *schema.Node) int64 { return int64(n.Leaf) })
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Leaves) == 0 {
			t.Fatalf("seed %d: no leaf is read", seed)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		levels, arrs := arrays(mem, p, leaves)
		a, err := p.Assemble(mem, len(values), levels, arrs)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, d.text(v))
		}
		compare(t, d.w.Field, a, texts)
		constantsFollowTheirParent(t, seed, a)
		a.Release()
		releaseAll(arrs)
		mem.AssertSize(t, 0)
	}
}

// A default is null where its struct is, also for whoever looks at the child array alone.
func constantsFollowTheirParent(t *testing.T, seed uint64, a arrow.Array) {
	s, ok := a.(*array.Struct)
	if !ok {
		return
	}
	for i, f := range s.DataType().(*arrow.StructType).Fields() {
		if f.Name == "nine" || f.Name == "s" {
			for k := range s.Len() {
				if s.IsValid(k) != s.Field(i).IsValid(k) {
					t.Fatalf("seed %d: row %d of the default is valid: %v, of the struct: %v", seed, k, s.Field(i).IsValid(k), s.IsValid(k))
				}
			}
		}
		constantsFollowTheirParent(t, seed, s.Field(i))
	}
}

// Levels of one leaf that contradict those of another, or the number of rows, are errors, never arrays out of bounds.
func TestContradictingLevelsAreErrors(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		n, values, leaves := column(t, r, 3, 10)
		p, err := NewPlan(want(n), noCost)
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		levels, arrs := arrays(mem, p, leaves)
		i := r.IntN(len(levels))
		l := &levels[i]
		l.Def, l.Rep = append([]uint8(nil), l.Def...), append([]uint8(nil), l.Rep...)
		at, node := r.IntN(len(l.Def)), p.Leaves[i].Node
		switch {
		case r.IntN(2) == 0 && node.Rep > 0:
			l.Rep[at] = uint8(r.IntN(node.Rep + 1))
		default:
			l.Def[at] = uint8(r.IntN(node.Def + 1))
		}
		if node.Rep == 0 {
			l.Rep = nil
		}
		a, err := p.Assemble(mem, len(values), levels, arrs)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			found++
		} else {
			for k := range a.Len() {
				if _, err := canon.AppendValue(nil, n.Field(), a, k, canon.StoredOrder); err != nil {
					t.Fatal(err)
				}
			}
			a.Release()
		}
		releaseAll(arrs)
		mem.AssertSize(t, 0)
	}
	if found < 500 {
		t.Errorf("only %d contradictions were found", found)
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	t.Parallel()
	n, _, _ := column(t, rand.New(rand.NewPCG(1, 1)), 0, 0)
	for name, w := range map[string]Want{
		"a leaf as a list":   {Field: arrow.Field{Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}, Node: n, Children: []Want{{Node: n}}},
		"a leaf as a struct": {Field: arrow.Field{Type: arrow.StructOf()}, Node: n},
		"not in the file":    {Field: arrow.Field{Type: arrow.PrimitiveTypes.Int32}},
		"too many children":  {Field: n.Field(), Node: n, Children: []Want{{}}},
	} {
		if _, err := NewPlan(w, noCost); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPackSlots(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 4))
		def := make([]uint8, r.IntN(300))
		top := uint8(1 + r.IntN(65))
		for i := range def {
			def[i] = uint8(r.IntN(int(top) + 1))
		}
		slot := uint8(r.IntN(int(top) + 1))
		if r.IntN(2) == 0 {
			slot = 0
		}
		dst := make([]byte, (len(def)+63)/64*8+8)
		for i := range dst {
			dst[i] = 0xaa
		}
		slots, ones := PackSlots(dst, def, slot, top)
		k, want := 0, 0
		for _, d := range def {
			if d < slot {
				continue
			}
			bit := dst[k/8]>>(k%8)&1 == 1
			if bit != (d == top) {
				t.Fatalf("seed %d: bit %d is %v", seed, k, bit)
			}
			if k++; d == top {
				want++
			}
		}
		if slots != k || ones != want {
			t.Fatalf("seed %d: %d slots, %d ones; want %d, %d", seed, slots, ones, k, want)
		}
	}
}

func TestCountRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		rep := make([]uint8, r.IntN(100))
		for i := range rep {
			rep[i] = uint8(r.IntN(3))
		}
		n := r.IntN(40)
		want, rows := 0, 0
		for ; want < len(rep); want++ {
			if rep[want] == 0 {
				if rows == n {
					break
				}
				rows++
			}
		}
		if k, begun := CountRows(rep, n); k != want || begun != rows {
			t.Fatalf("seed %d: %d entries, %d rows; want %d, %d", seed, k, begun, want, rows)
		}
	}
}

func BenchmarkAssemble(b *testing.B) {
	for _, shape := range []string{"list", "list in list"} {
		b.Run(shape, func(b *testing.B) {
			const rows = 100_000
			r := rand.New(rand.NewPCG(1, 1))
			g := generator{r: r}
			g.add(thrift.SchemaElement{Name: "root", Type: thrift.NoType, NumChildren: 1})
			depth := 1
			if shape == "list in list" {
				depth = 2
			}
			for range depth {
				g.add(thrift.SchemaElement{Type: thrift.NoType, NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}})
				g.add(thrift.SchemaElement{Name: "list", Type: thrift.NoType, NumChildren: 1, Repetition: thrift.Repeated})
			}
			g.leaf(thrift.Optional)
			tree, err := schema.New(g.elements)
			if err != nil {
				b.Fatal(err)
			}
			n := tree.Root.Children[0]
			leaves := []*shredded{{}}
			for range rows {
				shred(leaves, n, g.value(n), 0, 0)
			}
			p, err := NewPlan(want(n), noCost)
			if err != nil {
				b.Fatal(err)
			}
			levels, arrs := arrays(memory.DefaultAllocator, p, leaves)
			b.ReportAllocs()
			for b.Loop() {
				a, err := p.Assemble(memory.DefaultAllocator, rows, levels, arrs)
				if err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(levels[0].Def)), "ns/entry")
		})
	}
}
