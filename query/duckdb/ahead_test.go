//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
)

// meeting is tables none of which gives a row before all of them are open.
type meeting struct {
	memTables
	mu      sync.Mutex
	missing map[string]bool
	all     chan struct{}
}

func newMeeting(tables memTables) *meeting {
	m := &meeting{memTables: tables, missing: map[string]bool{}, all: make(chan struct{})}
	for name, t := range tables {
		m.missing[name] = true
		t.hook = func(ctx context.Context, _ int) error {
			select {
			case <-m.all:
				return nil
			case <-ctx.Done():
				return errors.New("a table was not opened before another one was read")
			}
		}
	}
	return m
}

func (m *meeting) Load(ctx context.Context, name []string, v iceberg.Version) (query.Table, error) {
	t, err := m.memTables.Load(ctx, name, v)
	return meetingTable{t, m, name[0]}, err
}

type meetingTable struct {
	query.Table
	meeting *meeting
	name    string
}

func (t meetingTable) Open(ctx context.Context, n query.Need) (query.Reader, error) {
	m := t.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.missing, t.name); len(m.missing) == 0 {
		close(m.all)
	}
	return t.Table.Open(ctx, n)
}

// The scans of a join begin together, so that their first round trips are shared, though DuckDB reads one after another.
func TestRun_OpensTheTablesOfAJoinTogether(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a bound of the failure only
	defer cancel()
	a, b, c := ordersTable(t, 1), ordersTable(t, 2), ordersTable(t, 1)
	got, err := run(ctx, e, query.Statement{
		SQL: "select count(*) from a join b on a.id = b.id where b.day > date '2024-10-10' and a.id in (select id from c where total > 3)",
	}, newMeeting(memTables{"a": a, "b": b, "c": c}))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	for name, table := range map[string]*memTable{"a": a, "b": b, "c": c} {
		if n := len(table.opened()); n != 1 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
}

// A scan that a LIMIT may make needless is not opened before DuckDB asks for it.
func TestRun_OpensNothingAheadBelowALimit(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 1})
	probe, b, c := ordersTable(t, 20), ordersTable(t, 1), ordersTable(t, 1)
	fault := errors.New("no more")
	hook := func(context.Context, int) error { return fault }
	b.hook, c.hook = hook, hook
	_, err := run(t.Context(), e, query.Statement{SQL: "select probe.id from probe join b using (id) join c using (id) limit 3"}, memTables{"probe": probe, "b": b, "c": c})
	if !errors.Is(err, fault) {
		t.Fatalf("%v", err)
	}
	if n := len(probe.opened()); n != 0 {
		t.Errorf("the table below the limit was opened %d times", n)
	}
}

// What was opened ahead and never read is closed with the statement.
func TestRun_ClosesWhatItOpenedAhead(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 1})
	a, b := ordersTable(t, 1), ordersTable(t, 1) // their cleanup counts open readers
	fault := errors.New("no more")
	hook := func(context.Context, int) error { return fault }
	a.hook, b.hook = hook, hook
	_, err := run(t.Context(), e, query.Statement{SQL: "select sum(a.total) from a join b using (id)"}, memTables{"a": a, "b": b})
	if !errors.Is(err, fault) {
		t.Fatalf("%v", err)
	}
}
