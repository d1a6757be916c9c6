package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/codec"
	"github.com/lakescan/lakescan/parquet/page"
	"github.com/lakescan/lakescan/parquet/pool"
	"github.com/lakescan/lakescan/parquet/thrift"
	pq "github.com/parquet-go/parquet-go"
)

// reader decodes every row of a file held in memory and returns how many there were.
type reader struct {
	name string
	run  func(b []byte, s spec) (int64, error)
}

var recycled = pool.New(nil, 1<<30, nil)

type inMemory []byte

func (m inMemory) Slice(off, n int64) ([]byte, error) { return m[off : off+n], nil }

func own(b []byte, columns []string, workers int, o parquet.Options) (int64, error) {
	return ownWith(b, columns, workers, o, recycled)
}

func ownWith(b []byte, columns []string, workers int, o parquet.Options, mem memory.Allocator) (int64, error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return 0, err
	}
	o.Allocator, o.Values = mem, mem
	r, err := f.Bind(columnsOf(f.Schema(), columns), nil, o)
	if err != nil {
		return 0, err
	}
	var rows int64
	for rg := range f.RowGroups() {
		n, err := ownGroup(r, rg, inMemory(b), workers)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

func ownGroup(r *parquet.Reader, rg int, b parquet.Bytes, workers int) (rows int64, err error) {
	return decodeGroup(context.Background(), r, rg, parquet.RowSelection{}, b, workers)
}

// decodeGroup reads the selected rows of a row group by a few goroutines.
func decodeGroup(ctx context.Context, r *parquet.Reader, rg int, sel parquet.RowSelection, b parquet.Bytes, workers int) (rows int64, err error) {
	units, err := r.Open(rg, sel)
	if err != nil {
		return 0, err
	}
	for _, u := range units {
		cols := u.Columns(parquet.PartRest)
		var next atomic.Int64
		errs := make(chan error, workers)
		for range workers {
			go func() {
				for {
					i := int(next.Add(1) - 1)
					if i >= len(cols) {
						errs <- nil
						return
					}
					if err := u.Decode(ctx, cols[i], b); err != nil {
						errs <- err
						return
					}
				}
			}()
		}
		for range workers {
			if e := <-errs; e != nil {
				err = e
			}
		}
		if err != nil {
			return 0, err
		}
		for {
			rec, err := u.Next(0)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			rows += rec.NumRows()
			rec.Release()
		}
		u.Close()
	}
	return rows, nil
}

// ownStrings is own with byte strings as another type.
func ownStrings(b []byte, t arrow.DataType) (int64, error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return 0, err
	}
	cols := columnsOf(f.Schema(), nil)
	for i := range cols {
		if cols[i].Output.Type.ID() == arrow.STRING {
			cols[i].Output.Type = t
		}
	}
	r, err := f.Bind(cols, nil, parquet.Options{Allocator: recycled, Values: recycled})
	if err != nil {
		return 0, err
	}
	var rows int64
	for rg := range f.RowGroups() {
		n, err := ownGroup(r, rg, inMemory(b), 1)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

func columnsOf(s *arrow.Schema, names []string) []parquet.Column {
	var out []parquet.Column
	for _, f := range s.Fields() {
		for _, n := range names {
			if n == f.Name {
				out = append(out, column(f, nil))
			}
		}
		if names == nil {
			out = append(out, column(f, nil))
		}
	}
	return out
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

// floor decompresses every page of some columns (-1: of all) and does nothing else.
func floor(b []byte, only ...int) (int64, error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return 0, err
	}
	var d codec.Decoder
	var buf []byte
	for rg := range f.RowGroups() {
		for i := range f.Tree().Leaves {
			if only[0] >= 0 && !slices.Contains(only, i) {
				continue
			}
			off, n, err := f.ChunkRange(rg, i)
			if err != nil {
				return 0, err
			}
			c := f.Chunk(rg, i).Codec
			for at := off; at < off+n; {
				var p page.Page
				k, err := page.Read(b[at:off+n], at, &p)
				if err != nil {
					return 0, err
				}
				at += int64(k)
				body, size := p.Body, int(p.UncompressedSize)
				if p.Type == thrift.DataPageV2 {
					parts, s, err := p.SplitV2()
					if err != nil {
						return 0, err
					}
					body, size = parts.Values, s
				}
				if c == thrift.Uncompressed || p.Plain {
					continue
				}
				buf = codec.Grow(buf, size)
				if err := d.Decode(c, buf, body, false); err != nil {
					return 0, err
				}
			}
		}
	}
	return f.NumRows(), nil
}

// arrowGo reads with pqarrow, buffers pooled as for own.
func arrowGo(b []byte, columns []string) (int64, error) {
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 65536}, recycled)
	if err != nil {
		return 0, err
	}
	var idx []int
	for _, c := range columns {
		idx = append(idx, r.MetaData().Schema.ColumnIndexByName(c))
	}
	rr, err := fr.GetRecordReader(context.Background(), idx, nil)
	if err != nil {
		return 0, err
	}
	defer rr.Release()
	var rows int64
	for rr.Next() {
		rows += rr.RecordBatch().NumRows()
	}
	if err := rr.Err(); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return rows, nil
}

// parquetGo reads every value of every page, into reused memory. It makes no Arrow arrays, so it does less.
func parquetGo(b []byte) (int64, error) {
	f, err := pq.OpenFile(bytes.NewReader(b), int64(len(b)), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return 0, err
	}
	values := make([]pq.Value, 4096)
	for _, g := range f.RowGroups() {
		for _, c := range g.ColumnChunks() {
			if err := parquetGoChunk(c, values); err != nil {
				return 0, err
			}
		}
	}
	return f.NumRows(), nil
}

func parquetGoChunk(c pq.ColumnChunk, values []pq.Value) error {
	pages := c.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		vr := p.Values()
		for {
			_, err := vr.ReadValues(values)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		pq.Release(p)
	}
}
