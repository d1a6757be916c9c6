package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/query/render"
)

// output is where one command's rows go: an encoder over stdout or a file.
type output struct {
	a        *app
	format   render.Format
	o        render.Options
	schema   *arrow.Schema
	enc      render.Encoder // nil until the first row
	file     *atomicFile    // nil = stdout
	page     *pager         // nil = none
	to       io.Writer      // instead of both, in memory; nil = no
	progress *progress      // erased before the first row
	results  int            // begun so far
	rows     int64          // of all results
	first    func()         // called before the first row
}

func (a *app) addOutput(cmd *cobra.Command) {
	a.addSettings(cmd.Flags(), config.Output)
	cmd.Flags().String("out", "", "write to `file`, in the format of its name unless -o is given")
	cmd.Flags().BoolP("expanded", "x", false, "table: one line a column")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
}

func formatNames() []cobra.Completion {
	var out []cobra.Completion
	for _, f := range render.Formats {
		out = append(out, string(f))
	}
	return out
}

// newOutput decides format and place; nothing is written before the first result begins.
func (a *app) newOutput(cmd *cobra.Command) (*output, error) {
	out := &output{a: a}
	path, _ := cmd.Flags().GetString("out")
	f := render.Format(a.cfg.Text(config.KeyOutput))
	if f == "auto" {
		f = render.CSV
		if a.outTTY {
			f = render.Table
		}
		if path != "" {
			byName, ok := render.ByExtension(path)
			if !ok {
				return nil, exit.Usagef("--out %s: its name tells no format", path).WithHint("add -o csv, or another format")
			}
			f = byName
		}
	}
	expanded, _ := cmd.Flags().GetBool("expanded")
	if expanded && f != render.Table {
		if a.cfg.Origin(config.KeyOutput) == "--output" {
			return nil, exit.Usagef("-x is for tables, not for %s", f)
		}
		f = render.Table
	}
	out.format = f
	out.o = render.Options{
		Terminal: a.outTTY && path == "", File: path != "", Expanded: expanded, Null: a.cfg.Text(config.KeyNull), Zone: a.cfg.Zone(),
		MaxRows: a.cfg.Int(config.KeyMaxRows), NumbersAsStrings: a.cfg.Text(config.KeyJSONNumbers) == "string", Parquet: newParquet,
	}
	out.o.Color = path == "" && a.color(a.outTTY)
	switch {
	case a.cfg.Text(config.KeyMaxWidth) != "auto":
		out.o.Width = a.cfg.Int(config.KeyMaxWidth)
	case a.outTTY && path == "":
		out.o.Width = a.width()
	}
	if path != "" {
		var err error
		if out.file, err = createAtomic(path); err != nil {
			return nil, err
		}
	}
	if _, err := render.New(io.Discard, f, out.o); err != nil {
		out.abort()
		return nil, err
	}
	if f == render.Table && path == "" && a.outTTY {
		out.page = a.newPager()
	}
	return out, nil
}

// color: the flag beats the environment, which beats what the stream is.
func (a *app) color(tty bool) bool {
	switch a.cfg.Text(config.KeyColor) {
	case "always":
		return true
	case "never":
		return false
	}
	env := func(name string) string { return lookup(a.env, name) }
	return tty && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// begin starts a result. Its head is written with the first rows, or at the end, so that a progress line may stand until then.
func (out *output) begin(schema *arrow.Schema) error {
	if out.results > 0 {
		switch out.format {
		case render.JSON, render.Arrow, render.Parquet:
			return exit.Usagef("%s holds one result, and this is the second", out.format).WithHint("use -o ndjson, or one statement at a time")
		}
	}
	out.results++
	out.enc, out.schema = nil, schema
	return nil
}

// open writes what stands before the first row.
func (out *output) open() error {
	if out.enc != nil {
		return nil
	}
	if out.format != render.Table { // which writes at the end only
		out.hush()
	}
	if out.results > 1 {
		switch out.format {
		case render.Table, render.Markdown, render.CSV, render.TSV:
			if _, err := io.WriteString(out.writer(), "\n"); err != nil {
				return err
			}
		}
	}
	var err error
	if out.enc, err = render.New(out.writer(), out.format, out.o); err != nil {
		return err
	}
	return out.enc.Begin(out.schema)
}

func (out *output) writer() io.Writer {
	switch {
	case out.to != nil:
		return out.to
	case out.file != nil:
		return out.file
	case out.page != nil:
		return out.page
	}
	return out.a.stdout
}

// hush erases the progress line for good where it would stand between rows.
func (out *output) hush() {
	if out.progress != nil && out.file == nil && out.a.outTTY {
		out.progress.stop()
	}
}

func (out *output) write(rec arrow.RecordBatch) error {
	if rec.NumRows() > 0 && out.rows == 0 && out.first != nil {
		out.first()
	}
	if err := out.open(); err != nil {
		return err
	}
	out.rows += rec.NumRows()
	return out.enc.Write(rec)
}

// end ends a result.
func (out *output) end() error {
	out.hush()
	if err := out.open(); err != nil {
		return err
	}
	return out.enc.Close()
}

// close keeps what was written.
func (out *output) close() error {
	if out.page != nil {
		return out.page.Close()
	}
	if out.file != nil {
		return out.file.commit()
	}
	return nil
}

// abort leaves nothing half-written behind.
func (out *output) abort() {
	if out.file != nil {
		out.file.discard()
	}
	if out.page != nil {
		_ = out.page.Close()
	}
}

// atomicFile is written under another name in the same folder and takes its own name when it is whole.
type atomicFile struct {
	*bufio.Writer
	f    *os.File
	path string
}

func createAtomic(path string) (*atomicFile, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, exit.Usagef("--out %s: %v", path, err)
	}
	return &atomicFile{bufio.NewWriterSize(f, 1<<18), f, path}, nil
}

func (a *atomicFile) commit() error { return a.commitAs(0o644) }

func (a *atomicFile) commitAs(mode os.FileMode) error {
	err := errors.Join(a.Flush(), a.f.Chmod(mode), a.f.Close())
	if err == nil {
		err = os.Rename(a.f.Name(), a.path)
	}
	if err != nil {
		os.Remove(a.f.Name())
		return fmt.Errorf("--out %s: %w", a.path, err)
	}
	return nil
}

func (a *atomicFile) discard() {
	a.f.Close()
	os.Remove(a.f.Name())
}
