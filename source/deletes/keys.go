package deletes

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/expr"
)

// keyLeaf is one field of a key: the path of child indices below its column, in the order of field ids.
type keyLeaf struct {
	column int // in the group's Key
	path   []int
	id     int
	typ    arrow.DataType
}

// keyLeaves flattens structs and sorts by id, so that a key reads the same whatever order ids and columns came in.
func keyLeaves(key []arrow.Field) ([]keyLeaf, error) {
	var leaves []keyLeaf
	var walk func(f arrow.Field, column int, path []int) error
	walk = func(f arrow.Field, column int, path []int) error {
		id, ok := expr.FieldID(f)
		if !ok {
			return fmt.Errorf("%w: key column %q has no field id", ErrCorrupt, f.Name)
		}
		switch t := keyType(f.Type).(type) {
		case *arrow.StructType:
			for i, c := range t.Fields() {
				if err := walk(c, column, append(path[:len(path):len(path)], i)); err != nil {
					return err
				}
			}
			return nil
		default:
			if !keyable(t) {
				return fmt.Errorf("%w: equality delete on column %q (id %d) of type %v", ErrUnsupported, f.Name, id, f.Type)
			}
			leaves = append(leaves, keyLeaf{column, path, id, t})
			return nil
		}
	}
	for i, f := range key {
		if err := walk(f, i, nil); err != nil {
			return nil, err
		}
	}
	if len(leaves) == 0 {
		return nil, fmt.Errorf("%w: equality delete without key columns", ErrCorrupt)
	}
	slices.SortFunc(leaves, func(a, b keyLeaf) int { return cmp.Compare(a.id, b.id) })
	for i := 1; i < len(leaves); i++ {
		if leaves[i].id == leaves[i-1].id {
			return nil, fmt.Errorf("%w: equality delete names field id %d twice", ErrCorrupt, leaves[i].id)
		}
	}
	return leaves, nil
}

// keyType strips extensions and dictionaries.
func keyType(t arrow.DataType) arrow.DataType {
	for {
		switch x := t.(type) {
		case arrow.ExtensionType:
			t = x.StorageType()
		case *arrow.DictionaryType:
			t = x.ValueType
		default:
			return t
		}
	}
}

// keyable: the types that the specification allows; floats are against it, since NaN and the two zeros have no one form.
func keyable(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP,
		arrow.DECIMAL128, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW,
		arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// keys makes the key of each row of some columns.
type keys struct {
	appenders []appender
	longs     func(row int) int64 // of a key that is one integer, never NULL; nil = another
	buf       []byte
}

func newKeys(leaves []keyLeaf, column func(leaf keyLeaf) arrow.Array) (*keys, error) {
	k := &keys{appenders: make([]appender, len(leaves))}
	for i, leaf := range leaves {
		var err error
		if k.appenders[i], err = leafAppender(column(leaf), leaf.path); err != nil {
			return nil, err
		}
	}
	if len(leaves) == 1 && len(leaves[0].path) == 0 {
		if a := column(leaves[0]); a.NullN() == 0 {
			k.longs = integers(a)
		}
	}
	return k, nil
}

// at is the key of a row, valid until the next call.
func (k *keys) at(row int) []byte {
	k.buf = k.buf[:0]
	if k.longs != nil {
		k.buf = binary.LittleEndian.AppendUint64(append(k.buf, tagValue), uint64(k.longs(row)))
		return k.buf
	}
	for _, put := range k.appenders {
		k.buf = put(k.buf, row)
	}
	return k.buf
}

// appender adds row i of one leaf to a key. Every value is tagged, so that NULL equals NULL and nothing else.
type appender func(dst []byte, row int) []byte

const (
	tagNull  = 0
	tagValue = 1
)

// leafAppender reads the leaf below column; a null struct makes its leaves null.
func leafAppender(column arrow.Array, path []int) (appender, error) {
	a := column
	var parents []arrow.Array
	for _, i := range path {
		if e, ok := a.(array.ExtensionArray); ok {
			a = e.Storage()
		}
		s, ok := a.(*array.Struct)
		if !ok || i >= s.NumField() {
			return nil, fmt.Errorf("%w: key column is %v, not the struct it should be", ErrCorrupt, a.DataType())
		}
		parents = append(parents, s)
		a = s.Field(i)
	}
	value, err := valueAppender(a)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte {
		for _, p := range parents {
			if p.IsNull(row) {
				return append(dst, tagNull)
			}
		}
		return value(dst, row)
	}, nil
}

func valueAppender(a arrow.Array) (appender, error) {
	null := func(put func(dst []byte, row int) []byte) appender {
		if a.NullN() == 0 {
			return func(dst []byte, row int) []byte { return put(append(dst, tagValue), row) }
		}
		return func(dst []byte, row int) []byte {
			if a.IsNull(row) {
				return append(dst, tagNull)
			}
			return put(append(dst, tagValue), row)
		}
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return valueAppender(a.Storage())
	case *array.Dictionary:
		value, err := valueAppender(a.Dictionary())
		if err != nil {
			return nil, err
		}
		return func(dst []byte, row int) []byte {
			if a.IsNull(row) {
				return append(dst, tagNull)
			}
			return value(dst, a.GetValueIndex(row))
		}, nil
	case *array.Boolean:
		return null(func(dst []byte, row int) []byte {
			if a.Value(row) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}), nil
	case *array.Decimal128:
		return null(func(dst []byte, row int) []byte {
			v := a.Value(row)
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, v.LowBits()), uint64(v.HighBits()))
		}), nil
	case *array.FixedSizeBinary:
		return null(func(dst []byte, row int) []byte { return append(dst, a.Value(row)...) }), nil
	}
	if get := integers(a); get != nil {
		return null(func(dst []byte, row int) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(get(row))) }), nil
	}
	if get := texts(a); get != nil {
		return null(func(dst []byte, row int) []byte {
			s := get(row)
			return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		}), nil
	}
	return nil, fmt.Errorf("%w: equality delete on a column of type %v", ErrUnsupported, a.DataType())
}

// integers are all widened: a key has one form whatever the width of its column.
func integers(a arrow.Array) func(row int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int16:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int32:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int64:
		return a.Value
	case *array.Date32:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Time32:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Time64:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Timestamp:
		return func(row int) int64 { return int64(a.Value(row)) }
	}
	return nil
}

func texts(a arrow.Array) func(row int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value
	case *array.LargeString:
		return a.Value
	case *array.StringView:
		return a.Value
	case *array.Binary:
		return a.ValueString
	case *array.LargeBinary:
		return a.ValueString
	case *array.BinaryView:
		return a.ValueString
	}
	return nil
}
