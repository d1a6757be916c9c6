package main

import (
	"fmt"
	"io"
)

// show prints what a difference is judged by: schemas, specs, files with their tuples.
func (m *Model) show(w io.Writer, seed uint64) {
	fmt.Fprintf(w, "table of seed %d, format %d, %v\n", seed, m.Version, m.Features)
	for i, s := range m.Schemas {
		fmt.Fprintf(w, "  schema %d\n", i)
		for _, c := range columns(s, nil) {
			f := c.field()
			fmt.Fprintf(w, "    %d %q %s", f.ID, c.names(), f.Type)
			if f.Default != nil {
				fmt.Fprintf(w, " default %s", valueText(nil, f.Default, f.Type))
			}
			fmt.Fprintln(w)
		}
	}
	for _, s := range m.Specs {
		fmt.Fprintf(w, "  spec %d", s.ID)
		for _, f := range s.Fields {
			fmt.Fprintf(w, " %s(%d)", f.Transform, f.source().ID)
		}
		fmt.Fprintln(w)
	}
	for _, f := range m.Files {
		dead := 0
		for _, d := range f.Dead {
			if d {
				dead++
			}
		}
		fmt.Fprintf(w, "  file %s: spec %d %v, schema %d, seq %d, %d rows, %d dead\n", f.Path, f.Spec.ID, f.Tuple, m.schemaID(f.Schema), f.Seq, len(f.Rows), dead)
	}
}

func (m *Model) schemaID(t *Type) int {
	for i, s := range m.Schemas {
		if s == t {
			return i
		}
	}
	return -1
}
