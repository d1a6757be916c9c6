//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
)

// shortTables has a table that promises a decimal in 128 bits and gives it in 64.
type shortTables struct{ wide, short *memTable }

func (t shortTables) Load(context.Context, []string, iceberg.Version) (query.Table, error) {
	return shortTable{t.wide, t.short}, nil
}

type shortTable struct {
	*memTable
	short *memTable
}

func (t shortTable) Open(ctx context.Context, n query.Need) (query.Reader, error) {
	return t.short.Open(ctx, n)
}

func TestDecimalsMayComeInEightBytes(t *testing.T) {
	t.Parallel()
	wide, short := &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal64Type{Precision: 15, Scale: 2}
	a := array.NewDecimal128Builder(arrowmem.DefaultAllocator, wide)
	b := array.NewDecimal64Builder(arrowmem.DefaultAllocator, short)
	for i := range int64(5000) {
		if i%3 == 0 {
			a.AppendNull()
			b.AppendNull()
			continue
		}
		v := (i - 2500) * 1_000_000_007
		a.Append(decimal128.FromI64(v))
		b.Append(decimal.Decimal64(v))
	}
	table := func(x arrow.Array) *memTable {
		return newMemTable(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "d", Type: x.DataType(), Nullable: true}}, nil), []arrow.Array{x}, int64(x.Len())))
	}
	tables := shortTables{table(a.NewArray()), table(b.NewArray())}
	e := testEngine(t, EngineConfig{Threads: 1})
	st := query.Statement{SQL: "select sum(d), count(d), min(d), max(d), sum(d) filter (d > 0) from t"}
	want, err := run(t.Context(), e, st, memTables{"t": tables.wide})
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t.Context(), e, st, tables)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
