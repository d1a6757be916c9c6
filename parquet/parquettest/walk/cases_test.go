package walk

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Three row groups of 100 rows, the middle one skipped, rows deleted at every edge: the positions that are left are those of
// the file, with pages skipped or not, in flat and in nested columns.
func TestL12_PositionsAreAbsolute(t *testing.T) {
	t.Parallel()
	elements := parquettest.Elements(
		thrift.SchemaElement{Name: "v", Type: thrift.Int64},
		thrift.SchemaElement{Name: "l", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}},
		thrift.SchemaElement{Name: "list", NumChildren: 1, Repetition: thrift.Repeated},
		thrift.SchemaElement{Name: "element", Type: thrift.Int64})
	var values, lists []any
	for i := range int64(300) {
		values, lists = append(values, i), append(lists, any([]any{i, i}[:i%3]))
	}
	deletes := rowsel.FromPositions([]int64{0, 99, 100, 150, 299})
	for _, version := range []int{1, 2} {
		for _, index := range []bool{false, true} {
			for _, skip := range []bool{false, true} {
				t.Run(fmt.Sprintf("v%d, index %v, group skipped %v", version, index, skip), func(t *testing.T) {
					t.Parallel()
					file := parquettest.Table(elements, [][]any{values, lists}, parquettest.Layout{GroupRows: 100, PageRows: 10, Version: version, Index: index}).Bytes()
					var want []string
					for i := range int64(300) {
						if deletes.Contains(i) || skip && i/100 == 1 {
							continue
						}
						cells := map[int64]string{0: "[]", 1: fmt.Sprintf("[%d]", i), 2: fmt.Sprintf("[%d,%d]", i, i)}[i%3]
						want = append(want, fmt.Sprintf("[%d,%s,%d]", i, cells, i))
					}
					got, err := Read(t.Context(), file, Request{
						Index:   index,
						Options: parquet.Options{UnitBytes: 200, BatchRows: 7},
						Columns: func(s *arrow.Schema) []parquet.Column {
							pos := arrow.Field{Name: "_pos", Type: arrow.PrimitiveTypes.Int64}
							return append(Columns(s), parquet.Column{Output: pos, Position: true})
						},
						Select: func(group int, rows int64) rowsel.Selection {
							if skip && group == 1 {
								return rowsel.None()
							}
							return deletes.Not().Cut(int64(group)*100, rows)
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					sameRows(t, "positions", want, got.Rows())
				})
			}
		}
	}
}

// Lists and maps are known by their structure, whatever their groups are called.
func TestL20_ListsAndMapsByStructure(t *testing.T) {
	t.Parallel()
	list := thrift.SchemaElement{Name: "c", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalList}}
	mapped := thrift.SchemaElement{Name: "c", NumChildren: 1, Repetition: thrift.Optional, Logical: thrift.Logical{Kind: thrift.LogicalMap}}
	group := func(name string, n int32) thrift.SchemaElement {
		return thrift.SchemaElement{Name: name, NumChildren: n, Repetition: thrift.Repeated}
	}
	leaf := func(name string, r thrift.Repetition) thrift.SchemaElement {
		return thrift.SchemaElement{Name: name, Type: thrift.Int32, Repetition: r}
	}
	one, two := any(int32(1)), any(int32(2))
	numbers := []any{nil, []any{}, []any{one, two}}
	structs := []any{nil, []any{}, []any{[]any{one}, []any{two}}}
	pairs := []any{nil, []parquettest.Pair{}, []parquettest.Pair{{Key: one, Value: two}}}
	old := list
	old.Logical, old.Converted = thrift.Logical{}, thrift.ConvList
	cases := []struct {
		name     string
		elements []thrift.SchemaElement
		values   []any
		typ      string
		want     []string
	}{
		{"list and element", []thrift.SchemaElement{list, group("list", 1), leaf("element", thrift.Optional)}, numbers, "list<int32>", []string{"[null]", "[[]]", "[[1,2]]"}},
		{"bag and array_element", []thrift.SchemaElement{list, group("bag", 1), leaf("array_element", thrift.Optional)}, numbers, "list<int32>", []string{"[null]", "[[]]", "[[1,2]]"}},
		{"converted type", []thrift.SchemaElement{old, group("bag", 1), leaf("x", thrift.Optional)}, numbers, "list<int32>", []string{"[null]", "[[]]", "[[1,2]]"}},
		{"two levels", []thrift.SchemaElement{list, leaf("element", thrift.Repeated)}, numbers, "list<int32>", []string{"[null]", "[[]]", "[[1,2]]"}},
		{"two levels of structs", []thrift.SchemaElement{list, group("array", 1), leaf("x", thrift.Required)}, structs, "list<struct<x:int32>>", []string{"[null]", "[[]]", `[[{"x":1},{"x":2}]]`}},
		{"two levels by the parent's name", []thrift.SchemaElement{list, group("c_tuple", 1), leaf("x", thrift.Required)}, structs, "list<struct<x:int32>>", []string{"[null]", "[[]]", `[[{"x":1},{"x":2}]]`}},
		{"map with a group of that name", []thrift.SchemaElement{mapped, group("map", 2), leaf("key", thrift.Required), leaf("value", thrift.Optional)}, pairs, "map<int32,int32>", []string{"[null]", "[[]]", "[[[1,2]]]"}},
		{"map with odd names", []thrift.SchemaElement{mapped, group("entries", 2), leaf("k", thrift.Required), leaf("v", thrift.Optional)}, pairs, "map<int32,int32>", []string{"[null]", "[[]]", "[[[1,2]]]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			elements := parquettest.Elements(c.elements...)
			got, err := Read(t.Context(), parquettest.Table(elements, [][]any{c.values}, parquettest.Layout{}).Bytes(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, c.name, c.want, got.Rows())
			if typ := got.Facts().Schema[0].Type; typ != c.typ {
				t.Errorf("type %s, want %s", typ, c.typ)
			}
		})
	}
}
