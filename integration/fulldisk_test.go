//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/rig"
)

// fullDisk lets the command line write where there is no room: a real file system of 256 kB in a mount namespace of its own, and /dev/full.
// The error says so, and nothing half-written stays.
func (f *faultTable) fullDisk(t *testing.T, l *lab) {
	bin := filepath.Join(t.TempDir(), "lakescan")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../cmd/lakescan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	scan := fmt.Sprintf("'%s' --debug -q scan %s --uri %s --endpoint-url %s --path-style on", bin, labTable, l.rig.REST, l.rig.S3)
	for _, c := range []struct{ what, script, want string }{
		{"disk full (256 kB): `--out f.csv`", fmt.Sprintf("mount -t tmpfs -o size=256k none %[1]s && %[2]s --out %[1]s/f.csv; echo rc=$? left=$(ls -A %[1]s | wc -l)", dir, scan), "rc=9 left=0"},
		{"disk full (256 kB): `--out f.arrow`", fmt.Sprintf("mount -t tmpfs -o size=256k none %[1]s && %[2]s --out %[1]s/f.arrow; echo rc=$? left=$(ls -A %[1]s | wc -l)", dir, scan), "rc=9 left=0"},
		{"disk full: stdout is `/dev/full`", scan + " -o csv >/dev/full; echo rc=$? left=0", "rc=9 left=0"},
		{"disk full (256 kB): `--cache-dir`", fmt.Sprintf("mount -t tmpfs -o size=256k none %[1]s && %[2]s -v --cache-dir %[1]s -o csv | wc -l | tr '\n' ' '; echo full=$(df --output=avail %[1]s | tail -1 | awk '{print $1 < 128}')", dir, scan), fmt.Sprintf("%d full=1", labFiles*labRows+1)},
	} {
		start := time.Now()
		cmd := exec.CommandContext(t.Context(), "unshare", "-Urm", "sh", "-c", c.script)
		cmd.Env = append(os.Environ(), "HOME="+dir, "AWS_ACCESS_KEY_ID="+rig.AccessKey, "AWS_SECRET_ACCESS_KEY="+rig.SecretKey, "AWS_REGION="+rig.Region)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Logf("%s: not tried, no namespaces here: %v %s", c.what, err, stderr.String())
			f.sum = append(f.sum, "| "+c.what+" | auto | not tried: no mount namespaces here | - | - | - | - |")
			continue
		}
		first, _, _ := strings.Cut(stderr.String(), "\n")
		if got := strings.TrimSpace(stdout.String()); got != c.want || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: %s: %s", c.what, got, stderr.String())
		}
		f.sum = append(f.sum, fmt.Sprintf("| %s | auto | `%s`, %s | %.2f s | - | - | - |", c.what, strings.ReplaceAll(first, dir, "…"), strings.TrimSpace(stdout.String()), time.Since(start).Seconds()))
	}
}
