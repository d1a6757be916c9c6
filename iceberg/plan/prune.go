package plan

import (
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// pruner decides from a filter which manifests and files can hold a row of it.
type pruner struct {
	filter expr.Expr // nil = all rows
}

func newPruner(c *Config) (*pruner, error) {
	p := &pruner{filter: c.Filter}
	if b, ok := c.Filter.(expr.Bool); ok && bool(b) {
		p.filter = nil
	}
	return p, nil
}

func (p *pruner) manifest(*manifest.File) bool { return !never(p.filter) }

func (p *pruner) columns() []int { return nil }

func (p *pruner) residual(*meta.Spec, map[int]expr.Literal) (left expr.Expr, none bool) {
	return p.filter, never(p.filter)
}

func (p *pruner) file(filter expr.Expr, _ *manifest.Entry) (left expr.Expr, keep bool) {
	return filter, true
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
