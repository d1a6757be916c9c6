package schema

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// ExtensionKey is the field metadata key under which Arrow names what a field means beyond its storage.
const ExtensionKey = "ARROW:extension:name"

// Names under ExtensionKey that Field sets.
const (
	UUIDExtension    = "arrow.uuid"
	VariantExtension = "arrow.parquet.variant"
)

// Field is the node as an Arrow field, with its field id under expr.FieldIDKey if it has one.
func (n *Node) Field() arrow.Field {
	f := arrow.Field{Name: n.Name, Type: n.Arrow(), Nullable: n.Nullable()}
	var keys, values []string
	if n.HasID {
		keys, values = append(keys, expr.FieldIDKey), append(values, strconv.Itoa(n.ID))
	}
	if x := n.extension(); x != "" {
		keys, values = append(keys, ExtensionKey), append(values, x)
	}
	if keys != nil {
		f.Metadata = arrow.NewMetadata(keys, values)
	}
	return f
}

func (n *Node) extension() string {
	switch {
	case n.Kind == Variant:
		return VariantExtension
	case n.Kind == Primitive && n.Logical.Kind == thrift.LogicalUUID:
		return UUIDExtension
	}
	return ""
}

// Arrow is the type that holds the node's values as they are stored. A variant is a struct of metadata and value.
func (n *Node) Arrow() arrow.DataType {
	switch n.Kind {
	case List:
		e := n.Element().Field()
		return arrow.ListOfField(e)
	case Map:
		k, v := n.Key().Field(), n.Value().Field()
		k.Nullable = false
		m := arrow.MapOfWithMetadata(k.Type, k.Metadata, v.Type, v.Metadata)
		m.SetItemNullable(v.Nullable)
		return m
	case Variant:
		return arrow.StructOf(
			arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary},
			arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary})
	case Struct:
		fs := make([]arrow.Field, len(n.Children))
		for i, c := range n.Children {
			fs[i] = c.Field()
		}
		return arrow.StructOf(fs...)
	}
	return n.leafType()
}

func (n *Node) leafType() arrow.DataType {
	l := n.Logical
	switch l.Kind {
	case thrift.LogicalUnknown:
		return arrow.Null
	case thrift.LogicalString, thrift.LogicalEnum, thrift.LogicalJSON:
		return arrow.BinaryTypes.String
	case thrift.LogicalDecimal:
		switch {
		case l.Precision <= 38:
			return &arrow.Decimal128Type{Precision: l.Precision, Scale: l.Scale}
		case l.Precision <= 76:
			return &arrow.Decimal256Type{Precision: l.Precision, Scale: l.Scale}
		}
	case thrift.LogicalDate:
		return arrow.FixedWidthTypes.Date32
	case thrift.LogicalTime:
		if l.Unit == thrift.Nanos {
			return arrow.FixedWidthTypes.Time64ns
		}
		return arrow.FixedWidthTypes.Time64us
	case thrift.LogicalTimestamp:
		t := &arrow.TimestampType{Unit: TimeUnit(l.Unit)}
		if l.UTC {
			t.TimeZone = "UTC"
		}
		return t
	case thrift.LogicalInt:
		return intType(l)
	case thrift.LogicalFloat16:
		return arrow.FixedWidthTypes.Float16
	}
	switch n.Physical {
	case thrift.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case thrift.Int32:
		return arrow.PrimitiveTypes.Int32
	case thrift.Int64:
		return arrow.PrimitiveTypes.Int64
	case thrift.Int96:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case thrift.Float:
		return arrow.PrimitiveTypes.Float32
	case thrift.Double:
		return arrow.PrimitiveTypes.Float64
	case thrift.FixedLenByteArray:
		return &arrow.FixedSizeBinaryType{ByteWidth: n.TypeLength}
	}
	return arrow.BinaryTypes.Binary
}

func intType(l thrift.Logical) arrow.DataType {
	signed := [...]arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}
	unsigned := [...]arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64}
	i := 0
	for w := uint8(8); w < l.BitWidth; w *= 2 {
		i++
	}
	if l.Signed {
		return signed[i]
	}
	return unsigned[i]
}

// TimeUnit is Arrow's name of a Parquet unit.
func TimeUnit(u thrift.Unit) arrow.TimeUnit {
	switch u {
	case thrift.Millis:
		return arrow.Millisecond
	case thrift.Nanos:
		return arrow.Nanosecond
	}
	return arrow.Microsecond
}

// Arrow is the whole schema.
func (t *Tree) Arrow() *arrow.Schema {
	fs := make([]arrow.Field, len(t.Root.Children))
	for i, c := range t.Root.Children {
		fs[i] = c.Field()
	}
	return arrow.NewSchema(fs, nil)
}
