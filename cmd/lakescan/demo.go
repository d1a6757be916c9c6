package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/query/duckdb"
)

const demoLong = `Starts an S3 store, an Iceberg REST catalog and a sample table on this machine, runs a query, its plan, and the same scan
with and without look-ahead over 100 ms of latency; then ends them. Nothing has to be installed.

  lakescan demo
  lakescan demo serve
  lakescan demo serve --latency 50`

func (a *app) demoCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "a real query on a lake that starts and ends with it", Long: demoLong, GroupID: "other", Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			return a.demo(cmd.Context())
		},
	}
	serve := &cobra.Command{
		Use: "serve", Short: "keep the demo lake running until Ctrl-C", Args: cobra.NoArgs,
		Long: "Keeps the store, the catalog and their slow twins running, and prints how to reach them.\n\n  lakescan demo serve\n  lakescan demo serve --latency 50\n  lakescan demo serve --s3 127.0.0.1:9000 --rest 127.0.0.1:8181",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demoServe(cmd) },
	}
	serve.Flags().Int("latency", 100, "`milliseconds` that the slow store adds to each answer")
	serve.Flags().String("s3", "127.0.0.1:0", "`address` of the store")
	serve.Flags().String("rest", "127.0.0.1:0", "`address` of the catalog")
	cmd.AddCommand(serve)
	return cmd
}

const demoProgram = "lakescan-demo"

// findDemo looks beside this program, then in PATH.
func findDemo() (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), demoProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(demoProgram)
	if err != nil {
		return "", exit.Usagef("%s is neither beside lakescan nor in PATH", demoProgram).WithHint("make build, or the release archive, which holds both")
	}
	return path, nil
}

func (a *app) demoServe(cmd *cobra.Command) error {
	if err := a.setup(cmd); err != nil {
		return err
	}
	path, err := findDemo()
	if err != nil {
		return err
	}
	args := []string{"serve"}
	for _, name := range []string{"latency", "s3", "rest"} {
		args = append(args, "-"+name, cmd.Flags().Lookup(name).Value.String())
	}
	child := exec.CommandContext(cmd.Context(), path, args...)
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	child.WaitDelay = drain
	child.Stderr, child.Env = a.err, a.env // what it says is on stderr; the store below it prints a line on stdout
	err = child.Run()
	if cmd.Context().Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return err
}

// demoLake is what the child says of itself once it is up.
type demoLake struct {
	S3        string `json:"s3"`
	SlowS3    string `json:"slow_s3"`
	LatencyMS int    `json:"latency_ms"`
	REST      string `json:"rest"`
	SlowREST  string `json:"slow_rest"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Region    string `json:"region"`
	Table     string `json:"table"`
}

// startDemo runs the child. It ends when its stdin is closed, so it does not outlive this process, however that ends.
func (a *app) startDemo(ctx context.Context) (lake demoLake, stop func(), err error) {
	path, err := findDemo()
	if err != nil {
		return lake, nil, err
	}
	ready, write, err := os.Pipe()
	if err != nil {
		return lake, nil, err
	}
	defer ready.Close()
	child := exec.CommandContext(ctx, path, "serve", "-ready-fd", "3")
	child.ExtraFiles = []*os.File{write}
	child.Env, child.Stderr = a.env, a.stderr
	child.WaitDelay = drain
	stdin, err := child.StdinPipe()
	if err != nil {
		return lake, nil, err
	}
	if err := child.Start(); err != nil {
		write.Close()
		return lake, nil, err
	}
	write.Close()
	stop = func() {
		stdin.Close()
		_ = child.Wait()
	}
	line, err := bufio.NewReader(io.LimitReader(ready, 1<<16)).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &lake)
	}
	if err != nil {
		stop()
		return lake, nil, fmt.Errorf("%s did not start: %w", demoProgram, err)
	}
	return lake, stop, nil
}

func (a *app) demo(ctx context.Context) error {
	empty, err := os.MkdirTemp("", "lakescan-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(empty)
	a.folder = empty
	lake, stop, err := a.startDemo(ctx)
	if err != nil {
		return err
	}
	defer stop()
	a.redact.Add(lake.SecretKey)
	say := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	say("A lake on this machine: store %s, catalog %s, table %s.\n", lake.S3, lake.REST, lake.Table)
	for _, args := range demoSteps(lake) {
		if err := a.demoStep(ctx, lake, args); err != nil {
			return err
		}
	}
	if err := a.demoLookAhead(ctx, lake); err != nil {
		return err
	}
	say("Your own lake:\n  lakescan tables --uri https://catalog.example/api\n  lakescan describe \"s3://bucket/path/file.parquet\"\n  lakescan config show\nThe demo lake again, to play with: lakescan demo serve")
	return nil
}

func demoSteps(lake demoLake) [][]string {
	sql := "select region, count(*) as trips, round(avg(fare), 2) as fare from " + lake.Table + " where pickup >= '2025-06-01' group by region order by trips desc"
	scan := []string{"scan", lake.Table, "--where", "pickup >= DATE '2025-06-01'", "--limit", "5"}
	steps := [][]string{append(append([]string{}, scan...), "--stats")}
	if duckdb.Version != "" {
		steps = [][]string{{"query", sql, "--stats"}}
	}
	return append(steps, append(append([]string{}, scan[:4]...), "--explain"))
}

// demoStep prints a command and runs it in this process.
func (a *app) demoStep(ctx context.Context, lake demoLake, args []string) error {
	fmt.Fprintf(a.stdout, "$ lakescan %s\n", shellLine(args))
	err := a.again(ctx, append(args, "--uri", lake.REST, "--output", "table"), a.stdout)
	fmt.Fprintln(a.stdout)
	return err
}

// again runs a command in this process with a configuration of its own.
func (a *app) again(ctx context.Context, args []string, out io.Writer) error {
	b := a.alone(a.stderr, out)
	root := b.root()
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// alone is a run without the user's settings: those of another lake would not fit this one.
func (a *app) alone(stderr, stdout io.Writer) *app {
	b := &app{streams: a.streams, started: time.Now(), stderr: stderr, log: a.log, stdout: &pipe{w: stdout}, folder: a.folder}
	b.env = slices.DeleteFunc(slices.Clone(a.env), func(v string) bool {
		return strings.HasPrefix(v, "LAKESCAN_") || strings.HasPrefix(v, "PYICEBERG_") || strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "XDG_CONFIG_HOME=")
	})
	return b
}

// demoLookAhead scans behind latency, without look-ahead and with it.
func (a *app) demoLookAhead(ctx context.Context, lake demoLake) error {
	fmt.Fprintf(a.stdout, "The same table behind %d ms of latency, read whole:\n\n", lake.LatencyMS)
	fmt.Fprintf(a.stdout, "  %-28s %10s %10s %8s\n", "", "seconds", "requests", "speed-up")
	var base float64
	for _, depth := range []string{"0", "auto"} {
		var b demoRun
		if err := b.run(ctx, a, []string{"scan", lake.Table, "--uri", lake.SlowREST, "--max-files-to-prefetch", depth, "--output", "null", "--stats=json"}); err != nil {
			return err
		}
		s := float64(b.stats.WallMS) / 1000
		if base == 0 {
			base = s
		}
		fmt.Fprintf(a.stdout, "  %-28s %10.2f %10d %7.1fx\n", "--max-files-to-prefetch "+depth, s, b.requests(), base/s)
	}
	fmt.Fprintln(a.stdout)
	return nil
}

// demoRun is one run whose figures are wanted.
type demoRun struct{ stats runStats }

func (r *demoRun) run(ctx context.Context, a *app, args []string) error {
	var figures strings.Builder
	b := a.alone(&figures, io.Discard)
	b.errTTY = false
	root := b.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(figures.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r.stats); err != nil {
		return errors.Join(errors.New("the figures of a run are unreadable"), err)
	}
	return nil
}

func (r *demoRun) requests() (n int64) {
	for _, k := range r.stats.Requests {
		n += k
	}
	return n
}

// shellLine quotes what a shell would take apart.
func shellLine(args []string) string {
	out := make([]string, len(args))
	for i, s := range args {
		if strings.ContainsAny(s, " '\"()*<>&|;$") {
			s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s) + `"`
		}
		out[i] = s
	}
	return strings.Join(out, " ")
}
