package iceberg

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
)

// LoadMetadata loads a table from the location of its metadata document (or a table's folder), without a catalog.
func LoadMetadata(ctx context.Context, cfg CatalogConfig, location string) (*Table, error) {
	c := &Catalog{cfg: cfg, close: func() error { return nil }} // no cache: nobody would close it
	return c.LoadLocation(ctx, location)
}

// FindColumn picks a column of s by its name (dots step into structs): exact, else a unique fold match unless caseSensitive;
// metadata columns are found if s holds them. Errors are *SelectError.
func FindColumn(s *arrow.Schema, name string, caseSensitive bool) (arrow.Field, error) {
	col, err := resolveName(name, s, caseSensitive)
	if err != nil {
		return arrow.Field{}, err
	}
	_, f, err := expr.ResolveColumn(col, s, expr.BindOptions{CaseSensitive: true})
	return f, err
}

// Pin resolves v, loading older snapshots if the table was loaded without them (at most one request). On the table returned,
// which is immutable, the version returned always means the same snapshot and schema.
func (t *Table) Pin(ctx context.Context, v Version) (*Table, Version, error) {
	at, _, err := t.Select(ctx, v)
	return at, v, err
}

// Schema of the table at v, with field ids.
func (t *Table) Schema(v Version) (*arrow.Schema, error) {
	sel, err := t.meta.Select(v)
	if err != nil {
		return nil, err
	}
	return sel.Schema.Arrow(), nil
}

// SnapshotAt is the id of the snapshot that v means; 0 = the table has none, or not that one.
func (t *Table) SnapshotAt(v Version) int64 {
	sel, err := t.meta.Select(v)
	if err != nil || sel.Snapshot == nil {
		return 0
	}
	return sel.Snapshot.ID
}

// RowEstimate is what the snapshot's summary says of its rows, for optimizers; -1 = unknown.
func (t *Table) RowEstimate(v Version) int64 {
	sel, err := t.meta.Select(v)
	if err != nil {
		return -1
	}
	if sel.Snapshot == nil {
		return 0
	}
	n, err := strconv.ParseInt(sel.Snapshot.Summary["total-records"], 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// CountRows counts from manifests and deletion vectors alone; exact = false means that only a scan knows: a file has position or
// equality deletes.
func (t *Table) CountRows(ctx context.Context, v Version, f Fetcher) (rows int64, exact bool, err error) {
	p, err := t.Plan(ctx, ScanSpec{Columns: []string{}, Version: v, Fetcher: f})
	if err != nil {
		return 0, false, err
	}
	for task, err := range p.Tasks(ctx) {
		if err != nil {
			return 0, false, err
		}
		d := task.Deletes
		if len(d.Positions) > 0 || len(d.Equality) > 0 {
			return 0, false, nil
		}
		rows += task.Rows
		if d.Vector != nil {
			rows -= d.Vector.Cardinality
		}
	}
	return rows, true, nil
}
