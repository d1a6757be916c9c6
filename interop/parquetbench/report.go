package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet"
)

// figures of one file, medians; CPU of one thread.
type figures struct {
	spec
	bytes                                 int
	own, arrow, parquetGo, duckdb, floor  time.Duration
	allocs, allocated                     uint64
	peak                                  int64
	wall1, wall2                          time.Duration
	floor1, floor2                        time.Duration // wall, of one bare decompression and of two at once
	values                                float64
	ownColumns, arrowColumns, duckColumns time.Duration // three columns of sixteen, lineitem zstd
	floorColumns                          time.Duration
}

// peaking is an allocator that knows the most that was taken at once.
type peaking struct {
	below     arrowmem.Allocator
	now, peak atomic.Int64
}

func (p *peaking) add(n int) {
	now := p.now.Add(int64(n))
	for was := p.peak.Load(); now > was && !p.peak.CompareAndSwap(was, now); was = p.peak.Load() {
	}
}

func (p *peaking) Allocate(n int) []byte { p.add(n); return p.below.Allocate(n) }
func (p *peaking) Free(b []byte)         { p.add(-len(b)); p.below.Free(b) }
func (p *peaking) Reallocate(n int, b []byte) []byte {
	p.add(n - len(b))
	return p.below.Reallocate(n, b)
}

var threeColumns = []string{"l_orderkey", "l_extendedprice", "l_shipdate"}

// gather measures everything about one file.
func gather(s spec, duck *duckdb, dir string, rounds int) (f figures, err error) {
	f.spec = s
	b, err := write(s)
	if err != nil {
		return f, err
	}
	f.bytes = len(b)
	path := filepath.Join(dir, "bench.parquet")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return f, err
	}
	defer os.Remove(path)
	type timed struct {
		into *time.Duration
		run  func() (time.Duration, error)
	}
	here := func(read func() (int64, error)) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			runtime.GC()
			start := cpu()
			rows, err := read()
			if err == nil && rows != int64(s.rows) {
				err = fmt.Errorf("%d rows instead of %d", rows, s.rows)
			}
			return cpu() - start, err
		}
	}
	there := func(columns []string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			d, rows, err := duck.read(path, columns)
			if err == nil && rows != int64(s.rows) {
				err = fmt.Errorf("duckdb: %d rows instead of %d", rows, s.rows)
			}
			return d, err
		}
	}
	runs := []timed{
		{&f.own, here(func() (int64, error) { return own(b, nil, 1, parquet.Options{}) })},
		{&f.floor, here(func() (int64, error) { return floor(b, -1) })},
		{&f.arrow, here(func() (int64, error) { return arrowGo(b, nil) })},
		{&f.parquetGo, here(func() (int64, error) { return parquetGo(b) })},
		{&f.duckdb, there(nil)},
	}
	if s.name == "lineitem zstd" {
		runs = append(runs,
			timed{&f.ownColumns, here(func() (int64, error) { return own(b, threeColumns, 1, parquet.Options{}) })},
			timed{&f.arrowColumns, here(func() (int64, error) { return arrowGo(b, threeColumns) })},
			timed{&f.duckColumns, there(threeColumns)},
			timed{&f.floorColumns, here(func() (int64, error) { return floor(b, 0, 5, 10) })})
	}
	times := make([][]time.Duration, len(runs))
	for round := range rounds + 1 {
		for i, r := range runs {
			d, err := r.run()
			if err != nil {
				return f, fmt.Errorf("%s: %w", s.name, err)
			}
			if round > 0 { // the first warms up
				times[i] = append(times[i], d)
			}
		}
	}
	for i, r := range runs {
		*r.into = median(times[i])
	}
	return f, f.more(b, rounds)
}

// more measures memory and two goroutines.
func (f *figures) more(b []byte, rounds int) error {
	footer, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return err
	}
	for rg := range footer.RowGroups() {
		for i := range footer.Tree().Leaves {
			f.values += float64(footer.Chunk(rg, i).NumValues)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := own(b, nil, 1, parquet.Options{}); err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	f.allocs, f.allocated = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	p := &peaking{below: recycled}
	if _, err := ownWith(b, nil, 1, parquet.Options{}, p); err != nil {
		return err
	}
	f.peak = p.peak.Load()
	runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(1)
	var walls, floorWalls [2][]time.Duration
	for range rounds {
		for w := range walls {
			start := time.Now()
			if _, err := own(b, nil, w+1, parquet.Options{}); err != nil {
				return err
			}
			walls[w] = append(walls[w], time.Since(start))
			start = time.Now()
			if err := floors(b, w+1); err != nil {
				return err
			}
			floorWalls[w] = append(floorWalls[w], time.Since(start))
		}
	}
	f.wall1, f.wall2 = median(walls[0]), median(walls[1])
	f.floor1, f.floor2 = median(floorWalls[0]), median(floorWalls[1])
	return nil
}

// footerFigures parses a footer of 10,000 chunks.
func footerFigures() (took time.Duration, perChunk float64, err error) {
	s := spec{name: "footer", kind: "wide", rows: 5000, group: 100, codec: specs(1)[0].codec}
	b, err := write(s)
	if err != nil {
		return 0, 0, err
	}
	took = time.Hour
	var before, after runtime.MemStats
	for range 20 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cpu()
		f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
		took = min(took, cpu()-start)
		if err != nil || f.RowGroups() != 50 {
			return 0, 0, fmt.Errorf("footer: %w", err)
		}
		runtime.ReadMemStats(&after)
	}
	return took, float64(after.TotalAlloc-before.TotalAlloc) / 10_000, nil
}

// report runs everything and prints Markdown.
func report(scale float64, only string, rounds int) error {
	runtime.GOMAXPROCS(1)
	dir, err := os.MkdirTemp(shm(), "parquetbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	duck, err := startDuckDB("peer.py")
	if err != nil {
		return err
	}
	defer duck.Close()
	var all []figures
	for _, s := range specs(scale) {
		if !slices.ContainsFunc(strings.Split(only, ","), func(p string) bool { return strings.HasPrefix(s.name, p) }) {
			continue
		}
		f, err := gather(s, duck, dir, rounds)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	fmt.Printf("CPU ms from memory, one thread, medians of %d runs, in turn; %d rows at scale %g.\n\n", rounds, specs(scale)[0].rows, scale)
	fmt.Println("| file | rows | MB | own | arrow-go | parquet-go | DuckDB | floor | own / arrow-go | own / parquet-go | own / DuckDB | own / floor | ns a value above the floor | allocations | allocated MB | peak MB | 2 goroutines |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d.Microseconds())/1e3) }
	for _, f := range all {
		fmt.Printf("| %s | %d | %.1f | %s | %s | %s | %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %d | %.1f | %.1f | %.2f |\n", f.name, f.rows, float64(f.bytes)/1e6, ms(f.own), ms(f.arrow), ms(f.parquetGo), ms(f.duckdb), ms(f.floor),
			ratio(f.own, f.arrow), ratio(f.own, f.parquetGo), ratio(f.own, f.duckdb), ratio(f.own, f.floor), f.above(), f.allocs, float64(f.allocated)/1e6, float64(f.peak)/1e6, ratio(f.wall1, f.wall2))
		if f.ownColumns > 0 {
			fmt.Printf("| 3 of 16 columns, zstd | %d | | %s | %s | | %s | %s | %.2f | | %.2f | %.2f | | | | | |\n", f.rows, ms(f.ownColumns), ms(f.arrowColumns), ms(f.duckColumns), ms(f.floorColumns), ratio(f.ownColumns, f.arrowColumns), ratio(f.ownColumns, f.duckColumns), ratio(f.ownColumns, f.floorColumns))
		}
	}
	return targets(all, rounds)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

func (f *figures) above() float64 { return float64(f.own-f.floor) / f.values }

// targets prints the table of targets with what was measured.
func targets(all []figures, rounds int) error {
	fmt.Print("\n| measure | measured | target | |\n|---|---|---|---|\n")
	row := func(what string, got, want float64, least bool) {
		met, sign := "met", "<="
		if least {
			sign = ">="
		}
		if least && got < want || !least && got > want {
			met = "**missed**"
		}
		fmt.Printf("| %s | %.3g | %s %g | %s |\n", what, got, sign, want, met)
	}
	find := func(name string) *figures {
		for i := range all {
			if all[i].name == name {
				return &all[i]
			}
		}
		return nil
	}
	for _, t := range []struct {
		name                              string
		arrow, parquetGo, duck, low, nsec float64
	}{{"lineitem zstd", 0.30, 0.50, 0.60, 1.35, 1.5}, {"log zstd", 0.32, 0.65, 0.70, 1.15, 3}, {"wide zstd", 0.43, 0.60, 0.40, 1.02, 0}, {"wide zstd no dictionary", 0.43, 0.60, 0.40, 1.02, 0}, {"nested zstd", 0.40, 0, 0.75, 0, 0}} {
		f := find(t.name)
		if f == nil {
			continue
		}
		row("CPU / arrow-go, "+t.name, ratio(f.own, f.arrow), t.arrow, false)
		if t.parquetGo > 0 {
			row("CPU / parquet-go, "+t.name, ratio(f.own, f.parquetGo), t.parquetGo, false)
		}
		row("CPU / DuckDB, "+t.name, ratio(f.own, f.duckdb), t.duck, false)
		if t.low > 0 {
			row("CPU / floor, "+t.name, ratio(f.own, f.floor), t.low, false)
		}
		if t.nsec > 0 {
			row("above the floor, ns a value, "+t.name, f.above(), t.nsec, false)
		}
	}
	if f := find("lineitem zstd"); f != nil {
		row("2 goroutines, wall speed-up", ratio(f.wall1, f.wall2), 1.8, true)
		fmt.Printf("| … of two bare decompressions at once, which share nothing | %.3g | | |\n", 2*ratio(f.floor1, f.floor2))
		row("memory above the bytes given, MB (a unit of 32 MiB and 4)", float64(f.peak)/1e6, 36*1.048576, false)
		row("allocations", float64(f.allocs), 2000, false)
	}
	took, perChunk, err := footerFigures()
	if err != nil {
		return err
	}
	row("footer of 10,000 chunks, ms", float64(took.Microseconds())/1e3, 2.5, false)
	row("footer of 10,000 chunks, bytes a chunk", perChunk, 150, false)
	x, err := sparse(rounds)
	if err != nil {
		return err
	}
	row("1 % of rows in ranges of 1,000, CPU of the full scan", x.cpu, 0.08, false)
	fmt.Printf("| … to decompress the pages that hold them, and the dictionaries that these use | %.3g | | |\n", x.floorCPU)
	row("1 % of rows in ranges of 1,000, bytes of the full scan", x.bytes, 0.15, false)
	fmt.Printf("| … of the pages that hold them, and the dictionaries that these use | %.3g | | |\n", x.floorBytes)
	row("filter on one column keeps 1 % in one run, CPU beyond that column, of the rest", x.together.cpu, 0.15, false)
	fmt.Printf("| … to decompress what it needs | %.3g | | |\n", x.together.floor)
	row("filter on one column keeps 1 % one by one, CPU beyond that column, of the rest", x.scattered.cpu, 0.15, false)
	fmt.Printf("| … to decompress what it needs | %.3g | | |\n", x.scattered.floor)
	return nil
}

// floors is several bare decompressions of a file at once.
func floors(b []byte, n int) error {
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := floor(b, -1)
			errs <- err
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	return err
}

// shm keeps the file in memory where the machine has such a place.
func shm() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return ""
}
