package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	every      int    // n-th table is PyIceberg's; 0 = none
	spark      int    // n-th table is Spark's; 0 = none
	sparkPath  string // interpreter with pyspark
	dir        string
	readers    string
	results    string // file of outcomes
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
	flag.IntVar(&o.every, "pyiceberg-every", 4, "each n-th table is written by PyIceberg; 0 = none")
	flag.IntVar(&o.spark, "spark-every", 0, "each n-th table is written by Spark, which needs SPARK_JARS; 0 = none")
	flag.StringVar(&o.sparkPath, "spark-python", "python3", "interpreter with pyspark")
	flag.StringVar(&o.dir, "dir", "", "where tables are written; empty = a temporary folder, removed at the end")
	flag.StringVar(&o.readers, "readers", "lakescan,duckdb,pyiceberg", "which readers take part")
	flag.StringVar(&o.results, "results", "", "file that keeps the outcome of each table, a JSON line each; seeds in it are not run again")
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

// outcome is what came of one table.
type outcome struct {
	Seed        uint64         `json:"seed"`
	Writer      string         `json:"writer"`
	Rows        int            `json:"rows"`
	Predicates  int            `json:"predicates"`
	Snapshots   int            `json:"snapshots"`
	Refused     string         `json:"refused,omitempty"` // what the writer's library said instead of writing the table
	Features    map[string]int `json:"features,omitempty"`
	Compared    map[string]int `json:"compared,omitempty"` // by reader
	Equal       map[string]int `json:"equal,omitempty"`
	Known       map[string]int `json:"known,omitempty"` // by fault
	Differences []string       `json:"differences,omitempty"`
}

func run(o options) (bool, error) {
	start := time.Now()
	t, err := compareAll(o)
	if err != nil {
		return false, err
	}
	t.report(os.Stdout, time.Since(start))
	return t.differences() == 0, nil
}

// compareAll makes the tables and compares every reader with the model. Tables whose outcome a run before has kept are not made again.
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
	t := &tally{}
	if err := t.resume(o.results, seeds); err != nil {
		return nil, err
	}
	defer t.close()
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
		if !t.has(s) {
			next <- s
		}
	}
	close(next)
	wg.Wait()
	return t, errors.Join(errs...)
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

func work(o options, t *tally, next <-chan uint64) error {
	py, err := startPython(o.python, "scripts/reader.py")
	if err != nil {
		return err
	}
	defer py.close()
	w := &writers{o: o}
	defer w.close()
	c, err := lakescan.Open(context.Background(), lakescan.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	for seed := range next {
		if err := oneTable(o, t, seed, w, py, c); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func oneTable(o options, t *tally, seed uint64, w *writers, py *python, c *lakescan.Client) error {
	r := newRand(seed)
	dir := filepath.Join(o.dir, fmt.Sprint(seed))
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	j := &judge{outcome: outcome{Seed: seed, Writer: w.of(seed), Compared: map[string]int{}, Equal: map[string]int{}, Known: map[string]int{}}}
	m, at, err := w.write(seed, dir)
	if err != nil {
		j.Refused = err.Error()
		return t.add(j.outcome)
	}
	rows := m.rows()
	if o.verbose {
		m.show(os.Stderr, seed)
	}
	j.Rows, j.Predicates, j.Features = len(rows), o.predicates, m.Features
	q := question{m: m, at: at, rows: rows, preds: []*Pred{nil}}
	for range o.predicates {
		q.preds = append(q.preds, randomPred(m.r, m.schema(), rows, 3))
	}
	questions := []question{q}
	for _, past := range m.Past {
		j.Snapshots++
		rows := past.rows()
		questions = append(questions, question{m: past, at: at, rows: rows, preds: []*Pred{nil, randomPred(r, past.schema(), rows, 2)}})
	}
	for _, q := range questions {
		if err := j.compare(o, q, py, c); err != nil {
			return err
		}
	}
	return t.add(j.outcome)
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

func scan(c *lakescan.Client, q question, p *Pred, s setting) (a answer) {
	opts, t := s.opts, q.m.schema()
	if q.m.Snapshot != 0 {
		opts = append(slices.Clone(opts), lakescan.AtSnapshot(q.m.Snapshot))
	}
	if p != nil {
		e, err := expr.Parse(p.lakescanText())
		if err != nil {
			return answer{err: err}
		}
		opts = append(slices.Clone(opts), lakescan.Where(e))
	}
	r, err := c.Scan(context.Background(), q.at, opts...)
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
