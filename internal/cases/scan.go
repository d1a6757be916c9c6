package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A test is one function of a _test.go file.
type test struct {
	Name, Package string // package: folder below the root of the module, "." for the root
	Servers       bool   // needs the tag integration, or lies in a nested module: not run here
	Result        string // after run: pass, FAIL, SKIP; empty when not run
}

// scanTests reads the tests below root from the sources, in order of package and place.
func scanTests(root string) ([]test, error) {
	var tests []test
	nested := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				nested[path] = true
			}
			nested[path] = nested[path] || nested[filepath.Dir(path)]
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		found, err := testsOf(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for i := range found {
			found[i].Package = filepath.ToSlash(dir)
			found[i].Servers = found[i].Servers || nested[filepath.Dir(path)]
		}
		tests = append(tests, found...)
		return nil
	})
	slices.SortStableFunc(tests, func(a, b test) int { return strings.Compare(a.Package, b.Package) })
	return tests, err
}

func testsOf(path string) ([]test, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	servers := false
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			if x, err := constraint.Parse(line.Text); err == nil {
				servers = servers || !x.Eval(func(tag string) bool { return tag != "integration" && tag != "assert" })
			}
		}
	}
	var tests []test
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		tests = append(tests, test{Name: f.Name.Name, Servers: servers})
	}
	return tests, nil
}
