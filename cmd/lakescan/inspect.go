package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/inspect"
	"github.com/lakescan/lakescan/query/render"
)

// inspectCmds are the verbs that read manifest lists and manifests.
func (a *app) inspectCmds() []*cobra.Command {
	return []*cobra.Command{
		a.inspectCmd(iceberg.MetadataManifests, "list the manifests of a snapshot", "Lists the manifests of a snapshot. Reads the manifest list: one request after the table's."),
		a.inspectCmd(iceberg.MetadataFiles, "list the data and delete files of a snapshot", "Lists the data and delete files of a snapshot. Reads manifests as far as --limit needs: files T --limit 10 reads one."),
		a.inspectCmd(iceberg.MetadataPartitions, "sum up the files of a snapshot by partition", "Sums up the files of a snapshot by partition: rows, files, bytes, deletes. Reads every manifest of the snapshot."),
	}
}

func (a *app) inspectCmd(of iceberg.MetadataTable, short, long string) *cobra.Command {
	var limit int64
	name := string(of)
	cmd := &cobra.Command{
		Use: name + " TABLE", Short: short, GroupID: "look", Args: oneTarget,
		Long: long + "\n\n  lakescan " + name + " demo.trips\n  lakescan " + name + " demo.trips --limit 10 -o ndjson\n  lakescan " + name + " demo.trips --ref main -x",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd, func(ctx context.Context, s *session) error { return s.inspect(ctx, cmd, args[0], of, limit) })
		},
	}
	cmd.Flags().Int64Var(&limit, "limit", 0, "stop after `n` rows")
	cmd.Flags().Lookup("limit").DefValue = "none"
	if narrow[of] != nil {
		cmd.Flags().Bool("wide", false, "all columns in a table too")
	}
	addVersion(cmd)
	a.addSettings(cmd.Flags(), config.Connect)
	a.addOutput(cmd)
	return cmd
}

func (s *session) inspect(ctx context.Context, cmd *cobra.Command, target string, of iceberg.MetadataTable, limit int64) error {
	v, err := s.version(cmd)
	if err != nil {
		return err
	}
	t, err := s.client.Table(ctx, target)
	if err != nil {
		return s.hintTable(ctx, target, err)
	}
	r, err := t.Inspect(ctx, of, iceberg.InspectSpec{Version: v, Limit: limit})
	if err != nil {
		return err
	}
	out, err := s.newOutput(cmd)
	if err != nil {
		return err
	}
	var keep []int
	if wide, _ := cmd.Flags().GetBool("wide"); !wide && out.format == render.Table && !out.o.Expanded {
		keep = indexesOf(r.Schema(), narrow[of])
	}
	return s.finishOutput(cmd, out, s.inspected(ctx, out, r, limit, keep))
}

// narrow are the columns that a table on a screen has room for; other formats, -x and --wide have all of them.
var narrow = map[iceberg.MetadataTable][]string{
	iceberg.MetadataFiles:     {"content", "file_path", "partition", "record_count", "file_size_in_bytes", "status"},
	iceberg.MetadataManifests: {"content", "path", "length", "sequence_number", "added_files_count", "existing_files_count", "deleted_files_count"},
}

func indexesOf(s *arrow.Schema, names []string) (keep []int) {
	for _, n := range names {
		keep = append(keep, s.FieldIndices(n)...)
	}
	return keep
}

// pick is a batch of some of the columns; the caller releases it. No columns means all.
func pick(rec arrow.RecordBatch, keep []int) arrow.RecordBatch {
	if keep == nil {
		rec.Retain()
		return rec
	}
	columns := make([]arrow.Array, len(keep))
	for i, k := range keep {
		columns[i] = rec.Column(k)
	}
	return array.NewRecordBatch(pickFields(rec.Schema(), keep), columns, rec.NumRows())
}

func pickFields(s *arrow.Schema, keep []int) *arrow.Schema {
	if keep == nil {
		return s
	}
	fields := make([]arrow.Field, len(keep))
	for i, k := range keep {
		fields[i] = s.Field(k)
	}
	return arrow.NewSchema(fields, nil)
}

// inspected streams at most limit rows (0 = all) into the output, of the columns keep (nil = all).
func (s *session) inspected(ctx context.Context, out *output, r *inspect.Result, limit int64, keep []int) error {
	schema := pickFields(r.Schema(), keep)
	if err := out.begin(schema); err != nil {
		return err
	}
	left := limit
	for rec, err := range r.Batches(ctx, memory.DefaultAllocator) {
		if err != nil {
			return err
		}
		rec := pick(rec, keep)
		defer rec.Release()
		if limit > 0 && rec.NumRows() >= left {
			part := rec.NewSlice(0, left)
			defer part.Release()
			if err := out.write(part); err != nil {
				return err
			}
			break
		}
		left -= rec.NumRows()
		if err := out.write(rec); err != nil {
			return err
		}
	}
	return out.end()
}
