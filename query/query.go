package query

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/source"
)

// ErrNoEngine is the class of every answer of a build without an SQL engine; match it with errors.Is.
var ErrNoEngine = errors.New("this build has no SQL engine")

// Engine runs SQL. There is one a client; it is safe for concurrent use.
type Engine interface {
	// Name is the engine and its version, for instance "duckdb 1.5.6".
	Name() string
	// Prepare checks, binds and plans one SELECT. It reads metadata through t and opens no data file. ctx bounds Prepare
	// alone. Errors: *Error, or what t gave, wrapped.
	Prepare(ctx context.Context, st Statement, t Tables) (Prepared, error)
	// Close refuses new statements, ends the running ones and waits for them. It is idempotent.
	Close() error
}

// Statement is one SELECT and what holds for all of it.
type Statement struct {
	SQL     string
	Params  map[string]any  // by name without '$'; a string is typed by the place where its parameter stands
	Version iceberg.Version // of every table without a version of its own
	Order   source.Order    // 0 = rows of a pass-through SELECT in file order
	Memory  int64           // bytes for the engine's own operators; 0 = a share of what is free
	Zone    string          // session time zone, an IANA name; "" = UTC. Never used for pruning
}

// Tables finds the tables of one statement. The implementation caches: whatever the number of references, a name at a
// version is one snapshot, loaded once.
type Tables interface {
	// Load resolves a name: its parts as written (the namespace's parts, then the name), or one part that is a path or a
	// glob of Parquet files. A name that does not exist is iceberg's ErrNoSuchTable.
	Load(ctx context.Context, name []string, v iceberg.Version) (Table, error)
}

// Table is one table at one snapshot. It is safe for concurrent use.
type Table interface {
	// Schema has all columns in table order.
	Schema() *arrow.Schema
	// Rows is an estimate for the optimizer; -1 = unknown.
	Rows() int64
	// Open starts a scan. The reader's schema has exactly n.Columns in that order (a decimal of 10 to 18 digits may be a
	// decimal64), n.Filter may be used or not, and ctx bounds the scan. The caller closes the reader.
	Open(ctx context.Context, n Need) (Reader, error)
	// Count answers Need.RowsOnly from metadata alone; exact = false says that only a scan knows.
	Count(ctx context.Context) (rows int64, exact bool, err error)
}

// Reader is one pass over the rows of a table. *source.Reader is one.
type Reader interface {
	Schema() *arrow.Schema
	// Next lends a batch until the next call, and returns io.EOF at the end. One caller at a time.
	Next(ctx context.Context) (source.Batch, error)
	// Close stops the scan and joins it; idempotent.
	Close() error
}

// Need is what one reference of a table asks.
type Need struct {
	Columns    []string  // in the order wanted; empty with RowsOnly
	Filter     expr.Expr // unbound; nil = all rows. A hint: the engine filters again, so using less of it never changes rows
	Limit      int64     // rows after which nobody asks for more; 0 = none. Never set together with Filter
	RowsOnly   bool      // the number of rows is all that matters
	StopsEarly bool      // a LIMIT above may end the scan before its end
}

// Reference is one place of a statement that names a table.
type Reference struct {
	Name    []string // as written
	Alias   string   // the name by which the statement knows it
	Version iceberg.Version
	Table   Table
	Need    Need
	Unused  []string // conditions on this reference that could not be used for pruning, as text
}

// Prepared is a planned statement. It holds the engine's memory until Close.
type Prepared interface {
	// Schema of the result. A result column may have another type than the table's column. nil = it depends on the value of
	// a parameter ("SELECT $a"), and the Result has it.
	Schema() *arrow.Schema
	// References in the order of the statement's text.
	References() []Reference
	// PlanText is the engine's own tree, for people; PlanJSON the same as a JSON document. Empty after Run or Close, unless it
	// was asked for before.
	PlanText() string
	PlanJSON() string
	// Run starts the statement; it may be called once, since the plan and the run share one transaction (now() is the same
	// instant in both). ctx bounds the result. Errors: *Error, or what a Reader gave, wrapped.
	Run(ctx context.Context) (*Result, error)
	// Close ends the run if there is one, joins it, and gives memory and files back; idempotent, safe from any goroutine.
	Close() error
}
