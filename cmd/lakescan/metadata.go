package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// metadataCmds are the verbs that read a table's metadata document alone.
func (a *app) metadataCmds() []*cobra.Command {
	return []*cobra.Command{
		a.metadataCmd("snapshots", "list the snapshots of a table", snapshotColumns, snapshotRows),
		a.metadataCmd("history", "list which snapshot was current when", historyColumns, historyRows),
		a.metadataCmd("refs", "list branches and tags", refColumns, refRows),
	}
}

func (a *app) metadataCmd(name, short string, columns columnList, rows func(*meta.Metadata, *rowWriter) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " TABLE", Short: short, GroupID: "look", Args: oneTarget,
		Long: "Lists" + strings.TrimPrefix(short, "list") + ". Reads the table's metadata document: one request.\n\n  lakescan " + name + " demo.trips\n  lakescan " + name + " demo.trips -o ndjson\n  lakescan " + name + " s3://bucket/t/metadata/00007.metadata.json -x",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd, func(ctx context.Context, s *session) error {
				t, err := s.allSnapshots(ctx, args[0])
				if err != nil {
					return err
				}
				return s.withRows(cmd, func(w *rowWriter) error { return rows(t.Metadata(), w) }, columns...)
			})
		},
	}
	a.addSettings(cmd.Flags(), config.Connect)
	a.addOutput(cmd)
	return cmd
}

func (s *session) allSnapshots(ctx context.Context, target string) (*iceberg.Table, error) {
	t, err := s.client.Table(ctx, target)
	if err != nil {
		return nil, s.hintTable(ctx, target, err)
	}
	return t.WithAllSnapshots(ctx)
}

var snapshotColumns = columnList{
	col("committed_at", typeTime), col("snapshot_id", typeLong), col("parent_id", typeLong), col("sequence", typeLong), col("operation", typeText),
	col("schema_id", typeLong), col("refs", typeTexts), col("summary", typePairs), col("manifest_list", typeText),
}

func snapshotRows(m *meta.Metadata, w *rowWriter) error {
	refs := map[int64][]string{}
	for _, name := range sortedKeys(m.Refs) {
		refs[m.Refs[name].Snapshot] = append(refs[m.Refs[name].Snapshot], name)
	}
	for snap, err := range m.Snapshots() {
		if err != nil {
			return err
		}
		err := w.add(millis(snap.Time), snap.ID, orNull(snap.Parent, 0), snap.Sequence, textOrNull(snap.Operation), orNull(int64(snap.SchemaID), -1),
			refs[snap.ID], snap.Summary, textOrNull(snap.ManifestList))
		if err != nil {
			return err
		}
	}
	return nil
}

var historyColumns = columnList{col("made_current_at", typeTime), col("snapshot_id", typeLong), col("parent_id", typeLong), col("is_ancestor", typeFlag)}

// historyRows: a snapshot that is no ancestor of the current one was rolled back.
func historyRows(m *meta.Metadata, w *rowWriter) error {
	log, err := m.SnapshotLog()
	if err != nil {
		return err
	}
	ancestors := map[int64]bool{}
	parents := map[int64]int64{}
	for snap, err := range m.Snapshots() {
		if err != nil {
			return err
		}
		parents[snap.ID] = snap.Parent
	}
	if m.HasSnapshot {
		for id := m.CurrentSnapshot; id != 0 && !ancestors[id]; id = parents[id] {
			ancestors[id] = true
		}
	}
	for _, e := range log {
		if err := w.add(millis(e.Time), e.Snapshot, orNull(parents[e.Snapshot], 0), ancestors[e.Snapshot]); err != nil {
			return err
		}
	}
	return nil
}

var refColumns = columnList{
	col("name", typeText), col("type", typeText), col("snapshot_id", typeLong), col("min_snapshots", typeLong), col("max_snapshot_age_ms", typeLong), col("max_ref_age_ms", typeLong),
}

func refRows(m *meta.Metadata, w *rowWriter) error {
	for _, name := range sortedKeys(m.Refs) {
		r := m.Refs[name]
		kind := "branch"
		if r.Tag {
			kind = "tag"
		}
		err := w.add(name, kind, r.Snapshot, orNull(int64(r.MinSnapshots), 0), orNull(r.MaxSnapshotAge.Milliseconds(), 0), orNull(r.MaxRefAge.Milliseconds(), 0))
		if err != nil {
			return err
		}
	}
	return nil
}

func millis(t time.Time) int64 { return t.UnixMilli() }

// orNull is v, or NULL where it is the value that means "not recorded".
func orNull(v, absent int64) any {
	if v == absent {
		return nil
	}
	return v
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
