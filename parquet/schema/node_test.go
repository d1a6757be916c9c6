package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/parquet/thrift"
)

// parse reads lines such as "  repeated group list (LIST)" or "optional int32 x", nested by two blanks.
func parse(text string) []thrift.SchemaElement {
	out := []thrift.SchemaElement{{Name: "root", Type: thrift.NoType, Converted: thrift.NoConverted}}
	at := []int{0}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, "\n")
		depth := (len(line)-len(strings.TrimLeft(line, "\t ")))/2 + 1
		w := strings.Fields(line)
		e := thrift.SchemaElement{Name: w[2], Type: thrift.NoType, Converted: thrift.NoConverted}
		e.Repetition = map[string]thrift.Repetition{"required": 0, "optional": 1, "repeated": 2}[w[0]]
		if w[1] != "group" {
			e.HasType, e.Type = true, map[string]thrift.Type{"int32": thrift.Int32, "bytes": thrift.ByteArray}[w[1]]
		}
		if len(w) > 3 {
			e.Converted = map[string]thrift.Converted{"(LIST)": thrift.ConvList, "(MAP)": thrift.ConvMap, "(MAP_KEY_VALUE)": thrift.ConvMapKeyValue}[w[3]]
		}
		at = append(at[:depth], len(out))
		out[at[depth-1]].NumChildren++
		out = append(out, e)
	}
	return out
}

// TestL20_ByStructure: lists and maps of every writer, from the specification's compatibility rules.
func TestL20_ByStructure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, want string }{
		{"three levels", `
optional group l (LIST)
  repeated group list
    optional int32 element`, "l: list<element: int32, nullable>, nullable"},
		{"hive names", `
optional group l (LIST)
  repeated group bag
    optional int32 array_element`, "l: list<array_element: int32, nullable>, nullable"},
		{"repeated primitive", `
optional group l (LIST)
  repeated int32 element`, "l: list<element: int32>, nullable"},
		{"repeated group of two", `
required group l (LIST)
  repeated group element
    required int32 a
    required int32 b`, "l: list<element: struct<a: int32, b: int32>>"},
		{"group named array", `
required group l (LIST)
  repeated group array
    required int32 a`, "l: list<array: struct<a: int32>>"},
		{"group named tuple", `
required group l (LIST)
  repeated group l_tuple
    required int32 a`, "l: list<l_tuple: struct<a: int32>>"},
		{"list of two-level lists", `
optional group l (LIST)
  repeated group array (LIST)
    repeated int32 array`, "l: list<array: list<array: int32>>, nullable"},
		{"only field is repeated", `
optional group l (LIST)
  repeated group list
    repeated int32 x`, "l: list<list: struct<x: list<x: int32>>>, nullable"},
		{"bare repeated", `
repeated int32 x`, "x: list<x: int32>"},
		{"bare repeated group", `
repeated group g
  optional int32 x`, "g: list<g: struct<x: int32 nullable>>"},
		{"map", `
optional group m (MAP)
  repeated group key_value
    required bytes key
    optional int32 value`, "m: map<binary, int32, items_nullable>, nullable"},
		{"map of old writers", `
optional group m (MAP_KEY_VALUE)
  repeated group map
    required bytes key
    required int32 value`, "m: map<binary, int32, items_non_nullable>, nullable"},
		{"map group named map", `
optional group m (MAP)
  repeated group map (MAP_KEY_VALUE)
    required bytes k
    optional int32 v`, "m: map<binary, int32, items_nullable>, nullable"},
		{"keys only", `
optional group m (MAP)
  repeated group key_value
    required int32 key`, "m: list<key: int32>, nullable"},
		{"annotation that does not fit", `
optional group l (LIST)
  optional int32 x`, "l: struct<x: int32 nullable>, nullable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree, err := New(parse(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			f := tree.Root.Children[0].Field()
			got := f.Name + ": " + f.Type.String()
			if f.Nullable {
				got += ", nullable"
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for i, l := range tree.Leaves {
				n := tree.Node(l.Path()...)
				if n != nil && n.Kind == List {
					n = n.Element()
				}
				if l.Leaf != i || n != l {
					t.Errorf("leaf %d %v: not found by its path", i, l)
				}
			}
		})
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	tree, err := New(parse(`
optional group a (LIST)
  repeated group list
    optional group element
      required int32 x
      repeated bytes y`))
	if err != nil {
		t.Fatal(err)
	}
	list := tree.Node("a")
	if list.Def != 1 || list.Rep != 0 || list.Repeated().Def != 2 || list.Repeated().Rep != 1 || list.Element().Def != 3 {
		t.Errorf("list %d/%d, entries %d/%d, element %d", list.Def, list.Rep, list.Repeated().Def, list.Repeated().Rep, list.Element().Def)
	}
	y := list.Element().Child("y")
	if y.Kind != List || y.Def != 3 || y.Rep != 1 || y.Element().Def != 4 || y.Element().Rep != 2 || y.Nullable() {
		t.Errorf("bare repeated: %+v", y)
	}
	if y.Element() != tree.Leaves[1] || strings.Join(y.Element().Path(), ".") != "a.list.element.y" {
		t.Errorf("path %v", y.Element().Path())
	}
}

func TestNew_RefusesBrokenTrees(t *testing.T) {
	t.Parallel()
	good := parse("optional group l (LIST)\n  repeated group list\n    optional int32 element")
	change := func(f func(e []thrift.SchemaElement)) []thrift.SchemaElement {
		e := append([]thrift.SchemaElement(nil), good...)
		f(e)
		return e
	}
	for name, e := range map[string][]thrift.SchemaElement{
		"empty":             nil,
		"root is a column":  change(func(e []thrift.SchemaElement) { e[0].HasType = true }),
		"too many children": change(func(e []thrift.SchemaElement) { e[1].NumChildren = 9 }),
		"left over":         change(func(e []thrift.SchemaElement) { e[1].NumChildren = 0 }),
		"unknown type":      change(func(e []thrift.SchemaElement) { e[3].Type = 9 }),
		"vector":            change(func(e []thrift.SchemaElement) { e[3].NestedVector = true }),
		"fixed of length 0": change(func(e []thrift.SchemaElement) { e[3].Type = thrift.FixedLenByteArray }),
	} {
		if _, err := New(e); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	deep := []thrift.SchemaElement{{Name: "r", NumChildren: 1, Type: thrift.NoType}}
	for range 1000 {
		deep = append(deep, thrift.SchemaElement{Name: "g", NumChildren: 1, Type: thrift.NoType})
	}
	if _, err := New(deep); !errors.Is(err, ErrInvalid) {
		t.Errorf("deep: %v", err)
	}
}
