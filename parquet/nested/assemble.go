package nested

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
)

// Assemble makes the output column of whole rows. levels and arrays follow p.Leaves; the array of a leaf that is read for its
// levels only is nil. The arrays stay the caller's; the result is the caller's too.
func (p *Plan) Assemble(mem memory.Allocator, rows int, levels []Levels, arrays []arrow.Array) (arrow.Array, error) {
	for _, l := range levels {
		if len(l.Def) > math.MaxInt32-1 {
			return nil, fmt.Errorf("%w: %d entries", ErrTooLarge, len(l.Def))
		}
	}
	a := assembly{mem: mem, levels: levels, arrays: arrays}
	d, err := a.node(p.root, rows, nil)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	return array.MakeFromData(d), nil
}

type assembly struct {
	mem    memory.Allocator
	levels []Levels
	arrays []arrow.Array
}

// parent is the validity of the struct around a constant.
type parent struct {
	bits  *memory.Buffer
	nulls int
}

func (a *assembly) node(n *node, slots int, p *parent) (arrow.ArrayData, error) {
	switch n.kind {
	case kindList, kindMap:
		return a.list(n, slots)
	case kindStruct:
		return a.structure(n, slots)
	case kindConst:
		return a.constant(n, slots, p)
	}
	arr := a.arrays[n.leaf]
	if arr.Len() != slots {
		return nil, fmt.Errorf("%w: %s has %d values where its group has %d", ErrCorrupt, n.name, arr.Len(), slots)
	}
	d := arr.Data()
	d.Retain()
	return d, nil
}

// padded is a buffer of n bytes with room for whole words; the room is cleared.
func (a *assembly) padded(n int) *memory.Buffer {
	b := memory.NewResizableBuffer(a.mem)
	b.Resize((n + 63) &^ 63)
	clear(b.Buf()[n&^7:])
	b.ResizeNoShrink(n)
	return b
}

// validity is nil where every slot is present.
func (a *assembly) validity(n *node, rep uint8, slots int) (*memory.Buffer, int, error) {
	if n.def <= n.slot {
		return nil, 0, nil
	}
	b := a.padded((slots + 7) / 8)
	ones, ok := validity(b.Buf()[:b.Cap()], a.levels[n.leaf], rep, n.slot, n.def, slots)
	switch {
	case !ok:
		b.Release()
		return nil, 0, a.disagree(n, slots)
	case ones == slots:
		b.Release()
		return nil, 0, nil
	}
	return b, slots - ones, nil
}

func (a *assembly) disagree(n *node, slots int) error {
	return fmt.Errorf("%w: the levels of %s do not make %d values", ErrCorrupt, n.name, slots)
}

func (a *assembly) list(n *node, slots int) (arrow.ArrayData, error) {
	valid, nulls, err := a.validity(n, n.rep-1, slots)
	if err != nil {
		return nil, err
	}
	defer release(valid)
	ends := memory.NewResizableBuffer(a.mem)
	defer ends.Release()
	ends.Resize(4 * (slots + 1))
	off := arrow.Int32Traits.CastFromBytes(ends.Bytes())
	if !offsets(off, a.levels[n.leaf], n.rep, n.slot, n.entry) {
		return nil, a.disagree(n, slots)
	}
	elements := int(off[slots])
	var child arrow.ArrayData
	if n.kind == kindMap {
		child, err = a.entries(n, elements)
	} else {
		child, err = a.node(n.children[0], elements, nil)
	}
	if err != nil {
		return nil, err
	}
	defer child.Release()
	return array.NewData(n.field.Type, slots, []*memory.Buffer{valid, ends}, []arrow.ArrayData{child}, nulls, 0), nil
}

// entries of a map: a struct of keys and values, never null.
func (a *assembly) entries(n *node, elements int) (arrow.ArrayData, error) {
	keys, err := a.node(n.children[0], elements, nil)
	if err != nil {
		return nil, err
	}
	defer keys.Release()
	if keys.NullN() != 0 {
		return nil, fmt.Errorf("%w: %s has a null key", ErrCorrupt, n.name)
	}
	values, err := a.node(n.children[1], elements, nil)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	t := expr.ValueType(n.field.Type).(*arrow.MapType)
	return array.NewData(t.Elem(), elements, []*memory.Buffer{nil}, []arrow.ArrayData{keys, values}, 0, 0), nil
}

func (a *assembly) structure(n *node, slots int) (arrow.ArrayData, error) {
	valid, nulls, err := a.validity(n, n.rep, slots)
	if err != nil {
		return nil, err
	}
	defer release(valid)
	t := n.field.Type
	if n.convert != nil {
		fields := make([]arrow.Field, len(n.children))
		for i, c := range n.children {
			fields[i] = c.field
		}
		t = arrow.StructOf(fields...)
	}
	d, err := a.fields(n, t, slots, &parent{valid, nulls})
	if err != nil || n.convert == nil {
		return d, err
	}
	defer d.Release()
	stored := array.NewStructData(d)
	defer stored.Release()
	out, err := n.convert(a.mem, stored)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	defer out.Release()
	od := out.Data()
	od.Retain()
	return od, nil
}

// fields makes a struct of n's children under the given validity.
func (a *assembly) fields(n *node, t arrow.DataType, slots int, p *parent) (arrow.ArrayData, error) {
	var children []arrow.ArrayData
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	for _, c := range n.children {
		d, err := a.node(c, slots, p)
		if err != nil {
			return nil, err
		}
		children = append(children, d)
	}
	return array.NewData(t, slots, []*memory.Buffer{p.bits}, children, p.nulls, 0), nil
}

// constant is null wherever the struct around it is.
func (a *assembly) constant(n *node, slots int, p *parent) (arrow.ArrayData, error) {
	if p == nil {
		p = &parent{}
	}
	if n.lit == nil || n.lit.Value == nil || n.field.Type.ID() == arrow.NULL {
		arr := Nulls(a.mem, n.field.Type, slots)
		defer arr.Release()
		d := arr.Data()
		d.Retain()
		return d, nil
	}
	if _, ok := n.field.Type.(*arrow.StructType); ok {
		return a.fields(n, n.field.Type, slots, p)
	}
	arr, err := Constant(a.mem, n.field.Type, *n.lit, slots)
	if err != nil {
		return nil, err
	}
	defer arr.Release()
	d := arr.Data()
	bufs := append([]*memory.Buffer{p.bits}, d.Buffers()[1:]...)
	return array.NewData(n.field.Type, slots, bufs, d.Children(), p.nulls, 0), nil
}

func release(b *memory.Buffer) {
	if b != nil {
		b.Release()
	}
}
