//go:build duckdb_arrow && cgo

package duckdb

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/query"
)

// cpu is the processor time of the whole process, DuckDB's threads too, in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

var benchSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String},
	{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_us},
}, nil)

// benchTable has 10M rows of the five columns: int64, float64, int32 with nulls, an 18-byte string, timestamptz. All batches
// share their buffers in turn, so that memory stays small.
func benchTable(tb testing.TB) *memTable {
	const rows, batchRows, distinct = 10_000_000, 50_000, 20
	var kinds []arrow.RecordBatch
	for k := range distinct {
		b := array.NewRecordBuilder(arrowmem.DefaultAllocator, benchSchema)
		for i := range batchRows {
			n := k*batchRows + i
			b.Field(0).(*array.Int64Builder).Append(int64(n))
			b.Field(1).(*array.Float64Builder).Append(float64(n) / 7)
			if n%10 == 0 {
				b.Field(2).AppendNull()
			} else {
				b.Field(2).(*array.Int32Builder).Append(int32(n % 100))
			}
			b.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("user-%013d", n*7919%1_000_003))
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(n)*1000))
		}
		kinds = append(kinds, b.NewRecordBatch())
		b.Release()
	}
	var all []arrow.RecordBatch
	for i := range rows / batchRows {
		all = append(all, kinds[i%distinct])
	}
	m := newMemTable(all...)
	m.anyone = true
	return m
}

var benchStatements = []struct{ name, sql string }{
	{"count,sum", "select count(*), sum(x) from %s"},
	{"group", "select k, count(*), sum(x) from %s group by k"},
	{"five", "select count(id), sum(x), count(k), max(s), max(ts) from %s"},
	{"string", "select count(s) from %s"},
	{"ints", "select sum(id) from %s"},
	{"all columns out", "select * from %s"},
	{"like", "select count(*) from %s where s like '%%9999%%'"},
}

// BenchmarkScan hands 10M rows in memory to DuckDB; cpu-ns/row is processor time of the run without planning, the least of
// the iterations, since whatever disturbs only adds. side=own is this package, side=table DuckDB's own table with the same
// rows.
func BenchmarkScan(b *testing.B) {
	table := benchTable(b)
	for _, s := range benchStatements {
		b.Run("statement="+s.name+"/side=own", func(b *testing.B) {
			e := testEngine(b, EngineConfig{MemoryShare: 4 << 30})
			b.ReportAllocs()
			spent := int64(math.MaxInt64)
			for b.Loop() {
				p, err := e.Prepare(b.Context(), query.Statement{SQL: fmt.Sprintf(s.sql, "t")}, memTables{"t": table})
				if err != nil {
					b.Fatal(err)
				}
				start := cpu()
				res, err := p.Run(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range res.All() {
					if err != nil {
						b.Fatal(err)
					}
				}
				spent = min(spent, cpu()-start)
				if err := res.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(spent)/float64(table.rows), "cpu-ns/row")
		})
	}
	in := benchOracle(b, table)
	for _, s := range benchStatements {
		b.Run("statement="+s.name+"/side=table", func(b *testing.B) {
			spent := int64(math.MaxInt64)
			for b.Loop() {
				start := cpu()
				if err := in.exec(fmt.Sprintf(s.sql, "t")); err != nil {
					b.Fatal(err)
				}
				spent = min(spent, cpu()-start)
			}
			b.ReportMetric(float64(spent)/float64(table.rows), "cpu-ns/row")
		})
	}
}

func benchOracle(b *testing.B, table *memTable) *instance {
	in, err := openInstance(settings{threads: 2, memory: 4 << 30, spill: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	fn, err := registerFunction(in)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.close(); fn.close() })
	fn.running(b.Context())
	r := &reference{key: "t", utc: true}
	r.Name, r.Table = []string{"t"}, table
	r.makeColumns()
	fn.refs["t"] = r
	if err := in.exec("CREATE TABLE t AS SELECT * EXCLUDE (__n) FROM lakescan('t')"); err != nil {
		b.Fatal(err)
	}
	return in
}

// BenchmarkPlan is one statement from text to plan, and with its run over a table of one row.
func BenchmarkPlan(b *testing.B) {
	for _, s := range []struct{ name, sql string }{
		{"small", "select i from t where l > 5"},
		{"join", "select a.i, count(*) from t a join t b on a.l = b.l where a.s = 'x' and b.day > date '2026-01-01' group by all order by 2 limit 10"},
		{"in1000", "select i from t where s in (" + strings.Repeat("'some text',", 999) + "'x')"},
	} {
		b.Run("statement="+s.name, func(b *testing.B) {
			e := testEngine(b, EngineConfig{})
			table := planTable()
			start := cpu()
			for b.Loop() {
				p, err := e.Prepare(b.Context(), query.Statement{SQL: s.sql}, memTables{"t": table})
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-start)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
	b.Run("statement=none/open only", func(b *testing.B) {
		start := cpu()
		for b.Loop() {
			set := settings{threads: 2, memory: 64 << 20, spill: b.TempDir()}
			in, err := openInstance(set)
			if err != nil {
				b.Fatal(err)
			}
			if err := in.confine(set); err != nil {
				b.Fatal(err)
			}
			in.close()
		}
		b.ReportMetric(float64(cpu()-start)/float64(b.N)/1e6, "cpu-ms/op")
	})
}
