//go:build integration

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func testOptions(t *testing.T) options {
	t.Helper()
	python := filepath.Join(os.Getenv("LAKESCAN_TOOLS"), "python/bin/python")
	if p := os.Getenv("PYTHON"); p != "" {
		python = p
	}
	return options{tables: 1, predicates: 20, workers: 1, python: python, readers: "duckdb,pyiceberg", every: 4, dir: t.TempDir()}
}

// A fault that has gone must leave the list: it would hide another.
func TestKnownFaultsAreStillThere(t *testing.T) {
	for _, f := range faults {
		t.Run(f.ID, func(t *testing.T) {
			o := testOptions(t)
			o.seed, o.readers = f.Seed, f.Reader
			got, err := compareAll(o)
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := got.sum(func(o outcome) map[string]int { return o.Known }); n[f.ID] == 0 {
				t.Errorf("%s %s no longer does it at seed %d (%s); if the reader is repaired, drop the entry, if the generator changed, take a seed that `make oracle` prints", f.Reader, f.Version, f.Seed, f.Wrong)
			}
		})
	}
}

// The oracle would notice: a reader that loses the last row, or keeps one too many, is excused for nobody who shares the model's meaning, least of all lakescan.
func TestAChangedRowIsADifference(t *testing.T) {
	t.Parallel()
	m, _, err := writeTable(5000, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rows := m.rows()
	want := m.expect(rows, nil)
	for _, wrong := range [][]string{want[1:], append([]string{want[0]}, want...)} {
		for _, reader := range []string{"lakescan "} {
			if id := knownFaults(reader, m, rows, nil, answer{rows: wrong}); id != nil {
				t.Errorf("%s: %d rows for %d pass as %s", reader, len(wrong), len(want), id)
			}
		}
	}
}
