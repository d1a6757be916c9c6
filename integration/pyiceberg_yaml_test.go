//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/internal/rig"
)

// One .pyiceberg.yaml, and PyIceberg's variables, serve PyIceberg and the command line alike: the same rows through the default
// catalog, through a second one of the file, and through one whose address only the environment knows.
func TestPyIcebergsFileServesBoth(t *testing.T) {
	r := rig.Get(t)
	home := t.TempDir()
	entry := func(uri string) string {
		return fmt.Sprintf("    type: rest\n%s    s3.endpoint: %s\n    s3.access-key-id: %s\n    s3.secret-access-key: %s\n    s3.region: %s\n    s3.path-style-access: true\n",
			uri, r.S3, rig.AccessKey, rig.SecretKey, rig.Region)
	}
	address := "    uri: " + r.REST + "\n"
	text := "default-catalog: lake\ncatalog:\n  lake:\n" + entry(address) + "  second:\n" + entry(address) + "  third:\n" + entry("")
	if err := os.WriteFile(filepath.Join(home, ".pyiceberg.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PYICEBERG_HOME=" + home, "PYICEBERG_CATALOG__THIRD__URI=" + r.REST}
	ask := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Env, cmd.Dir = env, home
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd.Args[0], err, &stderr)
		}
		return strings.TrimSpace(string(out))
	}
	ask(rig.Python(t.Context(), "-W", "ignore", "-c", `
import pyarrow as pa
from pyiceberg.catalog import load_catalog
c = load_catalog("lake")
c.create_namespace_if_not_exists("yaml")
rows = pa.table({"id": pa.array(range(100), pa.int64()), "name": ["n%d" % i for i in range(100)]})
c.create_table("yaml.t", schema=rows.schema).append(rows)`))
	program, err := filepath.Abs(cmp.Or(os.Getenv("LAKESCAN"), "../bin/lakescan"))
	if err != nil {
		t.Fatal(err)
	}
	for _, catalog := range []string{"", "second", "third"} {
		want := ask(rig.Python(t.Context(), "-W", "ignore", "-c", `
import sys
from pyiceberg.catalog import load_catalog
for r in sorted(load_catalog(*sys.argv[1:]).load_table("yaml.t").scan(row_filter="id >= 97").to_arrow().to_pylist(), key=lambda r: r["id"]): print(r["id"], r["name"], sep=",")`, cmp.Or(catalog, "lake")))
		args := []string{"query", "select id, name from yaml.t where id >= 97 order by id", "-o", "csv"}
		if catalog != "" {
			args = append(args, "--catalog", catalog)
		}
		if got := ask(exec.CommandContext(t.Context(), program, args...)); got != "id,name\n"+want || !strings.Contains(want, "97,n97") {
			t.Errorf("catalog %q: lakescan has\n%s\nPyIceberg has\n%s", catalog, got, want)
		}
	}
}
