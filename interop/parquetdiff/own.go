package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/eval"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/parquettest/walk"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// numbered wants every column of a file, each with a field id, so that filters can name it.
func numbered(s *arrow.Schema) []parquet.Column {
	cols := walk.Columns(s)
	for i := range cols {
		cols[i].Output = expr.WithFieldID(cols[i].Output, i+1)
	}
	return cols
}

// whole is a file as lakescan reads it.
type whole struct {
	schema  *arrow.Schema
	rows    []string
	batches []arrow.RecordBatch
	columns map[string]column
}

func (w *whole) release() {
	for _, b := range w.batches {
		b.Release()
	}
}

// readOwn reads all of a file.
func readOwn(ctx context.Context, file []byte, o parquet.Options) (*whole, error) {
	w := &whole{}
	t, err := walk.Read(ctx, file, walk.Request{Options: o, Columns: numbered, Batch: func(rec arrow.RecordBatch) error {
		rec.Retain()
		w.batches = append(w.batches, rec)
		return nil
	}})
	if err != nil {
		w.release()
		return nil, err
	}
	f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for _, c := range numbered(f.Schema()) {
		fields = append(fields, c.Output)
	}
	w.schema, w.rows = arrow.NewSchema(fields, nil), t.Rows()
	w.columns = columnsOf(w.schema, t)
	return w, nil
}

// small are windows and batches in which values are split everywhere.
func small(r *rand.Rand, mem arrowmem.Allocator) parquet.Options {
	return parquet.Options{Allocator: mem, UnitBytes: pick(r, 1, 500, int64(5000)), BatchRows: pick(r, 1, 7, 64, 1000), BatchBytes: pick(r, 100, int64(1<<20))}
}

// selects is what a filter keeps of all rows.
func (w *whole) selects(e expr.Expr) ([]string, error) {
	ev, err := eval.New(e, w.schema)
	if err != nil {
		return nil, err
	}
	var out []string
	at := 0
	for _, b := range w.batches {
		var s eval.Selection
		if err := ev.Eval(b, &s); err != nil {
			return nil, err
		}
		for i := range s.Len() {
			if s.Has(i) {
				out = append(out, w.rows[at+i])
			}
		}
		at += s.Len()
	}
	return out, nil
}

// filtered reads the rows that a filter keeps, by every means there is to read less.
func filtered(ctx context.Context, file walk.File, e expr.Expr, o parquet.Options) (rows []string, skipped int, err error) {
	f, _, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		return nil, 0, err
	}
	r, err := f.Bind(numbered(f.Schema()), e, o)
	if err != nil {
		return nil, 0, err
	}
	t := canon.NewTable(r.Schema(), canon.StoredOrder)
	for rg := range f.RowGroups() {
		verdict, sel := r.Prune(rg, file)
		if verdict == expr.None || sel.Count(f.Rows(rg)) == 0 {
			skipped++
			continue
		}
		if !sel.All() {
			skipped++
		}
		if err := filteredGroup(ctx, r, rg, sel, file, e, t); err != nil {
			return nil, skipped, err
		}
	}
	return t.Rows(), skipped, nil
}

func filteredGroup(ctx context.Context, r *parquet.Reader, rg int, sel rowsel.Selection, file walk.File, e expr.Expr, t *canon.Table) error {
	units, err := r.Open(rg, sel)
	if err != nil {
		return err
	}
	defer func() {
		for _, u := range units {
			u.Close()
		}
	}()
	for _, u := range units {
		if err := filteredUnit(ctx, r, rg, sel, u, file, e, t); err != nil {
			return err
		}
		u.Close()
	}
	return nil
}

func filteredUnit(ctx context.Context, r *parquet.Reader, rg int, sel rowsel.Selection, u *parquet.Unit, file walk.File, e expr.Expr, t *canon.Table) error {
	first := walk.Planned{File: file, Ranges: r.Ranges(rg, parquet.PartFilter, sel, parquet.Cost{})}
	for _, c := range u.Columns(parquet.PartFilter) {
		if err := u.Decode(ctx, c, first); err != nil {
			return err
		}
	}
	rec, ok, err := u.FilterBatch()
	if err != nil {
		return err
	}
	if ok {
		err := narrow(u, rec, e)
		rec.Release()
		if err != nil {
			return err
		}
	}
	rest := walk.Planned{File: file, Ranges: r.Ranges(rg, parquet.PartRest, u.Selection(), parquet.Cost{})}
	for _, c := range u.Columns(parquet.PartRest) {
		if err := u.Decode(ctx, c, rest); err != nil {
			return err
		}
	}
	for {
		rec, err := u.Next(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = keep(rec, e, ok, t)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

func narrow(u *parquet.Unit, rec arrow.RecordBatch, e expr.Expr) error {
	ev, err := eval.New(e, rec.Schema())
	if err != nil {
		return err
	}
	var s eval.Selection
	if err := ev.Eval(rec, &s); err != nil || s.All() {
		return err
	}
	return u.Narrow(rowsel.FromWords(0, slices.Clone(s.Words())))
}

// keep renders the rows of a batch that the filter keeps; all of them if it was applied before.
func keep(rec arrow.RecordBatch, e expr.Expr, applied bool, t *canon.Table) error {
	if applied {
		return t.Add(rec)
	}
	ev, err := eval.New(e, rec.Schema())
	if err != nil {
		return err
	}
	var s eval.Selection
	if err := ev.Eval(rec, &s); err != nil {
		return err
	}
	for from, to := range s.Runs() {
		part := rec.NewSlice(int64(from), int64(to))
		err := t.Add(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
