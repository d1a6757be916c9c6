//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ordersSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "region", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "total", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
}, nil)

// orders has rows first, first+1, … ; every 7th region and every 11th total is null.
func orders(mem arrowmem.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, ordersSchema)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append([]string{"eu", "us", "a region with a long name"}[i%3])
		}
		if i%11 == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Float64Builder).Append(float64(i) / 4)
		}
		b.Field(3).(*array.Date32Builder).Append(arrow.Date32(20000 + i%100))
	}
	return b.NewRecordBatch()
}

// ordersTable has batches of 5,000 rows, so that a chunk is cut at odd places.
func ordersTable(tb testing.TB, batches int) *memTable {
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	var recs []arrow.RecordBatch
	for i := range batches {
		recs = append(recs, orders(mem, i*5000, 5000))
	}
	m := newMemTable(recs...)
	tb.Cleanup(func() {
		for _, r := range recs {
			r.Release()
		}
		mem.AssertSize(tb, 0)
		if n := m.open.Load(); n != 0 {
			tb.Errorf("%d readers left open", n)
		}
	})
	return m
}

func TestQuery_Answers(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	tables := memTables{"sales.orders": ordersTable(t, 4)}
	for _, c := range []struct{ sql, want string }{
		{"select count(*) from sales.orders", "20000"},
		{"select count(*), sum(id), count(total) from sales.orders", "20000|199990000|18181"},
		{"select region from sales.orders where id = 1234", "us"},
		{"select id, day from sales.orders where region is null and id > 19990", "19992|2025-01-04\n19999|2025-01-11"},
		{"select region, count(*) from sales.orders group by all order by all", "a region with a long name|5714\neu|5714\nus|5714\n(null)|2858"},
		{"select count(*) from sales.orders a join sales.orders b using (id) where a.id < 10 and b.region = 'eu'", "3"},
		{"select orders.id from sales.orders order by sales.orders.id desc limit 2", "19999\n19998"},
		{"select max(region), min(region) from sales.orders where total > 100", "us|a region with a long name"},
		{"with o as (from sales.orders) select count(*) from o where id % 2 = 0", "10000"},
		{"select typeof(id), typeof(day) from sales.orders limit 1", "BIGINT|DATE"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			t.Parallel()
			lines, err := run(t.Context(), e, query.Statement{SQL: c.sql}, tables)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestQuery_KeepsFileOrder(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{Threads: 4})
	lines, err := run(t.Context(), e, query.Statement{SQL: "select id from o where id % 3 = 1"}, memTables{"o": ordersTable(t, 8)})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		if l != fmt.Sprint(3*i+1) {
			t.Fatalf("row %d is %s, not %d", i, l, 3*i+1)
		}
	}
}
