package config

import (
	"os"
	"path/filepath"
	"testing"
)

// A file's store and keys belong to the catalog that the file names; under another address they would open the wrong store.
func TestAnotherAddressIsAnotherCatalog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := "catalog:\n  default:\n    uri: http://a:8181/\n    s3.endpoint: http://a:9000\n    s3.access-key-id: key\n    s3.secret-access-key: secret\n"
	if err := os.WriteFile(filepath.Join(dir, "lakescan.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{"http://a:8181": "http://a:9000", "http://b:8181": ""} {
		c, err := Load(Input{Flags: map[string]string{"uri": uri}, Env: []string{}, Dir: dir, Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		cfg := c.Client(nil)
		if got := cfg.Catalog.Properties["s3.endpoint"]; cfg.Catalog.URI != uri || got != want {
			t.Errorf("--uri %s: catalog %s with s3.endpoint %q, want %q", uri, cfg.Catalog.URI, got, want)
		}
	}
}
