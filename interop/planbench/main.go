// Command planbench measures planning and deletes against iceberg-go and PyIceberg: each run a process of its own, sides
// alternating, medians of the pairs. It makes its tables itself and needs no server. PyIceberg takes part if -python names an
// interpreter that has it.
//
//	go run . -sections plan,latency,memory,metadata,limit    make bench-plan
//	go run . -sections deletes                               make bench-deletes
//	go run . -smoke                                          everything, small: does it work, not how fast
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed pyiceberg_child.py
var pyicebergChild string

// bench is one run of the command.
type bench struct {
	ctx    context.Context
	dir    string
	self   string
	python string // "" = PyIceberg takes no part
	pairs  int
	smoke  bool
	report *report
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "child" {
		exit(child(os.Args[2]))
	}
	sections := flag.String("sections", "plan,latency,memory,metadata,limit,deletes", "what to measure")
	pairs := flag.Int("pairs", 4, "runs of each side")
	smoke := flag.Bool("smoke", false, "tiny tables, one pair")
	python := flag.String("python", "", "interpreter with PyIceberg; without one it takes no part")
	out := flag.String("json", "", "write the report there as JSON")
	flag.Parse()
	dir, err := os.MkdirTemp("", "planbench")
	exit(err)
	self, err := os.Executable()
	exit(err)
	b := &bench{ctx: context.Background(), dir: dir, self: self, pairs: *pairs, smoke: *smoke, report: &report{Title: "planbench " + *sections, Scale: "full size"}}
	if *smoke {
		b.pairs, b.report.Smoke, b.report.Scale = 1, true, "smoke: sizes say nothing of speed"
	}
	b.findPython(*python)
	err = b.run(strings.Split(*sections, ","))
	os.RemoveAll(dir)
	fmt.Print(b.report.markdown()) // what was measured before an error, too
	exit(err)
	if *out != "" {
		exit(b.report.write(*out))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "planbench:", err)
		os.Exit(1)
	}
	if len(os.Args) == 3 && os.Args[1] == "child" {
		os.Exit(0)
	}
}

func (b *bench) findPython(path string) {
	if path == "" {
		return
	}
	if err := exec.CommandContext(b.ctx, path, "-c", "import pyiceberg").Run(); err != nil {
		fmt.Fprintf(os.Stderr, "planbench: %s has no PyIceberg: %v\n", path, err)
		return
	}
	b.python = path
}

func (b *bench) run(sections []string) error {
	all := map[string]func() error{"plan": b.plan, "latency": b.latency, "memory": b.memory, "metadata": b.metadata, "limit": b.limit, "deletes": b.deletes}
	for _, s := range sections {
		f := all[s]
		if f == nil {
			return fmt.Errorf("no section %q", s)
		}
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// size is n, or in a smoke run a hundredth of it.
func (b *bench) size(n int) int {
	if b.smoke {
		return max(n/100, 4)
	}
	return n
}

// local makes a table in a folder of its own, which it returns with the location of its metadata.
func (b *bench) local(name string, write func(dir, base string) (string, error)) (string, error) {
	dir := filepath.Join(b.dir, name)
	return write(dir, "file://"+dir)
}

// start runs one child to its end.
func (b *bench) start(t task) (result, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return result{}, err
	}
	cmd := exec.CommandContext(b.ctx, b.self, "child", string(text))
	if t.Engine == "pyiceberg" {
		cmd = exec.CommandContext(b.ctx, b.python, "-c", pyicebergChild, string(text))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var r result
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%s %s: %w: %s", t.Engine, t.Kind, err, lastLine(stderr.String()))
	}
	return r, json.Unmarshal(stdout.Bytes(), &r)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// engines that take part, ours first.
func (b *bench) engines() []string {
	if b.python == "" {
		return []string{"lakescan", "iceberg-go"}
	}
	return []string{"lakescan", "iceberg-go", "pyiceberg"}
}

// compare runs the engines in turn, as often as pairs says, and returns their results. All must agree on count and sum.
func (b *bench) compare(t task, engines ...string) (map[string][]result, error) {
	out := map[string][]result{}
	for range b.pairs {
		for _, e := range engines {
			t.Engine = e
			r, err := b.start(t)
			if err != nil {
				return nil, err
			}
			out[e] = append(out[e], r)
			if first := out[engines[0]][0]; r.Count != first.Count || t.Kind == "scan" && r.Sum != first.Sum {
				return nil, fmt.Errorf("%s finds %d (sum %d), %s %d (sum %d)", engines[0], first.Count, first.Sum, e, r.Count, r.Sum)
			}
		}
	}
	return out, nil
}

// median of a figure.
func median(rs []result, of func(result) float64) float64 {
	if len(rs) == 0 {
		return 0
	}
	v := make([]float64, len(rs))
	for i, r := range rs {
		v[i] = of(r)
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func cpuOf(r result) float64  { return r.CPU }
func wallOf(r result) float64 { return r.Wall }
func rssOf(r result) float64  { return r.RSS }

// peers says what the others took, and lakescan's part of it.
func peers(rs map[string][]result, unit string, of func(result) float64) string {
	var out []string
	for _, e := range []string{"iceberg-go", "pyiceberg"} {
		if len(rs[e]) == 0 {
			continue
		}
		v := median(rs[e], of)
		out = append(out, fmt.Sprintf("%s %.3g %s (%.2fx)", e, v, unit, median(rs["lakescan"], of)/v))
	}
	return strings.Join(out, ", ")
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }
