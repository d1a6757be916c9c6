package lakescan

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/source"
)

// Query runs one SELECT; query.ErrNoEngine in a build without an engine. ctx bounds the whole result, which the caller closes.
func (c *Client) Query(ctx context.Context, sql string, opts ...QueryOption) (*query.Result, error) {
	ctx, release := c.scanContext(ctx)
	p, tables, err := c.prepare(ctx, sql, opts)
	if err != nil {
		release()
		return nil, err
	}
	r, err := p.Run(ctx)
	if err != nil {
		p.Close()
		release()
		return nil, err
	}
	r.OnClose(release)
	r.SetScan(tables.stats)
	return r, nil
}

// Prepare plans one SELECT: what each table reference will ask of its scan, and the engine's own plan. It opens no data file. The caller closes it.
func (c *Client) Prepare(ctx context.Context, sql string, opts ...QueryOption) (query.Prepared, error) {
	p, _, err := c.prepare(ctx, sql, opts)
	return p, err
}

func (c *Client) prepare(ctx context.Context, sql string, opts []QueryOption) (query.Prepared, *statementTables, error) {
	if c.engine == nil {
		return nil, nil, c.noEngine
	}
	o := queryOptions{statement: query.Statement{Order: c.cfg.Order}}
	for _, set := range opts {
		set(&o)
	}
	o.statement.SQL = sql
	scan := makeScanOptions(o.scan)
	scan.noPrune = scan.noPrune || o.noPrune
	tables := &statementTables{client: c, scan: scan}
	p, err := c.engine.Prepare(ctx, o.statement, tables)
	return p, tables, err
}

// statementTables finds the tables of one statement; a name at a version is loaded once, so every reference sees one snapshot.
type statementTables struct {
	client *Client
	scan   scanOptions
	mu     struct {
		sync.Mutex
		loaded map[string]*loading
		scans  []*source.Reader
	}
}

// stats sums up the scans that the statement has opened so far.
func (t *statementTables) stats() (sum source.Stats) {
	t.mu.Lock()
	scans := t.mu.scans
	t.mu.Unlock()
	for _, r := range scans {
		sum = sum.Add(r.Stats())
	}
	return sum
}

// loading is one flight: whoever comes second waits for the first.
type loading struct {
	once  sync.Once
	table *sqlTable
	err   error
}

func (t *statementTables) Load(ctx context.Context, name []string, v iceberg.Version) (query.Table, error) {
	key := strings.Join(name, "\x00") + "\x00" + fmt.Sprint(v.Snapshot, v.Ref, v.AsOf.UnixNano())
	t.mu.Lock()
	if t.mu.loaded == nil {
		t.mu.loaded = map[string]*loading{}
	}
	l := t.mu.loaded[key]
	if l == nil {
		l = &loading{}
		t.mu.loaded[key] = l
	}
	t.mu.Unlock()
	l.once.Do(func() {
		var r relation
		if r, l.err = t.client.relation(ctx, t.client.nameTarget(name), v); l.err == nil {
			l.table = &sqlTable{of: t, client: t.client, name: strings.Join(name, "."), relation: r, scan: t.scan}
		}
	})
	if l.err != nil {
		return nil, l.err
	}
	return l.table, nil
}

// sqlTable is a relation as an engine sees it.
type sqlTable struct {
	of       *statementTables // nil outside of a statement
	client   *Client
	name     string
	relation relation
	scan     scanOptions
}

func (t *sqlTable) Schema() *arrow.Schema { return t.relation.schema() }

// Rows is what the snapshot's summary says, or an estimate of plain files, for the optimizer alone.
func (t *sqlTable) Rows() int64 {
	if r, ok := t.relation.(*tableRelation); ok {
		return r.table.RowEstimate(r.version)
	}
	if r, ok := t.relation.(*fileRelation); ok {
		return r.rows
	}
	return -1
}

func (t *sqlTable) Open(ctx context.Context, n query.Need) (query.Reader, error) {
	r, err := t.client.openScan(ctx, t.name, t.relation, t.options(n))
	if err != nil {
		return nil, err
	}
	t.of.mu.Lock()
	t.of.mu.scans = append(t.of.mu.scans, r)
	t.of.mu.Unlock()
	return r, nil
}

// options is the scan that a need asks for.
func (t *sqlTable) options(n query.Need) scanOptions {
	o := t.scan
	o.strings, o.short = source.StringsPlain, true
	o.columns, o.filter, o.limit, o.stopsEarly = n.Columns, n.Filter, n.Limit, n.StopsEarly
	o.filterHint = o.limit == 0 // a limit counts rows that pass
	if o.columns == nil {
		o.columns = []string{} // no column at all, where nil means every one
	}
	return o
}

func (t *sqlTable) Count(ctx context.Context) (int64, bool, error) {
	r, ok := t.relation.(*tableRelation)
	if !ok || t.scan.noMetadata {
		return 0, false, nil
	}
	return r.table.CountRows(ctx, r.version, nil)
}
