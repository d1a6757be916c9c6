package prune

import (
	"encoding/binary"
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Column says how the file stores a leaf and as what the predicate sees it.
type Column struct {
	Node  *schema.Node   // the leaf in the file
	Order thrift.Order   // of the leaf's min_value and max_value
	Type  arrow.DataType // of the output column that the predicate reads, after promotion
}

// form is how stored bytes become a literal's value.
type form uint8

const (
	formNone form = iota // cannot be compared
	formBool
	formInt   // signed
	formUint  // unsigned
	formTime  // signed, with a change of unit
	formDate  // days that the predicate sees as a timestamp
	formFloat // of 2, 4 or 8 bytes
	formDecimal
	formString
	formBytes
)

// codec is what Column.codec finds out once.
type codec struct {
	form     form
	physical thrift.Type
	length   int // of FIXED_LEN_BYTE_ARRAY
	exact    bool
	scaleUp  int64 // value of the predicate = stored value x scaleUp / scaleDown, rounded down
	scaleDn  int64
}

// codec finds the form; formNone if the stored type does not determine the order that the predicate compares by.
func (c Column) codec() codec {
	x := codec{physical: c.Node.Physical, length: c.Node.TypeLength, scaleUp: 1, scaleDn: 1}
	if !c.Node.IsLeaf() || c.Type == nil {
		return x
	}
	x.form = c.form(&x)
	return x
}

func (c Column) form(x *codec) form {
	l, p := c.Node.Logical, c.Node.Physical
	integer := p == thrift.Int32 || p == thrift.Int64
	array := p == thrift.ByteArray || p == thrift.FixedLenByteArray
	t := expr.ValueType(c.Type)
	switch t.ID() {
	case arrow.BOOL:
		return formIf(formBool, p == thrift.Boolean)
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return formIf(formInt, integer && (l.Kind == thrift.NoLogical || l.Kind == thrift.LogicalInt && l.Signed))
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return formIf(formUint, integer && l.Kind == thrift.LogicalInt && !l.Signed)
	case arrow.DATE32:
		return formIf(formInt, p == thrift.Int32 && (l.Kind == thrift.NoLogical || l.Kind == thrift.LogicalDate))
	case arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		return c.timeForm(x, t)
	case arrow.FLOAT16:
		return formIf(formFloat, l.Kind == thrift.LogicalFloat16)
	case arrow.FLOAT32:
		return formIf(formFloat, p == thrift.Float)
	case arrow.FLOAT64:
		return formIf(formFloat, p == thrift.Float || p == thrift.Double)
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		d := t.(arrow.DecimalType)
		return formIf(formDecimal, l.Kind == thrift.LogicalDecimal && l.Scale == d.GetScale())
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return formIf(formString, array && bytewise(l.Kind))
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return formIf(formBytes, array && bytewise(l.Kind))
	case arrow.FIXED_SIZE_BINARY:
		x.exact = l.Kind == thrift.LogicalUUID
		return formIf(formBytes, array && bytewise(l.Kind))
	}
	return formNone
}

func formIf(f form, ok bool) form {
	if ok {
		return f
	}
	return formNone
}

// bytewise: the logical types of byte arrays that are ordered as unsigned bytes.
func bytewise(k thrift.LogicalKind) bool {
	switch k {
	case thrift.NoLogical, thrift.LogicalString, thrift.LogicalEnum, thrift.LogicalJSON, thrift.LogicalBSON, thrift.LogicalUUID:
		return true
	}
	return false
}

func (c Column) timeForm(x *codec, t arrow.DataType) form {
	l := c.Node.Logical
	want := perSecond(t.(arrow.TemporalWithUnit).TimeUnit())
	switch {
	case t.ID() == arrow.TIMESTAMP && l.Kind == thrift.LogicalDate:
		x.scaleUp = 86400 * want
		return formDate
	case t.ID() == arrow.TIMESTAMP && l.Kind != thrift.LogicalTimestamp,
		t.ID() != arrow.TIMESTAMP && l.Kind != thrift.LogicalTime:
		return formNone
	}
	have := perSecond(schema.TimeUnit(l.Unit))
	if want >= have {
		x.scaleUp = want / have
	} else {
		x.scaleDn = have / want
	}
	return formTime
}

func perSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// signed: the form's order is that of signed numbers, which the deprecated statistics are kept by.
func (x codec) signed() bool {
	switch x.form {
	case formBool, formInt, formTime, formDate:
		return true
	case formFloat:
		return x.physical != thrift.FixedLenByteArray
	case formDecimal:
		return x.physical == thrift.Int32 || x.physical == thrift.Int64
	}
	return false
}

// value decodes one PLAIN value (byte arrays without a length prefix) to a Go value as expr.Literal documents; ok is false
// if the bytes have the wrong length or the value does not fit the predicate's type.
func (x codec) value(b []byte) (v any, ok bool) {
	switch x.form {
	case formBool:
		if len(b) != 1 || b[0] > 1 {
			return nil, false
		}
		return b[0] == 1, true
	case formInt, formTime, formDate:
		i, ok := x.integer(b)
		if !ok {
			return nil, false
		}
		return x.rescale(i)
	case formUint:
		i, ok := x.integer(b)
		if x.physical == thrift.Int32 {
			return uint64(uint32(i)), ok
		}
		return uint64(i), ok
	case formFloat:
		return x.float(b)
	case formDecimal:
		return x.decimal(b)
	case formString:
		return string(b), x.fits(b)
	case formBytes:
		return b, x.fits(b)
	}
	return nil, false
}

// fits allows bounds cut short; a UUID is whole or wrong.
func (x codec) fits(b []byte) bool {
	if x.exact {
		return len(b) == 16
	}
	return x.physical != thrift.FixedLenByteArray || len(b) <= x.length
}

func (x codec) integer(b []byte) (int64, bool) {
	switch {
	case x.physical == thrift.Int32 && len(b) == 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case x.physical == thrift.Int64 && len(b) == 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

func (x codec) rescale(i int64) (any, bool) {
	if x.scaleDn > 1 {
		q := i / x.scaleDn
		if i%x.scaleDn < 0 {
			q--
		}
		return q, true
	}
	if i > math.MaxInt64/x.scaleUp || i < math.MinInt64/x.scaleUp {
		return nil, false
	}
	return i * x.scaleUp, true
}

func (x codec) float(b []byte) (any, bool) {
	switch {
	case x.physical == thrift.Float && len(b) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case x.physical == thrift.Double && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case x.physical == thrift.FixedLenByteArray && len(b) == 2:
		return expr.Half(binary.LittleEndian.Uint16(b)), true
	}
	return nil, false
}

// decimal: integers are little-endian, arrays big-endian, both two's complement.
func (x codec) decimal(b []byte) (any, bool) {
	switch x.physical {
	case thrift.Int32, thrift.Int64:
		i, ok := x.integer(b)
		return big.NewInt(i), ok
	case thrift.FixedLenByteArray:
		if len(b) != x.length {
			return nil, false
		}
	}
	if len(b) == 0 || len(b) > 64 {
		return nil, false
	}
	v := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v, true
}
