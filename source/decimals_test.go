package source

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestShortDecimals(t *testing.T) {
	t.Parallel()
	for digits, short := range map[int32]bool{9: false, 10: true, 18: true, 19: false} {
		wide := &arrow.Decimal128Type{Precision: digits, Scale: 2}
		in := arrow.NewSchema([]arrow.Field{{Name: "d", Type: wide, Nullable: true}, {Name: "l", Type: arrow.ListOf(wide)}}, nil)
		want := arrow.DataType(wide)
		if short {
			want = &arrow.Decimal64Type{Precision: digits, Scale: 2}
		}
		out := shortDecimals(shortDecimals(in))
		if f := out.Field(0); !arrow.TypeEqual(f.Type, want) || !f.Nullable || f.Name != "d" {
			t.Errorf("%d digits: %v", digits, f)
		}
		if !out.Field(1).Equal(in.Field(1)) {
			t.Errorf("%d digits: %v", digits, out.Field(1))
		}
	}
}
