// Package iceberg is the catalog client and planner. It decides which files, deletes, constants and residuals apply, and
// never opens a data file. rest, dir, plan, inspect, manifest import meta; the root imports them; commit imports the root.
package iceberg

import (
	"context"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Re-exported names.
type (
	Ident   = meta.Ident
	Version = meta.Version
	Fetcher = object.Fetcher
)

// CatalogConfig: NewStore is called once a table, with the table's credentials (nil without a REST catalog); the facade
// fills it with its store chain, so object knows no catalog and iceberg no S3.
type CatalogConfig struct {
	Type, URI, Warehouse string
	Properties           map[string]string
	NewStore             func(object.Credentials) (object.Store, error)
	Budget               *memory.Budget // manifest cache
}

// ScanSpec: Fetcher is the scan's lane; nil = inline on the table's store.
type ScanSpec struct {
	Columns       []string
	Filter        expr.Expr
	Version       Version
	Limit         int64
	CaseSensitive bool
	NoPrune       bool // read every manifest and file; rows do not depend on it
	Fetcher       Fetcher
}

// Catalog keeps no context.
type Catalog struct{ _ int }

func Open(ctx context.Context, c CatalogConfig) (*Catalog, error)   { panic(0) } // one request, or none
func (*Catalog) Load(ctx context.Context, id Ident) (*Table, error) { panic(0) } // one request, never lists
func (*Catalog) Close() error                                       { return nil }

// Tables lists a namespace, lazily and page by page; catalogs without listing answer ErrUnsupported.
func (*Catalog) Tables(ctx context.Context, namespace []string) iter.Seq2[Ident, error] { panic(0) }

// Namespaces lists the children of parent (nil = the top level), lazily.
func (*Catalog) Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error] { panic(0) }

// LoadMetadata loads a table from the location of its metadata document, without a catalog.
func LoadMetadata(ctx context.Context, c CatalogConfig, location string) (*Table, error) { panic(0) }

// FindColumn picks a column of s by its name (dots step into structs): exact, else a unique fold match unless caseSensitive; metadata columns too.
func FindColumn(s *arrow.Schema, name string, caseSensitive bool) (arrow.Field, error) { panic(0) }

// Table is immutable.
type Table struct{ _ int }

func (*Table) Store() object.Store                                 { panic(0) } // opens the table's own locations
func (*Table) Backend() meta.Backend                               { panic(0) } // for commit
func (*Table) Plan(ctx context.Context, s ScanSpec) (*Plan, error) { panic(0) }

// Pin resolves v to one snapshot, loading older snapshots if the table was loaded without them (at most one request). The version returned
// names the snapshot but keeps the schema rule of v (a branch reads with the current schema).
func (*Table) Pin(ctx context.Context, v Version) (*Table, Version, error) { panic(0) }

// Schema of the table at v, with field ids.
func (*Table) Schema(v Version) (*arrow.Schema, error) { panic(0) }

// RowEstimate is what the snapshot's summary says of its rows, for optimizers; -1 = unknown.
func (*Table) RowEstimate(v Version) int64 { panic(0) }

// CountRows counts from manifests and delete counts alone; exact = false means that only a scan knows.
func (*Table) CountRows(ctx context.Context, v Version, f Fetcher) (rows int64, exact bool, err error) {
	panic(0)
}

// Plan of one scan.
type Plan struct{ _ int }

func (*Plan) Schema() *arrow.Schema          { panic(0) }
func (*Plan) Defaults() map[int]expr.Literal { panic(0) }

// Tasks is lazy; ending the range ends planning and waits for it.
func (*Plan) Tasks(ctx context.Context) iter.Seq2[source.Task, error] { panic(0) }

// Explain says what a plan reads and skips, and by which evidence.
type Explain struct{ _ int }

// Explain of this plan so far: complete once Tasks has ended.
func (*Plan) Explain() Explain { panic(0) }
