//go:build duckdb_arrow && cgo

package duckdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/query"
)

// refused are statements that reach for something that is not a table of the catalog. "$DIR" is a folder with a planted file,
// "$SPILL" the engine's spill folder.
var refused = []struct {
	sql   string
	class query.Class
	part  string
}{
	// not a SELECT
	{"insert into o values (1)", query.ClassRefused, "only SELECT"},
	{"create table x as select 1", query.ClassRefused, "only SELECT"},
	{"create view v as select 1", query.ClassRefused, "only SELECT"},
	{"drop view o", query.ClassRefused, "only SELECT"},
	{"update o set id = 1", query.ClassRefused, "only SELECT"},
	{"delete from o", query.ClassRefused, "only SELECT"},
	{"copy (select 1) to '$DIR/out.csv'", query.ClassRefused, "only SELECT"},
	{"copy o from '$DIR/secret.csv'", query.ClassRefused, "only SELECT"},
	{"export database '$DIR/x'", query.ClassRefused, "only SELECT"},
	{"import database '$DIR/x'", query.ClassRefused, "only SELECT"},
	{"attach '$DIR/x.db' as x", query.ClassRefused, "only SELECT"},
	{"detach memory", query.ClassRefused, "only SELECT"},
	{"use memory", query.ClassRefused, "only SELECT"},
	{"install httpfs", query.ClassRefused, "only SELECT"},
	{"load httpfs", query.ClassRefused, "only SELECT"},
	{"set memory_limit = '100GB'", query.ClassRefused, "only SELECT"},
	{"reset memory_limit", query.ClassRefused, "only SELECT"},
	{"set variable x = 1", query.ClassRefused, "only SELECT"},
	{"pragma database_list", query.ClassRefused, "only SELECT"},
	{"pragma enable_profiling", query.ClassRefused, "only SELECT"},
	{"call pragma_version()", query.ClassRefused, "only SELECT"},
	{"checkpoint", query.ClassRefused, "only SELECT"},
	{"begin", query.ClassRefused, "only SELECT"},
	{"commit", query.ClassRefused, "only SELECT"},
	{"prepare p as select 1", query.ClassRefused, "only SELECT"},
	{"execute p", query.ClassRefused, "only SELECT"},
	{"create secret s (type s3)", query.ClassRefused, "only SELECT"},
	{"vacuum", query.ClassRefused, "only SELECT"},
	{"pivot o on region using sum(total)", query.ClassRefused, "PIVOT"},
	{"explain select 1", query.ClassRefused, "EXPLAIN"},
	{"explain analyze select 1", query.ClassRefused, "EXPLAIN"},
	{"show tables", query.ClassRefused, "SHOW"},
	{"show databases", query.ClassRefused, "SHOW"},
	{"select * from (show all tables)", query.ClassRefused, "SHOW"},
	{"describe", query.ClassRefused, "SHOW"},
	// two statements
	{"select 1; select 2", query.ClassRefused, "more than one statement"},
	{"select 1; drop view o", query.ClassRefused, "more than one statement"},
	// table functions
	{"from query('select 1')", query.ClassRefused, "query"},
	{"from query_table('o')", query.ClassRefused, "query_table"},
	{"from query_table(['o'])", query.ClassRefused, "query_table"},
	{"from read_csv('$DIR/secret.csv')", query.ClassRefused, "read_csv"},
	{"from read_csv_auto('$SPILL/x')", query.ClassRefused, "read_csv_auto"},
	{"from read_text('$DIR/secret.csv')", query.ClassRefused, "read_text"},
	{"from read_blob('$DIR/secret.csv')", query.ClassRefused, "read_blob"},
	{"from read_json('$DIR/secret.csv')", query.ClassRefused, "read_json"},
	{"from read_parquet('$DIR/x.parquet')", query.ClassRefused, "read_parquet"},
	{"from parquet_metadata('$DIR/x.parquet')", query.ClassRefused, "parquet_metadata"},
	{"from glob('$DIR/*')", query.ClassRefused, "glob"},
	{"from sniff_csv('$DIR/secret.csv')", query.ClassRefused, "sniff_csv"},
	{"from duckdb_settings()", query.ClassRefused, "duckdb_settings"},
	{"from duckdb_secrets()", query.ClassRefused, "duckdb_secrets"},
	{"from duckdb_functions()", query.ClassRefused, "duckdb_functions"},
	{"from json_execute_serialized_sql(json_serialize_sql('select 1'))", query.ClassRefused, "json_execute_serialized_sql"},
	{"from lakescan('0')", query.ClassRefused, "lakescan"},
	{"from main.lakescan('0')", query.ClassRefused, "lakescan"},
	{"from system.main.glob('$DIR/*')", query.ClassRefused, "glob"},
	{"select (select count(*) from read_csv('$DIR/secret.csv'))", query.ClassRefused, "read_csv"},
	{"with x as (from read_csv('$DIR/secret.csv')) from x", query.ClassRefused, "read_csv"},
	{"select * from o where exists (from glob('*'))", query.ClassRefused, "glob"},
	{"select 1 order by (select count(*) from glob('*'))", query.ClassRefused, "glob"},
	{"values ((select count(*) from glob('*')))", query.ClassRefused, "glob"},
	{"describe from read_csv('$DIR/secret.csv')", query.ClassRefused, "read_csv"},
	{"summarize from read_csv('$DIR/secret.csv')", query.ClassRefused, "read_csv"},
	{"from o, lateral (from read_csv('$DIR/secret.csv'))", query.ClassRefused, "read_csv"},
	{"from (pivot read_csv('$DIR/secret.csv') on a in (1) using count(*))", query.ClassRefused, "read_csv"},
	{"from arrow_scan(0, 0, 0)", query.ClassRefused, "arrow_scan"},
	{"from seq_scan('x')", query.ClassRefused, "seq_scan"},
	{"from test_all_types()", query.ClassRefused, "test_all_types"},
	{"from enable_logging()", query.ClassRefused, "enable_logging"},
	// scalar functions that bind or run a text
	{"select json_serialize_plan('from read_csv(''$DIR/secret.csv'')')", query.ClassRefused, "json_serialize_plan"},
	{"select JSON_SERIALIZE_PLAN('select 1')", query.ClassRefused, "json_serialize_plan"},
	{"select write_log('x')", query.ClassRefused, "write_log"},
	{"select getenv('SECRET')", query.ClassBind, "getenv"},
	// names of files are tables of the catalog, not files
	{"from '$DIR/secret.csv'", query.ClassNotFound, "secret.csv"},
	{"from '$SPILL/x.parquet'", query.ClassNotFound, "x.parquet"},
	{"from 'https://127.0.0.1:1/x.parquet'", query.ClassNotFound, "https"},
	// DuckDB's own catalog
	{"from information_schema.tables", query.ClassNotFound, "information_schema.tables"},
	{"from pg_catalog.pg_tables", query.ClassNotFound, "pg_tables"},
	{"from sqlite_master", query.ClassNotFound, "sqlite_master"},
	{"from duckdb_tables", query.ClassNotFound, "duckdb_tables"},
	{"from system.information_schema.tables", query.ClassNotFound, "tables"},
	{"from memory.main.o", query.ClassNotFound, "memory.main.o"},
	// text
	{"", query.ClassSyntax, "empty"},
	{"-- nothing\n;", query.ClassSyntax, "empty"},
	{"select 1\x00 from o", query.ClassSyntax, "zero byte"},
	{"select '\xff'", query.ClassSyntax, "UTF-8"},
	{"selec 1", query.ClassSyntax, "syntax error"},
	{"select 'open", query.ClassSyntax, "unterminated"},
	// versions
	{"select * from o at (version => (select max(id) from o))", query.ClassBind, "reads a table"},
	{"select * from o at (branch => 'x')", query.ClassSyntax, "branch"},
	{"with x as (select 1) select * from x at (version => 1)", query.ClassUnsupported, "no versions"},
	{"select * from o at (version => getenv('x'))", query.ClassBind, "getenv"},
	{"select * from o at (timestamp => 'soon')", query.ClassBind, "version of o"},
	{"select * from o at (version => null)", query.ClassBind, "null"},
	{"select * from o at (version => 1.5)", query.ClassBind, "DECIMAL"},
	{"select a.b.c.d.e from a.b.c.d", query.ClassSyntax, ""},
}

func TestSandbox_Refuses(t *testing.T) {
	t.Setenv("SECRET", "planted")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.csv"), []byte("planted\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spill := t.TempDir()
	e := testEngine(t, EngineConfig{SpillDir: spill})
	tables := memTables{"o": ordersTable(t, 1)}
	for _, c := range refused {
		sql := strings.NewReplacer("$DIR", dir, "$SPILL", spill).Replace(c.sql)
		lines, err := run(t.Context(), e, query.Statement{SQL: sql}, tables)
		checkError(t, c.sql, err, c.class, c.part)
		if strings.Contains(strings.Join(lines, "\n"), "planted") {
			t.Errorf("%s: gave the secret away", c.sql)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder has changed: %v %v", left, err)
	}
}

// What the gate lets through must still find every door locked, should the gate have a hole.
func TestSandbox_LockedBehindTheGate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.csv"), []byte("planted\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := testEngine(t, EngineConfig{}).(*engine)
	s, err := e.begin(query.Statement{SQL: "select 1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.prepare(t.Context(), memTables{}); err != nil {
		t.Fatal(err)
	}
	if err := s.in.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"from read_csv('" + dir + "/secret.csv')",
		"from read_text('" + dir + "/secret.csv')",
		"from glob('" + dir + "/*')",
		"copy (select 1) to '" + dir + "/out.csv'",
		"attach '" + dir + "/x.db' as x",
		"install httpfs", "load httpfs", "load '" + dir + "/x.duckdb_extension'",
		"set enable_external_access = true", "set lock_configuration = false", "set temp_directory = '" + dir + "'",
		"set allowed_directories = ['/']", "set memory_limit = '1TB'", "set TimeZone = 'Europe/Paris'", "reset lock_configuration",
		"create persistent secret s (type s3)",
		"export database '" + dir + "/e'",
		"from 'https://127.0.0.1:1/x.parquet'",
	} {
		if err := s.in.exec(sql); err == nil {
			t.Errorf("%s: allowed", sql)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has changed: %v %v", left, err)
	}
}

// Statements of every kind that must pass.
func TestGate_Allows(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	tables := memTables{
		"o": ordersTable(t, 1), "a.o": ordersTable(t, 1), "a.b.o": ordersTable(t, 1), "x.y.o": ordersTable(t, 1),
		"s3://b/x/*.parquet": ordersTable(t, 1), "temp.o": ordersTable(t, 1), "o@7": ordersTable(t, 1), "o@main": ordersTable(t, 1),
		"o@2026-01-01T00:00:00Z": ordersTable(t, 1), "system.o": ordersTable(t, 1),
	}
	for _, sql := range []string{
		"select 1;",
		"values (1), (2)",
		"from o",
		"from o select id limit 3",
		"describe o",
		"describe select id from o",
		"summarize select id from o",
		"table o",
		"select * from (pivot o on region in ('eu', 'us') using sum(total) group by day)",
		"select * from (unpivot (select id, total from o) on total)",
		"select * from range(3), generate_series(1, 2), repeat(1, 2)",
		"select unnest([1, 2])",
		"select * from unnest([1, 2])",
		"select * from json_each('[1,2]')",
		"with recursive r as (select 1 as n union all select n + 1 from r where n < 3) from r",
		"with o as (select 1 as id) select * from o",
		"with x as (from o), y as (from x) select count(*) from x, y where x.id = y.id",
		"select * from a.o join a.b.o b using (id) join x.y.o as c using (id) limit 1",
		`select count(*) from "x.y".o`,
		`select "s3://b/x/*.parquet".id from 's3://b/x/*.parquet' limit 1`,
		"select count(*) from temp.o",
		"select count(*) from system.o x",
		"select count(*) from o at (version => 7), o m at (version => 'main') where o.id = m.id",
		"select count(*) from o for version as of 7",
		"select count(*) from o for timestamp as of '2026-01-01'",
		"select count(*) from o timestamp as of timestamp '2026-01-01 00:00:00'",
		"select count(*) from o at (timestamp => date '2025-12-31' + interval 1 day)",
		"select count(*) from o at (timestamp => 1767225600)",
		"select o.id, o2.id from o, o as o2 where o.id = o2.id and o2.id < 5",
		"select O.ID from o, O as p where o.id = p.id limit 1",
		"select columns('i.*') from o limit 1",
		`select id, from_json('{"a":1}', '{"a":"INTEGER"}') from o limit 1`,
		"select * from o tablesample 10 percent",
		"select * exclude (id) replace (total + 1 as total) from o limit 1",
		"select id from o union by name select id from a.o order by 1 limit 1",
		"select list(id order by id) from o where id < 5",
		"select now() - now(), current_date - current_date",
	} {
		if _, err := run(t.Context(), e, query.Statement{SQL: sql}, renamed(tables)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// renamed finds tables by the name without case, as a catalog with a fold rule does.
type renamed memTables

func (t renamed) Load(ctx context.Context, name []string, v iceberg.Version) (query.Table, error) {
	lower := make([]string, len(name))
	for i, n := range name {
		lower[i] = strings.ToLower(n)
	}
	return memTables(t).Load(ctx, lower, v)
}

func TestError_Position(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	tables := memTables{"sales.orders": ordersTable(t, 1)}
	for _, c := range []struct {
		sql, near string
		class     query.Class
	}{
		{"select id,\n  totl from sales.orders", "totl", query.ClassBind},
		{"select id from sales.orders where\n\n région = 1", "région", query.ClassBind},
		{"select 'é', id from sales.orders o join sales.orders p using (id) where p.nope = 1", "p.nope", query.ClassBind},
		{"select 1 +", "", query.ClassSyntax},
		{"select 1 from sales.orders whre id", "id", query.ClassSyntax},
		{"select id from sales.orders, sales.ordrs", "sales.ordrs", query.ClassNotFound},
		{"select id from sales.orders for version as of 9", "sales.orders", query.ClassNotFound},
		{"select o.id from sales.orders for version as of 'x' as o, glob('x')", "glob", query.ClassRefused},
		{"select nofunction(id) from sales.orders", "nofunction", query.ClassBind},
		{"select id + region from sales.orders", "+", query.ClassBind},
	} {
		_, err := run(t.Context(), e, query.Statement{SQL: c.sql}, tables)
		q, ok := errors.AsType[*query.Error](err)
		if !ok || q.Class != c.class {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if c.near == "" {
			continue
		}
		want := (&query.Error{}).At(c.sql, strings.LastIndex(c.sql, c.near))
		if q.Line != want.Line || q.Col != want.Col {
			t.Errorf("%s: at %d:%d (%q), not %d:%d: %v", c.sql, q.Line, q.Col, q.Near, want.Line, want.Col, err)
		}
	}
}
