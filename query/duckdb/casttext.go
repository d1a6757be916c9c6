//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"strings"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// castable reports whether a text must become something else for a place of the type.
func castable(t bindings.Type) bool {
	switch t {
	case bindings.TypeVarchar, bindings.TypeInvalid, bindings.TypeSQLNull, bindings.TypeAny, bindings.TypeStringLiteral:
		return false
	}
	return true
}

// castNames are the scalar types that a text is read as, by their names in SQL, which the plan uses too.
var castNames = map[bindings.Type]string{
	bindings.TypeBoolean: "BOOLEAN", bindings.TypeTinyInt: "TINYINT", bindings.TypeSmallInt: "SMALLINT", bindings.TypeInteger: "INTEGER",
	bindings.TypeBigInt: "BIGINT", bindings.TypeHugeInt: "HUGEINT", bindings.TypeUTinyInt: "UTINYINT", bindings.TypeUSmallInt: "USMALLINT",
	bindings.TypeUInteger: "UINTEGER", bindings.TypeUBigInt: "UBIGINT", bindings.TypeUHugeInt: "UHUGEINT", bindings.TypeFloat: "FLOAT",
	bindings.TypeDouble: "DOUBLE", bindings.TypeDate: "DATE", bindings.TypeTime: "TIME", bindings.TypeTimestamp: "TIMESTAMP",
	bindings.TypeTimestampS: "TIMESTAMP_S", bindings.TypeTimestampMS: "TIMESTAMP_MS", bindings.TypeTimestampNS: "TIMESTAMP_NS",
	bindings.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE", bindings.TypeInterval: "INTERVAL", bindings.TypeBlob: "BLOB",
	bindings.TypeUUID: "UUID", bindings.TypeDecimal: "DECIMAL",
}

// castText lets DuckDB read a text as a value of a type: there is one reading of dates, decimals and the rest. What pruning
// may know of the value comes from the plan of the same cast, so that constants have one reader too.
func (in *instance) castText(text string, place bindings.LogicalType) (typed, error) {
	kind := bindings.GetTypeId(place)
	name, ok := castNames[kind]
	if !ok {
		return typed{}, fmt.Errorf("a text cannot be read here; write a CAST to a plain type around it")
	}
	t := plan.Type{ID: name}
	if kind == bindings.TypeDecimal {
		t.Width, t.Scale = int(bindings.DecimalWidth(place)), int(bindings.DecimalScale(place))
		name = fmt.Sprintf("DECIMAL(%d, %d)", t.Width, t.Scale)
	}
	sql := "SELECT CAST(" + query.QuoteString(text) + " AS " + name + ")"
	v, err := in.value(sql, kind, t)
	if err != nil {
		if _, ours := err.(*engineError); ours {
			err = fmt.Errorf("%q is no %s", text, strings.ToLower(name))
		}
		return typed{}, err
	}
	out := typed{value: v, duck: t}
	if doc, err := in.text(plan.Query(sql)); err == nil {
		out.lit, _ = plan.Folded(doc)
	}
	return out, nil
}

// value is the one value of a query, as a value that can be bound.
func (in *instance) value(sql string, kind bindings.Type, t plan.Type) (bindings.Value, error) {
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(in.conn, sql, &res) == bindings.StateError {
		return bindings.Value{}, &engineError{kind: bindings.ResultErrorType(&res), text: bindings.ResultError(&res)}
	}
	chunk := bindings.FetchChunk(res)
	if chunk.Ptr == nil {
		return bindings.Value{}, &engineError{text: "no value"}
	}
	defer bindings.DestroyDataChunk(&chunk)
	vec := bindings.DataChunkGetVector(chunk, 0)
	if mask := bindings.VectorGetValidity(vec); mask != nil && !bindings.ValidityRowIsValid(mask, 0) {
		return bindings.CreateNullValue(), nil
	}
	return rawValue(bindings.VectorGetData(vec), kind, t)
}

// rawValue reads one value of a vector.
func rawValue(p unsafe.Pointer, kind bindings.Type, t plan.Type) (bindings.Value, error) {
	switch kind {
	case bindings.TypeBoolean:
		return bindings.CreateBool(*(*bool)(p)), nil
	case bindings.TypeTinyInt:
		return bindings.CreateInt8(*(*int8)(p)), nil
	case bindings.TypeSmallInt:
		return bindings.CreateInt16(*(*int16)(p)), nil
	case bindings.TypeInteger:
		return bindings.CreateInt32(*(*int32)(p)), nil
	case bindings.TypeBigInt:
		return bindings.CreateInt64(*(*int64)(p)), nil
	case bindings.TypeHugeInt:
		return bindings.CreateHugeInt(*(*bindings.HugeInt)(p)), nil
	case bindings.TypeUTinyInt:
		return bindings.CreateUInt8(*(*uint8)(p)), nil
	case bindings.TypeUSmallInt:
		return bindings.CreateUInt16(*(*uint16)(p)), nil
	case bindings.TypeUInteger:
		return bindings.CreateUInt32(*(*uint32)(p)), nil
	case bindings.TypeUBigInt:
		return bindings.CreateUInt64(*(*uint64)(p)), nil
	case bindings.TypeUHugeInt:
		return bindings.CreateUHugeInt(*(*bindings.UHugeInt)(p)), nil
	case bindings.TypeFloat:
		return bindings.CreateFloat(*(*float32)(p)), nil
	case bindings.TypeDouble:
		return bindings.CreateDouble(*(*float64)(p)), nil
	case bindings.TypeDate:
		return bindings.CreateDate(*(*bindings.Date)(p)), nil
	case bindings.TypeTime:
		return bindings.CreateTime(*(*bindings.Time)(p)), nil
	case bindings.TypeInterval:
		return bindings.CreateInterval(*(*bindings.Interval)(p)), nil
	case bindings.TypeBlob:
		return bindings.CreateBlob([]byte(bindings.StringTData((*bindings.StringT)(p)))), nil
	case bindings.TypeDecimal:
		return rawDecimal(p, t), nil
	}
	return rawMoment(p, kind)
}

// rawMoment reads timestamps and UUIDs.
func rawMoment(p unsafe.Pointer, kind bindings.Type) (bindings.Value, error) {
	switch kind {
	case bindings.TypeTimestamp:
		return bindings.CreateTimestamp(*(*bindings.Timestamp)(p)), nil
	case bindings.TypeTimestampTZ:
		return bindings.CreateTimestampTZ(*(*bindings.Timestamp)(p)), nil
	case bindings.TypeTimestampS:
		return bindings.CreateTimestampS(*(*bindings.TimestampS)(p)), nil
	case bindings.TypeTimestampMS:
		return bindings.CreateTimestampMS(*(*bindings.TimestampMS)(p)), nil
	case bindings.TypeTimestampNS:
		return bindings.CreateTimestampNS(*(*bindings.TimestampNS)(p)), nil
	case bindings.TypeUUID: // the vector has the top bit flipped, the value has not
		h := *(*[2]uint64)(p)
		return bindings.CreateUUID(bindings.NewUHugeInt(h[0], h[1]^1<<63)), nil
	}
	return bindings.Value{}, fmt.Errorf("no value of type %d", kind)
}

func rawDecimal(p unsafe.Pointer, t plan.Type) bindings.Value {
	var n int64
	switch decimalWidth(int32(t.Width)) {
	case 2:
		n = int64(*(*int16)(p))
	case 4:
		n = int64(*(*int32)(p))
	case 8:
		n = *(*int64)(p)
	default:
		return bindings.CreateDecimal(bindings.NewDecimal(uint8(t.Width), uint8(t.Scale), *(*bindings.HugeInt)(p)))
	}
	h := bindings.NewHugeInt(uint64(n), n>>63)
	return bindings.CreateDecimal(bindings.NewDecimal(uint8(t.Width), uint8(t.Scale), h))
}
