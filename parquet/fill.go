package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/nested"
)

// fill is a constant column's array, made once a unit and sliced for each batch.
type fill struct{ arr arrow.Array }

func (f *fill) release() {
	if f.arr != nil {
		f.arr.Release()
		f.arr = nil
	}
}

// constant gives n rows of a constant column.
func (u *Unit) constant(i, n int) (arrow.Array, error) {
	if u.fills == nil {
		u.fills = make([]fill, len(u.cols))
	}
	f := &u.fills[i]
	if f.arr == nil || f.arr.Len() < n {
		f.release()
		arr, err := repeat(u.g.r.o.Allocator, &u.g.r.cols[i].Column, n)
		if err != nil {
			return nil, err
		}
		f.arr = arr
	}
	return array.NewSlice(f.arr, 0, int64(n)), nil
}

// positions are the absolute positions of the next n selected rows.
func (u *Unit) positions(n int) arrow.Array {
	b := array.NewInt64Builder(u.g.r.o.Allocator)
	defer b.Release()
	b.Reserve(n)
	first := u.g.r.f.FirstRow(u.g.rg)
	skip := int64(u.at)
	for from, to := range u.sel.Between(u.from, u.to) {
		if k := to - from; skip >= k {
			skip -= k
			continue
		}
		for from += skip; from < to && b.Len() < n; from++ {
			b.UnsafeAppend(first + from)
		}
		if skip = 0; b.Len() == n {
			break
		}
	}
	return b.NewArray()
}

// repeat makes n equal values of a column without a path: typed nulls if it has no constant, else the constant; a struct
// that is there takes its children from theirs. The caller releases the result.
func repeat(mem arrowmem.Allocator, c *Column, n int) (arrow.Array, error) {
	if c.Output.Type.ID() == arrow.DICTIONARY {
		return repeatIndex(mem, c, n)
	}
	if c.Const == nil || c.Const.Value == nil {
		return nested.Nulls(mem, c.Output.Type, n), nil
	}
	if st, ok := c.Output.Type.(*arrow.StructType); ok {
		return repeatStruct(mem, c, st, n)
	}
	return nested.Constant(mem, c.Output.Type, *c.Const, n)
}

// repeatIndex makes a dictionary of one entry, or of none for nulls.
func repeatIndex(mem arrowmem.Allocator, c *Column, n int) (arrow.Array, error) {
	t := c.Output.Type.(*arrow.DictionaryType)
	entry := *c
	entry.Output.Type = t.ValueType
	entries := 1
	if c.Const == nil || c.Const.Value == nil {
		entries = 0
	}
	dict, err := repeat(mem, &entry, entries)
	if err != nil {
		return nil, err
	}
	defer dict.Release()
	var indices arrow.Array
	if entries == 0 {
		indices = nested.Nulls(mem, t.IndexType, n)
	} else if indices, err = nested.Constant(mem, t.IndexType, expr.Literal{Type: t.IndexType, Value: int64(0)}, n); err != nil {
		return nil, err
	}
	defer indices.Release()
	return array.NewDictionaryArray(t, indices, dict), nil
}

func repeatStruct(mem arrowmem.Allocator, c *Column, st *arrow.StructType, n int) (arrow.Array, error) {
	children := make([]arrow.ArrayData, st.NumFields())
	defer func() {
		for _, d := range children {
			if d != nil {
				d.Release()
			}
		}
	}()
	for i, f := range st.Fields() {
		in := Column{Output: f}
		if i < len(c.Children) {
			in = c.Children[i]
		}
		if in.Path != nil || in.Position {
			return nil, fmt.Errorf("parquet: column %s: a field of a constant struct is read from the file", c.Output.Name)
		}
		a, err := repeat(mem, &in, n)
		if err != nil {
			return nil, err
		}
		a.Data().Retain()
		children[i] = a.Data()
		a.Release()
	}
	d := array.NewData(c.Output.Type, n, []*arrowmem.Buffer{nil}, children, 0, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}
