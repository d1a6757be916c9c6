package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/query"
)

// TableRef is one place of the text that names a table; CTE names are none.
type TableRef struct {
	Catalog, Schema, Name string // as written; empty = absent
	Alias                 string // as given; empty = none
	Offset                int    // of the name in the text, -1 unknown
	Unit                  string // VERSION or TIMESTAMP with an AT clause, else empty
}

// Parts are the parts of the name as written.
func (t TableRef) Parts() []string {
	var parts []string
	for _, p := range []string{t.Catalog, t.Schema, t.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// SyntaxQuery is the SELECT that makes DuckDB write the syntax tree of sql. Nothing is bound: the tables need not exist.
func SyntaxQuery(sql string) string {
	return "SELECT json_serialize_sql(" + query.QuoteString(sql) + ")::VARCHAR"
}

// tableFunctions may be called: they read nothing but their arguments. A list of the allowed ones, since the forbidden ones
// grow with each version of DuckDB: query() and query_table() run a text and hide the tables in it, read_csv() and its kind
// reach into the spill folder.
var tableFunctions = []string{"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"}

// scalarFunctions may not: they bind or run a text.
var scalarFunctions = []string{"json_execute_serialized_sql", "json_serialize_plan", "write_log"}

// Gate reads a syntax tree. It returns the table references in the order of the text, or a *Fault if the statement must not
// run. The tree is what DuckDB itself would run, so there is no second grammar to disagree with.
func Gate(doc string) ([]TableRef, error) {
	d, err := decode(doc)
	if err != nil {
		return nil, err
	}
	if f := failure(d); f != nil {
		return nil, explainRefusal(f)
	}
	statements := objects(d, "statements")
	if len(statements) != 1 {
		return nil, &Fault{
			Class: query.ClassRefused, Offset: -1,
			Msg:  fmt.Sprintf("%d statements where one is expected", len(statements)),
			Hint: "run them one after another",
		}
	}
	g := gate{}
	g.walk(statements[0], nil)
	if g.fault != nil {
		return nil, g.fault
	}
	slices.SortStableFunc(g.refs, func(a, b TableRef) int { return a.Offset - b.Offset })
	return g.refs, nil
}

// explainRefusal replaces the serializer's words by ours.
func explainRefusal(f *Fault) *Fault {
	if strings.HasPrefix(f.Msg, "Only SELECT statements") {
		f.Class = query.ClassRefused
		f.Msg = "only SELECT runs here: a client reads, it changes nothing"
	}
	if strings.HasPrefix(f.Msg, "Mixing named and positional") {
		f.Class = query.ClassSyntax
	}
	return f
}

type gate struct {
	refs  []TableRef
	fault *Fault
}

// scope is a list of CTE names, innermost first.
type scope struct {
	name string
	up   *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.up {
		if strings.EqualFold(s.name, name) {
			return true
		}
	}
	return false
}

func (g *gate) refuse(n node, class query.Class, msg, hint string) {
	// the walk has no order: the first in the text is reported
	if at := location(n); g.fault == nil || at < g.fault.Offset {
		g.fault = &Fault{Class: class, Offset: at, Msg: msg, Hint: hint}
	}
}

func (g *gate) walk(v any, s *scope) {
	switch x := v.(type) {
	case []any:
		for _, y := range x {
			g.walk(y, s)
		}
	case node:
		g.visit(x, s)
		s = g.ctes(x, s)
		for k, y := range x {
			if k != "cte_map" {
				g.walk(y, s)
			}
		}
	}
}

// ctes walks the definitions of a node's WITH clause and returns the scope in which its body stands. A definition sees those
// before it, and itself: whether that is allowed is DuckDB's business, a table it cannot be.
func (g *gate) ctes(n node, s *scope) *scope {
	for _, entry := range objects(object(n, "cte_map"), "map") {
		s = &scope{name: str(entry, "key"), up: s}
		g.walk(entry["value"], s)
	}
	return s
}

func (g *gate) visit(n node, s *scope) {
	switch str(n, "type") {
	case "BASE_TABLE":
		g.table(n, s)
	case "TABLE_FUNCTION":
		name := str(object(n, "function"), "function_name")
		if !slices.Contains(tableFunctions, strings.ToLower(name)) {
			g.refuse(n, query.ClassRefused, fmt.Sprintf("the table function %s is not allowed", name),
				"name tables as ns.table and Parquet files as 's3://bucket/path/*.parquet'")
		}
	case "SHOW_REF":
		if n["query"] == nil {
			g.refuse(n, query.ClassRefused, "SHOW is not allowed", "DESCRIBE table and SUMMARIZE table work; tables are listed by the catalog, not by SQL: lakescan tables")
		}
	case "FUNCTION":
		name := str(n, "function_name")
		if slices.Contains(scalarFunctions, strings.ToLower(name)) {
			g.refuse(n, query.ClassRefused, fmt.Sprintf("the function %s is not allowed", name), "")
		}
	}
}

func (g *gate) table(n node, s *scope) {
	t := TableRef{
		Catalog: str(n, "catalog_name"), Schema: str(n, "schema_name"), Name: str(n, "table_name"),
		Alias: str(n, "alias"), Offset: location(n),
	}
	if at := object(n, "at_clause"); at != nil {
		t.Unit = strings.ToUpper(str(at, "unit"))
		if t.Unit != "VERSION" && t.Unit != "TIMESTAMP" {
			g.refuse(n, query.ClassUnsupported, "AT ("+t.Unit+" => …) is not known", "AT (VERSION => id or 'ref') or AT (TIMESTAMP => time)")
		}
	}
	if t.Catalog == "" && t.Schema == "" && s.has(t.Name) {
		if t.Unit != "" {
			g.refuse(n, query.ClassUnsupported, fmt.Sprintf("%s is no table: a WITH query has no versions", t.Name), "")
		}
		return
	}
	g.refs = append(g.refs, t)
}
