package diskcache_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also is the program of the tests with several processes.
func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}
