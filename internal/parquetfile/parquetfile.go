// Package parquetfile writes Arrow records as Parquet files for tests, through parquet-go, so that what our own reader reads
// was not written by our own writer. Field ids in the metadata of Arrow fields become those of the columns.
package parquetfile

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/parquet-go/parquet-go"

	"github.com/lakescan/lakescan/expr"
)

// Options of a file; the zero value writes one row group, dictionary encoding, no compression.
type Options struct {
	GroupRows int64 // rows of a row group
	PageBytes int   // bytes of a page
	Plain     bool  // no dictionaries
	V1        bool  // data pages of version 1
	NoIDs     bool  // leave out field ids
	// NoStatistics leaves out those of pages.
	NoStatistics bool
	Writer       []parquet.WriterOption
}

// Write makes a file of all rows of the records, which share a schema. Types: bool, integers, floats, decimal128, date32, time,
// timestamp, string, binary, fixed, struct, list, map.
func Write(o Options, records ...arrow.RecordBatch) ([]byte, error) {
	schema := records[0].Schema()
	root := &group{}
	for _, f := range schema.Fields() {
		n, err := node(f, o)
		if err != nil {
			return nil, err
		}
		root.fields = append(root.fields, field{n, f.Name})
	}
	opts := []parquet.WriterOption{parquet.NewSchema("table", root)}
	if o.GroupRows > 0 {
		opts = append(opts, parquet.MaxRowsPerRowGroup(o.GroupRows))
	}
	if o.PageBytes > 0 {
		opts = append(opts, parquet.PageBufferSize(o.PageBytes))
	}
	version := 2
	if o.V1 {
		version = 1
	}
	opts = append(opts, parquet.DataPageVersion(version), parquet.DataPageStatistics(!o.NoStatistics))
	var out bytes.Buffer
	w := parquet.NewWriter(&out, append(opts, o.Writer...)...)
	rows := make([]parquet.Row, 0, 1024)
	for _, rec := range records {
		for i := range int(rec.NumRows()) {
			s := shredder{row: make(parquet.Row, 0, schema.NumFields())}
			for c, f := range schema.Fields() {
				if err := s.value(f, rec.Column(c), i, 0, 0); err != nil {
					return nil, err
				}
			}
			if !slices.IsSortedFunc(s.row, byColumn) {
				slices.SortStableFunc(s.row, byColumn)
			}
			if rows = append(rows, s.row); len(rows) < cap(rows) {
				continue
			}
			if _, err := w.WriteRows(rows); err != nil {
				return nil, err
			}
			rows = rows[:0]
		}
	}
	if _, err := w.WriteRows(rows); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func byColumn(a, b parquet.Value) int { return cmp.Compare(a.Column(), b.Column()) }

// group keeps its fields in order, which parquet.Group sorts by name.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) Fields() []parquet.Field { return g.fields }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string                      { return f.name }
func (f field) Value(reflect.Value) reflect.Value { panic("parquetfile: rows are written as values") }

func node(f arrow.Field, o Options) (parquet.Node, error) {
	n, err := required(f, o)
	if err != nil {
		return nil, err
	}
	if n.Leaf() && !o.Plain && n.Type().Kind() != parquet.Boolean {
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	}
	if f.Nullable {
		n = parquet.Optional(n)
	} else {
		n = parquet.Required(n)
	}
	if id, ok := expr.FieldID(f); ok && !o.NoIDs {
		n = parquet.FieldID(n, id)
	}
	return n, nil
}

func required(f arrow.Field, o Options) (parquet.Node, error) {
	units := map[arrow.TimeUnit]parquet.TimeUnit{arrow.Millisecond: parquet.Millisecond, arrow.Microsecond: parquet.Microsecond, arrow.Nanosecond: parquet.Nanosecond}
	switch t := f.Type.(type) {
	case *arrow.BooleanType:
		return parquet.Leaf(parquet.BooleanType), nil
	case *arrow.Int8Type:
		return parquet.Int(8), nil
	case *arrow.Int16Type:
		return parquet.Int(16), nil
	case *arrow.Int32Type:
		return parquet.Int(32), nil
	case *arrow.Int64Type:
		return parquet.Int(64), nil
	case *arrow.Float32Type:
		return parquet.Leaf(parquet.FloatType), nil
	case *arrow.Float64Type:
		return parquet.Leaf(parquet.DoubleType), nil
	case *arrow.Date32Type:
		return parquet.Date(), nil
	case *arrow.Time32Type:
		return parquet.TimeAdjusted(units[t.Unit], false), nil
	case *arrow.Time64Type:
		return parquet.TimeAdjusted(units[t.Unit], false), nil
	case *arrow.TimestampType:
		return parquet.TimestampAdjusted(units[t.Unit], t.TimeZone != ""), nil
	case *arrow.Decimal128Type:
		switch {
		case t.Precision <= 9:
			return parquet.Decimal(int(t.Scale), int(t.Precision), parquet.Int32Type), nil
		case t.Precision <= 18:
			return parquet.Decimal(int(t.Scale), int(t.Precision), parquet.Int64Type), nil
		}
		return parquet.Decimal(int(t.Scale), int(t.Precision), parquet.FixedLenByteArrayType(16)), nil
	case *arrow.StringType:
		return parquet.String(), nil
	case *arrow.BinaryType:
		return parquet.Leaf(parquet.ByteArrayType), nil
	case *arrow.FixedSizeBinaryType:
		return parquet.Leaf(parquet.FixedLenByteArrayType(t.ByteWidth)), nil
	case *arrow.StructType:
		g := &group{}
		for _, c := range t.Fields() {
			n, err := node(c, o)
			if err != nil {
				return nil, err
			}
			g.fields = append(g.fields, field{n, c.Name})
		}
		return g, nil
	case *arrow.ListType:
		n, err := node(t.ElemField(), o)
		if err != nil {
			return nil, err
		}
		return parquet.List(n), nil
	case *arrow.MapType:
		k, err := node(t.KeyField(), o)
		if err != nil {
			return nil, err
		}
		v, err := node(t.ItemField(), o)
		if err != nil {
			return nil, err
		}
		return parquet.Map(k, v), nil
	}
	return nil, fmt.Errorf("parquetfile: column %q of type %v", f.Name, f.Type)
}

// shredder turns one row into leaf values with their levels.
type shredder struct {
	row    parquet.Row
	column int
	depth  int // repeated parents
}

func (s *shredder) leaf(v parquet.Value, rep, def int) {
	s.row = append(s.row, v.Level(rep, def, s.column))
	s.column++
}

// absent emits a null for every leaf below f.
func (s *shredder) absent(f arrow.Field, rep, def int) {
	switch t := f.Type.(type) {
	case *arrow.StructType:
		for _, c := range t.Fields() {
			s.absent(c, rep, def)
		}
	case *arrow.ListType:
		s.absent(t.ElemField(), rep, def)
	case *arrow.MapType:
		s.absent(t.KeyField(), rep, def)
		s.absent(t.ItemField(), rep, def)
	default:
		s.leaf(parquet.Value{}, rep, def)
	}
}

// value emits row i of a, whose parents have the levels rep and def.
func (s *shredder) value(f arrow.Field, a arrow.Array, i, rep, def int) error {
	if f.Nullable {
		if a.IsNull(i) {
			s.absent(f, rep, def)
			return nil
		}
		def++
	}
	switch a := a.(type) {
	case *array.Struct:
		for c, child := range f.Type.(*arrow.StructType).Fields() {
			if err := s.value(child, a.Field(c), i, rep, def); err != nil {
				return err
			}
		}
		return nil
	case *array.Map:
		t := f.Type.(*arrow.MapType)
		from, to := a.ValueOffsets(i)
		return s.repeated(from, to, rep, def, []arrow.Field{t.KeyField(), t.ItemField()}, []arrow.Array{a.Keys(), a.Items()})
	case *array.List:
		from, to := a.ValueOffsets(i)
		return s.repeated(from, to, rep, def, []arrow.Field{f.Type.(*arrow.ListType).ElemField()}, []arrow.Array{a.ListValues()})
	}
	v, err := leafValue(a, i)
	if err != nil {
		return fmt.Errorf("parquetfile: column %q: %w", f.Name, err)
	}
	s.leaf(v, rep, def)
	return nil
}

// repeated emits the entries [from, to) of the children, column after column.
func (s *shredder) repeated(from, to int64, rep, def int, fields []arrow.Field, children []arrow.Array) error {
	if from == to {
		for _, f := range fields {
			s.absent(f, rep, def)
		}
		return nil
	}
	s.depth++
	level := s.depth // may change inside a child, never across one
	for c, f := range fields {
		first := s.column
		for i := from; i < to; i++ {
			s.column = first
			r := rep
			if i > from {
				r = level
			}
			if err := s.value(f, children[c], int(i), r, def+1); err != nil {
				return err
			}
		}
	}
	s.depth--
	return nil
}

func leafValue(a arrow.Array, i int) (parquet.Value, error) {
	switch a := a.(type) {
	case *array.Boolean:
		return parquet.BooleanValue(a.Value(i)), nil
	case *array.Int8:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Int16:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Int32:
		return parquet.Int32Value(a.Value(i)), nil
	case *array.Int64:
		return parquet.Int64Value(a.Value(i)), nil
	case *array.Float32:
		return parquet.FloatValue(a.Value(i)), nil
	case *array.Float64:
		return parquet.DoubleValue(a.Value(i)), nil
	case *array.Date32:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Time32:
		return parquet.Int32Value(int32(a.Value(i))), nil
	case *array.Time64:
		return parquet.Int64Value(int64(a.Value(i))), nil
	case *array.Timestamp:
		return parquet.Int64Value(int64(a.Value(i))), nil
	case *array.Decimal128:
		return decimalValue(a.Value(i), a.DataType().(*arrow.Decimal128Type).Precision), nil
	case *array.String:
		return parquet.ByteArrayValue([]byte(a.Value(i))), nil
	case *array.Binary:
		return parquet.ByteArrayValue(a.Value(i)), nil
	case *array.FixedSizeBinary:
		return parquet.FixedLenByteArrayValue(a.Value(i)), nil
	}
	return parquet.Value{}, fmt.Errorf("type %v", a.DataType())
}

func decimalValue(d decimal128.Num, precision int32) parquet.Value {
	switch {
	case precision <= 9:
		return parquet.Int32Value(int32(d.LowBits()))
	case precision <= 18:
		return parquet.Int64Value(int64(d.LowBits()))
	}
	b := make([]byte, 16)
	n := d.BigInt()
	if n.Sign() < 0 { // two's complement
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return parquet.FixedLenByteArrayValue(n.FillBytes(b))
}
