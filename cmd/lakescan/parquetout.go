package main

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/query/render"
)

// newParquet makes the writer behind -o parquet; nil while this build has none.
var newParquet func(w io.Writer, s *arrow.Schema) (render.BatchWriter, error)
