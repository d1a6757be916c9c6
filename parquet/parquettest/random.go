package parquettest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Random makes up schemas, values and layouts; equal seeds give equal files.
type Random struct {
	R     *rand.Rand
	names int
}

// NewRandom is seeded.
func NewRandom(seed uint64) *Random { return &Random{R: rand.New(rand.NewPCG(seed, 0x9a59e7))} }

func (g *Random) name() string {
	g.names++
	return "f" + strconv.Itoa(g.names)
}

func (g *Random) repetition() thrift.Repetition { return thrift.Repetition(g.R.IntN(2)) }

// Leaf is a leaf of any physical type but INT96.
func (g *Random) Leaf(name string, rep thrift.Repetition) thrift.SchemaElement {
	e := thrift.SchemaElement{Name: name, HasType: true, Repetition: rep, Converted: thrift.NoConverted}
	e.Type = []thrift.Type{thrift.Boolean, thrift.Int32, thrift.Int64, thrift.Float, thrift.Double, thrift.ByteArray, thrift.FixedLenByteArray}[g.R.IntN(7)]
	switch {
	case e.Type == thrift.FixedLenByteArray:
		e.TypeLength = []int32{1, 4, 12, 16}[g.R.IntN(4)]
	case e.Type == thrift.ByteArray && g.R.IntN(2) == 0:
		e.Logical.Kind = thrift.LogicalString
	case e.Type == thrift.Int32 && g.R.IntN(4) == 0:
		e.Logical = thrift.Logical{Kind: thrift.LogicalInt, BitWidth: 32}
	}
	return e
}

// Flat is a table of n leaves.
func (g *Random) Flat(n int) []thrift.SchemaElement {
	var fields []thrift.SchemaElement
	for range n {
		fields = append(fields, g.Leaf(g.name(), g.repetition()))
	}
	return Elements(fields...)
}

// Nested is a table of n fields, each nested up to a depth: structs, maps with odd group names, lists in all the shapes that
// the rules for old files know.
func (g *Random) Nested(n, depth int) []thrift.SchemaElement {
	out := []thrift.SchemaElement{{Name: "schema", Type: thrift.NoType, NumChildren: int32(n), Converted: thrift.NoConverted}}
	for range n {
		out = append(out, g.field(depth, g.repetition())...)
	}
	return out
}

func (g *Random) field(depth int, rep thrift.Repetition) (out []thrift.SchemaElement) {
	kind := g.R.IntN(6)
	if depth == 0 {
		kind = 0
	}
	group := func(name string, logical thrift.LogicalKind, rep thrift.Repetition, children int32) {
		out = append(out, thrift.SchemaElement{
			Name: name, Type: thrift.NoType, NumChildren: children, Repetition: rep,
			Converted: thrift.NoConverted, Logical: thrift.Logical{Kind: logical},
		})
	}
	add := func(e ...thrift.SchemaElement) { out = append(out, e...) }
	switch kind {
	case 0, 1:
		add(g.Leaf(g.name(), rep))
	case 2: // three-level list, whatever its groups are called
		group(g.name(), thrift.LogicalList, rep, 1)
		group([]string{"list", "bag", "odd"}[g.R.IntN(3)], 0, thrift.Repeated, 1)
		add(g.field(depth-1, g.repetition())...)
	case 3: // two-level list: of leaves, or of structs by the name "array" or by the number of fields
		group(g.name(), thrift.LogicalList, rep, 1)
		switch g.R.IntN(3) {
		case 0:
			add(g.Leaf(g.name(), thrift.Repeated))
		case 1:
			group("array", 0, thrift.Repeated, 1)
			add(g.field(depth-1, g.repetition())...)
		default:
			group("x", 0, thrift.Repeated, 2)
			add(g.field(depth-1, g.repetition())...)
			add(g.field(depth-1, g.repetition())...)
		}
	case 4:
		group(g.name(), thrift.LogicalMap, rep, 1)
		group([]string{"key_value", "map"}[g.R.IntN(2)], 0, thrift.Repeated, 2)
		add(g.Leaf("key", thrift.Required))
		add(g.field(depth-1, g.repetition())...)
	case 5:
		n := 1 + g.R.IntN(3)
		group(g.name(), 0, rep, int32(n))
		for range n {
			if g.R.IntN(8) == 0 { // a bare repeated field is a list
				add(g.Leaf(g.name(), thrift.Repeated))
				continue
			}
			add(g.field(depth-1, g.repetition())...)
		}
	}
	return out
}

// Columns makes up rows of every top-level field.
func (g *Random) Columns(t *schema.Tree, rows int) [][]any {
	out := make([][]any, len(t.Root.Children))
	for i, n := range t.Root.Children {
		nulls := []int{0, 1, 4, 1000}[g.R.IntN(4)] // one in so many; 0 = none, 1 = all
		for range rows {
			if n.Repetition == thrift.Optional && nulls > 0 && g.R.IntN(nulls) == 0 {
				out[i] = append(out[i], nil)
				continue
			}
			out[i] = append(out[i], g.present(n))
		}
	}
	return out
}

// Value of a node, null at times where that is allowed.
func (g *Random) Value(n *schema.Node) any {
	if n.Repetition == thrift.Optional && g.R.IntN(4) == 0 {
		return nil
	}
	return g.present(n)
}

func (g *Random) present(n *schema.Node) any {
	count := []int{0, 1, 2, 3, 3}[g.R.IntN(5)]
	switch n.Kind {
	case schema.List:
		out := []any{}
		for range count {
			out = append(out, g.Value(n.Element()))
		}
		return out
	case schema.Map:
		out := []Pair{}
		for range count {
			out = append(out, Pair{g.Value(n.Key()), g.Value(n.Value())})
		}
		return out
	case schema.Struct:
		var out []any
		for _, c := range n.Children {
			out = append(out, g.Value(c))
		}
		return out
	}
	return g.scalar(n)
}

// scalar draws from a small set half of the time, so that dictionaries and runs come up.
func (g *Random) scalar(n *schema.Node) any {
	x := g.R.Uint64()
	if g.R.IntN(2) == 0 {
		x %= 10
	}
	switch n.Physical {
	case thrift.Boolean:
		return x%4 == 0
	case thrift.Int32:
		return int32(x)
	case thrift.Int64:
		return int64(x)
	case thrift.Float:
		return float32(special(x))
	case thrift.Double:
		return special(x)
	case thrift.FixedLenByteArray:
		b := make([]byte, n.TypeLength)
		for i := range b {
			b[i] = byte(x >> (8 * (i % 8)))
		}
		return b
	}
	s := strconv.FormatUint(x, 36)
	if x%7 == 0 {
		s = strings.Repeat(s, int(x%40))
	}
	return []byte(s)
}

func special(x uint64) float64 {
	switch x % 10 {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.Copysign(0, -1)
	case 3:
		return 0
	}
	return float64(int64(x)) / 7
}

// Layout draws sizes, encodings, codec and version for a schema.
func (g *Random) Layout(t *schema.Tree, rows int) Layout {
	o := Layout{
		Version: 1 + g.R.IntN(2), Codec: Codecs[g.R.IntN(len(Codecs))], Runs: Runs(g.R.IntN(3)), CRC: g.R.IntN(2) == 0,
		Statistics: true, EncodingStats: true, Index: g.R.IntN(2) == 0, CreatedBy: "lakescan-test version 1.0.0",
	}
	if g.R.IntN(2) == 0 {
		o.GroupRows = 1 + g.R.IntN(rows+1)
	}
	if g.R.IntN(4) > 0 {
		o.PageRows = 1 + g.R.IntN(rows+1)
	}
	if g.R.IntN(4) == 0 {
		o.DictionaryPages = 1 + g.R.IntN(2)
	}
	o.EmptyBodies = g.R.IntN(2) == 0
	if o.Version == 1 && !o.Index {
		if g.R.IntN(3) == 0 {
			o.PageEntries = 1 + g.R.IntN(2*rows+1)
		}
		o.OldLevels = g.R.IntN(6) == 0
	}
	chosen := map[int]thrift.Encoding{}
	for _, n := range t.Leaves {
		es := Encodings(n.Physical)
		chosen[n.Leaf] = es[g.R.IntN(len(es))]
	}
	o.Encoding = func(n *schema.Node) thrift.Encoding { return chosen[n.Leaf] }
	return o
}
