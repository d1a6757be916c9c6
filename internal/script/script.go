// Package script runs text scripts against a decision struct: events in, decisions out.
//
// A file is a list of steps. A step is one or more lines of input, a line "----", and the expected output up to a blank
// line. Lines that begin with # outside a step's output are comments. With -rewrite the outputs are replaced by what the
// code says; read the difference before you keep it.
//
// Tests only; a file is run by one goroutine.
package script

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected outputs of text scripts by the real ones")

// Line is one line of input: a command, its bare arguments, and its key=value arguments.
type Line struct {
	Cmd  string
	Args []string
	keys map[string]string
	t    testing.TB
	at   string
}

// Has reports whether a bare argument is there.
func (l Line) Has(arg string) bool {
	for _, a := range l.Args {
		if a == arg {
			return true
		}
	}
	return false
}

// Arg is the i-th bare argument.
func (l Line) Arg(i int) string {
	l.t.Helper()
	if i >= len(l.Args) {
		l.t.Fatalf("%s: %s wants %d arguments", l.at, l.Cmd, i+1)
	}
	return l.Args[i]
}

// Text is the value of a key, or def.
func (l Line) Text(key, def string) string {
	if v, ok := l.keys[key]; ok {
		return v
	}
	return def
}

// Int is the value of a key, or def.
func (l Line) Int(key string, def int64) int64 {
	l.t.Helper()
	v, ok := l.keys[key]
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		l.t.Fatalf("%s: %s=%s: %v", l.at, key, v, err)
	}
	return n
}

// Float is the value of a key, or def.
func (l Line) Float(key string, def float64) float64 {
	l.t.Helper()
	v, ok := l.keys[key]
	if !ok {
		return def
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil {
		l.t.Fatalf("%s: %s=%s: %v", l.at, key, v, err)
	}
	return n
}

// Run runs every file that matches the pattern, each as a subtest. fresh makes the machine of one file: a function that
// takes a line and returns what the step prints for it ("" = nothing).
func Run(t *testing.T, pattern string, fresh func(t testing.TB) func(Line) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("script: %s matches no file (%v)", pattern, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), filepath.Ext(f)), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, f, string(text), fresh(t))
			if *rewrite && got != string(text) {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs one file and returns it with real outputs.
func play(t testing.TB, name, text string, step func(Line) string) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		if s := strings.TrimSpace(lines[i]); s == "" || s[0] == '#' {
			b.WriteString(lines[i] + "\n")
			i++
			continue
		}
		first := i
		var out strings.Builder
		for ; i < len(lines) && lines[i] != "----"; i++ {
			b.WriteString(lines[i] + "\n")
			if s := step(parse(t, fmt.Sprintf("%s:%d", name, i+1), lines[i])); s != "" {
				out.WriteString(strings.TrimRight(s, "\n") + "\n")
			}
		}
		b.WriteString("----\n")
		var want strings.Builder
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want.WriteString(lines[i] + "\n")
		}
		if got := out.String(); got != want.String() && !*rewrite {
			t.Errorf("%s:%d: got\n%swant\n%s", name, first+1, got, want.String())
		}
		b.WriteString(out.String())
	}
	return b.String()
}

func parse(t testing.TB, at, line string) Line {
	f := strings.Fields(line)
	if len(f) == 0 {
		t.Fatalf("%s: a blank line inside a step", at)
	}
	l := Line{Cmd: f[0], keys: map[string]string{}, t: t, at: at}
	for _, a := range f[1:] {
		if k, v, ok := strings.Cut(a, "="); ok {
			l.keys[k] = v
		} else {
			l.Args = append(l.Args, a)
		}
	}
	return l
}
