package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lakescan/lakescan/internal/exit"
)

const replHelp = `\d [TABLE]        describe a table, or list all
\dt [NS]          list tables
\x                a line a column, or a table again
\o [FILE]         each result goes to this file, which is written anew; alone: back to the screen
\timing           tell how long each statement took
\explain [SQL]    the plan of one statement; alone: of every statement from now on, or not any more
\at [TIME]        tables as they were at this time; alone: as they are
\set NAME VALUE   bind $NAME to a value
\q                leave
A statement ends with ; and may take several lines. Ctrl-C ends the statement that runs, or drops
what is typed.
`

// command runs a line that begins with a backslash; true = leave.
func (r *repl) command(ctx context.Context, line string) (leave bool, err error) {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if n := len(rest); n > 2 && rest[0] == '\'' && strings.IndexByte(rest[1:], '\'') == n-2 { // as SQL names a file
		rest = rest[1 : n-1]
	}
	switch name {
	case `\q`:
		return true, nil
	case `\?`:
		_, err = io.WriteString(r.stdout, replHelp)
	case `\d`:
		if rest == "" {
			return false, r.verb(ctx, "tables")
		}
		return false, r.verb(ctx, "describe", rest)
	case `\dt`:
		return false, r.verb(ctx, "tables", strings.Fields(rest)...)
	case `\x`:
		on, _ := r.cmd.Flags().GetBool("expanded")
		return false, r.set("expanded", fmt.Sprint(!on), "expanded display", onOff(!on))
	case `\o`:
		return false, r.set("out", rest, "results go to", orScreen(rest))
	case `\timing`:
		r.timing = !r.timing
		r.say("timing is %s", onOff(r.timing))
	case `\explain`:
		return false, r.explain(ctx, rest)
	case `\at`:
		return false, r.at(rest)
	case `\set`:
		return false, r.setParam(rest)
	default:
		return false, exit.Usagef("no command %s", name).WithHint(`\?`)
	}
	return false, err
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func orScreen(file string) string {
	if file == "" {
		return "the screen"
	}
	return file
}

func (r *repl) say(format string, args ...any) { fmt.Fprintf(r.stdout, format+"\n", args...) }

// set changes a flag of the query command, which the next statement reads.
func (r *repl) set(flag, value, what, state string) error {
	if err := r.cmd.Flags().Set(flag, value); err != nil {
		return exit.Usagef("%v", err)
	}
	r.say("%s %s", what, state)
	return nil
}

func (r *repl) explain(ctx context.Context, sql string) error {
	if sql == "" {
		r.plan = !r.plan
		r.say("explain is %s", onOff(r.plan))
		return nil
	}
	was, text := r.plan, r.text
	r.plan = true
	r.text = ""
	r.take(ctx, sql+";")
	r.plan, r.text = was, text
	return nil
}

func (r *repl) at(text string) error {
	f := r.cmd.Flags().Lookup("at")
	was := f.Value.String()
	if err := f.Value.Set(text); err != nil {
		return exit.Usagef("%v", err)
	}
	f.Changed = text != ""
	if _, err := r.version(r.cmd); err != nil {
		_ = f.Value.Set(was)
		f.Changed = was != ""
		return err
	}
	if text == "" {
		r.say("tables as they are")
	} else {
		r.say("tables as they were at %s", text)
	}
	return nil
}

func (r *repl) setParam(text string) error {
	name, value, ok := strings.Cut(text, " ")
	if n, v, found := strings.Cut(text, "="); found && !strings.Contains(n, " ") {
		name, value, ok = n, v, true
	}
	if !ok || name == "" {
		return exit.Usagef(`\set takes a name and a value`)
	}
	r.flags.params = append(r.flags.params, name+"="+strings.TrimSpace(value))
	return nil
}

// verb runs another command with the settings of this one.
func (r *repl) verb(ctx context.Context, name string, args ...string) error {
	b := &app{streams: r.streams, started: r.started, stdout: r.stdout, stderr: r.stderr, log: r.log, folder: r.folder}
	root := b.root()
	sub, _, err := root.Find([]string{name})
	if err != nil {
		return err
	}
	line := []string{name}
	for _, f := range changedSettings(r.cmd) {
		if sub.Flags().Lookup(f.Name) == nil && root.PersistentFlags().Lookup(f.Name) == nil {
			continue
		}
		for _, v := range f.Value.(*text).set {
			line = append(line, "--"+f.Name+"="+v)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.interrupt.Store(&cancel)
	defer r.interrupt.Store(nil)
	root.SetArgs(append(append(line, "--"), args...))
	return root.ExecuteContext(ctx)
}
