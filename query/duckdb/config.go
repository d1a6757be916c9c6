package duckdb

import (
	"log/slog"

	"github.com/lakescan/lakescan/memory"
)

// EngineConfig of New; the zero value works.
type EngineConfig struct {
	Budget      *memory.Budget // nil = uncounted
	MemoryShare int64          // bytes that all running statements may reserve together; 0 = 1 GiB
	Threads     int            // of one statement; 0 = GOMAXPROCS
	SpillDir    string         // folder in which a private one is made; "" = the system's temporary folder
	SpillBytes  int64          // limit of one statement's spill files; 0 = the engine's own (90 % of the free disk)
	Logger      *slog.Logger   // nil = silent
}
