package lakescan

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// maxUndecided bounds the files that wait for a scan while manifests are read: beyond it the whole table is scanned.
const maxUndecided = 10_000

// metadataAnswer answers aggregates of a table file by file. A count is exact where record, value and null counts are and no filter is left
// in the file. Bounds are limits of the values, not values: they tell which files cannot hold the least or the greatest one, and
// the others are scanned, the most promising first.
type metadataAnswer struct {
	client *Client
	name   string
	of     *tableRelation
	scan   scanOptions
	into   []accumulator
	places []int          // of each aggregate's column among the metrics; -1 = count(*)
	sure   []expr.Literal // by aggregate: some row's value is at least as good as this; nil Value = none is known
	result *AggregateResult
}

// answerable says which columns of the aggregates have metrics that can be trusted: those of one value a row.
func answerable(accumulators []accumulator) (ids, places []int, ok bool) {
	for i := range accumulators {
		a := &accumulators[i]
		if a.column < 0 {
			places = append(places, -1)
			continue
		}
		if a.fieldID < 0 {
			return nil, nil, false
		}
		at := slices.Index(ids, a.fieldID)
		if at < 0 {
			at, ids = len(ids), append(ids, a.fieldID)
		}
		places = append(places, at)
	}
	return ids, places, true
}

// aggregateByFile is nil, nil if a scan of everything is the better way.
func (c *Client) aggregateByFile(ctx context.Context, name string, r relation, accumulators []accumulator, o scanOptions) (*AggregateResult, error) {
	table, isTable := r.(*tableRelation)
	ids, places, ok := answerable(accumulators)
	if !isTable || !ok || o.limit != 0 || o.noMetadata || o.noPrune || o.keepDeleted {
		return nil, nil
	}
	m := &metadataAnswer{
		client: c, name: name, of: table, scan: o, into: slices.Clone(accumulators), places: places, sure: make([]expr.Literal, len(accumulators)),
		result: &AggregateResult{FromMetadata: true},
	}
	files, p, err := m.plan(ctx, ids)
	if err != nil || p == nil {
		return nil, err
	}
	for pass := 0; ; pass++ {
		files = m.settle(files)
		if len(files) == 0 {
			break
		}
		now, later := files, []iceberg.FileTask(nil)
		if pass == 0 {
			now, later = m.promising(files)
		}
		if err := m.read(ctx, p, now); err != nil {
			return nil, err
		}
		files = later
	}
	for i := range m.into {
		m.result.Values = append(m.result.Values, m.into[i].value())
	}
	return m.result, nil
}

// plan reads the manifests: files that metadata decides are counted at once, the others kept. A nil plan says that there are too many.
func (m *metadataAnswer) plan(ctx context.Context, ids []int) ([]iceberg.FileTask, *planned, error) {
	if m.client.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	ctx, release := m.client.scanContext(ctx)
	defer release()
	lane, _ := m.client.lane(m.name, m.of.link(), m.scan)
	if lane != nil {
		defer lane.Close()
	}
	p, err := m.of.table.Plan(ctx, m.of.spec(m.scan, source.NewFetcher(lane, m.of.store())))
	if err != nil {
		return nil, nil, err
	}
	var open []iceberg.FileTask
	for f, err := range p.TasksWithMetrics(ctx, ids) {
		if err != nil {
			return nil, nil, err
		}
		m.learn(f)
		open = append(open, m.settle([]iceberg.FileTask{f})...)
		if len(open) >= maxUndecided { // a bound that came later may have settled some
			if open = m.settle(open); len(open) > maxUndecided/2 {
				return nil, nil, nil
			}
		}
	}
	return open, &planned{schema: p.Schema(), defaults: p.Defaults(), snapshot: m.of.table.SnapshotAt(m.of.version)}, nil
}

// learn takes what a file promises: of a file with a value and without filter and deletes, the least is at most its upper bound.
func (m *metadataAnswer) learn(f iceberg.FileTask) {
	for i := range m.into {
		a := &m.into[i]
		if a.Func == "count" {
			continue
		}
		c := f.Columns[m.places[i]]
		if n, ok := f.Count(m.places[i]); !ok || n == 0 || floating(a.kind) && c.NaNs != 0 {
			continue
		}
		bound := f.Upper
		if a.Func == "max" {
			bound = f.Lower
		}
		if b := bound(m.places[i]); usable(b, a.kind) && (m.sure[i].Value == nil || a.better(b, m.sure[i]) > 0) {
			m.sure[i] = b
		}
	}
}

func floating(t arrow.DataType) bool { return arrow.IsFloating(t.ID()) }

func usable(l expr.Literal, kind arrow.DataType) bool {
	return l.Value != nil && arrow.TypeEqual(l.Type, kind)
}

// better compares two values as answers: above 0 if x is the better one.
func (a *accumulator) better(x, y expr.Literal) int {
	if a.Func == "min" {
		return y.Compare(x)
	}
	return x.Compare(y)
}

// settle counts the files that are decided, and returns the others.
func (m *metadataAnswer) settle(files []iceberg.FileTask) []iceberg.FileTask {
	counts := make([]int64, len(m.into))
	return slices.DeleteFunc(files, func(f iceberg.FileTask) bool {
		for i := range m.into {
			n, ok := m.decided(i, f)
			if !ok {
				return false
			}
			counts[i] = n
		}
		for i := range m.into {
			m.into[i].count += counts[i]
		}
		return true
	})
}

// decided reports whether the file needs no scan for the i-th aggregate, and what it adds to a count.
func (m *metadataAnswer) decided(i int, f iceberg.FileTask) (count int64, ok bool) {
	a, place := &m.into[i], m.places[i]
	if place < 0 {
		return iceberg.CountOf(f.Task)
	}
	if a.Func == "count" {
		return f.Count(place)
	}
	if f.Names != nil {
		return 0, false // the column may be another one in the file
	}
	c := f.Columns[place]
	if c.Values == f.Rows && c.Nulls == c.Values {
		return 0, true // nothing but NULL
	}
	side := f.Lower
	if a.Func == "max" {
		if side = f.Upper; floating(a.kind) && c.NaNs != 0 {
			return 0, false // NaN is above every bound
		}
	}
	bound := side(place)
	if !usable(bound, a.kind) {
		return 0, false
	}
	if !a.best.IsNull() && a.better(bound, a.best) <= 0 {
		return 0, true
	}
	return 0, m.sure[i].Value != nil && a.better(bound, m.sure[i]) < 0
}

// promising picks the file that each least or greatest value is most likely in; the counts of the others need them scanned anyway.
func (m *metadataAnswer) promising(files []iceberg.FileTask) (now, later []iceberg.FileTask) {
	first := map[int]bool{} // by ordinal
	for i := range m.into {
		if m.into[i].Func == "count" {
			continue
		}
		order := slices.Clone(files)
		if m.into[i].Func == "min" {
			iceberg.OrderForMin(order, m.places[i])
		} else {
			iceberg.OrderForMax(order, m.places[i])
		}
		first[order[0].Ordinal] = true
	}
	if len(first) == 0 {
		return files, nil
	}
	for _, f := range files {
		if first[f.Ordinal] {
			now = append(now, f)
		} else {
			later = append(later, f)
		}
	}
	return now, later
}

// read scans files in the order of the table.
func (m *metadataAnswer) read(ctx context.Context, p *planned, files []iceberg.FileTask) error {
	m.result.FromMetadata = false
	slices.SortFunc(files, func(a, b iceberg.FileTask) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	chosen := *p
	chosen.tasks = func(context.Context) iter.Seq2[source.Task, error] {
		return func(yield func(source.Task, error) bool) {
			for i, f := range files {
				f.Ordinal = i
				if !yield(f.Task, nil) {
					return
				}
			}
		}
	}
	reader, err := m.client.openScan(ctx, m.name, chosenFiles{m.of, &chosen}, m.scan)
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := fold(reader, m.into); err != nil {
		return err
	}
	m.result.Stats = m.result.Stats.Add(reader.Stats())
	return nil
}

// chosenFiles is a table of which only some files are scanned.
type chosenFiles struct {
	relation
	files *planned
}

func (r chosenFiles) plan(context.Context, scanOptions, object.Fetcher) (*planned, error) {
	return r.files, nil
}
