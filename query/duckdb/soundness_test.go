//go:build duckdb_arrow && cgo

package duckdb

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/exprtest"
	"github.com/lakescan/lakescan/query"
)

var (
	soundStatements = flag.Int("sound.n", 80, "random statements of the soundness test")
	soundSeed       = flag.Uint64("sound.seed", 1, "seed of the soundness test")
)

// TestSoundness runs random statements three times: over tables that give exactly the rows that were asked for, over tables
// that give all rows, and over DuckDB's own tables. The rows must be the same: a predicate out of a plan that is too strong
// loses some.
func TestSoundness(t *testing.T) {
	t.Parallel()
	const workers = 4
	for w := range uint64(workers) {
		t.Run(fmt.Sprint("seed ", *soundSeed, ".", w), func(t *testing.T) {
			t.Parallel()
			g := &generator{Rand: rand.New(rand.NewPCG(*soundSeed, w))}
			pruned, all := memTables{}, memTables{}
			for _, name := range []string{"t", "u"} {
				all[name] = g.table()
				pruned[name] = newMemTable(all[name].batches...)
				pruned[name].strict = true
			}
			e := testEngine(t, EngineConfig{})
			o := newOracle(t, all)
			skipped, filtered := 0, 0
			n := *soundStatements / workers
			for range n {
				st := query.Statement{SQL: g.statement()}
				if g.IntN(4) == 0 {
					st.Zone = "Europe/Paris"
				}
				want, wantErr := o.lines(st)
				plain, plainErr := run(t.Context(), e, st, all)
				if (wantErr == nil) != (plainErr == nil) {
					t.Fatalf("%s (zone %q)\nover our tables: %v\nover DuckDB's: %v", st.SQL, st.Zone, plainErr, wantErr)
				}
				if wantErr != nil {
					skipped++
					continue
				}
				got, err := run(t.Context(), e, st, pruned)
				if err != nil {
					t.Fatalf("%s (zone %q)\n%v", st.SQL, st.Zone, err)
				}
				for _, rows := range [][]string{want, plain, got} {
					slices.Sort(rows)
				}
				if !slices.Equal(plain, want) {
					t.Fatalf("%s (zone %q)\nover all rows\n%s\nover DuckDB's table\n%s", st.SQL, st.Zone, strings.Join(plain, "\n"), strings.Join(want, "\n"))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s (zone %q)\nwith pruning\n%s\nwithout\n%s\nneeds %+v", st.SQL, st.Zone, strings.Join(got, "\n"), strings.Join(want, "\n"), pruned["t"].opened())
				}
				for _, m := range pruned {
					m.mu.Lock()
					for _, need := range m.mu.needs {
						if need.Filter != nil || need.Limit > 0 {
							filtered++
						}
					}
					m.mu.needs = nil
					m.mu.Unlock()
				}
			}
			t.Logf("%d statements, %d fail, %d scans pruned", n, skipped, filtered)
			if skipped > n/3 || filtered < n/2 {
				t.Errorf("of %d statements %d fail, %d scans are pruned: the generator has gone astray", n, skipped, filtered)
			}
		})
	}
}

// oracle is an unlocked DuckDB with the same rows in its own tables.
type oracle struct{ in *instance }

func newOracle(t *testing.T, tables memTables) *oracle {
	in, err := openInstance(settings{threads: 1, memory: 256 << 20, spill: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	fn, err := registerFunction(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.close(); fn.close() })
	fn.running(t.Context())
	for name, m := range tables {
		r := &reference{key: name, utc: true}
		r.Name, r.Table = []string{name}, m
		r.makeColumns()
		fn.refs[name] = r
		var names []string
		for _, c := range r.columns[1:] {
			names = append(names, query.QuoteIdent(c.name))
		}
		if err := in.exec(fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM lakescan('%s')", name, strings.Join(names, ", "), name)); err != nil {
			t.Fatal(err)
		}
	}
	return &oracle{in}
}

func (o *oracle) lines(st query.Statement) ([]string, error) {
	zone := st.Zone
	if zone == "" {
		zone = "UTC"
	}
	if err := o.in.exec("SET TimeZone = '" + zone + "'"); err != nil {
		return nil, err
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(o.in.conn, st.SQL, &res) == bindings.StateError {
		return nil, &engineError{text: bindings.ResultError(&res)}
	}
	r := &rows{result: res, options: bindings.ResultGetArrowOptions(&res)}
	defer bindings.DestroyArrowOptions(&r.options)
	n := bindings.ColumnCount(&res)
	types, names := make([]bindings.LogicalType, n), make([]string, n)
	for i := range n {
		types[i], names[i] = bindings.ColumnLogicalType(&res, i), bindings.ColumnName(&res, i)
	}
	defer destroyTypes(types)
	schema, err := arrowSchema(r.options, types, names)
	if err != nil {
		return nil, err
	}
	var lines []string
	for {
		chunk := bindings.FetchChunk(res)
		if chunk.Ptr == nil {
			return lines, nil
		}
		rec, ed := bindings.DataChunkToArrowArray(r.options, schema, chunk)
		bindings.DestroyDataChunk(&chunk)
		if err := taken(ed); err != nil {
			return nil, err
		}
		lines = append(lines, textLines(rec)...)
		rec.Release()
	}
}

// generator makes tables and statements out of few values, so that comparisons meet.
type generator struct{ *rand.Rand }

func pickOne[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

var soundSchema = withFieldIDs(arrow.NewSchema([]arrow.Field{
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "l", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "dec", Type: &arrow.Decimal128Type{Precision: 6, Scale: 2}, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
	{Name: "tz", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "tn", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
	expr.AsUUID(arrow.Field{Name: "u", Nullable: true}),
	{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
}, nil))

// value of a column as exprtest builds arrays.
func (g *generator) value(name string) any {
	small := int64(g.IntN(7) - 3)
	const day = 86_400_000_000
	micros := 19_800*day + pickOne(g, small*day, small*day/2, small*day+1, small*day-1, small*3_600_000_000)
	switch name {
	case "b":
		return g.IntN(2) == 0
	case "i":
		return pickOne(g, small, small, math.MaxInt32, math.MinInt32)
	case "l":
		return pickOne(g, small, small, math.MaxInt64, math.MinInt64, 1<<53+1)
	case "f", "d":
		return pickOne(g, float64(small), float64(float32(small)/4), math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1))
	case "dec":
		return big.NewInt(pickOne(g, small*100, small*25, small, 999_999))
	case "day":
		return pickOne(g, 19_800+small, 19_800+small, -1, 0)
	case "ts", "tz":
		return micros
	case "tn":
		return micros*1000 + small
	case "s":
		return pickOne(g, "", "a", "ab", "abc", "b", "A", "a%", "größe", "a text of more than twelve bytes")
	case "bin":
		return pickOne(g, []byte{}, []byte("a"), []byte{0}, []byte{255, 0})
	case "u":
		return slices.Repeat([]byte{byte(pickOne(g, 0, 1, 127, 128, 255))}, 16)
	}
	return nil
}

// table has 60 rows in three batches.
func (g *generator) table() *memTable {
	var batches []arrow.RecordBatch
	for range 3 {
		const rows = 20
		columns := make([]arrow.Array, soundSchema.NumFields())
		for c, f := range soundSchema.Fields() {
			name, typ := f.Name, f.Type
			st, isStruct := typ.(*arrow.StructType)
			if isStruct {
				name, typ = "i", st.Field(0).Type
			}
			values := make([]any, rows)
			for i := range values {
				if g.IntN(5) > 0 {
					values[i] = g.value(name)
				}
			}
			columns[c] = exprtest.Array(arrowmem.DefaultAllocator, typ, values)
			if isStruct {
				d := array.NewData(f.Type, rows, []*arrowmem.Buffer{nil}, []arrow.ArrayData{columns[c].Data()}, 0, 0)
				columns[c] = array.NewStructData(d)
			}
		}
		batches = append(batches, array.NewRecordBatch(soundSchema, columns, rows))
	}
	return newMemTable(batches...)
}

// literal is a constant for a column, in SQL.
func (g *generator) literal(name string) string {
	small := g.IntN(7) - 3
	if g.IntN(12) == 0 {
		return "NULL"
	}
	date := fmt.Sprintf("2024-03-%02d", 18+small)
	switch name {
	case "b":
		return pickOne(g, "true", "false")
	case "i", "l", "st.x":
		return pickOne(g, fmt.Sprint(small), fmt.Sprint(small), "2147483647", "9223372036854775807", fmt.Sprint(small, ".5"), "1e0", "5000000000")
	case "f", "d":
		return pickOne(g, fmt.Sprint(small), fmt.Sprint(small, ".25"), "'nan'::double", "'inf'::double", "'-inf'::float", "0.1", "-0.0::double", "0.1::float")
	case "dec":
		return pickOne(g, fmt.Sprint(small), fmt.Sprint(small, ".25"), "0.01", "1e3", "9999.99", "123456789.5", "0.005")
	case "day":
		return pickOne(g, "DATE '"+date+"'", "DATE '"+date+"'", "DATE '1969-12-31'", "TIMESTAMP '"+date+" 12:00:00'", "TIMESTAMP '"+date+" 00:00:00'", "TIMESTAMPTZ '"+date+" 00:00:00+00'")
	case "ts", "tn":
		return pickOne(g, "TIMESTAMP '"+date+" 00:00:00'", "TIMESTAMP '"+date+" 12:00:00'", "DATE '"+date+"'", "TIMESTAMPTZ '"+date+" 00:00:00+00'", "TIMESTAMP '"+date+" 00:00:00.000001'", "'"+date+" 00:00:00.000000001'::TIMESTAMP_NS")
	case "tz":
		return pickOne(g, "TIMESTAMPTZ '"+date+" 00:00:00+00'", "TIMESTAMP '"+date+" 12:00:00'", "DATE '"+date+"'", "TIMESTAMPTZ '"+date+" 00:00:00+01'")
	case "s":
		return pickOne(g, "''", "'a'", "'ab'", "'b'", "'größe'", "'A'", "'zz'")
	case "bin":
		return pickOne(g, `''::BLOB`, `'a'::BLOB`, `'\x00'::BLOB`, `'\xFF\x00'::BLOB`)
	}
	return pickOne(g, "'00000000-0000-0000-0000-000000000000'", "'80808080-8080-8080-8080-808080808080'", "'7f7f7f7f-7f7f-7f7f-7f7f-7f7f7f7f7f80'") + "::UUID"
}

var soundColumns = []string{"b", "i", "l", "f", "d", "dec", "day", "ts", "tz", "tn", "s", "bin", "u", "st.x"}

// predicate over the columns of a table with an alias.
func (g *generator) predicate(alias string, depth int) string {
	if depth > 0 && g.IntN(3) > 0 {
		p, q := g.predicate(alias, depth-1), g.predicate(alias, depth-1)
		return pickOne(g, "("+p+" AND "+q+")", "("+p+" AND "+q+")", "("+p+" OR "+q+")", "(NOT "+p+")", "("+p+" AND NOT ("+q+" AND "+g.noise(alias)+"))", "("+g.noise(alias)+" OR "+p+" AND "+q+")")
	}
	if g.IntN(6) == 0 {
		return g.noise(alias)
	}
	name := pickOne(g, soundColumns...)
	c := alias + "." + name
	op := pickOne(g, "=", "<>", "<", "<=", ">", ">=")
	lit := func() string { return g.literal(name) }
	switch g.IntN(12) {
	case 0:
		return "(" + c + " IS " + pickOne(g, "", "NOT ") + "NULL)"
	case 1:
		return "(" + c + " " + pickOne(g, "", "NOT ") + "BETWEEN " + lit() + " AND " + lit() + ")"
	case 2, 3:
		var list []string
		for range 1 + g.IntN(8) {
			list = append(list, lit())
		}
		return "(" + c + " " + pickOne(g, "", "NOT ") + "IN (" + strings.Join(list, ", ") + "))"
	case 4:
		return "(" + c + " IS " + pickOne(g, "", "NOT ") + "DISTINCT FROM " + lit() + ")"
	case 5:
		return "(" + lit() + " " + op + " " + c + ")"
	case 6:
		return g.text(alias)
	case 7:
		return g.cast(alias, op)
	case 8:
		other := map[string][]string{"i": {"l", "st.x", "dec", "d"}, "l": {"i", "dec"}, "f": {"d"}, "d": {"f", "i"}, "dec": {"i"}, "day": {"ts", "day"}, "ts": {"day", "tn"}, "tz": {"tz"}, "tn": {"ts"}}[name]
		if other != nil {
			return "(" + c + " " + op + " " + alias + "." + pickOne(g, other...) + ")"
		}
	}
	return "(" + c + " " + op + " " + lit() + ")"
}

func (g *generator) text(alias string) string {
	s := alias + ".s"
	return "(" + pickOne(g, s+" LIKE 'a%'", s+" NOT LIKE 'a%'", s+" LIKE 'a_%'", s+" LIKE '%b'", s+" LIKE 'ab'", s+" LIKE 'a\\%'", s+" ILIKE 'A%'", "starts_with("+s+", 'a')", "NOT starts_with("+s+", 'ab')", "prefix("+s+", '')", s+" SIMILAR TO 'a.*'", "contains("+s+", 'b')", s+" LIKE 'grö%'", "NOT ("+s+" LIKE 'a_c%')") + ")"
}

func (g *generator) cast(alias, op string) string {
	day := fmt.Sprintf("DATE '2024-03-%02d'", 15+g.IntN(7))
	n := fmt.Sprint(g.IntN(7) - 3)
	a := alias + "."
	return "(" + pickOne(g,
		a+"ts::DATE "+op+" "+day, a+"tz::DATE "+op+" "+day, a+"tn::DATE "+op+" "+day, a+"day::TIMESTAMP "+op+" "+day+"::TIMESTAMP + INTERVAL 5 HOUR",
		a+"i::BIGINT "+op+" "+n, a+"i::HUGEINT "+op+" "+n, a+"l::DECIMAL(25, 2) "+op+" "+n+".5", a+"dec::DECIMAL(9, 4) "+op+" "+n+".0001",
		a+"i::DOUBLE "+op+" "+n+".5", a+"l::DOUBLE "+op+" 9007199254740992", a+"f::DOUBLE "+op+" 0.1", "TRY_CAST("+a+"s AS INTEGER) "+op+" "+n,
		a+"i::VARCHAR "+op+" '"+n+"'", a+"ts::TIMESTAMPTZ "+op+" "+day, a+"tz::TIMESTAMP "+op+" "+day, a+"day::TIMESTAMPTZ "+op+" TIMESTAMPTZ '2024-03-18 00:00:00+00'",
		a+"ts::DATE IN ("+day+", DATE '2024-03-18')", a+"ts::TIMESTAMP_NS "+op+" "+day, a+"i::BIGINT IS NULL", "date_trunc('day', "+a+"ts) "+op+" "+day, a+"dec::INTEGER "+op+" "+n, a+"tn::TIMESTAMP "+op+" "+day) + ")"
}

// noise cannot be converted.
func (g *generator) noise(alias string) string {
	a := alias + "."
	return "(" + pickOne(g, "lower("+a+"s) = 'a'", a+"i + 1 > 2", "coalesce("+a+"i, 0) > 0", "year("+a+"day) = 2024", "CASE WHEN "+a+"b THEN "+a+"i > 0 ELSE "+a+"s = 'a' END",
		"length("+a+"s) > 1", a+"s || 'x' = 'ax'", "("+a+"i > 0) = "+a+"b", "abs("+a+"i::BIGINT) < 3", a+"st IS NULL", a+"i % 2 = 0", "("+a+"i, "+a+"b) IN ((1, true), (2, false))", "coalesce("+a+"b, "+a+"s = 'a')", "("+a+"i > 0) IS NOT FALSE", "isnan("+a+"d)") + ")"
}

func (g *generator) statement() string {
	p := func(alias string) string { return g.predicate(alias, 3) }
	sums := "count(*), sum(%[1]s.i), min(%[1]s.s), max(%[1]s.ts), count(%[1]s.f), bool_or(%[1]s.b), max(%[1]s.u)"
	agg := func(alias string) string { return fmt.Sprintf(sums, alias) }
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		return "SELECT * FROM t WHERE " + p("t")
	case 4:
		return "SELECT " + agg("t") + " FROM t WHERE " + p("t")
	case 5:
		return "SELECT t.i, u.s FROM t JOIN u ON t.i = u.i WHERE " + p("t") + " AND " + p("u")
	case 6:
		return "SELECT t.i, u.s FROM t LEFT JOIN u ON t.i = u.i AND " + p("u") + " WHERE " + p("t")
	case 7:
		return "SELECT t.i, u.s FROM t " + pickOne(g, "LEFT", "RIGHT", "FULL") + " JOIN u ON t.l = u.l WHERE " + p("u")
	case 8:
		return "SELECT t.* FROM t WHERE " + pickOne(g, "", "NOT ") + "EXISTS (SELECT 1 FROM u WHERE u.i = t.i AND " + p("u") + ") AND " + p("t")
	case 9:
		return "SELECT t.* FROM t WHERE t.i " + pickOne(g, "", "NOT ") + "IN (SELECT i FROM u WHERE " + p("u") + ") OR " + p("t")
	case 10:
		return "WITH c AS " + pickOne(g, "", "MATERIALIZED ", "NOT MATERIALIZED ") + "(SELECT * FROM t WHERE " + p("t") + ") SELECT x.i, y.s FROM c x JOIN c y ON x.i = y.i WHERE " + p("x") + " AND " + p("y")
	case 11:
		return "SELECT t.i, " + agg("t") + " FROM t WHERE " + p("t") + " GROUP BY t.i HAVING t.i > 0 AND count(*) > 1"
	case 12:
		return "SELECT " + agg("x") + ", count(y.i) FROM t x JOIN t y ON x.l = y.l WHERE " + p("x") + " AND " + p("y")
	case 13:
		return fmt.Sprintf("SELECT count(*) FROM (SELECT t.i FROM t %s LIMIT %d OFFSET %d)", pickOne(g, "", "WHERE "+p("t")), g.IntN(30), g.IntN(5))
	case 14:
		return "SELECT v.i, v.s FROM (SELECT * FROM t WHERE " + p("t") + " UNION ALL SELECT * FROM u) v WHERE " + p("v")
	}
	return "SELECT q, w.s FROM (SELECT " + p("t") + " AS q, t.* FROM t) w WHERE q AND " + p("w")
}
