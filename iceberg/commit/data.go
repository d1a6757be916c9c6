package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// DataFile is a Parquet file that has been written and committed to the store. Metrics are by field id; a map may be nil.
// Bounds are in the single-value form of the specification, whole: those of text and bytes are cut here.
type DataFile struct {
	Path         string
	Rows, Size   int64
	Partition    map[int]expr.Literal // by partition field id of the table's default spec
	ColumnSizes  map[int]int64
	Values       map[int]int64
	Nulls        map[int]int64
	NaNs         map[int]int64
	Lower, Upper map[int][]byte
	SplitOffsets []int64
	SortOrder    int // id of the table's order that the rows are in; 0 = unsorted
}

// manifests writes what a commit needs and remembers it, so that a second round writes only what changed.
type manifests struct {
	t         *Table
	snapshot  int64
	added     []DataFile
	remove    map[string]bool // paths; nil = none
	removeAll bool

	run       string                   // a name for this commit's files
	written   []string                 // locations of everything written
	own       *manifest.File           // of the added files
	rewritten map[string]rewritten     // by the manifest's path
	contents  map[string]*manifestInfo // read manifests, by path
	deletes   map[string]bool          // delete manifests of the first base
}

type rewritten struct {
	file    manifest.File
	removed removed
}

// removed counts what a commit takes out.
type removed struct{ files, rows, bytes int64 }

func (r *removed) add(o removed) { r.files += o.files; r.rows += o.rows; r.bytes += o.bytes }

// manifestInfo is what is kept of a manifest that has been read: its bytes, and which files it holds.
type manifestInfo struct {
	data []byte
	live []string
}

func newManifests(t *Table, c Change, snapshot int64) *manifests {
	m := &manifests{t: t, snapshot: snapshot, added: c.Add, removeAll: c.RemoveAll, run: uuid.NewString(), rewritten: map[string]rewritten{}, contents: map[string]*manifestInfo{}}
	if len(c.Remove) > 0 {
		m.remove = map[string]bool{}
		for _, p := range c.Remove {
			m.remove[p] = true
		}
	}
	return m
}

// folder of the table's metadata.
func folder(m *meta.Metadata) string {
	if p := m.Properties["write.metadata.path"]; p != "" {
		return strings.TrimRight(p, "/")
	}
	return strings.TrimRight(m.Location, "/") + "/metadata"
}

// put writes one object.
func (m *manifests) put(ctx context.Context, location string, b []byte) error {
	loc, err := object.ParseLocation(location)
	if err != nil {
		return err
	}
	m.written = append(m.written, location) // before the write: a failed one may have landed
	return m.t.put(ctx, loc, b)
}

// listed is a manifest list that has been written.
type listed struct {
	location string
	gone     removed
	rowIDs   int64 // version 3: how many it assigned, from the table's next one on
}

// list writes the manifest list of a snapshot on top of base, and the manifests that it needs. sequence is the snapshot's.
func (m *manifests) list(ctx context.Context, base *meta.Metadata, sequence int64, round int) (l listed, err error) {
	files, err := m.t.manifestsOf(ctx, base)
	if err != nil {
		return l, err
	}
	if m.deletes == nil { // of the table that the change was made for
		m.deletes = map[string]bool{}
		for _, f := range files {
			m.deletes[f.Path] = m.deletes[f.Path] || f.Deletes
		}
	}
	if m.remove != nil || m.removeAll {
		if err := m.vectorsStay(base, files); err != nil {
			return l, err
		}
		if files, l.gone, err = m.takeOut(ctx, base, files); err != nil {
			return l, err
		}
	}
	if len(m.added) > 0 {
		if m.own == nil {
			if m.own, err = m.writeAdded(ctx, base); err != nil {
				return l, err
			}
		}
		own := *m.own
		own.Sequence, own.MinSequence = sequence, sequence
		files = append([]manifest.File{own}, files...)
	}
	for i := range files {
		if files[i].Sequence < 0 { // rewritten by this commit
			files[i].Sequence = sequence
		}
	}
	if base.FormatVersion >= 3 {
		l.rowIDs = assignRowIDs(files, base.NextRowID)
	}
	parent, _ := head(base)
	var b bytes.Buffer
	cfg := manifest.ListConfig{Version: base.FormatVersion, Snapshot: m.snapshot, Parent: parent, Sequence: sequence, FirstRowID: max(base.NextRowID, 0), Codec: "deflate"}
	if err := manifest.WriteList(&b, cfg, files); err != nil {
		return l, err
	}
	l.location = fmt.Sprintf("%s/snap-%d-%d-%s.avro", folder(base), m.snapshot, round, m.run)
	return l, m.put(ctx, l.location, b.Bytes())
}

// assignRowIDs gives a first row id to each manifest of data without one (specification, "First Row ID Assignment"): new ones, and those
// of a table that was of version 2. It returns how many ids that takes: those of files which have their own are passed over.
func assignRowIDs(files []manifest.File, next int64) (taken int64) {
	for i := range files {
		if f := &files[i]; !f.Deletes && f.FirstRowID < 0 {
			f.FirstRowID = next + taken
			taken += f.ExistingRows + f.AddedRows
		}
	}
	return taken
}

// vectorsStay refuses to take single files out of a table of version 3 that has deletes: a deletion vector must not outlive its file.
func (m *manifests) vectorsStay(base *meta.Metadata, files []manifest.File) error {
	if base.FormatVersion < 3 || m.removeAll {
		return nil
	}
	for _, f := range files {
		if f.Deletes && !f.NoLiveFiles() {
			return unsupported("replacing files of a table of format version 3 that has deletes", m.t.Ident)
		}
	}
	return nil
}

// writeAdded writes the manifest of the added files. Their sequence numbers are null, inherited from the list that names the
// manifest, so it stays good when the commit is tried again.
func (m *manifests) writeAdded(ctx context.Context, base *meta.Metadata) (*manifest.File, error) {
	spec := base.Spec(base.DefaultSpecID)
	if spec == nil {
		return nil, meta.Invalidf(base.File, "no default partition spec")
	}
	f := &manifest.File{SpecID: spec.ID, AddedSnapshot: m.snapshot, FirstRowID: -1}
	tuples := make([]map[int]expr.Literal, len(m.added))
	err := m.write(ctx, base, spec, f, func(w *manifest.Writer) error {
		for i, d := range m.added {
			e := manifest.NewFile(d.Path, d.Rows, d.Size)
			e.Snapshot, e.Partition, e.SplitOffsets, e.SortOrder = m.snapshot, d.Partition, d.SplitOffsets, int64(d.SortOrder)
			e.ColumnSizes, e.Values, e.Nulls, e.NaNs = d.ColumnSizes, d.Values, d.Nulls, d.NaNs
			e.Lower, e.Upper = cutBounds(d.Lower, d.Upper, base.Field)
			tuples[i] = d.Partition
			f.AddedFiles++
			f.AddedRows += d.Rows
			if err := w.Append(&e); err != nil {
				return err
			}
		}
		return nil
	})
	f.Partitions = summaries(base, spec, tuples)
	return f, err
}

// write makes one manifest out of what fill appends, and sets f's path and length.
func (m *manifests) write(ctx context.Context, base *meta.Metadata, spec *meta.Spec, f *manifest.File, fill func(*manifest.Writer) error) error {
	schema := base.Current()
	if schema == nil {
		return meta.Invalidf(base.File, "no current schema")
	}
	text, err := SchemaJSON(schema)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := manifest.NewWriter(&b, manifest.WriterConfig{Version: base.FormatVersion, Table: base, Spec: spec, SchemaJSON: text, Codec: "deflate"})
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	f.Path = fmt.Sprintf("%s/%s-m%d.avro", folder(base), m.run, len(m.written))
	f.Length = int64(b.Len())
	return m.put(ctx, f.Path, b.Bytes())
}

// takeOut replaces the manifests that hold files to be removed. Every such file must still be live.
func (m *manifests) takeOut(ctx context.Context, base *meta.Metadata, files []manifest.File) ([]manifest.File, removed, error) {
	var total removed
	found := map[string]bool{}
	out := make([]manifest.File, 0, len(files))
	for _, f := range files {
		if f.Deletes && !m.removeAll || f.NoLiveFiles() {
			out = append(out, f)
			continue
		}
		if f.Deletes { // all data goes, and its deletes with it
			continue
		}
		info, err := m.read(ctx, base, f)
		if err != nil {
			return nil, total, err
		}
		hit := false
		for _, p := range info.live {
			if m.removeAll || m.remove[p] {
				hit, found[p] = true, true
			}
		}
		if !hit {
			out = append(out, f)
			continue
		}
		r, done := m.rewritten[f.Path]
		if !done {
			if r, err = m.rewrite(ctx, base, f, info); err != nil {
				return nil, total, err
			}
			m.rewritten[f.Path] = r
		}
		out = append(out, r.file)
		total.add(r.removed)
	}
	for _, p := range slices.Sorted(maps.Keys(m.remove)) {
		if !found[p] {
			return nil, total, fmt.Errorf("%w: file %s is no longer in the table", ErrStale, p)
		}
	}
	return out, total, nil
}

func (m *manifests) read(ctx context.Context, base *meta.Metadata, f manifest.File) (*manifestInfo, error) {
	if info := m.contents[f.Path]; info != nil {
		return info, nil
	}
	data, err := m.t.get(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	info := &manifestInfo{data: data}
	err = each(base, nil, data, f, func(e *manifest.Entry) error {
		info.live = append(info.live, string(e.Path))
		return nil
	})
	if err == nil {
		m.contents[f.Path] = info
	}
	return info, err
}

// each calls do for the live entries of a manifest.
func each(base *meta.Metadata, metrics []int, data []byte, f manifest.File, do func(*manifest.Entry) error) error {
	r, err := manifest.NewDecoder(base, manifest.Projection{Metrics: metrics, EachSize: metrics}).Open(data, &f, nil)
	if err != nil {
		return err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(e)
		}
		if err != nil {
			return err
		}
	}
}

// rewrite copies a manifest: removed files become DELETED entries, the others EXISTING ones, all with explicit numbers.
func (m *manifests) rewrite(ctx context.Context, base *meta.Metadata, f manifest.File, info *manifestInfo) (rewritten, error) {
	var r rewritten
	spec := base.Spec(f.SpecID)
	if spec == nil {
		return r, meta.Invalidf(f.Path, "partition spec %d is not in the table", f.SpecID)
	}
	// The sequence number is the new snapshot's, put in by list.
	r.file = manifest.File{SpecID: f.SpecID, AddedSnapshot: m.snapshot, Sequence: -1, MinSequence: -1, FirstRowID: -1}
	ids := fieldIDs(base)
	var tuples []map[int]expr.Literal
	err := m.write(ctx, base, spec, &r.file, func(w *manifest.Writer) error {
		return each(base, ids, info.data, f, func(e *manifest.Entry) error {
			out, err := copyEntry(e, ids)
			if err != nil {
				return err
			}
			tuples = append(tuples, out.Partition)
			if m.removeAll || m.remove[out.Path] {
				out.Status, out.Snapshot = manifest.Deleted, m.snapshot
				r.removed.add(removed{1, out.Rows, max(out.Size, 0)})
				r.file.DeletedFiles++
				r.file.DeletedRows += out.Rows
			} else {
				r.file.ExistingFiles++
				r.file.ExistingRows += out.Rows
				if r.file.MinSequence < 0 || out.Sequence < r.file.MinSequence {
					r.file.MinSequence = out.Sequence // of live files
				}
			}
			return w.Append(out)
		})
	})
	r.file.MinSequence = max(r.file.MinSequence, 0)
	r.file.Partitions = summaries(base, spec, tuples)
	return r, err
}

// copyEntry makes a written entry of one that was read with metrics of all ids.
func copyEntry(e *manifest.Entry, ids []int) (*manifest.Written, error) {
	if e.Encrypted {
		return nil, &meta.UnsupportedError{Ability: "rewriting entries of encrypted files", Where: string(e.Path)}
	}
	partition, err := e.Partition()
	if err != nil {
		return nil, err
	}
	out := manifest.NewFile(string(e.Path), e.Rows, e.Size)
	out.Status, out.Snapshot, out.Sequence, out.FileSequence = manifest.Existing, e.Snapshot, e.Sequence, e.FileSequence
	out.Content, out.Format, out.Partition, out.SortOrder, out.FirstRowID = e.Content, e.Format, partition, int64(e.SortOrder), e.FirstRowID
	out.ColumnSizes, out.Values, out.Nulls, out.NaNs = map[int]int64{}, map[int]int64{}, map[int]int64{}, map[int]int64{}
	out.Lower, out.Upper = map[int][]byte{}, map[int][]byte{}
	for i, id := range ids {
		k := e.Metric(i)
		for _, c := range []struct {
			to map[int]int64
			v  int64
		}{{out.ColumnSizes, e.ColumnSize(i)}, {out.Values, k.Values}, {out.Nulls, k.Nulls}, {out.NaNs, k.NaNs}} {
			if c.v >= 0 {
				c.to[id] = c.v
			}
		}
		if k.Lower != nil {
			out.Lower[id] = bytes.Clone(k.Lower)
		}
		if k.Upper != nil {
			out.Upper[id] = bytes.Clone(k.Upper)
		}
	}
	return &out, nil
}

// fieldIDs of all schemas of the table, at every depth: metrics of dropped columns are kept too.
func fieldIDs(m *meta.Metadata) []int {
	ids := map[int]bool{}
	var walk func([]meta.Field)
	walk = func(fields []meta.Field) {
		for _, f := range fields {
			ids[f.ID] = true
			walk(f.Type.Fields)
		}
	}
	for _, s := range m.Schemas {
		walk(s.Fields)
	}
	return slices.Sorted(maps.Keys(ids))
}
