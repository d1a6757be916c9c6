package build

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/parquet/rowsel"
)

// TestCompactKeepsTheNullsOfASlice: the null count of a slice is not known before somebody counts.
func TestCompactKeepsTheNullsOfASlice(t *testing.T) {
	t.Parallel()
	mem := arrowmem.NewCheckedAllocator(arrowmem.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewInt64Builder(mem)
	b.AppendValues([]int64{0, 1, 0, 3, 0, 5}, []bool{false, true, false, true, false, true})
	whole := b.NewArray()
	b.Release()
	defer whole.Release()
	for from := range int64(3) {
		slice := array.NewSlice(whole, from, 6)
		n := 6 - from
		keep := rowsel.FromRanges(1, n)
		got := Compact(mem, slice, keep.Ranges(n), int(n-1))
		var valid []bool
		for i := range got.Len() {
			valid = append(valid, got.IsValid(i))
		}
		var want []bool
		for i := from + 1; i < 6; i++ {
			want = append(want, i%2 == 1)
		}
		if !slices.Equal(valid, want) || got.NullN() != len(want)-count(want) {
			t.Errorf("from %d: valid %v, want %v, %d nulls", from, valid, want, got.NullN())
		}
		got.Release()
		slice.Release()
	}
}

func count(b []bool) (n int) {
	for _, v := range b {
		if v {
			n++
		}
	}
	return n
}
