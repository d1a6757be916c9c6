package exprtest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/literals"
)

// Array builds an array of type t, which may be a dictionary, from values as expr.Literal documents them; nil = NULL. The
// caller releases it.
func Array(mem memory.Allocator, t arrow.DataType, values []any) arrow.Array {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return dictionary(mem, d, values)
	}
	b := array.NewBuilder(mem, t)
	defer b.Release()
	for _, v := range values {
		if err := literals.Append(b, v); err != nil {
			panic("exprtest: " + err.Error())
		}
	}
	return b.NewArray()
}

// dictionary gives each value, NULL included, an entry of its own, so that entries repeat and some are NULL; every fourth
// NULL is one of the index instead.
func dictionary(mem memory.Allocator, t *arrow.DictionaryType, values []any) arrow.Array {
	n := min(len(values), 100)
	entries := Array(mem, t.ValueType, values[:n])
	defer entries.Release()
	index := array.NewBuilder(mem, t.IndexType)
	defer index.Release()
	for i, v := range values {
		at := i
		if i >= n {
			at = find(values[:n], v, t.ValueType)
		}
		if at < 0 || v == nil && i%4 == 0 {
			index.AppendNull()
			continue
		}
		if err := index.AppendValueFromString(fmt.Sprint(at)); err != nil {
			panic(err)
		}
	}
	idx := index.NewArray()
	defer idx.Release()
	return array.NewDictionaryArray(t, idx, entries)
}

func find(values []any, v any, t arrow.DataType) int {
	for i, w := range values {
		if (expr.Literal{Type: t, Value: w}).Equal(expr.Literal{Type: t, Value: v}) {
			return i
		}
	}
	return -1
}

// Values reads the values that dictionary could keep: those of a NULL index are NULL.
func Values(a arrow.Array, values []any) []any {
	out := append([]any(nil), values...)
	for i := range out {
		if a.IsNull(i) {
			out[i] = nil
		}
	}
	return out
}

// StructOf wraps columns into a struct array with its own validity; valid nil = all. The caller releases it.
func StructOf(fields []arrow.Field, cols []arrow.Array, n int, valid func(i int) bool) arrow.Array {
	var bitmap *memory.Buffer
	if valid != nil {
		b := make([]byte, bitutil.BytesForBits(int64(n)))
		for i := range n {
			bitutil.SetBitTo(b, i, valid(i))
		}
		bitmap = memory.NewBufferBytes(b)
	}
	kids := make([]arrow.ArrayData, len(cols))
	for i, c := range cols {
		kids[i] = c.Data()
	}
	d := array.NewData(arrow.StructOf(fields...), n, []*memory.Buffer{bitmap}, kids, array.UnknownNullCount, 0)
	defer d.Release()
	return array.NewStructData(d)
}
