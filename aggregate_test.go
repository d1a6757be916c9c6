package lakescan_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/icebergtest"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/object"
)

// answers renders all aggregates of a target at once, and with each also every one in a call of its own. With an error there is only it.
func answers(t *testing.T, client *lakescan.Client, target string, each bool, aggregates []lakescan.Aggregate, opts ...lakescan.ScanOption) (out []string, files int64, err error) {
	t.Helper()
	groups := [][]lakescan.Aggregate{aggregates}
	for i := range aggregates {
		if each || i == 0 {
			groups = append(groups, aggregates[i:i+1])
		}
	}
	for _, g := range groups {
		r, err := client.Aggregate(t.Context(), target, g, opts...)
		if err != nil {
			return nil, 0, err
		}
		files += r.Stats.Files
		for i, v := range r.Values {
			out = append(out, fmt.Sprintf("%s = %v", g[i], v))
		}
	}
	return out, files, nil
}

// aggregatesOf are those of every top-level column that has an order.
func aggregatesOf(s *arrow.Schema) []lakescan.Aggregate {
	out := []lakescan.Aggregate{{Func: "count"}}
	for _, f := range s.Fields() {
		name := expr.Col(f.Name).String()
		out = append(out, lakescan.Aggregate{Func: "count", Column: name})
		if !arrow.IsNested(f.Type.ID()) && f.Type.ID() != arrow.NULL && f.Type.ID() != arrow.EXTENSION {
			out = append(out, lakescan.Aggregate{Func: "min", Column: name}, lakescan.Aggregate{Func: "max", Column: name})
		}
	}
	return out
}

// Aggregates that metadata answers, in whole or in part, are those of a scan: for every table of the corpus, column by column, with
// filters and without.
func TestP1_AggregatesOfCorpusTables(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	var saved int64
	t.Run("tables", func(t *testing.T) {
		seen := map[string]bool{}
		for _, c := range m.Select(canon.Iceberg) {
			key := fmt.Sprint(c.Table, c.MetadataFile, c.SnapshotID, c.Ref, c.Where)
			if c.Expected.Outcome != canon.Rows || seen[key] {
				continue
			}
			seen[key] = true
			t.Run(c.ID, func(t *testing.T) { saved += aggregatesOfCase(t, m, c) })
		}
	})
	if saved <= 0 {
		t.Errorf("metadata saved %d files", saved)
	}
}

func aggregatesOfCase(t *testing.T, m *canon.Manifest, c canon.Case) (saved int64) {
	table, _ := m.Table(c.Table)
	folder := m.Folder + "/" + table.Folder
	client, err := lakescan.Open(t.Context(), lakescan.Config{Memory: 256 << 20, Map: []object.Mapping{
		{From: table.LocationPrefix, To: folder}, {From: "./" + table.LocationPrefix, To: folder},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	var opts []lakescan.ScanOption
	if c.SnapshotID != nil {
		opts = append(opts, lakescan.AtSnapshot(*c.SnapshotID))
	}
	if c.Ref != "" {
		opts = append(opts, lakescan.AtRef(c.Ref))
	}
	target := folder + "/" + c.MetadataFile
	r, err := client.Scan(t.Context(), target, append(slices.Clone(opts), lakescan.Columns())...)
	if err != nil {
		if c.Expected.Outcome == "rows" {
			t.Fatal(err)
		}
		t.Skip("refused, as it should be: ", err)
	}
	schema := r.Schema()
	r.Close()
	filters := []string{"", c.Where}
	for _, f := range schema.Fields()[:min(1, schema.NumFields())] {
		filters = append(filters, expr.Col(f.Name).String()+" IS NOT NULL")
	}
	aggregates := aggregatesOf(schema)
	for i, filter := range filters {
		if slices.Contains(filters[:i], filter) {
			continue
		}
		with := slices.Clone(opts)
		if filter != "" {
			with = append(with, lakescan.Where(expr.MustParse(filter)))
		}
		on, few, errOn := answers(t, client, target, filter == "" && !testing.Short(), aggregates, with...)
		off, all, errOff := answers(t, client, target, filter == "" && !testing.Short(), aggregates, append(with, lakescan.NoMetadataAnswers(), lakescan.NoPrune())...)
		switch {
		case errOff != nil:
			t.Logf("filter %q: %v", filter, errOff)
		case errOn != nil:
			t.Errorf("filter %q: metadata fails where a scan does not: %v", filter, errOn)
		case !slices.Equal(on, off):
			t.Errorf("filter %q: metadata %s\nscan %s", filter, strings.Join(on, ", "), strings.Join(off, ", "))
		}
		saved += all - few
	}
	return saved
}

// The same for random tables: bounds that are wider than the values, counts that are missing, NULLs, deletes of two kinds, filters.
func TestP1_AggregatesOfRandomTables(t *testing.T) {
	t.Parallel()
	client, err := lakescan.Open(t.Context(), lakescan.Config{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	root, saved := t.TempDir(), int64(0)
	tables := 40
	if testing.Short() {
		tables = 10
	}
	for seed := range tables {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		target := randomTable(t, r, fmt.Sprintf("file://%s/%d", root, seed))
		aggregates := []lakescan.Aggregate{
			{Func: "count"}, {Func: "count", Column: "k"}, {Func: "min", Column: "k"}, {Func: "max", Column: "k"}, {Func: "min", Column: "s"}, {Func: "max", Column: "s"},
		}
		for _, filter := range []string{"", fmt.Sprintf("k >= %d", r.IntN(10)), fmt.Sprintf("k < %d OR s IS NULL", r.IntN(10)), fmt.Sprintf("k <> %d", r.IntN(10))} {
			var with []lakescan.ScanOption
			if filter != "" {
				with = append(with, lakescan.Where(expr.MustParse(filter)))
			}
			on, few, err := answers(t, client, target, true, aggregates, with...)
			if err != nil {
				t.Fatal(err)
			}
			off, all, err := answers(t, client, target, true, aggregates, append(with, lakescan.NoMetadataAnswers(), lakescan.NoPrune())...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(on, off) {
				t.Fatalf("seed %d, filter %q: metadata %s\nscan %s", seed, filter, strings.Join(on, ", "), strings.Join(off, ", "))
			}
			saved += all - few
		}
	}
	if saved <= 0 {
		t.Errorf("metadata saved %d files", saved)
	}
}

// randomTable writes a table of files with few values, so that bounds meet and overlap.
func randomTable(t *testing.T, r *rand.Rand, location string) string {
	t.Helper()
	k, s := icebergtest.Field(1, "k", arrow.PrimitiveTypes.Int64), icebergtest.Field(2, "s", arrow.BinaryTypes.String)
	b := icebergtest.New(t, location, 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"s","required":false,"type":"string"}]`)
	var files []icebergtest.File
	for range 1 + r.IntN(6) {
		f := randomFile(b, r, k, s)
		files = append(files, f)
		b.Commit("append", f)
	}
	if r.IntN(3) == 0 {
		f := files[r.IntN(len(files))]
		b.Commit("delete", b.Positions(f.Path, r.Int64N(f.Rows)))
	}
	if r.IntN(3) == 0 {
		b.Commit("delete", b.Equality(fmt.Sprintf(`[{"k":%d}]`, r.IntN(10)), k))
	}
	target := b.Save()
	b.Export()
	return target
}

func randomFile(b *icebergtest.Table, r *rand.Rand, k, s arrow.Field) icebergtest.File {
	var rows []string
	n, nulls, base := 1+r.IntN(4), map[int]int64{1: 0, 2: 0}, r.IntN(7)
	least, greatest := 100, -1
	for range n {
		v, text := "null", "null"
		if r.IntN(4) > 0 {
			x := base + r.IntN(4)
			least, greatest, v = min(least, x), max(greatest, x), fmt.Sprint(x)
		} else {
			nulls[1]++
		}
		if r.IntN(4) > 0 {
			text = fmt.Sprintf("%q", strings.Repeat("x", base)+"y")
		} else {
			nulls[2]++
		}
		rows = append(rows, fmt.Sprintf(`{"k":%s,"s":%s}`, v, text))
	}
	f := b.Parquet(parquetfile.Options{}, "["+strings.Join(rows, ",")+"]", k, s)
	if r.IntN(8) == 0 {
		return f // without any metric
	}
	f.Values = map[int]int64{1: int64(n), 2: int64(n)}
	if r.IntN(8) > 0 {
		f.Nulls = nulls
	}
	f.Lower, f.Upper = map[int][]byte{}, map[int][]byte{}
	if greatest >= 0 { // limits, not always values
		f.Lower[1] = binary.LittleEndian.AppendUint64(nil, uint64(least-r.IntN(2)))
		f.Upper[1] = binary.LittleEndian.AppendUint64(nil, uint64(greatest+r.IntN(2)))
	}
	if nulls[2] < int64(n) { // cut short
		f.Lower[2] = []byte(strings.Repeat("x", r.IntN(base+1)))
		if r.IntN(2) == 0 {
			f.Upper[2] = []byte("z")
		}
	}
	return f
}
