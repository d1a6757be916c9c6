package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/source"
)

type options struct {
	seed       uint64
	tables     int
	predicates int
	workers    int
	python     string
	dir        string
	readers    string
	only       string // seeds instead of a range
	keep       bool
	verbose    bool
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano())%1_000_000_000, "seed of the first table; table i has seed+i")
	flag.IntVar(&o.tables, "tables", 40, "tables")
	flag.IntVar(&o.predicates, "predicates", 20, "predicates a table")
	flag.IntVar(&o.workers, "workers", 2, "tables at a time, each with a Python process")
	flag.StringVar(&o.python, "python", "python3", "interpreter with duckdb, its extensions, pyarrow and pyiceberg")
	flag.StringVar(&o.dir, "dir", "", "where tables are written; empty = a temporary folder, removed at the end")
	flag.StringVar(&o.readers, "readers", "lakescan,duckdb,pyiceberg", "which readers take part")
	flag.StringVar(&o.only, "only", "", "these seeds, separated by commas, instead of a range")
	flag.BoolVar(&o.keep, "keep", false, "keep the tables")
	flag.BoolVar(&o.verbose, "v", false, "print each table: schemas, specs, files")
	flag.Parse()
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// tally is the outcome of all tables, under mu.
type tally struct {
	mu          sync.Mutex
	tables      int
	rows        int
	predicates  int
	comparisons map[string]int
	known       map[string]int
	knownSeed   map[string]uint64 // the first that showed it
	differences []string
	features    map[string]int
	refused     map[string]int
}

func run(o options) (bool, error) {
	start := time.Now()
	t, err := compareAll(o)
	if err != nil {
		return false, err
	}
	t.report(os.Stdout, o, time.Since(start))
	return len(t.differences) == 0, nil
}

// compareAll makes the tables and compares every reader with the model.
func compareAll(o options) (*tally, error) {
	if o.dir == "" {
		d, err := os.MkdirTemp("", "oracle")
		if err != nil {
			return nil, err
		}
		o.dir = d
		if !o.keep {
			defer os.RemoveAll(d)
		}
	}
	seeds, err := o.seeds()
	if err != nil {
		return nil, err
	}
	t := &tally{comparisons: map[string]int{}, known: map[string]int{}, knownSeed: map[string]uint64{}, features: map[string]int{}, refused: map[string]int{}}
	next := make(chan uint64)
	errs := make([]error, o.workers)
	var wg sync.WaitGroup
	for i := range o.workers {
		wg.Go(func() {
			errs[i] = work(o, t, next)
			for range next {
			}
		})
	}
	for _, s := range seeds {
		next <- s
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (o options) seeds() (out []uint64, _ error) {
	for _, s := range strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' }) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	for i := range o.tables {
		if o.only == "" {
			out = append(out, o.seed+uint64(i))
		}
	}
	return out, nil
}

// unwritten counts a table that the writer's libraries refused to write: no comparison, and no fault of a reader.
func (t *tally) unwritten(seed uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := err.Error()
	t.refused[text[:min(len(text), 110)]]++
	_ = seed
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (t *tally) report(w *os.File, o options, d time.Duration) {
	fmt.Fprintf(w, "seeds        %d..%d\n", o.seed, o.seed+uint64(o.tables)-1)
	fmt.Fprintf(w, "tables       %d, %d live rows\n", t.tables, t.rows)
	for _, k := range sortedKeys(t.features) {
		fmt.Fprintf(w, "  with %-24s %d\n", k, t.features[k])
	}
	for _, k := range sortedKeys(t.refused) {
		fmt.Fprintf(w, "not written  %dx %s\n", t.refused[k], k)
	}
	fmt.Fprintf(w, "predicates   %d\n", t.predicates)
	for _, k := range sortedKeys(t.comparisons) {
		fmt.Fprintf(w, "compared     %-28s %d\n", k, t.comparisons[k])
	}
	for _, k := range sortedKeys(t.known) {
		fmt.Fprintf(w, "known fault  %-28s %d, first at seed %d\n", k, t.known[k], t.knownSeed[k])
	}
	fmt.Fprintf(w, "differences  %d\n", len(t.differences))
	fmt.Fprintf(w, "seconds      %.1f\n", d.Seconds())
}

func work(o options, t *tally, next <-chan uint64) error {
	py, err := startPython(o.python, "scripts/reader.py")
	if err != nil {
		return err
	}
	defer py.close()
	c, err := lakescan.Open(context.Background(), lakescan.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	for seed := range next {
		if err := oneTable(o, t, seed, py, c); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func oneTable(o options, t *tally, seed uint64, py *python, c *lakescan.Client) error {
	r := newRand(seed)
	dir := filepath.Join(o.dir, fmt.Sprint(seed))
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	m, at, err := writeTable(r, dir, 1+r.IntN(3))
	if err != nil {
		t.unwritten(seed, err)
		return nil
	}
	rows, typ := m.rows(), m.schema()
	preds := []*Pred{nil}
	for range o.predicates {
		preds = append(preds, randomPred(r, typ, rows, 3))
	}
	if o.verbose {
		m.show(os.Stderr, seed)
	}
	want := make([][]string, len(preds))
	for i, p := range preds {
		want[i] = m.expect(rows, p)
	}
	t.mu.Lock()
	t.tables++
	t.rows += len(rows)
	t.predicates += o.predicates
	for f := range m.Features {
		t.features[f]++
	}
	t.mu.Unlock()
	for _, s := range settings {
		if !strings.Contains(o.readers, "lakescan") {
			break
		}
		for i, p := range preds {
			a := scan(c, at, p, typ, s)
			t.judge("lakescan "+s.name, seed, m, rows, p, a, want[i])
		}
	}
	var sql, trees []any
	var treeOf []int
	for i, p := range preds {
		if p == nil {
			sql, trees, treeOf = append(sql, ""), append(trees, nil), append(treeOf, i)
			continue
		}
		sql = append(sql, p.duckdbText())
		if tree, ok := p.tree(); ok {
			trees, treeOf = append(trees, tree), append(treeOf, i)
		}
	}
	if strings.Contains(o.readers, "duckdb") {
		answers, err := py.read("duckdb", at, sql, typ)
		if err != nil {
			return err
		}
		for i, a := range answers {
			t.judge("duckdb", seed, m, rows, preds[i], a, want[i])
		}
	}
	if strings.Contains(o.readers, "pyiceberg") {
		answers, err := py.read("pyiceberg", at, trees, typ)
		if err != nil {
			return err
		}
		for k, a := range answers {
			t.judge("pyiceberg", seed, m, rows, preds[treeOf[k]], a, want[treeOf[k]])
		}
	}
	return nil
}

// expect are the sorted texts of the rows for which a predicate is true.
func (m *Model) expect(rows []Row, p *Pred) []string {
	var out []string
	for _, r := range rows {
		if p == nil || p.eval(r, 0) == Yes {
			out = append(out, rowText(r.Values, m.schema()))
		}
	}
	slices.Sort(out)
	return out
}

type setting struct {
	name string
	opts []lakescan.ScanOption
}

var settings = []setting{
	{"", nil},
	{"depth 0", []lakescan.ScanOption{lakescan.MaxFilesToPrefetch(source.Off)}},
	{"no pruning", []lakescan.ScanOption{lakescan.NoPrune()}},
	{"no pruning, depth 0", []lakescan.ScanOption{lakescan.NoPrune(), lakescan.MaxFilesToPrefetch(source.Off)}},
}

func scan(c *lakescan.Client, at string, p *Pred, t *Type, s setting) (a answer) {
	opts := s.opts
	if p != nil {
		e, err := expr.Parse(p.lakescanText())
		if err != nil {
			return answer{err: err}
		}
		opts = append(slices.Clone(opts), lakescan.Where(e))
	}
	r, err := c.Scan(context.Background(), at, opts...)
	if err != nil {
		return answer{err: err}
	}
	defer r.Close()
	for b, err := range r.All() {
		if err != nil {
			return answer{err: err}
		}
		b.Record.Retain()
		part := texts(r.Schema(), []arrow.RecordBatch{b.Record}, t)
		if part.err != nil {
			return part
		}
		a.rows = append(a.rows, part.rows...)
	}
	return a
}

// judge counts one comparison. A difference is accepted only where it is exactly what a known fault says.
func (t *tally) judge(reader string, seed uint64, m *Model, rows []Row, p *Pred, a answer, want []string) {
	slices.Sort(a.rows)
	same := a.err == nil && slices.Equal(a.rows, want)
	var known []string
	if !same {
		known = knownFaults(reader, m, rows, p, a)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.comparisons[reader]++
	switch {
	case same:
	case known != nil:
		for _, id := range known {
			t.known[id]++
			if old, ok := t.knownSeed[id]; !ok || seed < old {
				t.knownSeed[id] = seed
			}
		}
	default:
		text := "(all rows)"
		if p != nil {
			text = p.lakescanText()
		}
		d := fmt.Sprintf("seed %d v%d, %s, where %s\n    %s", seed, m.Version, reader, text, describe(a, want))
		t.differences = append(t.differences, d)
		fmt.Fprintln(os.Stderr, "DIFFERENCE  ", d) // at once: a run may be interrupted
	}
}

func describe(a answer, want []string) string {
	if a.err != nil {
		return "error: " + strings.ReplaceAll(a.err.Error(), "\n", " ")
	}
	count := map[string]int{}
	for _, r := range want {
		count[r]++
	}
	extra := ""
	for _, r := range a.rows {
		if count[r]--; count[r] < 0 && extra == "" {
			extra = r
		}
	}
	missing := ""
	for _, r := range want {
		if count[r] > 0 {
			missing = r
			break
		}
	}
	return fmt.Sprintf("%d rows, the model has %d\n    extra   %.300s\n    missing %.300s", len(a.rows), len(want), extra, missing)
}
