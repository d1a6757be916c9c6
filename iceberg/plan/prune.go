package plan

import (
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/prune"
)

// pruner applies the proofs of package prune, or none of them.
type pruner struct {
	filter *prune.Filter
	whole  expr.Expr // the filter as it was given; nil = all rows
	off    bool
	mapped bool // files without field ids are read through a name mapping
	nulls  bool // the filter asks for NULLs
}

func newPruner(c *Config) *pruner {
	p := &pruner{whole: reduce(c.Filter), off: c.NoPrune, mapped: c.Names != nil}
	if p.whole != nil {
		expr.Walk(p.whole, func(e expr.Expr) bool {
			if _, ok := e.(expr.IsNull); ok {
				p.nulls = true
			}
			return true
		})
	}
	p.filter = prune.New(p.whole, c.Table, c.Schema)
	return p
}

// reduce says nil for a filter that every row passes.
func reduce(e expr.Expr) expr.Expr {
	if b, ok := e.(expr.Bool); ok && bool(b) {
		return nil
	}
	return e
}

// manifest reports whether a manifest may hold a file with a selected row. A manifest without a known spec is read: the
// decoder says what is wrong with it.
func (p *pruner) manifest(spec *meta.Spec, f *manifest.File) bool {
	return p.off || spec == nil || p.filter.Manifest(spec, f)
}

// columns whose metrics are read.
func (p *pruner) columns() []int {
	if p.off {
		return nil
	}
	return p.filter.Columns()
}

// residual is what is left of the filter in one partition; none says that no row of it can be selected.
func (p *pruner) residual(spec *meta.Spec, tuple map[int]expr.Literal) (left expr.Expr, none bool) {
	if p.off {
		return p.whole, false
	}
	left = reduce(p.filter.Residual(spec, tuple))
	return left, never(left)
}

// file judges a file by its metrics: keep is false if no row of it can be selected, and nothing is left of a filter that
// every row passes. Under a name mapping a file without field ids gives NULL for a column that the mapping leaves out, whatever
// the manifest counts: such a file is never known to pass whole, nor to be without NULLs.
func (p *pruner) file(residual expr.Expr, e *manifest.Entry) (left expr.Expr, keep bool) {
	if p.off || residual == nil || p.mapped && p.nulls {
		return residual, true
	}
	switch p.filter.File(residual, e) {
	case expr.None:
		return nil, false
	case expr.All:
		if !p.mapped {
			return nil, true
		}
	}
	return residual, true
}

// never reports that a filter selects nothing whatever the row.
func never(e expr.Expr) bool {
	switch e := e.(type) {
	case expr.Bool:
		return !bool(e)
	case expr.Unknown:
		return true
	}
	return false
}

// Unused lists the parts of the filter that cannot skip files.
func (c *Config) Unused() []expr.Expr { return newPruner(c).filter.Unused() }
