package manifest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// ListConfig of a manifest list. SchemaJSON and codec have defaults that fit the version.
type ListConfig struct {
	Version    int
	Snapshot   int64
	Parent     int64 // 0 = none
	Sequence   int64
	FirstRowID int64 // version 3
	Codec      string
}

// WriteList writes a manifest list.
func WriteList(w io.Writer, c ListConfig, files []File) error {
	header := map[string]string{"snapshot-id": strconv.FormatInt(c.Snapshot, 10), "parent-snapshot-id": "null", "format-version": strconv.Itoa(c.Version)}
	if c.Parent != 0 {
		header["parent-snapshot-id"] = strconv.FormatInt(c.Parent, 10)
	}
	if c.Version >= 2 {
		header["sequence-number"] = strconv.FormatInt(c.Sequence, 10)
	}
	if c.Version >= 3 {
		header["first-row-id"] = strconv.FormatInt(c.FirstRowID, 10)
	}
	out, err := avro.NewWriter(w, avro.WriterConfig{Schema: listSchema(c.Version), Meta: header, Codec: c.Codec})
	if err != nil {
		return err
	}
	var b []byte
	for i := range files {
		b = appendFile(b[:0], c.Version, &files[i])
		if err := out.Append(b); err != nil {
			return err
		}
	}
	return out.Close()
}

func appendFile(b []byte, version int, f *File) []byte {
	b = avro.AppendLong(avro.AppendLong(avro.AppendString(b, f.Path), f.Length), int64(f.SpecID))
	if version >= 2 {
		content := int64(0)
		if f.Deletes {
			content = 1
		}
		b = avro.AppendLong(avro.AppendLong(avro.AppendLong(b, content), f.Sequence), f.MinSequence)
	}
	b = avro.AppendLong(b, f.AddedSnapshot)
	for _, n := range []int64{f.AddedFiles, f.ExistingFiles, f.DeletedFiles, f.AddedRows, f.ExistingRows, f.DeletedRows} {
		if version == 1 {
			b = appendOptional(b, n)
		} else {
			b = avro.AppendLong(b, n)
		}
	}
	if f.Partitions == nil {
		b = avro.AppendLong(b, 0)
	} else {
		b = avro.AppendLong(b, 1)
		if len(f.Partitions) > 0 {
			b = avro.AppendLong(b, int64(len(f.Partitions)))
		}
		for _, s := range f.Partitions {
			b = avro.AppendBool(b, s.ContainsNull)
			if s.ContainsNaN == Unsaid {
				b = avro.AppendLong(b, 0)
			} else {
				b = avro.AppendBool(avro.AppendLong(b, 1), s.ContainsNaN == Yes)
			}
			b = appendOptionalBytes(appendOptionalBytes(b, s.Lower), s.Upper)
		}
		b = avro.AppendLong(b, 0)
	}
	b = avro.AppendLong(b, 0) // no key metadata: encryption is not written
	if version >= 3 {
		b = appendOptional(b, f.FirstRowID)
	}
	return b
}

func appendOptional(b []byte, n int64) []byte {
	if n < 0 {
		return avro.AppendLong(b, 0)
	}
	return avro.AppendLong(avro.AppendLong(b, 1), n)
}

func appendOptionalBytes(b, v []byte) []byte {
	if v == nil {
		return avro.AppendLong(b, 0)
	}
	return avro.AppendBytes(avro.AppendLong(b, 1), v)
}

// Written is an entry to be written. Numbers that are optional in the format are -1 when absent, maps nil.
type Written struct {
	Status       Status
	Snapshot     int64
	Sequence     int64 // -1 = inherited
	FileSequence int64 // -1 = inherited
	Content      Content
	Path         string
	Format       Format
	Partition    map[int]expr.Literal // by partition field id; the types are those of the spec
	Rows, Size   int64
	ColumnSizes  map[int]int64
	Values       map[int]int64
	Nulls        map[int]int64
	NaNs         map[int]int64
	Lower, Upper map[int][]byte
	KeyMetadata  []byte
	SplitOffsets []int64
	EqualityIDs  []int64
	SortOrder    int64
	FirstRowID   int64
	Referenced   string // empty = absent
	BlobOffset   int64
	BlobSize     int64
}

// NewFile is an added data file without metrics, with every optional number absent.
func NewFile(path string, rows, size int64) Written {
	return Written{Status: Added, Sequence: -1, FileSequence: -1, Path: path, Format: Parquet, Rows: rows, Size: size, SortOrder: -1, FirstRowID: -1, BlobOffset: -1, BlobSize: -1}
}

// WriterConfig of a manifest. Schema is the JSON of the table's schema, for the header.
type WriterConfig struct {
	Version    int
	Table      *meta.Metadata // gives the types of the partition's sources
	Spec       *meta.Spec
	SchemaJSON []byte
	Deletes    bool
	Codec      string
}

// Writer writes one manifest. It belongs to one goroutine.
type Writer struct {
	c         WriterConfig
	out       *avro.Writer
	bytes     *counter
	types     []arrow.DataType // of the spec's fields
	buf       []byte
	summaries []Summarizer
	file      File
	minSeq    int64 // -1 = none yet
	inherits  bool  // an added entry takes the manifest's sequence number
}

// counter counts what goes through.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

type specFieldJSON struct {
	Name      string `json:"name"`
	Transform string `json:"transform"`
	SourceID  int    `json:"source-id"`
	FieldID   int    `json:"field-id"`
}

// NewWriter writes the header of a manifest.
func NewWriter(w io.Writer, c WriterConfig) (*Writer, error) {
	out := &Writer{c: c, bytes: &counter{w: w}, minSeq: -1, file: File{SpecID: c.Spec.ID, Deletes: c.Deletes, FirstRowID: -1}}
	var fields []avroField
	header := []specFieldJSON{}
	named := map[string]bool{}
	for _, p := range c.Spec.Fields {
		t := PartitionType(c.Table, nil, p)
		if t == nil {
			return nil, &meta.UnsupportedError{Ability: "writing partitions of transform " + p.Transform.String(), Where: "partition field " + p.Name}
		}
		typ, err := partitionAvro(t)
		if err != nil {
			return nil, err
		}
		if l, ok := typ.(avroLogical); ok && l.Name != "" {
			if named[l.Name] { // a named type is defined once, then referred to
				typ = l.Name
			}
			named[l.Name] = true
		}
		out.types = append(out.types, t)
		out.summaries = append(out.summaries, Summarizer{Type: t})
		fields = append(fields, optional(p.FieldID, avroName(p.Name), typ))
		header = append(header, specFieldJSON{p.Name, p.Transform.String(), p.Sources[0], p.FieldID})
	}
	if fields == nil {
		fields = []avroField{}
	}
	spec, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	content := map[bool]string{false: "data", true: "deletes"}[c.Deletes]
	head := map[string]string{
		"schema": string(c.SchemaJSON), "partition-spec": string(spec), "partition-spec-id": strconv.Itoa(c.Spec.ID),
		"format-version": strconv.Itoa(c.Version),
	}
	if c.Version >= 2 {
		head["content"] = content
	} else if c.Deletes {
		return nil, fmt.Errorf("manifest: version 1 has no deletes")
	}
	out.out, err = avro.NewWriter(out.bytes, avro.WriterConfig{Schema: entrySchema(c.Version, fields), Meta: head, Codec: c.Codec})
	return out, err
}

// Append writes one entry.
func (w *Writer) Append(e *Written) error {
	if w.c.Deletes != (e.Content != Data) {
		return fmt.Errorf("manifest: %s of %s in the wrong kind of manifest", e.Path, e.Content)
	}
	var err error
	if w.buf, err = w.entry(w.buf[:0], e); err != nil {
		return err
	}
	w.count(e)
	return w.out.Append(w.buf)
}

func (w *Writer) count(e *Written) {
	f := &w.file
	files, rows := &f.AddedFiles, &f.AddedRows
	switch e.Status {
	case Existing:
		files, rows = &f.ExistingFiles, &f.ExistingRows
	case Deleted:
		files, rows = &f.DeletedFiles, &f.DeletedRows
	}
	*files++
	*rows += e.Rows
	for i, p := range w.c.Spec.Fields {
		w.summaries[i].Add(e.Partition[p.FieldID].Value)
	}
	switch {
	case e.Status == Deleted:
	case e.Sequence < 0:
		w.inherits = true
	case w.minSeq < 0 || e.Sequence < w.minSeq:
		w.minSeq = e.Sequence
	}
}

// Close ends the manifest, not the writer below.
func (w *Writer) Close() error { return w.out.Close() }

// File describes the manifest, once closed, for the list of the snapshot that adds it: added entries without a sequence
// number of their own get the snapshot's. FirstRowID is for the list's writer to set.
func (w *Writer) File(path string, snapshot, sequence int64) (File, error) {
	f := w.file
	f.Path, f.Length, f.AddedSnapshot = path, w.bytes.n, snapshot
	if w.c.Version >= 2 {
		f.Sequence, f.MinSequence = sequence, w.minSeq
		if w.minSeq < 0 || w.inherits && sequence < w.minSeq {
			f.MinSequence = sequence
		}
	}
	f.Partitions = make([]Summary, len(w.summaries))
	for i := range w.summaries {
		var err error
		if f.Partitions[i], err = w.summaries[i].Summary(); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (w *Writer) entry(b []byte, e *Written) ([]byte, error) {
	v := w.c.Version
	b = avro.AppendLong(b, int64(e.Status))
	if v == 1 {
		b = avro.AppendLong(b, e.Snapshot)
	} else {
		b = avro.AppendLong(avro.AppendLong(b, 1), e.Snapshot)
		b = appendOptional(appendOptional(b, e.Sequence), e.FileSequence)
		b = avro.AppendLong(b, int64(e.Content))
	}
	b = avro.AppendString(avro.AppendString(b, e.Path), formatName(e.Format))
	var err error
	for i, p := range w.c.Spec.Fields {
		if b, err = appendPartition(b, w.types[i], e.Partition[p.FieldID].Value); err != nil {
			return nil, err
		}
	}
	b = avro.AppendLong(avro.AppendLong(b, e.Rows), e.Size)
	if v == 1 {
		b = avro.AppendLong(b, 64<<20) // block_size_in_bytes, which nobody reads
	}
	for _, m := range []map[int]int64{e.ColumnSizes, e.Values, e.Nulls, e.NaNs} {
		b = appendPairs(b, m, avro.AppendLong)
	}
	b = appendPairs(appendPairs(b, e.Lower, avro.AppendBytes), e.Upper, avro.AppendBytes)
	b = appendList(appendOptionalBytes(b, e.KeyMetadata), e.SplitOffsets)
	if v >= 2 {
		b = appendList(b, e.EqualityIDs)
	}
	b = appendOptional(b, e.SortOrder)
	if v >= 3 {
		b = appendOptional(b, e.FirstRowID)
	}
	if v >= 2 {
		if e.Referenced == "" {
			b = avro.AppendLong(b, 0)
		} else {
			b = avro.AppendString(avro.AppendLong(b, 1), e.Referenced)
		}
	}
	if v >= 3 {
		b = appendOptional(appendOptional(b, e.BlobOffset), e.BlobSize)
	}
	return b, nil
}

func formatName(f Format) string {
	switch f {
	case ORC:
		return "ORC"
	case Avro:
		return "AVRO"
	case Puffin:
		return "PUFFIN"
	}
	return "PARQUET"
}

// appendPairs writes an optional map with integer keys, in their order.
func appendPairs[V any](b []byte, m map[int]V, value func([]byte, V) []byte) []byte {
	if m == nil {
		return avro.AppendLong(b, 0)
	}
	b = avro.AppendLong(b, 1)
	if len(m) > 0 {
		b = avro.AppendLong(b, int64(len(m)))
		for _, k := range slices.Sorted(maps.Keys(m)) {
			b = value(avro.AppendLong(b, int64(k)), m[k])
		}
	}
	return avro.AppendLong(b, 0)
}

func appendList(b []byte, list []int64) []byte {
	if list == nil {
		return avro.AppendLong(b, 0)
	}
	b = avro.AppendLong(b, 1)
	if len(list) > 0 {
		b = avro.AppendLong(b, int64(len(list)))
		for _, v := range list {
			b = avro.AppendLong(b, v)
		}
	}
	return avro.AppendLong(b, 0)
}
