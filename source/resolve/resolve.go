package resolve

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
)

// Input is what is known of one file without opening it. Its maps are read, never kept or changed.
type Input struct {
	// Want are the output fields, with ids; fields without an id are found by name. Reserved ids ask for metadata columns.
	Want *arrow.Schema
	// Names is the table's mapping; nil = none.
	Names *Names
	// Constants by field id: identity partition fields of the file's own spec.
	Constants map[int]expr.Literal
	// Defaults are initial defaults by field id. A struct's is any non-nil Value (an empty struct) or nil (null).
	Defaults map[int]expr.Literal

	// File is the recorded location: _file, and the file named by errors.
	File string
	// SpecID and Partition (by partition field id) serve _spec_id and _partition.
	SpecID    int
	Partition map[int]expr.Literal
	// FirstRowID is -1 when the file has none; then _row_id and _last_updated_sequence_number are null.
	FirstRowID   int64
	DataSequence int64
}

// Plan says how the wanted columns of one file are made. It is immutable.
type Plan struct {
	// Columns to decode, in the order of Input.Want.
	Columns []parquet.Column
	// Fills complete columns after decoding; most plans have none.
	Fills []Fill
}

// Fill says that the nulls of a decoded int64 column become Base, plus the row's absolute position if Position is set.
type Fill struct {
	Column   int
	Base     int64
	Position bool
}

// New makes the plan of the file whose own schema, with field ids where it has them, is schema (parquet.Footer.Schema).
// Errors are *Error.
func New(schema *arrow.Schema, in Input) (*Plan, error) {
	if in.Names.byName() && IsDeleteFile(schema) {
		return nil, &Error{File: in.File, Reason: "this is a delete file of an Iceberg table, not data", Err: ErrInvalid}
	}
	r := resolver{in: in, hasIDs: anyID(schema.Fields(), 0)}
	p := &Plan{Columns: make([]parquet.Column, 0, in.Want.NumFields())}
	var root *mapped
	if in.Names != nil {
		root = &mapped{children: in.Names.root}
	}
	top := scope{fields: schema.Fields(), names: root}
	for _, f := range in.Want.Fields() {
		if isMetadata(f) {
			c, fill, err := r.metadata(f, top)
			if err != nil {
				return nil, err
			}
			if fill != nil {
				fill.Column = len(p.Columns)
				p.Fills = append(p.Fills, *fill)
			}
			p.Columns = append(p.Columns, c)
			continue
		}
		c, err := r.field(f, top, nil, 0)
		if err != nil {
			return nil, err
		}
		p.Columns = append(p.Columns, c)
	}
	return p, nil
}

// Columns is New for wanted columns that need no Fill; others are refused.
func Columns(f *parquet.Footer, in Input) ([]parquet.Column, error) {
	p, err := New(f.Schema(), in)
	if err != nil {
		return nil, err
	}
	if len(p.Fills) > 0 {
		return nil, &Error{File: in.File, Reason: "lineage columns are completed after decoding: use New", Err: ErrInvalid}
	}
	return p.Columns, nil
}

type resolver struct {
	in     Input
	hasIDs bool // of the file, at any depth
}

// scope is one level of the file: sibling fields, the path that leads to them, and their name mapping.
type scope struct {
	fields []arrow.Field
	path   []string
	names  *mapped
}

// anyID reports whether a field at any depth has an id.
func anyID(fields []arrow.Field, depth int) bool {
	for _, f := range fields {
		if _, ok := expr.FieldID(f); ok {
			return true
		}
		if depth < maxDepth && anyID(children(f.Type), depth+1) {
			return true
		}
	}
	return false
}

// children of a nested type in the order of parquet.Column.Children; nil for a leaf. A variant is a leaf.
func children(t arrow.DataType) []arrow.Field {
	switch t := storage(t).(type) {
	case *arrow.StructType:
		return t.Fields()
	case *arrow.MapType:
		return []arrow.Field{t.KeyField(), t.ItemField()}
	default:
		if e, ok := listElement(t); ok {
			return []arrow.Field{e}
		}
	}
	return nil
}

// field resolves one wanted field among the siblings of s; at is the path of its parent in the wanted schema.
func (r *resolver) field(want arrow.Field, s scope, at []string, depth int) (parquet.Column, error) {
	at = append(at[:len(at):len(at)], want.Name)
	if depth > maxDepth {
		return parquet.Column{}, r.fail(want, at, "nested too deep", ErrInvalid)
	}
	if want.Type.ID() == arrow.NULL { // Iceberg's unknown: nothing is stored
		return parquet.Column{Output: want}, nil
	}
	found, names, err := r.find(want, s, at)
	if err != nil {
		return parquet.Column{}, err
	}
	if found != nil {
		return r.read(want, *found, scope{path: join(s.path, found.Name), names: names}, at, depth)
	}
	if !r.hasIDs && (r.in.Names == nil || r.in.Names.bad != nil) {
		if id, ok := expr.FieldID(want); ok {
			if _, constant := r.in.Constants[id]; !constant {
				if r.in.Names != nil {
					return parquet.Column{}, r.fail(want, at, "the file has no field ids, and the table property "+
						"schema.name-mapping.default cannot be read: "+r.in.Names.bad.Error(), ErrInvalid)
				}
				return parquet.Column{}, r.fail(want, at, "the file has no field ids; set the table property "+
					"schema.name-mapping.default to say which of its columns is which", ErrNoIDs)
			}
		}
	}
	return r.absent(want, at, depth)
}

// find looks for the file's column by id, then, in a file without ids, by the mapping; a constant goes before the mapping.
func (r *resolver) find(want arrow.Field, s scope, at []string) (*arrow.Field, *mapped, error) {
	if r.in.Names.byName() {
		return r.findPlain(want, s, at)
	}
	id, hasID := expr.FieldID(want)
	var found *arrow.Field
	var names *mapped
	for i, f := range s.fields {
		m := s.names.child(f.Name)
		switch fid, ok := expr.FieldID(f); {
		case !hasID:
			if f.Name != want.Name {
				continue
			}
		case r.hasIDs:
			if !ok || fid != id {
				continue
			}
		default:
			if _, constant := r.in.Constants[id]; constant || m == nil || m.id != id {
				continue
			}
		}
		if found != nil {
			return nil, nil, r.fail(want, at, "the file has two such columns, "+quote(found.Name)+" and "+quote(f.Name), ErrInvalid)
		}
		found, names = &s.fields[i], m
	}
	return found, names, nil
}

// findPlain looks for the column of a list of plain files: by id where both sides have one, else by name.
func (r *resolver) findPlain(want arrow.Field, s scope, at []string) (*arrow.Field, *mapped, error) {
	id, hasID := expr.FieldID(want)
	var byID, named *arrow.Field
	for i, f := range s.fields {
		if fid, ok := expr.FieldID(f); ok && hasID && fid == id {
			if byID != nil {
				return nil, nil, r.fail(want, at, "the file has two such columns, "+quote(byID.Name)+" and "+quote(f.Name), ErrInvalid)
			}
			byID = &s.fields[i]
		}
		if f.Name == want.Name {
			if named != nil {
				return nil, nil, r.fail(want, at, "the file has two columns of this name", ErrInvalid)
			}
			named = &s.fields[i]
		}
	}
	if byID != nil {
		return byID, nil, nil
	}
	return named, nil, nil
}

// read plans a column that the file has. s carries the column's own path and mapping.
func (r *resolver) read(want, file arrow.Field, s scope, at []string, depth int) (parquet.Column, error) {
	c := parquet.Column{Output: want, Path: s.path}
	w, f := storage(want.Type), storage(file.Type)
	var err error
	switch wt := w.(type) {
	case *arrow.StructType:
		ft, ok := f.(*arrow.StructType)
		if !ok {
			return c, r.mismatch(want, file, at)
		}
		s.fields = ft.Fields()
		c.Children = make([]parquet.Column, wt.NumFields())
		for i, wf := range wt.Fields() {
			if c.Children[i], err = r.field(wf, s, at, depth+1); err != nil {
				return c, err
			}
		}
		return c, nil
	case *arrow.MapType:
		ft, ok := f.(*arrow.MapType)
		if !ok {
			return c, r.mismatch(want, file, at)
		}
		c.Children = make([]parquet.Column, 2)
		if c.Children[0], err = r.structural(wt.KeyField(), ft.KeyField(), "key", s, at, depth); err != nil {
			return c, err
		}
		c.Children[1], err = r.structural(wt.ItemField(), ft.ItemField(), "value", s, at, depth)
		return c, err
	}
	if we, ok := listElement(w); ok {
		fe, ok := listElement(f)
		if !ok {
			return c, r.mismatch(want, file, at)
		}
		c.Children = make([]parquet.Column, 1)
		c.Children[0], err = r.structural(we, fe, "element", s, at, depth)
		return c, err
	}
	if !readable(file.Type, want.Type) {
		return c, r.mismatch(want, file, at)
	}
	return c, nil
}

// structural plans an element, key or value, which is found by its place in the group. role is its name in a mapping.
func (r *resolver) structural(want, file arrow.Field, role string, s scope, at []string, depth int) (parquet.Column, error) {
	at = append(at[:len(at):len(at)], role)
	if depth >= maxDepth {
		return parquet.Column{}, r.fail(want, at, "nested too deep", ErrInvalid)
	}
	id, ok1 := expr.FieldID(want)
	if fid, ok2 := expr.FieldID(file); ok1 && ok2 && id != fid && !r.in.Names.byName() {
		return parquet.Column{}, r.fail(want, at, "the file's "+role+" has another field id", ErrInvalid)
	}
	if want.Type.ID() == arrow.NULL {
		return parquet.Column{Output: want}, nil
	}
	names := s.names.child(role)
	if !r.hasIDs && ok1 && names != nil && names.id != 0 && names.id != id {
		return parquet.Column{}, r.fail(want, at, "the name mapping gives the "+role+" another field id", ErrInvalid)
	}
	return r.read(want, file, scope{path: join(s.path, file.Name), names: names}, at, depth+1)
}

// absent plans a field that the file does not have: constant, default, null.
func (r *resolver) absent(want arrow.Field, at []string, depth int) (parquet.Column, error) {
	c := parquet.Column{Output: want}
	id, hasID := expr.FieldID(want)
	if st, ok := storage(want.Type).(*arrow.StructType); ok && hasID {
		return r.absentStruct(want, st, id, at, depth)
	}
	if hasID {
		lit, ok := r.in.Constants[id]
		if !ok {
			lit, ok = r.in.Defaults[id]
		}
		if ok && lit.Value != nil {
			wide, err := Widen(lit, storage(want.Type))
			if err != nil {
				return c, r.fail(want, at, err.Error(), ErrInvalid)
			}
			c.Const = &wide
			return c, nil
		}
		if ok && want.Nullable {
			return c, nil
		}
	}
	if !want.Nullable {
		return c, r.fail(want, at, "the column is required, and the file has neither it nor a default", ErrInvalid)
	}
	return c, nil
}

// absentStruct: a struct that the file lacks is null, unless its default is an empty struct or a partition constant of a
// field inside it proves that it was there.
func (r *resolver) absentStruct(want arrow.Field, st *arrow.StructType, id int, at []string, depth int) (parquet.Column, error) {
	c := parquet.Column{Output: want}
	present := r.in.Defaults[id].Value != nil || r.constantInside(st, depth)
	if !present && !want.Nullable {
		return c, r.fail(want, at, "the column is required, and the file has neither it nor a default", ErrInvalid)
	}
	if present {
		c.Const = &expr.Literal{Type: want.Type, Value: struct{}{}}
	}
	c.Children = make([]parquet.Column, st.NumFields())
	for i, f := range st.Fields() {
		if !present { // no rule of a child matters below a null parent, required or not
			c.Children[i] = nulls(f)
			continue
		}
		if depth >= maxDepth {
			return c, r.fail(want, at, "nested too deep", ErrInvalid)
		}
		var err error
		if c.Children[i], err = r.absent(f, append(at[:len(at):len(at)], f.Name), depth+1); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (r *resolver) constantInside(st *arrow.StructType, depth int) bool {
	for _, f := range st.Fields() {
		if id, ok := expr.FieldID(f); ok && r.in.Constants[id].Value != nil {
			return true
		}
		if in, ok := storage(f.Type).(*arrow.StructType); ok && depth < maxDepth && r.constantInside(in, depth+1) {
			return true
		}
	}
	return false
}

// nulls is a typed null with all its children.
func nulls(f arrow.Field) parquet.Column {
	c := parquet.Column{Output: f}
	if st, ok := storage(f.Type).(*arrow.StructType); ok {
		for _, in := range st.Fields() {
			c.Children = append(c.Children, nulls(in))
		}
	}
	return c
}

func (r *resolver) mismatch(want, file arrow.Field, at []string) error {
	return r.fail(want, at, "the file has "+file.Type.String()+", which cannot be read as "+want.Type.String(), ErrInvalid)
}

func (r *resolver) fail(want arrow.Field, at []string, reason string, class error) error {
	id, _ := expr.FieldID(want)
	return &Error{File: r.in.File, Field: at, ID: id, Reason: reason, Err: class}
}

func join(path []string, name string) []string { return append(path[:len(path):len(path)], name) }

func quote(s string) string { return `"` + s + `"` }
