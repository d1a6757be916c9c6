//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/lakescan/lakescan/query"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Version of the DuckDB that is linked in.
var Version = strings.TrimPrefix(bindings.LibraryVersion(), "v")

// engine opens one DuckDB instance a statement and knows those that are open.
type engine struct {
	cfg    EngineConfig
	memory *share

	mu struct {
		sync.Mutex
		closed bool
		open   map[*statement]struct{}
		spill  string // private folder, made by the first statement
		count  int    // statements so far, names of spill folders
	}
}

// New makes the engine. It opens nothing: DuckDB starts with the first statement.
func New(cfg EngineConfig) (query.Engine, error) {
	if cfg.Threads <= 0 {
		cfg.Threads = runtime.GOMAXPROCS(0)
	}
	if cfg.MemoryShare <= 0 {
		cfg.MemoryShare = 1 << 30
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	e := &engine{cfg: cfg, memory: newShare(cfg.Budget, cfg.MemoryShare)}
	e.mu.open = map[*statement]struct{}{}
	return e, nil
}

func (e *engine) Name() string { return "duckdb " + Version }

var errEngineClosed = errors.New("query: the engine is closed")

// Prepare implements query.Engine.
func (e *engine) Prepare(ctx context.Context, st query.Statement, t query.Tables) (query.Prepared, error) {
	s, err := e.begin(st)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, t); err != nil {
		_ = s.Close()
		return nil, s.public(ctx, err)
	}
	return s, nil
}

// begin registers a statement, so that Close finds it from now on.
func (e *engine) begin(st query.Statement) (*statement, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return nil, errEngineClosed
	}
	if e.mu.spill == "" {
		dir, err := os.MkdirTemp(e.cfg.SpillDir, "lakescan-sql-") // mode 0700
		if err != nil {
			return nil, fmt.Errorf("query: spill folder: %w", err)
		}
		e.mu.spill = dir
	}
	e.mu.count++
	s := newStatement(e, st, filepath.Join(e.mu.spill, fmt.Sprintf("statement-%d", e.mu.count)))
	e.mu.open[s] = struct{}{}
	return s, nil
}

// ended forgets a statement whose resources are all given back.
func (e *engine) ended(s *statement) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.open, s)
}

// Close implements query.Engine.
func (e *engine) Close() error {
	e.mu.Lock()
	e.mu.closed = true
	open := make([]*statement, 0, len(e.mu.open))
	for s := range e.mu.open {
		open = append(open, s)
	}
	spill := e.mu.spill
	e.mu.spill = ""
	e.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
	}
	if spill == "" {
		return nil
	}
	if err := os.RemoveAll(spill); err != nil {
		return fmt.Errorf("query: spill folder: %w", err)
	}
	return nil
}
