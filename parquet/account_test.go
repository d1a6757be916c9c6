package parquet_test

import (
	"cmp"
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
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/page"
	pq "github.com/parquet-go/parquet-go"
)

// TestQ6_AccountEndsAtZero: scratch memory and arrays are given back after the end, an error, and a scan broken off; a row
// group of many times the unit is read within a few units.
func TestQ6_AccountEndsAtZero(t *testing.T) {
	t.Parallel()
	values := make([]pq.Value, 60000)
	for i := range values {
		values[i] = pq.ByteArrayValue([]byte(strings.Repeat("v", i%200)))
	}
	b, err := writeMatrix(values, pq.ByteArrayType, &pq.Plain, &pq.Zstd, false, 1, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	const unit = 256 << 10 // the row group's arrays take 6 MB
	for name, c := range map[string]struct {
		file whole
		stop int // batches, 0 = to the end
	}{"end": {b, 0}, "broken off": {b, 3}, "error": {spoiled(t, b), 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget, err := memory.New(memory.Config{Limit: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			account := budget.Elastic(memory.Decoded, 0)
			mem := memory.NewAllocator(arrowmem.NewGoAllocator(), account)
			batches := 0
			err = scan(t.Context(), c.file, all, parquet.Options{Allocator: mem, Decoded: account, UnitBytes: unit}, func(arrow.RecordBatch) error {
				if batches++; batches == c.stop {
					return errEnough
				}
				return nil
			})
			if (name == "end") != (err == nil) {
				t.Errorf("%v", err)
			}
			if held := account.Bytes(); held != 0 {
				t.Errorf("%d bytes are still held", held)
			}
			if peak := account.Peak(); name == "end" && peak > 8*unit {
				t.Errorf("%d bytes at once, unit of %d", peak, unit)
			}
			account.Close()
			if err := budget.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// spoiled breaks a byte in the body of the tenth page.
func spoiled(t *testing.T, b []byte) []byte {
	t.Helper()
	b = slices.Clone(b)
	at := 4
	for i := 0; ; i++ {
		var p page.Page
		n, err := page.Read(b[at:], int64(at), &p)
		if err != nil || !p.HasCRC {
			t.Fatalf("page %d at %d: %v, checksum %v", i, at, err, p.HasCRC)
		}
		if at += n; i == 9 {
			b[at-1] ^= 0x10
			return b
		}
	}
}

// TestQ2_WorkersAndOrder: columns of all units decoded by many goroutines, in any order of units, give the rows of one.
func TestQ2_WorkersAndOrder(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"own-sorted-page-index", "own-spark-default", "own-nested-deep-v1", "own-encodings-delta-v1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b := canonFile(t, id)
			o, leaks := checked(t, parquet.Options{UnitBytes: 20000})
			want, err := readTable(t, b, readable, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, backwards := range []bool{false, true} {
				got, err := readByWorkers(t, b, o, backwards)
				if err != nil || !slices.Equal(got.Rows(), want.Rows()) {
					t.Errorf("backwards %v: %v", backwards, err)
				}
			}
			leaks()
		})
	}
}

func readByWorkers(t *testing.T, b []byte, o parquet.Options, backwards bool) (*canon.Table, error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return nil, err
	}
	r, err := f.Bind(readable(f.Schema()), nil, o)
	if err != nil {
		return nil, err
	}
	table := canon.NewTable(r.Schema(), canon.StoredOrder)
	for rg := range f.RowGroups() {
		units, err := r.Open(rg, parquet.RowSelection{})
		if err != nil {
			return nil, err
		}
		if err := decodeAtOnce(t.Context(), units, whole(b), backwards); err != nil {
			return nil, err
		}
		for _, u := range units {
			if err := drain(u, table); err != nil {
				return nil, err
			}
			u.Close()
		}
	}
	return table, nil
}

func decodeAtOnce(ctx context.Context, units []*parquet.Unit, b parquet.Bytes, backwards bool) error {
	type item struct {
		u   *parquet.Unit
		col int
	}
	var items []item
	for _, u := range units {
		for _, c := range u.Columns(parquet.PartRest) {
			items = append(items, item{u, c})
		}
	}
	if backwards {
		slices.Reverse(items)
	}
	work := make(chan item, len(items))
	for _, it := range items {
		work <- it
	}
	close(work)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			for it := range work {
				if err := it.u.Decode(ctx, it.col, b); err != nil {
					errs[i] = fmt.Errorf("column %d: %w", it.col, err)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func drain(u *parquet.Unit, table *canon.Table) error {
	for {
		rec, err := u.Next(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = table.Add(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

// TestColumnsComeLargestFirst: workers that share the columns of a unit end at about the same time.
func TestColumnsComeLargestFirst(t *testing.T) {
	t.Parallel()
	b := canonFile(t, "own-nested-deep-v1")
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Bind(readable(f.Schema()), nil, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stored := make(map[int]int64)
	for _, x := range r.Ranges(0, parquet.PartRest, parquet.RowSelection{}, parquet.Cost{MaxBytes: 1}) {
		for _, n := range x.Need {
			stored[n.Column] += x.Len
		}
	}
	units, err := r.Open(0, parquet.RowSelection{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		cols := u.Columns(parquet.PartRest)
		if len(cols) < 2 || len(cols) != len(stored) {
			t.Fatalf("columns %v of %d", cols, len(stored))
		}
		if !slices.IsSortedFunc(cols, func(a, b int) int { return cmp.Compare(stored[b], stored[a]) }) {
			t.Errorf("%v of %v bytes", cols, stored)
		}
		u.Close()
	}
}
