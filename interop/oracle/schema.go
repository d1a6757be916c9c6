package main

import (
	"fmt"
	"math/big"
	"strings"
)

// Kind is an Iceberg type constructor.
type Kind uint8

const (
	Bool Kind = iota
	Int
	Long
	Float
	Double
	Decimal
	Date
	Time
	Timestamp
	Timestamptz
	TimestampNs
	TimestamptzNs
	String
	UUID
	Fixed
	Binary
	Struct
	List
	Map
)

// Type is one Iceberg type. Fields are a struct's fields, a list's element, or a map's key and value.
type Type struct {
	Kind   Kind
	P, S   int // of a decimal
	N      int // bytes of a fixed
	Fields []*Field
}

// Field is a column, a struct's field, an element, a key or a value.
type Field struct {
	ID       int
	Name     string
	Required bool
	Type     *Type
	Default  any // initial-default, as a model value; nil = none
}

func (t *Type) primitive() bool { return t.Kind < Struct }

func (t *Type) floating() bool { return t.Kind == Float || t.Kind == Double }

// String is the type's spelling in Iceberg's metadata.
func (t *Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d, %d)", t.P, t.S)
	case Fixed:
		return fmt.Sprintf("fixed[%d]", t.N)
	case Struct, List, Map:
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, fmt.Sprintf("%s: %s", f.Name, f.Type))
		}
		return map[Kind]string{Struct: "struct", List: "list", Map: "map"}[t.Kind] + "<" + strings.Join(parts, ", ") + ">"
	}
	return [...]string{"boolean", "int", "long", "float", "double", "", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid", "", "binary"}[t.Kind]
}

func (t *Type) clone() *Type {
	out := *t
	out.Fields = nil
	for _, f := range t.Fields {
		g := *f
		g.Type = f.Type.clone()
		out.Fields = append(out.Fields, &g)
	}
	return &out
}

// child is a field of a struct by id; nil = none.
func (t *Type) child(id int) *Field {
	for _, f := range t.Fields {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// stored is the type of a field at any depth of t; nil where t lacks it.
func stored(t *Type, id int) *Type {
	for _, f := range t.Fields {
		if f.ID == id {
			return f.Type
		}
		if in := stored(f.Type, id); in != nil {
			return in
		}
	}
	return nil
}

// holds is true where t has the field at any depth.
func holds(t *Type, id int) bool { return stored(t, id) != nil }

// Column is a field that a predicate or an equality delete can name: the path of names through structs.
type Column struct {
	Path []*Field
}

func (c Column) field() *Field { return c.Path[len(c.Path)-1] }

func (c Column) names() []string {
	var out []string
	for _, f := range c.Path {
		out = append(out, f.Name)
	}
	return out
}

// columns lists the leaves of a struct that no list or map holds, and the containers themselves.
func columns(t *Type, above []*Field) []Column {
	var out []Column
	for _, f := range t.Fields {
		path := append(append([]*Field(nil), above...), f)
		out = append(out, Column{path})
		if f.Type.Kind == Struct {
			out = append(out, columns(f.Type, path)...)
		}
	}
	return out
}

// A model value is nil, bool, int64 (int, long, date, time, timestamp in their own unit), float64 (float, double), *big.Int (a decimal's unscaled
// value), string (string, uuid, fixed, binary: its bytes), map[int]any (a struct by field id), []any (a list), [][2]any (a map).

// project reads a value that was written with one type as another version of that type: fields by id, defaults for those the writer did not know.
func project(v any, from, to *Type) any {
	if v == nil {
		return nil
	}
	switch to.Kind {
	case Struct:
		in, out := v.(map[int]any), map[int]any{}
		for _, f := range to.Fields {
			if old := from.child(f.ID); old != nil {
				out[f.ID] = project(in[f.ID], old.Type, f.Type)
			} else {
				out[f.ID] = absent(f)
			}
		}
		return out
	case List:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, project(e, from.Fields[0].Type, to.Fields[0].Type))
		}
		return out
	case Map:
		out := [][2]any{}
		for _, e := range v.([][2]any) {
			out = append(out, [2]any{project(e[0], from.Fields[0].Type, to.Fields[0].Type), project(e[1], from.Fields[1].Type, to.Fields[1].Type)})
		}
		return out
	case TimestampNs, TimestamptzNs:
		if from.Kind == Date {
			return v.(int64) * 86400_000_000_000
		}
	case Timestamp, Timestamptz:
		if from.Kind == Date {
			return v.(int64) * 86400_000_000
		}
	}
	return v
}

// absent is the value of a field in rows whose file lacks it.
func absent(f *Field) any { return f.Default }

// dig follows a path of struct fields in a row.
func dig(row map[int]any, path []*Field) any {
	var v any = row
	for _, f := range path {
		m, ok := v.(map[int]any)
		if !ok {
			return nil
		}
		v = m[f.ID]
	}
	return v
}

func decimalText(v *big.Int, scale int) string {
	digits := new(big.Int).Abs(v).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if v.Sign() < 0 {
		return "-" + digits
	}
	return digits
}
