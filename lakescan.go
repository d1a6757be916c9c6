package lakescan

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/source"
)

// Config of a Client. The zero value works for local files; Validate (called by Open) reports all faults at once.
type Config struct {
	Catalog     iceberg.CatalogConfig            // the default catalog; NewStore and Budget are filled by Open
	CatalogName string                           // name of the default catalog, "default" if empty
	Catalogs    map[string]iceberg.CatalogConfig // by name, opened at first use
	S3          S3Config                         // explicit settings beat what a catalog vends
	Map         []object.Mapping                 // recorded prefixes rewritten when a location is opened
	Prefetch    prefetchpool.Config              // zero = 128 slots, a quarter of Memory
	Depth       source.Depth                     // max-files-to-prefetch; zero = auto
	Order       source.Order
	Memory      int64         // bytes; 0 = half of min(cgroup limit, GOMEMLIMIT, RAM)
	Retries     int           // attempts after the first; 0 = 4, negative = none
	HedgeAfter  time.Duration // 0 = auto, negative = off
	FooterTail  int64         // bytes; 0 = auto
	NoCache     bool          // no footer or range cache in memory
	SpillDir    string        // for SQL; empty = the system's temporary folder
	Logger      *slog.Logger
	OnEvent     func(source.Event)
}

// S3Config is what the user says of the store; an empty field asks the level below (catalog, environment of the caller's making).
type S3Config struct {
	Access    object.Access      // explicit endpoint, region, keys, style
	Fallback  object.Credentials // asked last, e.g. the shared AWS configuration; nil = none
	CAFile    string
	CertFile  string
	KeyFile   string
	ProxyURL  string
	MaxConns  int // per host; 0 = from the pool's slots
	UserAgent string
}

// Client is safe for concurrent use.
type Client struct{ _ int }

// Open makes budget, pool and engine, and opens the default catalog if it has a URI (one request).
func Open(ctx context.Context, cfg Config) (*Client, error) { panic("lakescan") }

// Close joins everything the client started; scans still open are closed.
func (c *Client) Close() error { panic("lakescan") }

// Scan opens a target: "ns.table", "catalog.ns.table", quoted parts ("a.b".t), a Parquet path or glob
// (s3://bucket/path/*.parquet, a local file), or a *.metadata.json location.
func (c *Client) Scan(ctx context.Context, target string, opts ...ScanOption) (*source.Reader, error) {
	panic("lakescan")
}

// ExplainScan plans and says what would be read; it opens no data file.
func (c *Client) ExplainScan(ctx context.Context, target string, opts ...ScanOption) (*Explanation, error) {
	panic("lakescan")
}

// Aggregate answers count(*), count(c), min(c), max(c) from metadata where that is exact, else by a scan.
func (c *Client) Aggregate(ctx context.Context, target string, aggs []Aggregate, opts ...ScanOption) (*AggregateResult, error) {
	panic("lakescan")
}

// Query runs one SELECT. query.ErrNoEngine in a build without an engine.
func (c *Client) Query(ctx context.Context, sql string, opts ...QueryOption) (*query.Result, error) {
	panic("lakescan")
}

// Prepare plans one SELECT for Explain; the caller closes it.
func (c *Client) Prepare(ctx context.Context, sql string, opts ...QueryOption) (query.Prepared, error) {
	panic("lakescan")
}

// Table loads a table by name: one request, no listing.
func (c *Client) Table(ctx context.Context, target string) (*iceberg.Table, error) { panic("lakescan") }

// Tables lists a namespace, lazily; an empty namespace lists those of the top level.
func (c *Client) Tables(ctx context.Context, catalog string, namespace []string) iter.Seq2[iceberg.Ident, error] {
	panic("lakescan")
}

// Namespaces lists the children of a namespace, lazily.
func (c *Client) Namespaces(ctx context.Context, catalog string, parent []string) iter.Seq2[[]string, error] {
	panic("lakescan")
}

// Budget is the process's memory budget, for index and projection.
func (c *Client) Budget() *memory.Budget { panic("lakescan") }

// Pool is the shared prefetch pool.
func (c *Client) Pool() *prefetchpool.Pool { panic("lakescan") }

// ScanOption steers one scan.
type ScanOption func(*scanOptions)

type scanOptions struct {
	columns       []string
	filter        expr.Expr
	limit         int64
	version       iceberg.Version
	order         *source.Order
	depth         *source.Depth
	streams       int
	batchRows     int
	caseSensitive bool
	noPrune       bool
	noMetadata    bool
	stopsEarly    bool
	keepDeleted   bool
}

// Columns selects output columns, in this order; "a.b" names a struct's field, metadata columns (_file, _pos, …) are allowed.
func Columns(names ...string) ScanOption { return func(o *scanOptions) { o.columns = names } }

// Where keeps the rows for which e is true; e need not be bound.
func Where(e expr.Expr) ScanOption { return func(o *scanOptions) { o.filter = e } }

// Limit ends the scan after n rows; planning, reading and decoding stop too.
func Limit(n int64) ScanOption { return func(o *scanOptions) { o.limit = n } }

// AtSnapshot, AsOf and AtRef exclude each other.
func AtSnapshot(id int64) ScanOption { return func(o *scanOptions) { o.version.Snapshot = id } }

// AsOf reads the snapshot that was current at t.
func AsOf(t time.Time) ScanOption { return func(o *scanOptions) { o.version.AsOf = t } }

// AtRef reads a branch (with the table's current schema) or a tag (with its snapshot's).
func AtRef(name string) ScanOption { return func(o *scanOptions) { o.version.Ref = name } }

// OrderBy sets source.FileOrder or source.ArrivalOrder for this scan.
func OrderBy(order source.Order) ScanOption { return func(o *scanOptions) { o.order = &order } }

// MaxFilesToPrefetch sets the look-ahead depth of this scan.
func MaxFilesToPrefetch(d source.Depth) ScanOption { return func(o *scanOptions) { o.depth = &d } }

// Streams is the number of concurrent consumers that Feed drives.
func Streams(n int) ScanOption { return func(o *scanOptions) { o.streams = n } }

// BatchRows caps the rows of a batch; 0 = 65,536.
func BatchRows(n int) ScanOption { return func(o *scanOptions) { o.batchRows = n } }

// CaseSensitive matches names exactly; otherwise exact first, then a unique fold.
func CaseSensitive() ScanOption { return func(o *scanOptions) { o.caseSensitive = true } }

// NoPrune reads every file and row group: same rows, other time.
func NoPrune() ScanOption { return func(o *scanOptions) { o.noPrune = true } }

// NoMetadataAnswers makes Aggregate scan.
func NoMetadataAnswers() ScanOption { return func(o *scanOptions) { o.noMetadata = true } }

// StopsEarly says that the consumer may stop before the end: look-ahead starts at one file.
func StopsEarly() ScanOption { return func(o *scanOptions) { o.stopsEarly = true } }

// KeepDeleted delivers deleted rows too, marked in Batch.Deleted.
func KeepDeleted() ScanOption { return func(o *scanOptions) { o.keepDeleted = true } }

// QueryOption steers one statement.
type QueryOption func(*queryOptions)

type queryOptions struct {
	statement query.Statement
	noPrune   bool
}

// Param binds $name as a value.
func Param(name string, value any) QueryOption {
	return func(o *queryOptions) {
		if o.statement.Params == nil {
			o.statement.Params = map[string]any{}
		}
		o.statement.Params[name] = value
	}
}

// QueryVersion pins every table of the statement that has no version of its own.
func QueryVersion(v iceberg.Version) QueryOption {
	return func(o *queryOptions) { o.statement.Version = v }
}

// QueryOrder sets source.FileOrder (default) or source.ArrivalOrder.
func QueryOrder(order source.Order) QueryOption {
	return func(o *queryOptions) { o.statement.Order = order }
}

// QueryMemory is the engine's memory limit in bytes; 0 = half of what is free of the SQL share.
func QueryMemory(bytes int64) QueryOption {
	return func(o *queryOptions) { o.statement.Memory = bytes }
}

// QueryNoPrune hands no predicate to the scan: same rows, other time.
func QueryNoPrune() QueryOption { return func(o *queryOptions) { o.noPrune = true } }

// Aggregate is one of count(*) (Column empty), count, min, max.
type Aggregate struct {
	Func   string // "count", "min", "max"
	Column string
}

// AggregateResult holds one literal an aggregate; NULL has a nil Value.
type AggregateResult struct {
	Values       []expr.Literal
	FromMetadata int // files answered from metadata or footers
	Scanned      int // files decoded
	Stats        source.Stats
}

// Explanation of a scan, from metadata alone.
type Explanation struct {
	Target string
	Plan   iceberg.Explain
	Depth  source.Depth
	Order  source.Order
	Slots  int
	Budget int64
}
