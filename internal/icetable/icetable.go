// Package icetable builds Iceberg tables in memory for tests: metadata, manifest lists and manifests with any entries, also
// such as no writer of sense would make. Data files are named, not made. It belongs to one goroutine.
package icetable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
)

// Field is a column in a schema; Type is a type's text, or a nested type's JSON value.
type Field struct {
	ID       int             `json:"id"`
	Name     string          `json:"name"`
	Required bool            `json:"required"`
	Type     any             `json:"type"`
	Initial  json.RawMessage `json:"initial-default,omitempty"`
}

// PartitionField is a field of a spec.
type PartitionField struct {
	Source    int    `json:"source-id"`
	ID        int    `json:"field-id"`
	Name      string `json:"name"`
	Transform string `json:"transform"`
}

// Location is where every table lies.
const Location = "s3://bucket/table"

// Table under construction. The exported fields may be set before Save.
type Table struct {
	Version    int
	Schemas    [][]Field // schema ids are indexes; the last is current
	Specs      [][]PartitionField
	Properties map[string]string
	Refs       map[string]any
	Extra      map[string]any // members of the document, set last
	Store      *mem.Store
	Codec      string // of manifests and lists

	snapshots []map[string]any
	current   []manifest.File
	sequence  int64
	nextRow   int64
	names     int
	tb        testing.TB
}

// New makes a table of one schema, without partitions.
func New(tb testing.TB, version int, fields ...Field) *Table {
	return &Table{Version: version, Schemas: [][]Field{fields}, Specs: [][]PartitionField{{}}, Store: mem.New(), tb: tb}
}

// Manifest is one to be written. Sequence numbers of entries are as given: -1 inherits.
type Manifest struct {
	Spec    int
	Deletes bool
	Entries []manifest.Written
	// Change is applied to the description that goes into the list.
	Change func(*manifest.File)
}

// Metadata parses the document as it stands.
func (t *Table) Metadata() *meta.Metadata {
	t.tb.Helper()
	m, err := meta.Parse(t.document(), Location+"/metadata/test.metadata.json")
	if err != nil {
		t.tb.Fatal(err)
	}
	return m
}

// Data makes an added data file of a partition of literals by field id.
func Data(path string, rows int64, partition map[int]expr.Literal) manifest.Written {
	w := manifest.NewFile(path, rows, 1000)
	w.Partition = partition
	return w
}

// Tuple makes a partition of values by field id; the types follow from the spec.
func Tuple(pairs ...any) map[int]expr.Literal {
	out := map[int]expr.Literal{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(int)] = expr.Literal{Value: pairs[i+1]}
	}
	return out
}

// Commit adds a snapshot with these manifests before those of the last one, and returns its id. Ids count from 1, as do
// sequence numbers from version 2 on.
func (t *Table) Commit(operation string, manifests ...Manifest) int64 {
	t.tb.Helper()
	t.sequence++
	var files []manifest.File
	for _, m := range manifests {
		files = append(files, t.write(m))
	}
	return t.CommitFiles(operation, append(files, t.current...))
}

// CommitFiles adds a snapshot with exactly these manifests; Commit's sequence number has been taken already.
func (t *Table) CommitFiles(operation string, files []manifest.File) int64 {
	t.tb.Helper()
	id := int64(len(t.snapshots) + 1)
	first := t.nextRow
	for i := range files {
		if f := &files[i]; t.Version >= 3 && !f.Deletes && f.FirstRowID < 0 {
			f.FirstRowID = t.nextRow
			t.nextRow += max(f.AddedRows, 0) + max(f.ExistingRows, 0)
		}
	}
	var out bytes.Buffer
	if err := manifest.WriteList(&out, manifest.ListConfig{Version: t.Version, Snapshot: id, Parent: id - 1, Sequence: t.sequence, FirstRowID: first, Codec: t.Codec}, files); err != nil {
		t.tb.Fatal(err)
	}
	path := fmt.Sprintf("%s/metadata/snap-%d.avro", Location, id)
	t.Store.Put(path, out.Bytes())
	s := map[string]any{"snapshot-id": id, "timestamp-ms": 1000 * id, "manifest-list": path, "summary": map[string]string{"operation": operation}, "schema-id": len(t.Schemas) - 1}
	if t.Version >= 2 {
		s["sequence-number"] = t.sequence
	}
	if id > 1 {
		s["parent-snapshot-id"] = id - 1
	}
	if t.Version >= 3 {
		s["first-row-id"], s["added-rows"] = first, t.nextRow-first
	}
	t.snapshots = append(t.snapshots, s)
	t.current = files
	return id
}

// Drop writes the manifests of the last snapshot anew without the files of these paths, and its list with them: live files
// become existing ones with explicit numbers.
func (t *Table) Drop(gone map[string]bool) {
	t.tb.Helper()
	table := t.Metadata()
	var kept []manifest.File
	for _, f := range t.current {
		if f, ok := t.without(table, f, gone); ok {
			kept = append(kept, f)
		}
	}
	t.current = kept
	s := t.Snapshot()
	var out bytes.Buffer
	if err := manifest.WriteList(&out, manifest.ListConfig{Version: t.Version, Snapshot: s["snapshot-id"].(int64), Sequence: t.sequence, Codec: t.Codec}, kept); err != nil {
		t.tb.Fatal(err)
	}
	t.Store.Put(s["manifest-list"].(string), out.Bytes())
}

func (t *Table) without(table *meta.Metadata, f manifest.File, gone map[string]bool) (manifest.File, bool) {
	t.tb.Helper()
	loc, err := object.ParseLocation(f.Path)
	if err != nil {
		t.tb.Fatal(err)
	}
	data, _, err := t.Store.Read(t.tb.Context(), loc, object.Whole, nil, object.ReadOptions{})
	if err != nil {
		t.tb.Fatal(err)
	}
	r, err := manifest.NewDecoder(table, manifest.Projection{}).Open(data, &f, nil)
	if err != nil {
		t.tb.Fatal(err)
	}
	m, dropped := Manifest{Spec: f.SpecID, Deletes: f.Deletes}, false
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.tb.Fatal(err)
		}
		if gone[string(e.Path)] {
			dropped = true
			continue
		}
		partition, err := e.Partition()
		if err != nil {
			t.tb.Fatal(err)
		}
		m.Entries = append(m.Entries, manifest.Written{
			Status: manifest.Existing, Snapshot: e.Snapshot, Sequence: e.Sequence, FileSequence: e.FileSequence,
			Content: e.Content, Path: string(e.Path), Format: e.Format, Partition: partition, Rows: e.Rows, Size: e.Size, EqualityIDs: append([]int64(nil), e.EqualityIDs...),
			SortOrder: -1, FirstRowID: e.FirstRowID, Referenced: string(e.Referenced), BlobOffset: e.BlobOffset, BlobSize: e.BlobSize,
		})
	}
	if !dropped {
		return f, true
	}
	if len(m.Entries) == 0 {
		return f, false
	}
	out := t.write(m)
	out.FirstRowID = f.FirstRowID
	return out, true
}

// Files are the manifests of the last snapshot.
func (t *Table) Files() []manifest.File { return t.current }

// Snapshot is the last snapshot's JSON value, to be changed before Save.
func (t *Table) Snapshot() map[string]any { return t.snapshots[len(t.snapshots)-1] }

func (t *Table) write(m Manifest) manifest.File {
	t.tb.Helper()
	t.names++
	path := fmt.Sprintf("%s/metadata/m%d.avro", Location, t.names)
	table := t.Metadata()
	schema, err := json.Marshal(map[string]any{"type": "struct", "schema-id": len(t.Schemas) - 1, "fields": t.Schemas[len(t.Schemas)-1]})
	if err != nil {
		t.tb.Fatal(err)
	}
	var out bytes.Buffer
	w, err := manifest.NewWriter(&out, manifest.WriterConfig{Version: t.Version, Table: table, Spec: table.Spec(m.Spec), SchemaJSON: schema, Deletes: m.Deletes, Codec: t.Codec})
	if err != nil {
		t.tb.Fatal(err)
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Snapshot == 0 {
			e.Snapshot = int64(len(t.snapshots) + 1)
		}
		if err := w.Append(e); err != nil {
			t.tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.tb.Fatal(err)
	}
	f, err := w.File(path, int64(len(t.snapshots)+1), t.sequence)
	if err != nil {
		t.tb.Fatal(err)
	}
	t.Store.Put(path, out.Bytes())
	if m.Change != nil {
		m.Change(&f)
	}
	return f
}

func (t *Table) document() []byte {
	t.tb.Helper()
	var schemas, specs []any
	for i, fields := range t.Schemas {
		schemas = append(schemas, map[string]any{"type": "struct", "schema-id": i, "fields": fields})
	}
	for i, fields := range t.Specs {
		specs = append(specs, map[string]any{"spec-id": i, "fields": fields})
	}
	doc := map[string]any{
		"format-version": t.Version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": Location, "last-updated-ms": 1,
		"last-column-id": 1000, "schemas": schemas, "current-schema-id": len(schemas) - 1, "partition-specs": specs, "default-spec-id": len(specs) - 1,
		"last-partition-id": 2000, "last-sequence-number": t.sequence, "properties": t.Properties, "snapshots": t.snapshots,
	}
	if n := len(t.snapshots); n > 0 {
		doc["current-snapshot-id"] = t.snapshots[n-1]["snapshot-id"]
		var log []any
		for _, s := range t.snapshots {
			log = append(log, map[string]any{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]})
		}
		doc["snapshot-log"] = log
	}
	if t.Refs != nil {
		doc["refs"] = t.Refs
	}
	if t.Version >= 3 {
		doc["next-row-id"] = t.nextRow
	}
	for k, v := range t.Extra {
		doc[k] = v
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.tb.Fatal(err)
	}
	return out
}

// Save writes the metadata file and returns its location.
func (t *Table) Save() string {
	t.tb.Helper()
	path := Location + "/metadata/v1.metadata.json"
	t.Store.Put(path, t.document())
	return path
}

// Bound is the binary form of a bound.
func Bound(t arrow.DataType, v any) []byte {
	b, err := manifest.AppendValue([]byte{}, t, v)
	if err != nil {
		panic(err)
	}
	return b
}
