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
	unsound   = "FAILS UNCHANGED"
)

// testLimit ends a test that a mutant makes wait for ever; that is a failure of the test too.
const testLimit = "60s"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, os.Args[1:], os.Getenv("MUTANTS") == "all", os.Stdout)
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

// budget is how long a run of a few goes on starting mutants.
const budget = 90 * time.Second

// run tries mutants, in the order of their file names; ok if all that were tried are killed. Without words and unless every is set, it
// begins at another one each day and stops when the time is up.
func run(ctx context.Context, words []string, every bool, out io.Writer) (ok bool, err error) {
	all, err := load(words)
	if err != nil {
		return false, err
	}
	few := len(words) == 0 && !every
	if few {
		all = rotate(all, int(time.Now().Unix()/86400))
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := runner{dir: dir, baseline: map[string]string{}}
	start, dead, tried := time.Now(), 0, 0
	for _, m := range all {
		if few && tried > 0 && time.Since(start) > budget {
			break
		}
		tried++
		began := time.Now()
		end, why, err := r.try(ctx, &m)
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
	fmt.Fprintf(out, "%d of %d mutants killed in %.0f s", dead, tried, time.Since(start).Seconds())
	if tried < len(all) {
		fmt.Fprintf(out, "; %d left for another day, MUTANTS=all tries them", len(all)-tried)
	}
	fmt.Fprintln(out)
	return dead == tried, nil
}

// rotate begins at a place that moves by a third of the mutants a day.
func rotate(all []mutant, day int) []mutant {
	at := day * (len(all)/3 + 1) % len(all)
	return slices.Concat(all[at:], all[:at])
}

// runner remembers the test binaries of the tree as it is.
type runner struct {
	dir      string
	baseline map[string]string // package and build flags -> binary
}

// try gives the end of one mutant and, unless it was killed, what was said. An error means that nothing was learnt.
func (r *runner) try(ctx context.Context, m *mutant) (end, why string, err error) {
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
	key := strings.Join(append(slices.Clone(m.flags), m.pkg), " ")
	sound := r.baseline[key]
	if sound == "" {
		sound = filepath.Join(r.dir, fmt.Sprintf("sound%d.test", len(r.baseline)))
		if said, err := m.build(ctx, sound, ""); err != nil {
			return "", "", fmt.Errorf("without the change: %w\n%s", err, said)
		}
		r.baseline[key] = sound
	}
	switch said, err := m.check(ctx, sound); {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil:
		return unsound, said, nil
	case strings.Contains(said, "no tests to run"):
		return unbuilt, "no such test: " + m.run, nil
	}
	overlay, err := m.overlay(r.dir, changed)
	if err != nil {
		return "", "", err
	}
	wrong := filepath.Join(r.dir, "wrong.test")
	if said, err := m.build(ctx, wrong, overlay); err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		return unbuilt, said, nil
	}
	said, err := m.check(ctx, wrong)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil:
		return killed, said, nil
	}
	return survived, said, nil
}

// build makes the test binary of the mutant's package. Vet has no say: a wrong change that only vet objects to is still to be caught by
// the test.
func (m *mutant) build(ctx context.Context, to, overlay string) (said string, err error) {
	args := append([]string{"test", "-c", "-o", to}, m.flags...)
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	b, err := exec.CommandContext(ctx, "go", append(args, m.pkg)...).CombinedOutput()
	return string(b), err
}

// check runs the mutant's tests from a binary, in the folder of the package.
func (m *mutant) check(ctx context.Context, binary string) (said string, err error) {
	c := exec.CommandContext(ctx, binary, "-test.run", m.run, "-test.timeout", testLimit)
	c.Dir = filepath.FromSlash(m.pkg)
	b, err := c.CombinedOutput()
	return string(b), err
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
