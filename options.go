package lakescan

import (
	"time"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/source"
)

// ScanOption steers one scan.
type ScanOption func(*scanOptions)

type scanOptions struct {
	columns       []string
	filter        expr.Expr
	limit         int64
	version       iceberg.Version
	order         source.Order
	depth         source.Depth
	weight        int
	streams       int
	batchRows     int
	caseSensitive bool
	zone          *time.Location // of literals in filter; nil = UTC
	noPrune       bool
	noMetadata    bool
	stopsEarly    bool
	filterHint    bool // the engine filters itself
	keepDeleted   bool
	strings       source.Strings
	short         bool // source.Config.Short
}

// Columns selects output columns, in this order; "a.b" names a struct's field, metadata columns (_file, _pos, …) are allowed.
func Columns(names ...string) ScanOption { return func(o *scanOptions) { o.columns = names } }

// Where keeps the rows for which e is true; e need not be bound.
func Where(e expr.Expr) ScanOption { return func(o *scanOptions) { o.filter = e } }

// Zone reads literals without a zone against columns with one, and the reverse; nil = UTC. It never takes part in pruning.
func Zone(z *time.Location) ScanOption { return func(o *scanOptions) { o.zone = z } }

// Limit ends the scan after n rows; planning, reading and decoding stop too.
func Limit(n int64) ScanOption { return func(o *scanOptions) { o.limit = n } }

// AtSnapshot, AsOf and AtRef exclude each other.
func AtSnapshot(id int64) ScanOption { return func(o *scanOptions) { o.version.Snapshot = id } }

// AsOf reads the snapshot that was current at t.
func AsOf(t time.Time) ScanOption { return func(o *scanOptions) { o.version.AsOf = t } }

// AtRef reads a branch (with the table's current schema) or a tag (with its snapshot's).
func AtRef(name string) ScanOption { return func(o *scanOptions) { o.version.Ref = name } }

// OrderBy sets source.FileOrder or source.ArrivalOrder for this scan.
func OrderBy(order source.Order) ScanOption { return func(o *scanOptions) { o.order = order } }

// MaxFilesToPrefetch sets the look-ahead depth of this scan.
func MaxFilesToPrefetch(d source.Depth) ScanOption { return func(o *scanOptions) { o.depth = d } }

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

// Weight is the scan's share of the pool beside other scans; 0 = 1.
func Weight(n int) ScanOption { return func(o *scanOptions) { o.weight = n } }

// StopsEarly says that the consumer may stop before the end: look-ahead starts at one file.
func StopsEarly() ScanOption { return func(o *scanOptions) { o.stopsEarly = true } }

// KeepDeleted delivers deleted rows too, marked in Batch.Deleted.
func KeepDeleted() ScanOption { return func(o *scanOptions) { o.keepDeleted = true } }

// StringsAs chooses the layout of string and binary columns in the batches of Scan; values are equal in all. SQL and Aggregate do not
// look at it.
func StringsAs(l source.Strings) ScanOption { return func(o *scanOptions) { o.strings = l } }

// QueryOption steers one statement.
type QueryOption func(*queryOptions)

type queryOptions struct {
	statement query.Statement
	noPrune   bool
	scan      []ScanOption
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

// QueryZone is the session's time zone, an IANA name; "" = UTC. It never takes part in pruning.
func QueryZone(name string) QueryOption { return func(o *queryOptions) { o.statement.Zone = name } }

// QueryScan applies scan options (depth, weight, pruning, case) to every table of the statement.
func QueryScan(opts ...ScanOption) QueryOption {
	return func(o *queryOptions) { o.scan = append(o.scan, opts...) }
}

// QueryNoPrune hands no predicate to the scan: same rows, other time.
func QueryNoPrune() QueryOption { return func(o *queryOptions) { o.noPrune = true } }
