package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/query/render"
)

func (a *app) describeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "describe TARGET", Short: "one screen about a table or a Parquet file", GroupID: "look", Args: oneTarget,
		Long: `Shows schema with field ids, partitions, sort order, current snapshot, refs, size and the properties that matter; of a
Parquet file its schema, row groups, encodings and statistics, without a catalog.

  lakescan describe demo.trips
  lakescan describe demo.trips -o json | jq .schema
  lakescan describe "s3://bucket/data/part-0.parquet"

In a format other than table and json, the columns of the schema (of a file, its column chunks) are the rows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd, func(ctx context.Context, s *session) error { return s.describe(ctx, cmd, args[0]) })
		},
	}
	addVersion(cmd)
	a.addSettings(cmd.Flags(), config.Connect)
	a.addOutput(cmd)
	return cmd
}

func (s *session) describe(ctx context.Context, cmd *cobra.Command, target string) error {
	if isFile(target) {
		return s.describeFile(ctx, cmd, target)
	}
	v, err := s.version(cmd)
	if err != nil {
		return err
	}
	t, err := s.client.Table(ctx, target)
	if err != nil {
		return s.hintTable(ctx, target, err)
	}
	t, sel, err := t.Select(ctx, v)
	if err != nil {
		return err
	}
	d := describeTable(target, t, sel)
	switch s.cfg.Text(config.KeyOutput) {
	case "auto", "table":
		return s.printText(cmd, d.text())
	case "json":
		return s.printText(cmd, string(mustJSON(d))+"\n")
	}
	return s.withRows(cmd, func(w *rowWriter) error {
		for _, c := range d.Schema {
			if err := w.add(c.ID, c.Name, c.Type, c.Required, textOrNull(c.Doc)); err != nil {
				return err
			}
		}
		return nil
	}, col("id", typeLong), col("name", typeText), col("type", typeText), col("required", typeFlag), col("doc", typeText))
}

// printText writes a text of our own to stdout or --out.
func (s *session) printText(cmd *cobra.Command, text string) error {
	path, _ := cmd.Flags().GetString("out")
	if path == "" {
		_, err := io.WriteString(s.stdout, text)
		return err
	}
	f, err := createAtomic(path)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.discard()
		return err
	}
	return f.commit()
}

func isFile(target string) bool {
	return !strings.HasPrefix(target, `"`) && !iceberg.IsMetadataFile(target) &&
		(strings.ContainsAny(target, "/*?[") || strings.HasSuffix(target, ".parquet"))
}

// tableInfo is what describe prints as json; documented in docs/json.md.
type tableInfo struct {
	Table         string            `json:"table"`
	UUID          string            `json:"uuid"`
	FormatVersion int               `json:"format_version"`
	Location      string            `json:"location"`
	MetadataFile  string            `json:"metadata_file,omitempty"`
	LastUpdated   time.Time         `json:"last_updated"`
	Snapshot      *snapshotInfo     `json:"snapshot"` // null: the table has none
	Refs          map[string]int64  `json:"refs"`
	SchemaID      int               `json:"schema_id"`
	Schema        []columnInfo      `json:"schema"` // nested fields follow their parent
	SpecID        int               `json:"spec_id"`
	Partition     []string          `json:"partition"`
	SortID        int               `json:"sort_order_id"`
	Sort          []string          `json:"sort"`
	Properties    map[string]string `json:"properties"`
}

type snapshotInfo struct {
	ID        int64             `json:"id"`
	Time      time.Time         `json:"time"`
	Operation string            `json:"operation,omitempty"`
	Ref       string            `json:"ref,omitempty"`
	Summary   map[string]string `json:"summary"`
}

type columnInfo struct {
	ID       int    `json:"id"`
	Name     string `json:"name"` // full path
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Doc      string `json:"doc,omitempty"`
	depth    int
}

func describeTable(target string, t *iceberg.Table, sel meta.Selection) tableInfo {
	m := t.Metadata()
	d := tableInfo{
		Table: target, UUID: m.UUID, FormatVersion: m.FormatVersion, Location: m.Location, MetadataFile: m.File, LastUpdated: m.LastUpdated.UTC(),
		Refs: map[string]int64{}, SchemaID: sel.Schema.ID, SpecID: m.DefaultSpecID, Partition: []string{}, SortID: m.DefaultSortID, Sort: []string{}, Properties: m.Properties,
	}
	if d.Properties == nil {
		d.Properties = map[string]string{}
	}
	for name, r := range m.Refs {
		d.Refs[name] = r.Snapshot
	}
	if s := sel.Snapshot; s != nil {
		d.Snapshot = &snapshotInfo{ID: s.ID, Time: s.Time.UTC(), Operation: s.Operation, Ref: sel.Ref, Summary: s.Summary}
	}
	d.Schema = columnsOf(nil, sel.Schema.Fields, "", 0)
	name := func(id int) string {
		var parts []string
		for _, f := range sel.Schema.Path(id) {
			parts = append(parts, f.Name)
		}
		if parts == nil {
			return fmt.Sprintf("field %d", id)
		}
		return strings.Join(parts, ".")
	}
	if spec := m.Spec(m.DefaultSpecID); spec != nil {
		for _, f := range spec.Fields {
			d.Partition = append(d.Partition, transformed(f.Transform.String(), name(f.Sources[0])))
		}
	}
	for _, o := range m.SortOrders {
		if o.ID != m.DefaultSortID {
			continue
		}
		for _, f := range o.Fields {
			d.Sort = append(d.Sort, transformed(f.Transform.String(), name(f.Source))+direction(f))
		}
	}
	return d
}

func transformed(transform, column string) string {
	head, arg, ok := strings.Cut(strings.TrimSuffix(transform, "]"), "[")
	switch {
	case transform == "identity":
		return column
	case ok:
		return head + "(" + arg + ", " + column + ")"
	}
	return transform + "(" + column + ")"
}

func direction(f meta.SortField) string {
	s := " asc"
	if f.Descending {
		s = " desc"
	}
	if f.NullsFirst {
		return s + " nulls first"
	}
	return s + " nulls last"
}

func columnsOf(out []columnInfo, fields []meta.Field, prefix string, depth int) []columnInfo {
	for _, f := range fields {
		out = append(out, columnInfo{ID: f.ID, Name: prefix + f.Name, Type: f.Type.String(), Required: f.Required, Doc: f.Doc, depth: depth})
		if len(f.Type.Fields) > 0 {
			out[len(out)-1].Type = [...]string{meta.Struct: "struct", meta.List: "list", meta.Map: "map"}[f.Type.Kind]
			out = columnsOf(out, f.Type.Fields, prefix+f.Name+".", depth+1)
		}
	}
	return out
}

// shownProperties are the heads of properties that change how a table is read.
var shownProperties = []string{"write.", "read.", "schema.name-mapping", "history.", "gc.", "lakescan."}

func (d tableInfo) text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", name, render.Visible(fmt.Sprintf(format, args...)))
	}
	line("table", "%s   format v%d   %s", d.Table, d.FormatVersion, d.UUID)
	line("location", "%s", d.Location)
	if d.MetadataFile != "" {
		line("metadata", "%s", d.MetadataFile)
	}
	if s := d.Snapshot; s != nil {
		where := s.Time.Format(time.RFC3339)
		if s.Ref != "" {
			where = s.Ref + ", " + where
		}
		line("snapshot", "%d (%s) %s", s.ID, where, s.Operation)
		line("size", "%s", sizeOf(s.Summary))
	} else {
		line("snapshot", "none: the table is empty")
	}
	for _, name := range sortedKeys(d.Refs) {
		line("ref", "%s → %d", name, d.Refs[name])
	}
	line("partition", "%s   spec %d", orDash(d.Partition), d.SpecID)
	line("sort", "%s   order %d", orDash(d.Sort), d.SortID)
	for _, k := range sortedKeys(d.Properties) {
		for _, head := range shownProperties {
			if strings.HasPrefix(k, head) {
				line("property", "%s = %s", k, d.Properties[k])
			}
		}
	}
	line("schema", "%d", d.SchemaID)
	width := 0
	for _, c := range d.Schema {
		width = max(width, 2*c.depth+len(c.Name))
	}
	for _, c := range d.Schema {
		required := ""
		if c.Required {
			required = "  required"
		}
		doc := ""
		if c.Doc != "" {
			doc = "  -- " + c.Doc
		}
		b.WriteString(render.Visible(fmt.Sprintf("%6d  %-*s  %s%s%s", c.ID, width, strings.Repeat("  ", c.depth)+c.Name, c.Type, required, doc)) + "\n")
	}
	return b.String()
}

func orDash(parts []string) string {
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// sizeOf reads the totals that writers put into a snapshot's summary.
func sizeOf(summary map[string]string) string {
	number := func(key string) string {
		var n int64
		if _, err := fmt.Sscan(summary[key], &n); err != nil {
			return "?"
		}
		if strings.HasSuffix(key, "size") {
			return config.HumanSize(n)
		}
		return render.Thousands(n)
	}
	text := number("total-data-files") + " data files, " + number("total-delete-files") + " delete files, " + number("total-records") + " rows before deletes"
	if _, ok := summary["total-files-size"]; ok {
		text += ", " + number("total-files-size")
	}
	return text
}
