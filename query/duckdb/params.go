//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// bindParameters gives every parameter of the statement its value; missing and surplus names are errors.
func (s *statement) bindParameters(ps bindings.PreparedStatement) error {
	n := bindings.NParams(ps)
	used := map[string]bool{}
	for i := bindings.IdxT(1); i <= n; i++ {
		name := bindings.ParameterName(ps, i)
		v, ok := s.st.Params[name]
		if !ok {
			return &query.Error{Class: query.ClassBind, Msg: fmt.Sprintf("parameter $%s has no value", name), Hint: "--set " + name + "=value"}
		}
		used[name] = true
		if err := s.bindParameter(ps, i, name, v); err != nil {
			return err
		}
	}
	for name := range s.st.Params {
		if !used[name] && !s.atParams[name] {
			return &query.Error{Class: query.ClassBind, Msg: fmt.Sprintf("the statement has no parameter $%s", name), Hint: "its parameters: " + strings.Join(sortedKeys(used), ", ")}
		}
	}
	return nil
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, "$"+k)
	}
	slices.Sort(keys)
	return keys
}

// bindParameter binds one value. A text is read as the type of the place where the parameter stands; other values keep their
// own type, narrowed to the place's type if it holds them exactly.
func (s *statement) bindParameter(ps bindings.PreparedStatement, i bindings.IdxT, name string, v any) error {
	place := bindings.ParamLogicalType(ps, i)
	defer bindings.DestroyLogicalType(&place)
	fault := func(msg, hint string) error {
		return &query.Error{Class: query.ClassBind, Msg: fmt.Sprintf("parameter $%s: %s", name, msg), Hint: hint}
	}
	var t typed
	var err error
	if text, ok := v.(string); ok && castable(bindings.GetTypeId(place)) {
		t, err = s.in.castText(text, place)
	} else {
		t, err = goValue(v, bindings.GetTypeId(place))
	}
	if err != nil {
		return fault(err.Error(), "")
	}
	defer bindings.DestroyValue(&t.value)
	if bindings.BindValue(ps, i, t.value) == bindings.StateError {
		return fault(bindings.PrepareError(ps), "")
	}
	s.literals[name] = t
	return nil
}

// typed is a value in DuckDB's hands, and what pruning may know of it.
type typed struct {
	value bindings.Value
	lit   expr.Literal // zero = nothing
	duck  plan.Type    // the type of lit in DuckDB
}

// parameterLiteral is the value of a parameter where the plan expects type t. A value of another type is not used: the plan
// would be another one with it.
func (s *statement) parameterLiteral(name string, t plan.Type) (expr.Literal, bool) {
	v, ok := s.literals[name]
	if !ok || v.lit.Type == nil {
		return expr.Literal{}, false
	}
	if n, isInt := v.lit.Value.(int64); isInt && v.lit.Type.ID() == arrow.INT64 {
		return v.lit, t.HoldsInteger(n)
	}
	return v.lit, v.duck == t
}

// goValue makes a DuckDB value of a Go one.
func goValue(v any, place bindings.Type) (typed, error) {
	switch x := v.(type) {
	case nil:
		return typed{value: bindings.CreateNullValue(), lit: expr.Literal{Type: arrow.Null}}, nil
	case bool:
		return typed{bindings.CreateBool(x), expr.Lit(x), plan.Type{ID: "BOOLEAN"}}, nil
	case string:
		return typed{bindings.CreateVarchar(x), expr.Lit(x), plan.Type{ID: "VARCHAR"}}, nil
	case []byte:
		return typed{bindings.CreateBlob(x), expr.Lit(x), plan.Type{ID: "BLOB"}}, nil
	case float32:
		return typed{value: bindings.CreateFloat(x)}, nil
	case float64:
		return typed{bindings.CreateDouble(x), expr.Lit(x), plan.Type{ID: "DOUBLE"}}, nil
	case time.Time:
		us := bindings.NewTimestamp(x.UnixMicro()) // DuckDB has no finer instant
		lit := expr.Literal{Type: arrow.FixedWidthTypes.Timestamp_us, Value: x.UnixMicro()}
		return typed{bindings.CreateTimestampTZ(us), lit, plan.Type{ID: "TIMESTAMP WITH TIME ZONE"}}, nil
	case *big.Int:
		h, ok := hugeint(x)
		if !ok {
			return typed{}, fmt.Errorf("%s has more than 128 bits", x)
		}
		return typed{value: bindings.CreateHugeInt(h)}, nil
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return intValue(r.Int(), place), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return intValue(int64(r.Uint()), place), nil
	case r.CanUint():
		return typed{value: bindings.CreateUInt64(r.Uint())}, nil
	}
	return typed{}, fmt.Errorf("a Go %T cannot be a parameter", v)
}

// intValue takes the place's type if it holds n, so that the plan stays the one that was looked at.
func intValue(n int64, place bindings.Type) typed {
	lit := expr.Lit(n)
	switch {
	case place == bindings.TypeTinyInt && int64(int8(n)) == n:
		return typed{value: bindings.CreateInt8(int8(n)), lit: lit}
	case place == bindings.TypeSmallInt && int64(int16(n)) == n:
		return typed{value: bindings.CreateInt16(int16(n)), lit: lit}
	case place == bindings.TypeInteger && int64(int32(n)) == n:
		return typed{value: bindings.CreateInt32(int32(n)), lit: lit}
	case place == bindings.TypeUTinyInt && int64(uint8(n)) == n:
		return typed{value: bindings.CreateUInt8(uint8(n)), lit: lit}
	case place == bindings.TypeUSmallInt && int64(uint16(n)) == n:
		return typed{value: bindings.CreateUInt16(uint16(n)), lit: lit}
	case place == bindings.TypeUInteger && int64(uint32(n)) == n:
		return typed{value: bindings.CreateUInt32(uint32(n)), lit: lit}
	case place == bindings.TypeUBigInt && n >= 0:
		return typed{value: bindings.CreateUInt64(uint64(n)), lit: lit}
	}
	return typed{value: bindings.CreateInt64(n), lit: lit}
}

func hugeint(x *big.Int) (bindings.HugeInt, bool) {
	if x.BitLen() > 127 {
		return bindings.HugeInt{}, false
	}
	mod := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64)) // two's complement for negative ones
	return bindings.NewHugeInt(mod.Uint64(), new(big.Int).Rsh(x, 64).Int64()), true
}
