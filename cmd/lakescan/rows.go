package main

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"
)

// rowWriter makes batches of rows that a verb computes itself, so that every verb has every output format. It hands batches on
// as they fill, so listings stream.
type rowWriter struct {
	out *output
	b   *array.RecordBuilder
	n   int
}

const rowsPerBatch = 1024

// Types of listing columns.
var (
	typeText  = arrow.BinaryTypes.String
	typeLong  = arrow.PrimitiveTypes.Int64
	typeFlag  = arrow.FixedWidthTypes.Boolean
	typeTime  = &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	typeTexts = arrow.ListOf(arrow.BinaryTypes.String)
	typePairs = arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String)
)

func col(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func newRowWriter(out *output, fields ...arrow.Field) (*rowWriter, error) {
	schema := arrow.NewSchema(fields, nil)
	if err := out.begin(schema); err != nil {
		return nil, err
	}
	return &rowWriter{out: out, b: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

// add appends a row; nil is NULL.
func (w *rowWriter) add(values ...any) error {
	for i, v := range values {
		if err := appendAny(w.b.Field(i), v); err != nil {
			return err
		}
	}
	if w.n++; w.n < rowsPerBatch {
		return nil
	}
	return w.flush()
}

func (w *rowWriter) flush() error {
	rec := w.b.NewRecordBatch()
	defer rec.Release()
	w.n = 0
	return w.out.write(rec)
}

// close ends the result.
func (w *rowWriter) close() error {
	defer w.b.Release()
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.end()
}

func appendAny(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.Int64Builder:
		b.Append(toInt64(v))
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(toInt64(v)))
	case *array.ListBuilder:
		b.Append(true)
		for _, s := range v.([]string) {
			b.ValueBuilder().(*array.StringBuilder).Append(s)
		}
	case *array.MapBuilder:
		b.Append(true)
		m := v.(map[string]string)
		for _, k := range sortedKeys(m) {
			b.KeyBuilder().(*array.StringBuilder).Append(k)
			b.ItemBuilder().(*array.StringBuilder).Append(m[k])
		}
	default:
		return fmt.Errorf("a listing has no column of type %s", b.Type())
	}
	return nil
}

func toInt64(v any) int64 {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v.(int64)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func textColumns(names ...string) []arrow.Field {
	fields := make([]arrow.Field, len(names))
	for i, n := range names {
		fields[i] = col(n, typeText)
	}
	return fields
}

// withRows opens the output for rows that fill adds, and keeps or drops it.
func (s *session) withRows(cmd *cobra.Command, fill func(w *rowWriter) error, fields ...arrow.Field) error {
	out, err := s.newOutput(cmd)
	if err != nil {
		return err
	}
	w, err := newRowWriter(out, fields...)
	if err == nil {
		if err = fill(w); err == nil {
			err = w.close()
		}
	}
	return s.finishOutput(cmd, out, err)
}

type columnList = []arrow.Field
