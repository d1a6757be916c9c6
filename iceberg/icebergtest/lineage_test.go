package icebergtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/parquetfile"
)

// Two files of three row groups; any of these are skipped by their statistics, pages by theirs, and rows are deleted at every edge, by
// position files and by a vector: _pos and _row_id are those that a reader of all rows sees. One file has row ids of its own for some
// rows, and one entry takes its first id from the manifest after another.
func TestP7_PositionsAndRowIDsOfRowsThatAreLeft(t *testing.T) {
	t.Parallel()
	const rows, group = 90, 30
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, vector := range []bool{false, true} {
		b := New(t, "s3://b/t", 3)
		b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"}]`)
		type row struct{ k, pos, id int }
		var all []row
		var files []File
		for f := range 2 {
			var text bytes.Buffer
			for i := range rows {
				r := row{k: 1000*f + i, pos: i, id: rows*f + i}
				own := "null"
				if f == 1 && i%4 == 0 { // moved here by an update
					r.id = 5000 + i
					own = fmt.Sprint(r.id)
				}
				all = append(all, r)
				fmt.Fprintf(&text, `{"k":%d,"_row_id":%s},`, r.k, own)
			}
			columns := []arrow.Field{k, Field(2147483540, "_row_id", i64)}
			files = append(files, b.Parquet(parquetfile.Options{GroupRows: group, PageBytes: 64, Plain: true}, "["+strings.TrimSuffix(text.String(), ",")+"]", columns...))
		}
		b.Commit("append", files...)
		edges := []int{0, 1, group - 1, group, 2*group - 1, 2 * group, rows - 1}
		dead := map[[2]int]bool{}
		for _, p := range edges {
			dead[[2]int{1, p}] = true
		}
		if vector {
			var at []uint64
			for _, p := range edges {
				at = append(at, uint64(p))
			}
			x := vectorBlob(t, at...)
			b.Commit("delete", vectorFile(b.Put("data/v.bin", x), files[1], 0, int64(len(x)), int64(len(at))))
		} else {
			var pairs []any
			for _, p := range edges {
				pairs = append(pairs, files[1].Path, p)
			}
			b.Commit("delete", b.Positions(pairs...))
		}
		for range 20 {
			var ranges []string
			keep := func(row) bool { return true }
			if n := rnd.IntN(4); n > 0 {
				var bounds [][2]int
				for range n {
					from := 1000*rnd.IntN(2) + rnd.IntN(rows)
					to := from + []int{0, 3, group, 2 * group}[rnd.IntN(4)]
					bounds = append(bounds, [2]int{from, to})
					ranges = append(ranges, fmt.Sprintf("k >= %d AND k <= %d", from, to))
				}
				keep = func(r row) bool {
					return slices.ContainsFunc(bounds, func(b [2]int) bool { return r.k >= b[0] && r.k <= b[1] })
				}
			}
			var want []string
			for i, r := range all {
				if keep(r) && !dead[[2]int{i / rows, r.pos}] {
					want = append(want, fmt.Sprintf(`{"_pos":%d,"_row_id":%d,"k":%d}`, r.pos, r.id, r.k))
				}
			}
			wantRows(t, b, where("k,_pos,_row_id", strings.Join(ranges, " OR ")), want...)
		}
	}
}

// What a reader cannot do is refused by name before the first row, although the file before it could be read; and a table that only
// has such things, unused, is read.
func TestP10_RefusedBeforeRows(t *testing.T) {
	t.Parallel()
	const schema = `[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"v","required":false,"type":"string"},{"id":3,"name":"g","required":false,"type":"geography"},
		{"id":4,"name":"f","required":false,"type":"int256"},{"id":5,"name":"u","required":false,"type":"unknown"},{"id":6,"name":"var","required":false,"type":"variant"}]`
	for name, c := range map[string]struct {
		edit    func(b *Table, f *File)
		columns string
		filter  string
		ability string // empty: rows
	}{
		"ORC file":                 {func(_ *Table, f *File) { f.Format = "ORC" }, "k", "", "ORC"},
		"Avro file":                {func(_ *Table, f *File) { f.Format = "AVRO" }, "k", "", "Avro"},
		"ORC file pruned":          {func(_ *Table, f *File) { f.Format = "ORC" }, "k", "k < 5", ""},
		"ORC file no longer live":  {func(_ *Table, f *File) { f.Format, f.Deleted = "ORC", true }, "k", "k < 5", ""},
		"encrypted file":           {encrypted, "k", "", "encrypt"},
		"encrypted file pruned":    {encrypted, "k", "k < 5", ""},
		"geography selected":       {nil, "k,g", "", "geography"},
		"future type selected":     {nil, "f", "", "int256"},
		"future type in a filter":  {nil, "k", "f IS NOT NULL", "int256"},
		"variant in a filter":      {nil, "k", "var IS NULL", "variant"},
		"unselected":               {nil, "k,u", "", ""},
		"keys listed but not used": {func(b *Table, _ *File) { b.EditMetadata = listKeys }, "k", "k < 5", ""},
		"unknown transform": {func(b *Table, _ *File) {
			b.Spec(PartitionField{ID: 1000, Source: 1, Name: "p", Transform: "zorder[3]", Avro: `"int"`})
		}, "k", "k < 5", ""},
		"encrypted manifest":        {func(b *Table, _ *File) { b.EditList = encryptList }, "k", "", "encrypt"},
		"format version 4":          {func(b *Table, _ *File) { b.Version = 4 }, "k", "", "4"},
		"position deletes in ORC":   {func(_ *Table, f *File) { f.Content, f.Format = PositionDeletes, "ORC" }, "k", "", "ORC"},
		"equality deletes in Avro":  {func(_ *Table, f *File) { f.Content, f.Format, f.EqualityIDs = EqualityDeletes, "AVRO", []int{1} }, "k", "", "Avro"},
		"equality deletes on float": {func(_ *Table, f *File) { f.Content, f.EqualityIDs = EqualityDeletes, []int{7} }, "k", "", "float"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := New(t, "s3://b/t", 3)
			b.Schema(strings.TrimSuffix(schema, "]") + `,{"id":7,"name":"fl","required":false,"type":"float"}]`)
			b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v))
			f := b.Parquet(parquetfile.Options{}, `[{"k":7,"v":"b"}]`, k, v)
			f.Values, f.Nulls = map[int]int64{1: 1}, map[int]int64{1: 0}
			f.Lower, f.Upper = map[int][]byte{1: {7, 0, 0, 0, 0, 0, 0, 0}}, map[int][]byte{1: {7, 0, 0, 0, 0, 0, 0, 0}}
			if c.edit != nil {
				c.edit(b, &f)
			}
			version := b.Version
			b.Version = 3
			b.Commit("append", f)
			b.Version = version
			rows, err := b.Rows(t, where(c.columns, c.filter))
			if c.ability == "" {
				if err != nil || len(rows) == 0 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
				return
			}
			if u, ok := errors.AsType[*iceberg.UnsupportedError](err); !ok || !strings.Contains(u.Ability, c.ability) || len(rows) > 0 {
				t.Errorf("%d rows, error %v", len(rows), err)
			}
		})
	}
}

func encrypted(_ *Table, f *File) {
	f.Edit = func(e map[string]any) { e["data_file"].(map[string]any)["key_metadata"] = []byte("key") }
}

func listKeys(doc map[string]any) {
	doc["encryption-keys"] = []any{map[string]any{"key-id": "a", "encrypted-key-metadata": "AA=="}}
}

func encryptList(a *Avro) {
	a.Records[len(a.Records)-1]["key_metadata"] = []byte("key")
}
