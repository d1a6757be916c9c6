package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lakescan/lakescan/query/duckdb"
)

// Each command of the tutorial and the how-tos runs as it stands there, in the order of the page, against the demo's table.
func TestTutorialRuns(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, page := range append(pages, "../../docs/tutorial.md") {
		script := commandsOfPage(t, page)
		if script == "" {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Deadline: time.Now().Add(2 * time.Minute), Setup: setupLake})
}

func commandsOfPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	console := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			console = line == "```console"
		case console && strings.HasPrefix(line, "$ "):
			command := strings.TrimPrefix(line, "$ ")
			if strings.HasPrefix(command, "lakescan query") && duckdb.Version == "" {
				continue
			}
			b.WriteString("exec sh -c '" + strings.ReplaceAll(command, "'", "''") + "'\n")
		}
	}
	return b.String()
}
