//go:build !duckdb_arrow || !cgo

package duckdb

import (
	"fmt"

	"github.com/lakescan/lakescan/query"
)

// Version of the DuckDB that is linked in; empty without the engine.
const Version = ""

// New answers query.ErrNoEngine: this build has no engine.
func New(EngineConfig) (query.Engine, error) { return nil, errNoEngine }

var errNoEngine = fmt.Errorf(`%w (%s)
  works here:  lakescan scan NS.TABLE --select a,b --where "a > 5" --limit 10
  full build:  make build   (needs a C compiler), or the lakescan-full archive`, query.ErrNoEngine, missing)
