package iceberg

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/iceberg/prune"
	"github.com/lakescan/lakescan/source"
)

// ColumnMetrics is what a manifest says of one column of one file. Counts are -1 when it does not say. A bound is a limit of
// the values, not one of them: some writers cut it short, and none of them counts NULL or NaN. An unusable bound has a nil
// Value.
type ColumnMetrics struct {
	Values, Nulls, NaNs int64
	Lower, Upper        expr.Literal
}

// FileTask is a task with the metrics of some columns.
type FileTask struct {
	source.Task
	Columns []ColumnMetrics
}

// TasksWithMetrics is Tasks with the metrics of the columns of these field ids, for answers out of metadata.
func (p *Plan) TasksWithMetrics(ctx context.Context, columns []int) iter.Seq2[FileTask, error] {
	types := make([]arrow.DataType, len(columns)) // nil = the schema has no such column
	for i, id := range columns {
		if f, ok := p.selection.Schema.Field(id); ok {
			types[i] = f.Type.Arrow()
		}
	}
	return func(yield func(FileTask, error) bool) {
		for m, err := range p.cfg.Metered(ctx, columns, &p.report) {
			if !yield(fileTask(m, types), err) || err != nil {
				return
			}
		}
	}
}

// fileTask copies what the metrics only lend.
func fileTask(m plan.Metered, types []arrow.DataType) FileTask {
	out := FileTask{Task: m.Task, Columns: make([]ColumnMetrics, len(m.Metrics))}
	for i, metric := range m.Metrics {
		c := &out.Columns[i]
		c.Values, c.Nulls, c.NaNs = metric.Values, metric.Nulls, metric.NaNs
		if types[i] != nil {
			e := prune.FromMetric(types[i], metric, m.Rows)
			c.Lower, c.Upper = owned(e.Lower), owned(e.Upper)
		}
	}
	return out
}

func owned(l expr.Literal) expr.Literal {
	if b, ok := l.Value.([]byte); ok {
		l.Value = bytes.Clone(b)
	}
	return l
}

// CountOf is the number of a file's rows that its task selects, if metadata alone tells it exactly: no filter is left, and
// nothing but a deletion vector, whose cardinality is known, takes rows away.
func CountOf(t source.Task) (rows int64, ok bool) {
	d := t.Deletes
	if t.Filter != nil || len(d.Positions) > 0 || len(d.Equality) > 0 {
		return 0, false
	}
	if d.Vector != nil {
		return t.Rows - d.Vector.Cardinality, d.Vector.Cardinality >= 0 && d.Vector.Cardinality <= t.Rows
	}
	return t.Rows, true
}

// Count is the number of values of the i-th column that are not NULL, if metadata alone tells it exactly: value and null
// count are both there and fit the record count, no filter is left and no delete applies. An absent count is unknown, never 0; so
// is that of a table with a name mapping, which may leave a column out that the manifest counts.
func (f FileTask) Count(i int) (values int64, ok bool) {
	c := f.Columns[i]
	if f.Filter != nil || !f.Deletes.Empty() || f.Names != nil || c.Values != f.Rows || c.Nulls < 0 || c.Nulls > c.Values {
		return 0, false
	}
	return c.Values - c.Nulls, true
}

// OrderForMin sorts files so that the least value of the i-th column is met early: by lower bound, those without one first,
// as any of them may hold it. Read exact minima (of footers, or by decoding) from the front, and stop at the first file whose
// lower bound is not below the least value found. OrderForMax is the same for the greatest value and upper bounds.
func OrderForMin(files []FileTask, i int) {
	slices.SortStableFunc(files, func(a, b FileTask) int { return openFirst(a.Columns[i].Lower, b.Columns[i].Lower, 1) })
}

// OrderForMax sorts files so that the greatest value of the i-th column is met early; see OrderForMin.
func OrderForMax(files []FileTask, i int) {
	slices.SortStableFunc(files, func(a, b FileTask) int { return openFirst(a.Columns[i].Upper, b.Columns[i].Upper, -1) })
}

func openFirst(a, b expr.Literal, sign int) int {
	switch {
	case a.Value == nil && b.Value == nil:
		return 0
	case a.Value == nil:
		return -1
	case b.Value == nil:
		return 1
	}
	return sign * a.Compare(b)
}
