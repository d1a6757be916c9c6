package lint

import (
	"bufio"
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lakescan/lakescan"

// allowed is the table of docs/architecture.md, "Who may import whom": a package (or the nearest parent that has a row) may
// import its own tree and what its row names, sub-packages included. Failpoints may be imported by all.
var allowed = map[string][]string{
	"failpoints":          {"internal/wildcard"},
	"expr":                {},
	"memory":              {},
	"prefetchpool":        {},
	"object":              {"memory"},
	"query/render":        {"parquet/variant"},
	"toxiproxy":           {},
	"parquet":             {"expr", "memory"},
	"source":              {"prefetchpool", "object", "parquet", "expr", "memory", "internal/recordreader"},
	"source/resolve":      {"parquet", "expr", "object"},
	"source/deletes":      {"parquet", "expr", "object", "memory"},
	"iceberg":             {"source", "parquet/rowsel", "object", "expr", "memory", "internal/rawjson"},
	"index":               {"source", "object", "parquet", "expr", "memory", "internal/loser"},
	"projection":          {"source", "object", "parquet", "expr", "memory", "internal/loser"},
	"query":               {"iceberg", "source", "expr", "memory", "object", "parquet", "internal/recordreader"},
	"":                    {"iceberg", "source", "prefetchpool", "parquet", "object", "expr", "memory", "query", "index", "projection", "failpoints"},
	"config":              {"", "iceberg", "source", "prefetchpool", "object", "expr", "memory", "query"},
	"tracing":             {"", "source", "object"},
	"metrics":             {"", "source", "object", "prefetchpool", "memory"},
	"cmd":                 {"*"},
	"internal":            {"*"},
	"integration":         {"*"},
	"examples":            {"*"},
	"iceberg/icebergtest": {"*"},
	"object/objecttest":   {"object", "memory"},
	"parquet/parquettest": {"parquet", "expr", "memory", "internal/canon"},
	"object/s3/awsconfig": {"object"},
}

// forbidden may not be reached, even indirectly, from the packages of the scan path.
var (
	scanPath  = []string{"source", "iceberg", "parquet", "object", "object/s3", "prefetchpool", "expr", "memory"}
	forbidden = []string{
		"github.com/duckdb/", "github.com/apache/iceberg-go", "google.golang.org/grpc", "github.com/aws/", "github.com/Shopify/toxiproxy",
		"github.com/versity/", "github.com/prometheus/", "go.opentelemetry.io/", "github.com/spf13/", "github.com/apache/arrow-go/v18/parquet/pqarrow", "github.com/apache/arrow-go/v18/arrow/flight",
	}
)

func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func ours(path string) (string, bool) {
	if path == module {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, module+"/")
	return rest, ok
}

// row returns the most specific row of the table for a package.
func row(name string) (string, []string) {
	for at := name; ; {
		if r, ok := allowed[at]; ok {
			return at, r
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			return "?", nil
		}
		at = at[:i]
	}
}

func covered(name string, by []string) bool {
	return slices.ContainsFunc(by, func(a string) bool {
		return a == "*" || name == a || a != "" && strings.HasPrefix(name, a+"/")
	})
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	for _, tags := range []string{"", "duckdb_arrow"} {
		for _, line := range list(t, "{{.ImportPath}} {{join .Imports \" \"}}", "-tags", tags, "./...") {
			fields := strings.Fields(line)
			name, _ := ours(fields[0])
			at, may := row(name)
			if at == "?" {
				t.Errorf("%s has no row in the import table: add one to docs/architecture.md and to this test", name)
				continue
			}
			root, _, _ := strings.Cut(at, "/")
			for _, imp := range fields[1:] {
				dep, mine := ours(imp)
				if !mine || dep == "failpoints" || covered(dep, may) || root != "" && covered(dep, []string{root}) {
					continue
				}
				t.Errorf("%s imports %s: not in its row (%s may import %v)", name, dep, at, may)
			}
		}
	}
}

func TestScanPathIsLean(t *testing.T) {
	t.Parallel()
	for _, p := range scanPath {
		for _, dep := range list(t, "{{join .Deps \"\\n\"}}", "./"+p) {
			for _, f := range forbidden {
				if strings.HasPrefix(dep, f) {
					t.Errorf("%s reaches %s", p, dep)
				}
			}
		}
	}
}
