//go:build integration

package tpch

import (
	"cmp"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/internal/rig"
)

var (
	scale   = flag.String("sf", "0.01", "scale factor of the data")
	measure = flag.Bool("measure", false, "take times too, not only rows")
	args    = flag.String("args", "", "more arguments of run.py")
)

func TestMain(m *testing.M) { flag.Parse(); os.Exit(rig.Main(m)) }

// All 22 statements give the rows of DuckDB over the same Parquet files.
func TestRowsAreThoseOfDuckDB(t *testing.T) {
	r := rig.Get(t)
	folder := t.TempDir()
	script := func(args ...string) {
		cmd := rig.Python(t.Context(), append([]string{"-W", "ignore"}, args...)...)
		cmd.Env = append(append(os.Environ(), r.Env(false)...), "TOXI="+r.Toxi.BaseURL, "LAKESCAN="+program(t))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
	}
	script("load.py", *scale, "tpch", folder)
	ask := append([]string{"run.py", "tpch", folder}, strings.Fields(*args)...)
	if !*measure {
		ask = append(ask, "--check")
	}
	script(ask...)
}

func program(t *testing.T) string {
	t.Helper()
	path := cmp.Or(os.Getenv("LAKESCAN"), "../../bin/lakescan")
	found, err := exec.LookPath(path)
	if err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	if !strings.HasPrefix(found, "/") {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		found = dir + "/" + found
	}
	return found
}
