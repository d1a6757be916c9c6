package parquet

import (
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
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
	if c.Const == nil || c.Const.Value == nil {
		return array.MakeArrayOfNull(mem, c.Output.Type, n), nil
	}
	storage := c.Output.Type
	if e, ok := storage.(arrow.ExtensionType); ok {
		storage = e.StorageType()
	}
	if st, ok := storage.(*arrow.StructType); ok {
		return repeatStruct(mem, c, st, n)
	}
	b := array.NewBuilder(mem, storage)
	defer b.Release()
	b.Reserve(n)
	for range n {
		if err := appendLiteral(b, c.Const.Value); err != nil {
			return nil, fmt.Errorf("parquet: constant of column %s: %w", c.Output.Name, err)
		}
	}
	arr := b.NewArray()
	if e, ok := c.Output.Type.(arrow.ExtensionType); ok {
		defer arr.Release()
		return array.NewExtensionArrayWithStorage(e, arr), nil
	}
	return arr, nil
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

// appendLiteral appends a value in the form expr.Literal has it in after Bind.
func appendLiteral(b array.Builder, v any) error {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return add(b.Append, v)
	case *array.Int8Builder:
		return addInt(b.Append, v)
	case *array.Int16Builder:
		return addInt(b.Append, v)
	case *array.Int32Builder:
		return addInt(b.Append, v)
	case *array.Int64Builder:
		return addInt(b.Append, v)
	case *array.Date32Builder:
		return addInt(b.Append, v)
	case *array.Time32Builder:
		return addInt(b.Append, v)
	case *array.Time64Builder:
		return addInt(b.Append, v)
	case *array.TimestampBuilder:
		return addInt(b.Append, v)
	case *array.Uint8Builder:
		return addUint(b.Append, v)
	case *array.Uint16Builder:
		return addUint(b.Append, v)
	case *array.Uint32Builder:
		return addUint(b.Append, v)
	case *array.Uint64Builder:
		return addUint(b.Append, v)
	case *array.Float16Builder:
		return add(func(f float64) { b.Append(float16.New(float32(f))) }, v)
	case *array.Float32Builder:
		return add(func(f float64) { b.Append(float32(f)) }, v)
	case *array.Float64Builder:
		return add(b.Append, v)
	case *array.Decimal128Builder:
		return add(func(x *big.Int) { b.Append(decimal128.FromBigInt(x)) }, v)
	case *array.Decimal256Builder:
		return add(func(x *big.Int) { b.Append(decimal256.FromBigInt(x)) }, v)
	case *array.StringBuilder:
		return add(b.Append, v)
	case *array.BinaryBuilder:
		return add(b.Append, v)
	case *array.FixedSizeBinaryBuilder:
		if x, ok := v.([]byte); ok && len(x) != b.Type().(*arrow.FixedSizeBinaryType).ByteWidth {
			return fmt.Errorf("%d bytes for %v", len(x), b.Type())
		}
		return add(b.Append, v)
	case *array.NullBuilder:
		b.AppendNull()
		return nil
	}
	return fmt.Errorf("no constants of type %v", b.Type())
}

func add[T any](append func(T), v any) error {
	x, ok := v.(T)
	if !ok {
		return fmt.Errorf("a literal of Go type %T", v)
	}
	append(x)
	return nil
}

func addInt[T ~int8 | ~int16 | ~int32 | ~int64](append func(T), v any) error {
	return add(func(x int64) { append(T(x)) }, v)
}

func addUint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](append func(T), v any) error {
	return add(func(x uint64) { append(T(x)) }, v)
}
