package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stored are the columns that a file gets: sometimes one that the partition knows is left out, as in files that were added from a Hive table.
func (w *writer) stored(t *Type) *Type {
	if w.x.IntN(6) > 0 {
		return t
	}
	out := *t
	out.Fields = slices.DeleteFunc(slices.Clone(t.Fields), func(f *Field) bool { return w.m.Spec.identity(f.ID) && f.Default == nil })
	if len(out.Fields) == len(t.Fields) {
		return t
	}
	w.m.feature("column only in the partition")
	return &out
}

// anonymous is true if a file shall have no field ids: in a table with a name mapping, where its names can be added to the mapping.
func (w *writer) anonymous(t *Type) bool {
	if w.names == nil || w.x.IntN(2) == 0 {
		return false
	}
	add := map[string]int{}
	var walk func(t *Type, above string) bool
	walk = func(t *Type, above string) bool {
		for _, f := range t.Fields {
			k := above + "/" + f.Name
			if id, ok := w.names[k]; ok && id != f.ID {
				return false
			}
			if add[k] = f.ID; !walk(f.Type, fmt.Sprintf("%s/%d", above, f.ID)) {
				return false
			}
		}
		return true
	}
	if !walk(t, "") {
		return false
	}
	maps.Copy(w.names, add)
	w.m.feature("files without field ids")
	return true
}

// mapping is the table's name mapping, of all names that files without field ids use.
func (w *writer) mapping(above string) []any {
	names := map[int][]string{}
	for k, id := range w.names {
		if rest, ok := strings.CutPrefix(k, above+"/"); ok && !strings.Contains(rest, "/") {
			names[id] = append(names[id], rest)
		}
	}
	out := []any{}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[id])
		f := map[string]any{"field-id": id, "names": names[id]}
		if below := w.mapping(fmt.Sprintf("%s/%d", above, id)); len(below) > 0 {
			f["fields"] = below
		}
		out = append(out, f)
	}
	return out
}
