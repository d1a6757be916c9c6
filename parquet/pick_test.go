package parquet

import (
	"fmt"
	"testing"

	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

func TestStretches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rows [][2]int64
		gap  int64
		want string
	}{
		{"close together", [][2]int64{{3, 5}, {7, 8}, {40, 41}}, 32, "3-41 [{0 2} {4 5} {37 38}]; "},
		{"a long gap", [][2]int64{{3, 5}, {38, 39}, {40, 41}}, 32, "3-5 [{0 2}]; 38-41 [{0 1} {2 3}]; "},
		{"no gap is short enough", [][2]int64{{3, 5}, {6, 7}}, -1, "3-5 [{0 2}]; 6-7 [{0 1}]; "},
		{"too long for one stretch", [][2]int64{{0, 4000}, {4001, 4097}}, 32, "0-4000 [{0 4000}]; 4001-4097 [{0 96}]; "},
		{"a long range stays alone", [][2]int64{{0, 1 << 40}, {1<<40 + 1, 1<<40 + 2}, {1<<40 + 3, 1<<40 + 4}}, 32, "0-1099511627776 [{0 2147483647}]; 1099511627777-1099511627780 [{0 1} {2 3}]; "},
		{"nothing", nil, 32, ""},
	} {
		var b rowsel.Builder
		for _, r := range c.rows {
			b.Add(r[0], r[1])
		}
		got := ""
		if len(c.rows) > 0 {
			for s := range stretches(b.Selection().Ranges(1<<41), c.gap) {
				got += fmt.Sprintf("%d-%d %v; ", s.from, s.to, s.keep)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestNoPageLiesInAGap: pages that nobody asked for could.
func TestNoPageLiesInAGap(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int64]int64{32: -1, 33: pickGap} {
		c := &openCursor{cursor: flatCursor{}, pages: []*chunkPages{{rows: 100 + rows, pages: []thrift.PageLocation{{FirstRow: 0}, {FirstRow: 100}}}}}
		if got := c.gap(); got != want {
			t.Errorf("a page of %d rows: gaps of %d, want %d", rows, got, want)
		}
	}
	if got := (&openCursor{cursor: flatCursor{}, pages: []*chunkPages{{}}}).gap(); got != pickGap {
		t.Errorf("places not known: %d", got)
	}
	if got := (&openCursor{cursor: &nestedCursor{}, pages: []*chunkPages{{}}}).gap(); got != -1 {
		t.Errorf("nested: %d", got)
	}
}
