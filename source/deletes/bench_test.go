package deletes

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/memory"
)

// BenchmarkEquality is the whole cost of equality deletes: n delete files of 2 000 keys against n data files of 2 000 rows, a
// table that was upserted n times. Linear means that 100 commits cost twice what 50 do.
func BenchmarkEquality(b *testing.B) {
	const keys = 2000
	for _, commits := range []int{50, 100} {
		b.Run(fmt.Sprintf("commits=%d", commits), func(b *testing.B) {
			k := field(1, "k", arrow.PrimitiveTypes.Int64)
			column := func(from int) arrow.RecordBatch {
				rb := array.NewRecordBuilder(arrowmem.DefaultAllocator, arrow.NewSchema([]arrow.Field{k}, nil))
				for i := range keys {
					rb.Field(0).(*array.Int64Builder).Append(int64(from + i))
				}
				return rb.NewRecordBatch()
			}
			s := &shelf{objects: map[string][]byte{}}
			g := &Group{Key: []arrow.Field{k}}
			var data []arrow.RecordBatch
			for i := range commits {
				g.Files = append(g.Files, File{s.put(fmt.Sprint(i), parquetFile(b, keys, column(i*keys/2))), int64(i + 1)})
				data = append(data, column(i*keys/2))
			}
			budget, err := memory.New(memory.Config{Limit: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				l := NewLoader(Config{Fetcher: s, Budget: budget})
				for i, rec := range data {
					a, err := l.Load(b.Context(), target(fmt.Sprint(i), keys, int64(i)), Set{Equality: []*Group{g}})
					if err != nil {
						b.Fatal(err)
					}
					if _, n, err := a.Mask(nil, rec.Columns()); err != nil || n == 0 {
						b.Fatal(n, err)
					}
					a.Release()
				}
				l.Close()
			}
			b.ReportMetric(float64(commits*keys), "rows/op")
		})
	}
}
