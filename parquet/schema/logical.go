package schema

import "github.com/lakescan/lakescan/parquet/thrift"

// logical gives the logical type of an element, from the converted type if it has no other. Annotations that do not fit
// the physical type are dropped, as the specification asks of readers.
func logical(e *thrift.SchemaElement) thrift.Logical {
	l := e.Logical
	if l.Kind == thrift.NoLogical && e.Converted != thrift.NoConverted {
		l = fromConverted(e)
	}
	if !e.HasType {
		switch l.Kind {
		case thrift.LogicalList, thrift.LogicalMap, thrift.LogicalVariant:
			return l
		}
		return thrift.Logical{}
	}
	if !fits(l, e) {
		return thrift.Logical{}
	}
	return l
}

func fromConverted(e *thrift.SchemaElement) thrift.Logical {
	type L = thrift.Logical
	switch e.Converted {
	case thrift.ConvUTF8:
		return L{Kind: thrift.LogicalString}
	case thrift.ConvMap, thrift.ConvMapKeyValue:
		return L{Kind: thrift.LogicalMap}
	case thrift.ConvList:
		return L{Kind: thrift.LogicalList}
	case thrift.ConvEnum:
		return L{Kind: thrift.LogicalEnum}
	case thrift.ConvDecimal:
		return L{Kind: thrift.LogicalDecimal, Scale: e.Scale, Precision: e.Precision}
	case thrift.ConvDate:
		return L{Kind: thrift.LogicalDate}
	case thrift.ConvTimeMillis:
		return L{Kind: thrift.LogicalTime, Unit: thrift.Millis, UTC: true}
	case thrift.ConvTimeMicros:
		return L{Kind: thrift.LogicalTime, Unit: thrift.Micros, UTC: true}
	case thrift.ConvTimestampMillis:
		return L{Kind: thrift.LogicalTimestamp, Unit: thrift.Millis, UTC: true}
	case thrift.ConvTimestampMicros:
		return L{Kind: thrift.LogicalTimestamp, Unit: thrift.Micros, UTC: true}
	case thrift.ConvUint8, thrift.ConvUint16, thrift.ConvUint32, thrift.ConvUint64:
		return L{Kind: thrift.LogicalInt, BitWidth: 8 << (e.Converted - thrift.ConvUint8)}
	case thrift.ConvInt8, thrift.ConvInt16, thrift.ConvInt32, thrift.ConvInt64:
		return L{Kind: thrift.LogicalInt, BitWidth: 8 << (e.Converted - thrift.ConvInt8), Signed: true}
	case thrift.ConvJSON:
		return L{Kind: thrift.LogicalJSON}
	case thrift.ConvBSON:
		return L{Kind: thrift.LogicalBSON}
	case thrift.ConvInterval:
		return L{Kind: thrift.LogicalInterval}
	}
	return L{}
}

func fits(l thrift.Logical, e *thrift.SchemaElement) bool {
	t := e.Type
	switch l.Kind {
	case thrift.NoLogical, thrift.LogicalUnknown, thrift.OtherLogical:
		return true
	case thrift.LogicalString, thrift.LogicalEnum, thrift.LogicalJSON, thrift.LogicalBSON, thrift.LogicalGeometry, thrift.LogicalGeography:
		return t == thrift.ByteArray || t == thrift.FixedLenByteArray
	case thrift.LogicalDecimal:
		return l.Precision > 0 && l.Scale >= 0 && l.Scale <= l.Precision &&
			(t == thrift.Int32 || t == thrift.Int64 || t == thrift.ByteArray || t == thrift.FixedLenByteArray)
	case thrift.LogicalDate:
		return t == thrift.Int32
	case thrift.LogicalTime:
		return l.Unit == thrift.Millis && t == thrift.Int32 || l.Unit > thrift.Millis && t == thrift.Int64
	case thrift.LogicalTimestamp:
		return l.Unit != thrift.NoUnit && t == thrift.Int64
	case thrift.LogicalInt:
		switch l.BitWidth {
		case 8, 16, 32:
			return t == thrift.Int32 || t == thrift.Int64
		case 64:
			return t == thrift.Int64
		}
	case thrift.LogicalUUID:
		return t == thrift.FixedLenByteArray && e.TypeLength == 16
	case thrift.LogicalFloat16:
		return t == thrift.FixedLenByteArray && e.TypeLength == 2
	case thrift.LogicalInterval:
		return t == thrift.FixedLenByteArray && e.TypeLength == 12
	}
	return false
}
