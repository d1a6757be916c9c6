package exit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/memory"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/query"
)

// skipped trees have no errors that reach the end of a program: nested modules, test helpers, other programs' clients.
var skipped = []string{"demo", "interop", "tools", "internal", "toxiproxy", "integration", "examples", "failpoints"}

// Every exported sentinel of the module has an exit code.
func TestEverySentinelHasACode(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range sentinels {
		known[s.name] = true
	}
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			for _, s := range skipped {
				if rel == s {
					return filepath.SkipDir
				}
			}
			if strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range sentinelsOf(f) {
			found++
			if full := f.Name.Name + "." + name; !known[full] && f.Name.Name != "main" {
				t.Errorf("%s: %s has no exit code: add it to sentinels", rel, full)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d sentinels found: the walk is broken", found)
	}
}

func sentinelsOf(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, n := range v.Names {
				// An alias of another package's sentinel is that sentinel.
				if strings.HasPrefix(n.Name, "Err") && (i >= len(v.Values) || isCall(v.Values[i])) {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

func isCall(e ast.Expr) bool {
	_, ok := e.(*ast.CallExpr)
	return ok
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, OK},
		{errors.New("x"), Failed},
		{Usagef("x"), Usage},
		{fmt.Errorf("a: %w", Usagef("x")), Usage},
		{fmt.Errorf("catalog prod: %w", &meta.Error{Op: "load", Err: meta.ErrNoSuchTable}), NotFound},
		{&object.Error{Err: fmt.Errorf("%w: 503", object.ErrUnavailable)}, Unavailable},
		{&query.Error{Class: query.ClassSource, Err: &object.Error{Err: object.ErrDenied}}, Denied},
		{&query.Error{Class: query.ClassNotFound}, NotFound},
		{&query.Error{Class: query.ClassSyntax}, Usage},
		{&query.Error{Class: query.ClassMemory}, Limit},
		{&query.Error{Class: query.ClassInternal}, Failed},
		{fmt.Errorf("%w", query.ErrNoEngine), Usage},
		{&parquet.CorruptError{}, Corrupt},
		{&parquet.TooLargeError{}, Limit},
		{&memory.RefusedError{}, Limit},
		{&expr.BindError{}, Usage},
		{&lakescan.UnknownCatalogError{Name: "x"}, NotFound},
		{&lakescan.TargetError{}, Usage},
		{context.Canceled, Interrupted},
		{context.DeadlineExceeded, Limit},
		{fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}), Limit},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, ErrTimeout), Limit},
		{fmt.Errorf("%w: %w", context.Canceled, ErrMaxBytes), Limit},
		// A timeout inside the network is an outage; a refusal explains a missing file.
		{&object.Error{Err: fmt.Errorf("%w: %w", object.ErrUnavailable, context.DeadlineExceeded)}, Unavailable},
		{errors.Join(object.ErrNotFound, object.ErrDenied), Denied},
		{errors.Join(object.ErrUnavailable, fmt.Errorf("%w: %w", context.Canceled, ErrInterrupted)), Interrupted},
		{errors.ErrUnsupported, Unsupported},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
	for code := range kinds {
		if code.Kind() == "" {
			t.Errorf("%d has no kind", code)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Add("topsecret", "abc", "topsecret/and/more")
	err := fmt.Errorf("scan: %w", &object.Error{
		Op: "read", Location: object.Location{Recorded: "s3://wh/t/\x1b[31m00042.parquet"}, Range: object.Range{Off: 4096, Len: 65536}, Status: 503,
		Attempts: 5, Code: "SlowDown", RequestID: "r1",
		Err: fmt.Errorf("%w: https://u:pw@host/?X-Amz-Signature=deadbeef&x=1 topsecret/and/more abc Bearer abcdefghijkl", object.ErrUnavailable),
	})
	o := Describe(err, &r)
	var back struct {
		Error struct {
			Code, Attempts, Status      int
			Kind, Op, Location, Message string
			Hint                        string
			Offset, Length              int64
			RequestID                   string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(o.JSON(), &back); err != nil {
		t.Fatal(err)
	}
	e := back.Error
	if e.Code != 6 || e.Kind != "unavailable" || e.Op != "read" || e.Location != `s3://wh/t/\x1b[31m00042.parquet` || e.Offset != 4096 || e.Length != 65536 ||
		e.Attempts != 5 || e.Status != 503 || e.RequestID != "r1" || e.Hint != "raise --retries or lower --max-files-to-prefetch" {
		t.Errorf("%+v", e)
	}
	text := o.Text()
	for _, secret := range []string{"topsecret", "and/more", "deadbeef", "pw@", "abcdefghijkl", "\x1b"} {
		if strings.Contains(text, secret) || strings.Contains(string(o.JSON()), secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	if !strings.HasPrefix(text, "lakescan: scan: object: read") || !strings.Contains(text, "abc") || !strings.HasSuffix(text, "\n  try: raise --retries or lower --max-files-to-prefetch\n") {
		t.Errorf("text is %s", text)
	}
	if got := Describe(Usagef("no flag --x").WithHint("did you mean --y?"), nil).Text(); got != "lakescan: no flag --x\n  try: did you mean --y?\n" {
		t.Errorf("usage is %s", got)
	}
}
