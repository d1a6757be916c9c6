//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/query"
)

// instance is one DuckDB with one connection, locked. Its methods are for one goroutine at a time, except interrupt.
type instance struct {
	db   bindings.Database
	conn bindings.Connection

	mu struct {
		sync.Mutex
		gone bool // conn is disconnected
	}
}

// settings of an instance; all are fixed when it opens.
type settings struct {
	threads    int
	memory     int64
	spill      string
	spillBytes int64
	zone       string
	keepOrder  bool
}

// openInstance opens DuckDB in memory. confine and lock follow, in this order, since nothing can be set after the lock.
func openInstance(s settings) (*instance, error) {
	var cfg bindings.Config
	if bindings.CreateConfig(&cfg) == bindings.StateError {
		return nil, errors.New("duckdb: no configuration")
	}
	defer bindings.DestroyConfig(&cfg)
	options := [][2]string{
		{"threads", fmt.Sprint(s.threads)},
		{"memory_limit", fmt.Sprintf("%dB", s.memory)},
		{"temp_directory", s.spill},
		{"allow_persistent_secrets", "false"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"preserve_insertion_order", fmt.Sprint(s.keepOrder)},
	}
	if s.spillBytes > 0 {
		options = append(options, [2]string{"max_temp_directory_size", fmt.Sprintf("%dB", s.spillBytes)})
	}
	for _, o := range options {
		if bindings.SetConfig(cfg, o[0], o[1]) == bindings.StateError {
			return nil, fmt.Errorf("duckdb: setting %s = %s refused", o[0], o[1])
		}
	}
	in := &instance{}
	var msg string
	if bindings.OpenExt(":memory:", &in.db, cfg, &msg) == bindings.StateError {
		return nil, fmt.Errorf("duckdb: open: %s", msg)
	}
	if bindings.Connect(in.db, &in.conn) == bindings.StateError {
		bindings.Close(&in.db)
		return nil, errors.New("duckdb: connect failed")
	}
	return in, nil
}

// confine sets what needs a connection and takes the outside away for ever. Settings of the planner stay open until lock.
func (in *instance) confine(s settings) error {
	if s.zone == "" {
		s.zone = "UTC"
	}
	if err := in.exec("SET TimeZone = " + query.QuoteString(s.zone)); err != nil {
		return &query.Error{Class: query.ClassBind, Msg: fmt.Sprintf("time zone %q is not known", s.zone), Hint: "an IANA name such as Europe/Paris"}
	}
	return in.set("enable_external_access = false")
}

// lock forbids every further setting. It comes before anything of the statement's own runs.
func (in *instance) lock() error { return in.set("lock_configuration = true") }

func (in *instance) set(setting string) error {
	if err := in.exec("SET " + setting); err != nil {
		return fmt.Errorf("duckdb: SET %s: %w", setting, err)
	}
	return nil
}

// exec runs a text and drops its result.
func (in *instance) exec(sql string) error {
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(in.conn, sql, &res) == bindings.StateError {
		return &engineError{kind: bindings.ResultErrorType(&res), text: bindings.ResultError(&res)}
	}
	return nil
}

// text runs a query whose answer is one string.
func (in *instance) text(sql string) (string, error) {
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(in.conn, sql, &res) == bindings.StateError {
		return "", &engineError{kind: bindings.ResultErrorType(&res), text: bindings.ResultError(&res)}
	}
	chunk := bindings.FetchChunk(res)
	if chunk.Ptr == nil {
		return "", errors.New("duckdb: no answer to an internal query")
	}
	defer bindings.DestroyDataChunk(&chunk)
	v := bindings.DataChunkGetVector(chunk, 0)
	if mask := bindings.VectorGetValidity(v); mask != nil && !bindings.ValidityRowIsValid(mask, 0) {
		return "", nil
	}
	return bindings.StringTData((*bindings.StringT)(bindings.VectorGetData(v))), nil
}

// guard interrupts the connection when ctx ends, and goes on doing so: an interrupt that comes just before a query starts is
// forgotten by DuckDB. The returned function ends it and waits.
func (in *instance) guard(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			in.interrupt()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	var once sync.Once
	return func() {
		once.Do(func() { close(done) })
		running.Wait()
	}
}

// interrupt asks the running query to end; safe from any goroutine and after close.
func (in *instance) interrupt() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.mu.gone {
		bindings.Interrupt(in.conn)
	}
}

// close waits for DuckDB's threads; idempotent.
func (in *instance) close() {
	in.mu.Lock()
	gone := in.mu.gone
	in.mu.gone = true
	in.mu.Unlock()
	if gone {
		return
	}
	bindings.Disconnect(&in.conn)
	bindings.Close(&in.db)
}
