package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/parquet"
)

func main() {
	count := flag.Int("count", 2100, "files")
	seed := flag.Uint64("seed", 1, "of the first file; the others follow")
	filters := flag.Int("filters", 20, "random filters a file")
	script := flag.String("judge", "judge.py", "the other readers")
	keep := flag.String("keep", "", "a folder for the files that differ")
	verbose := flag.Bool("v", false, "say what each file is")
	flag.Parse()
	if err := run(context.Background(), *script, *seed, *count, *filters, *keep, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "parquetdiff:", err)
		os.Exit(1)
	}
}

// tally of a run.
type tally struct {
	files, rows, cells, filters, skips, refusedByWriter int
	compared                                            map[string]int // columns, by reader
	known                                               map[string]int // faults of others, by their reason
	example                                             map[string]uint64
	differences                                         []string
}

func (t *tally) knownFault(reason string, seed uint64) {
	if t.known[reason]++; t.known[reason] == 1 {
		t.example[reason] = seed
	}
}

func run(ctx context.Context, script string, seed uint64, count, filters int, keep string, verbose bool) (err error) {
	dir, err := os.MkdirTemp(shm(), "parquetdiff")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j, err := startJudge(script)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	t := &tally{compared: map[string]int{}, known: map[string]int{}, example: map[string]uint64{}}
	start := time.Now()
	for s := seed; s < seed+uint64(count); s++ {
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", s))
		about, err := write(j, s, path)
		if err != nil {
			t.refusedByWriter++
			if verbose {
				fmt.Printf("seed %d: not written: %v\n", s, err)
			}
			continue
		}
		if verbose {
			fmt.Printf("seed %d: %s\n", s, about)
		}
		before := len(t.differences)
		if err := t.file(ctx, j, s, path, filters); err != nil {
			return fmt.Errorf("seed %d: %w", s, err)
		}
		for _, d := range t.differences[before:] {
			fmt.Printf("seed %d DIFFERS: %s\n    %s\n", s, d, about)
			if keep != "" {
				b, _ := os.ReadFile(path)
				_ = os.WriteFile(filepath.Join(keep, filepath.Base(path)), b, 0o644)
			}
		}
		_ = os.Remove(path)
	}
	return t.report(seed, count, time.Since(start))
}

// shm keeps the files in memory where the machine has such a place.
func shm() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func write(j *judge, seed uint64, path string) (about string, err error) {
	if seed%2 == 1 {
		var a struct{ About string }
		err := j.ask(map[string]any{"op": "write", "seed": seed, "path": path}, &a)
		return "PyArrow: " + a.About, err
	}
	b, about, err := writeGo(seed)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	return "parquet-go: " + about, err
}

// file compares everything about one file; the error is of the harness.
func (t *tally) file(ctx context.Context, j *judge, seed uint64, path string, filters int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t.files++
	differ := func(format string, args ...any) { t.differences = append(t.differences, fmt.Sprintf(format, args...)) }
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	w, err := readOwn(ctx, b, parquet.Options{Allocator: mem})
	if err != nil {
		differ("lakescan: %v", err)
		return nil
	}
	defer func() {
		w.release()
		if n := mem.CurrentAlloc(); n != 0 {
			differ("lakescan: %d bytes not given back", n)
		}
	}()
	t.rows += len(w.rows)
	t.cells += len(w.rows) * len(w.columns)
	r := rand.New(rand.NewPCG(seed, 0xf117e5))
	again, err := readOwn(ctx, b, small(r, mem))
	if err != nil {
		differ("lakescan in small windows: %v", err)
	} else {
		if i, a, b := firstDifference(w.rows, again.rows); i >= 0 {
			differ("lakescan whole and in small windows: row %d: %s, %s", i, a, b)
		}
		again.release()
	}
	others, err := j.read(path)
	if err != nil {
		return err
	}
	for _, o := range others {
		t.compare(w, o, seed, differ)
	}
	for range filters {
		t.filter(ctx, r, w, b, parquet.Options{Allocator: mem, UnitBytes: pick(r, 0, int64(500))}, differ)
	}
	return nil
}

func (t *tally) compare(w *whole, o reading, seed uint64, differ func(string, ...any)) {
	for name, own := range w.columns {
		if why, ok := o.refused[name]; ok {
			if reason := knownRefusal(o.reader, why); reason != "" {
				t.knownFault(o.reader+" refuses: "+reason, seed)
			} else {
				differ("%s: %s refuses: %s", name, o.reader, why)
			}
			continue
		}
		theirs, ok := o.columns[name]
		if !ok {
			differ("%s: not among the columns of %s", name, o.reader)
			continue
		}
		t.compared[o.reader]++
		if !sameType(own, theirs, o.reader) {
			if reason := knownType(o.reader, own, theirs); reason != "" {
				t.knownFault(o.reader+": "+reason, seed)
			} else {
				differ("%s: type %s, %s of %s", name, own.name(), theirs.name(), o.reader)
			}
			continue
		}
		mine, others := sameValues(own, theirs, o.reader)
		i, a, b := firstDifference(mine, others)
		if i < 0 {
			continue
		}
		if reason := knownDifference(o.reader, own, theirs); reason != "" {
			t.knownFault(o.reader+": "+reason, seed)
			continue
		}
		differ("%s (%s): row %d: %s, %s of %s", name, own.name(), i, a, b, o.reader)
	}
}

// firstDifference is -1 if there is none.
func firstDifference(a, b []string) (i int, x, y string) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i, a[i], b[i]
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b)), fmt.Sprintf("%d rows", len(a)), fmt.Sprintf("%d rows", len(b))
	}
	return -1, "", ""
}

func (t *tally) filter(ctx context.Context, r *rand.Rand, w *whole, b []byte, o parquet.Options, differ func(string, ...any)) {
	e := randomFilter(r, w)
	if e == nil {
		return
	}
	t.filters++
	want, err := w.selects(e)
	if err != nil {
		differ("filter %s: %v", e, err)
		return
	}
	got, skipped, err := filtered(ctx, b, e, o)
	if err != nil {
		differ("filter %s, pruned: %v", e, err)
		return
	}
	t.skips += skipped
	if i, a, b := firstDifference(want, got); i >= 0 {
		differ("filter %s: row %d: %s unpruned, %s pruned", e, i, a, b)
	}
}

func (t *tally) report(seed uint64, count int, took time.Duration) error {
	fmt.Printf("%d files (seeds %d to %d; %d refused by their writer), %d rows, %d values, compared with %v columns; %d filters, %d row groups pruned in whole or part by them; %v\n",
		t.files, seed, seed+uint64(count)-1, t.refusedByWriter, t.rows, t.cells, t.compared, t.filters, t.skips, took.Round(time.Second))
	for _, k := range slices.Sorted(maps.Keys(t.known)) {
		fmt.Printf("  known: %5d columns, first in seed %d: %s\n", t.known[k], t.example[k], k)
	}
	fmt.Printf("%d differences\n", len(t.differences))
	if len(t.differences) > 0 {
		return fmt.Errorf("%d differences; a seed is replayed by -seed N -count 1", len(t.differences))
	}
	return nil
}
