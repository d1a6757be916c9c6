package source

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestStringsApply(t *testing.T) {
	t.Parallel()
	in := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int64},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	}, nil)
	for l, want := range map[Strings]string{
		StringsPlain:      "utf8 binary",
		StringsView:       "string_view binary_view",
		StringsDictionary: "dictionary<values=utf8, indices=int32, ordered=false> dictionary<values=binary, indices=int32, ordered=false>",
	} {
		out := l.apply(l.apply(in))
		if got := fmt.Sprint(out.Field(0).Type, " ", out.Field(1).Type); got != want {
			t.Errorf("%d: %s, want %s", l, got, want)
		}
		if !out.Field(2).Equal(in.Field(2)) || !out.Field(3).Equal(in.Field(3)) || !out.Field(1).Nullable {
			t.Errorf("%d: more was changed: %v", l, out)
		}
	}
	if err := (Config{Strings: 9}).Validate(); err == nil {
		t.Error("a layout of number 9 is valid")
	}
}
