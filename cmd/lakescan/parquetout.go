package main

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/parquet/write"
	"github.com/lakescan/lakescan/query/render"
)

// newParquet makes the writer behind -o parquet: zstd, a row group of at most a million rows. Field ids are kept where the rows have them.
func newParquet(w io.Writer, s *arrow.Schema) (render.BatchWriter, error) {
	pw, err := write.New(w, s, write.Options{RowGroupRows: 1 << 20, CreatedBy: "lakescan"})
	if err != nil {
		return nil, err
	}
	return parquetFile{pw}, nil
}

type parquetFile struct{ w *write.Writer }

func (p parquetFile) Write(rec arrow.RecordBatch) error { return p.w.Write(context.Background(), rec) }

func (p parquetFile) Close() error {
	_, err := p.w.Close(context.Background())
	return err
}
