package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/exit"
)

const scanLong = `Reads columns and rows of a table or of Parquet files, without SQL.

  lakescan scan demo.trips --limit 5
  lakescan scan demo.trips --select region,fare --where "fare > 40 and region in ('east', 'west')" -o ndjson
  lakescan scan "s3://bucket/logs/*.parquet" --select "count(*), max(ts)"

--select takes columns (a.b: the struct a with the field b alone), or aggregates alone: count(*), count(c), min(c), max(c). --where takes
comparisons, IN, BETWEEN, LIKE, IS NULL, starts_with(c, 'x'), AND, OR, NOT, and literals such as 12, 1.5, 'text',
DATE '2026-01-31', TIMESTAMPTZ '2026-01-31 12:00Z', X'00ff', UUID '…'. Joins, groups and expressions are for lakescan query.`

// scanFlags is what the command line asks.
type scanFlags struct {
	list, where string
	limit       int64
}

func (a *app) scanCmd() *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use: "scan TARGET", Short: "read columns and rows of a table or of Parquet files", Long: scanLong, GroupID: "read",
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd, func(ctx context.Context, s *session) error { return s.scan(ctx, cmd, args[0], f) })
		},
	}
	cmd.Flags().StringVar(&f.list, "select", "", "`columns`, or aggregates alone; empty: all columns")
	cmd.Flags().StringVar(&f.where, "where", "", "keep rows for which this `condition` is true")
	cmd.Flags().Int64Var(&f.limit, "limit", -1, "stop after `n` rows")
	cmd.Flags().Lookup("limit").DefValue = "none"
	addVersion(cmd)
	a.addReading(cmd)
	a.addOutput(cmd)
	return cmd
}

// addReading adds the flags that all commands share which read data.
func (a *app) addReading(cmd *cobra.Command) {
	a.addSettings(cmd.Flags(), config.Read, config.Connect)
	cmd.Flags().Bool("no-prune", false, "read files and row groups that statistics rule out: same rows, other time")
	cmd.Flags().Bool("no-metadata-answers", false, "read data where metadata could answer: same rows, other time")
	cmd.Flags().Bool("no-cache", false, "keep no footers and manifests")
	addExplain(cmd)
	addStats(cmd)
}

// oneTarget is cobra.ExactArgs(1) with a hint.
func oneTarget(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return exit.Usagef("%s needs a TARGET: a table, or Parquet files", cmd.CommandPath()).WithHint("%s demo.trips", cmd.CommandPath())
	}
	e := exit.Usagef("%s takes one TARGET, and %q is a second one", cmd.CommandPath(), args[1])
	if hint := apart(args[1]); hint != "" {
		return e.WithHint("%s", hint)
	}
	return e.WithHint("put quotes around a pattern that the shell would expand")
}

// apart is what to write where the value of a flag that may stand alone came as a word of its own.
func apart(word string) string {
	switch word {
	case "analyze":
		return "--explain=analyze"
	case "text", "json":
		return "--explain=" + word + " or --stats=" + word + ": with an equals sign"
	}
	return ""
}

func (s *session) scan(ctx context.Context, cmd *cobra.Command, target string, f scanFlags) error {
	opts, err := s.scanOptions(cmd, f)
	if err != nil {
		return err
	}
	columns, aggregates, err := parseSelect(f.list)
	if err != nil {
		return err
	}
	if columns != nil {
		opts = append(opts, lakescan.Columns(columns...))
	}
	if mode := explainMode(cmd); mode != "" {
		return s.explainScan(ctx, cmd, mode, target, f, columns, aggregates, opts)
	}
	out, err := s.newOutput(cmd)
	if err != nil {
		return err
	}
	if aggregates != nil {
		err = s.aggregate(ctx, out, target, aggregates, opts)
	} else {
		err = s.scanRows(ctx, cmd, out, target, f.limit, opts)
	}
	return s.finishOutput(cmd, out, s.hintTable(ctx, target, err))
}

// scanRows streams a scan into the output.
func (s *session) scanRows(ctx context.Context, cmd *cobra.Command, out *output, target string, limit int64, opts []lakescan.ScanOption) (err error) {
	r, err := s.client.Scan(ctx, target, opts...)
	if err != nil {
		return err
	}
	defer r.Close()
	s.follow(r.Stats)
	out.progress = s.newProgress(cmd, s.meterText())
	defer out.progress.stop()
	out.first = s.markFirst
	if err := out.begin(r.Schema()); err != nil {
		return err
	}
	if limit != 0 {
		for b, err := range r.All() {
			if err != nil {
				return err
			}
			s.sample()
			if err := out.write(b.Record); err != nil {
				return err
			}
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	return out.end()
}

func (s *session) scanOptions(cmd *cobra.Command, f scanFlags) ([]lakescan.ScanOption, error) {
	opts, err := s.readOptions(cmd)
	if err != nil {
		return nil, err
	}
	if f.where != "" {
		e, err := expr.Parse(f.where)
		if err != nil {
			return nil, err
		}
		opts = append(opts, lakescan.Where(e), lakescan.Zone(s.cfg.Zone()))
	}
	switch {
	case cmd.Flags().Changed("limit") && f.limit < 0:
		return nil, exit.Usagef("--limit %d is negative", f.limit)
	case f.limit >= 0:
		opts = append(opts, lakescan.Limit(max(f.limit, 1)))
	}
	return opts, nil
}

// readOptions are those of scans and statements alike; limits, depth and order come with the client's configuration.
func (s *session) readOptions(cmd *cobra.Command) ([]lakescan.ScanOption, error) {
	var opts []lakescan.ScanOption
	v, err := s.version(cmd)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Snapshot != 0:
		opts = append(opts, lakescan.AtSnapshot(v.Snapshot))
	case v.Ref != "":
		opts = append(opts, lakescan.AtRef(v.Ref))
	case !v.AsOf.IsZero():
		opts = append(opts, lakescan.AsOf(v.AsOf))
	}
	if s.cfg.Bool(config.KeyCase) {
		opts = append(opts, lakescan.CaseSensitive())
	}
	if on, _ := cmd.Flags().GetBool("no-prune"); on {
		opts = append(opts, lakescan.NoPrune())
	}
	if on, _ := cmd.Flags().GetBool("no-metadata-answers"); on {
		opts = append(opts, lakescan.NoMetadataAnswers())
	}
	return opts, nil
}

// parseSelect cuts a select list at its commas: columns, or aggregates alone. An empty list is neither: all columns.
func parseSelect(list string) (columns []string, aggregates []lakescan.Aggregate, err error) {
	if strings.TrimSpace(list) == "" || strings.TrimSpace(list) == "*" {
		return nil, nil, nil
	}
	for _, item := range splitList(list) {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, nil, exit.Usagef("--select %q: an item is empty", list)
		}
		if agg, ok := parseAggregate(item); ok {
			aggregates = append(aggregates, agg)
		} else {
			columns = append(columns, item)
		}
	}
	if columns != nil && aggregates != nil {
		return nil, nil, exit.Usagef("--select %q mixes columns with aggregates", list).WithHint("lakescan query has GROUP BY")
	}
	return columns, aggregates, nil
}

// splitList cuts at commas outside of double quotes and parentheses.
func splitList(s string) []string {
	var out []string
	quoted, depth, start := false, 0, 0
	for i := range len(s) {
		switch s[i] {
		case '"':
			quoted = !quoted
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if !quoted && depth <= 0 {
				out, start = append(out, s[start:i]), i+1
			}
		}
	}
	return append(out, s[start:])
}

// parseAggregate reads name(column) or count(*).
func parseAggregate(item string) (lakescan.Aggregate, bool) {
	name, rest, ok := strings.Cut(item, "(")
	if !ok || strings.Contains(name, `"`) || !strings.HasSuffix(rest, ")") {
		return lakescan.Aggregate{}, false
	}
	column := strings.TrimSpace(strings.TrimSuffix(rest, ")"))
	if column == "*" {
		column = ""
	}
	return lakescan.Aggregate{Func: strings.ToLower(strings.TrimSpace(name)), Column: column}, true
}
