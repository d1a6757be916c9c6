package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// row of the report: what was measured, against what was wanted.
type row struct {
	Measure  string
	Measured string
	Peers    string `json:",omitempty"` // the same run
	Target   string `json:",omitempty"`
	Verdict  string `json:",omitempty"` // met | MISSED; empty = no target
	Figures  any    `json:",omitempty"`
}

type report struct {
	Title string
	Scale string
	Smoke bool
	Rows  []row
}

func (r *report) add(x row) {
	if r.Smoke {
		x.Verdict = "" // sizes are not those of the targets
	}
	r.Rows = append(r.Rows, x)
	fmt.Fprintf(os.Stderr, "%-70s %s %s\n", x.Measure, x.Measured, x.Verdict)
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

// markdown is the table.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s (%s)\n\n| measure | lakescan | others, same run | target | |\n| --- | --- | --- | --- | --- |\n", r.Title, r.Scale)
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", x.Measure, x.Measured, x.Peers, x.Target, x.Verdict)
	}
	return b.String()
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
