package render

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// BatchWriter writes batches into a file format; Close ends the file and leaves the writer below open.
type BatchWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// plain decodes dictionaries of text at the top level: an IPC file cannot replace a dictionary, Parquet makes its own, and the
// batches of a scan come from files that have each their own.
type plain struct {
	checked
	out *arrow.Schema
}

func (p *plain) begin(s *arrow.Schema) error {
	fields := s.Fields()
	for i, f := range fields {
		if d, ok := f.Type.(*arrow.DictionaryType); ok && isText(d.ValueType) {
			fields[i].Type = d.ValueType
		}
	}
	md := s.Metadata()
	p.out = arrow.NewSchema(fields, &md)
	return p.checked.begin(s)
}

func isText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return true
	}
	return false
}

// record is rec with the schema of out; the caller releases it.
func (p *plain) record(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	if err := p.check(rec); err != nil {
		return nil, err
	}
	cols := make([]arrow.Array, rec.NumCols())
	for i := range cols {
		cols[i] = rec.Column(i)
		if d, ok := cols[i].(*array.Dictionary); ok && isText(d.Dictionary().DataType()) {
			cols[i] = decode(d)
		} else {
			cols[i].Retain()
		}
		defer cols[i].Release()
	}
	return array.NewRecordBatch(p.out, cols, rec.NumRows()), nil
}

func decode(d *array.Dictionary) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, d.Dictionary().DataType())
	defer b.Release()
	b.Reserve(d.Len())
	for i := range d.Len() {
		if isNull(d, i) {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case array.StringLikeBuilder:
			b.Append(d.Dictionary().(array.StringLike).Value(d.GetValueIndex(i)))
		case *array.BinaryBuilder:
			b.Append(d.Dictionary().(bytesArray).Value(d.GetValueIndex(i)))
		}
	}
	return b.NewArray()
}

// files writes Arrow's IPC formats and whatever a BatchWriter writes.
type files struct {
	plain
	w    io.Writer
	make func(w io.Writer, s *arrow.Schema) (BatchWriter, error)
	enc  BatchWriter
}

func (e *files) Begin(s *arrow.Schema) (err error) {
	if err := e.begin(s); err != nil {
		return err
	}
	e.enc, err = e.make(e.w, e.out)
	return err
}

func (e *files) Write(rec arrow.RecordBatch) error {
	r, err := e.record(rec)
	if err != nil {
		return err
	}
	defer r.Release()
	return e.enc.Write(r)
}

func (e *files) Close() error { return e.enc.Close() }

func ipcStream(w io.Writer, s *arrow.Schema) (BatchWriter, error) {
	return ipc.NewWriter(w, ipc.WithSchema(s)), nil
}

func ipcFile(w io.Writer, s *arrow.Schema) (BatchWriter, error) {
	return ipc.NewFileWriter(w, ipc.WithSchema(s))
}
