package lint

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longFiles may exceed maxLines, each with its reason.
var longFiles = map[string]string{
	"iceberg/commit/commit_test.go": "one table and its helpers, through every commit and every fault",
	"iceberg/rest/rest_test.go":     "the cases of one protocol against one stub",
}

const maxLines = 800

// hostWords are texts that tie a file to one machine or service; the repository speaks of the product alone.
var hostWords = regexp.MustCompile(`/root/|/work/(main|wt|tmp|tools)|/home/[a-z]`)

func walk(t *testing.T, visit func(path string, body []byte)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == ".git" || name == "node_modules" || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || name == ".git" {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(strings.TrimPrefix(filepath.ToSlash(path), "../../"), body)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryPackageHasDoc(t *testing.T) {
	t.Parallel()
	for _, line := range list(t, "{{.ImportPath}}\t{{.Name}}\t{{.Doc}}", "./...") {
		f := strings.SplitN(line, "\t", 3)
		if name, _ := ours(f[0]); strings.TrimSpace(f[2]) == "" && f[1] != "main" {
			t.Errorf("package %s has no package comment: say its one idea in doc.go", name)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	walk(t, func(path string, body []byte) {
		if !strings.HasSuffix(path, ".go") || longFiles[path] != "" {
			return
		}
		if n := bytes.Count(body, []byte{'\n'}); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by idea, or give the reason in longFiles", path, n, maxLines)
		}
	})
}

func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	walk(t, func(path string, body []byte) {
		if strings.HasPrefix(path, "internal/lint/") || bytes.IndexByte(body, 0) >= 0 {
			return
		}
		if m := hostWords.Find(body); m != nil {
			t.Errorf("%s names a path of one machine: %q", path, m)
		}
	})
}
