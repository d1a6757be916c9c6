package main

import (
	"slices"
	"strings"
	"testing"
)

// wrongReaders are what a broken reader might answer: rows that are lost, doubled, changed, brought back from the dead, or not filtered.
var wrongReaders = map[string]func(q question, p *Pred, want []string) []string{
	"loses the first row": func(_ question, _ *Pred, want []string) []string { return want[min(1, len(want)):] },
	"loses the last row":  func(_ question, _ *Pred, want []string) []string { return want[:max(0, len(want)-1)] },
	"doubles a row": func(_ question, _ *Pred, want []string) []string {
		return append(slices.Clone(want[:min(1, len(want))]), want...)
	},
	"changes a value": func(_ question, _ *Pred, want []string) []string {
		out := slices.Clone(want)
		if len(out) > 0 {
			out[0] += "0"
		}
		return out
	},
	"keeps a deleted row": func(q question, p *Pred, want []string) []string {
		out := slices.Clone(want)
		for _, r := range q.m.deleted() {
			if p == nil || p.eval(r, 0) == Yes {
				return append(out, rowText(r.Values, q.m.schema()))
			}
		}
		return out
	},
	"does not filter": func(q question, _ *Pred, _ []string) []string { return q.m.expect(q.rows, nil) },
	"negates the filter": func(q question, p *Pred, want []string) []string {
		if p == nil {
			return want
		}
		return q.m.expect(q.rows, &Pred{Op: "not", Args: []*Pred{p}})
	},
}

// The oracle would notice: nothing is ever excused for lakescan, and a broken DuckDB or PyIceberg is told from the faults that are listed.
func TestAChangedRowIsADifference(t *testing.T) {
	t.Parallel()
	for name, wrong := range wrongReaders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried, passed := map[string]int{}, map[string]int{}
			for seed := range uint64(25) {
				m, at, err := writeTable(5000+seed, t.TempDir())
				if err != nil {
					continue // iceberg-go would not write it
				}
				q := question{m: m, at: at, rows: m.rows(), preds: []*Pred{nil}}
				for range 10 {
					q.preds = append(q.preds, randomPred(m.r, m.schema(), q.rows, 2))
				}
				for _, p := range q.preds {
					want := m.expect(q.rows, p)
					got := wrong(q, p, want)
					slices.Sort(got)
					if slices.Equal(got, want) {
						continue
					}
					for _, reader := range []string{"lakescan", "duckdb", "pyiceberg"} {
						tried[reader]++
						if known := knownFaults(reader, m, q.rows, p, answer{rows: got}); known != nil {
							equality := slices.ContainsFunc(known, func(id string) bool { return strings.Contains(id, "equality") })
							if !equality { // to keep a deleted row is a listed fault, where an equality delete deletes it
								passed[reader]++
							}
							if reader == "lakescan" || p == nil && !equality {
								t.Errorf("seed %d: %s passes as %v", 5000+seed, reader, known)
							}
						}
					}
				}
			}
			for reader, n := range tried {
				t.Logf("%s: %d of %d changed answers are differences", reader, n-passed[reader], n)
				if passed[reader]*10 > n {
					t.Errorf("%s: %d of %d changed answers pass as known faults", reader, passed[reader], n)
				}
			}
			if tried["lakescan"] < 20 {
				t.Errorf("only %d answers were changed", tried["lakescan"])
			}
		})
	}
}

// A reader that fails is a difference, unless a listed fault has the same message.
func TestAnErrorIsADifference(t *testing.T) {
	t.Parallel()
	m, _, err := writeTable(5000, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, reader := range []string{"lakescan", "duckdb", "pyiceberg"} {
		if id := knownFaults(reader, m, m.rows(), nil, answer{err: &readerError{"IOException: no such file"}}); id != nil {
			t.Errorf("%s: passes as %v", reader, id)
		}
	}
}

func TestFaultsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range faults {
		effects := 0
		for _, has := range []bool{f.Error != nil, f.Dialect != 0, f.Alter != nil, f.Fewer != nil || f.More != nil} {
			if has {
				effects++
			}
		}
		if seen[f.ID] || f.ID == "" || !strings.HasPrefix(f.ID, f.Reader+"-") || f.Version == "" || f.Wrong == "" || f.Proof == "" || f.When == nil || f.Seed == 0 || effects == 0 {
			t.Errorf("%q is not whole, or there twice", f.ID)
		}
		seen[f.ID] = true
	}
}

// A run that was stopped goes on: what is kept is not run again, and half a line at the end is dropped.
func TestARunGoesOn(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/results"
	var first tally
	if err := first.resume(path, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := first.add(outcome{Seed: 1, Known: map[string]int{"duckdb-nan": 2}, Differences: []string{"seed 1 …, duckdb, where …"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.mu.file.WriteString(`{"seed":2,"ro`); err != nil {
		t.Fatal(err)
	}
	first.close()
	for range 2 {
		var next tally
		if err := next.resume(path, []uint64{1, 2}); err != nil {
			t.Fatal(err)
		}
		if !next.has(1) || next.has(2) || next.differences() != 1 {
			t.Errorf("kept %v", next.mu.outcomes)
		}
		next.close()
	}
}
