package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lakescan/lakescan/query"
)

// node is a JSON object. The documents are walked generically: their shape is DuckDB's, deep, and mostly of no interest.
type node = map[string]any

// decode reads a document of DuckDB's JSON writer, which writes the floats NaN, Infinity and -Infinity bare.
func decode(doc string) (node, error) {
	dec := json.NewDecoder(strings.NewReader(quoteBareFloats(doc)))
	dec.UseNumber()
	var d node
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("the engine's JSON: %w", err)
	}
	return d, nil
}

// quoteBareFloats puts the three tokens that are not JSON in quotes, outside strings.
func quoteBareFloats(doc string) string {
	if !strings.Contains(doc, "NaN") && !strings.Contains(doc, "Infinity") {
		return doc
	}
	var b strings.Builder
	inString := false
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		if inString {
			b.WriteByte(c)
			if c == '\\' && i+1 < len(doc) {
				i++
				b.WriteByte(doc[i])
			} else if c == '"' {
				inString = false
			}
			continue
		}
		if c == '"' {
			inString = true
		}
		if word := bareFloat(doc[i:]); word != "" {
			b.WriteString(`"` + word + `"`)
			i += len(word) - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func bareFloat(s string) string {
	for _, w := range [...]string{"NaN", "-NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(s, w) {
			return w
		}
	}
	return ""
}

// Failure is the error that a document reports, a *Fault, or nil.
func Failure(doc string) error {
	d, err := decode(doc)
	if err != nil {
		return err
	}
	if f := failure(d); f != nil {
		return f
	}
	return nil
}

// failure is the error that a document reports instead of a tree, nil if there is none.
func failure(d node) *Fault {
	if bad, _ := d["error"].(bool); !bad {
		return nil
	}
	f := &Fault{Class: query.ClassBind, Offset: -1, Msg: str(d, "error_message")}
	switch str(d, "error_type") {
	case "parser", "syntax":
		f.Class = query.ClassSyntax
	case "not implemented":
		f.Class = query.ClassRefused
	case "internal", "fatal":
		f.Class = query.ClassInternal
	case "permission", "invalid configuration":
		f.Class = query.ClassRefused
	case "out of memory":
		f.Class = query.ClassMemory
	}
	if p, ok := d["position"].(string); ok {
		var at int
		if _, err := fmt.Sscanf(p, "%d", &at); err == nil {
			f.Offset = at
		}
	}
	return f
}

// Fault is an error about the text that a document describes. Offset is a byte offset in it, -1 = unknown.
type Fault struct {
	Class  query.Class
	Offset int
	Msg    string
	Hint   string
}

func (f *Fault) Error() string { return f.Msg }

// Error is the public form; the offset must already be one of sql.
func (f *Fault) Public(sql string, offset int) *query.Error {
	e := &query.Error{Class: f.Class, Msg: f.Msg, Hint: f.Hint}
	return e.At(sql, offset)
}

func str(n node, key string) string { s, _ := n[key].(string); return s }

func object(n node, key string) node { m, _ := n[key].(node); return m }

// objects are the objects of a list; anything else in it is left out.
func objects(n node, key string) []node {
	list, _ := n[key].([]any)
	out := make([]node, 0, len(list))
	for _, x := range list {
		if m, ok := x.(node); ok {
			out = append(out, m)
		}
	}
	return out
}

// integer reads a number that must be whole and in range.
func integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// index reads a small number that is used to index a list.
func index(n node, key string) int {
	i, ok := integer(n[key])
	if !ok || i < 0 || i > 1<<30 {
		return -1
	}
	return int(i)
}

// location is the byte offset of a syntax node; DuckDB writes 2^64-1 for "none".
func location(n node) int { return index(n, "query_location") }
