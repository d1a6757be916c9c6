package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/variant"
)

// isVariant: the file says so, or the output does and the file has an unannotated group that looks like one.
func isVariant(f arrow.Field, n *schema.Node) bool {
	switch {
	case n == nil:
		return false
	case n.Kind == schema.Variant:
		return true
	case n.Kind != schema.Struct || n.Child(variant.MetadataName) == nil:
		return false
	}
	if e, ok := f.Type.(arrow.ExtensionType); ok {
		return variant.IsExtension(e.ExtensionName())
	}
	i := f.Metadata.FindKey(schema.ExtensionKey)
	return i >= 0 && variant.IsExtension(f.Metadata.Values()[i])
}

// variantWant reads the whole group as it is stored and puts it together.
func variantWant(c *Column, n *schema.Node) (nested.Want, error) {
	st, ok := expr.ValueType(c.Output.Type).(*arrow.StructType)
	if !ok || st.NumFields() != 2 || st.Field(0).Name != variant.MetadataName || st.Field(1).Name != variant.ValueName ||
		st.Field(0).Type.ID() != arrow.BINARY || st.Field(1).Type.ID() != arrow.BINARY {
		return nested.Want{}, &UnsupportedError{Ability: "a variant as " + c.Output.Type.String(), RowGroup: -1, Column: n.String()}
	}
	w := stored(n)
	w.Field = c.Output
	w.Convert = func(mem arrowmem.Allocator, a *array.Struct) (arrow.Array, error) {
		return variant.Rebuild(mem, a, c.Output.Type)
	}
	return w, nil
}

// stored wants a node and all below it as the file has it.
func stored(n *schema.Node) nested.Want {
	w := nested.Want{Field: n.Field(), Node: n}
	switch n.Kind {
	case schema.List:
		w.Children = []nested.Want{stored(n.Element())}
	case schema.Map:
		w.Children = []nested.Want{stored(n.Key()), stored(n.Value())}
	case schema.Struct, schema.Variant:
		for _, child := range n.Children {
			w.Children = append(w.Children, stored(child))
		}
	}
	return w
}
