package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// File serves a file held in memory.
type File []byte

// Slice gives a range; one outside the file is an error.
func (f File) Slice(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || n > int64(len(f)) || off > int64(len(f))-n {
		return nil, fmt.Errorf("walk: range %d+%d outside the file of %d bytes", off, n, len(f))
	}
	return f[off : off+n : off+n], nil
}

// Planned serves only what was planned of a file: a range outside all of them is an error, as it is for a reader that fetches.
type Planned struct {
	File   File
	Ranges []parquet.Range
}

// Slice gives a range inside one of the planned ones.
func (p Planned) Slice(off, n int64) ([]byte, error) {
	if !slices.ContainsFunc(p.Ranges, func(r parquet.Range) bool { return r.Off <= off && off+n <= r.Off+r.Len }) {
		return nil, fmt.Errorf("walk: range %d+%d was not planned", off, n)
	}
	return p.File.Slice(off, n)
}

// Columns wants every column of a schema as the file has it.
func Columns(s *arrow.Schema) []parquet.Column {
	cols := make([]parquet.Column, s.NumFields())
	for i, f := range s.Fields() {
		cols[i] = Column(f, nil)
	}
	return cols
}

// Column wants a field of the file and all below it; parent is the path of its parent.
func Column(f arrow.Field, parent []string) parquet.Column {
	c := parquet.Column{Output: f, Path: append(parent[:len(parent):len(parent)], f.Name)}
	switch t := f.Type.(type) {
	case *arrow.MapType:
		c.Children = []parquet.Column{Column(t.KeyField(), c.Path), Column(t.ItemField(), c.Path)}
	case arrow.ListLikeType:
		c.Children = []parquet.Column{Column(t.ElemField(), c.Path)}
	case *arrow.StructType:
		for _, child := range t.Fields() {
			c.Children = append(c.Children, Column(child, c.Path))
		}
	}
	return c
}

// Request says what Read reads. The zero value is everything.
type Request struct {
	Options parquet.Options
	// Columns wanted; nil = all of the file.
	Columns func(s *arrow.Schema) []parquet.Column
	// Select gives the rows of a row group, relative to it; nil = all.
	Select func(group int, rows int64) rowsel.Selection
	// Index has the page index read first, so that pages without a selected row are not looked at.
	Index bool
	// Batch sees every batch, which is lent.
	Batch func(rec arrow.RecordBatch) error
}

// Read reads a file into a table of canonical rows; the table has the schema of the columns wanted even if there are no rows.
func Read(ctx context.Context, file File, q Request) (*canon.Table, error) {
	f, missing, err := parquet.ParseFooter(file, int64(len(file)), 0)
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, fmt.Errorf("walk: %d bytes missing of a whole file", missing)
	}
	want := q.Columns
	if want == nil {
		want = Columns
	}
	r, err := f.Bind(want(f.Schema()), nil, q.Options)
	if err != nil {
		return nil, err
	}
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	for g := range f.RowGroups() {
		sel := rowsel.Selection{}
		if q.Select != nil {
			sel = q.Select(g, f.Rows(g))
		}
		if q.Index {
			r.Prune(g, file)
		}
		if err := group(ctx, r, g, sel, file, q, table); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func group(ctx context.Context, r *parquet.Reader, g int, sel rowsel.Selection, file File, q Request, table *canon.Table) error {
	units, err := r.Open(g, sel)
	if err != nil {
		return err
	}
	defer func() {
		for _, u := range units {
			u.Close()
		}
	}()
	for _, u := range units {
		for _, p := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
			planned := Planned{file, r.Ranges(g, p, sel, parquet.Cost{})}
			for _, c := range u.Columns(p) {
				if err := u.Decode(ctx, c, planned); err != nil {
					return err
				}
			}
		}
		if err := batches(u, q, table); err != nil {
			return err
		}
		u.Close()
	}
	return nil
}

func batches(u *parquet.Unit, q Request, table *canon.Table) error {
	for {
		rec, err := u.Next(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = table.Add(rec)
		if err == nil && q.Batch != nil {
			err = q.Batch(rec)
		}
		rec.Release()
		if err != nil {
			return err
		}
	}
}
