//go:build duckdb_arrow && cgo

package duckdb

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// exporter turns result chunks into Arrow batches in Go's memory. It knows the plain types; DuckDB's own conversion, which
// goes value by value and costs twice as much, does the rest.
type exporter struct {
	schema  *arrow.Schema
	columns []exportColumn // nil = DuckDB converts
}

type exportColumn struct {
	how   exportKind
	width int // bytes a value in DuckDB
}

type exportKind uint8

const (
	exportFixed exportKind = iota + 1
	exportBool
	exportDecimal // a signed integer of width bytes becomes 16 bytes
	exportText    // strings and blobs
	exportUUID    // as text
)

// newExporter looks at the result's types, both DuckDB's and Arrow's.
func newExporter(schema *arrow.Schema, types []bindings.LogicalType) *exporter {
	e := &exporter{schema: schema}
	var columns []exportColumn
	for i, t := range types {
		c := howToExport(schema.Field(i).Type, bindings.GetTypeId(t))
		if c.how == 0 {
			return e
		}
		columns = append(columns, c)
	}
	e.columns = columns
	return e
}

func howToExport(a arrow.DataType, duck bindings.Type) exportColumn {
	switch a := a.(type) {
	case *arrow.StringType:
		if duck == bindings.TypeUUID {
			return exportColumn{exportUUID, 16}
		}
		return exportIf(duck == bindings.TypeVarchar, exportText, 16)
	case *arrow.BinaryType:
		return exportIf(duck == bindings.TypeBlob, exportText, 16)
	case *arrow.Decimal128Type:
		if duck == bindings.TypeHugeInt {
			return exportColumn{exportDecimal, 16}
		}
		return exportIf(duck == bindings.TypeDecimal, exportDecimal, decimalWidth(a.Precision))
	}
	switch how, width := howToCopy(arrow.Field{Type: a}, duck); how {
	case copyFixed:
		return exportColumn{exportFixed, width}
	case copyBool:
		return exportColumn{exportBool, 1}
	}
	return exportColumn{}
}

func exportIf(same bool, how exportKind, width int) exportColumn {
	if !same {
		return exportColumn{}
	}
	return exportColumn{how, width}
}

// batch converts a chunk; ok is false if DuckDB has to do it.
func (e *exporter) batch(chunk bindings.DataChunk) (rec arrow.RecordBatch, ok bool) {
	if e.columns == nil {
		return nil, false
	}
	n := int(bindings.DataChunkGetSize(chunk))
	columns := make([]arrow.Array, len(e.columns))
	for i, c := range e.columns {
		vec := bindings.DataChunkGetVector(chunk, bindings.IdxT(i))
		d := c.data(e.schema.Field(i).Type, vec, n)
		if d == nil {
			return nil, false
		}
		columns[i] = array.MakeFromData(d)
		d.Release()
	}
	return array.NewRecordBatch(e.schema, columns, int64(n)), true
}

// data copies a flat vector of n values; nil = it has too much text.
func (c exportColumn) data(t arrow.DataType, vec bindings.Vector, n int) *array.Data {
	validity, nulls := exportValidity(vec, n)
	from := bindings.VectorGetData(vec)
	var values []byte
	switch c.how {
	case exportText:
		offsets, text, ok := exportTexts(unsafe.Slice((*duckString)(from), n), validity)
		if !ok {
			return nil
		}
		return array.NewData(t, n, []*arrowmem.Buffer{bufferOf(validity), arrowmem.NewBufferBytes(offsets), arrowmem.NewBufferBytes(text)}, nil, nulls, 0)
	case exportUUID:
		offsets, text := exportUUIDs(unsafe.Slice((*[2]uint64)(from), n))
		return array.NewData(t, n, []*arrowmem.Buffer{bufferOf(validity), arrowmem.NewBufferBytes(offsets), arrowmem.NewBufferBytes(text)}, nil, nulls, 0)
	case exportBool:
		values = make([]byte, (n+7)/8)
		for i, b := range unsafe.Slice((*byte)(from), n) {
			values[i/8] |= (b & 1) << (i % 8)
		}
	case exportDecimal:
		values = make([]byte, n*16)
		widenDecimals(values, from, c.width, n)
	default:
		values = make([]byte, n*c.width)
		copy(values, unsafe.Slice((*byte)(from), n*c.width))
	}
	return array.NewData(t, n, []*arrowmem.Buffer{bufferOf(validity), arrowmem.NewBufferBytes(values)}, nil, nulls, 0)
}

func bufferOf(b []byte) *arrowmem.Buffer {
	if b == nil {
		return nil
	}
	return arrowmem.NewBufferBytes(b)
}

// exportValidity copies a validity mask; nil = all values are valid.
func exportValidity(vec bindings.Vector, n int) (mask []byte, nulls int) {
	p := bindings.VectorGetValidity(vec)
	if p == nil {
		return nil, 0
	}
	mask = make([]byte, (n+7)/8)
	copy(mask, unsafe.Slice((*byte)(p), len(mask)))
	if n%8 != 0 {
		mask[len(mask)-1] &= 1<<(n%8) - 1
	}
	valid := 0
	for _, b := range mask {
		valid += bits.OnesCount8(b)
	}
	if valid == n {
		return nil, 0
	}
	return mask, n - valid
}

// widenDecimals sign-extends to 16 bytes.
func widenDecimals(dst []byte, from unsafe.Pointer, width, n int) {
	put := func(i int, v int64) {
		binary.LittleEndian.PutUint64(dst[i*16:], uint64(v))
		binary.LittleEndian.PutUint64(dst[i*16+8:], uint64(v>>63))
	}
	switch width {
	case 2:
		for i, v := range unsafe.Slice((*int16)(from), n) {
			put(i, int64(v))
		}
	case 4:
		for i, v := range unsafe.Slice((*int32)(from), n) {
			put(i, int64(v))
		}
	case 8:
		for i, v := range unsafe.Slice((*int64)(from), n) {
			put(i, v)
		}
	default:
		copy(dst, unsafe.Slice((*byte)(from), n*16))
	}
}

// exportTexts lays strings end to end. What stands under a null is not a string.
func exportTexts(strings []duckString, validity []byte) (offsets, text []byte, ok bool) {
	valid := func(i int) bool { return validity == nil || validity[i/8]>>(i%8)&1 != 0 }
	total := 0
	for i := range strings {
		if valid(i) {
			total += int(uint32(strings[i][0]))
		}
	}
	if total > math.MaxInt32 {
		return nil, nil, false
	}
	offsets, text = make([]byte, 4*(len(strings)+1)), make([]byte, 0, total)
	for i := range strings {
		if valid(i) {
			text = append(text, strings[i].bytes()...)
		}
		binary.LittleEndian.PutUint32(offsets[4*(i+1):], uint32(len(text)))
	}
	return offsets, text, true
}

// exportUUIDs writes all values, also those under a null: they are only numbers.
func exportUUIDs(values [][2]uint64) (offsets, text []byte) {
	const size = 36
	offsets, text = make([]byte, 4*(len(values)+1)), make([]byte, 0, size*len(values))
	var raw [16]byte
	for i, v := range values {
		binary.BigEndian.PutUint64(raw[:], v[1]^1<<63)
		binary.BigEndian.PutUint64(raw[8:], v[0])
		for k, group := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
			if k > 0 {
				text = append(text, '-')
			}
			text = hex.AppendEncode(text, group)
		}
		binary.LittleEndian.PutUint32(offsets[4*(i+1):], uint32(len(text)))
	}
	return offsets, text
}

// bytes is the text of a string in DuckDB's memory.
func (s *duckString) bytes() []byte {
	n := int(uint32(s[0]))
	if n <= inlined {
		return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s[1])), n)
}
