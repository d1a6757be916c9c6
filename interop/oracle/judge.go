package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lakescan/lakescan"
)

// question is one state of a table, the current one or a past snapshot, and what is asked of it. preds[i] nil = all rows.
type question struct {
	m     *Model
	at    string
	rows  []Row
	preds []*Pred
}

// judge compares the readers with the model for one table. It belongs to one goroutine.
type judge struct{ outcome }

func (j *judge) compare(o options, q question, py *python, c *lakescan.Client) error {
	want := make([][]string, len(q.preds))
	var sql, trees []any
	var treeOf []int
	for i, p := range q.preds {
		want[i] = q.m.expect(q.rows, p)
		if p == nil {
			sql, trees, treeOf = append(sql, ""), append(trees, nil), append(treeOf, i)
			continue
		}
		sql = append(sql, p.duckdbText())
		if tree, ok := p.tree(); ok {
			trees, treeOf = append(trees, tree), append(treeOf, i)
		}
	}
	if strings.Contains(o.readers, "lakescan") {
		for _, s := range settings {
			for i, p := range q.preds {
				j.judge("lakescan "+s.name, q, p, scan(c, q, p, s), want[i])
			}
		}
	}
	if strings.Contains(o.readers, "duckdb") {
		answers, err := py.read("duckdb", q, sql)
		if err != nil {
			return err
		}
		for i, a := range answers {
			j.judge("duckdb", q, q.preds[i], a, want[i])
		}
	}
	if strings.Contains(o.readers, "pyiceberg") {
		answers, err := py.read("pyiceberg", q, trees)
		if err != nil {
			return err
		}
		for k, a := range answers {
			j.judge("pyiceberg", q, q.preds[treeOf[k]], a, want[treeOf[k]])
		}
	}
	return nil
}

// judge counts one comparison. A difference is accepted only where it is exactly what known faults say.
func (j *judge) judge(reader string, q question, p *Pred, a answer, want []string) {
	reader = strings.TrimSpace(reader)
	j.Compared[reader]++
	slices.Sort(a.rows)
	if a.err == nil && slices.Equal(a.rows, want) {
		j.Equal[reader]++
		return
	}
	if known := knownFaults(reader, q.m, q.rows, p, a); known != nil {
		for _, id := range known {
			j.Known[id]++
		}
		return
	}
	text := "(all rows)"
	if p != nil {
		text = p.lakescanText()
	}
	when := ""
	if q.m.Snapshot != 0 {
		when = fmt.Sprintf(" at snapshot %d", q.m.Snapshot)
	}
	d := fmt.Sprintf("seed %d v%d by %s%s, %s, where %s\n    %s", j.Seed, q.m.Version, j.Writer, when, reader, text, describe(a, want))
	j.Differences = append(j.Differences, d)
	fmt.Fprintln(os.Stderr, "DIFFERENCE  ", d) // at once: a run may be interrupted
}

func describe(a answer, want []string) string {
	if a.err != nil {
		return "error: " + strings.ReplaceAll(a.err.Error(), "\n", " ")
	}
	count := map[string]int{}
	for _, r := range want {
		count[r]++
	}
	extra := ""
	for _, r := range a.rows {
		if count[r]--; count[r] < 0 && extra == "" {
			extra = r
		}
	}
	missing := ""
	for _, r := range want {
		if count[r] > 0 {
			missing = r
			break
		}
	}
	return fmt.Sprintf("%d rows, the model has %d\n    extra   %.300s\n    missing %.300s", len(a.rows), len(want), extra, missing)
}
