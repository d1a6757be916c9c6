//go:build duckdb_arrow && cgo

package duckdb

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/query"
)

var rewrite = flag.Bool("rewrite", false, "accept the plans that the engine makes now")

// withFieldIDs numbers all fields, also those in structs.
func withFieldIDs(s *arrow.Schema) *arrow.Schema {
	next := 0
	var fill func(f arrow.Field) arrow.Field
	fill = func(f arrow.Field) arrow.Field {
		next++
		f = expr.WithFieldID(f, next)
		if st, ok := f.Type.(*arrow.StructType); ok {
			fields := make([]arrow.Field, st.NumFields())
			for i, g := range st.Fields() {
				fields[i] = fill(g)
			}
			f.Type = arrow.StructOf(fields...)
		}
		return f
	}
	fields := make([]arrow.Field, s.NumFields())
	for i, f := range s.Fields() {
		fields[i] = fill(f)
	}
	return arrow.NewSchema(fields, nil)
}

// planTable has one column of every type and no rows, but says that it has many.
func planTable() *memTable {
	s := withFieldIDs(arrow.NewSchema([]arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "l", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "dec", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "big", Type: &arrow.Decimal128Type{Precision: 38, Scale: 9}, Nullable: true},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "tm", Type: arrow.FixedWidthTypes.Time64us, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "tz", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
		{Name: "tn", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
		{Name: "tzn", Type: arrow.FixedWidthTypes.Timestamp_ns, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "fix", Type: &arrow.FixedSizeBinaryType{ByteWidth: 4}, Nullable: true},
		expr.AsUUID(arrow.Field{Name: "u", Nullable: true}),
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
		{Name: "li", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	}, nil))
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
	defer b.Release()
	m := newMemTable(b.NewRecordBatch())
	m.rows = 10_000_000
	return m
}

// TestGoldenPlans compares what every reference of a statement is asked for with query/testdata/plans: statements, each
// followed by "----" and the needs. Lines "param name value" and "zone name" may stand in front of a statement.
func TestGoldenPlans(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	files, err := filepath.Glob("../testdata/plans/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for i, block := range strings.Split(strings.TrimSpace(string(old)), "\n\n") {
				if i > 0 {
					out.WriteString("\n")
				}
				head, want, _ := strings.Cut(block, "\n----")
				got := planNeeds(t, e, head)
				if strings.TrimSpace(want) != strings.TrimSpace(got) && !*rewrite {
					t.Errorf("%s\n--- got\n%s--- want\n%s", head, got, want)
				}
				out.WriteString(head + "\n----\n" + got)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// planNeeds prepares one block and prints what its references are asked for.
func planNeeds(t *testing.T, e query.Engine, head string) string {
	st := query.Statement{Params: map[string]any{}}
	for line := range strings.Lines(head) {
		switch f := strings.Fields(line); {
		case len(f) == 0, strings.HasPrefix(line, "#"):
		case f[0] == "param":
			st.Params[f[1]] = strings.TrimSpace(strings.SplitN(line, " ", 3)[2])
		case f[0] == "zone":
			st.Zone = f[1]
		default:
			st.SQL += line
		}
	}
	tables := memTables{"t": planTable(), "u": planTable(), "a.v": planTable(), "t@5": planTable(), "t@tag": planTable()}
	p, err := e.Prepare(t.Context(), st, tables)
	if err != nil {
		return "error " + err.Error() + "\n"
	}
	defer p.Close()
	for _, m := range tables {
		if n := m.opened(); len(n) > 0 {
			t.Errorf("%s: planning opened %+v", head, n)
		}
	}
	var b strings.Builder
	for _, r := range p.References() {
		b.WriteString(strings.Join(r.Name, "."))
		if r.Alias != r.Name[len(r.Name)-1] {
			b.WriteString(" as " + r.Alias)
		}
		switch v := r.Version; {
		case v.Snapshot != 0:
			fmt.Fprintf(&b, " at %d", v.Snapshot)
		case v.Ref != "":
			fmt.Fprintf(&b, " at %s", v.Ref)
		case !v.AsOf.IsZero():
			fmt.Fprintf(&b, " at %s", v.AsOf.Format(time.RFC3339))
		}
		b.WriteString("\n")
		n := r.Need
		switch {
		case n.RowsOnly:
			b.WriteString("  rows only\n")
		case len(n.Columns) == 0:
			b.WriteString("  not read\n")
		default:
			fmt.Fprintf(&b, "  columns %s\n", strings.Join(n.Columns, ", "))
		}
		if n.Filter != nil {
			fmt.Fprintf(&b, "  filter  %s\n", n.Filter)
		}
		for _, u := range r.Unused {
			fmt.Fprintf(&b, "  unused  %s\n", u)
		}
		if n.Limit > 0 {
			fmt.Fprintf(&b, "  limit   %d\n", n.Limit)
		}
		if n.StopsEarly {
			b.WriteString("  stops early\n")
		}
	}
	return b.String()
}
