package iceberg

import (
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/object"
)

// Names of the sub-packages that users need.
type (
	Ident            = meta.Ident
	Version          = meta.Version
	Metadata         = meta.Metadata
	Schema           = meta.Schema
	Snapshot         = meta.Snapshot
	Error            = meta.Error
	UnsupportedError = meta.UnsupportedError
	InvalidError     = meta.InvalidError
	PlanCounts       = plan.Counts
	Fetcher          = object.Fetcher
)

// Classes of errors.
var (
	ErrNoSuchTable     = meta.ErrNoSuchTable
	ErrNoSuchNamespace = meta.ErrNoSuchNamespace
	ErrNoSuchWarehouse = meta.ErrNoSuchWarehouse
	ErrNoSuchSnapshot  = meta.ErrNoSuchSnapshot
	ErrNoSuchRef       = meta.ErrNoSuchRef
	ErrDenied          = meta.ErrDenied
	ErrUnavailable     = meta.ErrUnavailable
	ErrUnsupported     = meta.ErrUnsupported
	ErrInvalidMetadata = meta.ErrInvalidMetadata
	ErrConflict        = meta.ErrConflict
	ErrCommitUnknown   = meta.ErrCommitUnknown
	ErrNotIncremental  = plan.ErrNotIncremental
)
