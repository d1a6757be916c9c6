//go:build !duckdb_arrow || !cgo

package duckdb

import (
	"errors"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/query"
)

// The text is what a user of a build without SQL reads.
func TestNew_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(EngineConfig{})
	if !errors.Is(err, query.ErrNoEngine) {
		t.Fatal(err)
	}
	for _, part := range []string{"no SQL engine", "duckdb_arrow", "lakescan scan NS.TABLE", "make build", "lakescan-full"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in %q", part, err)
		}
	}
}
