package source

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// L51, the decoder's part: the same rows, wherever the ranges that a file came in were cut, be it within every header, level and value.
func TestL51_PiecesOfAnySize(t *testing.T) {
	t.Parallel()
	b, schema := unindexed(700, nil)
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	var columns []parquet.Column
	for _, c := range schema.Fields() {
		columns = append(columns, parquet.Column{Output: c, Path: []string{c.Name}})
	}
	r, err := f.Bind(columns, nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, size := range []int64{1 << 20, 1, 3, 7, 100, 1000, 1024, 4096} {
		at := &pieces{}
		at.users.Store(1)
		for _, s := range cutUp(int64(len(b)), size) {
			at.list = append(at.list, &piece{span: s, here: true, read: &pending{have: true, answer: answer{bytes: b[s.Off : s.Off+s.Len]}}})
		}
		got, err := decodeAll(t, r, at)
		if err != nil {
			t.Fatalf("pieces of %d bytes: %v", size, err)
		}
		if want == nil {
			want = got
		}
		if len(got) != 700 || !slices.Equal(got, want) {
			t.Errorf("pieces of %d bytes: %d rows that differ", size, len(got))
		}
	}
}

func cutUp(n, size int64) (out []object.Range) {
	for at := int64(0); at < n; at += size {
		out = append(out, object.Range{Off: at, Len: min(size, n-at)})
	}
	return out
}

func decodeAll(t *testing.T, r *parquet.Reader, b parquet.Bytes) ([]string, error) {
	t.Helper()
	units, err := r.Open(0, rowsel.Selection{})
	if err != nil {
		return nil, err
	}
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	for _, u := range units {
		defer u.Close()
		for _, c := range u.Columns(parquet.PartRest) {
			if err := u.Decode(t.Context(), c, b); err != nil {
				return nil, fmt.Errorf("column %d: %w", c, err)
			}
		}
		for {
			rec, err := u.Next(0)
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			err = table.Add(rec)
			rec.Release()
			if err != nil {
				return nil, err
			}
		}
	}
	return table.Rows(), nil
}
