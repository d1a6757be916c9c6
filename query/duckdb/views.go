//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb/plan"
)

// nameViews gives every reference its view. A table that is named once keeps its name, so that every way to qualify its
// columns works. A table that is named again gets a view a reference, "orders#2", spliced into the text, so that each
// reference has its own predicate; so does a reference with a version, since DuckDB refuses AT on a view, and one whose name
// DuckDB would read as something of its own.
func (s *statement) nameViews(spans []query.TableSpan) error {
	count := map[string]int{}
	qualifiers := map[string]int{} // how many different things a first part could mean
	for _, r := range s.refs {
		count[strings.ToLower(dotted(r.Name))]++
		if r.syntax.Catalog != "" {
			qualifiers[strings.ToLower(r.syntax.Catalog)] |= 1
		} else if r.syntax.Schema != "" {
			qualifiers[strings.ToLower(r.syntax.Schema)] |= 2
		}
	}
	var edits []query.Edit
	for i, r := range s.refs {
		first := strings.ToLower(r.Name[0])
		own := count[strings.ToLower(dotted(r.Name))] == 1 && r.syntax.Unit == "" &&
			(len(r.Name) == 1 || qualifiers[first] != 3 && !slices.Contains(builtIn, first))
		if own {
			r.view = r.ownView()
			continue
		}
		name := fmt.Sprintf("%s#%d", r.syntax.Name, i+1)
		r.view = query.QuoteIdent(name)
		text := query.QuoteIdent(name)
		if r.syntax.Alias == "" {
			text += " AS " + query.QuoteIdent(r.syntax.Name)
		}
		edits = append(edits, query.Edit{Start: spans[i].Name[0], End: spans[i].Name[1], Text: text})
		if at := spans[i].At; at[0] < at[1] {
			edits = append(edits, query.Edit{Start: at[0], End: at[1]})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	s.splice = query.NewRewrite(s.travel.Text, edits)
	return s.checkSplice()
}

// builtIn are the catalogs and schemas that every instance has.
var builtIn = []string{"memory", "temp", "system", "information_schema", "pg_catalog"}

// ownView is the qualified name of a view that has its table's name.
func (r *reference) ownView() string {
	parts := make([]string, len(r.Name))
	for i, p := range r.Name {
		parts[i] = query.QuoteIdent(p)
	}
	return strings.Join(parts, ".")
}

// checkSplice parses the new text and demands the same tree but for the tables: text surgery that went wrong must be an
// error, never another query.
func (s *statement) checkSplice() error {
	before, err := s.in.text(plan.SyntaxQuery(s.travel.Text))
	if err != nil {
		return err
	}
	after, err := s.in.text(plan.SyntaxQuery(s.splice.Text))
	if err != nil {
		return err
	}
	if !plan.SameButTables(before, after) {
		return &query.Error{
			Class: query.ClassUnsupported, Msg: "the table references of this statement cannot be told apart",
			Hint: "give each reference of a table an alias",
		}
	}
	return nil
}

// makeViews makes one view a reference, and the catalogs and schemas that their names need.
func (s *statement) makeViews() error {
	made := map[string]bool{}
	run := func(sql string) error {
		if made[sql] {
			return nil
		}
		made[sql] = true
		return s.in.exec(sql)
	}
	for _, r := range s.refs {
		if r.view != r.ownView() {
			if err := run(r.viewSQL()); err != nil {
				return s.tableError(r, err)
			}
			continue
		}
		schema := query.QuoteIdent(r.syntax.Schema)
		if r.syntax.Catalog != "" {
			catalog := query.QuoteIdent(r.syntax.Catalog)
			if err := run("ATTACH ':memory:' AS " + catalog); err != nil {
				return s.tableError(r, err)
			}
			schema = catalog + "." + schema
		}
		if r.syntax.Schema != "" {
			if err := run("CREATE SCHEMA IF NOT EXISTS " + schema); err != nil {
				return s.tableError(r, err)
			}
		}
		if err := run(r.viewSQL()); err != nil {
			return s.tableError(r, err)
		}
	}
	return nil
}

func (s *statement) tableError(r *reference, err error) error {
	return s.at(&query.Error{Class: query.ClassUnsupported, Msg: "table " + dotted(r.Name) + " cannot be shown to the engine", Err: err}, r.syntax.Offset)
}
