package lakescan

import (
	"context"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/source"
)

// relation is what can be scanned: a table at a version, or a list of plain files. It is immutable and may be scanned many times.
type relation interface {
	// plan chooses columns and files. f is the scan's lane; ctx bounds planning up to the first task.
	plan(ctx context.Context, o scanOptions, f object.Fetcher) (*planned, error)
	store() object.Store
	schema() *arrow.Schema
	link() string // what it is read over: scans of one name share what they have learnt of it; "" = nothing is known
}

// planned is one scan before its first data request.
type planned struct {
	schema   *arrow.Schema
	defaults map[int]expr.Literal
	tasks    func(context.Context) iter.Seq2[source.Task, error]
	explain  func(context.Context) (iceberg.Explain, error) // nil for plain files
	snapshot int64                                          // of the table; 0 = none
	limit    int64                                          // rows after which the scan may end; 0 = all
}

// relationNamed is the relation of a target as people write it.
func (c *Client) relationNamed(ctx context.Context, target string, v iceberg.Version) (relation, error) {
	t, err := c.parseTarget(target)
	if err != nil {
		return nil, err
	}
	return c.relation(ctx, t, v)
}

// relation loads a table (one request) or finds files (a listing for a glob, and the first file's footer).
func (c *Client) relation(ctx context.Context, t target, v iceberg.Version) (relation, error) {
	if t.path != "" && !t.isMetadata() {
		return c.openFiles(ctx, t.path, v)
	}
	table, err := c.loadTable(ctx, t)
	if err != nil {
		return nil, err
	}
	return newTableRelation(ctx, table, v)
}

// tableRelation is a table pinned to one snapshot.
type tableRelation struct {
	table   *iceberg.Table
	version iceberg.Version
	full    *arrow.Schema
}

func newTableRelation(ctx context.Context, t *iceberg.Table, v iceberg.Version) (*tableRelation, error) {
	t, v, err := t.Pin(ctx, v)
	if err != nil {
		return nil, err
	}
	s, err := t.Schema(v)
	if err != nil {
		return nil, err
	}
	return &tableRelation{table: t, version: v, full: s}, nil
}

func (r *tableRelation) store() object.Store   { return r.table.Store() }
func (r *tableRelation) link() string          { return linkOf(r.table.Metadata().Location) }
func (r *tableRelation) schema() *arrow.Schema { return r.full }

func (r *tableRelation) plan(ctx context.Context, o scanOptions, f object.Fetcher) (*planned, error) {
	p, err := r.table.Plan(ctx, r.spec(o, f))
	if err != nil {
		return nil, err
	}
	return &planned{schema: p.Schema(), defaults: p.Defaults(), tasks: p.Tasks, explain: p.Explain, snapshot: r.table.SnapshotAt(r.version), limit: o.limit}, nil
}

// spec is the plan of a scan with these options.
func (r *tableRelation) spec(o scanOptions, f object.Fetcher) iceberg.ScanSpec {
	return iceberg.ScanSpec{
		Columns: o.columns, Filter: o.filter, Version: r.version, Limit: o.limit, StopsEarly: o.stopsEarly || o.limit > 0, CaseSensitive: o.caseSensitive, Zone: o.zone, NoPrune: o.noPrune, Fetcher: f,
	}
}

// openScan is the one way to a reader, for Scan, Aggregate and SQL alike: lane → plan → source. The reader closes the lane.
func (c *Client) openScan(ctx context.Context, name string, r relation, o scanOptions) (_ *source.Reader, err error) {
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	ctx, release := c.scanContext(ctx)
	lane, depth := c.lane(name, r.link(), o)
	defer func() {
		if err != nil {
			if lane != nil {
				lane.Close()
			}
			release()
		}
	}()
	planning := time.Now()
	p, err := r.plan(ctx, o, source.NewFetcher(lane, r.store()))
	if err != nil {
		return nil, err
	}
	order := o.order
	if order == source.FileOrder {
		order = c.cfg.Order
	}
	var reader *source.Reader
	reader, err = source.Open(ctx, p.tasks(ctx), source.Config{
		Store: r.store(), Lane: lane, Budget: c.budget, Schema: p.schema, Table: r.schema(), Defaults: p.defaults, Depth: depth, Order: order,
		StopsEarly: o.stopsEarly || o.limit > 0, Limit: p.limit, BatchRows: o.batchRows, Streams: o.streams, KeepDeleted: o.keepDeleted, Strings: o.strings, Short: o.short,
		FilterHint: o.filterHint, NoPrune: o.noPrune, FooterTail: c.cfg.FooterTail, Allocator: c.buffers, Logger: c.cfg.Logger, OnEvent: c.cfg.OnEvent, Planned: time.Since(planning), Snapshot: p.snapshot,
		OnClose: func() { release(); c.scanned(reader) },
	})
	if err == nil {
		c.scanning(reader)
	}
	return reader, err
}

// linkOf is the bucket of a location: all of it lies behind one endpoint.
func linkOf(location string) string {
	loc, err := object.ParseLocation(location)
	if err != nil {
		return ""
	}
	return loc.Scheme + "://" + loc.Bucket
}

// lane is a scan's share of the pool; nil at depth 0, which fetches inline.
func (c *Client) lane(name, link string, o scanOptions) (*prefetchpool.Lane, source.Depth) {
	depth := o.depth
	if depth == source.Auto {
		depth = c.cfg.Depth
	}
	if depth == source.Off {
		return nil, depth
	}
	return c.pool.Lane(prefetchpool.LaneConfig{Name: name, Link: link, Weight: o.weight, Streams: max(o.streams, 1)}), depth
}

// scanContext ends with ctx and with the client. release must be called once the scan is over.
func (c *Client) scanContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}

func makeScanOptions(opts []ScanOption) scanOptions {
	var o scanOptions
	for _, set := range opts {
		set(&o)
	}
	return o
}

// Scan opens a target: "ns.table", "catalog.ns.table", quoted parts ("a.b".t), Parquet files by path or glob (s3://bucket/path/*.parquet, a
// local file), or the location of a *.metadata.json. ctx bounds the whole scan; the caller closes the reader.
func (c *Client) Scan(ctx context.Context, target string, opts ...ScanOption) (*source.Reader, error) {
	o := makeScanOptions(opts)
	r, err := c.relationNamed(ctx, target, o.version)
	if err != nil {
		return nil, err
	}
	return c.openScan(ctx, target, r, o)
}
