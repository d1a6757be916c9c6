package inspect

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg/meta"
)

var (
	text   = arrow.BinaryTypes.String
	long   = arrow.PrimitiveTypes.Int64
	int32s = arrow.PrimitiveTypes.Int32
	flag   = arrow.FixedWidthTypes.Boolean
	stamp  = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
)

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// Snapshots lists the snapshots that the document holds, in its order.
func Snapshots(m *meta.Metadata) *Result {
	s := arrow.NewSchema([]arrow.Field{
		field("committed_at", stamp), field("snapshot_id", long), field("parent_id", long), field("sequence_number", long),
		field("operation", text), field("schema_id", int32s), field("refs", arrow.ListOf(text)), field("manifest_list", text), field("first_row_id", long),
		field("summary", arrow.MapOf(text, text)),
	}, nil)
	return &Result{s, func(_ context.Context, w *writer) error {
		refs := map[int64]listValue{}
		for _, name := range slices.Sorted(maps.Keys(m.Refs)) {
			id := m.Refs[name].Snapshot
			refs[id] = append(refs[id], name)
		}
		for s, err := range m.Snapshots() {
			if err != nil {
				return err
			}
			err := w.row(s.Time, s.ID, orNull(s.Parent, 0), s.Sequence, textOrNull(s.Operation), orNull(int64(s.SchemaID), -1), refs[s.ID],
				textOrNull(s.ManifestList), orNull(s.FirstRowID, -1), pairsValue(s.Summary))
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// History lists which snapshot became current when, oldest first. One that is no ancestor of the current snapshot was
// rolled back.
func History(m *meta.Metadata) *Result {
	s := arrow.NewSchema([]arrow.Field{field("made_current_at", stamp), field("snapshot_id", long), field("parent_id", long), field("is_current_ancestor", flag)}, nil)
	return &Result{s, func(_ context.Context, w *writer) error {
		log, err := m.SnapshotLog()
		if err != nil {
			return err
		}
		parents := map[int64]int64{}
		for s, err := range m.Snapshots() {
			if err != nil {
				return err
			}
			parents[s.ID] = s.Parent
		}
		ancestors := map[int64]bool{}
		for id := m.CurrentSnapshot; m.HasSnapshot && id != 0 && !ancestors[id]; id = parents[id] {
			ancestors[id] = true
		}
		for _, e := range log {
			if err := w.row(e.Time, e.Snapshot, orNull(parents[e.Snapshot], 0), ancestors[e.Snapshot]); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Refs lists branches and tags by name.
func Refs(m *meta.Metadata) *Result {
	s := arrow.NewSchema([]arrow.Field{
		field("name", text), field("type", text), field("snapshot_id", long), field("max_reference_age_in_ms", long),
		field("min_snapshots_to_keep", int32s), field("max_snapshot_age_in_ms", long),
	}, nil)
	return &Result{s, func(_ context.Context, w *writer) error {
		for _, name := range slices.Sorted(maps.Keys(m.Refs)) {
			r, kind := m.Refs[name], "BRANCH"
			if r.Tag {
				kind = "TAG"
			}
			err := w.row(name, kind, r.Snapshot, orNull(r.MaxRefAge.Milliseconds(), 0), orNull(int64(r.MinSnapshots), 0), orNull(r.MaxSnapshotAge.Milliseconds(), 0))
			if err != nil {
				return err
			}
		}
		return nil
	}}
}
