package lakescan

import (
	"context"
	"slices"
	"strings"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/source"
)

// Explanation says what one scan reads and skips, out of metadata alone.
type Explanation struct {
	Target  string
	Columns []string         // of the output
	Filter  string           // as given; "" = none
	Unused  []string         // conditions of SQL that reach neither planning nor the scan
	Table   *iceberg.Explain // nil = plain files
	Files   int              // data files that a scan opens
	Bytes   int64            // their sizes, as far as known
	Limit   int64            // 0 = none
	Count   bool             // only the number of rows is wanted: answered from metadata where that is exact
	Depth   source.Depth
	Order   source.Order
}

// ExplainScan plans a scan to its end and says what it would read. It reads metadata and, of plain files, the first footer; no
// other part of a data file.
func (c *Client) ExplainScan(ctx context.Context, target string, opts ...ScanOption) (*Explanation, error) {
	o := makeScanOptions(opts)
	r, err := c.relationNamed(ctx, target, o.version)
	if err != nil {
		return nil, err
	}
	return c.explain(ctx, target, r, o)
}

func (c *Client) explain(ctx context.Context, target string, r relation, o scanOptions) (*Explanation, error) {
	ctx, release := c.scanContext(ctx)
	defer release()
	lane, depth := c.lane(target, r.link(), o)
	if lane != nil {
		defer lane.Close()
	}
	p, err := r.plan(ctx, o, source.NewFetcher(lane, r.store()))
	if err != nil {
		return nil, err
	}
	e := &Explanation{Target: target, Limit: o.limit, Depth: depth, Order: max(o.order, c.cfg.Order)}
	for _, f := range p.schema.Fields() {
		e.Columns = append(e.Columns, f.Name)
	}
	if o.filter != nil {
		e.Filter = o.filter.String()
	}
	if p.explain != nil {
		x, err := p.explain(ctx)
		if err != nil {
			return nil, err
		}
		e.Table, e.Files, e.Bytes = &x, x.Counts.Tasks, x.Counts.TaskBytes
		return e, nil
	}
	for task, err := range p.tasks(ctx) {
		if err != nil {
			return nil, err
		}
		e.Files++
		e.Bytes += max(task.File.Size, 0)
	}
	return e, nil
}

// QueryExplanation is the plan of one statement.
type QueryExplanation struct {
	References []*Explanation // of tables, in the order of the text
	Engine     string
	Plan       string // the engine's own tree, for people
}

// ExplainQuery plans a statement and, for each of its table references, the scan that the engine would ask for.
func (c *Client) ExplainQuery(ctx context.Context, sql string, opts ...QueryOption) (*QueryExplanation, error) {
	p, err := c.Prepare(ctx, sql, opts...)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := &QueryExplanation{Engine: c.Engine(), Plan: p.PlanText()}
	for _, ref := range p.References() {
		e, err := c.explainReference(ctx, ref)
		if err != nil {
			return nil, err
		}
		out.References = append(out.References, e)
	}
	return out, nil
}

func (c *Client) explainReference(ctx context.Context, ref query.Reference) (*Explanation, error) {
	name := strings.Join(ref.Name, ".")
	t, ok := ref.Table.(*sqlTable)
	if !ok {
		return &Explanation{Target: name, Unused: slices.Clone(ref.Unused)}, nil
	}
	e, err := c.explain(ctx, name, t.relation, t.options(ref.Need))
	if err != nil {
		return nil, err
	}
	e.Unused, e.Count = slices.Clone(ref.Unused), ref.Need.RowsOnly
	return e, nil
}
