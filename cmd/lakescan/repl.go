package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/query"
)

// repl is the prompt: statements end with a semicolon, commands begin with a backslash.
type repl struct {
	*session
	cmd    *cobra.Command
	flags  queryFlags
	lines  lineReader
	names  *names
	timing bool
	plan   bool   // statements are explained, not run
	text   string // of a statement that has no semicolon yet
	failed bool
}

// lineReader is the terminal; liner.State is one.
type lineReader interface {
	Prompt(prompt string) (string, error)
	AppendHistory(line string)
	Close() error
}

// prompt runs until \q or the end of input. Ctrl-C ends the statement that runs, or drops the text that is being typed.
func (s *session) prompt(ctx context.Context, cmd *cobra.Command, f queryFlags) error {
	term := liner.NewLiner()
	defer term.Close()
	term.SetCtrlCAborts(true)
	term.SetTabCompletionStyle(liner.TabPrints)
	r := &repl{session: s, cmd: cmd, flags: f, lines: term, names: newNames(s.client)}
	term.SetWordCompleter(func(line string, pos int) (string, []string, string) { return r.names.complete(ctx, line, pos) })
	history := s.historyFile()
	if h, err := os.Open(history); err == nil {
		_, _ = term.ReadHistory(h) // a history that cannot be read is no history
		h.Close()
	}
	defer saveHistory(term, history, s.warn)
	s.engine = s.client.Engine()
	if noRC, _ := cmd.Flags().GetBool("no-rc"); !noRC {
		if err := r.startup(ctx); err != nil {
			return err
		}
	}
	if on, _ := cmd.Flags().GetBool("quiet"); !on {
		fmt.Fprintf(s.stdout, "lakescan, %s. A statement ends with ; — \\? for help, \\q to leave.\n", s.engine)
	}
	return r.loop(ctx)
}

func (s *session) warn(format string, args ...any) {
	fmt.Fprintf(s.stderr, "lakescan: "+format+"\n", args...)
}

func (r *repl) loop(ctx context.Context) error {
	for {
		line, err := r.lines.Prompt(r.promptText())
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			r.text = ""
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(r.stdout)
			return nil
		case err != nil:
			return fmt.Errorf("prompt: %w", err)
		}
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") {
			r.lines.AppendHistory(line)
		}
		if leave := r.take(ctx, line); leave {
			return nil
		}
		if r.stdout.closed.Load() {
			return errQuiet
		}
	}
}

func (r *repl) promptText() string {
	name := r.cfg.Client(r.log).CatalogName
	if name == "" {
		name = "default"
	}
	if r.text == "" {
		return name + "> "
	}
	return strings.Repeat(" ", max(len(name)-1, 0)) + "-> "
}

// take handles one line; true = leave.
func (r *repl) take(ctx context.Context, line string) bool {
	if r.text == "" {
		word := strings.TrimSpace(line)
		switch strings.TrimSuffix(strings.ToLower(word), ";") {
		case "":
			return false
		case "exit", "quit", ".exit", ".quit":
			return true
		case "help", ".help":
			word = `\?`
		}
		if strings.HasPrefix(word, `\`) {
			leave, err := r.command(ctx, strings.TrimSuffix(word, ";"))
			r.told(ctx, err)
			return leave
		}
	}
	if strings.HasPrefix(strings.TrimSpace(line), `\`) && !r.inQuotes() {
		leave, err := r.command(ctx, strings.TrimSuffix(strings.TrimSpace(line), ";"))
		r.told(ctx, err)
		return leave
	}
	r.text += line + "\n"
	parts := query.Split(r.text)
	for i, p := range parts {
		if !p.Terminated {
			if i > 0 { // what has run goes, with its semicolon
				end := parts[i-1].Offset + len(parts[i-1].SQL)
				r.text = r.text[end+query.Lex(r.text[end:])[0].End:]
			}
			return false
		}
		r.told(ctx, r.run(ctx, p))
	}
	r.text = ""
	return false
}

// inQuotes reports whether the statement so far ends inside a string, a quoted name or a comment.
func (r *repl) inQuotes() bool {
	toks := query.Lex(r.text)
	return len(toks) > 0 && toks[len(toks)-1].Kind == query.TokenUnterminated
}

// told prints an error; the prompt goes on.
func (r *repl) told(ctx context.Context, err error) {
	if err == nil || errors.Is(err, errQuiet) {
		return
	}
	r.failed = true
	o := exit.Describe(r.explainError(err), &r.redact)
	if hint := r.originHint(err, o.Code); hint != "" {
		o.Hint = r.redact.Clean(hint)
	}
	_, _ = io.WriteString(r.stderr, o.Text())
}

// run is one statement, ended by Ctrl-C.
func (r *repl) run(ctx context.Context, p query.Part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.interrupt.Store(&cancel)
	defer r.interrupt.Store(nil)
	r.started, r.firstRow, r.peak, r.peakSQL = time.Now(), time.Time{}, 0, 0
	opts, err := r.queryOptions(r.cmd, r.flagsFor(p.SQL))
	if err != nil {
		return err
	}
	if r.plan && p.Explain == query.ExplainNone {
		p.Explain = query.ExplainPlan
	}
	out, err := r.newOutput(r.cmd)
	if err != nil {
		return err
	}
	err = r.hintTable(ctx, "", r.statement(ctx, r.cmd, out, p, opts))
	err = r.finishOutput(r.cmd, out, r.cause(ctx, err))
	if r.timing {
		fmt.Fprintf(r.stdout, "%.3f s\n", time.Since(r.started).Seconds())
	}
	return err
}

// flagsFor leaves out the values of parameters that the statement does not name, which would be an error.
func (r *repl) flagsFor(sql string) queryFlags {
	f := r.flags
	f.params = nil
	for _, p := range r.flags.params {
		if name, _, _ := strings.Cut(p, "="); strings.Contains(strings.ToLower(sql), "$"+strings.ToLower(strings.TrimPrefix(name, "$"))) {
			f.params = append(f.params, p)
		}
	}
	return f
}

// startup runs the file rc beside the configuration, line by line, as if it were typed.
func (r *repl) startup(ctx context.Context) error {
	base := lookup(r.env, "XDG_CONFIG_HOME")
	if base == "" {
		base = filepath.Join(lookup(r.env, "HOME"), ".config")
	}
	body, err := os.ReadFile(filepath.Join(base, "lakescan", "rc"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return exit.Usagef("%v", err).WithHint("-X leaves it out")
	}
	for line := range strings.Lines(string(body)) {
		if r.take(ctx, strings.TrimRight(line, "\r\n")) {
			break
		}
	}
	r.text = ""
	return nil
}

func (s *session) historyFile() string {
	base := lookup(s.env, "XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(lookup(s.env, "HOME"), ".local", "state")
	}
	return filepath.Join(base, "lakescan", "history")
}

// saveHistory writes a file that only its owner reads: statements hold what people search for.
func saveHistory(term *liner.State, path string, warn func(string, ...any)) {
	var b bytes.Buffer
	_, err := term.WriteHistory(&b)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		var f *atomicFile
		if f, err = createAtomic(path); err == nil {
			_, err = f.Write(b.Bytes())
			if err == nil {
				err = f.commitAs(0o600)
			} else {
				f.discard()
			}
		}
	}
	if err != nil {
		warn("the history is not kept: %v", err)
	}
}
