package main

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// Fault is something another reader is known to do wrong. A difference is accepted only where the reader does exactly this, and the model (what was written
// minus what was deleted) sides with lakescan. TestKnownFaultsAreStillThere asserts each one, so that a repaired reader is noticed.
type Fault struct {
	ID      string
	Reader  string
	Version string
	Seed    uint64 // of a table that shows it
	Wrong   string // what it does
	Proof   string // section of the specification, or what shows it
	Error   *regexp.Regexp
	When    func(m *Model, p *Pred) bool   // the tables and predicates it can show on; p nil = all rows
	Dialect *dialect                       // the rows lie between the model's and those of the model under this dialect
	Alter   []func(any, *Type) any         // a row may read so
	Fewer   func(*Model, map[int]any) bool // such rows may be missing
	Loose   bool                           // rows may lack that an equality delete of another partition names
}

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
func leaf(f func(*Pred) bool) func(*Model, *Pred) bool {
	return func(_ *Model, p *Pred) bool {
		found := false
		if p != nil {
			p.leaves(func(l *Pred) { found = found || f(l) })
		}
		return found
	}
}

func nanLiteral(l *Pred) bool {
	return slices.ContainsFunc(l.Lits, func(x Lit) bool { f, ok := x.V.(float64); return ok && math.IsNaN(f) })
}

var faults = []Fault{
	{
		ID: "duckdb-nanoseconds", Seed: 2006, Reader: "duckdb", Version: "1.5.5", Wrong: "refuses every table that has a timestamptz_ns (or timestamp_ns) column", Proof: "Iceberg specification, Primitive types (v3)",
		Error: regexp.MustCompile(`Unrecognized primitive type: timestamp(tz)?_ns`),
		When: func(m *Model, _ *Pred) bool {
			return slices.ContainsFunc(m.Schemas, func(t *Type) bool { return hasKind(t, TimestampNs, TimestamptzNs) })
		},
	},
	{
		ID: "pyiceberg-equality-deletes", Seed: 2004, Reader: "pyiceberg", Version: "0.12.0", Wrong: "reads no table with equality deletes", Proof: "github.com/apache/iceberg/issues/6568",
		Error: regexp.MustCompile(`does not yet support equality deletes`), When: feature("equality deletes"),
	},
	{
		ID: "pyiceberg-nanosecond-literal", Seed: 2000, Reader: "pyiceberg", Version: "0.12.0", Wrong: "has no literal of a nanosecond timestamp", Proof: "Iceberg specification, Primitive types (v3)",
		Error: regexp.MustCompile(`Cannot convert LongLiteral into timestamp(tz)?_ns`),
		When: leaf(func(l *Pred) bool {
			k := l.Col.field().Type.Kind
			return k == TimestampNs || k == TimestamptzNs
		}),
	},
	{
		ID: "pyiceberg-nan-literal", Seed: 2020, Reader: "pyiceberg", Version: "0.12.0", Wrong: "has no NaN literal", Proof: "its message",
		Error: regexp.MustCompile(`Cannot create expression literal from NaN`), When: leaf(nanLiteral),
	},
	{
		ID: "pyiceberg-dots", Seed: 2000, Reader: "pyiceberg", Version: "0.12.0", Wrong: "takes a dot in a name for a step into a struct when it filters", Proof: "a name is free text; columns are found by id (Iceberg specification, Schemas)",
		Error: regexp.MustCompile(`No match for FieldRef`),
		When: leaf(func(l *Pred) bool {
			return slices.ContainsFunc(l.Col.names(), func(n string) bool { return strings.Contains(n, ".") })
		}),
	},
	{
		ID: "pyiceberg-null-unequal", Seed: 2005, Reader: "pyiceberg", Version: "0.12.0", Wrong: "NOT IN, <> and NOT LIKE keep (some) rows whose value is NULL, and a comparison with NaN follows IEEE 754", Proof: "SQL: NULL NOT IN (…) is unknown; Iceberg's evaluators say true",
		Dialect: &dialect{ieee: true, nullUnequal: true}, When: leaf(func(*Pred) bool { return true }),
	},
	{
		ID: "pyiceberg-null-lists", Seed: 2012, Reader: "pyiceberg", Version: "0.12.0", Wrong: "a NULL list of structs, lists or maps, or a NULL map, is read as an empty one", Proof: "the file has a null there: definition level 0",
		Alter: []func(any, *Type) any{emptied(false), emptied(true)}, When: func(m *Model, _ *Pred) bool { return hasKind(m.schema(), List, Map) }, Dialect: &dialect{ieee: true, nullUnequal: true},
	},
	{
		ID: "pyiceberg-uuid", Seed: 2001, Reader: "pyiceberg", Version: "0.12.0 with pyarrow 25", Wrong: "cannot compare a UUID", Proof: "its message",
		Error: regexp.MustCompile(`extension`), When: func(m *Model, _ *Pred) bool { return hasKind(m.schema(), UUID) },
	},
	{
		ID: "pyiceberg-nanosecond-bounds", Seed: 2007, Reader: "pyiceberg", Version: "0.12.0", Wrong: "reads no bound, default or partition of a nanosecond timestamp", Proof: "Iceberg specification, appendix D",
		Error: regexp.MustCompile(`type timestamp(tz)?_ns not supported|timestamp-nanos|timestamp(tz)?_ns|TimestampNano|TimestamptzNano`),
		When:  func(m *Model, _ *Pred) bool { return m.Features["nanoseconds"] > 0 },
	},
	{
		ID: "pyiceberg-null-partition", Seed: 2012, Reader: "pyiceberg", Version: "0.12.0", Wrong: "compares a NULL of a partition tuple with a literal", Proof: "its message",
		Error: regexp.MustCompile(`not supported between instances of '(NoneType' and '.*|.*' and 'NoneType)'`),
		When: func(m *Model, _ *Pred) bool {
			return slices.ContainsFunc(m.Specs, func(s *Spec) bool { return len(s.Fields) > 0 })
		},
	},
	{
		ID: "pyiceberg-decimal-scale", Seed: 2009, Reader: "pyiceberg", Version: "0.12.0", Wrong: "wants the scale of a decimal in an Avro schema, which may be left out for 0", Proof: "Avro specification, Decimal: scale, optional, default 0",
		Error: regexp.MustCompile(`KeyError: 'scale'`), When: scaleZeroPartition,
	},
	{
		ID: "pyiceberg-nested-filter", Seed: 2031, Reader: "pyiceberg", Version: "0.12.0", Wrong: "cannot filter by IS NULL of a list, a map, or a struct that holds one", Proof: "its message",
		Error: regexp.MustCompile(`Cannot explicitly project List or Map types`),
		When:  leaf(func(l *Pred) bool { return !l.Col.field().Type.primitive() }),
	},
	{
		ID: "duckdb-decimal-scale", Seed: 2009, Reader: "duckdb", Version: "1.5.5", Wrong: "dies (SIGFPE) at a decimal without scale in an Avro schema, which may be left out for 0", Proof: "Avro specification, Decimal: scale, optional, default 0",
		Error: regexp.MustCompile(`the process died`), When: scaleZeroPartition,
	},
	{
		ID: "duckdb-equality-null", Seed: 2015, Reader: "duckdb", Version: "1.5.5", Wrong: "an internal error where equality deletes meet NULL", Proof: "Iceberg specification, Equality Delete Files: NULL matches NULL",
		Error: regexp.MustCompile(`Comparison on NULL values`), When: feature("equality deletes"),
	},
	{
		ID: "duckdb-equality-scope", Seed: 2008, Reader: "duckdb", Version: "1.5.5", Wrong: "equality deletes of one partition delete in others", Proof: "Iceberg specification, Scan Planning: the data file's partition equals the delete file's, or the delete file's spec is unpartitioned",
		Loose: true, When: feature("equality deletes"),
	},
	{
		ID: "duckdb-equality-fewer", Seed: 5004, Reader: "duckdb", Version: "1.5.5", Wrong: "loses rows of tables with equality deletes: keys with NULL take more than their equals, and a filter more than it should", Proof: "the model: rows written whose key no delete file names",
		Fewer: func(*Model, map[int]any) bool { return true }, When: feature("equality deletes"),
	},
	{
		ID: "duckdb-before-1970", Seed: 2039, Reader: "duckdb", Version: "1.5.5", Wrong: "prunes rows before 1970 under year, month, day and hour partitions", Proof: "Iceberg specification, Partition Transforms: months from 1970-01-01, negative before; month of 1875-01-12 is -1140, as the manifest says",
		Fewer: beforeEpoch, When: func(m *Model, p *Pred) bool { return p != nil && len(m.times()) > 0 },
	},
	{
		ID: "duckdb-case", Seed: 2001, Reader: "duckdb", Version: "1.5.5", Wrong: "has no columns whose names differ in case only", Proof: "Iceberg names are case-sensitive; DuckDB's are not",
		Error: regexp.MustCompile(`.`), When: feature("case twins"),
	},
}

// times are the sources of the partitions by year, month, day or hour.
func (m *Model) times() (out []Column) {
	for _, s := range m.Specs {
		for _, f := range s.Fields {
			if slices.Contains([]string{"year", "month", "day", "hour"}, f.Transform) {
				out = append(out, Column{f.Path})
			}
		}
	}
	return out
}

func beforeEpoch(m *Model, row map[int]any) bool {
	return slices.ContainsFunc(m.times(), func(c Column) bool { v, ok := dig(row, c.Path).(int64); return ok && v < 0 })
}

func scaleZeroPartition(m *Model, _ *Pred) bool {
	return slices.ContainsFunc(m.Specs, func(s *Spec) bool {
		return slices.ContainsFunc(s.Fields, func(f SpecField) bool { return f.source().Type.Kind == Decimal && f.source().Type.S == 0 })
	})
}

// emptied gives a value with the null lists of nested elements, and the null maps if maps is set, at any depth, as empty ones.
func emptied(maps bool) func(any, *Type) any {
	var empty func(v any, t *Type) any
	empty = func(v any, t *Type) any {
		switch x := v.(type) {
		case nil:
			switch {
			case t.Kind == List && !t.Fields[0].Type.primitive():
				return []any{}
			case t.Kind == Map && maps:
				return [][2]any{}
			}
		case map[int]any:
			out := map[int]any{}
			for _, f := range t.Fields {
				out[f.ID] = empty(x[f.ID], f.Type)
			}
			return out
		case []any:
			out := []any{}
			for _, e := range x {
				out = append(out, empty(e, t.Fields[0].Type))
			}
			return out
		case [][2]any:
			out := [][2]any{}
			for _, e := range x {
				out = append(out, [2]any{e[0], empty(e[1], t.Fields[1].Type)})
			}
			return out
		}
		return v
	}
	return empty
}

// knownFault is the id of the listed fault that explains an answer; "" = none does.
func knownFault(reader string, m *Model, rows []map[int]any, p *Pred, a answer) string {
	for _, f := range faults {
		if f.Reader == reader && f.explains(m, rows, p, a) {
			return f.ID
		}
	}
	return ""
}

func (f *Fault) explains(m *Model, rows []map[int]any, p *Pred, a answer) bool {
	if !f.When(m, p) {
		return false
	}
	if f.Error != nil {
		return a.err != nil && f.Error.MatchString(a.err.Error())
	}
	if a.err != nil {
		return false
	}
	// Each row that the dialects agree on must be as the model says; the others the reader may have or not, depending on what it pruned.
	count := map[string]int{}
	for _, r := range a.rows {
		count[r]++
	}
	dead := map[string]int{} // by text, what f.Loose may take
	if f.Loose {
		for _, r := range rows {
			dead[rowText(r, m.schema())]++
		}
		for _, r := range m.live(true) {
			dead[rowText(r, m.schema())]--
		}
	}
	for _, r := range rows {
		sql, other := true, true
		if p != nil && f.Dialect == nil {
			sql = p.eval(r, dialect{}) == Yes
			other = sql
		} else if p != nil {
			sql, other = p.eval(r, dialect{}) == Yes, p.positive(false).eval(r, *f.Dialect) == Yes
		}
		text := rowText(r, m.schema())
		for _, alter := range f.Alter {
			if count[text] == 0 {
				text = rowText(alter(r, m.schema()).(map[int]any), m.schema())
			}
		}
		switch {
		case sql && other && count[text] == 0 && f.Fewer != nil && f.Fewer(m, r):
		case sql && other && count[text] == 0 && dead[text] > 0:
			dead[text]--
		case sql && other:
			if count[text]--; count[text] < 0 {
				return false
			}
		case sql != other && count[text] > 0:
			count[text]--
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
