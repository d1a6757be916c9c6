package iceberg

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/internal/icetable"
	"github.com/lakescan/lakescan/source"
)

var histories = flag.Int("histories", 120, "random histories of P4")

// world is a table as a list of commits: what every file holds, and which rows are alive by set algebra on (file, position,
// sequence number, keys). It knows nothing of how the planner finds deletes.
type world struct {
	r     *rand.Rand
	table *icetable.Table
	seq   int64
	files []*worldFile
	del   map[string]worldDelete // contents of delete files, by name
	next  int
}

type worldFile struct {
	name string
	spec int
	p, q int64
	seq  int64
	keys []int64 // by position
	dead map[int]bool
	gone bool // compacted away
	dv   string
}

// worldDelete is the content of a delete file.
type worldDelete struct {
	rows map[string]map[int]bool // positions by file
	keys map[int64]bool
}

var worldSpecs = [][]icetable.PartitionField{
	{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}},
	{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}, {Source: 4, ID: 1001, Name: "q", Transform: "identity"}},
	{},
	{{Source: 3, ID: 1000, Name: "p", Transform: "void"}},
}

func (f *worldFile) tuple() []any {
	switch f.spec {
	case 0:
		return []any{1000, f.p}
	case 1:
		return []any{1000, f.p, 1001, f.q}
	}
	return nil
}

// sameScope: same spec and same tuple under it.
func (f *worldFile) sameScope(g *worldFile) bool {
	return f.spec == g.spec && fmt.Sprint(f.tuple()) == fmt.Sprint(g.tuple())
}

func (w *world) name(kind string) string {
	w.next++
	return kind + strconv.Itoa(w.next)
}

func (w *world) live() []*worldFile {
	return slices.DeleteFunc(slices.Clone(w.files), func(f *worldFile) bool { return f.gone })
}

func (w *world) newFile() *worldFile {
	f := &worldFile{name: w.name("f"), spec: w.r.IntN(len(worldSpecs)), p: int64(w.r.IntN(2)), q: int64(w.r.IntN(2)), seq: w.seq, dead: map[int]bool{}}
	for range 1 + w.r.IntN(4) {
		f.keys = append(f.keys, int64(w.r.IntN(5)))
	}
	w.files = append(w.files, f)
	return f
}

func (w *world) entry(f *worldFile) manifest.Written {
	return data(f.name, int64(len(f.keys)), f.tuple()...)
}

// step makes one commit of data, deletes, or both; it decides what dies by the rules of the specification.
func (w *world) step() {
	w.seq++
	before := w.live()
	manifests := map[int]*icetable.Manifest{}
	add := func(spec int, deletes bool, e manifest.Written) {
		k := 2 * spec
		if deletes {
			k++
		}
		if manifests[k] == nil {
			manifests[k] = &icetable.Manifest{Spec: spec, Deletes: deletes}
		}
		manifests[k].Entries = append(manifests[k].Entries, e)
	}
	for range w.r.IntN(3) {
		f := w.newFile()
		add(f.spec, false, w.entry(f))
	}
	if len(before) > 0 {
		for range w.r.IntN(3) {
			switch w.r.IntN(5) {
			case 0, 1:
				w.equality(add)
			case 2:
				w.positions(add, before)
			case 3:
				w.vector(add, w.live())
			case 4:
				w.compact(add, before[w.r.IntN(len(before))])
			}
		}
	}
	w.commit(manifests)
}

// equality deletes keys from older files of one scope, or of the whole table under a spec without partitions.
func (w *world) equality(add func(int, bool, manifest.Written)) {
	scope := &worldFile{spec: w.r.IntN(len(worldSpecs)), p: int64(w.r.IntN(2)), q: int64(w.r.IntN(2))}
	name, d := w.name("e"), worldDelete{keys: map[int64]bool{}}
	for range 1 + w.r.IntN(2) {
		d.keys[int64(w.r.IntN(5))] = true
	}
	w.del[name] = d
	for _, f := range w.live() {
		if f.seq >= w.seq || scope.spec < 2 && !f.sameScope(scope) {
			continue
		}
		for i, k := range f.keys {
			if d.keys[k] {
				f.dead[i] = true
			}
		}
	}
	add(scope.spec, true, equality(name, []int64{1}, scope.tuple()...))
}

// positions deletes rows of files of one scope: a file's own rows by a reference, or by a file for the whole scope.
func (w *world) positions(add func(int, bool, manifest.Written), before []*worldFile) {
	target := before[w.r.IntN(len(before))]
	if target.dv != "" || target.gone {
		return // a writer that knows vectors makes a new one
	}
	name, d := w.name("x"), worldDelete{rows: map[string]map[int]bool{}}
	kill := func(f *worldFile) {
		d.rows[f.name] = map[int]bool{}
		for range 1 + w.r.IntN(2) {
			i := w.r.IntN(len(f.keys))
			d.rows[f.name][i], f.dead[i] = true, true
		}
	}
	kill(target)
	referenced := ""
	if w.r.IntN(2) == 0 {
		referenced = at + target.name
	} else {
		for _, f := range w.live() {
			if f != target && f.sameScope(target) && f.dv == "" && w.r.IntN(2) == 0 {
				kill(f)
			}
		}
	}
	w.del[name] = d
	add(target.spec, true, positions(name, referenced, target.tuple()...))
}

// vector replaces all position deletes of a file, which may be one of the same commit; an older vector of it is removed from
// its manifest.
func (w *world) vector(add func(int, bool, manifest.Written), live []*worldFile) {
	if len(live) == 0 {
		return
	}
	f := live[w.r.IntN(len(live))]
	if f.dv != "" {
		return
	}
	f.dv = w.name("v")
	i := w.r.IntN(len(f.keys))
	f.dead[i] = true
	d := worldDelete{rows: map[string]map[int]bool{f.name: {}}}
	for i := range f.dead { // the vector holds what position files held; what equality deletes took, it may hold too
		d.rows[f.name][i] = true
	}
	w.del[f.dv] = d
	e := vectorOf(f.dv, at+f.name, 4)
	e.Partition = icetable.Tuple(f.tuple()...)
	add(f.spec, true, e)
}

// compact rewrites the live rows of a file into a new one, under a spec of today.
func (w *world) compact(add func(int, bool, manifest.Written), f *worldFile) {
	if f.gone || len(f.dead) == len(f.keys) || f.seq >= w.seq {
		return
	}
	n := w.newFile()
	n.keys = nil
	for i, k := range f.keys {
		if !f.dead[i] {
			n.keys = append(n.keys, k)
		}
	}
	f.gone = true
	add(n.spec, false, w.entry(n))
}

// commit writes the new manifests, and writes those anew that hold files which are gone.
func (w *world) commit(manifests map[int]*icetable.Manifest) {
	var list []icetable.Manifest
	for _, k := range slices.Sorted(maps.Keys(manifests)) {
		list = append(list, *manifests[k])
	}
	w.table.Commit("overwrite", list...)
	gone := map[string]bool{}
	for _, f := range w.files {
		if f.gone {
			gone[at+f.name] = true
		}
	}
	w.table.Drop(gone)
}

// answer applies the tasks of a plan to the contents of the files: what a reader that trusts the planner would yield.
func (w *world) answer(tasks []source.Task) []string {
	byName := map[string]*worldFile{}
	for _, f := range w.files {
		byName[f.name] = f
	}
	var out []string
	for _, t := range tasks {
		f := byName[short(t.File.Location)]
		dead := map[int]bool{}
		if v := t.Deletes.Vector; v != nil {
			maps.Copy(dead, w.del[short(v.File.Location)].rows[f.name])
		}
		for _, p := range t.Deletes.Positions {
			maps.Copy(dead, w.del[short(p.File.Location)].rows[f.name])
		}
		latest := map[int64]int64{} // key -> greatest sequence number, as an equality group is used
		for _, g := range t.Deletes.Equality {
			for _, e := range g.Files {
				for k := range w.del[short(e.File.Location)].keys {
					latest[k] = max(latest[k], e.Sequence)
				}
			}
		}
		for i, k := range f.keys {
			if !dead[i] && latest[k] <= t.DataSequence {
				out = append(out, fmt.Sprintf("%s/%d", f.name, i))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) want() []string {
	var out []string
	for _, f := range w.live() {
		for i := range f.keys {
			if !f.dead[i] {
				out = append(out, fmt.Sprintf("%s/%d", f.name, i))
			}
		}
	}
	slices.Sort(out)
	return out
}

// Live rows are set algebra on (path, position, sequence number, keys), for random histories of appends, deletes by position,
// vector and equality, compactions and changes of the partition spec.
func TestP4_LiveRowsOfRandomHistories(t *testing.T) {
	t.Parallel()
	deleted := 0
	for seed := range uint64(*histories) {
		w := &world{r: rand.New(rand.NewPCG(seed, 3)), table: icetable.New(t, 3, kv...), del: map[string]worldDelete{}}
		w.table.Specs, w.table.Codec = worldSpecs, "null"
		for range 2 + w.r.IntN(8) {
			w.step()
		}
		table, _ := load(t, w.table)
		got, want := w.answer(mustTasks(t, planned(t, table, ScanSpec{}))), w.want()
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: alive %s\nwant  %s", seed, strings.Join(got, " "), strings.Join(want, " "))
		}
		for _, f := range w.live() {
			deleted += len(f.dead)
		}
	}
	if deleted < *histories {
		t.Errorf("only %d rows were deleted in all", deleted)
	}
}
