package resolve

import (
	"strings"
	"testing"

	"github.com/lakescan/lakescan/expr"
)

// Files that belong to no table: ids where both sides have them, names else, an absent column is null.
func TestPlainFilesByIDElseByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first, later, want string }{
		{"names", "- a int32, - b string", "- b string, - a int32", "a=a b=b"},
		{"absent", "- a int32!, - b string", "- a int32", "a=a b="},
		{"renamed under its id", "1 a int32, 2 b string", "2 c string, 1 a int32", "a=a b=c"},
		{"later file without ids", "1 a int32, 2 b string", "- b string, - a int32", "a=a b=b"},
		{"later file with ids", "- a int32, - b string", "7 b string, 9 a int32", "a=a b=b"},
		{"a nested field", "- s {- x int32, - y int32}", "- s {- y int32}", "s=s s.x= s.y=s.y"},
		{"elements of any name and id", "- l [1 element int32]", "- l [2 item int32]", "l=l"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := MakeIDs(schema(t, c.first))
			p, err := New(schema(t, c.later), Input{Want: want, Names: PlainNames(), FirstRowID: -1})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, col := range p.Columns {
				got = append(got, col.Output.Name+"="+strings.Join(col.Path, "."))
				if col.Output.Name == "s" {
					for _, ch := range col.Children {
						got = append(got, "s."+ch.Output.Name+"="+strings.Join(ch.Path, "."))
					}
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), c.want)
			}
			for _, f := range want.Fields() {
				if _, ok := expr.FieldID(f); !ok || !f.Nullable {
					t.Errorf("%v: wants an id and to be optional", f)
				}
			}
		})
	}
	if _, err := New(schema(t, "- a string"), Input{Want: MakeIDs(schema(t, "- a int32")), Names: PlainNames(), File: "f"}); err == nil {
		t.Error("a string column read as int32")
	}
}
