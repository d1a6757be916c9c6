package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakescan/lakescan/source"
)

// sums are the figures of one stream.
type sums interface {
	take(rec arrow.RecordBatch)
	merge(other sums)
	text() string
}

// summing is a source.Sink: a part for each stream, merged when the part ends, so the streams share nothing while they run.
type summing struct {
	make func() sums
	mu   struct {
		sync.Mutex
		whole sums
	}
}

// Part makes the figures of one stream.
func (s *summing) Part(int) (source.Part, error) { return &part{whole: s, own: s.make()}, nil }

// Finish has nothing to publish.
func (s *summing) Finish(context.Context) error { return nil }

// Abort has nothing to take back.
func (s *summing) Abort() {}

func (s *summing) text() string {
	if s.mu.whole == nil {
		s.mu.whole = s.make()
	}
	return s.mu.whole.text()
}

type part struct {
	whole *summing
	own   sums
}

func (p *part) Write(_ context.Context, b source.Batch) error { p.own.take(b.Record); return nil }
func (p *part) Wake() <-chan struct{}                         { return nil }
func (p *part) Relieve(context.Context) error                 { return nil }

func (p *part) Close(context.Context) error {
	p.whole.mu.Lock()
	defer p.whole.mu.Unlock()
	if p.whole.mu.whole == nil {
		p.whole.mu.whole = p.own
	} else {
		p.whole.mu.whole.merge(p.own)
	}
	return nil
}

func column[T any](rec arrow.RecordBatch, name string) T {
	return rec.Column(rec.Schema().FieldIndices(name)[0]).(T)
}

// countAndSums is count(*), sum(i1), sum(d1).
type countAndSums struct {
	rows, i1 int64
	d1       float64
}

func (s *countAndSums) take(rec arrow.RecordBatch) {
	s.rows += rec.NumRows()
	s.i1 += sumOf(column[*array.Int64](rec, "i1"))
	s.d1 += sumOf(column[*array.Float64](rec, "d1"))
}

func (s *countAndSums) merge(other sums) {
	o := other.(*countAndSums)
	s.rows, s.i1, s.d1 = s.rows+o.rows, s.i1+o.i1, s.d1+o.d1
}

func (s *countAndSums) text() string { return fmt.Sprintf("[(%d, %d, %v)]", s.rows, s.i1, s.d1) }

// fewRows is count(*), sum(d1), max(s1).
type fewRows struct {
	rows int64
	d1   float64
	s1   string
}

func (s *fewRows) take(rec arrow.RecordBatch) {
	s.rows += rec.NumRows()
	s.d1 += sumOf(column[*array.Float64](rec, "d1"))
	a := column[*array.String](rec, "s1")
	for i := range a.Len() {
		if v := a.Value(i); a.IsValid(i) && v > s.s1 {
			s.s1 = strings.Clone(v) // the batch is lent
		}
	}
}

func (s *fewRows) merge(other sums) {
	o := other.(*fewRows)
	s.rows, s.d1, s.s1 = s.rows+o.rows, s.d1+o.d1, max(s.s1, o.s1)
}

func (s *fewRows) text() string { return fmt.Sprintf("[(%d, %v, '%s')]", s.rows, s.d1, s.s1) }

// rowCount is the number of rows.
type rowCount struct{ rows int64 }

func (s *rowCount) take(rec arrow.RecordBatch) { s.rows += rec.NumRows() }
func (s *rowCount) merge(other sums)           { s.rows += other.(*rowCount).rows }
func (s *rowCount) text() string               { return fmt.Sprint(s.rows) }

// allColumns is a figure of each column.
type allColumns struct {
	i12, i3     int64
	d12         float64
	dt          arrow.Date32
	ts          arrow.Timestamp
	s1, s2, cat int64
	unit        *arrow.TimestampType
}

func (s *allColumns) take(rec arrow.RecordBatch) {
	s.i12 += sumOf(column[*array.Int64](rec, "i1")) + sumOf(column[*array.Int64](rec, "i2"))
	s.i3 += sumThousandths(rec.Column(rec.Schema().FieldIndices("i3")[0]))
	s.d12 += sumOf(column[*array.Float64](rec, "d1")) + sumOf(column[*array.Float64](rec, "d2"))
	s.dt = max(s.dt, maxOf(column[*array.Date32](rec, "dt")))
	ts := column[*array.Timestamp](rec, "ts")
	s.ts, s.unit = max(s.ts, maxOf(ts)), ts.DataType().(*arrow.TimestampType)
	s.s1 += lengths(column[*array.String](rec, "s1"))
	s.s2 += lengths(column[*array.String](rec, "s2"))
	s.cat += lengths(column[*array.String](rec, "cat"))
}

func (s *allColumns) merge(other sums) {
	o := other.(*allColumns)
	s.i12, s.i3, s.d12, s.s1, s.s2, s.cat = s.i12+o.i12, s.i3+o.i3, s.d12+o.d12, s.s1+o.s1, s.s2+o.s2, s.cat+o.cat
	s.dt, s.ts = max(s.dt, o.dt), max(s.ts, o.ts)
	if s.unit == nil {
		s.unit = o.unit
	}
}

func (s *allColumns) text() string {
	at := "-"
	if s.unit != nil {
		at = s.ts.ToTime(s.unit.Unit).Format("2006-01-02 15:04:05.999999")
	}
	return fmt.Sprintf("[(%d, %d, %v, %s, %s, %d, %d, %d)]", s.i12, s.i3, s.d12, s.dt.FormattedString(), at, s.s1, s.s2, s.cat)
}

// numbers is what sums and maxima need of a column.
type numbers[T any] interface {
	arrow.Array
	Value(i int) T
}

func sumOf[T int64 | float64](a numbers[T]) (sum T) {
	if a.NullN() == 0 {
		for i := range a.Len() {
			sum += a.Value(i)
		}
		return sum
	}
	for i := range a.Len() {
		if a.IsValid(i) {
			sum += a.Value(i)
		}
	}
	return sum
}

func maxOf[T arrow.Date32 | arrow.Timestamp](a numbers[T]) (most T) {
	for i := range a.Len() {
		if a.IsValid(i) {
			most = max(most, a.Value(i))
		}
	}
	return most
}

func sumThousandths(col arrow.Array) (sum int64) {
	switch a := col.(type) {
	case *array.Int32:
		for i := range a.Len() {
			if a.IsValid(i) {
				sum += int64(a.Value(i) % 1000)
			}
		}
	case *array.Int64:
		for i := range a.Len() {
			if a.IsValid(i) {
				sum += a.Value(i) % 1000
			}
		}
	}
	return sum
}

func lengths(a *array.String) (sum int64) {
	for i := range a.Len() {
		if a.IsValid(i) {
			sum += int64(utf8.RuneCountInString(a.Value(i)))
		}
	}
	return sum
}
