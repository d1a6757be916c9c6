//go:build integration

package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/source"
	"github.com/lakescan/lakescan/toxiproxy"
)

// The same scan by new clients, 100 ms from the store: without a cache on disk, the first run with one, the second, one whose entries are all
// damaged, and one with a quarter of the room. The rows are the same every time; requests and bytes are what differs.
func TestDiskCacheOfASecondRun(t *testing.T) {
	l := getLab(t)
	var out strings.Builder
	fmt.Fprintf(&out, "\nThe same scan with `--cache-dir`, 100 ms from the store, each run by a new client:\n\n")
	out.WriteString("| run | depth | time | requests | bytes fetched | reads from disk | damaged |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, depth := range []source.Depth{source.Off, source.Auto} {
		dir := t.TempDir()
		run := func(name string, cfg diskcache.Config, s3 string) report {
			t.Helper()
			tr := &trial{lab: l, t: t, s3: l.rig.S3, rest: l.rig.REST}
			if s3 != "" {
				tr.s3 = s3
			} else {
				tr.toxic(downstream("latency", map[string]any{"latency": 100}))
			}
			tr.config.Cache = cfg
			rep := tr.run(depth, time.Minute)
			for _, f := range tr.cleanup {
				f()
			}
			if rep.err != nil || len(rep.leftOut) > 0 {
				t.Errorf("%s: %v, left %q", name, rep.err, rep.leftOut)
			}
			fmt.Fprintf(&out, "| %s | %s | %.2f s | %d | %d kB | %d of %d | %d |\n", name, depth, rep.wall.Seconds(), rep.stats.Requests[object.Get], rep.stats.BytesRead/1000,
				rep.disk.Hits, rep.disk.Hits+rep.disk.Misses, rep.disk.Corrupt)
			return rep
		}
		addr := l.slow(t)
		plain := run("no cache", diskcache.Config{}, addr)
		first := run("first", diskcache.Config{Dir: dir}, addr)
		if first.stats.Requests[object.Get] != plain.stats.Requests[object.Get] || first.disk.Hits != 0 {
			t.Errorf("the first run made %d requests, without a cache %d", first.stats.Requests[object.Get], plain.stats.Requests[object.Get])
		}
		if second := run("second", diskcache.Config{Dir: dir}, addr); second.stats.Requests[object.Get] != 0 || second.stats.BytesRead != 0 {
			t.Errorf("the second run made %d requests for %d bytes", second.stats.Requests[object.Get], second.stats.BytesRead)
		}
		damage(t, dir)
		if bad := run("third, every entry damaged", diskcache.Config{Dir: dir}, addr); bad.disk.Corrupt == 0 || bad.stats.Requests[object.Get] != plain.stats.Requests[object.Get] {
			t.Errorf("%+v, %d requests", bad.disk, bad.stats.Requests[object.Get])
		}
		if elsewhere := run("fourth, at another address", diskcache.Config{Dir: dir}, ""); elsewhere.disk.Hits != 0 {
			t.Errorf("%d answers of another store", elsewhere.disk.Hits)
		}
		small := diskcache.Config{Dir: t.TempDir(), MaxBytes: 1 << 20}
		run("first, `--cache-size 1MiB`", small, addr)
		run("second, `--cache-size 1MiB`", small, addr)
	}
	if file := os.Getenv("LAKESCAN_FAULTS_OUT"); file != "" {
		if err := os.WriteFile(file+".cache", []byte(out.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// slow is the address of MinIO behind 100 ms.
func (l *lab) slow(t *testing.T) string {
	t.Helper()
	if err := l.rig.Toxi.Apply(t.Context(), "s3", toxiproxy.Latency(100)); err != nil {
		t.Fatal(err)
	}
	return l.rig.Slow
}

// damage flips a byte in each entry.
func damage(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[len(b)-1] ^= 1
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
