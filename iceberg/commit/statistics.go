package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/puffin"
	"github.com/lakescan/lakescan/object"
)

const mergeRounds = 5

// SetStatistics registers a Puffin file for a snapshot. A snapshot has one, and the last writer wins: so build is given the
// file that is registered now (nil = none), and makes one that carries its foreign blobs over (see CarryOver). After the
// commit the table is looked at again; if another writer has replaced the file, build is asked once more on top of that
// one. Files that were built and not registered in the end are deleted.
func (t *Table) SetStatistics(ctx context.Context, base *meta.Metadata, snapshot int64, build func(ctx context.Context, present *meta.StatisticsFile) (meta.StatisticsFile, error)) (*meta.Metadata, error) {
	var last error
	for range mergeRounds {
		present, err := statistics(base, snapshot)
		if err != nil {
			return nil, err
		}
		file, err := build(ctx, present)
		if err != nil {
			return nil, err
		}
		file.Snapshot = snapshot
		now, err := t.register(ctx, base, file)
		if err == nil {
			return now, nil
		}
		if unknown, ok := errors.AsType[*UnknownError](err); ok {
			unknown.Files = []string{file.Path}
			return nil, err
		}
		t.remove(ctx, []string{file.Path})
		if now == nil {
			return nil, err
		}
		base, last = now, err
	}
	return nil, fmt.Errorf("%w: %d times", last, mergeRounds)
}

// register commits the file and makes sure that it stayed. now is not nil if another writer's file is there instead.
func (t *Table) register(ctx context.Context, base *meta.Metadata, file meta.StatisticsFile) (now *meta.Metadata, err error) {
	rq := request{Requirements: []jsonMap{assertUUID(base)}, Updates: []jsonMap{{"action": "set-statistics", "snapshot-id": file.Snapshot, "statistics": statisticsJSON(file)}}}
	ours := func(m *meta.Metadata) bool {
		s, err := statistics(m, file.Snapshot)
		return err == nil && s != nil && s.Path == file.Path
	}
	if _, err = t.post(ctx, rq, outcome{landed: ours}); err != nil {
		return nil, err
	}
	if now, err = t.Backend.Load(ctx, t.Ident, true); err != nil {
		// Registered; whether it stayed cannot be seen.
		return nil, &UnknownError{Ident: t.Ident, Err: err}
	}
	if !ours(now) {
		return now, fmt.Errorf("%w: another statistics file was registered for snapshot %d", meta.ErrConflict, file.Snapshot)
	}
	return now, nil
}

// statistics is the file registered for a snapshot, nil = none.
func statistics(m *meta.Metadata, snapshot int64) (*meta.StatisticsFile, error) {
	list, err := m.Statistics()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Snapshot == snapshot {
			return &list[i], nil
		}
	}
	return nil, nil
}

func statisticsJSON(s meta.StatisticsFile) jsonMap {
	blobs := make([]jsonMap, len(s.Blobs))
	for i, b := range s.Blobs {
		fields := b.Fields
		if fields == nil {
			fields = []int{}
		}
		blobs[i] = jsonMap{"type": b.Type, "snapshot-id": b.Snapshot, "sequence-number": b.Sequence, "fields": fields}
		if len(b.Properties) > 0 {
			blobs[i]["properties"] = b.Properties
		}
	}
	return jsonMap{"snapshot-id": s.Snapshot, "statistics-path": s.Path, "file-size-in-bytes": s.Size, "file-footer-size-in-bytes": s.FooterSize, "blob-metadata": blobs}
}

// Describe is what a table says of a Puffin file that was written to a path.
func Describe(path string, f *puffin.File) meta.StatisticsFile {
	out := meta.StatisticsFile{Path: path, Size: f.Size, FooterSize: f.FooterSize}
	for _, b := range f.Blobs {
		out.Blobs = append(out.Blobs, meta.StatisticsBlob{Type: b.Type, Snapshot: b.Snapshot, Sequence: b.Sequence, Fields: slices.Clone(b.Fields), Properties: maps.Clone(b.Properties)})
	}
	return out
}

const footerTail = 64 << 10

// CarryOver copies blobs of a registered file into a new one, byte for byte, whatever they are. keep chooses; nil file = none.
func (t *Table) CarryOver(ctx context.Context, file *meta.StatisticsFile, w *puffin.Writer, keep func(puffin.Blob) bool) error {
	if file == nil {
		return nil
	}
	loc, err := object.ParseLocation(file.Path)
	if err != nil {
		return err
	}
	opts := object.ReadOptions{Size: file.Size}
	read := func(r object.Range) ([]byte, error) {
		b, info, err := t.Store.Read(ctx, loc, r, nil, opts)
		opts.ETag = info.ETag // all reads are of one object
		return b, err
	}
	var f *puffin.File
	for n := min(max(file.FooterSize, footerTail), file.Size); f == nil; {
		tail, err := read(object.Range{Off: file.Size - n, Len: n})
		if err != nil {
			return err
		}
		parsed, missing, err := puffin.ParseFooter(tail, file.Size)
		if err != nil {
			return fmt.Errorf("statistics file %s: %w", file.Path, err)
		}
		if n += missing; n > file.Size {
			return meta.Invalidf(file.Path, "footer larger than the file")
		}
		if missing == 0 {
			f = parsed
		}
	}
	for _, b := range f.Blobs {
		if !keep(b) {
			continue
		}
		var stored []byte
		if b.Length > 0 {
			if stored, err = read(object.Range{Off: b.Offset, Len: b.Length}); err != nil {
				return err
			}
		}
		if _, err := w.AddStored(b, stored); err != nil {
			return err
		}
	}
	return nil
}

// SetProperties sets and removes properties of the table.
func (t *Table) SetProperties(ctx context.Context, base *meta.Metadata, set map[string]string, remove ...string) (*meta.Metadata, error) {
	rq := request{Requirements: []jsonMap{assertUUID(base)}, Updates: []jsonMap{}}
	if len(set) > 0 {
		rq.Updates = append(rq.Updates, setProperties(set))
	}
	if len(remove) > 0 {
		rq.Updates = append(rq.Updates, jsonMap{"action": "remove-properties", "removals": remove})
	}
	if len(rq.Updates) == 0 {
		return base, nil
	}
	landed := func(m *meta.Metadata) bool {
		for k, v := range set {
			if m.Properties[k] != v {
				return false
			}
		}
		return !slices.ContainsFunc(remove, func(k string) bool { _, still := m.Properties[k]; return still })
	}
	return t.post(ctx, rq, outcome{landed: landed})
}
