//go:build integration

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// open is a client of the rig's servers.
func open(t *testing.T, r *rig.Rig, slow bool) *lakescan.Client {
	t.Helper()
	s3 := r.S3
	if slow {
		s3 = r.Slow
	}
	c, err := lakescan.Open(t.Context(), lakescan.Config{
		Catalog: iceberg.CatalogConfig{URI: r.REST},
		S3:      lakescan.S3Config{Access: object.Access{Endpoint: s3, Region: rig.Region, KeyID: rig.AccessKey, Secret: rig.SecretKey, PathStyle: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// run runs a program with the rig's addresses in its environment.
func run(t *testing.T, r *rig.Rig, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Env = append(os.Environ(), r.Env(false)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// judged returns the sorted canonical rows that DuckDB's own Iceberg reader gives.
func judged(t *testing.T, r *rig.Rig, sql string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.arrow")
	run(t, r, rig.Python(t.Context(), "scripts/duckdb_rows.py", sql, file))
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := ipc.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	out := canon.NewTable(in.Schema(), canon.KeyOrder)
	for in.Next() {
		if err := out.Add(in.RecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(out.Rows()))
}

func scanned(t *testing.T, c *lakescan.Client, table string, opts ...lakescan.ScanOption) []string {
	t.Helper()
	r, err := c.Scan(t.Context(), table, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := canon.NewTable(r.Schema(), canon.KeyOrder)
	for b, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Add(b.Record); err != nil {
			t.Fatal(err)
		}
	}
	return out.Rows()
}

// Tables of two other writers (PyIceberg; Spark, through the committed sample lake), served by the real catalog and the real store, read at every
// depth: the rows of DuckDB, in the same order each time.
func TestP12_TablesOfOtherWriters(t *testing.T) {
	r := rig.Get(t)
	run(t, r, rig.Python(t.Context(), "scripts/pyiceberg_write.py"))
	r.Bucket(t, "lakescan-demo")
	run(t, r, exec.CommandContext(t.Context(), "../bin/lakescan-demo", "seed", "-s3", r.S3, "-rest", r.REST))
	c := open(t, r, false)
	for _, q := range []struct{ table, columns, where, sql string }{
		{"integration.readings", "*", "", ""},
		{"integration.readings", "*", "site = 'a' and value > 1", "site = 'a' and value > 1"},
		{"integration.readings", "id,site,late,day of", "late is null or id < 100", "late is null or id < 100"},
		{"integration.readings", "id,price", "price between -1000.5 and 250000.125 and ok = true", "price between -1000.5 and 250000.125 and ok"},
		{"demo.trips", "*", "", ""},
		{
			"demo.trips", "trip_id,region,tip", "pickup >= timestamptz '2025-03-10T00:00:00Z' and pickup < timestamptz '2025-08-01T00:00:00Z' and region <> 'west'",
			"pickup >= timestamptz '2025-03-10T00:00:00Z' and pickup < timestamptz '2025-08-01T00:00:00Z' and region <> 'west'",
		},
	} {
		t.Run(q.table+" "+q.columns+" "+q.where, func(t *testing.T) {
			list, opts := "*", []lakescan.ScanOption{}
			if q.columns != "*" {
				names := strings.Split(q.columns, ",")
				list = `"` + strings.Join(names, `","`) + `"`
				opts = append(opts, lakescan.Columns(names...))
			}
			sql := fmt.Sprintf("select %s from ice.%s", list, q.table)
			if q.where != "" {
				sql += " where " + q.sql
				opts = append(opts, lakescan.Where(expr.MustParse(q.where)))
			}
			want := judged(t, r, sql)
			if len(want) == 0 {
				t.Fatal("the judge found no rows: the question is void")
			}
			var first []string
			for _, depth := range []source.Depth{source.Off, 1, 4, 16, source.Auto} {
				got := scanned(t, c, q.table, append(opts, lakescan.MaxFilesToPrefetch(depth))...)
				if first == nil {
					first = slices.Clone(got)
					if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
						t.Fatalf("%d rows, DuckDB has %d; first difference:\n%s", len(got), len(want), difference(sorted, want))
					}
				} else if !slices.Equal(got, first) {
					t.Errorf("depth %v: other rows, or the same in another order, than at depth 0", depth)
				}
			}
		})
	}
}

func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("got  %s\nwant %s", got[i], want[i])
		}
	}
	return "one is a prefix of the other"
}
