package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// maxDepth bounds the nesting of name mappings and schemas.
const maxDepth = 64

// Names is a table's name mapping (property schema.name-mapping.default; Iceberg specification, "Name mapping
// serialization"), shared by the tasks of a scan; nil = none. It is immutable.
type Names struct {
	root  level
	plain bool
	bad   error // why the mapping cannot be read
}

// UnreadableNames is a mapping that could not be read: it matters only to files without field ids, whose columns it should have
// named, and these are refused with err.
func UnreadableNames(err error) *Names { return &Names{bad: err} }

// PlainNames is the mapping of files that belong to no table: a column is found by its id where schema and file have one, else by its
// name. The ids of the schema may be made up (MakeIDs), so that predicates can be bound.
func PlainNames() *Names { return &Names{plain: true} }

// Fields of a position delete file, by the ids that the table specification reserves.
const (
	deletePathID = 2147483546
	deletePosID  = 2147483545
)

// IsDeleteFile recognizes a position delete file by its columns: where a file belongs to no table, nothing else tells it from data.
func IsDeleteFile(file *arrow.Schema) bool {
	var path, pos bool
	for _, f := range file.Fields() {
		id, _ := expr.FieldID(f)
		path, pos = path || id == deletePathID, pos || id == deletePosID
	}
	return path && pos
}

func (n *Names) byName() bool { return n != nil && n.plain }

// MakeIDs gives every field that has no id, at any depth, one that no file uses, and makes every field optional: a later file may lack it.
func MakeIDs(s *arrow.Schema) *arrow.Schema {
	next := madeUpID
	fields := make([]arrow.Field, s.NumFields())
	for i, f := range s.Fields() {
		fields[i] = withIDs(f, &next)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md)
}

// madeUpID is where ids without a meaning begin: above those of tables, below the reserved ones.
const madeUpID = 1 << 30

func withIDs(f arrow.Field, next *int) arrow.Field {
	if _, ok := expr.FieldID(f); !ok {
		f = expr.WithFieldID(f, *next)
		*next++
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = withIDs(fields[i], next)
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.MapType:
		key := withIDs(t.KeyField(), next)
		key.Nullable = false
		f.Type = arrow.MapOfFields(key, withIDs(t.ItemField(), next))
	case *arrow.ListType:
		f.Type = arrow.ListOfField(withIDs(t.ElemField(), next))
	}
	f.Nullable = true
	return f
}

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
	return &Names{root: root}, nil
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
