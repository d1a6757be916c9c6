// Command parquetbench compares decoders on files made in memory: CPU per run, allocations, and ratios within the run.
// The line "floor" decompresses all pages and does nothing else.
//
//	GOMAXPROCS=1 go run . -rounds 7 -files lineitem
//	go run . -report                                    everything beside DuckDB, with the targets, as Markdown (make bench-parquet)
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/lakescan/lakescan/parquet"
)

func specs(scale float64) []spec {
	n := func(rows int) int { return int(float64(rows) * scale) }
	z, sn, un := compress.Codecs.Zstd, compress.Codecs.Snappy, compress.Codecs.Uncompressed
	return []spec{
		{name: "lineitem zstd", kind: "lineitem", rows: n(1 << 20), group: 122880, codec: z},
		{name: "lineitem zstd 1M groups", kind: "lineitem", rows: n(1 << 20), group: 1 << 20, codec: z},
		{name: "lineitem snappy", kind: "lineitem", rows: n(1 << 20), group: 122880, codec: sn},
		{name: "lineitem plain", kind: "lineitem", rows: n(1 << 20), group: 122880, codec: un},
		{name: "lineitem zstd v2 delta split", kind: "lineitem", rows: n(1 << 20), group: 122880, codec: z, v2: true},
		{name: "lineitem zstd small pages", kind: "lineitem", rows: n(1 << 20), group: 122880, codec: z, page: 64 << 10, batch: 1024},
		{name: "log zstd", kind: "log", rows: n(1 << 19), group: 122880, codec: z},
		{name: "log snappy", kind: "log", rows: n(1 << 19), group: 122880, codec: sn},
		{name: "log plain", kind: "log", rows: n(1 << 19), group: 122880, codec: un},
		{name: "wide zstd", kind: "wide", rows: n(300000), group: 1 << 20, codec: z},
		{name: "wide zstd no dictionary", kind: "wide", rows: n(300000), group: 1 << 20, codec: z, plain: true},
		{name: "wide snappy", kind: "wide", rows: n(300000), group: 1 << 20, codec: sn},
		{name: "nested zstd", kind: "nested", rows: n(1 << 18), group: 122880, codec: z},
	}
}

func readers(unit int64) []reader {
	return []reader{
		{"own", func(b []byte, s spec) (int64, error) { return own(b, nil, 1, parquet.Options{UnitBytes: unit}) }},
		{"views", func(b []byte, s spec) (int64, error) { return ownStrings(b, arrow.BinaryTypes.StringView) }},
		{"dictionary", func(b []byte, s spec) (int64, error) {
			return ownStrings(b, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String})
		}},
		{"floor", func(b []byte, s spec) (int64, error) { return floor(b, -1) }},
		{"arrow-go", func(b []byte, s spec) (int64, error) { return arrowGo(b, nil) }},
		{"parquet-go", func(b []byte, s spec) (int64, error) { return parquetGo(b) }},
	}
}

func main() {
	rounds := flag.Int("rounds", 5, "runs of each reader; the median counts")
	scale := flag.Float64("scale", 1, "rows, as a factor")
	only := flag.String("files", "", "files whose name begins so, separated by commas")
	with := flag.String("readers", "", "readers, separated by commas")
	workers := flag.Bool("workers", false, "compare one and two goroutines, wall clock")
	column := flag.String("column", "", "with -each: only this column")
	profile := flag.String("profile", "", "write a CPU profile of all runs")
	allocs := flag.String("allocs", "", "write a profile of all allocations of all runs; makes them slow")
	markdown := flag.Bool("report", false, "everything, with DuckDB and the targets, as Markdown")
	unit := flag.Int64("unit", 0, "bytes of a unit, 0 = the default")
	each := flag.Bool("each", false, "time every column by itself, least of the rounds")
	flag.Parse()
	startProfile := func() {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if *markdown {
		if err := report(*scale, *only, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	defer pprof.StopCPUProfile()
	defer writeAllocs(*allocs)
	for _, s := range specs(*scale) {
		if !slices.ContainsFunc(strings.Split(*only, ","), func(p string) bool { return strings.HasPrefix(s.name, p) }) {
			continue
		}
		b, err := write(s)
		if *profile != "" {
			startProfile()
			*profile = ""
		}
		if *allocs != "" {
			runtime.MemProfileRate = 1
		}
		if err == nil && *each {
			err = columnByColumn(s, b, *rounds, *column)
		} else if err == nil && *workers {
			err = twoWorkers(s, b, *rounds)
		} else if err == nil {
			err = measure(s, b, *rounds, *with, *unit)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, s.name, err)
			os.Exit(1)
		}
	}
}

func writeAllocs(name string) {
	if name == "" {
		return
	}
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs the readers in turn, so that a busy machine harms all alike.
func measure(s spec, b []byte, rounds int, with string, unit int64) error {
	rs := readers(unit)
	if with != "" {
		rs = slices.DeleteFunc(rs, func(r reader) bool { return !slices.Contains(strings.Split(with, ","), r.name) })
	}
	times := make([][]time.Duration, len(rs))
	allocs := make([]uint64, len(rs))
	for round := range rounds + 1 {
		for i, r := range rs {
			runtime.GC()
			var m0, m1 runtime.MemStats
			runtime.ReadMemStats(&m0)
			start := cpu()
			rows, err := r.run(b, s)
			spent := cpu() - start
			runtime.ReadMemStats(&m1)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if rows != int64(s.rows) {
				return fmt.Errorf("%s: %d rows instead of %d", r.name, rows, s.rows)
			}
			if round > 0 { // the first warms up
				times[i] = append(times[i], spent)
				allocs[i] = m1.Mallocs - m0.Mallocs
			}
		}
	}
	fmt.Printf("%-30s %8d rows %6.1f MB", s.name, s.rows, float64(len(b))/1e6)
	base := median(times[0])
	for i, r := range rs {
		m := median(times[i])
		fmt.Printf("  %s %.0f ms", r.name, float64(m.Microseconds())/1e3)
		if i > 0 {
			fmt.Printf(" (%.2f)", float64(base)/float64(m))
		}
		if r.name != "floor" {
			fmt.Printf(" %d allocs", allocs[i])
		}
	}
	fmt.Println()
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func twoWorkers(s spec, b []byte, rounds int) error {
	var walls [2][]time.Duration
	for range rounds + 1 {
		for w := range walls {
			start := time.Now()
			if _, err := own(b, nil, w+1, parquet.Options{}); err != nil {
				return err
			}
			walls[w] = append(walls[w], time.Since(start))
		}
	}
	one, two := median(walls[0][1:]), median(walls[1][1:])
	fmt.Printf("%-30s wall: 1 goroutine %v, 2 %v, speed-up %.2f\n", s.name, one, two, float64(one)/float64(two))
	return nil
}

// columnByColumn prints nanoseconds a value above the floor.
func columnByColumn(s spec, b []byte, rounds int, only string) error {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return err
	}
	for i, c := range f.Schema().Fields() {
		if only != "" && c.Name != only {
			continue
		}
		best := [2]time.Duration{1 << 60, 1 << 60}
		for range rounds {
			start := cpu()
			if _, err := own(b, []string{c.Name}, 1, parquet.Options{}); err != nil {
				return err
			}
			best[0] = min(best[0], cpu()-start)
			start = cpu()
			if _, err := floor(b, i); err != nil {
				return err
			}
			best[1] = min(best[1], cpu()-start)
		}
		per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(s.rows) }
		fmt.Printf("%-24s %-16s %-18v own %6.2f floor %6.2f above %6.2f ns a value\n", s.name, c.Name, c.Type, per(best[0]), per(best[1]), per(best[0])-per(best[1]))
	}
	return nil
}
