package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg/plan"
	"github.com/lakescan/lakescan/query/render"
)

func addExplain(cmd *cobra.Command) {
	cmd.Flags().Var(&choice{of: []string{"text", "json", "analyze"}}, "explain", "say what would be read and why, out of metadata alone: text, json; analyze: run it too and drop the rows")
	cmd.Flags().Lookup("explain").NoOptDefVal = "text"
}

func explainMode(cmd *cobra.Command) string { return cmd.Flags().Lookup("explain").Value.String() }

// explainScan prints one block; analyze runs the scan and prints its figures below.
func (s *session) explainScan(ctx context.Context, cmd *cobra.Command, mode, target string, f scanFlags, columns []string, aggs []lakescan.Aggregate, opts []lakescan.ScanOption) error {
	if aggs != nil {
		var need []string
		for _, a := range aggs {
			if a.Column != "" {
				need = append(need, a.Column)
			}
		}
		opts = append(opts, lakescan.Columns(append([]string{}, need...)...))
	}
	e, err := s.client.ExplainScan(ctx, target, opts...)
	if err != nil {
		return s.hintTable(ctx, target, err)
	}
	e.Count = aggs != nil && len(e.Columns) == 0 && f.where == ""
	block := newBlock(e, s)
	if mode == "json" {
		_, err = s.stdout.Write(append(mustJSON(map[string]any{"scans": []scanBlock{block}}), '\n'))
		return err
	}
	if mode == "analyze" {
		r, err := s.client.Scan(ctx, target, opts...)
		if err != nil {
			return err
		}
		defer r.Close()
		for b, err := range r.All() {
			if err != nil {
				return err
			}
			block.Rows += b.Record.NumRows()
		}
		st := r.Stats()
		block.Ran = &st
	}
	_, err = io.WriteString(s.stdout, block.text())
	return err
}

// scanBlock is one table reference of an explanation; documented in docs/json.md.
type scanBlock struct {
	Target        string         `json:"target"`
	Snapshot      *int64         `json:"snapshot,omitempty"`
	SnapshotTime  *time.Time     `json:"snapshot_time,omitempty"`
	Ref           string         `json:"ref,omitempty"`
	Columns       []string       `json:"columns"`
	TableColumns  int            `json:"table_columns,omitempty"`
	Prune         string         `json:"prune,omitempty"`
	NotUsed       []string       `json:"not_used,omitempty"` // conditions that cannot skip files
	Manifests     int            `json:"manifests"`
	ManifestsRead int            `json:"manifests_read"`
	ManifestSkips map[string]int `json:"manifests_skipped,omitempty"` // by reason
	Files         int            `json:"files"`                       // seen in the manifests read
	FilesRead     int            `json:"files_read"`
	FilesPruned   map[string]int `json:"files_pruned,omitempty"` // by reason
	Bytes         int64          `json:"bytes"`                  // of the files read
	FileRows      int64          `json:"file_rows"`              // of the files read, before filter and deletes
	Deletes       map[string]int `json:"deletes,omitempty"`      // files, by kind
	Limit         int64          `json:"limit,omitempty"`
	CountOnly     bool           `json:"count_only,omitempty"`
	LookAhead     string         `json:"look_ahead"`
	Order         string         `json:"order"`
	PoolSlots     int            `json:"pool_slots"`
	PoolMemory    int64          `json:"pool_memory"`

	Rows int64 `json:"rows,omitempty"` // of analyze
	Ran  any   `json:"ran,omitempty"`  // source.Stats, of analyze
}

func newBlock(e *lakescan.Explanation, s *session) scanBlock {
	b := scanBlock{
		Target: e.Target, Columns: e.Columns, Prune: e.Filter, NotUsed: e.Unused, Files: e.Files, FilesRead: e.Files, Bytes: e.Bytes, Limit: e.Limit,
		CountOnly: e.Count, LookAhead: e.Depth.String(), Order: e.Order.String(), PoolSlots: s.cfg.Int(config.KeyPoolSize), PoolMemory: s.cfg.Size(config.KeyPoolMemory),
	}
	if b.Columns == nil {
		b.Columns = []string{}
	}
	if b.PoolMemory == 0 {
		b.PoolMemory = s.client.Budget().Limit() / 4
	}
	t := e.Table
	if t == nil {
		return b
	}
	if t.HasSnapshot {
		b.Snapshot, b.SnapshotTime = &t.Snapshot, &t.SnapshotTime
	}
	c := t.Counts
	b.Ref, b.TableColumns, b.Prune = t.Ref, t.TableColumns, t.Filter
	b.NotUsed = append(b.NotUsed, t.NotPruning...)
	b.Manifests, b.ManifestsRead = c.Manifests, c.ManifestsRead
	b.Files, b.FilesRead, b.FileRows = c.DataFiles, c.Tasks, c.TaskRows
	b.ManifestSkips, b.FilesPruned = map[string]int{}, map[string]int{}
	for r := range c.ManifestsSkipped {
		count(b.ManifestSkips, plan.Reason(r).String(), c.ManifestsSkipped[r])
		count(b.FilesPruned, plan.Reason(r).String(), c.FilesPruned[r])
	}
	b.Deletes = map[string]int{}
	count(b.Deletes, "vector", c.VectorFiles)
	count(b.Deletes, "position", c.PositionFiles)
	count(b.Deletes, "equality", c.EqualityFiles)
	return b
}

func count(m map[string]int, key string, n int) {
	if n > 0 {
		m[key] = n
	}
}

// text is the tree of one block.
func (b scanBlock) text() string {
	var out strings.Builder
	out.WriteString("scan " + render.Visible(b.Target))
	if b.Snapshot != nil {
		fmt.Fprintf(&out, "  snapshot %d (", *b.Snapshot)
		if b.Ref != "" {
			out.WriteString(render.Visible(b.Ref) + ", ")
		}
		out.WriteString(b.SnapshotTime.UTC().Format(time.RFC3339) + ")")
	}
	out.WriteByte('\n')
	lines := b.lines()
	for i, l := range lines {
		mark := "├"
		if i == len(lines)-1 {
			mark = "└"
		}
		fmt.Fprintf(&out, "%s %-10s %s\n", mark, l[0], l[1])
	}
	return out.String()
}

func (b scanBlock) lines() (lines [][2]string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	columns := strings.Join(b.Columns, ", ")
	if columns == "" {
		columns = "none"
	}
	if b.TableColumns > 0 {
		columns += fmt.Sprintf("   %d of %d", len(b.Columns), b.TableColumns)
	}
	add("columns", "%s", render.Visible(columns))
	prune := b.Prune
	if prune == "" {
		prune = "no condition"
	}
	if len(b.NotUsed) > 0 {
		prune += "   not used: " + strings.Join(b.NotUsed, ", ")
	}
	add("prune", "%s", render.Visible(prune))
	if b.Manifests > 0 {
		add("manifests", "%d of %d%s", b.ManifestsRead, b.Manifests, reasons("   skipped: ", b.ManifestSkips))
	}
	if b.CountOnly {
		add("files", "none if the count is exact in metadata, else %d of %d", b.FilesRead, b.Files)
	} else {
		add("files", "%d of %d%s", b.FilesRead, b.Files, reasons("   pruned: ", b.FilesPruned))
	}
	add("bytes", "%s%s", config.HumanSize(b.Bytes), reasons("   delete files: ", b.Deletes))
	if b.Limit > 0 {
		add("limit", "%d rows", b.Limit)
	}
	add("look-ahead", "%s, order %s, pool %d slots, %s", b.LookAhead, b.Order, b.PoolSlots, config.HumanSize(b.PoolMemory))
	if b.Ran != nil {
		lines = append(lines, ranLines(b)...)
	}
	return lines
}

func reasons(head string, by map[string]int) string {
	if len(by) == 0 {
		return ""
	}
	var parts []string
	for _, k := range sortedKeys(by) {
		parts = append(parts, fmt.Sprintf("%s %d", k, by[k]))
	}
	return head + strings.Join(parts, ", ")
}
