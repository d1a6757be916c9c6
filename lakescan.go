package lakescan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/parquet/pool"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb"
	"github.com/lakescan/lakescan/source"
)

// ErrClosed answers every call after Close.
var ErrClosed = errors.New("lakescan: client closed")

// Client holds what all scans of a process share: budget, pool, connections, catalogs. It is safe for concurrent use.
type Client struct {
	cfg       Config
	budget    *memory.Budget
	prefetch  *memory.Elastic
	pool      *prefetchpool.Pool
	idle      *memory.Elastic // of buffers
	buffers   *pool.Pool      // of decoded batches, used again and again
	meter     *object.Meter
	transport *http.Transport  // of stores
	metadata  *http.Transport  // of catalogs: the same TLS and proxy, an idle pool of its own
	store     object.Store     // of paths outside of any table
	disk      *diskcache.Cache // nil = off
	engine    query.Engine
	noEngine  error // why engine is nil

	ctx    context.Context // of the client's life; scans end with it
	cancel context.CancelCauseFunc

	mu struct {
		sync.Mutex
		catalogs map[string]*catalog
		caches   []knownCache                // one a table; emptied by Close
		scans    map[*source.Reader]struct{} // open
		done     ScanTotals                  // of those that are closed
	}
}

// catalog is opened once, by whoever needs it first; a failed opening is tried again by the next.
type catalog struct {
	name string
	cfg  iceberg.CatalogConfig
	mu   struct {
		sync.Mutex // held over Open: a second caller wants the same answer, not a second request
		*iceberg.Catalog
	}
}

// mostIdle bounds the freed buffers that are kept for the next batches, on top of a sixteenth of the budget.
const mostIdle = 64 << 20

// Open makes budget, pool, connections and engine. Catalogs are opened at first use, so a client for plain files makes no request.
func Open(ctx context.Context, cfg Config) (_ *Client, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, meter: object.NewMeter(cfg.OnStore)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.budget, err = memory.New(memory.Config{Limit: cfg.Memory, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	limit := cfg.Memory
	if limit == 0 {
		limit = memory.DefaultLimit()
	}
	share := cfg.PoolMemory
	if share == 0 {
		share = max(limit/4, 1)
	}
	c.prefetch = c.budget.Elastic(memory.Prefetch, share)
	if c.pool, err = prefetchpool.New(prefetchpool.Config{Slots: cfg.PoolSlots, MaxBytes: share, Meter: c.prefetch}); err != nil {
		return nil, err
	}
	c.idle = c.budget.Elastic(memory.Decoded, 0).Named("idle buffers")
	c.buffers = pool.New(nil, min(limit/16, mostIdle), c.idle)
	tc := cfg.S3.Transport
	if tc.MaxConns == 0 && cfg.PoolSlots > 0 {
		tc.MaxConns = cfg.PoolSlots + cfg.PoolSlots/2 // head requests and hedges come on top of the slots
	}
	if c.transport, err = tc.New(); err != nil {
		return nil, err
	}
	if c.metadata, err = cfg.S3.Transport.New(); err != nil {
		return nil, err
	}
	if cfg.Cache.Dir != "" && !cfg.NoCache {
		if cfg.Cache.Logger == nil {
			cfg.Cache.Logger = cfg.Logger
		}
		if c.disk, err = diskcache.Open(cfg.Cache); err != nil {
			return nil, err
		}
	}
	if c.store, err = c.newStore(nil); err != nil {
		return nil, err
	}
	c.engine, c.noEngine = duckdb.New(duckdb.EngineConfig{
		Budget: c.budget, MemoryShare: limit * 2 / 5, Threads: cfg.Threads, SpillDir: cfg.SpillDir, Logger: cfg.Logger,
	})
	if c.noEngine != nil && !errors.Is(c.noEngine, query.ErrNoEngine) {
		return nil, c.noEngine
	}
	c.mu.catalogs = map[string]*catalog{cfg.catalogName(): {name: cfg.catalogName(), cfg: cfg.Catalog}}
	for name, cc := range cfg.Catalogs {
		c.mu.catalogs[name] = &catalog{name: name, cfg: cc}
	}
	return c, nil
}

// Close ends the scans and statements that still run and joins what the client started; their readers must be closed all the same. It is
// idempotent. An error names who still holds memory of the budget: a batch that was retained and not released, a reader left open.
func (c *Client) Close() error {
	c.cancel(ErrClosed)
	var errs []error
	if c.engine != nil {
		errs = append(errs, c.engine.Close())
	}
	if c.pool != nil {
		errs = append(errs, c.pool.Close())
	}
	c.mu.Lock()
	catalogs, caches := c.mu.catalogs, c.mu.caches
	c.mu.catalogs, c.mu.caches = nil, nil
	c.mu.Unlock()
	for _, k := range catalogs {
		k.mu.Lock()
		if k.mu.Catalog != nil {
			errs = append(errs, k.mu.Catalog.Close())
		}
		k.mu.Unlock()
	}
	c.purge(caches)
	for _, t := range []*http.Transport{c.transport, c.metadata} {
		if t != nil {
			t.CloseIdleConnections()
		}
	}
	if closer, ok := c.store.(interface{ Close() error }); ok {
		errs = append(errs, closer.Close())
	}
	if c.prefetch != nil {
		c.prefetch.Close()
	}
	if c.buffers != nil {
		c.buffers.Close()
		c.idle.Close()
	}
	if c.budget != nil {
		errs = append(errs, c.budget.Close())
	}
	return errors.Join(errs...)
}

// Budget is the process's memory budget, for index and projection.
func (c *Client) Budget() *memory.Budget { return c.budget }

// Pool is the shared prefetch pool.
func (c *Client) Pool() *prefetchpool.Pool { return c.pool }

// Requests counts every request that the client sent to a store so far.
func (c *Client) Requests() object.Stats { return c.meter.Stats() }

// DiskCache tells what the cache on disk did; zero when there is none.
func (c *Client) DiskCache() diskcache.Stats {
	if c.disk == nil {
		return diskcache.Stats{}
	}
	return c.disk.Stats()
}

// Engine is the name and version of the SQL engine; "none" in a build without one.
func (c *Client) Engine() string {
	if c.engine == nil {
		return "none"
	}
	return c.engine.Name()
}

// open returns a catalog by name ("" = the default one), opened.
func (c *Client) open(ctx context.Context, name string) (*iceberg.Catalog, error) {
	if name == "" {
		name = c.cfg.catalogName()
	}
	c.mu.Lock()
	k, closed := c.mu.catalogs[name], c.mu.catalogs == nil
	c.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case k == nil:
		return nil, &UnknownCatalogError{Name: name, Known: c.catalogNames()}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.Catalog != nil {
		return k.mu.Catalog, nil
	}
	cfg := k.cfg
	cfg.Budget, cfg.NewStore = c.budget, c.newStore
	cfg.OwnS3Keys = cfg.OwnS3Keys || c.cfg.S3.Access.HasKeys()
	if cfg.Transport == nil {
		cfg.Transport = c.metadata
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = c.cfg.attempts()
	}
	if cfg.Logger == nil {
		cfg.Logger = c.cfg.Logger
	}
	cat, err := iceberg.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", name, err)
	}
	k.mu.Catalog = cat
	return cat, nil
}

// Table loads a table by name: one request, no listing.
func (c *Client) Table(ctx context.Context, target string) (*iceberg.Table, error) {
	t, err := c.parseTarget(target)
	if err != nil {
		return nil, err
	}
	return c.loadTable(ctx, t)
}

// Columns is the current schema of a table, or that of plain files: one request for a table, a listing and a footer for files.
func (c *Client) Columns(ctx context.Context, target string) (*arrow.Schema, error) {
	r, err := c.relationNamed(ctx, target, iceberg.Version{})
	if err != nil {
		return nil, err
	}
	return r.schema(), nil
}

// Tables lists a namespace of a catalog ("" = the default one), lazily.
func (c *Client) Tables(ctx context.Context, catalog string, namespace []string) iter.Seq2[iceberg.Ident, error] {
	return func(yield func(iceberg.Ident, error) bool) {
		cat, err := c.open(ctx, catalog)
		if err != nil {
			yield(iceberg.Ident{}, err)
			return
		}
		cat.Tables(ctx, namespace)(yield)
	}
}

// Namespaces lists the children of a namespace (nil = the top level), lazily.
func (c *Client) Namespaces(ctx context.Context, catalog string, parent []string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		cat, err := c.open(ctx, catalog)
		if err != nil {
			yield(nil, err)
			return
		}
		cat.Namespaces(ctx, parent)(yield)
	}
}
