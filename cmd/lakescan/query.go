package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/query"
	"github.com/lakescan/lakescan/query/duckdb"
)

const queryLong = `Runs SQL over tables and Parquet paths. Reading only; DuckDB's dialect, in builds that have it.

  lakescan query "select region, sum(fare) from demo.trips group by region order by 2 desc"
  lakescan query "select count(*) from 's3://bucket/logs/*.parquet' where ts > \$since" --set since=2026-08-01T00:00Z
  lakescan query -f report.sql -o ndjson | jq .

Without any SQL, on a terminal, there is a prompt: history, completion by Tab, \? for help. SQL is an argument, -c
(repeatable), -f FILE (repeatable, - is stdin) or stdin. A semicolon separates statements. EXPLAIN in front of one is --explain.
$name is bound as text, which takes the type that it is compared with; elsewhere write $name::int.
Time travel: from t AT (VERSION => 5123), AT (TIMESTAMP => '…'), or FOR VERSION AS OF.`

type queryFlags struct {
	commands, files []string
	params          []string
	ignore          bool
}

func (a *app) queryCmd() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use: "query [SQL]", Short: "run SQL over tables and Parquet files", Long: queryLong, GroupID: "read",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			if a.wantsPrompt(args, f) {
				return a.withClient(cmd, func(ctx context.Context, s *session) error { return s.prompt(ctx, cmd, f) })
			}
			texts, err := a.readSQL(args, f)
			if err != nil {
				return err
			}
			return a.withClient(cmd, func(ctx context.Context, s *session) error { return s.statements(ctx, cmd, texts, f) })
		},
	}
	cmd.Flags().StringArrayVarP(&f.commands, "command", "c", nil, "run this `SQL`; repeatable")
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil, "run the SQL in `file`, - for stdin; repeatable")
	cmd.Flags().StringArrayVar(&f.params, "set", nil, "bind $name to a value (`name=value`); repeatable")
	cmd.Flags().BoolP("no-rc", "X", false, "prompt: leave out the startup file lakescan/rc of the configuration folder")
	cmd.Flags().BoolVar(&f.ignore, "ignore-errors", false, "go on with the next statement; exit code 3 if any failed")
	addVersion(cmd)
	a.addReading(cmd)
	a.addOutput(cmd)
	return cmd
}

// wantsPrompt: no SQL anywhere, and a person at both ends.
func (a *app) wantsPrompt(args []string, f queryFlags) bool {
	return len(args)+len(f.commands)+len(f.files) == 0 && a.inTTY && a.outTTY && duckdb.Version != ""
}

// readSQL gathers the texts in the order: argument, -c, -f, else stdin.
func (a *app) readSQL(args []string, f queryFlags) ([]string, error) {
	if len(args) > 1 {
		e := exit.Usagef("%q is a second argument: SQL is one argument", args[1])
		if hint := apart(args[1]); hint != "" {
			return nil, e.WithHint("%s", hint)
		}
		return nil, e.WithHint("put quotes around the SQL")
	}
	if len(args) == 1 && namesFile(args[0]) {
		return nil, exit.Usagef("%q is a file, not SQL", args[0]).WithHint("lakescan query -f %s runs it, \"from '%s'\" reads it", args[0], args[0])
	}
	texts := append(append([]string{}, args...), f.commands...)
	for _, name := range f.files {
		body, err := a.readFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, body)
	}
	if len(texts) > 0 {
		return texts, nil
	}
	if a.inTTY {
		return nil, exit.Usagef("no SQL given").WithHint(`lakescan query "select 1", -f FILE, or SQL on stdin`)
	}
	body, err := a.readFile("-")
	return []string{body}, err
}

// namesFile tells a word that is no statement.
func namesFile(text string) bool {
	if strings.ContainsAny(text, " \n;") {
		return false
	}
	st, err := os.Stat(text)
	return err == nil && st.Mode().IsRegular()
}

// maxSQL bounds what is read as SQL: a data file given by mistake is not.
const maxSQL = 16 << 20

func (a *app) readFile(name string) (string, error) {
	r := io.Reader(a.in)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", exit.Usagef("-f %v", err)
		}
		defer f.Close()
		r = f
	}
	body, err := io.ReadAll(io.LimitReader(r, maxSQL+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("-f %s: %w", name, err)
	case len(body) > maxSQL:
		return "", exit.Usagef("-f %s is larger than %s", name, config.HumanSize(maxSQL))
	}
	return string(body), nil
}

func (s *session) statements(ctx context.Context, cmd *cobra.Command, texts []string, f queryFlags) error {
	opts, err := s.queryOptions(cmd, f)
	if err != nil {
		return err
	}
	var parts []query.Part
	for _, t := range texts {
		parts = append(parts, query.Split(t)...)
	}
	if len(parts) == 0 {
		return exit.Usagef("the SQL is empty")
	}
	out, err := s.newOutput(cmd)
	if err != nil {
		return err
	}
	s.engine = s.client.Engine()
	failed := 0
	for _, p := range parts {
		err = s.hintTable(ctx, "", s.statement(ctx, cmd, out, p, opts))
		if err == nil || !f.ignore || ctx.Err() != nil || errors.Is(err, errQuiet) {
			if err != nil {
				break
			}
			continue
		}
		failed++
		s.complain(err)
		err = nil
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%w: %d of %d statements failed", exit.ErrPartial, failed, len(parts))
	}
	if errors.Is(err, exit.ErrPartial) { // what the others gave is kept
		return errors.Join(s.finishOutput(cmd, out, nil), err)
	}
	return s.finishOutput(cmd, out, err)
}

// complain prints an error that does not end the run.
func (s *session) complain(err error) {
	o := exit.Describe(err, &s.redact)
	if s.jsonError {
		_, _ = s.stderr.Write(o.JSON())
		return
	}
	_, _ = io.WriteString(s.stderr, o.Text())
}

func (s *session) statement(ctx context.Context, cmd *cobra.Command, out *output, p query.Part, opts []lakescan.QueryOption) error {
	mode := explainMode(cmd)
	switch {
	case mode != "":
	case p.Explain == query.ExplainAnalyze:
		mode = "analyze"
	case p.Explain == query.ExplainPlan && p.JSON:
		mode = "json"
	case p.Explain == query.ExplainPlan:
		mode = "text"
	}
	if mode != "" {
		return s.explainQuery(ctx, mode, p.SQL, opts)
	}
	r, err := s.client.Query(ctx, p.SQL, opts...)
	if err != nil {
		return err
	}
	defer r.Close()
	s.follow(r.Scan)
	out.progress = s.newProgress(cmd, s.meterText())
	defer out.progress.stop()
	out.first = s.markFirst
	if err := out.begin(r.Schema()); err != nil {
		return err
	}
	for b, err := range r.All() {
		if err != nil {
			return err
		}
		s.sample()
		if err := out.write(b); err != nil {
			return err
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	return out.end()
}

func (s *session) queryOptions(cmd *cobra.Command, f queryFlags) ([]lakescan.QueryOption, error) {
	v, err := s.version(cmd)
	if err != nil {
		return nil, err
	}
	opts := []lakescan.QueryOption{lakescan.QueryVersion(v), lakescan.QueryZone(s.cfg.Text(config.KeyZone))}
	scan := []lakescan.ScanOption{}
	if s.cfg.Bool(config.KeyCase) {
		scan = append(scan, lakescan.CaseSensitive())
	}
	if on, _ := cmd.Flags().GetBool("no-prune"); on {
		opts = append(opts, lakescan.QueryNoPrune())
	}
	if on, _ := cmd.Flags().GetBool("no-metadata-answers"); on {
		scan = append(scan, lakescan.NoMetadataAnswers())
	}
	opts = append(opts, lakescan.QueryScan(scan...))
	for _, p := range f.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--set %q is not name=value", p)
		}
		opts = append(opts, lakescan.Param(strings.TrimPrefix(name, "$"), value))
	}
	return opts, nil
}

// explainQuery prints a block per table reference, then the engine's own tree.
func (s *session) explainQuery(ctx context.Context, mode, sql string, opts []lakescan.QueryOption) error {
	e, err := s.client.ExplainQuery(ctx, sql, opts...)
	if err != nil {
		return err
	}
	blocks := make([]scanBlock, len(e.References))
	for i, ref := range e.References {
		blocks[i] = newBlock(ref, s)
	}
	if mode == "json" {
		_, err := s.stdout.Write(append(mustJSON(map[string]any{"scans": blocks, "engine": e.Engine, "plan": e.Plan}), '\n'))
		return err
	}
	var b strings.Builder
	for _, x := range blocks {
		b.WriteString(x.text())
	}
	b.WriteString(e.Engine + "\n" + strings.TrimRight(e.Plan, "\n") + "\n")
	if mode == "analyze" {
		if err := s.analyzeQuery(ctx, &b, sql, opts); err != nil {
			return err
		}
	}
	_, err = io.WriteString(s.stdout, b.String())
	return err
}

// analyzeQuery runs the statement, drops the rows, and adds what it cost.
func (s *session) analyzeQuery(ctx context.Context, b *strings.Builder, sql string, opts []lakescan.QueryOption) error {
	r, err := s.client.Query(ctx, sql, opts...)
	if err != nil {
		return err
	}
	defer r.Close()
	s.follow(r.Scan)
	for _, err := range r.All() {
		if err != nil {
			return err
		}
		s.sample()
	}
	if err := r.Close(); err != nil {
		return err
	}
	st := s.runStats(nil, nil)
	st.Rows = r.Stats().Rows
	b.WriteString(st.text())
	return nil
}
