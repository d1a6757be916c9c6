package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// maxDepth bounds the nesting of name mappings and schemas.
const maxDepth = 64

// Names is a table's name mapping (property schema.name-mapping.default; Iceberg specification, "Name mapping
// serialization"), shared by the tasks of a scan; nil = none. It is immutable.
type Names struct{ root level }

// level maps the names of one level: dots are part of a name, and case counts.
type level map[string]*mapped

type mapped struct {
	id       int // 0: the name is known, but belongs to no field
	children level
}

type mappedJSON struct {
	ID     *int            `json:"field-id"`
	Names  []string        `json:"names"`
	Fields json.RawMessage `json:"fields"`
}

// ParseNames reads the JSON of a mapping. A name that stands twice at one level is refused, as is nesting beyond 64 levels.
func ParseNames(text []byte) (*Names, error) {
	root, err := parseLevel(text, 0)
	if err != nil {
		return nil, &Error{Reason: "name mapping: " + err.Error(), Err: ErrInvalid}
	}
	return &Names{root}, nil
}

func parseLevel(text []byte, depth int) (level, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	var fields []mappedJSON
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the list")
	}
	l := make(level, len(fields))
	for _, f := range fields {
		m := &mapped{}
		if f.ID != nil {
			m.id = *f.ID
		}
		if len(f.Fields) > 0 && !bytes.Equal(f.Fields, []byte("null")) {
			var err error
			if m.children, err = parseLevel(f.Fields, depth+1); err != nil {
				return nil, err
			}
		}
		for _, n := range f.Names {
			if _, twice := l[n]; twice {
				return nil, fmt.Errorf("name %q stands twice at one level", n)
			}
			l[n] = m
		}
	}
	return l, nil
}

// child is the mapping of a nested field; a nil receiver, or no entry, gives nil.
func (m *mapped) child(name string) *mapped {
	if m == nil {
		return nil
	}
	return m.children[name]
}
