package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	root := flag.String("C", ".", "root of the repository")
	tags := flag.String("tags", "", "build tags of the tests")
	list := flag.Bool("list", false, "print the mapping only; run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := show(ctx, os.Stdout, *root, *tags, *list, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// A row is a case, or the neighbours of a kind, with its tests.
type row struct {
	item
	Tests []test
	Want  int // tests that can run
}

// result is the worst of a row's tests, or missing.
func (r row) result() string {
	runnable := 0
	worst := "pass"
	for _, t := range r.Tests {
		if t.Servers {
			continue
		}
		runnable++
		switch {
		case t.Result == "FAIL":
			worst = "FAIL"
		case t.Result == "" && worst != "FAIL":
			worst = "listed"
		case t.Result == "SKIP" && worst == "pass":
			worst = "SKIP"
		}
	}
	if runnable < r.Want {
		return "MISSING"
	}
	return worst
}

func (r row) ok() bool { return r.result() == "pass" || r.result() == "listed" }

// table joins the catalogue and the tests. unknown are ids that tests carry and the catalogue lacks.
func table(c catalogue, tests []test) (rows []row, unknown []string) {
	byID, byKind := map[string][]test{}, map[string][]test{}
	for _, t := range tests {
		ids, kind := carried(t.Name)
		for _, id := range ids {
			byID[id] = append(byID[id], t)
		}
		if kind != "" {
			byKind[kind] = append(byKind[kind], t)
		}
	}
	for _, it := range c.Items {
		rows = append(rows, row{item: it, Tests: byID[it.ID], Want: 1})
		delete(byID, it.ID)
	}
	for _, kind := range c.Neighbours {
		it := item{ID: "N", Kind: kind, Title: "related faults"}
		rows = append(rows, row{item: it, Tests: byKind[kind], Want: minNeighbours})
		delete(byKind, kind)
	}
	for id := range byID {
		unknown = append(unknown, id)
	}
	for kind := range byKind {
		unknown = append(unknown, "N_"+kind)
	}
	slices.Sort(unknown)
	return rows, unknown
}

func show(ctx context.Context, w io.Writer, root, tags string, list bool, words []string) (bool, error) {
	c, err := parseCatalogue(text)
	if err != nil {
		return false, err
	}
	if markdown, err := os.ReadFile(filepath.Join(root, "../shared/cases/cases.md")); err == nil {
		if err := agrees(c, reportedCases(string(markdown))); err != nil {
			return false, err
		}
	}
	tests, err := scanTests(root)
	if err != nil {
		return false, err
	}
	rows, unknown := table(c, tests)
	if len(unknown) > 0 {
		return false, fmt.Errorf("tests carry ids that cases.txt lacks: %s", strings.Join(unknown, ", "))
	}
	if len(words) > 0 {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(words, r.ID) && !slices.Contains(words, r.Kind) })
	}
	if !list {
		if err := run(ctx, w, root, tags, rows); err != nil {
			return false, err
		}
	}
	return write(w, rows), nil
}

// agrees compares the catalogue with the collection of reports that lies beside the repository.
func agrees(c catalogue, reports map[string]string) error {
	ours := map[string]string{}
	for _, it := range c.Items {
		ours[it.ID] = it.Kind
	}
	for id, kind := range reports {
		if ours[id] != kind {
			return fmt.Errorf("cases.md has %s of kind %s, cases.txt %q", id, kind, ours[id])
		}
	}
	return nil
}

func write(w io.Writer, rows []row) bool {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	count := map[string]int{}
	tests := 0
	ok := true
	for _, r := range rows {
		id, kind, result := r.ID, r.Kind, r.result()
		count[result]++
		ok = ok && r.ok()
		if len(r.Tests) == 0 {
			fmt.Fprintf(tw, "%s\t%s\t%s\t\t(%s)\n", id, kind, result, r.Title)
		}
		for i, t := range r.Tests {
			tests++
			if i > 0 {
				id, kind, result = "", "", ""
			}
			note := ""
			switch {
			case t.Servers:
				note = "  [make integration]"
			case t.Result == "FAIL" || t.Result == "SKIP":
				note = "  " + t.Result
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s%s\n", id, kind, result, t.Package, t.Name, note)
		}
	}
	_ = tw.Flush() // an error of stdout ends the program elsewhere
	fmt.Fprintf(w, "%d rows, %d tests", len(rows), tests)
	for _, result := range []string{"pass", "listed", "SKIP", "FAIL", "MISSING"} {
		if count[result] > 0 {
			fmt.Fprintf(w, ", %d %s", count[result], result)
		}
	}
	fmt.Fprintln(w)
	return ok
}
