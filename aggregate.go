package lakescan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/source"
)

// Aggregate is count(*) (Func "count", no Column), count(c), min(c) or max(c).
type Aggregate struct{ Func, Column string }

// String is the text form, as in SQL.
func (a Aggregate) String() string {
	if a.Column == "" {
		return a.Func + "(*)"
	}
	return a.Func + "(" + a.Column + ")"
}

// AggregateResult has one literal an aggregate; of no rows, min and max are NULL.
type AggregateResult struct {
	Values       []expr.Literal
	FromMetadata bool         // no data file was opened
	Stats        source.Stats // of the scan, if there was one
}

// AggregateError says why an aggregate cannot be computed.
type AggregateError struct {
	Aggregate Aggregate
	Reason    string
}

func (e *AggregateError) Error() string { return e.Aggregate.String() + ": " + e.Reason }

// Aggregate computes over the rows that a Scan with the same options would yield. Counts come out of the manifests, file by file, where these are
// exact, and bounds tell which files cannot hold a least or greatest value (NoMetadataAnswers turns both off); of the other files the columns
// that it names, and those of the filter, are read.
func (c *Client) Aggregate(ctx context.Context, target string, aggregates []Aggregate, opts ...ScanOption) (*AggregateResult, error) {
	o := makeScanOptions(opts)
	r, err := c.relationNamed(ctx, target, o.version)
	if err != nil {
		return nil, err
	}
	accumulators, columns, err := c.accumulators(r, aggregates, o.caseSensitive)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 && o.filter == nil && o.limit == 0 && !o.noMetadata {
		table := sqlTable{client: c, name: target, relation: r, scan: o}
		rows, exact, err := table.Count(ctx)
		if err != nil {
			return nil, err
		}
		if exact {
			res := &AggregateResult{FromMetadata: true}
			for range aggregates {
				res.Values = append(res.Values, expr.Lit(rows))
			}
			return res, nil
		}
	}
	o.columns, o.strings = columns, source.StringsPlain
	if res, err := c.aggregateByFile(ctx, target, r, accumulators, o); res != nil || err != nil {
		return res, err
	}
	reader, err := c.openScan(ctx, target, r, o)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := fold(reader, accumulators); err != nil {
		return nil, err
	}
	res := &AggregateResult{Stats: reader.Stats()}
	for i := range accumulators {
		res.Values = append(res.Values, accumulators[i].value())
	}
	return res, nil
}

// fold adds all batches of a scan.
func fold(reader *source.Reader, accumulators []accumulator) error {
	for b, err := range reader.All() {
		if err != nil {
			return err
		}
		for i := range accumulators {
			if err := accumulators[i].add(b.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// accumulator folds batches into one aggregate.
type accumulator struct {
	Aggregate
	column  int      // in the list of columns to scan; -1 = count(*)
	path    []string // to its values in a batch, through structs
	fieldID int      // of a top-level column without parts; -1 = none
	kind    arrow.DataType
	count   int64
	best    expr.Literal
}

// accumulators checks the aggregates and returns the distinct columns to scan, never nil.
func (c *Client) accumulators(r relation, aggregates []Aggregate, caseSensitive bool) ([]accumulator, []string, error) {
	columns := []string{}
	out := make([]accumulator, len(aggregates))
	for i, a := range aggregates {
		out[i] = accumulator{Aggregate: a, column: -1, fieldID: -1}
		if !slices.Contains([]string{"count", "min", "max"}, a.Func) {
			return nil, nil, &AggregateError{a, "the functions are count, min and max"}
		}
		if a.Column == "" {
			if a.Func != "count" {
				return nil, nil, &AggregateError{a, "needs a column"}
			}
			continue
		}
		col, err := expr.ParseColumn(a.Column)
		if err != nil {
			return nil, nil, err
		}
		col, field, err := expr.ResolveColumn(col, r.schema(), expr.BindOptions{CaseSensitive: caseSensitive})
		if err != nil {
			return nil, nil, err
		}
		if arrow.IsNested(field.Type.ID()) && a.Func != "count" {
			return nil, nil, &AggregateError{a, fmt.Sprintf("values of type %s have no order", expr.TypeName(field))}
		}
		out[i].kind = field.Type
		if id, ok := expr.FieldID(field); ok && len(col.Path) == 1 && !arrow.IsNested(field.Type.ID()) {
			out[i].fieldID = id
		}
		out[i].path = col.Path
		name := strings.Join(col.Path, ".")
		if out[i].column = slices.Index(columns, name); out[i].column < 0 {
			out[i].column = len(columns)
			columns = append(columns, name)
		}
	}
	return out, columns, nil
}

func (a *accumulator) add(rec arrow.RecordBatch) error {
	if a.column < 0 {
		a.count += rec.NumRows()
		return nil
	}
	col, err := valuesAt(rec, a.path)
	if err != nil {
		return err
	}
	defer col.Release()
	if a.Func == "count" {
		a.count += int64(col.Len() - col.NullN())
		return nil
	}
	least, greatest, ok, err := eval.Extremes(col)
	if err != nil || !ok {
		return err
	}
	switch {
	case a.Func == "min" && (a.best.IsNull() || least.Compare(a.best) < 0):
		a.best = least
	case a.Func == "max" && (a.best.IsNull() || greatest.Compare(a.best) > 0):
		a.best = greatest
	}
	return nil
}

// valuesAt is the column at the end of a path, in which a row is NULL too where a struct around it is. The caller releases it.
func valuesAt(rec arrow.RecordBatch, path []string) (arrow.Array, error) {
	at := rec.Schema().FieldIndices(path[0])
	if len(at) != 1 {
		return nil, fmt.Errorf("no single column %q in the batch", path[0])
	}
	col := rec.Column(at[0])
	col.Retain()
	for _, name := range path[1:] {
		s, ok := col.(*array.Struct)
		i := -1
		if ok {
			i, ok = s.DataType().(*arrow.StructType).FieldIdx(name)
		}
		if !ok {
			col.Release()
			return nil, fmt.Errorf("no field %q of %q in the batch", name, path[0])
		}
		inner := validIn(s, s.Field(i))
		col.Release()
		col = inner
	}
	return col, nil
}

// validIn is the field f of s, NULL where s is.
func validIn(s *array.Struct, f arrow.Array) arrow.Array {
	if s.NullN() == 0 {
		f.Retain()
		return f
	}
	d := f.Data()
	valid, nulls := make([]byte, bitutil.BytesForBits(int64(d.Offset()+d.Len()))), 0
	for i := range d.Len() {
		if s.IsValid(i) && f.IsValid(i) {
			bitutil.SetBit(valid, d.Offset()+i)
		} else {
			nulls++
		}
	}
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(valid)}, d.Buffers()[1:]...)
	masked := array.NewData(d.DataType(), d.Len(), buffers, d.Children(), nulls, d.Offset())
	defer masked.Release()
	return array.MakeFromData(masked)
}

func (a *accumulator) value() expr.Literal {
	switch {
	case a.Func == "count":
		return expr.Lit(a.count)
	case a.best.IsNull():
		return expr.Literal{Type: a.kind}
	}
	return a.best
}
