package iceberg

import (
	"context"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// LoadMetadata loads a table from the location of its metadata document (or a table's folder), without a catalog.
func LoadMetadata(ctx context.Context, cfg CatalogConfig, location string) (*Table, error) {
	c := &Catalog{cfg: cfg, close: func() error { return nil }} // no cache: nobody would close it
	return c.LoadLocation(ctx, location)
}

// SelectColumns narrows s to the names of a select list, by the rules of a table's scan: dots step into structs, a selected field of a struct gives the
// struct with that field alone, and several fields of one struct give one column. A name fits exactly, else in any case unless caseSensitive.
// Errors are *SelectError.
func SelectColumns(s *arrow.Schema, names []string, caseSensitive bool) (*arrow.Schema, error) {
	paths, tops := make([][]string, 0, len(names)), []string(nil)
	for _, name := range names {
		col, err := resolveName(name, s, caseSensitive)
		if err != nil {
			return nil, err
		}
		paths = append(paths, col.Path)
		if !slices.Contains(tops, col.Path[0]) {
			tops = append(tops, col.Path[0])
		}
	}
	fields := make([]arrow.Field, 0, len(tops))
	for _, top := range tops {
		f, _ := keepPaths(s.Field(s.FieldIndices(top)[0]), paths)
		fields = append(fields, f)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

// keepPaths leaves of a struct the fields that paths lead to, the field itself being their first step.
func keepPaths(f arrow.Field, paths [][]string) (arrow.Field, bool) {
	var below [][]string
	for _, p := range paths {
		switch {
		case p[0] != f.Name:
		case len(p) == 1:
			return f, true
		default:
			below = append(below, p[1:])
		}
	}
	st, ok := f.Type.(*arrow.StructType)
	if !ok || below == nil {
		return f, false
	}
	var left []arrow.Field
	for _, c := range st.Fields() {
		if c, ok := keepPaths(c, below); ok {
			left = append(left, c)
		}
	}
	f.Type = arrow.StructOf(left...)
	return f, true
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
