package plan

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Column is a column of a scan as the plan's reader knows it.
type Column struct {
	Name string // in DuckDB, for texts
	Path string // in the table's schema
	Type arrow.DataType
}

// env gives a meaning to BOUND_REF: what each output column of a plan node is.
type env []cell

// cell is a column of the scan, an expression over the node below, or the mark of a MARK join.
type cell struct {
	column int // index of the function's columns; -1 = one of the others
	expr   node
	in     env
	mark   expr.Expr // nil with a mark that could not be converted
}

// operand is one side of a comparison: a literal, or a column that some casts have passed.
type operand struct {
	isColumn bool
	lit      expr.Literal

	col  expr.Column
	typ  arrow.DataType // of the column itself
	duck Type           // after the casts
	day  bool           // a cast has cut a timestamp to its day
	cast bool           // any cast at all
}

// operand reads an expression that is a column or a constant for the predicate's purposes.
func (c *converter) operand(e node, in env) (operand, bool) {
	switch str(e, "expression_class") {
	case "BOUND_REF":
		i := index(e, "index")
		if i < 0 || i >= len(in) {
			return operand{}, false
		}
		switch x := in[i]; {
		case x.column >= 0:
			return c.column(x.column)
		case x.expr != nil:
			return c.operand(x.expr, x.in)
		}
	case "BOUND_CONSTANT":
		lit, ok := constant(object(e, "value"))
		return operand{lit: lit}, ok
	case "BOUND_PARAMETER":
		if c.opt.Param == nil {
			return operand{}, false
		}
		lit, ok := c.opt.Param(str(e, "identifier"), typeOf(object(e, "return_type")))
		return operand{lit: lit}, ok
	case "BOUND_CAST":
		if try, _ := e["try_cast"].(bool); try {
			return operand{}, false
		}
		o, ok := c.operand(object(e, "child"), in)
		if !ok || !o.isColumn {
			return operand{}, false
		}
		return c.castTo(o, typeOf(object(e, "return_type")))
	case "BOUND_FUNCTION":
		return c.structField(e, in)
	}
	return operand{}, false
}

// column is the bare column i of the function, if DuckDB holds its values exactly.
func (c *converter) column(i int) (operand, bool) {
	if i >= len(c.columns) || i >= len(c.types) || c.columns[i].Type == nil {
		return operand{}, false
	}
	col, t := c.columns[i], c.types[i]
	o := operand{isColumn: true, col: expr.Col(col.Path), typ: col.Type, duck: t}
	return o, heldExactly(col.Type, t) || isStruct(col.Type)
}

func isStruct(t arrow.DataType) bool { return t.ID() == arrow.STRUCT }

// heldExactly reports whether DuckDB's values of the column are the same as Arrow's, so that a comparison of the one says
// something about the other. A timestamp with zone in milliseconds is not; one in nanoseconds comes to DuckDB without its zone.
func heldExactly(a arrow.DataType, t Type) bool {
	switch a := a.(type) {
	case *arrow.BooleanType:
		return t.ID == typeBoolean
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return intBits[t.ID] == a.(arrow.FixedWidthDataType).BitWidth()
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return uintBits[t.ID] == a.(arrow.FixedWidthDataType).BitWidth()
	case *arrow.Float32Type:
		return t.ID == typeFloat
	case *arrow.Float64Type:
		return t.ID == typeDouble
	case *arrow.Decimal128Type:
		return t.ID == typeDecimal && t.Scale == int(a.Scale)
	case *arrow.Date32Type:
		return t.ID == typeDate
	case *arrow.Time64Type:
		return t.ID == typeTime && a.Unit == arrow.Microsecond
	case *arrow.TimestampType:
		if a.TimeZone != "" && a.Unit != arrow.Nanosecond {
			return t.ID == typeTimestampTZ && a.Unit == arrow.Microsecond
		}
		want := arrowType(t.ID)
		ts, ok := want.(*arrow.TimestampType)
		return ok && ts.TimeZone == "" && ts.Unit == a.Unit
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return t.ID == typeVarchar
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return t.ID == typeBlob
	case *arrow.FixedSizeBinaryType:
		return t.ID == typeBlob || t.ID == typeUUID && a.ByteWidth == 16
	}
	return false
}

// structField reads struct_extract(column, 'name'). DuckDB's structs fold case; a name that is not unique is left alone.
func (c *converter) structField(e node, in env) (operand, bool) {
	kids := objects(e, "children")
	if str(e, "name") != "struct_extract" || len(kids) != 2 {
		return operand{}, false
	}
	o, ok := c.operand(kids[0], in)
	name, ok2 := c.operand(kids[1], in)
	text, ok3 := name.lit.Value.(string)
	if !ok || !ok2 || !ok3 || !o.isColumn || o.cast || !isStruct(o.typ) {
		return operand{}, false
	}
	var found *arrow.Field
	for _, f := range o.typ.(*arrow.StructType).Fields() {
		if strings.EqualFold(f.Name, text) {
			if found != nil {
				return operand{}, false
			}
			found = &f
		}
	}
	if found == nil {
		return operand{}, false
	}
	path := append(append([]string(nil), o.col.Path...), found.Name)
	out := operand{isColumn: true, col: expr.Col(path...), typ: found.Type, duck: typeOf(object(e, "return_type"))}
	return out, heldExactly(out.typ, out.duck) || isStruct(out.typ)
}

// castTo follows a cast that keeps order: one that keeps the value, or one that cuts a timestamp to its day. Everything else
// ends the conversion; a string is never a number, and a zone is only known if the session's is UTC.
func (c *converter) castTo(o operand, to Type) (operand, bool) {
	from := o.duck
	o.duck, o.cast = to, true
	switch {
	case isStruct(o.typ) || o.day:
		return o, false
	case from == to:
		return o, true
	case to.ID == typeDate && timeUnit(from.ID) > unitDay && (from.ID != typeTimestampTZ || c.opt.UTC):
		o.day = true
		return o, true
	}
	return o, c.keepsValue(from, to)
}

// Units of the types of time, coarse to fine.
const (
	unitNone = iota
	unitDay
	unitSecond
	unitMilli
	unitMicro
	unitNano
)

func timeUnit(id string) int {
	switch id {
	case typeDate:
		return unitDay
	case typeTimestampS:
		return unitSecond
	case typeTimestampMS:
		return unitMilli
	case typeTimestamp, typeTimestampTZ:
		return unitMicro
	case typeTimestampNS:
		return unitNano
	}
	return unitNone
}

func (c *converter) keepsValue(from, to Type) bool {
	fromInt, fromUint := intBits[from.ID], uintBits[from.ID]
	bits := max(fromInt, fromUint)
	switch {
	case timeUnit(from.ID) != unitNone && timeUnit(to.ID) != unitNone:
		if (from.ID == typeTimestampTZ) != (to.ID == typeTimestampTZ) && !c.opt.UTC {
			return false
		}
		return timeUnit(from.ID) <= timeUnit(to.ID)
	case fromInt > 0 && intBits[to.ID] > 0:
		return fromInt <= intBits[to.ID]
	case fromUint > 0 && uintBits[to.ID] > 0:
		return fromUint <= uintBits[to.ID]
	case fromUint > 0 && intBits[to.ID] > 0:
		return fromUint < intBits[to.ID]
	case bits > 0 && to.ID == typeDecimal:
		return true // a value that does not fit is an error there
	case bits > 0 && to.ID == typeDouble:
		return bits <= 32
	case bits > 0 && to.ID == typeFloat:
		return bits <= 16
	case from.ID == typeFloat && to.ID == typeDouble:
		return true
	case from.ID == typeDecimal && to.ID == typeDecimal:
		return to.Scale >= from.Scale && to.Width-to.Scale >= from.Width-from.Scale
	}
	return false
}

// compare says "o op lit" for the column below the casts. ok is false if that cannot be said exactly.
func compare(o operand, op expr.Op, lit expr.Literal) (expr.Expr, bool) {
	if lit.IsNull() {
		return expr.Unknown{}, true
	}
	if isStruct(o.typ) || o.cast && infinite(lit) {
		return nil, false
	}
	if o.day {
		return compareDay(o, op, lit)
	}
	lit, ok := sameZone(o.typ, lit)
	return expr.Compare{Op: op, Col: o.col, Lit: lit}, ok
}

// sameZone gives a date or timestamp literal the zone flag of the column, both in UTC, so that nobody who binds the predicate
// later has to know the session's zone.
func sameZone(t arrow.DataType, lit expr.Literal) (expr.Literal, bool) {
	col, ok := t.(*arrow.TimestampType)
	if !ok {
		if l, isTime := lit.Type.(*arrow.TimestampType); isTime && l.TimeZone != "" {
			lit.Type = &arrow.TimestampType{Unit: l.Unit}
		}
		return lit, true
	}
	switch l := lit.Type.(type) {
	case *arrow.TimestampType:
		lit.Type = &arrow.TimestampType{Unit: l.Unit, TimeZone: col.TimeZone}
	case *arrow.Date32Type:
		days, _ := lit.Value.(int64)
		const limit = math.MaxInt64 / microsPerDay
		if days > limit || days < -limit {
			return lit, false
		}
		return expr.Literal{Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: col.TimeZone}, Value: days * microsPerDay}, true
	}
	return lit, true
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// compareDay says CAST(column AS DATE) op day as bounds of the timestamp.
func compareDay(o operand, op expr.Op, lit expr.Literal) (expr.Expr, bool) {
	if lit.Type.ID() != arrow.DATE32 {
		return nil, false
	}
	day := lit.Value.(int64)
	start, ok1 := sameZone(o.typ, lit)
	end, ok2 := sameZone(o.typ, expr.Literal{Type: lit.Type, Value: day + 1})
	if !ok1 || !ok2 {
		return nil, false
	}
	bound := func(op expr.Op, l expr.Literal) expr.Expr { return expr.Compare{Op: op, Col: o.col, Lit: l} }
	switch op {
	case expr.EQ:
		return expr.And{bound(expr.GE, start), bound(expr.LT, end)}, true
	case expr.NE:
		return expr.Or{bound(expr.LT, start), bound(expr.GE, end)}, true
	case expr.LT:
		return bound(expr.LT, start), true
	case expr.LE:
		return bound(expr.LT, end), true
	case expr.GT:
		return bound(expr.GE, end), true
	}
	return bound(expr.GE, start), true
}

// in says "o IN (lits)"; a NULL among them makes what is not found unknown.
func in(o operand, lits []expr.Literal) (expr.Expr, bool) {
	if len(lits) == 0 {
		return nil, false
	}
	if !o.day && !o.cast && !isStruct(o.typ) {
		for i, l := range lits {
			var ok bool
			if lits[i], ok = sameZone(o.typ, l); !ok {
				return nil, false
			}
		}
		return expr.In{Col: o.col, Lits: lits}, true
	}
	var any expr.Or
	for _, l := range lits {
		e, ok := compare(o, expr.EQ, l)
		if !ok {
			return nil, false
		}
		any = append(any, e)
	}
	if len(any) == 1 {
		return any[0], true
	}
	return any, true
}
