package resolve

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// Apply completes a decoded column. Row i of the column is row positions[i] of its file, or first+i when positions is nil.
// It returns a new array, which the caller releases; col is left alone.
func (f Fill) Apply(col arrow.Array, first int64, positions []int64, mem arrowmem.Allocator) (arrow.Array, error) {
	in, ok := col.(*array.Int64)
	if !ok {
		return nil, &Error{Reason: fmt.Sprintf("lineage column %d is %v, not int64", f.Column, col.DataType()), Err: ErrInvalid}
	}
	if in.NullN() == 0 {
		in.Retain()
		return in, nil
	}
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(in.Len())
	for i := range in.Len() {
		v := f.Base
		switch {
		case in.IsValid(i):
			v = in.Value(i)
		case f.Position && positions != nil:
			v += positions[i]
		case f.Position:
			v += first + int64(i)
		}
		b.UnsafeAppend(v)
	}
	return b.NewArray(), nil
}
