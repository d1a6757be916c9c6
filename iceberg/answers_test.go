package iceberg

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/internal/icetable"
	"github.com/lakescan/lakescan/object"
)

// withMetrics gives a file counts and bounds of column k.
func withMetrics(e manifest.Written, values, nulls, low, high int64) manifest.Written {
	e.Values, e.Nulls = map[int]int64{1: values}, map[int]int64{1: nulls}
	e.Lower, e.Upper = map[int][]byte{1: icetable.Bound(arrow.PrimitiveTypes.Int64, low)}, map[int][]byte{1: icetable.Bound(arrow.PrimitiveTypes.Int64, high)}
	return e
}

func TestAnswersFromMetadata(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 3, kv...)
	noNulls := withMetrics(data("no-null-count", 10), 10, 0, 5, 9)
	noNulls.Nulls = nil
	b.Commit("append", dataIn(0, withMetrics(data("plain", 10), 10, 3, 50, 90), noNulls, withMetrics(data("wrong-count", 10), 9, 0, 30, 31),
		withMetrics(data("vector", 10), 10, 0, 10, 60), data("bare", 10), withMetrics(data("positions", 10), 10, 0, 1, 2)))
	b.Commit("delete", deletesIn(0, vectorOf("dv", at+"vector", 4), positions("x", at+"positions")))
	table, _ := load(t, b)
	type answer struct {
		rows, values int64 // -1 = only a scan knows
	}
	collect := func(filter string) (out map[string]answer, files []FileTask) {
		s := ScanSpec{}
		if filter != "" {
			s.Filter = expr.MustParse(filter)
		}
		out = map[string]answer{}
		for f, err := range planned(t, table, s).TasksWithMetrics(t.Context(), []int{1}) {
			if err != nil {
				t.Fatal(err)
			}
			a := answer{-1, -1}
			if n, ok := CountOf(f.Task); ok {
				a.rows = n
			}
			if n, ok := f.Count(0); ok {
				a.values = n
			}
			out[short(f.File.Location)] = a
			files = append(files, f)
		}
		return out, files
	}
	got, files := collect("")
	for name, want := range map[string]answer{"plain": {10, 7}, "no-null-count": {10, -1}, "wrong-count": {10, -1}, "vector": {7, -1}, "bare": {10, -1}, "positions": {-1, -1}} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	OrderForMin(files, 0)
	var order []string
	for _, f := range files {
		order = append(order, short(f.File.Location))
	}
	wantLines(t, order, "bare", "positions", "no-null-count", "vector", "wrong-count", "plain")
	OrderForMax(files, 0)
	if short(files[0].File.Location) != "bare" || short(files[1].File.Location) != "plain" {
		t.Errorf("for the maximum: %s, %s first", short(files[0].File.Location), short(files[1].File.Location))
	}
	// A filter that the metrics prove for the whole file leaves the answer exact; one that they do not is a scan's.
	got, _ = collect("k > 20")
	for name, want := range map[string]answer{"plain": {-1, -1}, "bare": {-1, -1}, "vector": {-1, -1}} {
		if got[name] != want {
			t.Errorf("filtered, %s: %v, want %v", name, got[name], want)
		}
	}
	if _, ok := got["no-null-count"]; ok {
		t.Error("a file that cannot match is counted")
	}
	got, _ = collect("k >= 10 AND k IS NOT NULL")
	if got["vector"] != (answer{7, -1}) {
		t.Errorf("proved by metrics: %v", got["vector"])
	}
	rows, exact, err := table.CountRows(t.Context(), Version{Snapshot: 1}, nil)
	if err != nil || !exact || rows != 60 {
		t.Errorf("count of the first snapshot: %d %v %v", rows, exact, err)
	}
}

// Bounds of bytes stay as they are when planning goes on, although the manifest's bytes do not.
func TestMetricsOutliveTheirManifest(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, icetable.Field{ID: 1, Name: "b", Type: "binary"})
	var want []string
	for m := range 3 {
		var list []manifest.Written
		for i := range 3 {
			e := data(fmt.Sprintf("f%d-%d", m, i), 10)
			bound := fmt.Sprintf("bound %d-%d", m, i)
			e.Lower, e.Upper, want = map[int][]byte{1: []byte(bound)}, map[int][]byte{1: []byte(bound)}, append(want, bound+" "+bound)
			list = append(list, e)
		}
		b.Commit("append", icetable.Manifest{Entries: list})
	}
	table, store := load(t, b)
	for _, early := range []bool{false, true} {
		l := &lane{store: store, delay: func(object.Location) time.Duration { return 0 }} // clears what is released
		var files []FileTask
		for f, err := range planned(t, table, ScanSpec{StopsEarly: early, Fetcher: l}).TasksWithMetrics(t.Context(), []int{1}) {
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		var got []string
		for _, f := range files {
			got = append(got, fmt.Sprintf("%s %s", f.Lower(0).Value, f.Upper(0).Value))
		}
		slices.Sort(got)
		wantLines(t, got, want...)
		l.wg.Wait()
	}
}
