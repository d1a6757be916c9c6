package main

import (
	"math"
	"regexp"
	"slices"
)

// Fault is something another reader is known to do wrong: either an error, or rows that differ in exactly one way. A difference is accepted only where entries of
// that reader (three at most, together) explain it, and the model (what was written minus what was deleted) sides with lakescan. TestKnownFaultsAreStillThere
// asserts each one, so that a repaired reader is noticed.
type Fault struct {
	ID      string
	Reader  string
	Version string
	Seed    uint64 // of a table that shows it
	Wrong   string // what it does
	Proof   string // section of the specification, the reader's own issue, or what shows it

	When func(m *Model, p *Pred) bool // the tables and predicates it can show on; p nil = all rows

	Error *regexp.Regexp // the answer is an error that says so

	Dialect dialect                             // or: a row is judged by the model's meaning or by this
	Alter   func(r Row, t *Type) map[int]any    // or: a row may read so
	Fewer   func(m *Model, p *Pred, r Row) bool // or: such live rows may be missing
	More    func(m *Model, p *Pred, r Row) bool // or: such deleted rows may be there
}

var faults = slices.Concat(duckdbFaults, pyicebergFaults)

func hasKind(t *Type, kinds ...Kind) bool {
	for _, f := range t.Fields {
		if slices.Contains(kinds, f.Type.Kind) || hasKind(f.Type, kinds...) {
			return true
		}
	}
	return false
}

func feature(name string) func(*Model, *Pred) bool {
	return func(m *Model, _ *Pred) bool { return m.Features[name] > 0 }
}

// leaf is true where some test of one column is such.
func leaf(f func(m *Model, l *Pred) bool) func(*Model, *Pred) bool {
	return func(m *Model, p *Pred) bool {
		found := false
		if p != nil {
			p.leaves(func(l *Pred) { found = found || f(m, l) })
		}
		return found
	}
}

func filtered(_ *Model, p *Pred) bool { return p != nil }

func nanLiteral(_ *Model, l *Pred) bool {
	return slices.ContainsFunc(l.Lits, func(x Lit) bool { f, ok := x.V.(float64); return ok && math.IsNaN(f) })
}

// partition is true of a model with a partition field that is such.
func partition(f func(m *Model, s SpecField) bool) func(*Model, *Pred) bool {
	return func(m *Model, _ *Pred) bool {
		return slices.ContainsFunc(m.Specs, func(s *Spec) bool { return slices.ContainsFunc(s.Fields, func(x SpecField) bool { return f(m, x) }) })
	}
}

// partitionLeaf is true where a column that is tested has a partition field that is such.
func partitionLeaf(f func(m *Model, l *Pred, s SpecField) bool) func(*Model, *Pred) bool {
	return leaf(func(m *Model, l *Pred) bool {
		return partition(func(m *Model, s SpecField) bool { return s.source().ID == l.Col.field().ID && f(m, l, s) })(m, nil)
	})
}

// pastNames are all names that the fields of a path had.
func (m *Model) pastNames(c Column) (out []string) {
	for _, f := range c.Path {
		for _, t := range m.Schemas {
			for _, old := range columns(t, nil) {
				if old.field().ID == f.ID {
					out = append(out, old.field().Name)
				}
			}
		}
	}
	return out
}

// every is true where each of the functions is.
func every(fs ...func(*Model, *Pred) bool) func(*Model, *Pred) bool {
	return func(m *Model, p *Pred) bool {
		return !slices.ContainsFunc(fs, func(f func(*Model, *Pred) bool) bool { return !f(m, p) })
	}
}

// knownFaults are the listed faults that explain an answer together; nil = none do.
func knownFaults(reader string, m *Model, rows []Row, p *Pred, a answer) []string {
	var fit []*Fault
	for i := range faults {
		f := &faults[i]
		if f.Reader != reader || !f.When(m, p) {
			continue
		}
		switch {
		case f.Error == nil:
			fit = append(fit, f)
		case a.err != nil && f.Error.MatchString(a.err.Error()):
			return []string{f.ID}
		}
	}
	if a.err != nil {
		return nil
	}
	for n := 1; n <= min(3, len(fit)); n++ {
		if ids := choose(fit, n, nil, func(c []*Fault) bool { return explain(c, m, rows, p, a) }); ids != nil {
			return ids
		}
	}
	return nil
}

// choose is the first choice of n of the faults for which ok is true.
func choose(from []*Fault, n int, have []*Fault, ok func([]*Fault) bool) (ids []string) {
	if n == 0 {
		if !ok(have) {
			return nil
		}
		for _, f := range have {
			ids = append(ids, f.ID)
		}
		return ids
	}
	for i, f := range from {
		if ids := choose(from[i+1:], n-1, append(slices.Clone(have), f), ok); ids != nil {
			return ids
		}
	}
	return nil
}

// explain is true where the rows of an answer are those of the model but for what the faults may do to a row.
func explain(fs []*Fault, m *Model, rows []Row, p *Pred, a answer) bool {
	count := map[string]int{}
	for _, r := range a.rows {
		count[r]++
	}
	var d dialect
	for _, f := range fs {
		d |= f.Dialect
	}
	take := func(r Row) bool {
		for _, text := range spellings(fs, r, m.schema()) {
			if count[text] > 0 {
				count[text]--
				return true
			}
		}
		return false
	}
	var maybe []Row
	for _, r := range rows {
		must, may := true, false
		d.each(func(d dialect) bool {
			yes := p == nil || p.eval(r, d) == Yes
			must, may = must && yes, may || yes
			return p != nil
		})
		must = must && !slices.ContainsFunc(fs, func(f *Fault) bool { return f.Fewer != nil && f.Fewer(m, p, r) })
		switch {
		case must && !take(r):
			return false
		case may && !must:
			maybe = append(maybe, r)
		}
	}
	for _, r := range m.deleted() {
		if !slices.ContainsFunc(fs, func(f *Fault) bool { return f.More != nil && f.More(m, p, r) }) {
			continue
		}
		d.each(func(d dialect) bool {
			if p == nil || p.eval(r, d) == Yes {
				maybe = append(maybe, r)
				return false
			}
			return true
		})
	}
	for _, r := range maybe {
		take(r)
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// spellings are the texts as which a row may be read.
func spellings(fs []*Fault, r Row, t *Type) []string {
	out := []string{rowText(r.Values, t)}
	for _, f := range fs {
		if f.Alter != nil {
			out = append(out, rowText(f.Alter(r, t), t))
		}
	}
	return out
}
