package walk

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Q10: a few rows of a few pages. What lies between them was not planned, so it is not at hand and must not be looked at: in
// flat columns, lists and structs, with a page left in the middle.
func TestQ10_SparseRowsNeedOnlyTheirPages(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "v", Type: thrift.Int64, Repetition: thrift.Optional},
		thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated},
		thrift.SchemaElement{Name: "element", Type: thrift.Int64},
		thrift.SchemaElement{Name: "s", NumChildren: 1, Repetition: thrift.Optional},
		thrift.SchemaElement{Name: "x", Type: thrift.ByteArray, Repetition: thrift.Optional})
	var values, lists, structs []any
	for i := range int64(2000) {
		values, lists = append(values, i), append(lists, any(slices.Repeat([]any{i}, int(i%3))))
		structs = append(structs, any([]any{fmt.Appendf(nil, "%d", i)}))
	}
	picks := map[string]rowsel.Selection{
		"the middle of two pages": rowsel.FromRanges(110, 112, 950, 953),
		"the ends of pages":       rowsel.FromRanges(199, 200, 400, 401, 1999, 2000),
		"one row":                 rowsel.FromRanges(1234, 1235),
		"one row each":            rowsel.FromPositions([]int64{0, 333, 777, 1500}),
	}
	for _, version := range []int{1, 2} {
		for _, dictionary := range []bool{false, true} {
			o := parquettest.Layout{PageRows: 100, Version: version, Index: true}
			if dictionary {
				o.Encoding = parquettest.Always(thrift.RLEDictionary)
			}
			file := File(parquettest.Table(elements, [][]any{values, lists, structs}, o).Bytes())
			whole, err := Read(t.Context(), file, Request{})
			if err != nil {
				t.Fatal(err)
			}
			for name, pick := range picks {
				t.Run(fmt.Sprintf("%s, v%d, dictionary %v", name, version, dictionary), func(t *testing.T) {
					t.Parallel()
					var want []string
					for from, to := range pick.Ranges(2000) {
						want = append(want, whole.Rows()[from:to]...)
					}
					for _, unit := range []int64{0, 100} {
						got, err := Read(t.Context(), file, Request{
							Index: true, Options: parquet.Options{UnitBytes: unit},
							Select: func(int, int64) rowsel.Selection { return pick },
						})
						if err != nil {
							t.Fatal(err)
						}
						sameRows(t, name, want, got.Rows())
					}
				})
			}
		}
	}
}
