package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/schema"
)

// bindNested plans a list, map or struct column.
func (f *Footer) bindNested(b *bound) error {
	w, err := want(&b.Column, b.node, 0)
	if err != nil {
		return err
	}
	cost := func(leaf *schema.Node) int64 {
		if len(f.meta.Groups) == 0 {
			return 0
		}
		return f.Chunk(0, leaf.Leaf).CompressedSize
	}
	b.nested, err = nested.NewPlan(w, cost)
	if err != nil {
		return unreadable(b.node, err)
	}
	b.inner = make([]*build.Plan, len(b.nested.Leaves))
	for i, l := range b.nested.Leaves {
		b.leaves = append(b.leaves, l.Node.Leaf)
		if l.Out == nil {
			continue
		}
		if b.inner[i], err = build.NewPlan(l.Node, l.Out); err != nil {
			return unreadable(l.Node, err)
		}
		if b.inner[i].Flat() {
			return unreadable(l.Node, fmt.Errorf("a field inside a nested column as %v", l.Out))
		}
	}
	return nil
}

// unreadable is the error of a column that cannot be read as wanted.
func unreadable(n *schema.Node, err error) error {
	if errors.Is(err, nested.ErrCorrupt) {
		return &CorruptError{RowGroup: -1, Column: n.String(), Page: -1, Offset: -1, Err: err}
	}
	return &UnsupportedError{Ability: err.Error(), RowGroup: -1, Column: n.String()}
}

// want finds the nodes of a column and its children.
func want(c *Column, n *schema.Node, depth int) (nested.Want, error) {
	w := nested.Want{Field: c.Output, Node: n, Const: c.Const}
	if depth > schema.MaxDepth {
		return w, &UnsupportedError{Ability: "nesting this deep", RowGroup: -1, Column: c.Output.Name}
	}
	if c.Position {
		return w, &UnsupportedError{Ability: "a position inside a nested column", RowGroup: -1, Column: c.Output.Name}
	}
	if isVariant(c.Output, n) {
		return variantWant(c, n)
	}
	for i := range c.Children {
		child := &c.Children[i]
		var cn *schema.Node
		if n != nil && child.Path != nil {
			if cn = childNode(n, i, child.Path[len(child.Path)-1]); cn == nil {
				return w, &CorruptError{
					RowGroup: -1, Page: -1, Offset: -1, Column: n.String(),
					Reason: fmt.Sprintf("no field %q in the file", child.Path[len(child.Path)-1]),
				}
			}
		}
		cw, err := want(child, cn, depth+1)
		if err != nil {
			return w, err
		}
		w.Children = append(w.Children, cw)
	}
	return w, nil
}

// childNode is child i of a list (its element), a map (key, value) or a struct (by name).
func childNode(n *schema.Node, i int, name string) *schema.Node {
	switch n.Kind {
	case schema.List:
		if i == 0 {
			return n.Element()
		}
	case schema.Map:
		switch i {
		case 0:
			return n.Key()
		case 1:
			return n.Value()
		}
	case schema.Struct, schema.Variant:
		return n.Child(name)
	}
	return nil
}

// nestedCursor reads the leaves of a nested column and puts them together.
type nestedCursor struct {
	b      *bound
	o      build.Options
	leaves []*build.Leaf
	at     int // leaf at work
	rows   int
	step   int // rows decoded before the next look at their size
}

// firstStep is how many rows are decoded before anything is known of their size.
const firstStep = 16

func (g *group) newNested(b *bound, pages []*chunkPages, o build.Options) *nestedCursor {
	c := &nestedCursor{b: b, o: o, step: firstStep}
	for i, l := range b.nested.Leaves {
		chunk := g.r.f.Chunk(g.rg, l.Node.Leaf)
		c.leaves = append(c.leaves, build.NewLeaf(b.inner[i], chunk.Codec, pages[i], build.LeafOptions{
			Options: o, MaxRep: l.Node.Rep, MaxDef: l.Node.Def, Slot: l.Slot, Rows: g.r.f.Rows(g.rg), Entries: chunk.NumValues, Aligned: pages[i].pages != nil && (g.found == nil || g.found[l.Node.Leaf].aligned),
		}))
	}
	return c
}

// Begin starts an array.
func (c *nestedCursor) Begin(rows int) {
	c.rows = 0
	for _, l := range c.leaves {
		l.Begin(rows)
	}
}

// Append decodes rows of all leaves, a few at a time, and stops early once they take SoftBytes.
func (c *nestedCursor) Append(ctx context.Context, n int) (done int, err error) {
	for done < n {
		if c.rows > 0 && c.bytes() >= c.o.SoftBytes {
			return done, nil
		}
		k := min(n-done, c.step)
		for i, l := range c.leaves {
			c.at = i
			if _, err := l.Append(ctx, k); err != nil {
				return done, err
			}
		}
		c.rows += k
		done += k
		// The next step may double, but should stay far below what ends the array.
		perRow := c.bytes()/int64(c.rows) + 1
		c.step = int(max(1, min(2*int64(c.step), c.o.SoftBytes/8/perRow)))
	}
	return done, nil
}

func (c *nestedCursor) bytes() (n int64) {
	for _, l := range c.leaves {
		n += l.Bytes()
	}
	return n
}

// Skip passes over rows.
func (c *nestedCursor) Skip(ctx context.Context, n int64) error {
	for i, l := range c.leaves {
		c.at = i
		if err := l.Skip(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// Finish assembles the array.
func (c *nestedCursor) Finish() (arrow.Array, error) {
	levels := make([]nested.Levels, len(c.leaves))
	arrays := make([]arrow.Array, len(c.leaves))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i, l := range c.leaves {
		arrays[i], levels[i] = l.Take()
	}
	return c.b.nested.Assemble(c.o.Allocator, c.rows, levels, arrays)
}

// Place is that of the leaf at work.
func (c *nestedCursor) Place() (int, int64) { return c.leaves[c.at].Place() }

// Close frees scratch memory.
func (c *nestedCursor) Close() {
	for _, l := range c.leaves {
		l.Close()
	}
}
