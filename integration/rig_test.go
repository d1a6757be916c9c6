//go:build integration

package integration

import (
	"os"
	"testing"

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
