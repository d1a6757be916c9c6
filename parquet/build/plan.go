package build

import (
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Classes of failure.
var (
	ErrCorrupt     = errors.New("build: corrupt")
	ErrUnsupported = errors.New("build: unsupported")
	ErrTooLarge    = errors.New("build: larger than the budget")
)

// TooLargeError is ErrTooLarge with its figures, in bytes.
type TooLargeError struct {
	What         string
	Need, Budget int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v: %s of %d bytes, at most %d allowed", ErrTooLarge, e.What, e.Need, e.Budget)
}

// Is makes it ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// sink is the layout of the array.
type sink uint8

const (
	sinkFixed sink = iota
	sinkBool
	sinkBytes
	sinkView // headers of 16 bytes that refer to pages
	sinkDict // indices of 32 bits, and a dictionary
	sinkNull
)

// Plan says how the values of one leaf column become an Arrow type. It is immutable and may be shared.
type Plan struct {
	Out      arrow.DataType
	nullable bool
	physical thrift.Type
	width    int // bytes of a stored value; 0 for BOOLEAN and BYTE_ARRAY
	sink     sink
	outWidth int // bytes of a value in the array, sinkFixed
	conv     conv
}

// Width estimates the bytes a row takes in the array, without string bytes.
func (p *Plan) Width() int {
	switch p.sink {
	case sinkFixed:
		return p.outWidth
	case sinkBytes, sinkDict:
		return 4
	case sinkView:
		return encoding.ViewWidth
	}
	return 1
}

// Bytes reports whether the array holds byte strings of any length.
func (p *Plan) Bytes() bool { return p.sink == sinkBytes || p.sink == sinkView || p.sink == sinkDict }

// Flat reports whether a Column must read it: a Leaf makes neither views nor dictionaries.
func (p *Plan) Flat() bool { return p.sink == sinkView || p.sink == sinkDict }

// NewPlan plans reading leaf n as Arrow type out. The conversions are those that keep every value: integers and floats to
// wider ones, decimals to a higher precision of the same scale, dates to timestamps, times and timestamps to another unit
// (to a coarser one by floor), and any physical form of a type. Byte strings become offsets and bytes (String, Binary), views
// (StringView, BinaryView) or a dictionary (Dictionary of int32 and String or Binary). Anything else is ErrUnsupported.
func NewPlan(n *schema.Node, out arrow.DataType) (*Plan, error) {
	p := &Plan{Out: out, nullable: n.Nullable(), physical: n.Physical, width: n.Physical.Width()}
	if n.Physical == thrift.FixedLenByteArray {
		p.width = n.TypeLength
	}
	if !n.IsLeaf() || !p.choose(n, storageOf(out)) {
		return nil, fmt.Errorf("%w: reading %s (%v) as %v", ErrUnsupported, n, describe(n), out)
	}
	return p, nil
}

// storageOf strips extensions.
func storageOf(t arrow.DataType) arrow.DataType {
	for {
		e, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = e.StorageType()
	}
}

func describe(n *schema.Node) string {
	if !n.IsLeaf() {
		return "a group"
	}
	return fmt.Sprintf("%v as %v", n.Physical, n.Arrow())
}

func (p *Plan) choose(n *schema.Node, out arrow.DataType) bool {
	from := n.Arrow()
	switch out.ID() {
	case arrow.NULL:
		p.sink = sinkNull
		return true
	case arrow.BOOL:
		p.sink = sinkBool
		return p.physical == thrift.Boolean
	case arrow.STRING, arrow.BINARY:
		p.sink = sinkBytes
		return byteLike(n)
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		p.sink, p.outWidth = sinkView, encoding.ViewWidth
		return byteLike(n)
	case arrow.DICTIONARY:
		d := out.(*arrow.DictionaryType)
		p.sink, p.outWidth = sinkDict, 4
		return byteLike(n) && d.IndexType.ID() == arrow.INT32 && (d.ValueType.ID() == arrow.STRING || d.ValueType.ID() == arrow.BINARY)
	case arrow.FIXED_SIZE_BINARY:
		return p.fixedBinary(n, out.(*arrow.FixedSizeBinaryType).ByteWidth)
	case arrow.DECIMAL64:
		return p.decimal(from, out.(arrow.DecimalType), 8)
	case arrow.DECIMAL128:
		return p.decimal(from, out.(arrow.DecimalType), 16)
	case arrow.DECIMAL256:
		return p.decimal(from, out.(arrow.DecimalType), 32)
	case arrow.TIMESTAMP:
		return p.timestamp(from, out.(*arrow.TimestampType).Unit)
	case arrow.TIME32:
		t, ok := from.(*arrow.Time64Type)
		return ok && p.number(4, unitConv(p.stored(n, t.Unit), out.(*arrow.Time32Type).Unit))
	case arrow.TIME64:
		t, ok := from.(*arrow.Time64Type)
		return ok && p.number(8, unitConv(p.stored(n, t.Unit), out.(*arrow.Time64Type).Unit))
	case arrow.DATE32:
		return from.ID() == arrow.DATE32 && p.number(4, conv{})
	case arrow.FLOAT16:
		return from.ID() == arrow.FLOAT16 && p.number(2, conv{})
	case arrow.FLOAT32:
		return from.ID() == arrow.FLOAT32 && p.number(4, conv{})
	case arrow.FLOAT64:
		if from.ID() == arrow.FLOAT32 {
			return p.number(8, conv{kind: convFloat})
		}
		return from.ID() == arrow.FLOAT64 && p.number(8, conv{})
	}
	return p.integer(from, out)
}

// number is a fixed width sink; without a conversion the widths are equal or the value is cut to its low bytes.
func (p *Plan) number(outWidth int, c conv) bool {
	p.sink, p.outWidth, p.conv = sinkFixed, outWidth, c
	if p.conv.kind == convNone && p.outWidth != p.width {
		p.conv.kind = convCut
	}
	return true
}

func byteLike(n *schema.Node) bool {
	if n.Physical != thrift.ByteArray && n.Physical != thrift.FixedLenByteArray {
		return false
	}
	switch n.Logical.Kind {
	case thrift.LogicalDecimal, thrift.LogicalFloat16:
		return false
	}
	return true
}

func (p *Plan) fixedBinary(n *schema.Node, width int) bool {
	if !byteLike(n) {
		return false
	}
	p.sink, p.outWidth = sinkFixed, width
	if p.physical == thrift.ByteArray {
		p.conv.kind = convExact
		return true
	}
	return p.width == width
}

func (p *Plan) decimal(from arrow.DataType, out arrow.DecimalType, outWidth int) bool {
	d, ok := from.(arrow.DecimalType)
	if !ok || d.GetScale() != out.GetScale() || d.GetPrecision() > out.GetPrecision() {
		return false
	}
	p.sink, p.outWidth = sinkFixed, outWidth
	switch p.physical {
	case thrift.Int32, thrift.Int64:
		if p.width < outWidth {
			p.conv = conv{kind: convWiden, signed: true}
		}
	default:
		p.conv = conv{kind: convBigEndian}
	}
	return true
}

func (p *Plan) timestamp(from arrow.DataType, unit arrow.TimeUnit) bool {
	if p.physical == thrift.Int96 {
		return p.number(8, conv{kind: convInt96, factor: perSecond(unit)})
	}
	switch t := from.(type) {
	case *arrow.TimestampType:
		return p.number(8, unitConv(t.Unit, unit))
	case *arrow.Date32Type:
		return p.number(8, conv{kind: convMultiply, factor: 86400 * perSecond(unit)})
	}
	return false
}

// stored is the unit of the values in the file: milliseconds become microseconds only in the natural Arrow type.
func (p *Plan) stored(n *schema.Node, natural arrow.TimeUnit) arrow.TimeUnit {
	if n.Logical.Unit == thrift.Millis {
		return arrow.Millisecond
	}
	return natural
}

// perSecond is how many of a unit a second has.
func perSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// unitConv goes from one unit to another.
func unitConv(from, to arrow.TimeUnit) conv {
	f, t := from.Multiplier(), to.Multiplier()
	switch {
	case f > t:
		return conv{kind: convMultiply, factor: int64(f / t)}
	case f < t:
		return conv{kind: convFloor, factor: int64(t / f)}
	}
	return conv{}
}

func (p *Plan) integer(from, out arrow.DataType) bool {
	if !arrow.IsInteger(from.ID()) || !arrow.IsInteger(out.ID()) {
		return false
	}
	f, t := from.(arrow.FixedWidthDataType), out.(arrow.FixedWidthDataType)
	signed := arrow.IsSignedInteger(from.ID())
	switch {
	case from.ID() == out.ID():
	case t.BitWidth() <= f.BitWidth(), signed && !arrow.IsSignedInteger(out.ID()):
		return false
	}
	if t.Bytes() <= p.width {
		return p.number(t.Bytes(), conv{})
	}
	return p.number(t.Bytes(), conv{kind: convWiden, signed: signed})
}
