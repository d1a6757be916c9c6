package meta

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// Schema is one of a table's schemas.
type Schema struct {
	ID            int
	Fields        []Field
	IdentifierIDs []int

	byID map[int]*Field
}

type schemaJSON struct {
	ID            *int        `json:"schema-id"`
	Type          string      `json:"type"`
	Fields        []fieldJSON `json:"fields"`
	IdentifierIDs []int       `json:"identifier-field-ids"`
}

// ParseSchema reads the JSON of a schema. A missing schema-id is 0, as in format version 1.
func ParseSchema(raw []byte) (*Schema, error) {
	var j schemaJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.Type != "" && j.Type != "struct" {
		return nil, fmt.Errorf("schema of type %q", j.Type)
	}
	fields, err := parseFields(j.Fields, 0)
	if err != nil {
		return nil, err
	}
	s := &Schema{Fields: fields, IdentifierIDs: j.IdentifierIDs, byID: map[int]*Field{}}
	if j.ID != nil {
		s.ID = *j.ID
	}
	return s, s.index(s.Fields)
}

// index fills byID; two fields of one id would give one column's values to another.
func (s *Schema) index(fields []Field) error {
	for i := range fields {
		f := &fields[i]
		if other, twice := s.byID[f.ID]; twice {
			return fmt.Errorf("schema %d: fields %q and %q have the same id %d", s.ID, other.Name, f.Name, f.ID)
		}
		s.byID[f.ID] = f
		if err := s.index(f.Type.Fields); err != nil {
			return err
		}
	}
	return nil
}

// Field finds a field at any depth.
func (s *Schema) Field(id int) (Field, bool) {
	f, ok := s.byID[id]
	if !ok {
		return Field{}, false
	}
	return *f, true
}

// Arrow is the schema as Arrow's, with field ids; see Field.Arrow.
func (s *Schema) Arrow() *arrow.Schema { return arrow.NewSchema(arrowFields(s.Fields), nil) }

// Default is the field's initial default: ok is false if it has none, or null. A struct's default is an empty struct, told
// by a non-nil Value; its leaves come from their own fields.
func (f Field) Default() (lit expr.Literal, ok bool, err error) {
	if f.Initial == nil {
		return lit, false, nil
	}
	if lit, err = ParseValue(f.Type, f.Initial); err != nil {
		return lit, false, fmt.Errorf("initial default of %q (id %d): %w", f.Name, f.ID, err)
	}
	return lit, lit.Value != nil, nil
}

// Refusal says why the column cannot be read, nil if it can: a type of the future, a geography, or such a type inside it.
func (f Field) Refusal() error {
	switch f.Type.Kind {
	case Other:
		return &UnsupportedError{Ability: "type " + f.Type.Text, Where: "column " + f.Name, Hint: "leave the column out"}
	case Geography:
		return &UnsupportedError{Ability: "geography", Where: "column " + f.Name, Hint: "leave the column out"}
	}
	for _, c := range f.Type.Fields {
		if err := c.Refusal(); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the chain of fields from the top level down to the field of an id, nil if the schema has none.
func (s *Schema) Path(id int) []Field {
	if _, ok := s.byID[id]; !ok {
		return nil
	}
	return pathTo(s.Fields, id)
}

func pathTo(fields []Field, id int) []Field {
	for _, f := range fields {
		if f.ID == id {
			return []Field{f}
		}
		if below := pathTo(f.Type.Fields, id); below != nil {
			return append([]Field{f}, below...)
		}
	}
	return nil
}

// Leaves appends the ids of the leaves at or below f: what files have columns and metrics for.
func (f Field) Leaves(dst []int) []int {
	if len(f.Type.Fields) == 0 {
		return append(dst, f.ID)
	}
	for _, c := range f.Type.Fields {
		dst = c.Leaves(dst)
	}
	return dst
}

// Prune returns f with only those struct fields below it that keep says are wanted, or that lead to one; ok is false if
// nothing is left. A field that keep wants is kept whole.
func (f Field) Prune(keep func(id int) bool) (Field, bool) {
	if keep(f.ID) {
		return f, true
	}
	var left []Field
	for _, c := range f.Type.Fields {
		if p, ok := c.Prune(keep); ok {
			left = append(left, p)
		} else if f.Type.Kind == Map {
			left = append(left, c) // a map needs both
		}
	}
	if len(left) == 0 || f.Type.Kind == Map && !f.leadsTo(keep) {
		return Field{}, false
	}
	f.Type.Fields = left
	return f, true
}

func (f Field) leadsTo(keep func(id int) bool) bool {
	if keep(f.ID) {
		return true
	}
	for _, c := range f.Type.Fields {
		if c.leadsTo(keep) {
			return true
		}
	}
	return false
}
