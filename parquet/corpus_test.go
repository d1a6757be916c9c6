package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/parquet"
)

// whole serves a file held in memory.
type whole []byte

func (w whole) Slice(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off+n > int64(len(w)) {
		return nil, fmt.Errorf("range %d+%d outside the file of %d bytes", off, n, len(w))
	}
	return w[off : off+n : off+n], nil
}

// lent gives copies and spoils them when the unit they were given to is closed, as a recycled download buffer is.
type lent struct {
	parquet.Bytes
	mu    sync.Mutex
	given [][]byte
}

func (l *lent) Slice(off, n int64) ([]byte, error) {
	b, err := l.Bytes.Slice(off, n)
	if err != nil {
		return nil, err
	}
	c := make([]byte, len(b))
	copy(c, b)
	l.mu.Lock()
	l.given = append(l.given, c)
	l.mu.Unlock()
	return c, nil
}

func (l *lent) spoil() {
	for _, b := range l.given {
		for i := range b {
			b[i] = 0xdb
		}
	}
}

// all wants every column of the file as it is.
func all(s *arrow.Schema) []parquet.Column {
	var cols []parquet.Column
	for _, f := range s.Fields() {
		cols = append(cols, column(f, nil))
	}
	return cols
}

func column(f arrow.Field, parent []string) parquet.Column {
	c := parquet.Column{Output: f, Path: append(parent[:len(parent):len(parent)], f.Name)}
	if n, ok := f.Type.(arrow.NestedType); ok {
		fields := n.Fields()
		if m, ok := f.Type.(*arrow.MapType); ok {
			fields = []arrow.Field{m.KeyField(), m.ItemField()}
		}
		for _, in := range fields {
			c.Children = append(c.Children, column(in, c.Path))
		}
	}
	return c
}

// readable wants the columns that are no variants.
func readable(s *arrow.Schema) []parquet.Column {
	return slices.DeleteFunc(all(s), func(c parquet.Column) bool {
		return c.Output.Metadata.FindKey("ARROW:extension:name") >= 0 && c.Children != nil
	})
}

// scan reads the whole file and hands each batch to emit, who does not keep it.
func scan(ctx context.Context, b []byte, want func(*arrow.Schema) []parquet.Column, o parquet.Options, emit func(arrow.RecordBatch) error) error {
	f, missing, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("missing %d bytes of a whole file", missing)
	}
	r, err := f.Bind(want(f.Schema()), nil, o)
	if err != nil {
		return err
	}
	for rg := range f.RowGroups() {
		if err := scanGroup(ctx, r, rg, parquet.RowSelection{}, whole(b), emit); err != nil {
			return err
		}
	}
	return nil
}

func scanGroup(ctx context.Context, r *parquet.Reader, rg int, sel parquet.RowSelection, b parquet.Bytes, emit func(arrow.RecordBatch) error) error {
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
		given := &lent{Bytes: b}
		for _, p := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
			for _, c := range u.Columns(p) {
				if err := u.Decode(ctx, c, given); err != nil {
					return err
				}
			}
		}
		for {
			rec, err := u.Next(0)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			err = emit(rec)
			rec.Release()
			if err != nil {
				return err
			}
		}
		u.Close()
		given.spoil()
	}
	return nil
}

// checked reads with Arrow's checked allocator and tells about leaks.
func checked(t testing.TB, o parquet.Options) (parquet.Options, func()) {
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	o.Allocator = mem
	return o, func() { mem.AssertSize(t, 0) }
}

func readTable(t testing.TB, b []byte, want func(*arrow.Schema) []parquet.Column, o parquet.Options) (*canon.Table, error) {
	t.Helper()
	var table *canon.Table
	err := scan(t.Context(), b, want, o, func(rec arrow.RecordBatch) error {
		if table == nil {
			table = canon.NewTable(rec.Schema(), canon.StoredOrder)
		}
		return table.Add(rec)
	})
	return table, err
}

// TestCorpus reads every file of other writers and compares rows, digests and facts with what independent readers say (Q1),
// in units and batches of several sizes, with byte strings as offsets, views and dictionaries (Q2).
func TestCorpus(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	for _, c := range m.Select(canon.ParquetGood, canon.ParquetBad) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			b, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []parquet.Options{{}, {UnitBytes: 1, BatchRows: 7}, {UnitBytes: 20000, BatchRows: 100}} {
				if c.Expected.NumRows > 2000 && o.UnitBytes == 1 {
					continue
				}
				o, leaks := checked(t, o)
				checkCase(t, c, b, all, o)
				leaks()
			}
			for _, as := range []func(*arrow.Schema) []parquet.Column{asViews, asDictionaries} {
				for _, o := range []parquet.Options{{}, {UnitBytes: 20000, BatchRows: 100}} {
					o, leaks := checked(t, o)
					checkCase(t, c, b, as, o)
					leaks()
				}
			}
		})
	}
}

func checkCase(t *testing.T, c canon.Case, b []byte, want func(*arrow.Schema) []parquet.Column, o parquet.Options) {
	t.Helper()
	table, err := readTable(t, b, want, o)
	switch {
	case err != nil && c.Expected.Outcome == canon.Rows:
		t.Fatalf("%+v: %v", o, err)
	case err == nil && c.Expected.Outcome == canon.Error:
		t.Fatalf("%+v: no error", o)
	case err != nil:
		class := map[string]error{"corrupt": parquet.ErrCorrupt, "unsupported": parquet.ErrUnsupported, "limit": parquet.ErrTooLarge, "": err}[c.Expected.ErrorClass]
		if !errors.Is(err, class) {
			t.Fatalf("%+v: error of another class than %q: %v", o, c.Expected.ErrorClass, err)
		}
		return
	case table == nil: // no rows or no flat column
		return
	}
	got, facts := table.Facts(), c.Expected.Facts
	if len(got.Schema) < len(facts.Schema) { // some columns are nested
		facts.RowsSHA256, facts.RowsInOrderSHA256, facts.FirstRows = "", "", nil
		have := make(map[string]bool)
		for _, f := range got.Schema {
			have[f.Name] = true
		}
		facts.Schema = slices.DeleteFunc(slices.Clone(facts.Schema), func(f canon.FieldFacts) bool { return !have[f.Name] })
		facts.Columns = slices.DeleteFunc(slices.Clone(facts.Columns), func(f canon.ColumnFacts) bool { return !have[f.Name] })
	}
	if diff := facts.Diff(got, false); len(diff) > 0 {
		t.Errorf("%+v:\n%s", o, strings.Join(diff, "\n"))
	}
}
