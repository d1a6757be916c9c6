//go:build duckdb_arrow && cgo

package lakescan_test

import (
	"testing"
)

// The figures of a statement are those of its scans.
func TestQueryTellsWhatItsScansCost(t *testing.T) {
	c, table := sampleLake()
	defer c.Close()
	r, err := c.Query(t.Context(), `select a.region, count(*) from "`+table+`" a join "`+table+`" b on a.trip_id = b.trip_id group by 1`)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for b, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if s := r.Scan(); rows != 6 || s.Rows != 2*69758 || s.Files != 140 || s.Requests < 140 {
		t.Errorf("%d rows; scans of %d rows, %d files, %d requests; want 6 rows out of two scans of 69758 rows in 70 files", rows, s.Rows, s.Files, s.Requests)
	}
}
