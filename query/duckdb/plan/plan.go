package plan

import (
	"slices"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query"
)

// Options of Scans.
type Options struct {
	Function string                                         // the table function whose scans are wanted
	Columns  func(key string) []Column                      // its result columns; a nil Type takes part in no predicate
	Param    func(name string, t Type) (expr.Literal, bool) // a value that has exactly the type, if there is one
	UTC      bool                                           // the session's time zone is UTC
}

// Scan is one scan of the table function in a plan.
type Scan struct {
	Key        string
	Columns    []int     // result columns that are read
	Filter     expr.Expr // rows for which it is not TRUE are not needed; nil = all are. Not bound
	Conjuncts  []expr.Expr
	Unused     []string // conditions that could not be converted
	Limit      int64    // rows after which no more are needed, 0 = none; only without any condition
	StopsEarly bool     // a LIMIT above may end the scan
}

// Query is the SELECT that makes DuckDB plan sql and write the plan. It binds, so every table must exist. The options
// skip_empty and skip_default are left alone: they drop column 0.
func Query(sql string) string {
	return "SELECT json_serialize_plan(" + query.QuoteString(sql) + ", optimize := true)::VARCHAR"
}

// Scans reads a plan. A *Fault is an error of the statement that planning found.
func Scans(doc string, opt Options) ([]Scan, error) {
	d, err := decode(doc)
	if err != nil {
		return nil, err
	}
	if f := failure(d); f != nil {
		return nil, f
	}
	p := &planner{opt: opt}
	for _, n := range objects(d, "plans") {
		p.visit(n, false)
	}
	out := make([]Scan, len(p.scans))
	for i, s := range p.scans {
		out[i] = s.Scan
	}
	// A scan in a part of the document that the walk does not know: nothing is known about what its key needs.
	found := 0
	countGets(d, opt.Function, &found)
	if found != len(out) {
		for i := range out {
			out[i].Filter, out[i].Conjuncts, out[i].Limit, out[i].StopsEarly = nil, nil, 0, false
		}
	}
	return out, nil
}

func countGets(v any, function string, n *int) {
	switch x := v.(type) {
	case []any:
		for _, y := range x {
			countGets(y, function, n)
		}
	case node:
		if str(x, "type") == "LOGICAL_GET" && str(x, "name") == function {
			*n++
		}
		for _, y := range x {
			countGets(y, function, n)
		}
	}
}

type planner struct {
	opt   Options
	scans []*chain
}

// chain is a scan and what stands directly above it: filters, projections, MARK and SEMI joins with a list of values. Every
// row of the chain is a row of the scan, so a condition on the one is a condition on the other.
type chain struct {
	Scan
	conv     converter
	out      env
	filtered bool
}

// visit walks a subtree. It returns the chain if the subtree is one. stops says that a LIMIT above can end this subtree.
func (p *planner) visit(n node, stops bool) *chain {
	kids := objects(n, "children")
	switch kind := str(n, "type"); {
	case kind == "LOGICAL_GET" && str(n, "name") == p.opt.Function:
		return p.get(n, stops)
	case kind == "LOGICAL_FILTER" && len(kids) == 1:
		return filter(n, p.visit(kids[0], stops))
	case kind == "LOGICAL_PROJECTION" && len(kids) == 1:
		return project(n, p.visit(kids[0], stops))
	case kind == "LOGICAL_LIMIT" && len(kids) == 1:
		percent := str(object(n, "limit_val"), "type") == "CONSTANT_PERCENTAGE" // needs to know how many there are
		limit(n, p.visit(kids[0], !percent))
	case kind == "LOGICAL_UNNEST" && len(kids) == 1:
		p.visit(kids[0], stops)
	case kind == "LOGICAL_UNION":
		all, _ := n["setop_all"].(bool)
		for _, k := range kids {
			p.visit(k, stops && all)
		}
	case kind == "LOGICAL_COMPARISON_JOIN" && len(kids) == 2:
		return p.join(n, kids, stops)
	case kind == "LOGICAL_MATERIALIZED_CTE" && len(kids) == 2:
		p.visit(kids[0], false)
		p.visit(kids[1], stops)
	default:
		for _, k := range kids {
			p.visit(k, false)
		}
	}
	return nil
}

func (p *planner) get(n node, stops bool) *chain {
	c := &chain{}
	c.StopsEarly = stops
	if ps := objects(n, "parameters"); len(ps) > 0 {
		c.Key = str(ps[0], "value")
	}
	c.conv = converter{opt: p.opt, columns: p.opt.Columns(c.Key)}
	for _, t := range objects(n, "returned_types") {
		c.conv.types = append(c.conv.types, typeOf(t))
	}
	for _, i := range objects(n, "column_indexes") {
		at := index(i, "index")
		c.Columns = append(c.Columns, at)
		c.out = append(c.out, cell{column: at})
	}
	c.out = c.out.pick(n, "projection_ids")
	p.scans = append(p.scans, c)
	return c
}

// pick applies a list of indexes; an empty one means all.
func (e env) pick(n node, key string) env {
	list, _ := n[key].([]any)
	if len(list) == 0 {
		return e
	}
	out := make(env, 0, len(list))
	for _, x := range list {
		i, ok := integer(x)
		if !ok || i < 0 || i >= int64(len(e)) {
			out = append(out, cell{column: -1})
			continue
		}
		out = append(out, e[i])
	}
	return out
}

func filter(n node, c *chain) *chain {
	if c == nil {
		return nil
	}
	for _, e := range objects(n, "expressions") {
		c.require(c.conv.condition(e, c.out))
	}
	c.filtered = true
	c.out = c.out.pick(n, "projection_map")
	return c
}

// require adds a condition; nil adds none.
func (c *chain) require(e expr.Expr) {
	c.filtered = true
	if e != nil {
		c.Conjuncts = append(c.Conjuncts, e)
	}
	c.Unused = slices.Clone(c.conv.unused)
	switch len(c.Conjuncts) {
	case 0:
	case 1:
		c.Filter = c.Conjuncts[0]
	default:
		c.Filter = expr.And(c.Conjuncts)
	}
}

func project(n node, c *chain) *chain {
	if c == nil {
		return nil
	}
	var out env
	for _, e := range objects(n, "expressions") {
		out = append(out, cell{column: -1, expr: e, in: c.out})
	}
	c.out = out
	return c
}

// limit notes how many rows the scan must give at most: a LIMIT over a scan without any condition. It ends the chain, since a
// condition above a LIMIT must not be tested below it.
func limit(n node, c *chain) {
	if c == nil || c.filtered {
		return
	}
	rows, ok := constantRows(object(n, "limit_val"), false)
	skip, ok2 := constantRows(object(n, "offset_val"), true)
	if sum := rows + skip; ok && ok2 && sum > 0 && sum >= rows {
		c.Limit = sum
	}
}

func constantRows(v node, orUnset bool) (int64, bool) {
	switch str(v, "type") {
	case "UNSET":
		return 0, orUnset
	case "CONSTANT_VALUE":
		n, ok := integer(v["constant_integer"])
		return n, ok && n >= 0
	}
	return 0, false
}

// join follows the probe side of a join with a list of values, which is how DuckDB writes IN with five values or more. Other
// joins end the chain; DuckDB has moved their filters below them.
func (p *planner) join(n node, kids []node, stops bool) *chain {
	kind := str(n, "join_type")
	probe := stops && slices.Contains([]string{"INNER", "LEFT", "SEMI", "ANTI", "MARK", "SINGLE"}, kind)
	c := p.visit(kids[0], probe)
	if c == nil || str(kids[1], "type") != "LOGICAL_CHUNK_GET" || kind != "MARK" && kind != "SEMI" {
		p.visit(kids[1], false)
		return nil
	}
	mark := c.listed(n, kids[1])
	c.out = c.out.pick(n, "left_projection_map")
	if kind == "SEMI" {
		if mark == nil {
			c.conv.unused = append(c.conv.unused, "in (…)")
		}
		c.require(mark)
		return c
	}
	c.out = append(slices.Clone(c.out), cell{column: -1, mark: mark})
	return c
}

// listed is "expression IN (values)" for a join with one equality, nil for any other.
func (c *chain) listed(n, chunk node) expr.Expr {
	conditions := objects(n, "conditions")
	columns, _ := object(chunk, "collection")["values"].([]any)
	if len(conditions) != 1 || len(columns) != 1 || n["predicate"] != nil || str(conditions[0], "comparison") != "COMPARE_EQUAL" ||
		str(object(conditions[0], "right"), "expression_class") != "BOUND_REF" {
		return nil
	}
	o, ok := c.conv.operand(object(conditions[0], "left"), c.out)
	if !ok || !o.isColumn {
		return nil
	}
	values, _ := columns[0].([]any)
	var lits []expr.Literal
	for _, v := range values {
		m, _ := v.(node)
		lit, ok := constant(m)
		if !ok {
			return nil
		}
		lits = append(lits, lit)
	}
	if e, ok := in(o, lits); ok {
		return e
	}
	return nil
}

// Merge joins the scans of one key, as for a WITH query that is used twice: a row is needed if any of them needs it. Filters
// must be final (bound, or left out) before.
func Merge(scans []Scan) map[string]Scan {
	out := map[string]Scan{}
	for _, s := range scans {
		m, again := out[s.Key]
		if !again {
			out[s.Key] = s
			continue
		}
		for _, c := range s.Columns {
			if !slices.Contains(m.Columns, c) {
				m.Columns = append(slices.Clip(m.Columns), c)
			}
		}
		if m.Filter == nil || s.Filter == nil {
			m.Filter = nil
		} else {
			m.Filter = expr.Disj(m.Filter, s.Filter)
		}
		m.Limit = max(m.Limit, s.Limit)
		if out[s.Key].Limit == 0 || s.Limit == 0 {
			m.Limit = 0
		}
		m.StopsEarly = m.StopsEarly && s.StopsEarly
		for _, u := range s.Unused {
			if !slices.Contains(m.Unused, u) {
				m.Unused = append(slices.Clip(m.Unused), u)
			}
		}
		out[s.Key] = m
	}
	return out
}
