package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// Spec is a partition spec.
type Spec struct {
	ID     int
	Fields []SpecField
}

// SpecField is one field of a spec. Path leads to its source, with the types of the schema under which the spec was made.
type SpecField struct {
	ID        int
	Name      string
	Transform string
	Path      []*Field
}

func (f SpecField) source() *Field { return f.Path[len(f.Path)-1] }

// DataFile is one live or removed data file, with its rows as written.
type DataFile struct {
	Path      string
	Schema    *Type
	Spec      *Spec
	Tuple     []any // iceberg-go's own values, by field of the spec
	Rows      []map[int]any
	Dead      []bool
	Foreign   []bool // named by an equality delete of another partition, which does not apply
	Unknown   []bool // live, but with NULL where an equality delete names a value, its other key columns equal
	EqDead    []bool // dead by an equality delete one of whose columns the file lacks, so that its default is what is compared
	Seq       int64
	Size      int64
	Positions []int64 // deleted by position, in files or a vector
	Stored    *Type   // the columns that are in the file: those of Schema but for some that the partition knows
}

// Model is a table as the sum of what was done to it: the referee.
type Model struct {
	Version  int
	Schemas  []*Type // by schema id; the last is current
	Specs    []*Spec // by spec id
	Spec     *Spec   // default
	Files    []*DataFile
	Props    map[string]string
	r        *rand.Rand
	lastID   int
	partID   int
	Twins    bool
	Kinds    []Kind         // what another writer can write; nil = all, at any depth and with any name
	Snapshot int64          // of a past state; 0 = current
	Past     []*Model       // some past snapshots, as they were
	Listed   int            // the format version of the current manifest list
	Now      *Model         // the table of a past snapshot as it is now; nil = this is it
	Features map[string]int // what the table holds, for the report and for the conditions of known faults
}

func (m *Model) schema() *Type { return m.Schemas[len(m.Schemas)-1] }

func (m *Model) feature(name string) { m.Features[name]++ }

// Row is a live or deleted row under the schema of the reader, with the file it lies in.
type Row struct {
	Values map[int]any
	File   *DataFile
	At     int
}

// rows are the live rows under the current schema.
func (m *Model) rows() []Row { return m.rowsThat(false) }

// deleted are the others.
func (m *Model) deleted() []Row { return m.rowsThat(true) }

func (m *Model) rowsThat(dead bool) []Row {
	var out []Row
	for _, f := range m.Files {
		for i, r := range f.Rows {
			if f.Dead[i] == dead {
				out = append(out, Row{project(r, f.Schema, m.schema()).(map[int]any), f, i})
			}
		}
	}
	return out
}

// table is the model of the whole table: what its metadata knows, also when a past snapshot is read.
func (m *Model) table() *Model {
	if m.Now != nil {
		return m.Now
	}
	return m
}

// freeze is the model as it stands, at a snapshot.
func (m *Model) freeze(snapshot int64) *Model {
	out := *m
	out.Snapshot, out.Past = snapshot, nil
	out.Schemas, out.Specs, out.Features = slices.Clone(m.Schemas), slices.Clone(m.Specs), maps.Clone(m.Features)
	out.Files = nil
	for _, f := range m.Files {
		g := *f
		g.Dead, g.Foreign, g.EqDead, g.Unknown = slices.Clone(f.Dead), slices.Clone(f.Foreign), slices.Clone(f.EqDead), slices.Clone(f.Unknown)
		out.Files = append(out.Files, &g)
	}
	return &out
}

// source is true of the id of a column that a spec partitions by.
func (s *Spec) source(id int) bool {
	return slices.ContainsFunc(s.Fields, func(f SpecField) bool { return f.source().ID == id && f.Transform != "void" })
}

func (s *Spec) identity(id int) bool {
	return slices.ContainsFunc(s.Fields, func(f SpecField) bool { return f.source().ID == id && f.Transform == "identity" })
}

// plainName is what iceberg-go can write as the name of a partition field.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var columnNames = []string{"a", "b", "value", "Amount", "dotted.name", `quo"te`, "it's", "with space", "größe", "列", "select", "order", "_x", "123", "UPPER", "a.b.c", "x-y", "tab\tname", "end ", "null", "$sys", "café", "semi;colon", "percent%", "back\\slash"}

func (m *Model) newName(siblings []*Field) string {
	for range 50 {
		n := columnNames[m.r.IntN(len(columnNames))]
		if m.Kinds != nil && strings.Contains(n, ".") {
			continue
		}
		if m.Twins && m.r.IntN(3) == 0 && len(siblings) > 0 {
			n = siblings[m.r.IntN(len(siblings))].Name
			if up := strings.ToUpper(n); up != n {
				n = up
			} else {
				n = strings.ToLower(n)
			}
		}
		if !slices.ContainsFunc(siblings, func(f *Field) bool { return f.Name == n || !m.Twins && strings.EqualFold(f.Name, n) }) {
			return n
		}
	}
	return fmt.Sprintf("c%d", m.lastID)
}

func (m *Model) newID() int { m.lastID++; return m.lastID }

func (m *Model) randomType(depth int) *Type {
	if depth > 0 && m.r.IntN(4) == 0 {
		switch m.r.IntN(3) {
		case 0:
			t := &Type{Kind: Struct}
			for range 1 + m.r.IntN(3) {
				t.Fields = append(t.Fields, &Field{ID: m.newID(), Name: m.newName(t.Fields), Type: m.randomType(depth - 1)})
			}
			return t
		case 1:
			id := m.newID()
			return &Type{Kind: List, Fields: []*Field{{ID: id, Name: "element", Type: m.randomType(depth - 1)}}}
		}
		k, v := m.newID(), m.newID()
		return &Type{Kind: Map, Fields: []*Field{{ID: k, Name: "key", Required: true, Type: &Type{Kind: []Kind{String, Int, Long, Date}[m.r.IntN(4)]}}, {ID: v, Name: "value", Type: m.randomType(depth - 1)}}}
	}
	kinds := []Kind{Bool, Int, Int, Long, Long, Float, Double, Double, Decimal, Date, Time, Timestamp, Timestamptz, String, String, String, UUID, Fixed, Binary}
	if m.Version >= 3 {
		kinds = append(kinds, TimestampNs, TimestamptzNs)
	}
	if m.Kinds != nil {
		kinds = m.Kinds
	}
	t := &Type{Kind: kinds[m.r.IntN(len(kinds))]}
	switch t.Kind {
	case Decimal:
		t.P = []int{1, 5, 9, 10, 18, 19, 30, 38}[m.r.IntN(8)]
		t.S = m.r.IntN(min(t.P, 10) + 1)
	case Fixed:
		t.N = 1 + m.r.IntN(9)
	case TimestampNs, TimestamptzNs:
		m.feature("nanoseconds")
	}
	return t
}

func newModel(r *rand.Rand, version int) *Model {
	m := &Model{Version: version, r: r, partID: 999, Features: map[string]int{}, Props: map[string]string{}, Twins: r.IntN(25) == 0}
	if m.Twins {
		m.feature("case twins")
	}
	root := &Type{Kind: Struct}
	root.Fields = append(root.Fields, &Field{ID: m.newID(), Name: "id", Required: true, Type: &Type{Kind: Long}})
	for range 2 + r.IntN(7) {
		m.addTo(root)
	}
	m.Schemas = []*Type{root}
	m.Spec = m.randomSpec()
	m.Specs = []*Spec{m.Spec}
	return m
}

func (m *Model) addTo(t *Type) *Field {
	id := m.newID()
	f := &Field{ID: id, Name: m.newName(t.Fields), Type: m.randomType(map[bool]int{true: 1, false: 2}[m.Kinds != nil])}
	t.Fields = append(t.Fields, f)
	return f
}

// randomSpec partitions by up to two columns, or none.
func (m *Model) randomSpec() *Spec {
	s := &Spec{ID: len(m.Specs)}
	n := []int{0, 0, 1, 1, 1, 2}[m.r.IntN(6)]
	for range n {
		var fit []Column
		for _, c := range columns(m.schema(), nil) {
			if t := c.field().Type; t.primitive() && !t.floating() && c.field().ID != 1 {
				fit = append(fit, c)
			}
		}
		if len(fit) == 0 {
			break
		}
		c := fit[m.r.IntN(len(fit))]
		t := m.randomTransform(c.field().Type)
		m.partID++
		name := fmt.Sprintf("p%d", m.partID)
		if t == "identity" && len(c.Path) == 1 && plainName.MatchString(c.field().Name) && !slices.ContainsFunc(s.Fields, func(f SpecField) bool { return f.Name == c.field().Name }) {
			name = c.field().Name
		}
		if slices.ContainsFunc(s.Fields, func(f SpecField) bool { return f.source().ID == c.field().ID }) {
			continue
		}
		m.feature("partition " + strings.Split(t, "[")[0])
		s.Fields = append(s.Fields, SpecField{ID: m.partID, Name: name, Transform: t, Path: c.Path})
	}
	return s
}

func (m *Model) randomTransform(t *Type) string {
	out := []string{"identity", "void"}
	switch t.Kind {
	case Bool:
		return "identity"
	case Int, Long, Decimal, String:
		out = append(out, fmt.Sprintf("truncate[%d]", []int{1, 3, 10, 100}[m.r.IntN(4)]))
	case Binary:
		out = append(out, "truncate[2]")
	case Date:
		out = append(out, "year", "month", "day")
	case Timestamp, Timestamptz, TimestampNs, TimestamptzNs:
		out = append(out, "year", "month", "day", "hour")
	}
	out = append(out, fmt.Sprintf("bucket[%d]", []int{1, 4, 16}[m.r.IntN(3)]))
	if len(out) > 3 {
		out = append(out, out[2:]...)
	}
	return out[m.r.IntN(len(out))]
}

// sources are the ids that the default spec needs.
func (m *Model) sources() map[int]bool {
	out := map[int]bool{}
	for _, f := range m.Spec.Fields {
		for _, p := range f.Path {
			out[p.ID] = true
		}
	}
	return out
}

// structs lists the root and every struct inside structs (not below lists and maps).
func structs(t *Type) []*Type {
	out := []*Type{t}
	for _, f := range t.Fields {
		if f.Type.Kind == Struct {
			out = append(out, structs(f.Type)...)
		}
	}
	return out
}

// evolve makes one random change of the schema; what names it for the report. A change that does not fit this table is none.
func (m *Model) evolve() string {
	next := m.schema().clone()
	places := structs(next)
	at := places[m.r.IntN(len(places))]
	what := []string{"add", "add", "drop", "rename", "move", "promote", "promote"}[m.r.IntN(7)]
	pick := func() *Field { return at.Fields[m.r.IntN(len(at.Fields))] }
	switch what {
	case "add":
		f := m.addTo(at)
		if m.Version >= 3 && m.r.IntN(2) == 0 && f.Type.primitive() {
			f.Default = randomValue(m.r, f.Type, profile{base: m.r.Float64(), spread: 5})
			m.feature("defaults")
			if len(places) > 1 && at != next {
				m.feature("nested defaults")
			}
		}
	case "drop":
		f := pick()
		var all []int
		for _, c := range append(columns(f.Type, nil), Column{[]*Field{f}}) {
			all = append(all, c.field().ID)
		}
		if f.ID == 1 || len(at.Fields) == 1 || slices.ContainsFunc(all, func(id int) bool { return m.sources()[id] }) {
			return ""
		}
		for _, s := range m.Specs {
			for _, sf := range s.Fields {
				if slices.Contains(all, sf.source().ID) {
					m.feature("dropped source")
				}
			}
		}
		at.Fields = slices.DeleteFunc(at.Fields, func(g *Field) bool { return g == f })
	case "rename":
		f := pick()
		if f.ID == 1 {
			return ""
		}
		f.Name = m.newName(at.Fields)
	case "move":
		m.r.Shuffle(len(at.Fields), func(i, j int) { at.Fields[i], at.Fields[j] = at.Fields[j], at.Fields[i] })
	case "promote":
		f := pick()
		source := false
		for _, s := range m.Specs {
			source = source || slices.ContainsFunc(s.Fields, func(x SpecField) bool { return x.source().ID == f.ID })
		}
		switch f.Type.Kind {
		case Int:
			f.Type.Kind = Long
		case Float:
			f.Type.Kind = Double
		case Decimal:
			if f.Type.P == 38 {
				return ""
			}
			f.Type.P = min(38, f.Type.P+1+m.r.IntN(10))
		case Date:
			if m.Version < 3 || source || m.r.IntN(2) == 0 || f.Default != nil {
				return ""
			}
			f.Type.Kind = Timestamp
			m.feature("date to timestamp")
		default:
			return ""
		}
		if source {
			m.feature("promoted source")
		}
	}
	m.Schemas = append(m.Schemas, next)
	m.feature(what)
	return what
}
