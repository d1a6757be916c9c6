package main

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/source"
)

func batch(t *testing.T, i1 []int64, d1 []float64, s1 []string) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "i1", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "d1", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "s1", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues(i1, nil)
	b.Field(0).AppendNull()
	b.Field(1).(*array.Float64Builder).AppendValues(d1, nil)
	b.Field(1).AppendNull()
	b.Field(2).(*array.StringBuilder).AppendValues(s1, nil)
	b.Field(2).AppendNull()
	rec := b.NewRecordBatch()
	t.Cleanup(rec.Release)
	return rec
}

// Streams of a scan add up to the same figures, however the batches are dealt out; nulls are rows, but no values.
func TestStreamsAddUp(t *testing.T) {
	t.Parallel()
	list := []arrow.RecordBatch{batch(t, []int64{1, 2}, []float64{0.5, 0.25}, []string{"a", "zz"}), batch(t, []int64{10}, []float64{4}, []string{"m"}), batch(t, nil, nil, nil)}
	for name, c := range map[string]struct {
		make func() sums
		want string
	}{
		"three": {three.sums, "[(6, 13, 4.75)]"},
		"few":   {few.sums, "[(6, 4.75, 'zz')]"},
		"ten":   {ten.sums, "6"},
	} {
		for streams := 1; streams <= 3; streams++ {
			all := &summing{make: c.make}
			for s := range streams {
				p, err := all.Part(s)
				if err != nil {
					t.Fatal(err)
				}
				for i, rec := range list {
					if i%streams == s {
						if err := p.Write(t.Context(), source.Batch{Record: rec}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := all.text(); got != c.want {
				t.Errorf("%s over %d streams: %s, want %s", name, streams, got, c.want)
			}
		}
	}
}
