package object_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The whole chain keeps the contract of a store.
func TestConformanceOfTheChain(t *testing.T) {
	t.Parallel()
	objecttest.Run(t, func(t *testing.T) objecttest.Harness {
		meter := object.NewMeter(nil)
		var held int64
		store := object.Mux(map[string]object.Store{"s3": mem.New()})
		store = object.Retry(object.Metered(store, meter), object.RetryConfig{Meter: meter})
		cache := object.Cached(store, object.CacheConfig{Meter: meter, Charge: func(d int64) { held += d }})
		store = object.Mapped(cache, []object.Mapping{{From: "s3a://old/root", To: "s3://new/place/"}})
		t.Cleanup(func() {
			cache.Purge()
			if held != 0 || meter.Stats().CacheBytes != 0 {
				t.Errorf("%d bytes charged after Purge", held)
			}
		})
		root, err := object.ParseLocation("s3n://old/root")
		if err != nil {
			t.Fatal(err)
		}
		return objecttest.Harness{Store: store, Root: root}
	})
}
