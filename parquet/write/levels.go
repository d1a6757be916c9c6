package write

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// entries are the levels of a leaf for some rows, and where its values lie: at[i] is the index in values, -1 for an entry
// without one. Without a list or null above the leaf, at is nil: the values are values[from:from+n].
type entries struct {
	def, rep []int16
	at       []int32
	values   arrow.Array
	from, n  int
}

// expand walks a column from its root to each leaf and hands over the leaf's entries for the rows [from, from+n).
func expand(root *node, a arrow.Array, from, n int, use func(l *leaf, e entries) error) error {
	w := walker{use: use}
	return w.node(root, a, entries{from: from, n: n})
}

type walker struct {
	use func(l *leaf, e entries) error
}

func (w *walker) node(n *node, a arrow.Array, e entries) error {
	if x, ok := a.(array.ExtensionArray); ok {
		a = x.Storage()
	}
	if n.nullable {
		e = nulls(a, e)
	}
	if n.leaf != nil {
		e.values = a
		return w.use(n.leaf, e)
	}
	switch a := a.(type) {
	case *array.Struct:
		for i, c := range n.children {
			// Field gives children cut to the struct's own rows.
			if err := w.node(c, a.Field(i), e); err != nil {
				return err
			}
		}
		return nil
	case *array.Map:
		return w.list(n, a, e, a.Keys(), a.Items())
	case *array.List:
		return w.list(n, a, e, a.ListValues())
	}
	return unsupported(n.field)
}

// nulls adds the definition level of a nullable node.
func nulls(a arrow.Array, e entries) entries {
	if e.at == nil && a.NullN() == 0 {
		// One level more, and where the values lie stays implicit.
		def := filled(e.n, 1)
		for i, d := range e.def {
			def[i] += d
		}
		return entries{def: def, from: e.from, n: e.n}
	}
	out := e.explicit()
	for i, at := range out.at {
		switch {
		case at < 0:
		case a.IsNull(int(at)):
			out.at[i] = -1
		default:
			out.def[i]++
		}
	}
	return out
}

// explicit is a copy with all parts written out.
func (e entries) explicit() entries {
	out := entries{def: make([]int16, e.len()), rep: e.rep, at: make([]int32, e.len())}
	copy(out.def, e.def)
	if e.at != nil {
		copy(out.at, e.at)
		return out
	}
	for i := range out.at {
		out.at[i] = int32(e.from + i)
	}
	return out
}

func (e entries) len() int {
	if e.at != nil {
		return len(e.at)
	}
	return e.n
}

func filled(n int, v int16) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// list replaces each entry of a list by those of its elements.
func (w *walker) list(n *node, a array.ListLike, e entries, children ...arrow.Array) error {
	e = e.explicit()
	out := entries{}
	for i, at := range e.at {
		rep := int16(0)
		if e.rep != nil {
			rep = e.rep[i]
		}
		from, to := int64(0), int64(0)
		if at >= 0 {
			from, to = a.ValueOffsets(int(at))
		}
		if from == to {
			out.def, out.rep, out.at = append(out.def, e.def[i]), append(out.rep, rep), append(out.at, -1)
			continue
		}
		for k := from; k < to; k++ {
			out.def, out.rep, out.at = append(out.def, e.def[i]+1), append(out.rep, rep), append(out.at, int32(k))
			rep = n.rep
		}
	}
	for i, c := range n.children {
		if err := w.node(c, children[i], out); err != nil {
			return err
		}
	}
	return nil
}
