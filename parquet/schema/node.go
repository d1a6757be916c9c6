package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// ErrInvalid is the class of every fault of a schema.
var ErrInvalid = errors.New("schema: invalid")

// MaxDepth bounds nesting.
const MaxDepth = 64

// Kind is what a node means, after the rules for lists and maps.
type Kind uint8

// Kinds.
const (
	Primitive Kind = iota
	Struct
	List
	Map
	Variant
)

// Node is a field. Groups that only carry repetition ("list", "key_value") are reached through Repeated; Element, Key and
// Value go straight to what is inside.
//
// A repeated field outside any list or map is a List of required elements: its Repeated child has the same name and path,
// and holds the field's own type.
type Node struct {
	Name       string
	ID         int // field id, if HasID
	HasID      bool
	Kind       Kind
	Repetition thrift.Repetition // of the node itself
	Logical    thrift.Logical    // from the logical or the converted type
	Physical   thrift.Type       // NoType for a group
	TypeLength int               // of FIXED_LEN_BYTE_ARRAY

	// Def is the definition level from which on the node is present (not null); for a Repeated node, an entry exists.
	// Rep is the number of repeated ancestors, the node included.
	Def, Rep int
	// Leaf is the first leaf column below the node, or the node itself; Leaves is their number.
	Leaf, Leaves int

	Parent   *Node
	Children []*Node // of a List or Map: the one Repeated node

	bare bool // the List around a bare repeated field, which the file does not have
}

// Nullable: the value may be null where its parent is present.
func (n *Node) Nullable() bool {
	return n.Repetition == thrift.Optional
}

// IsLeaf reports whether n is a column.
func (n *Node) IsLeaf() bool { return n.Physical != thrift.NoType && n.Kind == Primitive }

// Repeated is the node whose entries a List or Map holds.
func (n *Node) Repeated() *Node { return n.Children[0] }

// Element of a List: the repeated node itself in the two-level form, else its child.
func (n *Node) Element() *Node {
	r := n.Children[0]
	if n.twoLevel() {
		return r
	}
	return r.Children[0]
}

// Key of a Map.
func (n *Node) Key() *Node { return n.Children[0].Children[0] }

// Value of a Map.
func (n *Node) Value() *Node { return n.Children[0].Children[1] }

// Child of a Struct by its exact name; nil if there is none. Of several with one name, the first.
func (n *Node) Child(name string) *Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Flat: a column of the top level, one value a row.
func (n *Node) Flat() bool {
	return n.IsLeaf() && n.Rep == 0 && n.Parent != nil && n.Parent.Parent == nil
}

// Path is the names from the root, without the root's, as column chunks record them.
func (n *Node) Path() []string {
	var p []string
	for x := n; x.Parent != nil; x = x.Parent {
		if !x.bare {
			p = append(p, x.Name)
		}
	}
	for i, j := 0, len(p)-1; i < j; i, j = i+1, j-1 {
		p[i], p[j] = p[j], p[i]
	}
	return p
}

func (n *Node) String() string { return strings.Join(n.Path(), ".") }

// twoLevel applies the rules of LogicalTypes.md, "Lists", backward compatibility.
func (n *Node) twoLevel() bool {
	r := n.Children[0]
	if n.bare || r.Kind == Primitive || len(r.Children) != 1 || r.Kind != Struct {
		return true
	}
	c := r.Children[0]
	if c.bare { // the only field is itself repeated
		return true
	}
	return r.Name == "array" || r.Name == n.Name+"_tuple"
}

// Tree is a whole schema.
type Tree struct {
	Root *Node
	// Leaves in the order of column chunks.
	Leaves []*Node
}

// Node finds a field by its path of exact names from the root, as Path returns it; nil if there is none. A bare repeated
// field is found as the List around it.
func (t *Tree) Node(path ...string) *Node {
	n := t.Root
	for _, p := range path {
		for n != t.Root && n.bare {
			n = n.Children[0]
		}
		if n = n.Child(p); n == nil {
			return nil
		}
	}
	return n
}

type builder struct {
	elements []thrift.SchemaElement
	next     int
	nodes    []Node
	leaves   []*Node
}

// New builds the tree of a footer's schema elements.
func New(elements []thrift.SchemaElement) (*Tree, error) {
	if len(elements) == 0 {
		return nil, fmt.Errorf("%w: no root", ErrInvalid)
	}
	if elements[0].HasType {
		return nil, fmt.Errorf("%w: the root is a column", ErrInvalid)
	}
	b := &builder{elements: elements, nodes: make([]Node, 0, len(elements)), leaves: make([]*Node, 0, len(elements))}
	elements[0].Repetition = thrift.Required
	root, err := b.node(nil, 0)
	if err != nil {
		return nil, err
	}
	if b.next != len(elements) {
		return nil, fmt.Errorf("%w: %d elements outside the tree", ErrInvalid, len(elements)-b.next)
	}
	root.Kind = Struct
	return &Tree{Root: root, Leaves: b.leaves}, nil
}

func (b *builder) alloc() *Node {
	if len(b.nodes) == cap(b.nodes) { // wrappers of bare repeated fields
		b.nodes = make([]Node, 0, 64)
	}
	b.nodes = b.nodes[:len(b.nodes)+1]
	return &b.nodes[len(b.nodes)-1]
}

func (b *builder) node(parent *Node, depth int) (*Node, error) {
	if b.next >= len(b.elements) {
		return nil, fmt.Errorf("%w: a group has more children than the schema has elements", ErrInvalid)
	}
	e := &b.elements[b.next]
	b.next++
	if depth > MaxDepth {
		return nil, fmt.Errorf("%w: %s: nested deeper than %d", ErrInvalid, e.Name, MaxDepth)
	}
	if e.NestedVector || e.Repetition > thrift.Repeated {
		return nil, fmt.Errorf("%w: %s: repetition %v is not supported", ErrInvalid, e.Name, e.Repetition)
	}
	n := b.alloc()
	*n = Node{
		Name: e.Name, ID: int(e.FieldID), HasID: e.HasFieldID, Repetition: e.Repetition, Logical: logical(e),
		Physical: e.Type, TypeLength: int(e.TypeLength), Parent: parent, Leaf: len(b.leaves),
	}
	if parent != nil {
		n.Def, n.Rep = parent.Def, parent.Rep
	}
	if e.Repetition != thrift.Required {
		n.Def++
	}
	if e.Repetition == thrift.Repeated {
		n.Rep++
	}
	if e.HasType {
		return n, b.leaf(n, e)
	}
	n.Physical = thrift.NoType
	return n, b.group(n, e, depth)
}

func (b *builder) leaf(n *Node, e *thrift.SchemaElement) error {
	if e.Type > thrift.FixedLenByteArray {
		return fmt.Errorf("%w: %s: physical type %v", ErrInvalid, e.Name, e.Type)
	}
	if e.NumChildren > 0 {
		return fmt.Errorf("%w: %s: a column with children", ErrInvalid, e.Name)
	}
	if e.Type == thrift.FixedLenByteArray && e.TypeLength <= 0 {
		return fmt.Errorf("%w: %s: length %d", ErrInvalid, e.Name, e.TypeLength)
	}
	n.Kind, n.Leaves = Primitive, 1
	b.leaves = append(b.leaves, n)
	return nil
}

func (b *builder) group(n *Node, e *thrift.SchemaElement, depth int) error {
	if int(e.NumChildren) > len(b.elements)-b.next {
		return fmt.Errorf("%w: %s: more children than the schema has elements", ErrInvalid, e.Name)
	}
	n.Kind = Struct
	n.Children = make([]*Node, 0, e.NumChildren)
	for range e.NumChildren {
		c, err := b.node(n, depth+1)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, c)
	}
	n.Leaves = len(b.leaves) - n.Leaf
	n.Kind = kindOf(n)
	if n.Kind == Struct {
		for i, c := range n.Children {
			if c.Repetition == thrift.Repeated {
				n.Children[i] = b.wrap(c)
			}
		}
	}
	return nil
}

// wrap puts a List around a bare repeated field.
func (b *builder) wrap(c *Node) *Node {
	l := b.alloc()
	*l = Node{
		Name: c.Name, ID: c.ID, HasID: c.HasID, Kind: List, bare: true, Repetition: thrift.Required, Physical: thrift.NoType,
		Logical: thrift.Logical{Kind: thrift.LogicalList}, Def: c.Def - 1, Rep: c.Rep - 1, Leaf: c.Leaf, Leaves: c.Leaves,
		Parent: c.Parent, Children: []*Node{c},
	}
	c.Parent = l
	return l
}

func kindOf(n *Node) Kind {
	switch n.Logical.Kind {
	case thrift.LogicalVariant:
		return Variant
	case thrift.LogicalList:
		if len(n.Children) == 1 && n.Children[0].Repetition == thrift.Repeated {
			return List
		}
	case thrift.LogicalMap:
		if len(n.Children) != 1 || n.Children[0].Repetition != thrift.Repeated || n.Children[0].Kind != Struct {
			return Struct
		}
		kv := n.Children[0].Children
		switch {
		case len(kv) == 2:
			return Map
		case len(kv) == 1 && !kv[0].bare: // keys without values: a list of keys
			return List
		}
	}
	return Struct
}
