package lakescan

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
)

func TestSplitName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"t", []string{"t"}},
		{"ns.t", []string{"ns", "t"}},
		{`"a.b".t`, []string{"a.b", "t"}},
		{`a."x ""y"" z".t`, []string{"a", `x "y" z`, "t"}},
		{`"a/b"`, []string{"a/b"}},
		{"a..t", nil},
		{".t", nil},
		{"t.", nil},
		{"", nil},
		{`"a`, nil},
		{`a"b.t`, nil},
		{`"a"b.t`, nil},
		{`""`, nil},
	} {
		got, err := SplitName(c.text)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("SplitName(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
		var te *TargetError
		if err != nil && !errors.As(err, &te) {
			t.Errorf("SplitName(%q): %v is no *TargetError", c.text, err)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Config{Catalogs: map[string]iceberg.CatalogConfig{"prod": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range []struct {
		text string
		want target
	}{
		{"ns.t", target{ident: iceberg.Ident{Namespace: []string{"ns"}, Name: "t"}}},
		{"prod.ns.t", target{catalog: "prod", ident: iceberg.Ident{Namespace: []string{"ns"}, Name: "t"}}},
		{"prod.t", target{ident: iceberg.Ident{Namespace: []string{"prod"}, Name: "t"}}},
		{"default.a.b.t", target{catalog: "default", ident: iceberg.Ident{Namespace: []string{"a", "b"}, Name: "t"}}},
		{"other.a.t", target{ident: iceberg.Ident{Namespace: []string{"other", "a"}, Name: "t"}}},
		{"s3://b/x/*.parquet", target{path: "s3://b/x/*.parquet"}},
		{"x.parquet", target{path: "x.parquet"}},
		{"./t", target{path: "./t"}},
		{"s3://b/t/metadata/v3.metadata.json", target{path: "s3://b/t/metadata/v3.metadata.json"}},
		{`"a/b".t`, target{ident: iceberg.Ident{Namespace: []string{"a/b"}, Name: "t"}}},
	} {
		got, err := c.parseTarget(x.text)
		if err != nil || got.catalog != x.want.catalog || got.path != x.want.path || got.ident.String() != x.want.ident.String() {
			t.Errorf("parseTarget(%q) = %+v, %v; want %+v", x.text, got, err, x.want)
		}
	}
	var unknown *UnknownCatalogError
	if _, err := c.open(t.Context(), "nowhere"); !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"default", "prod"}) {
		t.Errorf("got %v, want the catalogs that exist", err)
	}
}

func TestValidateReportsAllFaults(t *testing.T) {
	t.Parallel()
	err := Config{
		Memory: 10, PoolMemory: 20, FooterTail: -1, Depth: -5, Order: 9, Threads: -1, PoolSlots: -1,
		Catalogs: map[string]iceberg.CatalogConfig{"default": {}},
	}.Validate()
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) || len(many.Unwrap()) < 7 {
		t.Errorf("got %v, want every fault", err)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := c.Scan(t.Context(), "ns.t"); !errors.Is(err, ErrClosed) {
		t.Errorf("Scan after Close: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a dead context: %v", err)
	}
}

// A path without a scheme is relative to the working folder, for metadata documents as for files.
func TestPathsAreRelativeToTheWorkingFolder(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"t/metadata/v1.metadata.json": "file " + wd + "/t/metadata/v1.metadata.json",
		"t/":                          "file " + wd + "/t/",
		"/t/x.parquet":                "file /t/x.parquet",
		"s3://b/t/v1.metadata.json":   "s3 t/v1.metadata.json",
	} {
		loc, err := parsePath(text)
		if got := loc.Scheme + " " + loc.Key; err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	c, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.loadTable(t.Context(), target{path: "no/such/v1.metadata.json"})
	if !errors.Is(err, object.ErrNotFound) || !strings.Contains(err.Error(), wd) {
		t.Errorf("%v names no file of %s", err, wd)
	}
}
