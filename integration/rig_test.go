//go:build integration

package integration

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/rig"
	"github.com/lakescan/lakescan/toxiproxy"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

// The control client against the real server: latency is felt, and taken off again.
func TestToxiproxyActs(t *testing.T) {
	r := rig.Get(t)
	c, err := r.Minio()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := c.BucketExists(t.Context(), rig.Warehouse); err != nil || !ok {
		t.Fatalf("bucket %s: %v, %v", rig.Warehouse, ok, err)
	}
	if err := r.Toxi.Apply(t.Context(), rig.Proxy, toxiproxy.Latency(150)); err != nil {
		t.Fatal(err)
	}
	list, err := r.Toxi.Toxics(t.Context(), rig.Proxy)
	if err != nil || len(list) != 1 || list[0].Attributes["latency"] != 150.0 {
		t.Errorf("toxics %+v, %v: want one latency of 150 ms", list, err)
	}
	if err := r.Toxi.Apply(t.Context(), rig.Proxy, toxiproxy.Latency(0)); err != nil {
		t.Fatal(err)
	}
	if list, err := r.Toxi.Toxics(t.Context(), rig.Proxy); err != nil || len(list) != 0 {
		t.Errorf("toxics %+v, %v: want none", list, err)
	}
}

// The how-to's shell blocks run as they stand, against a real server, and what they set up is felt.
func TestToxiproxyHowTo(t *testing.T) {
	r := rig.Get(t)
	text, err := os.ReadFile("../toxiproxy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```sh\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of shell, want 2", len(blocks))
	}
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	listen, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	shell := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
		cmd.Env = append(os.Environ(), "TOXI="+r.Toxi.BaseURL, "UPSTREAM="+r.S3[len("http://"):], "LISTEN="+listen)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	shell(blocks[0])
	if list, err := r.Toxi.Toxics(t.Context(), "howto"); err != nil || len(list) != 1 || list[0].Name != "slow" {
		t.Errorf("toxics %+v, %v: want the latency alone", list, err)
	}
	start := time.Now()
	resp, err := http.Get("http://" + listen + "/minio/health/live")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(start); took < 100*time.Millisecond {
		t.Errorf("an answer after %v", took)
	}
	shell(blocks[0][:strings.Index(blocks[0], "# the proxy")] + blocks[1])
	if _, err := r.Toxi.Toxics(t.Context(), "howto"); err == nil {
		t.Error("the proxy is still there")
	}
}
