package lab

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const smallMatrix = `
name: small
runs: 2
axes:
  latency: [0ms, 5ms]
  depth: [0, auto]
  files: [3]
  size: [64KiB]
`

func parse(t *testing.T, text string) *Matrix {
	t.Helper()
	m, err := ParseMatrix([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCellsAreTheProductOfTheAxes(t *testing.T) {
	t.Parallel()
	m := parse(t, smallMatrix)
	cells := m.Cells()
	seen := map[string]bool{}
	for _, c := range cells {
		seen[c.ID()] = true
		if c.Files != 3 || c.SizeKiB != 64 || c.Streams != 1 || c.Columns != "i1+d1" || c.Cache != "cold" || c.Neighbour != "none" {
			t.Errorf("cell %+v lost a value or a default", c)
		}
	}
	if len(cells) != 4 || len(seen) != 4 {
		t.Errorf("%d cells with %d names, want 4: %v", len(cells), len(seen), seen)
	}
	if m.Scans() != 4*3 {
		t.Errorf("%d scans, want 4 cells x (1 warm-up + 2)", m.Scans())
	}
}

func TestFaultsOfAMatrixAreAllTold(t *testing.T) {
	t.Parallel()
	_, err := ParseMatrix([]byte("name: a b\naxes:\n  latency: [fast]\n  depth: [-1]\n  size: [3]\n  wind: [1]\n  files: [1, 1]\n  table: [x]\n"), nil)
	if !errors.Is(err, ErrMatrix) {
		t.Fatalf("got %v, want ErrMatrix", err)
	}
	for _, want := range []string{`name "a b"`, "axis latency", "axis depth", "axis size", `no axis "wind"`, "stands twice", "axis table does not fit"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told of: %v", want, err)
		}
	}
	if _, err := ParseMatrix([]byte("name: a\nspeed: 3\n"), nil); !errors.Is(err, ErrMatrix) {
		t.Errorf("an unknown key gave %v", err)
	}
	if _, err := ParseMatrix([]byte("name: a\nstore: {s3: \"http://x\"}\naxes: {table: [a.b]}\n"), nil); !errors.Is(err, ErrMatrix) {
		t.Errorf("a foreign store without proxy and catalog gave %v", err)
	}
}

func TestVariablesOfAStore(t *testing.T) {
	t.Parallel()
	text := "name: a\nstore: {s3: \"${S3}\", toxiproxy: \"${TOXI:-http://t:1}\", catalog: \"${CAT:-http://c:2}\"}\naxes: {table: [a.b]}\n"
	m, err := ParseMatrix([]byte(text), []string{"S3=http://s:3", "CAT="})
	if err != nil {
		t.Fatal(err)
	}
	if m.Store.S3 != "http://s:3" || m.Store.Toxiproxy != "http://t:1" || m.Store.Catalog != "http://c:2" {
		t.Errorf("store is %+v", m.Store)
	}
}

func TestSlowCellsGetFewerRuns(t *testing.T) {
	t.Parallel()
	m := parse(t, "name: a\nruns: 5\ncell_limit: 10s\naxes: {latency: [0ms, 500ms], depth: [0], files: [70]}\n")
	cells := m.Cells()
	if w, r := m.Rounds(cells[0]); w != 1 || r != 5 {
		t.Errorf("a quick cell has %d+%d rounds, want 1+5", w, r)
	}
	if w, r := m.Rounds(cells[1]); w != 0 || r != 2 {
		t.Errorf("a cell of %v a run has %d+%d rounds, want 0+2", cells[1].Estimate(), w, r)
	}
}

func TestRoundsAreShuffledTheSameWayAgain(t *testing.T) {
	t.Parallel()
	m := parse(t, "name: a\naxes: {files: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n")
	same := true
	for i, n := range m.Round(1) {
		if m.Round(1)[i] != n {
			t.Fatal("the same round has another order")
		}
		same = same && m.Round(2)[i] == n
	}
	if same {
		t.Error("two rounds have the same order: cells are not interleaved anew")
	}
}

// The figures are those of the published analysis of the case of 70 files, 2 streams, 20 ms of decoding and 15 ms on the link.
func TestModelOfTheKnownCase(t *testing.T) {
	t.Parallel()
	p := Physics{Files: 70, Streams: 2, Workers: 2, Rounds: 2, Requests: 2, Slots: 1 << 20, Latency: 0.1, Bytes: 15e6, Rate: 1e9, Decode: 0.02}
	for depth, want := range map[float64]float64{0: 70 * 0.235, 2: 3.9, 6: 2.0, 14: 1.27, 1000: 1.27} {
		if got := p.Wall(depth); math.Abs(got/want-1) > 0.07 {
			t.Errorf("W at depth %v is %.3f s, want %.2f", depth, got, want)
		}
	}
	if math.Abs(p.Floor()-1.265) > 0.001 || p.Saturation() != 15 {
		t.Errorf("floor %.3f s at J* = %d, want 1.265 at 15", p.Floor(), p.Saturation())
	}
	p.Slots = 5 // 140 requests take 28 rounds, two of which r·L has already
	if got := p.Floor(); math.Abs(got-2.815) > 0.001 {
		t.Errorf("floor with 5 slots is %.3f s, want 2.815", got)
	}
}

var experiments = filepath.Join("..", "..", "experiments")

func TestExperimentsParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(experiments, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no experiments: %v", err)
	}
	limits := map[string]time.Duration{"smoke": 2 * time.Minute, "files70": 15 * time.Minute}
	for _, f := range files {
		m, err := ReadMatrix(f, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); m.Name != name {
			t.Errorf("%s: name %q is not the file's", f, m.Name)
		}
		if m.Title == "" || m.About == "" {
			t.Errorf("%s: a reader is told neither title nor purpose", f)
		}
		limit := limits[m.Name]
		if limit == 0 {
			limit = time.Hour
		}
		if d := m.Estimate(); d > limit {
			t.Errorf("%s takes %v by estimate, more than %v", f, d, limit)
		}
	}
}

var benchCommand = regexp.MustCompile(`lakescan bench run (experiments/[a-z0-9]+\.yaml)`)

// Every experiment is explained, and every command that the documents give names a matrix that exists.
func TestDocumentsNameTheExperiments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "experiments.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range benchCommand.FindAllStringSubmatch(string(text)+string(readme), -1) {
		named[m[1]] = true
		if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
			t.Errorf("a document names %s: %v", m[1], err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(experiments, "*.yaml"))
	for _, f := range files {
		if !named["experiments/"+filepath.Base(f)] {
			t.Errorf("docs/experiments.md does not say how to run %s", f)
		}
	}
}
