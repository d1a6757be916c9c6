package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// foreign is a writer in Python that makes a whole table of a list of steps. The model has one data file for each append: how the writer cuts it is its own matter.
type foreign struct {
	name     string
	versions []int
	kinds    []Kind
	moves    []string // steps it can do, as often as they stand here
}

var foreigns = map[string]foreign{
	"pyiceberg": {
		name: "pyiceberg", versions: []int{1, 2, 2},
		kinds: []Kind{Bool, Int, Long, Float, Double, Decimal, Date, Time, Timestamp, Timestamptz, String, String, Fixed, Binary},
		moves: []string{"append", "append", "add", "rename", "drop", "partition", "delete"},
	},
	"spark": {
		name: "spark", versions: []int{2, 2, 3, 3},
		kinds: []Kind{Bool, Int, Long, Float, Double, Decimal, Date, Timestamp, Timestamptz, String, String, Binary},
		moves: []string{"append", "append", "add", "rename", "drop", "partition", "delete", "delete", "delete", "update", "upgrade"},
	},
}

// foreignTable makes the random table of a seed with another writer.
func foreignTable(seed uint64, dir string, f foreign, py *python) (*Model, string, error) {
	r := rand.New(rand.NewPCG(seed, 3))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	m := &Model{Version: f.versions[r.IntN(len(f.versions))], r: r, partID: 999, Features: map[string]int{}, Props: map[string]string{}, Kinds: f.kinds}
	root := &Type{Kind: Struct, Fields: []*Field{{ID: m.newID(), Name: "id", Required: true, Type: &Type{Kind: Long}}}}
	for range 2 + r.IntN(6) {
		m.addTo(root)
	}
	m.Schemas = []*Type{root}
	w := &foreignWriter{m: m, dir: dir, w: writer{m: m, r: r, dir: dir}}
	w.partition()
	m.Specs = []*Spec{m.Spec}
	w.steps = append(w.steps, map[string]any{"do": "create", "version": m.Version, "schema": schemaJSON(root, 0), "spec": w.specJSON(m.Spec)})
	if err := w.step("append"); err != nil {
		return nil, "", err
	}
	for range 1 + r.IntN(8) {
		if err := w.step(f.moves[r.IntN(len(f.moves))]); err != nil {
			return nil, "", err
		}
	}
	at := ""
	err := py.ask(map[string]any{"op": "write", "dir": dir, "table": fmt.Sprintf("t%d", seed), "steps": w.steps}, 1, func(_ int, s *arrow.Schema, _ []arrow.RecordBatch, err error) {
		if err == nil {
			at, _ = s.Metadata().GetValue("location")
		} else {
			at = "error " + err.Error()
		}
	})
	if text, failed := strings.CutPrefix(at, "error "); failed {
		return nil, "", &readerError{f.name + ": " + text}
	}
	return m, strings.TrimPrefix(at, "file://"), err
}

type foreignWriter struct {
	m     *Model
	w     writer
	dir   string
	steps []any
	files int
}

func (w *foreignWriter) add(do string, more map[string]any) {
	s := map[string]any{"do": do}
	for k, v := range more {
		s[k] = v
	}
	w.steps = append(w.steps, s)
}

// partition gives the model a spec of top-level columns.
func (w *foreignWriter) partition() {
	s := w.m.randomSpec()
	used := func(f SpecField) bool { // PyIceberg does not take a field back that another spec had
		return slices.ContainsFunc(w.m.Specs, func(old *Spec) bool {
			return slices.ContainsFunc(old.Fields, func(g SpecField) bool { return g.source().ID == f.source().ID && g.Transform == f.Transform })
		})
	}
	s.Fields = slices.DeleteFunc(s.Fields, func(f SpecField) bool { return len(f.Path) > 1 || f.Transform == "void" || used(f) })
	for i := range s.Fields { // names of its own, that no column has
		s.Fields[i].Name = fmt.Sprintf("part_%d_%d", s.ID, i)
	}
	w.m.Spec = s
}

func (w *foreignWriter) specJSON(s *Spec) []any {
	out := []any{}
	for _, f := range s.Fields {
		out = append(out, map[string]any{"column": f.source().Name, "transform": f.Transform, "name": f.Name})
	}
	return out
}

func (w *foreignWriter) step(do string) error {
	m, r := w.m, w.m.r
	next := m.schema().clone()
	var free []*Field // columns that are neither the id nor partitioned by, ever
	for _, f := range next.Fields {
		if f.ID != 1 && !slices.ContainsFunc(m.Specs, func(s *Spec) bool { return s.source(f.ID) }) {
			free = append(free, f)
		}
	}
	switch do {
	case "append":
		return w.append()
	case "delete", "update":
		return w.change(do)
	case "upgrade":
		if m.Version < 3 {
			m.Version = 3
			m.feature("upgrade to v3")
			w.add(do, nil)
		}
		return nil
	case "add":
		f := m.addTo(next)
		w.add(do, map[string]any{"field": schemaJSON(&Type{Kind: Struct, Fields: []*Field{f}}, 0)})
	case "rename", "drop":
		if len(free) < 2 {
			return nil
		}
		f := free[r.IntN(len(free))]
		old := f.Name
		if do == "drop" {
			next.Fields = slices.DeleteFunc(next.Fields, func(g *Field) bool { return g == f })
		} else {
			f.Name = m.newName(next.Fields)
		}
		w.add(do, map[string]any{"from": old, "to": f.Name})
	case "partition":
		old := m.Spec
		w.partition()
		m.Specs = append(m.Specs, m.Spec)
		m.feature("spec change")
		w.add(do, map[string]any{"from": w.specJSON(old), "to": w.specJSON(m.Spec)})
		return nil
	}
	m.Schemas = append(m.Schemas, next)
	m.feature(do)
	return nil
}

func (w *foreignWriter) append() error {
	rows, t := w.w.randomRows(), w.m.schema()
	w.files++
	path := filepath.Join(w.dir, fmt.Sprintf("rows-%d.parquet", w.files))
	if _, err := writeParquet(w.m.r, path, rows, t, true); err != nil {
		return err
	}
	flags := func() []bool { return make([]bool, len(rows)) }
	w.m.Files = append(w.m.Files, &DataFile{Path: path, Schema: t, Stored: t, Spec: w.m.Spec, Rows: rows, Dead: flags(), Foreign: flags(), EqDead: flags(), Unknown: flags()})
	w.add("append", map[string]any{"rows": path})
	return nil
}

// change deletes rows by their id, or rewrites them with the same values.
func (w *foreignWriter) change(do string) error {
	ids := []int64{}
	for _, f := range w.w.someFiles() {
		for _, i := range w.w.victims(f) {
			if f.Dead[i] = do == "delete"; len(ids) == 100 {
				f.Dead[i] = false
				continue
			}
			ids = append(ids, f.Rows[i][1].(int64))
		}
	}
	if len(ids) > 0 {
		w.add(do, map[string]any{"ids": ids})
		w.m.feature(do + " by row")
	}
	return nil
}

// writers are the writers of one worker. The Python processes start when they are needed first.
type writers struct {
	o   options
	pys map[string]*python
}

// of names the writer of a seed's table.
func (w *writers) of(seed uint64) string {
	switch {
	case w.o.spark > 0 && seed%uint64(w.o.spark) == 1:
		return "spark"
	case w.o.every > 0 && seed%uint64(w.o.every) == 3:
		return "pyiceberg"
	}
	return "iceberg-go"
}

func (w *writers) write(seed uint64, dir string) (*Model, string, error) {
	name := w.of(seed)
	f, ok := foreigns[name]
	if !ok {
		return writeTable(seed, dir)
	}
	if w.pys[name] == nil {
		program := map[string]string{"pyiceberg": w.o.python, "spark": w.o.sparkPath}[name]
		py, err := startPython(program, "scripts/"+name+"_writer.py")
		if err != nil {
			return nil, "", err
		}
		if w.pys == nil {
			w.pys = map[string]*python{}
		}
		w.pys[name] = py
	}
	return foreignTable(seed, dir, f, w.pys[name])
}

func (w *writers) close() {
	for _, py := range w.pys {
		py.close()
	}
}
