//go:build duckdb_arrow && cgo

package duckdb

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/query"
)

func TestParams(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	tables := memTables{"o": ordersTable(t, 1), "one": oneRow(t)}
	when := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		sql    string
		params map[string]any
		want   string
	}{
		{"select count(*) from o where id < $n", map[string]any{"n": 10}, "10"},
		{"select count(*) from o where id < $n", map[string]any{"n": "10"}, "10"},
		{"select count(*) from o where id < $n", map[string]any{"n": uint8(10)}, "10"},
		{"select count(*) from o where id < $n", map[string]any{"n": 9.5}, "10"},
		{"select count(*) from o where id < $n and total < $n", map[string]any{"n": "10"}, "9"},
		{"select count(*) from o where day < $d and id < 100", map[string]any{"d": "2024-10-05"}, "1"},
		{"select count(*) from one where day = $d and tz >= $d", map[string]any{"d": "2026-05-01"}, "1"},
		{"select count(*) from o where region = $r and id < 6", map[string]any{"r": "eu"}, "1"},
		{"select count(*) from o where region = $r", map[string]any{"r": "x' or true --"}, "0"},
		{"select count(*) from o where region is not distinct from $r and id < 10", map[string]any{"r": nil}, "2"},
		{"select tz = $t, ts = $s, dec = $x, u = $u, bin = $b, big = $h from one", map[string]any{
			"t": when, "s": "2026-05-01 11:00:00", "x": "1.25", "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "b": []byte{0, 255}, "h": big.NewInt(-7),
		}, "true|true|true|true|true|true"},
		{"select count(*) from one where tz = $t", map[string]any{"t": when}, "1"},
		{"select count(*) from one where dec = $x and u = $u and bin = $b", map[string]any{"x": "1.25", "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "b": `\x00\xFF`}, "1"},
		{"select $a::int + $b", map[string]any{"a": "4", "b": 5}, "9"},
		{"select $a", map[string]any{"a": "text"}, "text"},
		{"select id from o order by id limit $n offset $m", map[string]any{"n": "2", "m": 3}, "3\n4"},
		{"select $1 + $2", map[string]any{"1": 1, "2": 2}, "3"},
		{"select i from range($n) r(i)", map[string]any{"n": 2}, "0\n1"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			t.Parallel()
			lines, err := run(t.Context(), e, query.Statement{SQL: c.sql, Params: c.params}, tables)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestParams_Errors(t *testing.T) {
	t.Parallel()
	e := testEngine(t, EngineConfig{})
	tables := memTables{"o": ordersTable(t, 1)}
	for _, c := range []struct {
		sql    string
		params map[string]any
		want   string
	}{
		{"select $a", nil, "parameter $a has no value"},
		{"select 1", map[string]any{"b": 1}, "no parameter $b"},
		{"select count(*) from o where day = $d", map[string]any{"d": "soon"}, `"soon" is no date`},
		{"select count(*) from o where id = $d", map[string]any{"d": struct{}{}}, "struct {} cannot be a parameter"},
		{"select count(*) from o where id = $d", map[string]any{"d": new(big.Int).Lsh(big.NewInt(1), 130)}, "more than 128 bits"},
	} {
		_, err := run(t.Context(), e, query.Statement{SQL: c.sql, Params: c.params}, tables)
		checkError(t, c.sql, err, query.ClassBind, c.want)
	}
}

func oneRow(tb testing.TB) *memTable {
	s := planTable().schema
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
	defer b.Release()
	const json = `{"b":true,"i":1,"l":2,"f":0.5,"d":0.25,"dec":"1.25","big":"-7","day":"2026-05-01","tm":"10:00:00",
		"ts":"2026-05-01 11:00:00","tz":"2026-05-01 11:00:00Z","tn":"2026-05-01 11:00:00","tzn":"2026-05-01 11:00:00Z","s":"x",
		"bin":"AP8=","fix":"AAECAw==","u":"oO68mZwLTvi7bWu5vTgKEQ==","st":{"x":3},"li":[1,null]}`
	if err := b.UnmarshalJSON([]byte(json)); err != nil {
		tb.Fatal(err)
	}
	return newMemTable(b.NewRecordBatch())
}
