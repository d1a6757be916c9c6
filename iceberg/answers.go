package iceberg

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/iceberg/prune"
	"github.com/lakescan/lakescan/source"
)

// ColumnMetrics is what a manifest says of one column of one file. Counts are -1 when it does not say. The bounds are with the
// file: FileTask.Lower and Upper.
type ColumnMetrics struct {
	Values, Nulls, NaNs int64
	lower, upper        span
}

// span is a bound's place in FileTask.bounds.
type span struct{ from, to uint32 }

// absent is the place of a bound that is not there.
var absent = span{1, 0}

// FileTask is a task with the metrics of some columns.
type FileTask struct {
	source.Task
	Columns []ColumnMetrics

	bounds []byte           // of all columns, as the manifest has them: few of a plan's are ever looked at
	types  []arrow.DataType // of the columns, nil = not in the schema; shared by the plan's tasks
}

// Lower is the lower bound of the i-th column: a limit of the values, not one of them. Some writers cut it short, and none of them
// counts NULL or NaN. An unusable bound has a nil Value.
func (f FileTask) Lower(i int) expr.Literal { return f.evidence(i).Lower }

// Upper is the upper bound of the i-th column; see Lower.
func (f FileTask) Upper(i int) expr.Literal { return f.evidence(i).Upper }

func (f FileTask) evidence(i int) prune.Evidence {
	if i >= len(f.types) || f.types[i] == nil {
		return prune.Evidence{}
	}
	c := f.Columns[i]
	return prune.FromMetric(f.types[i], manifest.Metric{Values: c.Values, Nulls: c.Nulls, NaNs: c.NaNs, Lower: f.bound(c.lower), Upper: f.bound(c.upper)}, f.Rows)
}

func (f FileTask) bound(s span) []byte {
	if s == absent {
		return nil
	}
	return f.bounds[s.from:s.to:s.to]
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
	out := FileTask{Task: m.Task, Columns: make([]ColumnMetrics, len(m.Metrics)), types: types}
	size := 0
	for i := range m.Metrics {
		size += len(m.Metrics[i].Lower) + len(m.Metrics[i].Upper)
	}
	if size > math.MaxUint32 {
		size = 0 // no bound is then kept
	}
	out.bounds = make([]byte, 0, size)
	for i := range m.Metrics {
		from, to := &m.Metrics[i], &out.Columns[i]
		to.Values, to.Nulls, to.NaNs = from.Values, from.Nulls, from.NaNs
		to.lower, to.upper = out.keep(from.Lower), out.keep(from.Upper)
	}
	return out
}

func (f *FileTask) keep(bound []byte) span {
	n := len(f.bounds)
	if bound == nil || n+len(bound) > cap(f.bounds) {
		return absent
	}
	f.bounds = append(f.bounds, bound...)
	return span{uint32(n), uint32(n + len(bound))}
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
	order(files, func(f FileTask) expr.Literal { return f.Lower(i) }, 1)
}

// OrderForMax sorts files so that the greatest value of the i-th column is met early; see OrderForMin.
func OrderForMax(files []FileTask, i int) {
	order(files, func(f FileTask) expr.Literal { return f.Upper(i) }, -1)
}

func order(files []FileTask, bound func(FileTask) expr.Literal, sign int) {
	type keyed struct {
		file  FileTask
		bound expr.Literal
	}
	sorted := make([]keyed, len(files))
	for i, f := range files {
		sorted[i] = keyed{f, bound(f)}
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int { return openFirst(a.bound, b.bound, sign) })
	for i := range sorted {
		files[i] = sorted[i].file
	}
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
