package toxiproxy_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/toxiproxy"
)

// howto is the Go of README.md, compiled.
func howto(ctx context.Context) error {
	ctl := &toxiproxy.Client{BaseURL: "http://127.0.0.1:8474"}
	if err := ctl.Create(ctx, toxiproxy.Proxy{Name: "howto", Listen: "127.0.0.1:9001", Upstream: "127.0.0.1:9000", Enabled: true}); err != nil {
		return err
	}
	profile, err := toxiproxy.FindProfile("s3-busy")
	if err != nil {
		return err
	}
	return ctl.Apply(ctx, "howto", profile)
}

var _ = howto // integration/ runs the README's shell against a real server; this one would need its port

// The README's Go is the code above, line for line.
func TestReadmeCompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	block, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md has no Go")
	}
	indented := ""
	for line := range strings.Lines(block) {
		indented += "\t" + line
	}
	if !strings.Contains(string(source), indented) {
		t.Errorf("README.md's Go is not what is compiled here:\n%s", block)
	}
}
