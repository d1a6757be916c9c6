package render

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowvariant "github.com/apache/arrow-go/v18/parquet/variant"

	"github.com/lakescan/lakescan/parquet/variant"
)

// bindVariant is for variants, as an extension array or as the struct below one with the extension's name on the field: JSON of the value.
// nil if a is none.
func (s style) bindVariant(f arrow.Field, a arrow.Array) cell {
	if e, ok := a.(array.ExtensionArray); ok {
		if !variant.IsExtension(e.ExtensionType().ExtensionName()) {
			return nil
		}
		a = e.Storage()
	} else if i := f.Metadata.FindKey("ARROW:extension:name"); i < 0 || !variant.IsExtension(f.Metadata.Values()[i]) {
		return nil
	}
	st, ok := a.(*array.Struct)
	if !ok {
		return nil
	}
	var parts [2]bytesArray
	for i, name := range []string{"metadata", "value"} {
		at, ok := st.DataType().(*arrow.StructType).FieldIdx(name)
		if !ok {
			return nil
		}
		if parts[i], ok = st.Field(at).(bytesArray); !ok {
			return nil
		}
	}
	return func(dst []byte, i int) []byte {
		text, err := variantJSON(parts[0].Value(i), parts[1].Value(i))
		if err != nil {
			if s.fault != nil && *s.fault == nil {
				*s.fault = fmt.Errorf("column %s: %w", f.Name, err)
			}
			return append(dst, "null"...)
		}
		return append(dst, text...)
	}
}

// variantJSON recovers from what the decoder does on bytes that are no variant.
func variantJSON(metadata, value []byte) (text []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", variant.ErrCorrupt, r)
		}
	}()
	v, err := arrowvariant.New(metadata, value)
	if err == nil {
		text, err = v.MarshalJSON()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", variant.ErrCorrupt, err)
	}
	return text, nil
}
