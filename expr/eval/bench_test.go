package eval_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/expr/exprtest"
)

// BenchmarkEval reports ns a row over batches of 8192 rows. The baseline is a plain loop in Go over one int64 column.
func BenchmarkEval(b *testing.B) {
	const rows = 8192
	r := rand.New(rand.NewPCG(1, 1))
	type col struct {
		name string
		typ  arrow.DataType
		val  func(i int) any
	}
	words := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu")
	cols := []col{
		{"i64", arrow.PrimitiveTypes.Int64, func(int) any { return r.Int64N(1000) }},
		{"i32", arrow.PrimitiveTypes.Int32, func(int) any { return r.Int64N(1000) }},
		{"f64", arrow.PrimitiveTypes.Float64, func(int) any { return r.Float64() }},
		{"dec", &arrow.Decimal128Type{Precision: 12, Scale: 2}, nil},
		{"s", arrow.BinaryTypes.String, func(i int) any { return fmt.Sprintf("%s %d", words[r.IntN(12)], i) }},
		{"d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, func(int) any { return words[r.IntN(12)] }},
	}
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, c := range cols {
		vals := make([]any, rows)
		for k := range vals {
			if k%16 != 0 && c.val != nil {
				vals[k] = c.val(k)
			} else if k%16 != 0 {
				vals[k] = exprtest.Random(r, c.typ)
			}
		}
		fields = append(fields, field(c.name, i+1, c.typ))
		arrays = append(arrays, exprtest.Array(memory.DefaultAllocator, c.typ, vals))
	}
	schema := schemaOf(fields...)
	rec := array.NewRecordBatch(schema, arrays, rows)
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	}
	b.Run("baseline loop i64 < 500", func(b *testing.B) {
		a := arrays[0].(*array.Int64)
		out := make([]bool, rows)
		for b.Loop() {
			for i, v := range a.Int64Values() {
				out[i] = v < 500 && a.IsValid(i)
			}
		}
		perRow(b)
	})
	for _, text := range []string{
		`i64 < 500`, `i64 between 100 and 600`, `i32 = 7`, `f64 > 0.5`, `dec > 0`, `i64 in (1, 7, 900)`, `i64 in (1, 7, 9000000)`,
		`s = 'gamma 77'`, `s > 'gamma'`, `s like 'gam%'`, `s like '%ta%5'`, `s in ('beta 5', 'mu 11')`, `d = 'gamma'`, `d like '%ta%'`,
		`i64 < 10 and s like '%ta%5'`, `i64 < f64`, `i64 is null`,
	} {
		b.Run(text, func(b *testing.B) {
			ev, err := eval.New(bind(b, text, schema), schema)
			if err != nil {
				b.Fatal(err)
			}
			var sel eval.Selection
			b.ReportAllocs()
			for b.Loop() {
				if err := ev.Eval(rec, &sel); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b)
		})
	}
}
