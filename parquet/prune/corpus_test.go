package prune_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/prune"
)

// open reads a corpus file whole.
func open(t *testing.T, id string) ([]byte, *parquet.Footer, canon.Case) {
	t.Helper()
	m := canon.Corpus(t)
	for _, c := range m.Cases {
		if c.ID == id {
			b, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
			if err != nil {
				t.Fatal(err)
			}
			return b, f, c
		}
	}
	t.Fatalf("no case %s", id)
	return nil, nil, canon.Case{}
}

// Filters of two writers must hold the values of the first rows, and rarely anything else.
func TestBloomFiltersOfOtherWriters(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"pt-data_index_bloom_encoding_stats", "own-duckdb-v2-bloom"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b, f, c := open(t, id)
			filters := 0
			for leaf, node := range f.Tree().Leaves {
				r, exact := f.BloomRange(0, leaf)
				column := slices.IndexFunc(c.Expected.Schema, func(s canon.FieldFacts) bool { return s.Name == node.Name })
				if r.Len == 0 || !node.Flat() {
					continue
				}
				kind := c.Expected.Schema[column].Type
				if kind != "string" && kind != "int64" && kind != "int32" || column != leaf {
					continue
				}
				filters++
				end := r.Off + r.Len
				if !exact {
					size, err := prune.BloomSize(b[r.Off:end])
					if err != nil {
						t.Fatal(err)
					}
					end = r.Off + size
				}
				bloom, err := prune.NewBloom(b[r.Off:end])
				if err != nil {
					t.Fatalf("%s: %v", node, err)
				}
				typ := node.Arrow()
				chunk := prune.Chunk{Column: prune.Column{Node: node, Type: typ, Order: f.Order(leaf)}, Bloom: bloom}
				verdict := func(v any) expr.Verdict {
					e := expr.Compare{Op: expr.EQ, Col: expr.Column{ID: 1, Type: typ}, Lit: expr.Literal{Type: typ, Value: v}}
					return prune.Group(e, f.Rows(0), func(int) *prune.Chunk { return &chunk }, prune.Off{}).Verdict
				}
				texts := firstTexts(c, column)
				absent := 0
				for i := range 100 {
					var present, other any
					if kind == "string" {
						present, other = strings.Trim(texts[i%len(texts)], `"`), "no such value "+strconv.Itoa(i)
					} else {
						v, err := strconv.ParseInt(texts[i%len(texts)], 10, 64)
						if err != nil {
							continue // null
						}
						present, other = v, int64(-1_000_003-i)
					}
					if present != "null" && verdict(present) != expr.Some {
						t.Fatalf("%s: %v is in the file", node, present)
					}
					if verdict(other) == expr.None {
						absent++
					}
				}
				if absent < 80 {
					t.Errorf("%s: %d of 100 absent values proved absent", node, absent)
				}
			}
			if filters == 0 {
				t.Error("no filter found")
			}
		})
	}
}

// firstTexts are the canonical texts of a flat column in the rows that the manifest shows; good enough for columns before
// any nested one.
func firstTexts(c canon.Case, column int) []string {
	var out []string
	for _, row := range c.Expected.FirstRows {
		out = append(out, strings.Split(strings.Trim(row, "[]"), ",")[column])
	}
	return out
}
