//go:build integration

package selective

import (
	"cmp"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/internal/rig"
)

var (
	measure = flag.Bool("measure", false, "the file at its full size, as make bench-selective does")
	args    = flag.String("args", "", "more arguments of run.py")
)

func TestMain(m *testing.M) { flag.Parse(); os.Exit(rig.Main(m)) }

// Rows picked by a filter out of a few places of a file, by statistics and page index: those of DuckDB and Polars.
func TestRowsAreThoseOfDuckDBAndPolars(t *testing.T) {
	r := rig.Get(t)
	ask := append([]string{"-W", "ignore", "run.py"}, strings.Fields(*args)...)
	if !*measure {
		ask = append(ask, "--rows", "400000", "--latency", "0", "--reps", "1")
	}
	cmd := rig.Python(t.Context(), ask...)
	cmd.Env = append(append(os.Environ(), r.Env(false)...), "TOXI="+r.Toxi.BaseURL, "LAKESCAN="+program(t))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

func program(t *testing.T) string {
	t.Helper()
	found, err := exec.LookPath(cmp.Or(os.Getenv("LAKESCAN"), "../../bin/lakescan"))
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	return found
}
