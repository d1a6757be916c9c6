package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/internal/lab"
)

const benchLong = `Measures scans over links of chosen latency, jitter and bandwidth, and draws what came out. Each scan runs in a process of its own, the
store in another. docs/experiments.md explains the experiments and the plots.

  lakescan bench run experiments/smoke.yaml -o out/smoke
  lakescan bench report out/smoke
  lakescan bench cmp out/before out/after`

func (a *app) benchCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "measure scans over slow links, and draw what came out", Long: benchLong, GroupID: "other", Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchRunCmd(), a.benchReportCmd(), a.benchCmpCmd(), a.benchJobCmd(), a.benchStoreCmd())
	return cmd
}

func (a *app) benchRunCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run MATRIX.yaml", Short: "take the samples of a matrix", Args: oneArg("a matrix file", "lakescan bench run experiments/smoke.yaml"),
		Long: "Takes every sample of a matrix, cells interleaved, and keeps them raw in a folder; then writes the report. It says first how long it will take.\nCtrl-C is safe: the same command goes on where it was.\n\n  lakescan bench run experiments/smoke.yaml\n  lakescan bench run experiments/depth.yaml --dry-run\n  lakescan bench run experiments/files70.yaml -o out/files70 --runs 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			return a.benchRun(cmd, args[0])
		},
	}
	cmd.Flags().StringP("dir", "o", "", "`folder` of the results (default out/NAME)")
	cmd.Flags().Int("runs", 0, "kept `runs` of each cell (default: the matrix's)")
	cmd.Flags().Bool("dry-run", false, "list the cells and the time they will take")
	cmd.Flags().Bool("no-report", false, "samples only")
	return cmd
}

// oneArg demands exactly one argument, someArgs at least one.
func oneArg(what, example string) cobra.PositionalArgs { return argsOf(1, what, example) }

func someArgs(what, example string) cobra.PositionalArgs { return argsOf(1<<20, what, example) }

func argsOf(most int, what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > most {
			return exit.Usagef("%s needs %s", cmd.CommandPath(), what).WithHint("%s", example)
		}
		return nil
	}
}

func (a *app) benchRun(cmd *cobra.Command, file string) error {
	m, err := lab.ReadMatrix(file, a.env)
	if err != nil {
		return benchError(err)
	}
	if n, _ := cmd.Flags().GetInt("runs"); cmd.Flags().Changed("runs") {
		if n < 1 || n > 1000 {
			return exit.Usagef("--runs %d is not in [1, 1000]", n)
		}
		m.Runs = n
	}
	cells := m.Cells()
	fmt.Fprintf(a.stdout, "%s: %d cells, %d+%d rounds, %d scans, about %s\n", m.Name, len(cells), *m.Warmup, m.Runs, m.Scans(), roughly(m.Estimate()))
	if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
		for _, c := range cells {
			warmup, runs := m.Rounds(c)
			fmt.Fprintf(a.stdout, "  %-60s %d+%d runs of %s\n", c.ID(), warmup, runs, roughly(c.Estimate()))
		}
		return nil
	}
	dir, _ := cmd.Flags().GetString("dir")
	if dir == "" {
		dir = filepath.Join("out", m.Name)
	}
	if err := a.takeSamples(cmd, m, dir); err != nil {
		return err
	}
	if skip, _ := cmd.Flags().GetBool("no-report"); skip {
		fmt.Fprintf(a.stdout, "samples in %s\n", dir)
		return nil
	}
	return a.benchReport(dir, "")
}

// takeSamples runs the matrix into a folder.
func (a *app) takeSamples(cmd *cobra.Command, m *lab.Matrix, dir string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	again := func(ctx context.Context, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, self, append([]string{"bench"}, args...)...)
		c.Env = a.env
		detach(c)
		return c
	}
	stack, err := a.benchStack(ctx, m, again)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := stack.Close(); err == nil && cerr != nil {
			a.log.Warn("bench: store", "error", cerr)
		}
	}()
	v := readVersion()
	folder, err := lab.OpenFolder(dir, lab.NewRun(m, shellLine(append([]string{"lakescan"}, os.Args[1:]...)), stack.Name(), lab.ThisMachine(v.Version, v.Commit, v.Dirty)))
	if err != nil {
		return benchError(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	runner := &lab.Runner{Matrix: m, Stack: stack, Folder: folder, Do: lab.InProcess(func(ctx context.Context) *exec.Cmd { return again(ctx, "job") })}
	show := a.benchProgress(cmd)
	runner.Progress = show
	err = runner.Run(ctx)
	show(lab.Progress{})
	if ctx.Err() != nil {
		fmt.Fprintf(a.stderr, "lakescan: %d samples are in %s; the same command goes on\n", len(folder.Samples), dir)
	}
	return err
}

func (a *app) benchStack(ctx context.Context, m *lab.Matrix, again func(context.Context, ...string) *exec.Cmd) (lab.Stack, error) {
	if !m.Store.Own() {
		s, err := lab.StartProxied(ctx, m.Store)
		if err != nil {
			return nil, benchError(err)
		}
		return s, nil
	}
	cmd := again(context.WithoutCancel(ctx), "store") // it ends with its standard input
	cmd.Stderr = a.stderr
	return lab.StartServed(ctx, cmd)
}

// benchProgress rewrites one line on a terminal, and writes one a minute elsewhere. An empty Progress ends it.
func (a *app) benchProgress(cmd *cobra.Command) func(lab.Progress) {
	quiet, _ := cmd.Flags().GetBool("quiet")
	var last time.Time
	return func(p lab.Progress) {
		switch {
		case quiet:
		case p.All == 0 && a.errTTY:
			fmt.Fprint(a.stderr, "\r\x1b[K")
		case p.All == 0:
		case a.errTTY:
			fmt.Fprintf(a.stderr, "\r%d of %d  %s left  %s\x1b[K", p.Done, p.All, roughly(p.Left), p.Cell.ID())
		case time.Since(last) > time.Minute:
			last = time.Now()
			fmt.Fprintf(a.stderr, "%d of %d scans, %s left\n", p.Done, p.All, roughly(p.Left))
		}
	}
}

// roughly rounds a time for people.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// benchError gives faults of a matrix or a folder the class of wrong usage.
func benchError(err error) error {
	if errors.Is(err, lab.ErrMatrix) || errors.Is(err, lab.ErrOtherMatrix) {
		return exit.Usagef("%v", err)
	}
	return err
}

// benchJobCmd is the process of one scan.
func (a *app) benchJobCmd() *cobra.Command {
	return &cobra.Command{Use: "job", Short: "run one scan of a matrix", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		var j lab.Job
		if err := json.NewDecoder(a.in).Decode(&j); err != nil {
			return err
		}
		s, err := lab.Do(cmd.Context(), j, a.env)
		o := lab.Outcome{Sample: s}
		if err != nil {
			o = lab.Outcome{Error: err.Error(), Wrong: errors.Is(err, lab.ErrWrongRows)}
		}
		_, err = a.stdout.Write(append(mustJSON(o), '\n'))
		return err
	}}
}

// benchStoreCmd is the process of the store; it ends with its standard input.
func (a *app) benchStoreCmd() *cobra.Command {
	return &cobra.Command{Use: "store", Short: "serve generated tables", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		go func() { _, _ = io.Copy(io.Discard, a.in); cancel() }() // ends with the process
		return lab.Serve(ctx, func(url string) { fmt.Fprintln(a.stdout, url) })
	}}
}
