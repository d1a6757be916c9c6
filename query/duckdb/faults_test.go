//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
)

var errDisk = errors.New("s3: 503 SlowDown on part-0003.parquet")

// TestFaults lets a scan fail in batch 0, 3 and the last, in every way, under statements that stream and statements that
// gather. The error must come out as it went in, no "end" may come first, and nothing may be left.
func TestFaults(t *testing.T) {
	t.Parallel()
	const batches = 6
	type fault struct {
		name  string
		hook  func(ctx context.Context, cancel context.CancelFunc) error
		check func(error) string // "" = fine
	}
	class := func(err error, want query.Class) string {
		e, ok := errors.AsType[*query.Error](err)
		if !ok || e.Class != want {
			return fmt.Sprintf("class is not %s", want)
		}
		return ""
	}
	faults := []fault{
		{"error", func(context.Context, context.CancelFunc) error { return fmt.Errorf("read: %w", errDisk) }, func(err error) string {
			if !errors.Is(err, errDisk) {
				return "the cause is lost"
			}
			return class(err, query.ClassSource)
		}},
		{"panic", func(context.Context, context.CancelFunc) error { panic("boom") }, func(err error) string {
			if !strings.Contains(err.Error(), "boom") {
				return "the panic is lost"
			}
			return class(err, query.ClassInternal)
		}},
		{"cancel", func(ctx context.Context, cancel context.CancelFunc) error { cancel(); return nil }, func(err error) string {
			if !errors.Is(err, context.Canceled) {
				return "not canceled"
			}
			return class(err, query.ClassCanceled)
		}},
		{"stall, then cancel", func(ctx context.Context, cancel context.CancelFunc) error { cancel(); <-ctx.Done(); return ctx.Err() }, func(err error) string {
			if !errors.Is(err, context.Canceled) {
				return "not canceled"
			}
			return class(err, query.ClassCanceled)
		}},
	}
	e := testEngine(t, EngineConfig{})
	for _, f := range faults {
		for _, at := range []int{0, 3, batches} {
			for _, anyone := range []bool{false, true} {
				for _, sql := range []string{"select * from t", "select region, sum(total) from t group by all", "select a.id from t a join t b using (id)", "select id from t order by total desc"} {
					t.Run(fmt.Sprintf("%s/batch %d/any thread %v/%s", f.name, at, anyone, sql), func(t *testing.T) {
						t.Parallel()
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						table := ordersTable(t, batches)
						table.anyone = anyone
						table.hook = func(ctx context.Context, batch int) error {
							if batch == at {
								return f.hook(ctx, cancel)
							}
							return nil
						}
						_, err := run(ctx, e, query.Statement{SQL: sql}, memTables{"t": table})
						if err == nil {
							t.Fatal("no error")
						}
						if msg := f.check(err); msg != "" {
							t.Errorf("%s: %v", msg, err)
						}
					})
				}
			}
		}
	}
}

// A table that fails to load or open, or panics there.
func TestFaults_LoadAndOpen(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	for _, c := range []struct {
		name  string
		table query.Table
		class query.Class
		part  string
	}{
		{"load fails", nil, query.ClassSource, "SlowDown"},
		{"load panics", nil, query.ClassInternal, "boom"},
		{"open fails", brokenTable{memTable: ordersTable(t, 1), err: errDisk}, query.ClassSource, "SlowDown"},
		{"open panics", brokenTable{memTable: ordersTable(t, 1)}, query.ClassInternal, "boom"},
		{"wrong schema", brokenTable{memTable: ordersTable(t, 1), wrong: true}, query.ClassSource, "not id int64"},
	} {
		_, err := run(t.Context(), e, query.Statement{SQL: "select id from t"}, brokenTables{c.name, c.table})
		checkError(t, c.name, err, c.class, c.part)
	}
}

type brokenTables struct {
	name  string
	table query.Table
}

func (b brokenTables) Load(context.Context, []string, iceberg.Version) (query.Table, error) {
	switch {
	case b.name == "load fails":
		return nil, errDisk
	case b.name == "load panics":
		panic("boom")
	}
	return b.table, nil
}

type brokenTable struct {
	*memTable
	err   error
	wrong bool
}

func (b brokenTable) Open(ctx context.Context, n query.Need) (query.Reader, error) {
	if b.wrong {
		n.Columns = []string{"region"}
		return b.memTable.Open(ctx, n)
	}
	if b.err == nil {
		panic("boom")
	}
	return nil, b.err
}

// L73: a LIMIT reads one batch, and says early that it will stop.
func TestL73_LimitStopsReading(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 2})
	for _, c := range []struct {
		sql   string
		need  query.Need
		pulls int64
	}{
		{"select * from t limit 10", query.Need{Limit: 10, StopsEarly: true}, 1},
		{"select id from t where region = 'us' limit 3", query.Need{StopsEarly: true}, 1},
		{"select id from t limit 5001", query.Need{Limit: 5001, StopsEarly: true}, 2},
		{"select id from t limit 0", query.Need{}, 0},
	} {
		t.Run(c.sql, func(t *testing.T) {
			t.Parallel()
			table := ordersTable(t, 50)
			if _, err := run(t.Context(), e, query.Statement{SQL: c.sql}, memTables{"t": table}); err != nil {
				t.Fatal(err)
			}
			if got := table.pulled.Load(); got != c.pulls {
				t.Errorf("%d batches read, not %d", got, c.pulls)
			}
			for _, n := range table.opened() {
				if n.Limit != c.need.Limit || n.StopsEarly != c.need.StopsEarly {
					t.Errorf("need %+v", n)
				}
			}
		})
	}
}

// A result that is left early ends its scans.
func TestResult_ClosedEarly(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	table := ordersTable(t, 50)
	p, err := e.Prepare(t.Context(), query.Statement{SQL: "select * from t"}, memTables{"t": table})
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range res.All() {
		if err != nil || rec.NumRows() == 0 {
			t.Fatal(err)
		}
		break
	}
	if err := res.Close(); err != nil {
		t.Error(err)
	}
	if n := table.pulled.Load(); n == 50 {
		t.Error("everything was read")
	}
	if _, err := res.Next(); err == nil || err == io.EOF {
		t.Errorf("Next after Close: %v", err)
	}
	if err := errors.Join(res.Close(), p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if p.PlanText() != "" && len(p.References()) != 1 {
		t.Error("what was learnt is gone after Close")
	}
}

// A compute-bound statement has no batch to wait for: only the interrupt ends it.
func TestCancel_WithoutScan(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user has left")
	table := ordersTable(t, 1)
	table.hook = func(ctx context.Context, batch int) error {
		if batch == 1 {
			cancel(why)
		}
		return nil
	}
	_, err := run(ctx, e, query.Statement{SQL: "select sum(a.id * b.i) from t a, range(1000000000) b(i)"}, memTables{"t": table})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	checkError(t, "cancel", err, query.ClassCanceled, "the user has left")
}

// Prepare obeys its own context, and so does Run (L78).
func TestL78_EachCallObeysItsContext(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	done, cancel := context.WithCancel(t.Context())
	p, err := e.Prepare(done, query.Statement{SQL: "select count(*), sum(id) from t"}, memTables{"t": ordersTable(t, 2)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cancel() // of Prepare, which is over
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := res.Next(); err != nil || rec.NumRows() != 1 {
		t.Errorf("%v %v", rec, err)
	}
	_, err = e.Prepare(done, query.Statement{SQL: "select 1"}, memTables{})
	checkError(t, "Prepare after cancel", err, query.ClassCanceled, "canceled")
	q, err := e.Prepare(t.Context(), query.Statement{SQL: "select 1"}, memTables{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	_, err = q.Run(done)
	checkError(t, "Run after cancel", err, query.ClassCanceled, "canceled")
}

// Close of the engine or of the statement, from another goroutine, ends a stalled Next.
func TestClose_EndsARunningStatement(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"statement", "engine"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			e, err := New(EngineConfig{Threads: 2, SpillDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			table := ordersTable(t, 3)
			stalled := make(chan struct{})
			table.hook = func(ctx context.Context, batch int) error {
				if batch == 1 {
					close(stalled)
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			p, err := e.Prepare(t.Context(), query.Statement{SQL: "select sum(id) from t"}, memTables{"t": table})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() {
				res, err := p.Run(t.Context())
				if err == nil {
					_, err = res.Next()
				}
				ended <- err
			}()
			<-stalled
			if which == "engine" {
				err = e.Close()
			} else {
				err = p.Close()
			}
			if err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil || err == io.EOF {
				t.Errorf("the statement ended with %v", err)
			}
			if err := errors.Join(p.Close(), e.Close(), e.Close()); err != nil {
				t.Error(err)
			}
			if _, err := e.Prepare(t.Context(), query.Statement{SQL: "select 1"}, memTables{}); err == nil {
				t.Error("a closed engine prepares")
			}
		})
	}
}

func TestCount_OnlyRows(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	for _, inexact := range []bool{false, true} {
		table := ordersTable(t, 3)
		table.inexact = inexact
		lines, err := run(t.Context(), e, query.Statement{SQL: "select count(*), count(*) filter (true) from t"}, memTables{"t": table})
		if err != nil || strings.Join(lines, "") != "15000|15000" {
			t.Errorf("%v %v", lines, err)
		}
		opened := table.opened()
		if !inexact && len(opened) != 0 {
			t.Errorf("metadata knew, and yet %+v", opened)
		}
		if inexact && (len(opened) != 1 || !opened[0].RowsOnly || len(opened[0].Columns) != 0) {
			t.Errorf("opened %+v", opened)
		}
	}
}

// L40: a filtered and a limited scan give the same rows every time, whatever runs beside them.
func TestL40_SameRowsEveryRun(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 2})
	tables := memTables{"t": ordersTable(t, 4)}
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct{ sql, want string }{
				{"select id from t where region = 'us' and total > 4 limit 3", "19\n25\n31"},
				{"select sum(id) from t where id in (select id from t where id % 7 = 3) and region = 'eu'", "9529047"},
			} {
				lines, err := run(t.Context(), e, query.Statement{SQL: c.sql}, tables)
				if got := strings.Join(lines, "\n"); err != nil || got != c.want {
					t.Errorf("%s: %s %v", c.sql, got, err)
				}
			}
		})
	}
}
