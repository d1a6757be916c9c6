package iceberg

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/source/resolve"
)

// ScanSpec says what to read.
type ScanSpec struct {
	Columns       []string  // nil = all; "a.b" names a struct's field; metadata columns are allowed (ColumnFile, …)
	Filter        expr.Expr // need not be bound; nil = all rows
	Version       Version
	Limit         int64 // rows that are enough, 0 = all
	StopsEarly    bool  // the consumer may stop before the end
	CaseSensitive bool
	Zone          *time.Location // reads literals without a zone against columns with one, and the reverse; nil = UTC
	NoPrune       bool           // plan every file: same rows, other time
	Fetcher       Fetcher        // the scan's lane; nil = inline on the table's store
}

// nameMapping is the property that maps columns of files without field ids.
const nameMapping = "schema.name-mapping.default"

// Plan resolves version, columns and filter, and refuses what the table needs and lakescan lacks. It reads no manifest.
// Errors are *SelectError, *expr.BindError, *UnsupportedError, or of the classes of this package.
func (t *Table) Plan(ctx context.Context, s ScanSpec) (*Plan, error) {
	at, sel, err := t.Select(ctx, s.Version)
	if err != nil {
		return nil, err
	}
	cols, err := selectColumns(at.meta, sel.Schema, s.Columns, s.CaseSensitive)
	if err != nil {
		return nil, err
	}
	p := &Plan{table: at, selection: sel, spec: s, columns: cols}
	p.cfg = plan.Config{
		Table: at.meta, Snapshot: sel.Snapshot, Schema: sel.Schema, Columns: slices.Clone(cols.leaves), Limit: s.Limit, Lazy: s.StopsEarly,
		NoPrune: s.NoPrune, Fetcher: s.Fetcher, Cache: at.cache(),
	}
	if s.Filter != nil {
		if p.cfg.Filter, err = cols.bindFilter(s.Filter, sel.Schema, expr.BindOptions{CaseSensitive: s.CaseSensitive, Zone: s.Zone}); err != nil {
			return nil, err
		}
		for _, c := range expr.Columns(p.cfg.Filter) {
			if !slices.Contains(p.cfg.Columns, c.ID) {
				p.cfg.Columns = append(p.cfg.Columns, c.ID)
			}
		}
	}
	if p.defaults, err = defaults(at.meta, sel.Schema, p.cfg.Columns); err != nil {
		return nil, err
	}
	if text := at.meta.Properties[nameMapping]; text != "" {
		if p.cfg.Names, err = resolve.ParseNames([]byte(text)); err != nil {
			p.cfg.Names = resolve.UnreadableNames(err)
		}
	}
	if p.cfg.Fetcher == nil {
		p.cfg.Fetcher = inline{at.store}
	}
	return p, nil
}

// PlanAppended plans the rows that were appended after the snapshot from, up to the version that s names: if every snapshot
// between them is an append or a replacement, the files that the appends added. Otherwise it is ErrNotIncremental, here or
// as the first error of Tasks.
func (t *Table) PlanAppended(ctx context.Context, s ScanSpec, from int64) (*Plan, error) {
	t, err := t.WithAllSnapshots(ctx)
	if err != nil {
		return nil, err
	}
	p, err := t.Plan(ctx, s)
	if err != nil {
		return nil, err
	}
	if p.cfg.Snapshot == nil {
		return nil, fmt.Errorf("%w: the table has no snapshot", ErrNotIncremental)
	}
	p.cfg.Appends, err = plan.Between(t.meta, from, p.cfg.Snapshot.ID)
	return p, err
}

func (t *Table) cache() *plan.Cache {
	if t.catalog == nil {
		return nil
	}
	return t.catalog.cache
}

// Plan of one scan; immutable, and it may be ranged over more than once.
type Plan struct {
	table     *Table
	selection meta.Selection
	spec      ScanSpec
	columns   *columns
	cfg       plan.Config
	defaults  map[int]expr.Literal
	report    plan.Report
}

// Schema of the output, with field ids.
func (p *Plan) Schema() *arrow.Schema { return p.columns.output }

// Defaults are the initial defaults by field id, beyond those of the output's fields; not to be changed.
func (p *Plan) Defaults() map[int]expr.Literal { return p.defaults }

// Table is the table that is read: with all snapshots, if the version asked for needed them.
func (p *Plan) Table() *Table { return p.table }

// Snapshot that is read; nil = the table has none, and no rows.
func (p *Plan) Snapshot() *Snapshot { return p.selection.Snapshot }

// Filter is the bound filter, nil = none.
func (p *Plan) Filter() expr.Expr { return p.cfg.Filter }

// Tasks yields the data files to read, in the order of the manifests. It is lazy: ending the range ends planning and drops
// what is in flight. After an error nothing follows.
func (p *Plan) Tasks(ctx context.Context) iter.Seq2[source.Task, error] {
	return p.cfg.Tasks(ctx, &p.report)
}

// Counts are the figures of the ranges over Tasks so far.
func (p *Plan) Counts() PlanCounts { return p.report.Counts() }

// Explain says what a plan reads and skips, and by which evidence.
type Explain struct {
	Table         Ident
	MetadataFile  string // empty if the catalog did not tell
	MetadataHow   string // how it was found, for tables without a catalog
	FormatVersion int
	HasSnapshot   bool
	Snapshot      int64
	SnapshotTime  time.Time
	Ref           string // branch or tag; empty for a snapshot id or a time
	SchemaID      int
	Columns       []string
	TableColumns  int
	Filter        string   // as bound; empty = none
	NotPruning    []string // parts of the filter that cannot skip files
	Counts        PlanCounts
}

// Explain plans to the end, reads manifests only, and says what it found.
func (p *Plan) Explain(ctx context.Context) (Explain, error) {
	var report plan.Report
	for _, err := range p.cfg.Tasks(ctx, &report) {
		if err != nil {
			return Explain{}, err
		}
	}
	return p.explain(report.Counts()), nil
}

func (p *Plan) explain(c PlanCounts) Explain {
	m := p.table.meta
	e := Explain{
		Table: p.table.ident, MetadataFile: m.File, MetadataHow: m.How, FormatVersion: m.FormatVersion, Ref: p.selection.Ref,
		SchemaID: p.selection.Schema.ID, TableColumns: len(p.selection.Schema.Fields), Counts: c,
	}
	if s := p.selection.Snapshot; s != nil {
		e.HasSnapshot, e.Snapshot, e.SnapshotTime = true, s.ID, s.Time
	}
	for _, f := range p.columns.output.Fields() {
		e.Columns = append(e.Columns, f.Name)
	}
	if p.cfg.Filter != nil {
		e.Filter = p.cfg.Filter.String()
		for _, u := range p.cfg.Unused() {
			e.NotPruning = append(e.NotPruning, u.String())
		}
	}
	return e
}

// inline reads on the caller's goroutine when the bytes are awaited.
type inline struct{ store object.Store }

type inlinePending struct {
	store object.Store
	loc   object.Location
	r     object.Range
	o     object.ReadOptions
}

func (f inline) Fetch(_ context.Context, loc object.Location, r object.Range, o object.ReadOptions) object.Pending {
	return inlinePending{f.store, loc, r, o}
}

func (p inlinePending) Await(ctx context.Context) ([]byte, object.Info, error) {
	return p.store.Read(ctx, p.loc, p.r, nil, p.o)
}

func (inlinePending) Release() {}
