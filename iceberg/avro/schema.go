package avro

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Kind of a schema node.
type Kind uint8

// Kinds.
const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Array
	Map
	Union
	Record
)

var primitives = map[string]Kind{"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "bytes": Bytes, "string": String}

// Schema is one node. Named types are resolved: a reference shares the node it names.
type Schema struct {
	Kind      Kind
	Logical   string // logicalType
	Precision int    // of a decimal
	Scale     int
	Size      int       // Fixed
	Items     *Schema   // Array and Map
	Branches  []*Schema // Union
	Fields    []Field   // Record
}

// Field of a record. ID is its field-id, -1 if it has none.
type Field struct {
	Name string
	ID   int
	Type *Schema
}

// NonNull returns the one branch beside null of an optional; s itself if it is no union; nil for any other union.
func (s *Schema) NonNull() *Schema {
	if s.Kind != Union {
		return s
	}
	var found *Schema
	for _, b := range s.Branches {
		switch {
		case b.Kind == Null:
		case found != nil:
			return nil
		default:
			found = b
		}
	}
	return found
}

// Field finds a record's field by its field-id.
func (s *Schema) Field(id int) (Field, bool) {
	for _, f := range s.Fields {
		if f.ID == id {
			return f, true
		}
	}
	return Field{}, false
}

// maxDepth bounds the nesting of schemas.
const maxDepth = 64

// The schemas that were parsed last: the manifests of a table have few, and a process plans its tables again and again.
const (
	maxSchemas    = 64
	maxSchemaText = 64 << 10 // longer ones are not kept
)

var schemas = schemaCache{max: maxSchemas}

// schemaCache keeps at most max schemas by their text. Which one makes room for another does not matter. Safe for concurrent use.
type schemaCache struct {
	max int
	mu  struct {
		sync.Mutex
		byText map[string]*Schema
	}
}

func (c *schemaCache) get(text []byte) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.byText[string(text)]
}

func (c *schemaCache) put(text []byte, s *Schema) {
	if len(text) > maxSchemaText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.byText == nil {
		c.mu.byText = make(map[string]*Schema, c.max)
	}
	for old := range c.mu.byText {
		if len(c.mu.byText) < c.max {
			break
		}
		delete(c.mu.byText, old)
	}
	c.mu.byText[string(text)] = s
}

// ParseSchema reads the JSON of a schema. The result may be shared: it must not be changed.
func ParseSchema(text []byte) (*Schema, error) { return schemas.parse(text) }

func (c *schemaCache) parse(text []byte) (*Schema, error) {
	if s := c.get(text); s != nil {
		return s, nil
	}
	s, err := parseSchema(text)
	if err == nil {
		c.put(text, s)
	}
	return s, err
}

func parseSchema(text []byte) (*Schema, error) {
	p := parser{named: map[string]*Schema{}}
	s, err := p.node(text, "", 0)
	if err != nil {
		return nil, fmt.Errorf("avro schema: %w", err)
	}
	return s, nil
}

type parser struct{ named map[string]*Schema }

type nodeJSON struct {
	Type      json.RawMessage `json:"type"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Logical   string          `json:"logicalType"`
	Precision int             `json:"precision"`
	Scale     int             `json:"scale"`
	Size      int             `json:"size"`
	Items     json.RawMessage `json:"items"`
	Values    json.RawMessage `json:"values"`
	Fields    []struct {
		Name string          `json:"name"`
		ID   *int            `json:"field-id"`
		Type json.RawMessage `json:"type"`
	} `json:"fields"`
}

func (p *parser) node(text []byte, space string, depth int) (*Schema, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("no type")
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		return p.byName(name, space)
	case '[':
		return p.union(text, space, depth)
	}
	var n nodeJSON
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	var kind string
	if json.Unmarshal(n.Type, &kind) != nil {
		return p.node(n.Type, space, depth+1) // {"type": {…}}
	}
	return p.complex(kind, n, space, depth)
}

func (p *parser) byName(name, space string) (*Schema, error) {
	if k, ok := primitives[name]; ok {
		return &Schema{Kind: k}, nil
	}
	s, ok := p.named[fullName(name, space)]
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	if s == nil {
		return nil, fmt.Errorf("type %q contains itself", name)
	}
	return s, nil
}

func fullName(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

func (p *parser) union(text []byte, space string, depth int) (*Schema, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	s := &Schema{Kind: Union}
	for _, r := range raw {
		b, err := p.node(r, space, depth+1)
		if err != nil {
			return nil, err
		}
		s.Branches = append(s.Branches, b)
	}
	if len(s.Branches) == 0 {
		return nil, fmt.Errorf("union without branches")
	}
	return s, nil
}

func (p *parser) complex(kind string, n nodeJSON, space string, depth int) (*Schema, error) {
	s := &Schema{Logical: n.Logical, Precision: n.Precision, Scale: n.Scale, Size: n.Size}
	var err error
	switch kind {
	case "array":
		s.Kind = Array
		s.Items, err = p.node(n.Items, space, depth+1)
		return s, err
	case "map":
		s.Kind = Map
		s.Items, err = p.node(n.Values, space, depth+1)
		return s, err
	case "fixed", "enum", "record", "error":
		return p.namedType(kind, n, s, space, depth)
	}
	if k, ok := primitives[kind]; ok {
		s.Kind = k
		return s, nil
	}
	return p.byName(kind, space)
}

func (p *parser) namedType(kind string, n nodeJSON, s *Schema, space string, depth int) (*Schema, error) {
	if n.Namespace != "" {
		space = n.Namespace
	}
	name := fullName(n.Name, space)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		space = name[:i]
	}
	switch kind {
	case "enum":
		s.Kind = Enum
	case "fixed":
		if s.Kind = Fixed; s.Size < 0 {
			return nil, fmt.Errorf("fixed %q of size %d", n.Name, s.Size)
		}
	default:
		s.Kind = Record
		p.named[name] = nil // until it is complete
		for _, f := range n.Fields {
			t, err := p.node(f.Type, space, depth+1)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", f.Name, err)
			}
			id := -1
			if f.ID != nil {
				id = *f.ID
			}
			s.Fields = append(s.Fields, Field{Name: f.Name, ID: id, Type: t})
		}
	}
	p.named[name] = s
	return s, nil
}
