package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// field of a table's schema.
type field struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Type     string `json:"type"`
}

// builder writes an unpartitioned table of format version 2 into a folder. Locations are recorded below base, which may be
// another name for the folder: that of a bucket which serves it.
type builder struct {
	dir, base string
	fields    []field
	table     *meta.Metadata
	schema    []byte // JSON
	snapshots []map[string]any
	current   []manifest.File
	manifests int
}

func newBuilder(dir, base string, fields []field) (*builder, error) {
	b := &builder{dir: dir, base: base, fields: fields}
	if err := os.MkdirAll(filepath.Join(dir, "metadata"), 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return nil, err
	}
	var err error
	if b.schema, err = json.Marshal(b.schemaJSON()); err != nil {
		return nil, err
	}
	doc, err := b.document()
	if err != nil {
		return nil, err
	}
	b.table, err = meta.Parse(doc, "builder")
	return b, err
}

func (b *builder) schemaJSON() map[string]any {
	return map[string]any{"type": "struct", "schema-id": 0, "fields": b.fields}
}

// put writes a file of the table and returns its recorded location.
func (b *builder) put(name string, data []byte) (string, error) {
	return b.base + "/" + name, os.WriteFile(filepath.Join(b.dir, name), data, 0o644)
}

func (b *builder) sequence() int64 { return int64(len(b.snapshots) + 1) }

// manifest writes one for the snapshot that is committed next.
func (b *builder) manifest(deletes bool, entries []manifest.Written) (manifest.File, error) {
	b.manifests++
	name := fmt.Sprintf("metadata/m%05d.avro", b.manifests)
	var out bytes.Buffer
	w, err := manifest.NewWriter(&out, manifest.WriterConfig{Version: 2, Table: b.table, Spec: b.table.Spec(0), SchemaJSON: b.schema, Deletes: deletes, Codec: "deflate"})
	if err != nil {
		return manifest.File{}, err
	}
	for i := range entries {
		entries[i].Snapshot = b.sequence()
		if err := w.Append(&entries[i]); err != nil {
			return manifest.File{}, err
		}
	}
	if err := w.Close(); err != nil {
		return manifest.File{}, err
	}
	f, err := w.File(b.base+"/"+name, b.sequence(), b.sequence())
	if err != nil {
		return f, err
	}
	_, err = b.put(name, out.Bytes())
	return f, err
}

// commit adds a snapshot with these manifests before those of the last one.
func (b *builder) commit(operation string, files ...manifest.File) error {
	id := b.sequence()
	b.current = append(files, b.current...)
	var out bytes.Buffer
	if err := manifest.WriteList(&out, manifest.ListConfig{Version: 2, Snapshot: id, Parent: id - 1, Sequence: id, Codec: "deflate"}, b.current); err != nil {
		return err
	}
	list, err := b.put(fmt.Sprintf("metadata/snap-%d.avro", id), out.Bytes())
	if err != nil {
		return err
	}
	b.add(id, operation, list)
	return nil
}

// add records a snapshot.
func (b *builder) add(id int64, operation, list string) {
	s := map[string]any{
		"snapshot-id": id, "sequence-number": id, "timestamp-ms": 1_700_000_000_000 + id*1000, "manifest-list": list, "schema-id": 0,
		"summary": map[string]string{
			"operation": operation, "added-data-files": "1", "added-records": "100000", "total-data-files": fmt.Sprint(id),
			"total-records": fmt.Sprint(id * 100000), "engine-name": "planbench", "engine-version": "1",
		},
	}
	if id > 1 {
		s["parent-snapshot-id"] = id - 1
	}
	b.snapshots = append(b.snapshots, s)
}

func (b *builder) document() ([]byte, error) {
	doc := map[string]any{
		"format-version": 2, "table-uuid": "3b4c1c2e-5a0f-4b43-a1d0-0c6f1e9c7a11", "location": b.base, "last-updated-ms": 1_800_000_000_000,
		"last-column-id": len(b.fields), "schemas": []any{b.schemaJSON()}, "current-schema-id": 0,
		"partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{}}}, "default-spec-id": 0, "last-partition-id": 999,
		"sort-orders": []any{map[string]any{"order-id": 0, "fields": []any{}}}, "default-sort-order-id": 0,
		"last-sequence-number": len(b.snapshots), "properties": map[string]string{}, "snapshots": b.snapshots,
	}
	if n := len(b.snapshots); n > 0 {
		id := b.snapshots[n-1]["snapshot-id"]
		doc["current-snapshot-id"] = id
		doc["refs"] = map[string]any{"main": map[string]any{"snapshot-id": id, "type": "branch"}}
		var log []any
		for _, s := range b.snapshots {
			log = append(log, map[string]any{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]})
		}
		doc["snapshot-log"] = log
	} else {
		doc["snapshots"] = []any{}
	}
	return json.Marshal(doc)
}

// metadataName is the metadata file's place below the table's folder.
const metadataName = "metadata/v1.metadata.json"

// save writes the metadata file and returns its recorded location.
func (b *builder) save() (string, error) {
	doc, err := b.document()
	if err != nil {
		return "", err
	}
	return b.put(metadataName, doc)
}
