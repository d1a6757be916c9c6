package icebergtest

import (
	"fmt"
	"strings"
)

// The Avro schemas of manifests and lists, by hand from the specification ("Manifests", "Manifest Lists").

func required(id int, name, typ string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"field-id":%d}`, name, typ, id)
}

func optional(id int, name, typ string) string {
	return fmt.Sprintf(`{"name":%q,"type":["null",%s],"default":null,"field-id":%d}`, name, typ, id)
}

// pairMap is a map with integer keys: an array of records.
func pairMap(key, value int, typ string) string {
	return fmt.Sprintf(`{"type":"array","logicalType":"map","items":{"type":"record","name":"k%d_v%d","fields":[%s,%s]}}`,
		key, value, required(key, "key", `"int"`), required(value, "value", typ))
}

func (b *Table) entrySchema(spec int) string {
	var partition []string
	for _, f := range b.specs[spec] {
		partition = append(partition, optional(f.ID, f.Name, f.Avro))
	}
	var file []string
	if b.Version >= 2 {
		file = append(file, required(134, "content", `"int"`))
	}
	file = append(file, required(100, "file_path", `"string"`), required(101, "file_format", `"string"`),
		required(102, "partition", `{"type":"record","name":"r102","fields":[`+strings.Join(partition, ",")+`]}`),
		required(103, "record_count", `"long"`), required(104, "file_size_in_bytes", `"long"`))
	if b.Version == 1 {
		file = append(file, required(105, "block_size_in_bytes", `"long"`))
	}
	file = append(file, optional(109, "value_counts", pairMap(119, 120, `"long"`)), optional(110, "null_value_counts", pairMap(121, 122, `"long"`)),
		optional(137, "nan_value_counts", pairMap(138, 139, `"long"`)), optional(125, "lower_bounds", pairMap(126, 127, `"bytes"`)),
		optional(128, "upper_bounds", pairMap(129, 130, `"bytes"`)), optional(131, "key_metadata", `"bytes"`))
	if b.Version >= 2 {
		file = append(file, optional(135, "equality_ids", `{"type":"array","items":"int","element-id":136}`), optional(143, "referenced_data_file", `"string"`))
	}
	if b.Version >= 3 {
		file = append(file, optional(142, "first_row_id", `"long"`), optional(144, "content_offset", `"long"`), optional(145, "content_size_in_bytes", `"long"`))
	}
	entry := []string{required(0, "status", `"int"`)}
	if b.Version == 1 {
		entry = append(entry, required(1, "snapshot_id", `"long"`))
	} else {
		entry = append(entry, optional(1, "snapshot_id", `"long"`), optional(3, "sequence_number", `"long"`), optional(4, "file_sequence_number", `"long"`))
	}
	entry = append(entry, required(2, "data_file", `{"type":"record","name":"r2","fields":[`+strings.Join(file, ",")+`]}`))
	return `{"type":"record","name":"manifest_entry","fields":[` + strings.Join(entry, ",") + `]}`
}

func listSchema(version int) string {
	f := []string{required(500, "manifest_path", `"string"`), required(501, "manifest_length", `"long"`), required(502, "partition_spec_id", `"int"`)}
	if version >= 2 {
		f = append(f, required(517, "content", `"int"`), required(515, "sequence_number", `"long"`), required(516, "min_sequence_number", `"long"`))
	}
	f = append(f, required(503, "added_snapshot_id", `"long"`))
	counts := []struct {
		id   int
		name string
		typ  string
	}{
		{504, "added_files_count", `"int"`},
		{505, "existing_files_count", `"int"`},
		{506, "deleted_files_count", `"int"`},
		{512, "added_rows_count", `"long"`},
		{513, "existing_rows_count", `"long"`},
		{514, "deleted_rows_count", `"long"`},
	}
	for _, c := range counts {
		if version == 1 {
			f = append(f, optional(c.id, c.name, c.typ))
		} else {
			f = append(f, required(c.id, c.name, c.typ))
		}
	}
	summary := `{"type":"array","items":{"type":"record","name":"r508","fields":[` + strings.Join([]string{
		required(509, "contains_null", `"boolean"`),
		optional(518, "contains_nan", `"boolean"`), optional(510, "lower_bound", `"bytes"`), optional(511, "upper_bound", `"bytes"`),
	}, ",") + `]},"element-id":508}`
	f = append(f, optional(507, "partitions", summary), optional(519, "key_metadata", `"bytes"`))
	if version >= 3 {
		f = append(f, optional(520, "first_row_id", `"long"`))
	}
	return `{"type":"record","name":"manifest_file","fields":[` + strings.Join(f, ",") + `]}`
}
