package icebergtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
)

// Table is a table in the making. Its fields may be changed between commits.
type Table struct {
	Location   string
	Version    int
	Properties map[string]string
	Store      *mem.Store // holds every object of the table

	// Hooks see what is about to be encoded; nil = none.
	EditManifest func(deletes bool, a *Avro)
	EditList     func(a *Avro)
	EditMetadata func(doc map[string]any)

	t         testing.TB
	schemas   []map[string]any
	specs     [][]PartitionField
	snapshots []map[string]any
	manifests []map[string]any // of the current snapshot
	sequence  int64
	nextRow   int64
	objects   int
	saved     int
}

// PartitionField of a spec. Avro is its type in manifests, such as `"int"`.
type PartitionField struct {
	ID, Source      int
	Name, Transform string
	Avro            string
}

// Contents of files.
const (
	Data            = 0
	PositionDeletes = 1
	EqualityDeletes = 2
)

// Reserved columns of position-delete files.
var (
	DeletePath = Field(2147483546, "file_path", arrow.BinaryTypes.String)
	DeletePos  = Field(2147483545, "pos", arrow.PrimitiveTypes.Int64)
)

// Field is an optional column with an id; 0 = none.
func Field(id int, name string, typ arrow.DataType) arrow.Field {
	f := arrow.Field{Name: name, Type: typ, Nullable: true}
	if id != 0 {
		f = expr.WithFieldID(f, id)
	}
	return f
}

// File is an entry of a manifest.
type File struct {
	Content     int
	Path        string
	Format      string // "" = PARQUET
	Spec        int
	Partition   map[string]any // by partition field name
	Rows, Size  int64
	EqualityIDs []int
	Referenced  string
	Blob        [2]int64 // offset and size of a deletion vector
	Lower       map[int][]byte
	Upper       map[int][]byte
	Values      map[int]int64
	Nulls       map[int]int64
	NaNs        map[int]int64
	Deleted     bool  // a DELETED entry: the file is no longer live
	Sequence    int64 // explicit; 0 = inherited
	// Edit changes the entry before it is encoded.
	Edit func(entry map[string]any)
}

// New makes an empty, unpartitioned table.
func New(t testing.TB, location string, version int) *Table {
	return &Table{Location: location, Version: version, Properties: map[string]string{}, Store: mem.New(), t: t, specs: [][]PartitionField{{}}}
}

// Schema adds a schema, a JSON list of its fields, and makes it the current one.
func (b *Table) Schema(fields string) {
	b.t.Helper()
	var list []any
	if err := json.Unmarshal([]byte(fields), &list); err != nil {
		b.t.Fatalf("icebergtest: schema: %v", err)
	}
	b.schemas = append(b.schemas, map[string]any{"type": "struct", "schema-id": len(b.schemas), "fields": list})
}

// Spec adds a partition spec, makes it the default, and returns its id. The first spec, id 0, is unpartitioned.
func (b *Table) Spec(fields ...PartitionField) int {
	b.specs = append(b.specs, fields)
	return len(b.specs) - 1
}

// ReplaceSpec changes the fields of a spec: for tables whose first spec is partitioned.
func (b *Table) ReplaceSpec(id int, fields ...PartitionField) { b.specs[id] = fields }

// Put stores an object under the table's location and returns its path.
func (b *Table) Put(name string, data []byte) string {
	path := b.Location + "/" + name
	b.Store.Put(path, data)
	return path
}

// Parquet writes rows, a JSON list of objects, as a data file; File.Rows, Size and Path are set, the rest is the caller's.
func (b *Table) Parquet(o parquetfile.Options, rows string, fields ...arrow.Field) File {
	b.t.Helper()
	rec, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(rows))
	if err != nil {
		b.t.Fatalf("icebergtest: rows: %v", err)
	}
	defer rec.Release()
	data, err := parquetfile.Write(o, rec)
	if err != nil {
		b.t.Fatalf("icebergtest: %v", err)
	}
	b.objects++
	path := b.Put(fmt.Sprintf("data/%d.parquet", b.objects), data)
	return File{Path: path, Rows: rec.NumRows(), Size: int64(len(data))}
}

// Positions writes a position-delete file; pairs are path, position, path, position.
func (b *Table) Positions(pairs ...any) File {
	b.t.Helper()
	var rows []string
	for i := 0; i < len(pairs); i += 2 {
		rows = append(rows, fmt.Sprintf(`{"file_path":%q,"pos":%d}`, pairs[i], pairs[i+1]))
	}
	f := b.Parquet(parquetfile.Options{}, "["+strings.Join(rows, ",")+"]", DeletePath, DeletePos)
	f.Content = PositionDeletes
	return f
}

// Equality writes an equality-delete file with the columns as its key.
func (b *Table) Equality(rows string, key ...arrow.Field) File {
	b.t.Helper()
	f := b.Parquet(parquetfile.Options{}, rows, key...)
	f.Content = EqualityDeletes
	for _, k := range key {
		if id, ok := expr.FieldID(k); ok {
			f.EqualityIDs = append(f.EqualityIDs, id)
		}
	}
	return f
}

// Commit makes a snapshot of the files and what the table held before, and returns its id. Each spec and kind of content is
// one manifest.
func (b *Table) Commit(operation string, files ...File) int64 {
	b.t.Helper()
	b.sequence++
	id := 1000 + int64(len(b.snapshots))
	type group struct {
		deletes bool
		spec    int
	}
	groups := map[group][]File{}
	var order []group
	for _, f := range files {
		g := group{f.Content != Data, f.Spec}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], f)
	}
	var rows int64
	for _, g := range order {
		b.manifests = append(b.manifests, b.manifest(id, g.deletes, g.spec, groups[g]))
		if !g.deletes {
			for _, f := range groups[g] {
				rows += f.Rows
			}
		}
	}
	s := map[string]any{
		"snapshot-id": id, "timestamp-ms": 1_600_000_000_000 + id, "manifest-list": b.list(id), "schema-id": len(b.schemas) - 1,
		"summary": map[string]any{"operation": operation},
	}
	if n := len(b.snapshots); n > 0 {
		s["parent-snapshot-id"] = b.snapshots[n-1]["snapshot-id"]
	}
	if b.Version >= 2 {
		s["sequence-number"] = b.sequence
	}
	if b.Version >= 3 {
		s["first-row-id"], s["added-rows"] = b.nextRow, rows
		b.nextRow += rows
	}
	b.snapshots = append(b.snapshots, s)
	return id
}

// Replace forgets the manifests of the table, so that the next Commit holds its own files alone.
func (b *Table) Replace() { b.manifests = nil }

func (b *Table) encode(a Avro) []byte {
	b.t.Helper()
	out, err := a.Bytes()
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// manifest writes one and returns its row of the list.
func (b *Table) manifest(snapshot int64, deletes bool, spec int, files []File) map[string]any {
	b.t.Helper()
	row := map[string]any{
		"partition_spec_id": spec, "content": 0, "sequence_number": b.sequence, "min_sequence_number": b.sequence, "added_snapshot_id": snapshot,
		"existing_files_count": 0, "existing_rows_count": 0, "deleted_files_count": 0, "deleted_rows_count": 0,
	}
	var added, addedRows, gone, goneRows int64
	a := Avro{Schema: b.entrySchema(spec), Deflate: true, Header: map[string]string{
		"format-version": strconv.Itoa(b.Version), "partition-spec-id": strconv.Itoa(spec),
		"partition-spec": string(b.json(b.specFields(spec))), "schema": string(b.json(b.schemas[len(b.schemas)-1])),
	}}
	for _, f := range files {
		if f.Sequence != 0 {
			row["min_sequence_number"] = min(row["min_sequence_number"].(int64), f.Sequence)
		}
		if f.Deleted {
			gone, goneRows = gone+1, goneRows+f.Rows
		} else {
			added, addedRows = added+1, addedRows+f.Rows
		}
		a.Records = append(a.Records, b.entry(snapshot, f))
	}
	if b.Version >= 2 {
		a.Header["content"] = "data"
		if deletes {
			a.Header["content"], row["content"] = "deletes", 1
		}
	}
	row["added_files_count"], row["added_rows_count"], row["deleted_files_count"], row["deleted_rows_count"] = added, addedRows, gone, goneRows
	if b.Version >= 3 && !deletes {
		row["first_row_id"] = b.nextRow
	}
	if b.EditManifest != nil {
		b.EditManifest(deletes, &a)
	}
	data := b.encode(a)
	b.objects++
	row["manifest_path"] = b.Put(fmt.Sprintf("metadata/m%d.avro", b.objects), data)
	row["manifest_length"] = int64(len(data))
	return row
}

func (b *Table) json(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *Table) specFields(id int) []map[string]any {
	out := []map[string]any{}
	for _, f := range b.specs[id] {
		out = append(out, map[string]any{"field-id": f.ID, "source-id": f.Source, "name": f.Name, "transform": f.Transform})
	}
	return out
}

func (b *Table) entry(snapshot int64, f File) map[string]any {
	format := f.Format
	if format == "" {
		format = "PARQUET"
	}
	partition := map[string]any{}
	maps.Copy(partition, f.Partition)
	file := map[string]any{
		"content": f.Content, "file_path": f.Path, "file_format": format, "partition": partition, "record_count": f.Rows,
		"file_size_in_bytes": f.Size, "block_size_in_bytes": int64(64 << 20),
		"lower_bounds": pairs(f.Lower), "upper_bounds": pairs(f.Upper), "value_counts": pairs(f.Values), "null_value_counts": pairs(f.Nulls), "nan_value_counts": pairs(f.NaNs),
	}
	if f.EqualityIDs != nil {
		var ids []any
		for _, id := range f.EqualityIDs {
			ids = append(ids, id)
		}
		file["equality_ids"] = ids
	}
	if f.Referenced != "" {
		file["referenced_data_file"] = f.Referenced
	}
	if f.Blob[1] > 0 {
		file["content_offset"], file["content_size_in_bytes"] = f.Blob[0], f.Blob[1]
	}
	e := map[string]any{"status": 1, "snapshot_id": snapshot, "data_file": file}
	if f.Deleted {
		e["status"] = 2
		e["sequence_number"], e["file_sequence_number"] = b.sequence, b.sequence
	}
	if f.Sequence != 0 {
		e["sequence_number"], e["file_sequence_number"] = f.Sequence, f.Sequence
	}
	if f.Edit != nil {
		f.Edit(e)
	}
	return e
}

// pairs is a map with integer keys, as manifests write it; nil stays nil.
func pairs[V any](m map[int]V) any {
	if m == nil {
		return nil
	}
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, map[string]any{"key": k, "value": m[k]})
	}
	return out
}

func (b *Table) list(snapshot int64) string {
	b.t.Helper()
	a := Avro{Schema: listSchema(b.Version), Header: map[string]string{"format-version": strconv.Itoa(b.Version), "snapshot-id": strconv.FormatInt(snapshot, 10)}}
	for _, m := range b.manifests {
		a.Records = append(a.Records, maps.Clone(m))
	}
	if b.EditList != nil {
		b.EditList(&a)
	}
	b.objects++
	return b.Put(fmt.Sprintf("metadata/snap-%d-%d.avro", snapshot, b.objects), b.encode(a))
}

// Export writes every object of a table at a file:// location to the disk.
func (b *Table) Export() {
	b.t.Helper()
	prefix, err := object.ParseLocation(b.Location + "/")
	if err != nil {
		b.t.Fatal(err)
	}
	for info, err := range b.Store.List(b.t.Context(), prefix) {
		if err != nil {
			b.t.Fatal(err)
		}
		data, _, err := b.Store.Read(b.t.Context(), info.Location, object.Whole, nil, object.ReadOptions{})
		if err == nil {
			err = os.MkdirAll(filepath.Dir(info.Location.Key), 0o755)
		}
		if err == nil {
			err = os.WriteFile(info.Location.Key, data, 0o644)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// Metadata is the document as it would be saved.
func (b *Table) Metadata() []byte {
	b.t.Helper()
	doc := map[string]any{
		"format-version": b.Version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": b.Location, "last-updated-ms": 1_700_000_000_000,
		"last-column-id": 1000, "properties": b.Properties, "current-snapshot-id": nil, "snapshots": b.snapshots, "snapshot-log": []any{}, "metadata-log": []any{},
		"schemas": b.schemas, "current-schema-id": len(b.schemas) - 1, "default-spec-id": len(b.specs) - 1, "last-partition-id": 1999,
		"sort-orders": []any{map[string]any{"order-id": 0, "fields": []any{}}}, "default-sort-order-id": 0,
	}
	var specs, log []any
	for id := range b.specs {
		specs = append(specs, map[string]any{"spec-id": id, "fields": b.specFields(id)})
	}
	doc["partition-specs"] = specs
	if n := len(b.snapshots); n > 0 {
		last := b.snapshots[n-1]["snapshot-id"]
		doc["current-snapshot-id"] = last
		doc["refs"] = map[string]any{"main": map[string]any{"snapshot-id": last, "type": "branch"}}
		for _, s := range b.snapshots {
			log = append(log, map[string]any{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]})
		}
		doc["snapshot-log"] = log
	}
	if b.Version >= 2 {
		doc["last-sequence-number"] = b.sequence
	} else {
		doc["schema"] = b.schemas[len(b.schemas)-1]
		doc["partition-spec"] = b.specFields(len(b.specs) - 1)
	}
	if b.Version >= 3 {
		doc["next-row-id"] = b.nextRow
	}
	if b.EditMetadata != nil {
		b.EditMetadata(doc)
	}
	return b.json(doc)
}

// Save writes the metadata file and returns its location.
func (b *Table) Save() string {
	b.t.Helper()
	b.saved++
	return b.Put(fmt.Sprintf("metadata/v%d.metadata.json", b.saved), b.Metadata())
}
