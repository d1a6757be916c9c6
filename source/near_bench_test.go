package source

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/parquet/pool"
	"github.com/lakescan/lakescan/prefetchpool"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/internal/parquetfile"
)

// BenchmarkNearStore is the guarantee for what is cached or local: auto beside depth 0 on a store that answers at once, in turns, first one
// and then the other. It reports medians of the ratios, wall/off and cpu/off; neither should pass 1.01.
//
//	go test -run '^$' -bench NearStore -benchtime 20x ./source
func BenchmarkNearStore(b *testing.B) {
	for rows, files := range map[int]int{2_000: 400, 10_000: 100, 100_000: 40} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			store, infos, schema := nearFiles(b, files, rows)
			budget, err := memory.New(memory.Config{Limit: 1 << 30})
			if err != nil {
				b.Fatal(err)
			}
			p, err := prefetchpool.New(prefetchpool.Config{})
			if err != nil {
				b.Fatal(err)
			}
			buffers := pool.New(nil, 64<<20, nil)
			scan := func(d Depth) (wall, cpu float64) {
				cfg := Config{Store: store, Budget: budget, Schema: schema, Depth: d, Allocator: buffers}
				start, used := time.Now(), processor()
				if d != Off {
					cfg.Lane = p.Lane(prefetchpool.LaneConfig{Link: "near"})
				}
				r, err := Open(b.Context(), List(infos, nil), cfg)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range r.All() {
					if err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(start).Seconds(), (processor() - used).Seconds()
			}
			scan(Off)
			scan(Auto)
			var walls, cpus []float64
			for turn := 0; b.Loop(); turn++ {
				order := []Depth{Off, Auto}
				if turn%2 == 1 {
					slices.Reverse(order)
				}
				got := map[Depth][2]float64{}
				for _, d := range order {
					w, c := scan(d)
					got[d] = [2]float64{w, c}
				}
				walls = append(walls, got[Auto][0]/got[Off][0])
				cpus = append(cpus, got[Auto][1]/got[Off][1])
			}
			slices.Sort(walls)
			slices.Sort(cpus)
			b.ReportMetric(walls[len(walls)/2], "wall/off")
			b.ReportMetric(cpus[len(cpus)/2], "cpu/off")
		})
	}
}

func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// nearFiles are n files of so many rows in one column.
func nearFiles(tb testing.TB, n, rows int) (store *mem.Store, infos []object.Info, schema *arrow.Schema) {
	tb.Helper()
	schema = arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Metadata: arrow.MetadataFrom(map[string]string{"PARQUET:field_id": "1"})}}, nil)
	rb := array.NewRecordBuilder(arrowmem.DefaultAllocator, schema)
	for i := range rows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i) * 2654435761 % 1000003)
	}
	data, err := parquetfile.Write(parquetfile.Options{GroupRows: 50_000}, rb.NewRecordBatch())
	if err != nil {
		tb.Fatal(err)
	}
	store = mem.New()
	for i := range n {
		infos = append(infos, store.Put(fmt.Sprintf("s3://near/%d.parquet", i), data))
	}
	return store, infos, schema
}
