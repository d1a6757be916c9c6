package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table/dv"
)

// victims picks rows to delete from one data file that has some left.
func (w *writer) victims(f *DataFile) []int {
	var live []int
	for i, dead := range f.Dead {
		if !dead {
			live = append(live, i)
		}
	}
	w.r.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	n := []int{1, len(live) / 10, len(live) / 2, len(live)}[w.r.IntN(4)]
	out := live[:min(max(n, 0), len(live))]
	slices.Sort(out)
	return out
}

func (w *writer) someFiles() []*DataFile {
	if len(w.m.Files) == 0 {
		return nil
	}
	out := slices.Clone(w.m.Files)
	w.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:1+w.r.IntN(min(3, len(out)))]
}

const (
	deletePathID = 2147483546
	deletePosID  = 2147483545
)

// positionDelete writes position delete files: one for each data file, or one for several of one partition.
func (w *writer) positionDelete() error {
	type group struct {
		spec  *Spec
		tuple []any
		rows  []map[int]any
		paths []string
	}
	groups, keys := map[string]*group{}, []string{}
	together := w.r.IntN(2) == 0
	for _, f := range w.someFiles() {
		k := f.Path
		if together {
			k = fmt.Sprint(f.Spec.ID, f.Tuple)
		}
		g := groups[k]
		if g == nil {
			g = &group{spec: f.Spec, tuple: f.Tuple}
			groups[k], keys = g, append(keys, k)
		}
		for _, i := range w.victims(f) {
			f.Dead[i] = true
			f.Positions = append(f.Positions, int64(i))
			g.rows = append(g.rows, map[int]any{deletePathID: f.Path, deletePosID: int64(i)})
		}
		g.paths = append(g.paths, f.Path)
	}
	t := &Type{Kind: Struct, Fields: []*Field{
		{ID: deletePathID, Name: "file_path", Required: true, Type: &Type{Kind: String}},
		{ID: deletePosID, Name: "pos", Required: true, Type: &Type{Kind: Long}},
	}}
	var add []iceberg.DataFile
	for _, k := range keys {
		g := groups[k]
		if len(g.rows) == 0 {
			continue
		}
		slices.SortFunc(g.rows, func(a, b map[int]any) int { return strings.Compare(a[deletePathID].(string), b[deletePathID].(string)) })
		local, recorded := w.path("position", ".parquet")
		size, err := writeParquet(w.r, local, g.rows, t, false)
		if err != nil {
			return err
		}
		b, err := iceberg.NewDataFileBuilder(w.spec(g.spec), iceberg.EntryContentPosDeletes, recorded, iceberg.ParquetFile, tupleMap(g.spec, g.tuple), nil, nil, int64(len(g.rows)), size)
		if err != nil {
			return err
		}
		if w.r.IntN(3) > 0 {
			addMetrics(b, measure(w.r, g.rows, t, 3))
		}
		if len(g.paths) == 1 && w.r.IntN(2) == 0 {
			b.ReferencedDataFile(g.paths[0])
		}
		add = append(add, b.Build())
		w.m.feature("position deletes")
	}
	return w.commit("delete", add, nil)
}

// vectorDelete writes a Puffin file with a deletion vector for each of some data files, replacing those they had.
func (w *writer) vectorDelete() error {
	dw := dv.NewDVWriter(iceio.LocalFS{}, func(id int32) *iceberg.PartitionSpec { s := w.spec(w.m.Specs[id]); return &s })
	replaced := map[string]bool{}
	any := false
	for _, f := range w.someFiles() {
		v := w.victims(f)
		if len(v) == 0 {
			continue
		}
		any = true
		for _, i := range v {
			f.Dead[i] = true
		}
		var at []int64
		for _, i := range v {
			at = append(at, int64(i))
		}
		at = append(at, f.Positions...) // a vector stands for the position delete files before it, too
		replaced[f.Path], f.Positions = true, at
		if err := dw.Add(f.Path, at, int32(f.Spec.ID), tupleMap(f.Spec, f.Tuple)); err != nil {
			return err
		}
	}
	if !any {
		return nil
	}
	w.m.feature("deletion vectors")
	local, recorded := w.path("vectors", ".puffin")
	out, err := dw.Flush(nil, local)
	if err != nil {
		return err
	}
	if local != recorded { // Flush records the name it wrote to
		for i, d := range out {
			s := w.spec(w.m.Specs[d.SpecID()])
			b, err := iceberg.NewDataFileBuilder(s, iceberg.EntryContentPosDeletes, recorded, iceberg.PuffinFile, d.Partition(), nil, nil, d.Count(), d.FileSizeBytes())
			if err != nil {
				return err
			}
			b.ReferencedDataFile(*d.ReferencedDataFile()).ContentOffset(*d.ContentOffset()).ContentSizeInBytes(*d.ContentSizeInBytes())
			out[i] = b.Build()
		}
	}
	return w.commit("delete", out, func(e iceberg.DataFile) bool {
		return e.FileFormat() == iceberg.PuffinFile && replaced[*e.ReferencedDataFile()]
	})
}

// equalityDelete deletes the rows whose key is that of some live rows, in the scope of one partition, or of the whole table under an unpartitioned spec.
func (w *writer) equalityDelete() error {
	var fit []*Field
	for _, f := range w.m.schema().Fields {
		if f.Type.primitive() && !f.Type.floating() {
			fit = append(fit, f)
		}
	}
	w.r.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
	fit = fit[:1+w.r.IntN(min(2, len(fit)))]
	t := (&Type{Kind: Struct, Fields: fit}).clone()
	files := w.someFiles()
	if len(files) == 0 {
		return nil
	}
	spec, tuple := files[0].Spec, files[0].Tuple
	keys := map[string]map[int]any{}
	key := func(row map[int]any) string { return rowText(row, t) }
	for range 1 + w.r.IntN(4) {
		f := files[0]
		row := project(f.Rows[w.r.IntN(len(f.Rows))], f.Schema, w.m.schema()).(map[int]any)
		k := map[int]any{}
		for _, g := range fit {
			k[g.ID] = row[g.ID]
		}
		keys[key(k)] = k
	}
	var rows []map[int]any
	for _, k := range sortedKeys(keys) {
		rows = append(rows, keys[k])
	}
	for _, f := range w.m.Files {
		foreign := len(partitionFields(spec)) > 0 && (f.Spec != spec || fmt.Sprint(f.Tuple...) != fmt.Sprint(tuple...))
		for i, r := range f.Rows {
			row := project(r, f.Schema, w.m.schema()).(map[int]any)
			f.Unknown[i] = f.Unknown[i] || slices.ContainsFunc(rows, func(k map[int]any) bool { return nearly(row, k, fit, f.Stored) })
			if keys[key(row)] != nil {
				f.Foreign[i] = f.Foreign[i] || foreign
				if !foreign {
					f.Dead[i] = true
					f.EqDead[i] = slices.ContainsFunc(fit, func(g *Field) bool { return !holds(f.Stored, g.ID) && (g.Default != nil || holds(f.Schema, g.ID)) })
				}
			}
		}
	}
	local, recorded := w.path("equality", ".parquet")
	size, err := writeParquet(w.r, local, rows, t, false)
	if err != nil {
		return err
	}
	b, err := iceberg.NewDataFileBuilder(w.spec(spec), iceberg.EntryContentEqDeletes, recorded, iceberg.ParquetFile, tupleMap(spec, tuple), nil, nil, int64(len(rows)), size)
	if err != nil {
		return err
	}
	var ids []int
	for _, g := range fit {
		ids = append(ids, g.ID)
	}
	b.EqualityFieldIDs(ids)
	if w.r.IntN(2) == 0 {
		addMetrics(b, measure(w.r, rows, t, 3))
	}
	w.m.feature("equality deletes")
	return w.commit("delete", []iceberg.DataFile{b.Build()}, nil)
}

// nearly is true of a row that SQL's comparison neither finds equal to a key nor unequal, if what the file lacks is taken for NULL.
func nearly(row, key map[int]any, fields []*Field, stored *Type) bool {
	unknown := false
	for _, f := range fields {
		switch a, b := row[f.ID], key[f.ID]; {
		case a == nil || b == nil || !holds(stored, f.ID):
			unknown = true
		case compare(a, f.Type, b, f.Type) != 0:
			return false
		}
	}
	return unknown
}

func partitionFields(s *Spec) []SpecField {
	return slices.DeleteFunc(slices.Clone(s.Fields), func(f SpecField) bool { return f.Transform == "void" })
}
