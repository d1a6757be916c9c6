package write

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/variant"
)

// node is a field on its way to leaves.
type node struct {
	field    arrow.Field
	nullable bool // has a definition level of its own
	rep      int16
	children []*node
	leaf     *leaf // of a primitive
}

// leaf is a column of the file.
type leaf struct {
	field    arrow.Field
	path     []string
	index    int
	physical parquet.Type
	length   int // of FIXED_LEN_BYTE_ARRAY
	maxDef   int16
	maxRep   int16
}

// layout maps an Arrow schema to a Parquet one.
type layout struct {
	root   *pqschema.GroupNode
	fields []*node
	leaves []*leaf
}

func newLayout(s *arrow.Schema) (*layout, error) {
	l := &layout{}
	var nodes pqschema.FieldList
	for _, f := range s.Fields() {
		n, pn, err := l.add(f, nil, 0, 0, 0)
		if err != nil {
			return nil, err
		}
		l.fields, nodes = append(l.fields, n), append(nodes, pn)
	}
	var err error
	l.root, err = pqschema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	return l, err
}

// add makes the nodes of a field and all below it. def and rep are the levels of its parent.
func (l *layout) add(f arrow.Field, path []string, def, rep int16, depth int) (*node, pqschema.Node, error) {
	if depth > schema.MaxDepth {
		return nil, nil, fmt.Errorf("%w: nested deeper than %d", ErrUnsupported, schema.MaxDepth)
	}
	n := &node{field: f, nullable: f.Nullable, rep: rep}
	path = append(path[:len(path):len(path)], f.Name)
	repetition := parquet.Repetitions.Required
	if f.Nullable {
		repetition = parquet.Repetitions.Optional
		def++
	}
	id := int32(-1)
	if v, ok := expr.FieldID(f); ok {
		id = int32(v)
	}
	group := func(name string, rp parquet.Repetition, logical pqschema.LogicalType, id int32, children ...pqschema.Node) (pqschema.Node, error) {
		return pqschema.NewGroupNodeLogical(name, rp, children, logical, id)
	}
	child := func(c arrow.Field, def, rep int16, path []string) (pqschema.Node, error) {
		cn, pn, err := l.add(c, path, def, rep, depth+1)
		n.children = append(n.children, cn)
		return pn, err
	}
	switch t := expr.ValueType(f.Type).(type) {
	case *arrow.MapType:
		key, item := t.KeyField(), t.ItemField()
		key.Name, item.Name, key.Nullable = "key", "value", false
		inner := append(path[:len(path):len(path)], "key_value")
		n.rep = rep + 1
		kn, err := child(key, def+1, rep+1, inner)
		if err != nil {
			return nil, nil, err
		}
		vn, err := child(item, def+1, rep+1, inner)
		if err != nil {
			return nil, nil, err
		}
		kv, err := group("key_value", parquet.Repetitions.Repeated, nil, -1, kn, vn)
		if err != nil {
			return nil, nil, err
		}
		pn, err := group(f.Name, repetition, pqschema.MapLogicalType{}, id, kv)
		return n, pn, err
	case *arrow.ListType:
		elem := t.ElemField()
		elem.Name = "element"
		n.rep = rep + 1
		en, err := child(elem, def+1, rep+1, append(path[:len(path):len(path)], "list"))
		if err != nil {
			return nil, nil, err
		}
		list, err := group("list", parquet.Repetitions.Repeated, nil, -1, en)
		if err != nil {
			return nil, nil, err
		}
		pn, err := group(f.Name, repetition, pqschema.NewListLogicalType(), id, list)
		return n, pn, err
	case *arrow.StructType:
		var nodes []pqschema.Node
		for _, c := range t.Fields() {
			cn, err := child(c, def, rep, path)
			if err != nil {
				return nil, nil, err
			}
			nodes = append(nodes, cn)
		}
		var logical pqschema.LogicalType
		if isVariant(f) {
			logical = pqschema.VariantLogicalType{}
		}
		pn, err := group(f.Name, repetition, logical, id, nodes...)
		return n, pn, err
	}
	lf := &leaf{field: f, path: path, index: len(l.leaves), maxDef: def, maxRep: rep}
	logical, err := lf.primitive()
	if err != nil {
		return nil, nil, err
	}
	n.leaf = lf
	l.leaves = append(l.leaves, lf)
	pn, err := pqschema.NewPrimitiveNodeLogical(f.Name, repetition, logical, lf.physical, lf.length, id)
	return n, pn, err
}

func isVariant(f arrow.Field) bool {
	if e, ok := f.Type.(arrow.ExtensionType); ok {
		return variant.IsExtension(e.ExtensionName())
	}
	i := f.Metadata.FindKey(schema.ExtensionKey)
	return i >= 0 && variant.IsExtension(f.Metadata.Values()[i])
}

// primitive sets the physical type, and returns the logical one (nil = none).
func (l *leaf) primitive() (pqschema.LogicalType, error) {
	integer := func(physical parquet.Type, width int8, signed bool) (pqschema.LogicalType, error) {
		l.physical = physical
		if signed && width >= 32 {
			return nil, nil
		}
		return pqschema.NewIntLogicalType(width, signed), nil
	}
	unit := map[arrow.TimeUnit]pqschema.TimeUnitType{arrow.Millisecond: pqschema.TimeUnitMillis, arrow.Microsecond: pqschema.TimeUnitMicros, arrow.Nanosecond: pqschema.TimeUnitNanos}
	switch t := expr.ValueType(l.field.Type).(type) {
	case *arrow.BooleanType:
		l.physical = parquet.Types.Boolean
		return nil, nil
	case *arrow.Int8Type:
		return integer(parquet.Types.Int32, 8, true)
	case *arrow.Int16Type:
		return integer(parquet.Types.Int32, 16, true)
	case *arrow.Int32Type:
		return integer(parquet.Types.Int32, 32, true)
	case *arrow.Int64Type:
		return integer(parquet.Types.Int64, 64, true)
	case *arrow.Uint8Type:
		return integer(parquet.Types.Int32, 8, false)
	case *arrow.Uint16Type:
		return integer(parquet.Types.Int32, 16, false)
	case *arrow.Uint32Type:
		return integer(parquet.Types.Int32, 32, false)
	case *arrow.Uint64Type:
		return integer(parquet.Types.Int64, 64, false)
	case *arrow.Float16Type:
		l.physical, l.length = parquet.Types.FixedLenByteArray, 2
		return pqschema.Float16LogicalType{}, nil
	case *arrow.Float32Type:
		l.physical = parquet.Types.Float
		return nil, nil
	case *arrow.Float64Type:
		l.physical = parquet.Types.Double
		return nil, nil
	case *arrow.Date32Type:
		l.physical = parquet.Types.Int32
		return pqschema.DateLogicalType{}, nil
	case *arrow.Time32Type:
		if t.Unit == arrow.Millisecond {
			l.physical = parquet.Types.Int32
			return pqschema.NewTimeLogicalType(false, pqschema.TimeUnitMillis), nil
		}
	case *arrow.Time64Type:
		l.physical = parquet.Types.Int64
		return pqschema.NewTimeLogicalType(false, unit[t.Unit]), nil
	case *arrow.TimestampType:
		if t.Unit != arrow.Second {
			l.physical = parquet.Types.Int64
			return pqschema.NewTimestampLogicalTypeForce(t.TimeZone != "", unit[t.Unit]), nil
		}
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		l.physical = parquet.Types.ByteArray
		return pqschema.StringLogicalType{}, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		l.physical = parquet.Types.ByteArray
		return nil, nil
	case *arrow.FixedSizeBinaryType:
		l.physical, l.length = parquet.Types.FixedLenByteArray, t.ByteWidth
		if expr.IsUUID(l.field) {
			return pqschema.UUIDLogicalType{}, nil
		}
		return nil, nil
	case *arrow.Decimal128Type, *arrow.Decimal256Type:
		return l.decimal(t.(arrow.DecimalType))
	}
	return nil, unsupported(l.field)
}

// decimal takes the physical type that the Iceberg specification asks for ("Parquet", data type mappings).
func (l *leaf) decimal(t arrow.DecimalType) (pqschema.LogicalType, error) {
	p, s := t.GetPrecision(), t.GetScale()
	if s < 0 || s > p {
		return nil, unsupported(l.field)
	}
	switch {
	case p <= 9:
		l.physical = parquet.Types.Int32
	case p <= 18:
		l.physical = parquet.Types.Int64
	default:
		l.physical, l.length = parquet.Types.FixedLenByteArray, decimalBytes(int(p))
	}
	return pqschema.NewDecimalLogicalType(p, s), nil
}

// decimalBytes is the least number of bytes that hold any number of p digits, with its sign.
func decimalBytes(p int) int {
	bits := math.Ceil(float64(p)*math.Log2(10)) + 1
	return int(bits+7) / 8
}
