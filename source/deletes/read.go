package deletes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/rowsel"
	"github.com/lakescan/lakescan/source/resolve"
)

const tailBytes int64 = 64 << 10 // first read of a file that is too large to fetch whole

// read hands the wanted columns of a delete file to each, batch by batch; a batch is valid during the call. pending is the
// file's first read if it was begun. A small file costs one request; of a large one the end is read, then row groups.
func (l *Loader) read(ctx context.Context, info object.Info, pending object.Pending, want *arrow.Schema, each func(arrow.RecordBatch) error) error {
	if pending == nil {
		pending = l.first(ctx, info)
	}
	for {
		b, got, err := pending.Await(ctx)
		if err != nil {
			pending.Release()
			return err
		}
		info.Size, info.ETag = max(got.Size, int64(len(b))), got.ETag
		_, missing, err := parquet.ParseFooter(b, info.Size, 0)
		if err == nil && missing == 0 {
			err = l.decode(ctx, want, info, b, each)
			pending.Release()
			return err
		}
		n := int64(len(b)) + missing
		pending.Release()
		if err != nil {
			return err
		}
		if n > info.Size {
			return corrupt("footer larger than the file")
		}
		pending = l.fetch(ctx, info, object.Range{Off: info.Size - n, Len: n})
	}
}

// decode reads all row groups. tail is the end of the file, or all of it.
func (l *Loader) decode(ctx context.Context, want *arrow.Schema, info object.Info, tail []byte, each func(arrow.RecordBatch) error) error {
	footer, missing, err := parquet.ParseFooter(tail, info.Size, 0)
	if err != nil {
		return err
	}
	if missing > 0 {
		return corrupt("footer cut short")
	}
	columns, err := plan(footer.Schema(), want)
	if err != nil {
		return err
	}
	reader, err := footer.Bind(columns, nil, parquet.Options{Allocator: l.cfg.Allocator, Decoded: l.account})
	if err != nil {
		return err
	}
	for rg := range footer.RowGroups() {
		if err := l.decodeGroup(ctx, reader, rg, info, pieces{{info.Size - int64(len(tail)), tail}}, each); err != nil {
			return err
		}
	}
	return nil
}

// plan finds the columns by id, or by name in a file without any id; each must be there.
func plan(file, want *arrow.Schema) ([]parquet.Column, error) {
	fields := make([]arrow.Field, want.NumFields())
	for i, f := range want.Fields() {
		f.Nullable = false // of the column: its values may be null
		if !hasIDs(file.Fields()) {
			f.Metadata = arrow.Metadata{}
		}
		fields[i] = f
	}
	p, err := resolve.New(file, resolve.Input{Want: arrow.NewSchema(fields, nil), FirstRowID: -1})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	for i := range p.Columns {
		p.Columns[i].Output.Nullable = true
	}
	return p.Columns, nil
}

func hasIDs(fields []arrow.Field) bool {
	for _, f := range fields {
		if _, ok := expr.FieldID(f); ok {
			return true
		}
	}
	return false
}

func (l *Loader) decodeGroup(ctx context.Context, r *parquet.Reader, rg int, info object.Info, have pieces, each func(arrow.RecordBatch) error) error {
	var pending []object.Pending
	defer func() {
		for _, p := range pending {
			p.Release()
		}
	}()
	var ranges []parquet.Range
	for _, part := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
		for _, g := range r.Ranges(rg, part, rowsel.Selection{}, parquet.Cost{GapBytes: spanGap, MaxBytes: spanMax}) {
			if g.Off < have[0].off { // not in the end that was read
				ranges = append(ranges, g)
				pending = append(pending, l.fetch(ctx, info, object.Range{Off: g.Off, Len: g.Len}))
			}
		}
	}
	for i, p := range pending {
		b, _, err := p.Await(ctx)
		if err != nil {
			return err
		}
		have = append(have, piece{ranges[i].Off, b})
	}
	units, err := r.Open(rg, rowsel.Selection{})
	if err != nil {
		return err
	}
	defer func() {
		for _, u := range units {
			u.Close()
		}
	}()
	for _, u := range units {
		if err := decodeUnit(ctx, u, have, each); err != nil {
			return err
		}
	}
	return nil
}

func decodeUnit(ctx context.Context, u *parquet.Unit, have pieces, each func(arrow.RecordBatch) error) error {
	defer u.Close()
	for _, part := range []parquet.Part{parquet.PartFilter, parquet.PartRest} {
		for _, c := range u.Columns(part) {
			if err := u.Decode(ctx, c, have); err != nil {
				return err
			}
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
		err = each(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
}

// pieces of a file that are at hand.
type pieces []piece

type piece struct {
	off int64
	b   []byte
}

// Slice implements parquet.Bytes.
func (p pieces) Slice(off, n int64) ([]byte, error) {
	for _, s := range p {
		if off >= s.off && n >= 0 && n <= int64(len(s.b))-(off-s.off) && off-s.off <= int64(len(s.b)) {
			return s.b[off-s.off : off-s.off+n], nil
		}
	}
	return nil, corrupt("bytes [%d, +%d) are not among those fetched", off, n)
}
