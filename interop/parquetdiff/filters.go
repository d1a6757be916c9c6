package main

import (
	"math/big"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/expr"
)

// randomFilter is a bound predicate over the file's columns with literals near its values; nil if no column can be filtered.
func randomFilter(r *rand.Rand, w *whole) expr.Expr {
	var usable []int
	for i, f := range w.schema.Fields() {
		if _, nested := f.Type.(arrow.NestedType); !nested && f.Type.ID() != arrow.NULL && f.Type.ID() != arrow.FLOAT16 {
			usable = append(usable, i)
		}
	}
	if len(usable) == 0 {
		return nil
	}
	var e expr.Expr = predicate(r, w, pick(r, usable...))
	for range r.IntN(3) {
		o := predicate(r, w, pick(r, usable...))
		switch r.IntN(3) {
		case 0:
			e = expr.And{e, o}
		case 1:
			e = expr.Or{e, o}
		default:
			e = expr.And{expr.Not{X: e}, o}
		}
	}
	bound, err := expr.Bind(e, w.schema, expr.BindOptions{CaseSensitive: true})
	if err != nil {
		return nil // a literal that the type cannot hold
	}
	return bound
}

func predicate(r *rand.Rand, w *whole, i int) expr.Expr {
	f := w.schema.Field(i)
	col := expr.Column{Path: []string{f.Name}}
	switch r.IntN(10) {
	case 0:
		return expr.IsNull{Col: col, Negated: r.IntN(2) == 0}
	case 1:
		if f.Type.ID() == arrow.FLOAT32 || f.Type.ID() == arrow.FLOAT64 {
			return expr.IsNaN{Col: col, Negated: r.IntN(2) == 0}
		}
	case 2:
		if f.Type.ID() == arrow.STRING {
			return expr.StartsWith{Col: col, Prefix: pick(r, "", "a", "prefix", "pre", "é", "\x00"), Negated: r.IntN(2) == 0}
		}
	case 3, 4:
		var lits []expr.Literal
		for range 2 + r.IntN(3) {
			lits = append(lits, literal(r, w, i))
		}
		return expr.In{Col: col, Lits: lits, Negated: r.IntN(3) == 0}
	}
	op := pick(r, expr.EQ, expr.EQ, expr.NE, expr.LT, expr.LE, expr.GT, expr.GE)
	return expr.Compare{Op: op, Col: col, Lit: literal(r, w, i)}
}

// literal is a value of the column, or one beside it.
func literal(r *rand.Rand, w *whole, i int) expr.Literal {
	t := w.schema.Field(i).Type
	storage := roomy(expr.ValueType(t))
	if len(w.batches) > 0 {
		b := pick(r, w.batches...)
		a := b.Column(i)
		if row := r.IntN(a.Len()); !a.IsNull(row) {
			if v := valueAt(a, row); v != nil {
				return expr.Literal{Type: storage, Value: beside(r, v)}
			}
		}
	}
	return expr.Literal{Type: storage}
}

// roomy is a type that holds what lies beside the values of t, too.
func roomy(t arrow.DataType) arrow.DataType {
	switch {
	case arrow.IsUnsignedInteger(t.ID()):
		return arrow.PrimitiveTypes.Uint64
	case arrow.IsSignedInteger(t.ID()):
		return arrow.PrimitiveTypes.Int64
	case t.ID() == arrow.FLOAT32:
		return arrow.PrimitiveTypes.Float64
	}
	if d, ok := t.(*arrow.Decimal128Type); ok {
		return &arrow.Decimal128Type{Precision: 38, Scale: d.Scale}
	}
	return t
}

// valueAt is a value in the Go type that a Literal of its type has.
func valueAt(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return uint64(a.Value(i))
	case *array.Uint16:
		return uint64(a.Value(i))
	case *array.Uint32:
		return uint64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Time32:
		return int64(a.Value(i))
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...)
	case array.ExtensionArray:
		return valueAt(a.Storage(), i)
	}
	return nil
}

// beside moves a value a little, at times.
func beside(r *rand.Rand, v any) any {
	if r.IntN(3) > 0 {
		return v
	}
	switch v := v.(type) {
	case int64:
		return v + r.Int64N(3) - 1
	case uint64:
		return v + 1
	case float64:
		return v * 1.01
	case *big.Int:
		return new(big.Int).Add(v, big.NewInt(r.Int64N(3)-1))
	case string:
		return v + "a"
	}
	return v
}
