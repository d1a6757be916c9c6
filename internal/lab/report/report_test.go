package report

import (
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/internal/lab"
)

// results makes a folder as a run would, with times that follow from the cell alone, times factor.
func results(t *testing.T, text string, factor float64) string {
	t.Helper()
	m, err := lab.ParseMatrix([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f, err := lab.OpenFolder(dir, lab.NewRun(m, `lakescan bench run "a<b".yaml`, "test", lab.Machine{CPU: "cpu"}))
	if err != nil {
		t.Fatal(err)
	}
	for round := range *m.Warmup + m.Runs {
		for _, i := range m.Round(round) {
			c := m.Cells()[i]
			wall := float64(10+c.LatencyMS*(5+c.Files)) + float64(round)
			plan := float64(3 * c.LatencyMS)
			if c.Depth != "0" {
				wall = float64(5+c.LatencyMS*5) + float64(round)
			} else {
				plan = -1
			}
			if round < *m.Warmup {
				wall *= 100 // must not be seen
			}
			s := lab.Sample{
				Cell: c, Round: round, Warmup: round < *m.Warmup, Rows: 7, Wall: wall * factor, FirstRow: 3, Plan: plan, CPU: 4, RSS: 50 << 20, Rounds: 1, Workers: 2, Slots: 128,
				Requests: map[string]int64{"get": int64(c.Files + 3)}, FileCount: int64(c.Files), FileReads: int64(c.Files), FileBytes: 1 << 20, Bytes: 1 << 20, DecodeTime: 2, Depths: []lab.DepthAt{{At: 1, Depth: 4}},
			}
			for n := range c.Files {
				s.Files = append(s.Files, lab.File{Ordinal: n, Claimed: plan, Admitted: plan + 1, Opened: plan + 2, Asked: plan + 3, Fetched: wall - 4, Ready: wall - 3, Delivered: wall - 2, Done: wall - 1})
			}
			if err := f.Add(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

const matrix = "name: m\ntitle: A & B\nabout: test\nruns: 5\naxes: {latency: [0ms, 50ms], depth: [0, 1, auto], files: [2, 8], cache: [cold, hot]}\n"

func TestReportIsComplete(t *testing.T) {
	t.Parallel()
	dir := results(t, matrix, 1)
	page, err := Write(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if external := regexp.MustCompile(`(?i)(src|href)="https?:|@import|url\(`).Find(text); external != nil {
		t.Errorf("the page needs the network: %s", external)
	}
	if strings.Contains(string(text), "a<b") || !strings.Contains(string(text), "A &amp; B") {
		t.Error("text is not escaped")
	}
	names := regexp.MustCompile(`<figure id="([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n[1]] {
			t.Errorf("two plots are named %s", n[1])
		}
		seen[n[1]] = true
		for _, theme := range []string{"", "-dark"} {
			file, err := os.Open(filepath.Join(dir, PlotFolder, n[1]+theme+".png"))
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := png.DecodeConfig(file); err != nil {
				t.Errorf("%s: %v", file.Name(), err)
			}
			file.Close()
		}
	}
	for _, want := range []string{"wall-over-depth-files-2--cache-cold", "speed-up-files-8--cache-hot", "eta-over-latency-files-2--cache-cold", "wall-over-cache-files-2--latency-50-ms", "requests-over-files-cache-cold", "waterfall-auto", "waterfall-off", "depth-over-time-files-2--cache-cold"} {
		if !seen[want] {
			t.Errorf("no plot %s among %v", want, names)
		}
	}
	cells, err := os.ReadFile(filepath.Join(dir, CellsFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(cells), "\n"); n != 1+24 {
		t.Errorf("%s has %d lines, want a head and 24 cells", CellsFile, n)
	}
}

// Warm-ups are dropped, medians are over the kept runs, η and the gain follow from them.
func TestFiguresOfACell(t *testing.T) {
	t.Parallel()
	dir := results(t, matrix, 1)
	run, samples, err := lab.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	groups := groupsOf(samples, run.Matrix.Cells())
	for _, g := range groups {
		if len(g.runs) != 5 {
			t.Fatalf("%s has %d runs, want 5", g.cell.ID(), len(g.runs))
		}
		if g.cell.LatencyMS != 50 || g.cell.Depth != "auto" || g.cell.Files != 8 {
			continue
		}
		if w := g.wall(); fmt.Sprintf("%.4f %.4f %.4f", w.mid, w.low, w.high) != "0.2580 0.2564 0.2596" {
			t.Errorf("wall is %+v, want 0.258 with 0.2564 to 0.2596", w)
		}
		if f := g.physics.Floor(); fmt.Sprintf("%.4f", f) != "0.0510" { // 8 files of 0.25 ms decoding on 2 workers, and one round
			t.Errorf("floor is %v", f)
		}
		if e := g.eta(); fmt.Sprintf("%.3f", e.mid) != "0.472" { // 0.051 / (0.258 - 0.150)
			t.Errorf("eta is %v", e)
		}
		if k := gain(groups, g, "0"); fmt.Sprintf("%.2f", k.mid) != "2.57" { // 663 / 258
			t.Errorf("gain is %v", k)
		}
	}
}

func TestCompareSaysWhatItMay(t *testing.T) {
	t.Parallel()
	text := "name: m\nruns: 6\naxes: {latency: [50ms], depth: [auto], files: [2]}\n"
	a := results(t, text, 1)
	for want, factor := range map[string]float64{"no difference": 1, "faster": 0.8, "slower": 1.1} {
		list, err := Compare(a, results(t, text, factor))
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Pairs != 6 || list[0].Verdict() != want {
			t.Errorf("factor %v: %+v says %q, want %q", factor, list[0], list[0].Verdict(), want)
		}
		if !strings.Contains(CompareText(list), want) {
			t.Errorf("the table does not say %q", want)
		}
	}
	if _, err := Compare(a, results(t, "name: m\naxes: {files: [9]}\n", 1)); !errors.Is(err, ErrNothingInCommon) {
		t.Errorf("nothing in common gave %v", err)
	}
}

// The interval of noise around no change holds 1; that of a change of a tenth does not.
func TestBootstrapOfNoise(t *testing.T) {
	t.Parallel()
	noise := []float64{0.97, 1.04, 0.99, 1.02, 0.96, 1.03, 1.01, 0.98}
	if _, low, high := bootstrap(noise); low > 1 || high < 1 {
		t.Errorf("noise: [%v, %v] leaves out 1", low, high)
	}
	for i := range noise {
		noise[i] *= 0.9
	}
	if _, _, high := bootstrap(noise); high >= 1 {
		t.Errorf("a tenth faster: the interval ends at %v", high)
	}
}

func TestNoSamples(t *testing.T) {
	t.Parallel()
	if _, err := Write(t.TempDir(), t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder gave %v", err)
	}
}

// A file's row has no gap, and a file that came with one answer has data, not a footer.
func TestBarsOfAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file lab.File
		want string
	}{
		"two rounds": {lab.File{Claimed: 0, Admitted: 1, Opened: 3, Asked: 4, Fetched: 8, Ready: 9, Delivered: 11, Done: 12}, "[{0 1 0} {1 3 1} {3 4 0} {4 8 2} {8 9 3} {9 11 4} {11 12 5}]"},
		"one answer": {lab.File{Claimed: 0, Admitted: 0, Opened: 3, Asked: -1, Fetched: 3, Ready: 5, Delivered: 5, Done: 6}, "[{0 3 2} {3 5 3} {5 6 5}]"},
		"not seen":   {lab.File{Claimed: -1, Admitted: -1, Opened: -1, Asked: -1, Fetched: -1, Ready: -1, Delivered: 5, Done: 6}, "[]"},
		"in advance": {lab.File{Claimed: 0, Admitted: 1, Opened: 3, Asked: 3, Fetched: 9, Ready: 7, Delivered: 9, Done: 12}, "[{0 1 0} {1 3 1} {3 9 2} {9 12 5}]"},
	} {
		if got := fmt.Sprint(bars(c.file)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
