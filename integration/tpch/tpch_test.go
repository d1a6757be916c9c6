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
	script := scripts(t)
	folder := t.TempDir()
	script("load.py", *scale, "tpch", folder)
	ask := append([]string{"run.py", "tpch", folder}, strings.Fields(*args)...)
	if !*measure {
		ask = append(ask, "--check")
	}
	script(ask...)
}

// Ten selective queries read no more files and row groups than DuckDB's Iceberg reader and PyIceberg do.
func TestSelectiveQueriesReadNoMoreThanOthers(t *testing.T) {
	script := scripts(t)
	script("load.py", *scale, "selective", t.TempDir())
	script("selective.py", "selective")
}

// scripts returns what runs a script of this folder against the rig.
func scripts(t *testing.T) func(args ...string) {
	r := rig.Get(t)
	env := append(append(os.Environ(), r.Env(false)...), "TOXI="+r.Toxi.BaseURL, "LAKESCAN="+program(t))
	return func(args ...string) {
		t.Helper()
		cmd := rig.Python(t.Context(), append([]string{"-W", "ignore"}, args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
	}
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
