package walk

import (
	"fmt"
	"testing"

	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// asked remembers the longest range.
type asked struct {
	File
	longest int64
}

func (a *asked) Slice(off, n int64) ([]byte, error) {
	a.longest = max(a.longest, n)
	return a.File.Slice(off, n)
}

// L56: what is fetched lies in pieces, and a range over two of them is joined in memory. So a cursor asks for a page, never for what is
// left of the chunk, whether the places of pages are known or not.
func TestL56_PagesAreAskedForOneByOne(t *testing.T) {
	t.Parallel()
	const rows, page = 200_000, 20_000
	elements := parquettest.Elements(thrift.SchemaElement{Name: "v", Type: thrift.Int64})
	var values []any
	for i := range int64(rows) {
		values = append(values, i)
	}
	for _, index := range []bool{false, true} {
		t.Run(fmt.Sprintf("index %v", index), func(t *testing.T) {
			t.Parallel()
			file := File(parquettest.Table(elements, [][]any{values}, parquettest.Layout{PageRows: page, Version: 1, Index: index}).Bytes())
			f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.Bind(Columns(f.Schema()), nil, parquet.Options{UnitBytes: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			r.Prune(0, file)
			units, err := r.Open(0, rowsel.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			b := &asked{File: file}
			for _, u := range units {
				if err := u.Decode(t.Context(), 0, b); err != nil {
					t.Fatal(err)
				}
				u.Close()
			}
			if most := int64(8*page + 1000); b.longest > most {
				t.Errorf("%d bytes asked for at once, pages have %d", b.longest, most)
			}
		})
	}
}
