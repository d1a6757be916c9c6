package exit

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/avro/inflate"
	"github.com/lakescan/lakescan/iceberg/commit"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/iceberg/puffin"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/build"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/encoding"
	"github.com/lakescan/lakescan/parquet/nested"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
	"github.com/lakescan/lakescan/parquet/variant"
	"github.com/lakescan/lakescan/parquet/write"
	"github.com/lakescan/lakescan/prefetchpool"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/render"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/source/deletes"
	"github.com/lakescan/lakescan/source/resolve"
)

// Code is a process exit code.
type Code int

// The codes. A crash of the Go runtime also exits with 2, and writes no object.
const (
	OK          Code = 0
	Failed      Code = 1   // not otherwise classed
	Usage       Code = 2   // flags, arguments, SQL syntax, names of columns
	Partial     Code = 3   // under --ignore-errors some parts failed
	NotFound    Code = 4   // catalog, namespace, table, snapshot, ref, object
	Denied      Code = 5   // credentials missing, wrong, or not enough
	Unavailable Code = 6   // after retries: no connection, timeouts, 5xx, throttling
	Unsupported Code = 7   // a feature of the table or file that lakescan lacks
	Corrupt     Code = 8   // data that breaks its format, or changed while it was read
	Limit       Code = 9   // --timeout, --max-bytes, memory, spill space, a full disk
	Interrupted Code = 130 // Ctrl-C, SIGTERM
)

var kinds = map[Code]string{
	OK: "ok", Failed: "failed", Usage: "usage", Partial: "partial", NotFound: "not-found", Denied: "denied", Unavailable: "unavailable",
	Unsupported: "unsupported", Corrupt: "corrupt", Limit: "limit", Interrupted: "interrupted",
}

// Kind is the code as a word.
func (c Code) Kind() string { return kinds[c] }

// Classes of errors that only a command line has.
var (
	ErrUsage       = errors.New("usage")
	ErrPartial     = errors.New("some parts failed")
	ErrTimeout     = errors.New("the time limit is spent")
	ErrMaxBytes    = errors.New("the byte limit is spent")
	ErrInterrupted = errors.New("interrupted")
)

// sentinel is an exported error value and the code it means. Name is its Go name, for the test that walks the module.
type sentinel struct {
	name string
	err  error
	code Code
}

// sentinels are asked in this order: what the user set a limit to or broke off explains everything below it, and a refusal or
// an outage explains why something was not found.
var sentinels = []sentinel{
	{"exit.ErrInterrupted", ErrInterrupted, Interrupted},
	{"exit.ErrTimeout", ErrTimeout, Limit},
	{"exit.ErrMaxBytes", ErrMaxBytes, Limit},
	{"exit.ErrPartial", ErrPartial, Partial},
	{"exit.ErrUsage", ErrUsage, Usage},

	{"object.ErrDenied", object.ErrDenied, Denied},
	{"meta.ErrDenied", meta.ErrDenied, Denied},
	{"object.ErrUnavailable", object.ErrUnavailable, Unavailable},
	{"meta.ErrUnavailable", meta.ErrUnavailable, Unavailable},

	{"object.ErrNotFound", object.ErrNotFound, NotFound},
	{"meta.ErrNoSuchTable", meta.ErrNoSuchTable, NotFound},
	{"meta.ErrNoSuchNamespace", meta.ErrNoSuchNamespace, NotFound},
	{"meta.ErrNoSuchWarehouse", meta.ErrNoSuchWarehouse, NotFound},
	{"meta.ErrNoSuchSnapshot", meta.ErrNoSuchSnapshot, NotFound},
	{"meta.ErrNoSuchRef", meta.ErrNoSuchRef, NotFound},

	{"memory.ErrRefused", memory.ErrRefused, Limit},
	{"parquet.ErrTooLarge", parquet.ErrTooLarge, Limit},
	{"build.ErrTooLarge", build.ErrTooLarge, Limit},
	{"nested.ErrTooLarge", nested.ErrTooLarge, Limit},
	{"variant.ErrTooLarge", variant.ErrTooLarge, Limit},
	{"object.ErrTooLarge", object.ErrTooLarge, Limit},
	{"puffin.ErrTooLarge", puffin.ErrTooLarge, Limit},
	{"deletes.ErrTooLarge", deletes.ErrTooLarge, Limit},

	{"object.ErrChanged", object.ErrChanged, Corrupt},
	{"object.ErrRange", object.ErrRange, Corrupt}, // a file shorter than its metadata says
	{"object.ErrCorrupt", object.ErrCorrupt, Corrupt},
	{"meta.ErrInvalidMetadata", meta.ErrInvalidMetadata, Corrupt},
	{"resolve.ErrInvalid", resolve.ErrInvalid, Corrupt},
	{"resolve.ErrNoIDs", resolve.ErrNoIDs, Corrupt},
	{"parquet.ErrCorrupt", parquet.ErrCorrupt, Corrupt},
	{"build.ErrCorrupt", build.ErrCorrupt, Corrupt},
	{"page.ErrCorrupt", page.ErrCorrupt, Corrupt},
	{"page.ErrShort", page.ErrShort, Corrupt},
	{"codec.ErrCorrupt", codec.ErrCorrupt, Corrupt},
	{"encoding.ErrCorrupt", encoding.ErrCorrupt, Corrupt},
	{"nested.ErrCorrupt", nested.ErrCorrupt, Corrupt},
	{"variant.ErrCorrupt", variant.ErrCorrupt, Corrupt},
	{"schema.ErrInvalid", schema.ErrInvalid, Corrupt},
	{"thrift.ErrMalformed", thrift.ErrMalformed, Corrupt},
	{"prune.ErrBloom", prune.ErrBloom, Corrupt},
	{"prune.ErrPageIndex", prune.ErrPageIndex, Corrupt},
	{"avro.ErrCorrupt", avro.ErrCorrupt, Corrupt},
	{"inflate.ErrCorrupt", inflate.ErrCorrupt, Corrupt},
	{"inflate.ErrTooLong", inflate.ErrTooLong, Corrupt},
	{"puffin.ErrCorrupt", puffin.ErrCorrupt, Corrupt},
	{"deletes.ErrCorrupt", deletes.ErrCorrupt, Corrupt},

	{"meta.ErrUnsupported", meta.ErrUnsupported, Unsupported},
	{"parquet.ErrUnsupported", parquet.ErrUnsupported, Unsupported},
	{"build.ErrUnsupported", build.ErrUnsupported, Unsupported},
	{"nested.ErrUnsupported", nested.ErrUnsupported, Unsupported},
	{"variant.ErrUnsupported", variant.ErrUnsupported, Unsupported},
	{"write.ErrUnsupported", write.ErrUnsupported, Unsupported},
	{"codec.ErrUnsupported", codec.ErrUnsupported, Unsupported},
	{"avro.ErrCodec", avro.ErrCodec, Unsupported},
	{"puffin.ErrUnsupported", puffin.ErrUnsupported, Unsupported},
	{"deletes.ErrUnsupported", deletes.ErrUnsupported, Unsupported},
	{"errors.ErrUnsupported", errors.ErrUnsupported, Unsupported},

	{"query.ErrNoEngine", query.ErrNoEngine, Usage},
	{"expr.ErrSyntax", expr.ErrSyntax, Usage},
	{"expr.ErrBind", expr.ErrBind, Usage},
	{"render.ErrFormat", render.ErrFormat, Usage},
	{"render.ErrTerminal", render.ErrTerminal, Usage},
	{"config.ErrInvalid", config.ErrInvalid, Usage},
	{"object.ErrInvalid", object.ErrInvalid, Usage},

	{"meta.ErrConflict", meta.ErrConflict, Failed},
	{"meta.ErrCommitUnknown", meta.ErrCommitUnknown, Failed},
	{"plan.ErrNotIncremental", plan.ErrNotIncremental, Failed},
	{"write.ErrClosed", write.ErrClosed, Failed},
	{"commit.ErrStale", commit.ErrStale, Failed},
	{"object.ErrExists", object.ErrExists, Failed},
	{"object.ErrUnknown", object.ErrUnknown, Failed},
	{"eval.ErrType", eval.ErrType, Failed},
	{"render.ErrSchema", render.ErrSchema, Failed},
	{"memory.ErrHeld", memory.ErrHeld, Failed},
	{"memory.ErrClosed", memory.ErrClosed, Failed},
	{"prefetchpool.ErrClosed", prefetchpool.ErrClosed, Failed},
	{"prefetchpool.ErrReleased", prefetchpool.ErrReleased, Failed},
	{"source.ErrClosed", source.ErrClosed, Failed},
	{"source.ErrUsed", source.ErrUsed, Failed},
	{"lakescan.ErrClosed", lakescan.ErrClosed, Failed},
}

var queryCodes = map[query.Class]Code{
	query.ClassSyntax: Usage, query.ClassBind: Usage, query.ClassRefused: Usage, query.ClassNotFound: NotFound,
	query.ClassUnsupported: Unsupported, query.ClassExecution: Failed, query.ClassMemory: Limit, query.ClassCanceled: Interrupted,
}

// Of is the exit code of an error; nil is OK.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.code
		}
	}
	if _, ok := errors.AsType[*lakescan.UnknownCatalogError](err); ok {
		return NotFound
	}
	if _, ok := errors.AsType[*lakescan.TargetError](err); ok {
		return Usage
	}
	if _, ok := errors.AsType[*lakescan.AggregateError](err); ok {
		return Usage
	}
	if q, ok := errors.AsType[*query.Error](err); ok && queryCodes[q.Class] != 0 {
		return queryCodes[q.Class]
	}
	switch {
	case diskFull(err):
		return Limit
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, context.DeadlineExceeded):
		return Limit
	}
	return Failed
}

// diskFull reports that what was to be written found no room.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// UsageError is a fault in the command line; it is ErrUsage.
type UsageError struct {
	Msg  string
	Hint string // what to try; may be empty
}

func (e *UsageError) Error() string { return e.Msg }

// Unwrap makes errors.Is(err, ErrUsage) hold.
func (e *UsageError) Unwrap() error { return ErrUsage }

// Usagef makes a *UsageError.
func Usagef(format string, args ...any) *UsageError {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}

// WithHint returns e with a hint.
func (e *UsageError) WithHint(format string, args ...any) *UsageError {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
