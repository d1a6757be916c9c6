package nested

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/schema"
)

// Classes of failure.
var (
	ErrCorrupt     = errors.New("nested: corrupt")
	ErrUnsupported = errors.New("nested: unsupported")
	ErrTooLarge    = errors.New("nested: too large for 32-bit offsets")
)

// Want is an output field at any depth and where its values come from.
type Want struct {
	Field arrow.Field
	// Node of the file; nil = every value is Const (nil, or a literal of nil Value: null).
	Node  *schema.Node
	Const *expr.Literal
	// Children follow the type: the fields of a struct, the element of a list, key and value of a map. Those of a constant
	// struct are constants too. A leaf has none.
	Children []Want
	// Convert, if set, turns the struct of the children into the array of Field. It takes over nothing: the result is a new
	// reference, the argument stays the caller's.
	Convert func(mem memory.Allocator, stored *array.Struct) (arrow.Array, error)
}

// Leaf is a column chunk to read.
type Leaf struct {
	Node *schema.Node
	// Out is the type of the array wanted; nil: only the levels are.
	Out arrow.DataType
	// Slot is the definition level from which on an entry has a slot in the leaf's array: the innermost list around it has
	// an element there. The slot holds a value at the node's own level, else null.
	Slot uint8
}

// Plan makes one output column.
type Plan struct {
	Leaves []Leaf // in the file's order
	root   *node
}

// kind is how a node is built.
type kind uint8

const (
	kindLeaf kind = iota
	kindList
	kindMap
	kindStruct
	kindConst
)

// node is a Want with its levels.
type node struct {
	field    arrow.Field
	kind     kind
	name     string // path in the file, for errors
	leaf     int    // index in Leaves of the leaf itself, or of the one whose levels build the node
	rep      uint8  // repetition level of a list's entries; for others, of the node's own slots
	slot     uint8
	def      uint8
	entry    uint8
	lit      *expr.Literal
	children []*node
	convert  func(memory.Allocator, *array.Struct) (arrow.Array, error)
}

// NewPlan checks the wants against the schema. cost tells the bytes of a leaf, for the choice among leaves that are not
// wanted themselves. Errors are ErrUnsupported, or ErrCorrupt for a schema that makes no sense.
func NewPlan(w Want, cost func(leaf *schema.Node) int64) (*Plan, error) {
	if w.Node == nil {
		return nil, fmt.Errorf("%w: column %s is not in the file", ErrUnsupported, w.Field.Name)
	}
	b := planner{cost: cost, index: map[*schema.Node]int{}}
	root, err := b.node(w, 0)
	if err != nil {
		return nil, err
	}
	b.guide(root, w)
	b.sort(root)
	return &Plan{Leaves: b.leaves, root: root}, nil
}

type planner struct {
	cost   func(*schema.Node) int64
	leaves []Leaf
	index  map[*schema.Node]int
}

// use registers a leaf and returns its index for now.
func (b *planner) use(n *schema.Node, out arrow.DataType) int {
	i, ok := b.index[n]
	if !ok {
		i = len(b.leaves)
		b.index[n] = i
		b.leaves = append(b.leaves, Leaf{Node: n, Slot: slotLevel(n)})
	}
	if out != nil {
		b.leaves[i].Out = out
	}
	return i
}

// slotLevel is the definition level of the innermost list element that holds n; a two-level list's element is its own.
func slotLevel(n *schema.Node) uint8 {
	for x := n; x != nil; x = x.Parent {
		if x.Repetition == repeated {
			return uint8(x.Def)
		}
	}
	return 0
}

func (b *planner) node(w Want, depth int) (*node, error) {
	if depth > schema.MaxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrUnsupported, schema.MaxDepth)
	}
	n := &node{field: w.Field, lit: w.Const, leaf: -1, convert: w.Convert}
	if w.Node == nil {
		n.kind, n.name = kindConst, w.Field.Name
		for _, c := range w.Children {
			child, err := b.node(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		}
		return n, nil
	}
	n.name = w.Node.String()
	n.rep, n.slot, n.def = uint8(w.Node.Rep), slotLevel(w.Node), uint8(w.Node.Def)
	want := 0
	switch t := expr.ValueType(w.Field.Type).(type) {
	case *arrow.MapType:
		n.kind, want = kindMap, 2
		if w.Node.Kind != schema.Map {
			return nil, mismatch(w)
		}
	case arrow.ListLikeType:
		n.kind, want = kindList, 1
		if w.Node.Kind != schema.List || t.ID() != arrow.LIST {
			return nil, mismatch(w)
		}
	case *arrow.StructType:
		n.kind, want = kindStruct, t.NumFields()
		if w.Convert != nil {
			want = len(w.Children)
		}
		if w.Node.Kind != schema.Struct && w.Node.Kind != schema.Variant {
			return nil, mismatch(w)
		}
	default:
		if !w.Node.IsLeaf() {
			return nil, mismatch(w)
		}
		n.leaf = b.use(w.Node, w.Field.Type)
	}
	if len(w.Children) != want {
		return nil, fmt.Errorf("%w: %s: %d children for type %v", ErrUnsupported, n.name, len(w.Children), w.Field.Type)
	}
	if n.kind == kindList || n.kind == kindMap {
		r := w.Node.Repeated()
		n.rep, n.entry = uint8(r.Rep), uint8(r.Def)
	}
	for _, c := range w.Children {
		child, err := b.node(c, depth+1)
		if err != nil {
			return nil, err
		}
		if n.kind != kindStruct && child.kind == kindConst {
			return nil, fmt.Errorf("%w: %s: a list or map without its elements", ErrUnsupported, n.name)
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

func mismatch(w Want) error {
	return fmt.Errorf("%w: reading %s (%v) as %v", ErrUnsupported, w.Node, w.Node.Arrow(), w.Field.Type)
}

// guide chooses the leaf whose levels build each inner node: of the wanted ones below it that with the fewest lists, then the
// cheapest; where none is wanted, the cheapest of the file's.
func (b *planner) guide(n *node, w Want) {
	for i, c := range n.children {
		b.guide(c, w.Children[i])
	}
	if n.kind == kindLeaf || n.kind == kindConst {
		return
	}
	better := func(i, than int) bool {
		x, y := b.leaves[i].Node, b.leaves[than].Node
		if x.Rep != y.Rep {
			return x.Rep < y.Rep
		}
		return b.cost(x) < b.cost(y)
	}
	for _, c := range n.children {
		if c.leaf >= 0 && (n.leaf < 0 || better(c.leaf, n.leaf)) {
			n.leaf = c.leaf
		}
	}
	if n.leaf < 0 {
		n.leaf = b.use(b.cheapest(w.Node), nil)
	}
}

func (b *planner) cheapest(n *schema.Node) *schema.Node {
	if n.IsLeaf() {
		return n
	}
	var best *schema.Node
	for _, c := range n.Children {
		x := b.cheapest(c)
		if x != nil && (best == nil || x.Rep < best.Rep || x.Rep == best.Rep && b.cost(x) < b.cost(best)) {
			best = x
		}
	}
	return best
}

// sort brings the leaves into the file's order.
func (b *planner) sort(root *node) {
	to := make([]int, len(b.leaves))
	for i, l := range b.leaves {
		for _, o := range b.leaves {
			if o.Node.Leaf < l.Node.Leaf {
				to[i]++
			}
		}
	}
	sorted := make([]Leaf, len(b.leaves))
	for i, l := range b.leaves {
		sorted[to[i]] = l
	}
	b.leaves = sorted
	var renumber func(*node)
	renumber = func(n *node) {
		if n.leaf >= 0 {
			n.leaf = to[n.leaf]
		}
		for _, c := range n.children {
			renumber(c)
		}
	}
	renumber(root)
}
