//go:build integration

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A fault that has gone must leave the list: it would hide another.
func TestKnownFaultsAreStillThere(t *testing.T) {
	python := filepath.Join(os.Getenv("LAKESCAN_TOOLS"), "python/bin/python")
	if p := os.Getenv("PYTHON"); p != "" {
		python = p
	}
	var only []string
	seen := map[uint64]bool{}
	for _, f := range faults {
		if !seen[f.Seed] {
			only = append(only, strconv.FormatUint(f.Seed, 10))
		}
		seen[f.Seed] = true
	}
	got, err := compareAll(options{only: strings.Join(only, ","), predicates: 20, workers: 2, python: python, readers: "duckdb,pyiceberg", every: 4, dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if got.mu.outcomes[f.Seed].Known[f.ID] == 0 {
			t.Errorf("%s: %s %s no longer does it at seed %d (%s); if the reader is repaired, drop the entry, if the generator changed, take a seed that `make oracle` prints", f.ID, f.Reader, f.Version, f.Seed, f.Wrong)
		}
	}
}
