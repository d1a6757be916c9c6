package canon

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/expr"
)

// MapOrder says how the entries of a map are listed.
type MapOrder uint8

const (
	// StoredOrder lists them as they are stored; the corpus's rule for Parquet.
	StoredOrder MapOrder = iota
	// KeyOrder sorts them by the bytes of the key's text; the corpus's rule for Iceberg.
	KeyOrder
)

// AppendValue appends the canonical text of a[i]; f describes a (its type and metadata) and may differ from a's own type
// only in being the storage of an extension named in the metadata. An unknown type or a broken variant is an error.
func AppendValue(dst []byte, f arrow.Field, a arrow.Array, i int, order MapOrder) ([]byte, error) {
	ext := extension(f)
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
		f = arrow.Field{Name: f.Name, Type: a.DataType()}
	}
	return appendExtension(dst, ext, f, a, i, order)
}

func appendExtension(dst []byte, ext string, f arrow.Field, a arrow.Array, i int, order MapOrder) ([]byte, error) {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return append(dst, "null"...), nil
	}
	switch ext {
	case uuidName:
		b, ok := a.(*array.FixedSizeBinary)
		if !ok || b.DataType().(*arrow.FixedSizeBinaryType).ByteWidth != 16 {
			return dst, fmt.Errorf("canon: uuid stored as %s", a.DataType())
		}
		return appendUUID(dst, b.Value(i)), nil
	case variantName, variantLegacy:
		metadata, value, err := variantBytes(a, i)
		if err != nil {
			return dst, err
		}
		return appendVariant(dst, metadata, value)
	}
	if dst, ok := appendNumber(dst, a, i); ok {
		return dst, nil
	}
	if dst, ok := appendOther(dst, a, i); ok {
		return dst, nil
	}
	return appendNested(dst, f, a, i, order)
}

func appendNumber(dst []byte, a arrow.Array, i int) ([]byte, bool) {
	switch a := a.(type) {
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), true
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10), true
	case *array.Uint8:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint16:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint32:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10), true
	case *array.Uint64:
		return strconv.AppendUint(dst, a.Value(i), 10), true
	case *array.Float16:
		return appendFloat(dst, expr.Half(a.Value(i).Uint16()), 4), true
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(i)), 8), true
	case *array.Float64:
		return appendFloat(dst, a.Value(i), 16), true
	case *array.Decimal32:
		return appendDecimal(dst, big.NewInt(int64(a.Value(i))), scaleOf(a)), true
	case *array.Decimal64:
		return appendDecimal(dst, big.NewInt(int64(a.Value(i))), scaleOf(a)), true
	case *array.Decimal128:
		return appendDecimal(dst, a.Value(i).BigInt(), scaleOf(a)), true
	case *array.Decimal256:
		return appendDecimal(dst, a.Value(i).BigInt(), scaleOf(a)), true
	}
	return dst, false
}

func scaleOf(a arrow.Array) int { return int(a.DataType().(arrow.DecimalType).GetScale()) }

func appendOther(dst []byte, a arrow.Array, i int) ([]byte, bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i)), true
	case *array.String:
		return appendText(dst, []byte(a.Value(i))), true
	case *array.LargeString:
		return appendText(dst, []byte(a.Value(i))), true
	case *array.StringView:
		return appendText(dst, []byte(a.Value(i))), true
	case *array.Binary:
		return appendBytes(dst, a.Value(i)), true
	case *array.LargeBinary:
		return appendBytes(dst, a.Value(i)), true
	case *array.BinaryView:
		return appendBytes(dst, a.Value(i)), true
	case *array.FixedSizeBinary:
		return appendBytes(dst, a.Value(i)), true
	case *array.Date32:
		return appendDate(dst, int64(a.Value(i))), true
	case *array.Date64:
		days, _ := floorDiv(int64(a.Value(i)), 86_400_000)
		return appendDate(dst, days), true
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		return appendTime(dst, int64(a.Value(i))*(1e9/perSecond(unit))), true
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return appendTime(dst, int64(a.Value(i))*(1e9/perSecond(unit))), true
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return appendTimestamp(dst, int64(a.Value(i)), perSecond(t.Unit), t.TimeZone != ""), true
	}
	return dst, false
}

func perSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

func appendNested(dst []byte, f arrow.Field, a arrow.Array, i int, order MapOrder) ([]byte, error) {
	switch a := a.(type) {
	case *array.Dictionary:
		t := a.DataType().(*arrow.DictionaryType)
		return AppendValue(dst, arrow.Field{Type: t.ValueType, Metadata: f.Metadata}, a.Dictionary(), a.GetValueIndex(i), order)
	case *array.RunEndEncoded:
		t := a.DataType().(*arrow.RunEndEncodedType)
		return AppendValue(dst, arrow.Field{Type: t.Encoded(), Metadata: f.Metadata}, a.Values(), a.GetPhysicalIndex(i), order)
	case *array.Map:
		return appendMap(dst, f, a, i, order)
	case array.ListLike:
		elem := f.Type.(arrow.ListLikeType).ElemField()
		start, end := a.ValueOffsets(i)
		return appendSeq(dst, '[', ']', int(end-start), func(dst []byte, k int) ([]byte, error) {
			return AppendValue(dst, elem, a.ListValues(), int(start)+k, order)
		})
	case *array.Struct:
		fields := f.Type.(*arrow.StructType).Fields()
		return appendSeq(dst, '{', '}', len(fields), func(dst []byte, k int) ([]byte, error) {
			dst = append(appendText(dst, []byte(fields[k].Name)), ':')
			return AppendValue(dst, fields[k], a.Field(k), i, order)
		})
	}
	return dst, fmt.Errorf("canon: no canonical text for %s", a.DataType())
}

func appendMap(dst []byte, f arrow.Field, a *array.Map, i int, order MapOrder) ([]byte, error) {
	t := f.Type.(*arrow.MapType)
	start, end := a.ValueOffsets(i)
	type entry struct{ key, item []byte }
	entries := make([]entry, 0, end-start)
	for k := int(start); k < int(end); k++ {
		key, err := AppendValue(nil, t.KeyField(), a.Keys(), k, order)
		if err != nil {
			return dst, err
		}
		item, err := AppendValue(nil, t.ItemField(), a.Items(), k, order)
		if err != nil {
			return dst, err
		}
		entries = append(entries, entry{key, item})
	}
	if order == KeyOrder {
		slices.SortStableFunc(entries, func(a, b entry) int { return slices.Compare(a.key, b.key) })
	}
	return appendSeq(dst, '[', ']', len(entries), func(dst []byte, k int) ([]byte, error) {
		dst = append(append(dst, '['), entries[k].key...)
		dst = append(append(dst, ','), entries[k].item...)
		return append(dst, ']'), nil
	})
}

// appendSeq writes n parts between brackets, with commas.
func appendSeq(dst []byte, begin, end byte, n int, part func([]byte, int) ([]byte, error)) ([]byte, error) {
	dst = append(dst, begin)
	for k := range n {
		if k > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = part(dst, k); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// variantBytes finds the two byte strings of an unshredded variant in its struct.
func variantBytes(a arrow.Array, i int) (metadata, value []byte, err error) {
	s, ok := a.(*array.Struct)
	if !ok {
		return nil, nil, fmt.Errorf("canon: variant stored as %s", a.DataType())
	}
	for k, f := range s.DataType().(*arrow.StructType).Fields() {
		switch f.Name {
		case "metadata":
			metadata, err = bytesAt(s.Field(k), i)
		case "value":
			value, err = bytesAt(s.Field(k), i)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return metadata, value, nil
}

func bytesAt(a arrow.Array, i int) ([]byte, error) {
	switch a := a.(type) {
	case *array.Binary:
		return a.Value(i), nil
	case *array.LargeBinary:
		return a.Value(i), nil
	case *array.BinaryView:
		return a.Value(i), nil
	case *array.Dictionary:
		return bytesAt(a.Dictionary(), a.GetValueIndex(i))
	}
	return nil, fmt.Errorf("canon: variant part stored as %s", a.DataType())
}

// little reads an unsigned little-endian number of at most 8 bytes.
func little(b []byte) int {
	var w [8]byte
	copy(w[:], b)
	return int(binary.LittleEndian.Uint64(w[:]))
}
