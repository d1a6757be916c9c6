package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed *.mutant
var folder embed.FS

const (
	killed    = "killed"
	survived  = "SURVIVED"
	unapplied = "NO LONGER APPLIES"
	unbuilt   = "DOES NOT BUILD"
)

// testLimit ends a test that a mutant makes wait for ever; that is a failure of the test too.
const testLimit = "60s"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// load parses the mutants whose file name contains one of the words; all if there are none.
func load(words []string) ([]mutant, error) {
	names, err := fs.Glob(folder, "*.mutant")
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, name := range names {
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) }) {
			continue
		}
		text, err := folder.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no mutant is named like %q", words)
	}
	return all, nil
}

// run tries the mutants in the order of their file names; ok if all are killed.
func run(ctx context.Context, words []string, out io.Writer) (ok bool, err error) {
	all, err := load(words)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	start, dead := time.Now(), 0
	for _, m := range all {
		began := time.Now()
		end, why, err := m.try(ctx, dir)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(out, "%-17s %5.1f s  %s\n", end, time.Since(began).Seconds(), m.name)
		if end == killed {
			dead++
		} else if why != "" {
			fmt.Fprintf(out, "    %s\n", strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n    "))
		}
	}
	fmt.Fprintf(out, "%d of %d mutants killed in %.0f s\n", dead, len(all), time.Since(start).Seconds())
	return dead == len(all), nil
}

// try gives the end of one mutant and, unless it was killed, what the go command said. An error means that nothing was learnt.
func (m *mutant) try(ctx context.Context, dir string) (end, why string, err error) {
	source, err := os.ReadFile(filepath.FromSlash(m.file))
	if errors.Is(err, fs.ErrNotExist) {
		return unapplied, err.Error(), nil
	}
	if err != nil {
		return "", "", err
	}
	changed, err := m.apply(string(source))
	if err != nil {
		return unapplied, err.Error(), nil
	}
	overlay, err := m.overlay(dir, changed)
	if err != nil {
		return "", "", err
	}
	// Vet stays off: a wrong change that only vet objects to is still to be caught by the test.
	test := func(args ...string) (string, error) {
		args = append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout", testLimit}, args...)
		said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return string(said), err
	}
	var failed *exec.ExitError
	said, err := test("-run", "^$", m.test[0])
	switch {
	case errors.As(err, &failed):
		return unbuilt, said, nil
	case err != nil:
		return "", "", err
	}
	said, err = test(m.test...)
	switch {
	case errors.As(err, &failed) && strings.Contains(said, "FAIL\t"):
		return killed, said, nil
	case err != nil:
		return "", "", fmt.Errorf("%w\n%s", err, said) // the go command did not come as far as the test
	case strings.Contains(said, "[no tests to run]"):
		return unbuilt, "no such test: " + strings.Join(m.test, " "), nil
	}
	return survived, said, nil
}

// overlay writes the changed file and the JSON that puts it in the place of the file of the tree.
func (m *mutant) overlay(dir, changed string) (string, error) {
	place, err := filepath.Abs(filepath.FromSlash(m.file))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, filepath.Base(place))
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {place: file}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
