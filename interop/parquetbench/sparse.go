package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/rowsel"
)

// sparseFigures are of 1 % of the rows in ranges of 1,000, by the page index over pages of 20,000 rows, against the whole.
type sparseFigures struct {
	cpu, bytes float64
	// What nobody can go below: the pages that hold a selected row and the dictionaries that they use, decompressed (or fetched) and nothing else.
	floorCPU, floorBytes float64

	together, scattered lateFigures
}

func sparseFile() ([]byte, *parquet.Reader, int64, error) {
	s := spec{name: "sparse", kind: "lineitem", rows: 1 << 20, group: 1 << 20, codec: specs(1)[0].codec, page: 1, batch: 20_000, index: true}
	b, err := write(s)
	if err != nil {
		return nil, nil, 0, err
	}
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return nil, nil, 0, err
	}
	r, err := f.Bind(columnsOf(f.Schema(), nil), nil, parquet.Options{Allocator: recycled})
	if err != nil {
		return nil, nil, 0, err
	}
	r.Prune(0, inMemory(b)) // takes the page index in
	return b, r, int64(s.rows), nil
}

func sparse(rounds int) (out sparseFigures, err error) {
	b, r, rows, err := sparseFile()
	if err != nil {
		return out, err
	}
	var sel rowsel.Builder
	for at := int64(5000); at < rows; at += 100_000 {
		sel.Add(at, at+1000)
	}
	picked := sel.Selection()
	bytes := func(sel rowsel.Selection) (n int64) {
		for _, x := range r.Ranges(0, parquet.PartRest, sel, parquet.Cost{}) {
			n += x.Len
		}
		return n
	}
	var times [3][]time.Duration
	var least int64
	for range rounds {
		for i, sel := range []rowsel.Selection{{}, picked} {
			start := cpu()
			if _, err := decodeGroup(context.Background(), r, 0, sel, inMemory(b), 1); err != nil {
				return out, err
			}
			times[i] = append(times[i], cpu()-start)
		}
		start := cpu()
		if least, err = touched(b, picked, 0); err != nil {
			return out, err
		}
		times[2] = append(times[2], cpu()-start)
	}
	whole, all := float64(median(times[0])), float64(bytes(rowsel.Selection{}))
	out.cpu, out.bytes = float64(median(times[1]))/whole, float64(bytes(picked))/all
	out.floorCPU, out.floorBytes = float64(median(times[2]))/whole, float64(least)/all
	together, scattered := lateSelections(rows)
	if out.together, err = late(b, together, rounds); err != nil {
		return out, err
	}
	out.scattered, err = late(b, scattered, rounds)
	return out, err
}

// touched decompresses what a selection needs of the first row group, of columns from leaf on, flat and in version 1 pages, and counts its
// bytes: pages with a selected row, and the dictionaries that those pages use.
func touched(b []byte, sel rowsel.Selection, leaf int) (bytes int64, err error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return 0, err
	}
	var d codec.Decoder
	var buf []byte
	for i := leaf; i < len(f.Tree().Leaves); i++ {
		off, n, err := f.ChunkRange(0, i)
		if err != nil {
			return 0, err
		}
		decompress := func(p *page.Page, size int) error {
			bytes += int64(size)
			buf = codec.Grow(buf, int(p.UncompressedSize))
			return d.Decode(f.Chunk(0, i).Codec, buf, p.Body, false)
		}
		var dict page.Page
		dictSize := 0 // 0 = there is none, or it was decompressed
		row := int64(0)
		for at := off; at < off+n; {
			var p page.Page
			k, err := page.Read(b[at:off+n], at, &p)
			if err != nil {
				return 0, err
			}
			at += int64(k)
			if !p.Data() {
				dict, dictSize = p, k
				continue
			}
			row += int64(p.NumValues)
			if sel.CountBetween(row-int64(p.NumValues), row) == 0 {
				continue
			}
			if dictSize > 0 && p.Encoding.Dictionary() {
				err = decompress(&dict, dictSize)
				dictSize = 0
			}
			if err = errors.Join(err, decompress(&p, k)); err != nil {
				return 0, fmt.Errorf("column %d: %w", i, err)
			}
		}
	}
	return bytes, nil
}

// lateFigures are of a filter on one of 16 columns that keeps 1 % of the rows: CPU beyond the filter column, against all of the rest.
type lateFigures struct {
	cpu   float64
	floor float64 // to decompress the rest's pages that hold a row, and the dictionaries that they use
}

// late measures a filter on l_orderkey that keeps the rows of sel.
func late(b []byte, sel rowsel.Selection, rounds int) (out lateFigures, err error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return out, err
	}
	cols := columnsOf(f.Schema(), nil)
	cols[0].Output = expr.WithFieldID(cols[0].Output, 1)
	r, err := f.Bind(cols, expr.IsNull{Col: expr.Column{ID: 1, Type: cols[0].Output.Type}}, parquet.Options{Allocator: recycled})
	if err != nil {
		return out, err
	}
	var all, one, narrowed, least []time.Duration
	timed := func(into *[]time.Duration, run func() error) {
		if err != nil {
			return
		}
		start := cpu()
		err = run()
		*into = append(*into, cpu()-start)
	}
	for range rounds {
		timed(&all, func() error { _, err := own(b, nil, 1, parquet.Options{}); return err })
		timed(&one, func() error { _, err := own(b, []string{"l_orderkey"}, 1, parquet.Options{}); return err })
		timed(&narrowed, func() error { return narrow(r, inMemory(b), sel) })
		timed(&least, func() error { _, err := touched(b, sel, 1); return err })
	}
	if err != nil {
		return out, err
	}
	rest := float64(median(all) - median(one))
	return lateFigures{cpu: float64(median(narrowed)-median(one)) / rest, floor: float64(median(least)) / rest}, nil
}

// narrow decodes the filter's column, and the rest for the rows of sel.
func narrow(r *parquet.Reader, b parquet.Bytes, sel rowsel.Selection) error {
	ctx := context.Background()
	units, err := r.Open(0, rowsel.Selection{})
	if err != nil {
		return err
	}
	base := int64(0)
	for _, u := range units {
		rows := int64(u.Rows())
		for _, p := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
			for _, c := range u.Columns(p) {
				if err := u.Decode(ctx, c, b); err != nil {
					return err
				}
			}
			if p == parquet.PartRest {
				continue
			}
			rec, ok, err := u.FilterBatch()
			if err != nil || !ok {
				return errors.Join(errors.New("no batch for the filter"), err)
			}
			rec.Release()
			var kept rowsel.Builder
			for from, to := range sel.Between(base, base+rows) {
				kept.Add(from-base, to-base)
			}
			if err := u.Narrow(kept.Selection()); err != nil {
				return err
			}
		}
		base += rows
		for {
			rec, err := u.Next(0)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			rec.Release()
		}
		u.Close()
	}
	return nil
}

// lateSelections are 1 % of the rows, in one run and one by one.
func lateSelections(rows int64) (together, scattered rowsel.Selection) {
	var t, s rowsel.Builder
	t.Add(rows/2, rows/2+rows/100)
	for at := int64(50); at < rows; at += 100 {
		s.Add(at, at+1)
	}
	return t.Selection(), s.Selection()
}
