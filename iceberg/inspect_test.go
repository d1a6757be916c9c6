package iceberg

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/internal/icetable"
)

// inspected renders a metadata table: one JSON object a row.
func inspected(t testing.TB, table *Table, of MetadataTable, s InspectSpec) []map[string]any {
	t.Helper()
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := table.Inspect(t.Context(), of, s)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for rec, err := range r.Batches(t.Context(), mem) {
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Schema().Equal(r.Schema()) {
			t.Errorf("schema %v", rec.Schema())
		}
		text, err := rec.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatal(err)
		}
		out = append(out, rows...)
	}
	return out
}

func pluck(rows []map[string]any, names ...string) (out []string) {
	for _, r := range rows {
		var parts []string
		for _, n := range names {
			v := any(r)
			for _, step := range strings.Split(n, ".") {
				v, _ = v.(map[string]any)[step]
			}
			if f, ok := v.(float64); ok {
				v = int64(f)
			}
			parts = append(parts, fmt.Sprint(v))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func inspectTable(t testing.TB) *icetable.Table {
	b := icetable.New(t, 3, kv...)
	b.Specs = [][]icetable.PartitionField{{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}}, {{Source: 1, ID: 1001, Name: "kb", Transform: "bucket[4]"}}}
	f := withMetrics(data("f", 10, 1000, int64(7)), 10, 3, -5, 90)
	f.ColumnSizes = map[int]int64{1: 400, 2: 77}
	b.Commit("append", dataIn(0, f, data("g", 20, 1000, nil)))
	b.Commit("append", dataIn(1, data("h", 5, 1001, int64(2))))
	e := equality("e", []int64{2, 1}, 1000, int64(7))
	b.Commit("delete", deletesIn(0, e, positions("x", at+"f", 1000, int64(7))))
	b.Refs = map[string]any{"main": map[string]any{"snapshot-id": 3, "type": "branch"}, "v1": map[string]any{"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5000}}
	return b
}

func TestInspectDocument(t *testing.T) {
	t.Parallel()
	table, store := load(t, inspectTable(t))
	store.reset()
	wantLines(t, pluck(inspected(t, table, MetadataSnapshots, InspectSpec{}), "snapshot_id", "parent_id", "sequence_number", "operation", "refs", "committed_at"),
		"1 <nil> 1 append [v1] 1970-01-01T00:00:01Z", "2 1 2 append [] 1970-01-01T00:00:02Z", "3 2 3 delete [main] 1970-01-01T00:00:03Z")
	wantLines(t, pluck(inspected(t, table, MetadataHistory, InspectSpec{}), "snapshot_id", "parent_id", "is_current_ancestor"), "1 <nil> true", "2 1 true", "3 2 true")
	wantLines(t, pluck(inspected(t, table, MetadataRefs, InspectSpec{}), "name", "type", "snapshot_id", "max_reference_age_in_ms"), "main BRANCH 3 <nil>", "v1 TAG 1 5000")
	if n := store.count(""); n != 0 {
		t.Errorf("%d reads beside the document", n)
	}
	if _, err := table.Inspect(t.Context(), "nope", InspectSpec{}); err == nil {
		t.Error("an unknown table was taken")
	}
}

func TestInspectManifests(t *testing.T) {
	t.Parallel()
	table, _ := load(t, inspectTable(t))
	rows := inspected(t, table, MetadataManifests, InspectSpec{})
	wantLines(t, pluck(rows, "content", "partition_spec_id", "sequence_number", "added_files_count", "added_rows_count"), "DELETES 0 3 2 4", "DATA 1 2 1 5", "DATA 0 1 2 30")
	summary := rows[2]["partition_summaries"].([]any)[0].(map[string]any)
	if summary["field"] != "p" || summary["contains_null"] != true || summary["lower_bound"] != "7" || summary["upper_bound"] != "7" {
		t.Errorf("summary %v", summary)
	}
	wantLines(t, pluck(inspected(t, table, MetadataManifests, InspectSpec{Version: Version{Ref: "v1"}}), "content", "partition_spec_id"), "DATA 0")
}

func TestInspectFiles(t *testing.T) {
	t.Parallel()
	table, _ := load(t, inspectTable(t))
	rows := inspected(t, table, MetadataFiles, InspectSpec{})
	wantLines(t, pluck(rows, "content", "spec_id", "partition", "record_count", "sequence_number", "equality_ids", "referenced_data_file", "first_row_id"),
		"EQUALITY_DELETES 0 p=7 2 3 [2 1] <nil> <nil>", "POSITION_DELETES 0 p=7 2 3 <nil> "+at+"f <nil>", "DATA 1 kb=2 5 2 <nil> <nil> 30",
		"DATA 0 p=7 10 1 <nil> <nil> 0", "DATA 0 p=null 20 1 <nil> <nil> 10")
	wantLines(t, pluck(rows[3:4], "readable_metrics.k.value_count", "readable_metrics.k.null_value_count", "readable_metrics.k.lower_bound", "readable_metrics.k.upper_bound",
		"readable_metrics.k.column_size", "readable_metrics.v.column_size", "readable_metrics.v.lower_bound", "partition_values.p", "partition_values.kb"), "10 3 -5 90 400 77 <nil> 7 <nil>")
}

func TestInspectPartitions(t *testing.T) {
	t.Parallel()
	table, _ := load(t, inspectTable(t))
	wantLines(t, pluck(inspected(t, table, MetadataPartitions, InspectSpec{}), "partition", "spec_id", "record_count", "file_count", "position_delete_record_count", "position_delete_file_count",
		"equality_delete_record_count", "equality_delete_file_count", "last_sequence_number", "total_data_file_size_in_bytes"),
		"p=7 0 10 1 2 1 2 1 3 1000", "kb=2 1 5 1 0 0 0 0 2 1000", "p=null 0 20 1 0 0 0 0 1 1000")
}

// The first rows of files need the first manifests alone.
func TestInspectReadsWhatALimitNeeds(t *testing.T) {
	t.Parallel()
	table, store := load(t, manyManifests(t, 300))
	for _, c := range []struct {
		limit int64
		most  int
	}{{1, 1}, {10, 17}, {0, 300}} {
		table.catalog.cache.Close()
		store.reset()
		rows := inspected(t, table, MetadataFiles, InspectSpec{Limit: c.limit})
		if want := max(c.limit, 300*b2i(c.limit == 0)); int64(len(rows)) != want {
			t.Errorf("limit %d: %d rows", c.limit, len(rows))
		}
		if n := store.count("/metadata/m"); n > c.most {
			t.Errorf("limit %d: %d manifests read", c.limit, n)
		}
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func TestInspectEmptyTable(t *testing.T) {
	t.Parallel()
	table, _ := load(t, icetable.New(t, 2, kv...))
	for _, of := range MetadataTables {
		if rows := inspected(t, table, of, InspectSpec{}); len(rows) != 0 {
			t.Errorf("%s: %v", of, rows)
		}
	}
}

// Every table of the corpus can be inspected, and what files says agrees with the plan.
func TestInspectCorpus(t *testing.T) {
	t.Parallel()
	cases, tables := loadCorpus(t)
	for _, c := range cases {
		if c.Where != "" || c.Expected.Outcome == "error" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			table, err := corpusCatalog(t, tables[c.Table]).LoadLocation(t.Context(), tables[c.Table].Prefix+"/"+c.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range MetadataTables {
				rows := inspected(t, table, of, InspectSpec{Version: c.version(t)})
				if of != MetadataFiles {
					continue
				}
				var names []string
				for _, r := range rows {
					if r["content"] == "DATA" {
						names = append(names, filepath.Base(r["file_path"].(string)))
					}
				}
				tasks, err := tasksOf(t.Context(), planned(t, table, ScanSpec{Version: c.version(t), NoPrune: true}))
				if errors.Is(err, ErrUnsupported) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				var planned []string
				for _, task := range tasks {
					planned = append(planned, filepath.Base(task.File.Location.Recorded))
				}
				slices.Sort(names)
				slices.Sort(planned)
				wantLines(t, names, planned...)
			}
		})
	}
}

// Partitions print as people write them.
func TestPartitionTexts(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, icetable.Field{ID: 1, Name: "ts", Type: "timestamp"}, icetable.Field{ID: 2, Name: "d", Type: "decimal(9, 2)"}, icetable.Field{ID: 3, Name: "s", Type: "string"},
		icetable.Field{ID: 4, Name: "b", Type: "binary"})
	b.Specs = [][]icetable.PartitionField{{
		{Source: 1, ID: 1000, Name: "y", Transform: "year"},
		{Source: 1, ID: 1001, Name: "m", Transform: "month"},
		{Source: 1, ID: 1002, Name: "d", Transform: "day"},
		{Source: 1, ID: 1003, Name: "h", Transform: "hour"},
		{Source: 3, ID: 1005, Name: "s", Transform: "identity"},
		{Source: 4, ID: 1006, Name: "b", Transform: "truncate[2]"},
		{Source: 1, ID: 1007, Name: "ts", Transform: "identity"},
	}}
	b.Commit("append", dataIn(0, data("f", 1, 1000, int64(-1), 1001, int64(-1), 1002, int64(-1), 1003, int64(-1), 1005, "a/b", 1006, []byte{0, 255}, 1007, int64(-1))))
	table, _ := load(t, b)
	wantLines(t, pluck(inspected(t, table, MetadataFiles, InspectSpec{}), "partition"), "y=1969/m=1969-12/d=1969-12-31/h=1969-12-31-23/s=a/b/b=00ff/ts=1969-12-31T23:59:59.999999")
}
