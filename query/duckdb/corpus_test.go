//go:build duckdb_arrow && cgo

package duckdb_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/query"
)

// shownOtherwise are cases in which SQL shows a value in another type than the table has, by intent; their number of rows is
// compared.
var shownOtherwise = map[string]string{
	"variant":         "variants are JSON text",
	"float16":         "half floats are floats",
	"timestamptz[ns]": "nanosecond instants are UTC without a zone",
	"null":            "DuckDB's null type is an integer",
}

// TestCorpus reads every file and table of the corpus by SQL, through the client, and compares the rows with those that other
// readers agree on.
func TestCorpus(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	cfg := lakescan.Config{Memory: 1 << 30, SpillDir: t.TempDir()}
	for _, table := range m.Tables {
		folder := m.Folder + "/" + table.Folder
		cfg.Map = append(cfg.Map, object.Mapping{From: table.LocationPrefix, To: folder}, object.Mapping{From: "./" + table.LocationPrefix, To: folder})
	}
	client, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range m.Select(canon.ParquetGood, canon.Iceberg) {
		if c.Expected.Outcome != canon.Rows || len(c.Extra) > 0 {
			continue // damage is the scan's business, and reserved columns are not visible in SQL
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			readBySQL(t, client, m, c)
		})
	}
}

func readBySQL(t *testing.T, client *lakescan.Client, m *canon.Manifest, c canon.Case) {
	path, order := filepath.Join(m.Folder, c.Path), canon.StoredOrder
	var opts []lakescan.QueryOption
	if c.Kind == canon.Iceberg {
		table, ok := m.Table(c.Table)
		if !ok {
			t.Fatalf("no table %s", c.Table)
		}
		path, order = m.Folder+"/"+table.Folder+"/"+c.MetadataFile, canon.KeyOrder
	}
	sql := "SELECT * FROM " + query.QuoteString(path)
	switch {
	case c.SnapshotID != nil:
		sql += " AT (VERSION => $v)"
		opts = append(opts, lakescan.Param("v", *c.SnapshotID))
	case c.Ref != "":
		sql += " AT (VERSION => $v)"
		opts = append(opts, lakescan.Param("v", c.Ref))
	}
	if c.Where != "" {
		sql += " WHERE " + c.Where
	}
	res, err := client.Query(t.Context(), sql, opts...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer res.Close()
	out := canon.NewTable(res.Schema(), order)
	for rec, err := range res.All() {
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if err := out.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	got, want := out.Facts(), c.Expected.Facts
	if got.NumRows != want.NumRows {
		t.Fatalf("%s: %d rows, not %d", sql, got.NumRows, want.NumRows)
	}
	for _, f := range want.Schema {
		for part := range shownOtherwise {
			if strings.Contains(f.Type, part) {
				return
			}
		}
	}
	if got.RowsSHA256 != want.RowsSHA256 {
		for i, col := range want.Columns {
			if got.Columns[i].SHA256 != col.SHA256 {
				t.Errorf("%s: column %s %s differs; first values %q", sql, col.Name, want.Schema[i].Type, out.Column(i)[:min(3, len(out.Column(i)))])
			}
		}
		t.Errorf("expected first rows %q, got %q", want.FirstRows, out.Rows()[:min(3, len(out.Rows()))])
	}
	if want.RowsInOrderSHA256 != "" && got.RowsInOrderSHA256 != want.RowsInOrderSHA256 {
		t.Errorf("%s: the rows are in another order", sql)
	}
}
