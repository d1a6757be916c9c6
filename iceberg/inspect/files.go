package inspect

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/iceberg/prune"
)

// Manifests lists the manifests of the snapshot in the order of its list.
func Manifests(c *plan.Config) *Result {
	summary := arrow.ListOf(arrow.StructOf(field("field", text), field("contains_null", flag), field("contains_nan", flag), field("lower_bound", text), field("upper_bound", text)))
	s := arrow.NewSchema([]arrow.Field{
		field("content", text), field("path", text), field("length", long), field("partition_spec_id", int32s), field("sequence_number", long),
		field("min_sequence_number", long), field("added_snapshot_id", long), field("added_files_count", long), field("existing_files_count", long), field("deleted_files_count", long),
		field("added_rows_count", long), field("existing_rows_count", long), field("deleted_rows_count", long), field("first_row_id", long), field("encrypted", flag),
		field("partition_summaries", summary),
	}, nil)
	return &Result{s, func(ctx context.Context, w *writer) error {
		files, err := c.Files(ctx)
		if err != nil {
			return err
		}
		for i := range files {
			f := &files[i]
			content := "DATA"
			if f.Deletes {
				content = "DELETES"
			}
			err := w.row(content, f.Path, orNull(f.Length, -1), orNull(int64(f.SpecID), -1), f.Sequence, f.MinSequence, f.AddedSnapshot, orNull(f.AddedFiles, -1), orNull(f.ExistingFiles, -1),
				orNull(f.DeletedFiles, -1), orNull(f.AddedRows, -1), orNull(f.ExistingRows, -1), orNull(f.DeletedRows, -1), orNull(f.FirstRowID, -1), f.Encrypted, summaries(c, f))
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// summaries are null where the slots cannot be told.
func summaries(c *plan.Config, f *manifest.File) any {
	spec := c.Table.Spec(f.SpecID)
	if spec == nil || len(f.Partitions) != len(spec.Fields) {
		return nil
	}
	out := listValue{}
	for i, p := range spec.Fields {
		s := f.Partitions[i]
		var nan any
		if s.ContainsNaN != manifest.Unsaid {
			nan = s.ContainsNaN == manifest.Yes
		}
		bound := func(b []byte) any {
			t := manifest.PartitionType(c.Table, c.Schema, p)
			if t == nil || b == nil {
				return nil
			}
			l, ok := prune.Bound(t, b)
			if !ok {
				return nil
			}
			return periodText(p.Transform, l)
		}
		out = append(out, structValue{p.Name, s.ContainsNull, nan, bound(s.Lower), bound(s.Upper)})
	}
	return out
}

var contents = [...]string{manifest.Data: "DATA", manifest.PositionDeletes: "POSITION_DELETES", manifest.EqualityDeletes: "EQUALITY_DELETES"}

var formats = [...]string{manifest.Foreign: "", manifest.Parquet: "PARQUET", manifest.ORC: "ORC", manifest.Avro: "AVRO", manifest.Puffin: "PUFFIN"}

// Files lists the live files of the snapshot, data and deletes, in the order of the manifests: at most limit of them (0 = all),
// with no more manifests read than that takes.
func Files(c *plan.Config, limit int64) *Result {
	partition := manifest.PartitionStruct(c.Table, c.Schema)
	leaves := metricColumns(c.Schema)
	s := arrow.NewSchema([]arrow.Field{
		field("content", text), field("file_path", text), field("file_format", text), field("spec_id", int32s), field("partition", text),
		field("record_count", long), field("file_size_in_bytes", long), field("sequence_number", long), field("file_sequence_number", long), field("snapshot_id", long),
		field("status", text), field("first_row_id", long), field("sort_order_id", int32s), field("equality_ids", arrow.ListOf(int32s)), field("referenced_data_file", text),
		field("content_offset", long), field("content_size_in_bytes", long), field("encrypted", flag), field("partition_values", partition),
		field("readable_metrics", metricsStruct(leaves)),
	}, nil)
	return &Result{s, func(ctx context.Context, w *writer) error {
		p := manifest.Projection{Schema: c.Schema}
		for _, l := range leaves {
			p.Metrics, p.EachSize = append(p.Metrics, l.id), append(p.EachSize, l.id)
		}
		rows := int64(0)
		for live, err := range c.Entries(ctx, p, limit > 0) {
			if err != nil {
				return err
			}
			if err := fileRow(w, c, live, partition, leaves); err != nil {
				return err
			}
			if rows++; rows == limit {
				break
			}
		}
		return nil
	}}
}

func fileRow(w *writer, c *plan.Config, e plan.Live, partition *arrow.StructType, leaves []metricColumn) error {
	tuple, err := e.Partition()
	if err != nil {
		return &meta.InvalidError{File: e.Manifest.Path, What: "partition of " + string(e.Path), Err: err}
	}
	var ids any
	if e.Content == manifest.EqualityDeletes {
		list := listValue{}
		for _, id := range e.EqualityIDs {
			list = append(list, id)
		}
		ids = list
	}
	metrics := make(structValue, len(leaves))
	for i, l := range leaves {
		metrics[i] = l.value(e.Metric(i), e.ColumnSize(i))
	}
	status := [...]string{"EXISTING", "ADDED"}[e.Status]
	return w.row(contents[e.Content], string(e.Path), textOrNull(formats[e.Format]), int64(e.Spec), partitionText(c.Table.Spec(e.Spec), tuple),
		e.Rows, orNull(e.Size, -1), e.Sequence, e.FileSequence, e.Snapshot, status, orNull(e.FirstRowID, -1), orNull(int64(e.SortOrder), -1), ids, textOrNull(string(e.Referenced)),
		orNull(e.BlobOffset, -1), orNull(e.BlobSize, -1), e.Encrypted, partitionValue(partition, tuple), metrics)
}

func partitionValue(t *arrow.StructType, tuple map[int]expr.Literal) structValue {
	out := make(structValue, t.NumFields())
	for i, f := range t.Fields() {
		id, _ := expr.FieldID(f)
		out[i] = tuple[id].Value
	}
	return out
}

// metricColumn is a leaf of the schema; bound is the type that its bounds are shown in, nil = not shown.
type metricColumn struct {
	id     int
	name   string
	stored arrow.DataType
	bound  arrow.Field
	shown  bool
}

// metricColumns are the leaves of a schema by path. Bounds below a list or map say nothing of rows, so none are shown.
func metricColumns(s *meta.Schema) []metricColumn {
	var out []metricColumn
	var walk func(f meta.Field, path []string, repeated bool)
	walk = func(f meta.Field, path []string, repeated bool) {
		path = append(path[:len(path):len(path)], f.Name)
		if len(f.Type.Fields) > 0 {
			for _, c := range f.Type.Fields {
				walk(c, path, repeated || f.Type.Kind != meta.Struct)
			}
			return
		}
		c := metricColumn{id: f.ID, name: strings.Join(path, "."), bound: f.Arrow()}
		c.stored = c.bound.Type
		switch f.Type.Kind {
		case meta.Variant, meta.Geometry, meta.Geography, meta.Null, meta.Other:
		case meta.Fixed: // may be cut short
			c.bound.Type = arrow.BinaryTypes.Binary
			c.shown = !repeated
		default:
			c.shown = !repeated
		}
		if !c.shown {
			c.bound = arrow.Field{Type: arrow.Null}
		}
		out = append(out, c)
	}
	for _, f := range s.Fields {
		walk(f, nil, false)
	}
	return out
}

func metricsStruct(leaves []metricColumn) *arrow.StructType {
	fields := make([]arrow.Field, len(leaves))
	for i, l := range leaves {
		lower, upper := l.bound, l.bound
		lower.Name, lower.Nullable, upper.Name, upper.Nullable = "lower_bound", true, "upper_bound", true
		fields[i] = field(l.name, arrow.StructOf(field("column_size", long), field("value_count", long), field("null_value_count", long), field("nan_value_count", long), lower, upper))
	}
	return arrow.StructOf(fields...)
}

func (c metricColumn) value(m manifest.Metric, size int64) structValue {
	bound := func(b []byte) any {
		if !c.shown {
			return nil
		}
		l, ok := prune.Bound(c.stored, b)
		if !ok {
			return nil
		}
		return l.Value
	}
	return structValue{orNull(size, -1), orNull(m.Values, -1), orNull(m.Nulls, -1), orNull(m.NaNs, -1), bound(m.Lower), bound(m.Upper)}
}

// Partitions adds up the live files of each partition, in the order of first sight.
func Partitions(c *plan.Config) *Result {
	partition := manifest.PartitionStruct(c.Table, c.Schema)
	s := arrow.NewSchema([]arrow.Field{
		field("partition", text), field("spec_id", int32s), field("record_count", long), field("file_count", long), field("total_data_file_size_in_bytes", long),
		field("position_delete_record_count", long), field("position_delete_file_count", long), field("equality_delete_record_count", long), field("equality_delete_file_count", long),
		field("last_sequence_number", long), field("partition_values", partition),
	}, nil)
	return &Result{s, func(ctx context.Context, w *writer) error {
		byKey, order := map[string]*partitionSum{}, []*partitionSum(nil)
		for e, err := range c.Entries(ctx, manifest.Projection{Schema: c.Schema}, false) {
			if err != nil {
				return err
			}
			key := strconv.Itoa(e.Spec) + "/" + string(e.Tuple)
			p := byKey[key]
			if p == nil {
				p = &partitionSum{spec: e.Spec}
				if p.tuple, err = e.Partition(); err != nil {
					return &meta.InvalidError{File: e.Manifest.Path, What: "partition of " + string(e.Path), Err: err}
				}
				byKey[key], order = p, append(order, p)
			}
			p.add(e)
		}
		for _, p := range order {
			n := &p.counts
			err := w.row(partitionText(c.Table.Spec(p.spec), p.tuple), int64(p.spec), n[manifest.Data].rows, n[manifest.Data].files, n[manifest.Data].bytes,
				n[manifest.PositionDeletes].rows, n[manifest.PositionDeletes].files, n[manifest.EqualityDeletes].rows, n[manifest.EqualityDeletes].files, p.last,
				partitionValue(partition, p.tuple))
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

type partitionSum struct {
	spec   int
	tuple  map[int]expr.Literal
	counts [3]struct{ files, rows, bytes int64 } // by content
	last   int64
}

func (p *partitionSum) add(e plan.Live) {
	n := &p.counts[e.Content]
	n.files++
	n.rows += e.Rows
	n.bytes += max(e.Size, 0)
	p.last = max(p.last, e.Sequence)
}
