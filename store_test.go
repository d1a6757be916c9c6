package lakescan

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/lakescan/lakescan/object"
)

// A service loads tables again and again: neither caches nor what they held may pile up.
func TestCachesOfForgottenTablesAreGivenBack(t *testing.T) {
	c, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	loc, err := object.ParseLocation(path)
	if err != nil {
		t.Fatal(err)
	}
	base := c.prefetch.Bytes()
	for range 100 {
		s, err := c.newStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Read(t.Context(), loc, object.Range{Off: 0, Len: 1000}, nil, object.ReadOptions{Size: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	if c.prefetch.Bytes() == base {
		t.Fatal("the caches charge nothing: the test is void")
	}
	deadline := time.Now().Add(10 * time.Second)
	for c.prefetch.Bytes() > base {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still charged", c.prefetch.Bytes()-base)
		}
		runtime.GC() // cleanups run after the collection that finds a cache dead
		runtime.Gosched()
	}
	if _, err := c.newStore(nil); err != nil {
		t.Fatal(err)
	}
	if n := len(c.mu.caches); n > 3 {
		t.Errorf("%d caches are remembered", n)
	}
}
