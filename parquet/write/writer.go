package write

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// Writer writes one file.
type Writer struct {
	o       Options
	schema  *arrow.Schema
	layout  *layout
	sink    *sink
	columns []*column

	pending []pending // batches with rows that are not encoded yet
	waiting int       // such rows

	file   *file.Writer // from the first chunk on
	group  file.BufferedRowGroupWriter
	rows   int64 // of the file, encoded
	inRows int64 // of the row group
	inSize int64 // value bytes of the row group
	err    error // of an earlier call, or ErrClosed
}

// pending is a retained batch of which rows from at on are waiting.
type pending struct {
	rec arrow.RecordBatch
	at  int
}

// sink counts bytes and remembers the last ones, which hold the footer.
type sink struct {
	w    io.Writer
	n    int64
	keep bool
	tail []byte
	err  error // the first one; the encoder may hide it in a panic
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.n += int64(n)
	if err != nil && s.err == nil {
		s.err = err
	}
	if s.keep {
		s.tail = append(s.tail, b[:n]...)
	}
	return n, err
}

// New makes a writer of rows of the schema into w, which it never closes. Nothing is written before the first rows. Fields
// keep their ids (expr.FieldIDKey); types without a Parquet form are ErrUnsupported.
func New(w io.Writer, s *arrow.Schema, o Options) (*Writer, error) {
	o = o.withDefaults()
	if _, err := o.codec(); err != nil {
		return nil, err
	}
	l, err := newLayout(s)
	if err != nil {
		return nil, err
	}
	out := &Writer{o: o, schema: s, layout: l, sink: &sink{w: w}}
	for _, lf := range l.leaves {
		out.columns = append(out.columns, &column{leaf: lf})
	}
	for _, k := range o.Sorting {
		if lf := l.find(k.Path); lf == nil || lf.maxRep > 0 {
			return nil, fmt.Errorf("%w: sorting by %q, which is no column outside lists", ErrUnsupported, strings.Join(k.Path, "."))
		}
	}
	for _, p := range o.Bloom {
		if lf := l.find(p); lf == nil || lf.physical == parquet.Types.Boolean {
			return nil, fmt.Errorf("%w: a Bloom filter on %q", ErrUnsupported, strings.Join(p, "."))
		}
	}
	return out, nil
}

func (l *layout) find(path []string) *leaf {
	for _, lf := range l.leaves {
		if slices.Equal(lf.path, path) {
			return lf
		}
	}
	return nil
}

// Rows given to Write so far.
func (w *Writer) Rows() int64 { return w.rows + int64(w.waiting) }

// Bytes is the size of the file so far, with what is encoded in memory; rows that wait are not counted.
func (w *Writer) Bytes() int64 { return w.sink.n + w.Buffered() }

// Buffered is the encoded size of the row group in memory.
func (w *Writer) Buffered() int64 {
	if w.group == nil {
		return 0
	}
	return w.group.TotalBytesWritten()
}

// Write adds the rows of a batch, which is lent. ctx is looked at between chunks of rows and columns. After an error the
// Writer is only good for Abort.
func (w *Writer) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if !rec.Schema().Equal(w.schema) && !sameTypes(rec.Schema(), w.schema) {
		return w.fail(fmt.Errorf("parquet/write: a batch of schema %v, not %v", rec.Schema(), w.schema))
	}
	if rec.NumRows() == 0 {
		return nil
	}
	rec.Retain()
	w.pending = append(w.pending, pending{rec: rec})
	w.waiting += int(rec.NumRows())
	for w.waiting > 0 {
		n := w.next()
		if w.waiting < n {
			return nil
		}
		if err := w.chunk(ctx, n); err != nil {
			return w.fail(err)
		}
	}
	return nil
}

// sameTypes allows for other metadata.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool {
		return x.Name == y.Name && x.Nullable == y.Nullable && arrow.TypeEqual(x.Type, y.Type)
	})
}

// next is how many rows the next chunk has.
func (w *Writer) next() int { return int(min(chunkRows, w.o.RowGroupRows-w.inRows)) }

func (w *Writer) fail(err error) error {
	w.err = w.cause(err)
	w.drop()
	return w.err
}

// cause prefers the error of the io.Writer.
func (w *Writer) cause(err error) error {
	if err != nil && w.sink.err != nil {
		return fmt.Errorf("parquet/write: %w", w.sink.err)
	}
	return err
}

func (w *Writer) drop() {
	for _, p := range w.pending {
		p.rec.Release()
	}
	w.pending, w.waiting = nil, 0
}

// chunk encodes the next n rows, which are at hand.
func (w *Writer) chunk(ctx context.Context, n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parquet/write: the encoder panicked: %v", r)
		}
	}()
	if w.file == nil {
		w.open(n)
	}
	if w.group == nil {
		if w.group, err = w.file.AppendBufferedRowGroupChecked(); err != nil {
			return err
		}
	}
	if err := w.expand(n); err != nil {
		return err
	}
	for i, c := range w.columns {
		if err := ctx.Err(); err != nil {
			return err
		}
		cw, err := w.group.Column(i)
		if err != nil {
			return err
		}
		size, err := c.chunk(cw, n, &w.o)
		if err != nil {
			return err
		}
		w.inSize += size
	}
	w.consume(n)
	w.inRows += int64(n)
	w.rows += int64(n)
	if w.inRows >= w.o.RowGroupRows || w.inSize >= w.o.RowGroupBytes {
		return w.endGroup()
	}
	return nil
}

// expand gathers the entries of the next n rows in the columns.
func (w *Writer) expand(n int) error {
	for _, p := range w.pending {
		k := min(n, int(p.rec.NumRows())-p.at)
		for i, f := range w.layout.fields {
			err := expand(f, p.rec.Column(i), p.at, k, func(l *leaf, e entries) error {
				w.columns[l.index].pieces = append(w.columns[l.index].pieces, e)
				return nil
			})
			if err != nil {
				return err
			}
		}
		if n -= k; n == 0 {
			break
		}
	}
	return nil
}

// consume gives up the next n rows.
func (w *Writer) consume(n int) {
	w.waiting -= n
	for n > 0 {
		p := &w.pending[0]
		k := min(n, int(p.rec.NumRows())-p.at)
		p.at += k
		n -= k
		if p.at == int(p.rec.NumRows()) {
			p.rec.Release()
			w.pending = w.pending[1:]
		}
	}
}

// open makes the encoder. The first n rows tell which columns deserve a dictionary.
func (w *Writer) open(n int) {
	codec, _ := w.o.codec()
	props := []parquet.WriterProperty{
		parquet.WithAllocator(w.o.Allocator), parquet.WithCreatedBy(w.o.CreatedBy), parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1), parquet.WithCompression(codec), parquet.WithDictionaryDefault(false),
		parquet.WithDictionaryPageSizeLimit(w.o.DictionaryBytes), parquet.WithStats(true), parquet.WithPageIndexEnabled(true),
		parquet.WithStoreDecimalAsInteger(true),
		// Pages end where this package says.
		parquet.WithDataPageSize(math.MaxInt32), parquet.WithBatchSize(math.MaxInt32), parquet.WithMaxRowGroupLength(math.MaxInt32),
	}
	if w.o.Level != 0 {
		props = append(props, parquet.WithCompressionLevel(w.o.Level))
	}
	if err := w.expand(n); err == nil {
		for _, c := range w.columns {
			if c.repeats() {
				props = append(props, parquet.WithDictionaryFor(strings.Join(c.path, "."), true))
			}
			c.pieces = c.pieces[:0]
		}
	}
	for _, p := range w.o.Bloom {
		path := strings.Join(p, ".")
		props = append(props, parquet.WithBloomFilterEnabledFor(path, true), parquet.WithBloomFilterFPPFor(path, w.o.BloomFPP),
			parquet.WithBloomFilterNDVFor(path, w.o.RowGroupRows))
	}
	if w.o.Sorting != nil {
		var keys []parquet.SortingColumn
		for _, k := range w.o.Sorting {
			keys = append(keys, parquet.SortingColumn{ColumnIdx: int32(w.layout.find(k.Path).index), Descending: k.Descending, NullsFirst: k.NullsFirst})
		}
		props = append(props, parquet.WithSortingColumns(keys))
	}
	w.file = file.NewParquetWriter(w.sink, w.layout.root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
}

// endGroup writes the row group out.
func (w *Writer) endGroup() error {
	for i, c := range w.columns {
		cw, err := w.group.Column(i)
		if err != nil {
			return err
		}
		if err := c.endPage(cw); err != nil {
			return err
		}
	}
	err := w.group.Close()
	w.group, w.inRows, w.inSize = nil, 0, 0
	return err
}

// Close encodes what waits and writes the footer; w's io.Writer stays open. A file without rows is a file all the same.
func (w *Writer) Close(ctx context.Context) (*Result, error) {
	if w.err != nil {
		return nil, w.err
	}
	r, err := w.finish(ctx)
	err = w.cause(err)
	w.err = ErrClosed
	if err != nil {
		w.err = err
	}
	w.drop()
	return r, err
}

func (w *Writer) finish(ctx context.Context) (r *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parquet/write: the encoder panicked: %v", p)
		}
	}()
	for w.waiting > 0 {
		if err := w.chunk(ctx, min(w.waiting, w.next())); err != nil {
			return nil, err
		}
	}
	if w.group != nil {
		if err := w.endGroup(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.file == nil {
		w.open(0)
	}
	for _, k := range slices.Sorted(maps.Keys(w.o.Metadata)) {
		if err := w.file.AppendKeyValueMetadata(k, w.o.Metadata[k]); err != nil {
			return nil, err
		}
	}
	w.sink.keep = true
	if err := w.file.Close(); err != nil {
		return nil, fmt.Errorf("parquet/write: %w", err)
	}
	return w.result()
}

// Abort gives everything up and writes nothing more; what went into the io.Writer is no file. Idempotent, and harmless
// after Close.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = ErrClosed
	}
	w.drop()
	w.group, w.file = nil, nil
}
