package prune

import (
	"slices"
	"sync"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// Filter is a bound filter with its projections onto the partition specs of a table.
type Filter struct {
	expr    expr.Expr
	columns []expr.Column // that metrics are wanted for
	table   *meta.Metadata
	schema  *meta.Schema

	specs sync.Map // spec id -> *projection
}

// New takes a filter bound to schema; nil selects all rows.
func New(filter expr.Expr, table *meta.Metadata, schema *meta.Schema) *Filter {
	f := &Filter{expr: filter, table: table, schema: schema}
	if filter == nil {
		return f
	}
	for _, c := range expr.Columns(filter) {
		if _, ok := schema.Field(c.ID); ok { // metadata columns have no metrics
			f.columns = append(f.columns, c)
		}
	}
	return f
}

// Columns are the field ids of the columns whose metrics File reads, in the order of Projection.Metrics.
func (f *Filter) Columns() []int {
	out := make([]int, len(f.columns))
	for i, c := range f.columns {
		out[i] = c.ID
	}
	return out
}

// Unused lists the parts of the filter that no evidence can decide but that a column is all null.
func (f *Filter) Unused() []expr.Expr {
	var out []expr.Expr
	for _, c := range expr.Conjuncts(f.expr) {
		useful := false
		expr.Walk(c, func(e expr.Expr) bool {
			switch x := e.(type) {
			case expr.Like:
				p, ok := LikePrefix(x.Pattern)
				useful = useful || ok && p != ""
			case expr.Compare:
				useful = useful || f.known(x.Col)
			case expr.In:
				useful = useful || f.known(x.Col)
			case expr.StartsWith:
				useful = useful || f.known(x.Col)
			case expr.IsNull:
				useful = useful || f.known(x.Col)
			case expr.IsNaN:
				useful = useful || f.known(x.Col)
			}
			return !useful
		})
		if !useful {
			out = append(out, c)
		}
	}
	return out
}

func (f *Filter) known(c expr.Column) bool {
	return slices.ContainsFunc(f.columns, func(k expr.Column) bool { return k.ID == c.ID })
}

// projection is the filter under one spec.
type projection struct {
	columns  []expr.Column // of the spec's fields, in its order: the slots of summaries
	manifest expr.Expr     // inclusive: TRUE for every partition that can hold a selected row
}

// under finds or makes the projection onto a spec. Sources are found by id at any struct depth (case L35).
func (f *Filter) under(s *meta.Spec) *projection {
	if p, ok := f.specs.Load(s.ID); ok {
		return p.(*projection)
	}
	p := &projection{columns: make([]expr.Column, len(s.Fields))}
	for i, field := range s.Fields {
		p.columns[i] = expr.Column{Path: []string{field.Name}, ID: field.FieldID, Type: manifest.PartitionType(f.table, f.schema, field)}
	}
	p.manifest = p.include(f.expr, s)
	actual, _ := f.specs.LoadOrStore(s.ID, p)
	return actual.(*projection)
}

// include is the inclusive projection of a tree.
func (p *projection) include(e expr.Expr, s *meta.Spec) expr.Expr {
	switch x := e.(type) {
	case nil:
		return expr.Bool(true)
	case expr.And:
		out := make([]expr.Expr, len(x))
		for i, a := range x {
			out[i] = p.include(a, s)
		}
		return expr.Conj(out...)
	case expr.Or:
		out := make([]expr.Expr, len(x))
		for i, a := range x {
			out[i] = p.include(a, s)
		}
		return expr.Disj(out...)
	case expr.Bool:
		return x
	case expr.Unknown:
		return expr.Bool(false)
	}
	var parts []expr.Expr
	p.each(e, s, func(in, _ expr.Expr) {
		if in != nil {
			parts = append(parts, in)
		}
	})
	return expr.Conj(parts...)
}

// each gives the projections of a leaf onto the fields that derive from its column.
func (p *projection) each(leaf expr.Expr, s *meta.Spec, yield func(inclusive, strict expr.Expr)) {
	cols := expr.Columns(leaf)
	if len(cols) != 1 {
		return
	}
	for i, field := range s.Fields {
		if len(field.Sources) != 1 || field.Sources[0] != cols[0].ID || p.columns[i].Type == nil {
			continue
		}
		in, okIn := field.Transform.Inclusive(leaf, p.columns[i])
		st, okSt := field.Transform.Strict(leaf, p.columns[i])
		if !okIn {
			in = nil
		}
		if !okSt {
			st = nil
		}
		yield(in, st)
	}
}

// Manifest reports whether a manifest can hold a file with a selected row, by its partition summaries.
func (f *Filter) Manifest(s *meta.Spec, m *manifest.File) bool {
	if f.expr == nil {
		return true
	}
	p := f.under(s)
	if len(m.Partitions) != len(s.Fields) { // the slots cannot be told
		return Evaluate(f.expr, nothing) != expr.None
	}
	return Evaluate(p.manifest, func(c expr.Column) Evidence {
		for i, pc := range p.columns {
			if pc.ID == c.ID {
				return FromSummary(pc.Type, m.Partitions[i])
			}
		}
		return Evidence{}
	}) != expr.None
}

func nothing(expr.Column) Evidence { return Evidence{} }

// Residual is what is left of the filter for the files of one partition: leaves that its tuple decides are folded. TRUE and
// nil select all rows, FALSE and unknown none. It always follows from the file's own spec (case L37).
func (f *Filter) Residual(s *meta.Spec, tuple map[int]expr.Literal) expr.Expr {
	if f.expr == nil || len(s.Fields) == 0 {
		return f.expr
	}
	p := f.under(s)
	value := func(c expr.Column) Evidence {
		v, ok := tuple[c.ID]
		if !ok {
			return Evidence{}
		}
		return FromValue(v)
	}
	return expr.Rewrite(f.expr, func(e expr.Expr) expr.Expr {
		out := e
		p.each(e, s, func(in, st expr.Expr) {
			switch {
			case in != nil && Evaluate(in, value) == expr.None:
				out = expr.Bool(false)
			case st != nil && Evaluate(st, value) == expr.All:
				out = expr.Bool(true)
			}
		})
		return out
	})
}

// File judges a residual by a file's metrics, which were read for Columns.
func (f *Filter) File(residual expr.Expr, e *manifest.Entry) expr.Verdict {
	if residual == nil {
		return expr.All
	}
	return Evaluate(residual, func(c expr.Column) Evidence {
		for i := range f.columns {
			if f.columns[i].ID == c.ID {
				return FromMetric(f.columns[i].Type, e.Metric(i), e.Rows)
			}
		}
		return Evidence{}
	})
}
