package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// run runs the tests of the rows that need no server, and notes their results in place. What a failed test printed goes to w.
func run(ctx context.Context, w io.Writer, root, tags string, rows []row) error {
	names, packages := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		for _, t := range r.Tests {
			if !t.Servers {
				names[t.Name], packages["./"+t.Package] = true, true
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	args := []string{"test", "-json", "-timeout", "10m"}
	if tags != "" {
		args = append(args, "-tags", tags)
	}
	args = append(args, "-run", "^("+strings.Join(slices.Sorted(maps.Keys(names)), "|")+")$")
	cmd := exec.CommandContext(ctx, "go", append(args, slices.Sorted(maps.Keys(packages))...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	results, said, parseErr := collect(out)
	if err := cmd.Wait(); err != nil && len(results) == 0 {
		return fmt.Errorf("go test: %w\n%s", err, stderr.String())
	}
	if parseErr != nil {
		return parseErr
	}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(w, "--- %s\n%s", key, said[key])
	}
	module, err := modulePath(ctx, root)
	if err != nil {
		return err
	}
	for i := range rows {
		for j := range rows[i].Tests {
			t := &rows[i].Tests[j]
			path := module
			if t.Package != "." {
				path += "/" + t.Package
			}
			if t.Result = results[path+" "+t.Name]; t.Result == "" && !t.Servers {
				t.Result = "FAIL" // its package did not build, or died before it ended
			}
		}
	}
	return nil
}

func modulePath(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m")
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// collect reads the results of top-level tests: "package test" -> pass, FAIL or SKIP, and what failed ones, or packages that failed
// outside their tests, printed.
func collect(r io.Reader) (results, said map[string]string, err error) {
	results, said = map[string]string{}, map[string]string{}
	output := map[string]*strings.Builder{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a line of the build, not of the test
		}
		top, _, sub := strings.Cut(e.Test, "/")
		key := e.Package
		if top != "" {
			key += " " + top
		}
		switch e.Action {
		case "output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "pass", "skip", "fail":
			if sub {
				continue
			}
			if e.Action == "fail" && output[key] != nil {
				said[key] = output[key].String()
			}
			delete(output, key)
			if top != "" {
				results[key] = map[string]string{"pass": "pass", "skip": "SKIP", "fail": "FAIL"}[e.Action]
			}
		}
	}
	return results, said, lines.Err()
}
