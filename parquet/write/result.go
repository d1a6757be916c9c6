package write

import (
	"fmt"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/prune"
	"github.com/lakescan/lakescan/parquet/thrift"
)

// Result is what is known of a finished file.
type Result struct {
	Rows  int64
	Bytes int64
	// Footer as the reader of this module sees it; it may go into a cache of footers.
	Footer *parquet.Footer
	// SplitOffsets are the starts of row groups.
	SplitOffsets []int64
	Columns      []ColumnMetrics // one a leaf, in the file's order
}

// ColumnMetrics describes a leaf in the sense of an Iceberg data file's metrics. Counts are exact.
type ColumnMetrics struct {
	Path    []string
	FieldID int // 0 = none
	Size    int64
	Values  int64 // entries, nulls included; of lists, elements
	Nulls   int64
	NaNs    int64
	// Lower and Upper are the least and greatest value that is neither null nor NaN, of the leaf's type; a nil Value = none,
	// or too long to be kept (4 KiB), or below a list.
	Lower, Upper expr.Literal
}

func (w *Writer) result() (*Result, error) {
	f, missing, err := parquet.ParseFooter(w.sink.tail, w.sink.n, 0)
	if err != nil || missing > 0 {
		return nil, fmt.Errorf("parquet/write: the footer just written cannot be read (%d bytes missing): %w", missing, err)
	}
	if f.NumRows() != w.rows {
		return nil, fmt.Errorf("parquet/write: %d rows in the footer, %d written", f.NumRows(), w.rows)
	}
	r := &Result{Rows: w.rows, Bytes: w.sink.n, Footer: f}
	for g := range f.RowGroups() {
		r.SplitOffsets = append(r.SplitOffsets, f.Chunk(g, 0).Start())
	}
	for i, c := range w.columns {
		r.Columns = append(r.Columns, metrics(f, i, c))
	}
	return r, nil
}

func metrics(f *parquet.Footer, i int, c *column) ColumnMetrics {
	node := f.Tree().Leaves[i]
	typ := node.Arrow()
	m := ColumnMetrics{Path: c.path, NaNs: c.nans}
	m.FieldID, _ = expr.FieldID(c.field)
	bounded := true
	for g := range f.RowGroups() {
		chunk := f.Chunk(g, i)
		m.Size += chunk.CompressedSize
		m.Values += chunk.NumValues
		s, ok := f.Statistics(g, i)
		if !ok {
			bounded = false
			continue
		}
		m.Nulls += max(s.NullCount, 0)
		if s.NullCount == chunk.NumValues {
			continue
		}
		b := (prune.Column{Node: node, Order: thrift.OrderType, Type: typ}).Metrics(s, chunk.NumValues)
		if b.Lower.Value == nil || b.Upper.Value == nil {
			bounded = false
			continue
		}
		m.Lower, m.Upper = least(m.Lower, b.Lower), greatest(m.Upper, b.Upper)
	}
	if !bounded {
		m.Lower, m.Upper = expr.Literal{}, expr.Literal{}
	}
	return m
}

func least(a, b expr.Literal) expr.Literal {
	if a.Value == nil || b.Compare(a) < 0 {
		return b
	}
	return a
}

func greatest(a, b expr.Literal) expr.Literal {
	if a.Value == nil || b.Compare(a) > 0 {
		return b
	}
	return a
}
