package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr/literals"
)

// aggregate prints one row, a column an aggregate.
func (s *session) aggregate(ctx context.Context, out *output, target string, aggs []lakescan.Aggregate, opts []lakescan.ScanOption) error {
	r, err := s.client.Aggregate(ctx, target, aggs, opts...)
	if err != nil {
		return err
	}
	s.lastStats, s.fromMetadata = r.Stats, r.FromMetadata
	fields := make([]arrow.Field, len(aggs))
	cols := make([]arrow.Array, len(aggs))
	for i, l := range r.Values {
		a, err := literals.Array(memory.DefaultAllocator, l)
		if err != nil {
			return err
		}
		defer a.Release()
		fields[i], cols[i] = arrow.Field{Name: aggs[i].String(), Type: a.DataType(), Nullable: true}, a
	}
	schema := arrow.NewSchema(fields, nil)
	rec := array.NewRecordBatch(schema, cols, 1)
	defer rec.Release()
	s.markFirst()
	if err := out.begin(schema); err != nil {
		return err
	}
	if err := out.write(rec); err != nil {
		return err
	}
	return out.end()
}
