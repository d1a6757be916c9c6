package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const good = "# a comment\nname: the name\nfile: a/b.go\ntest: ./a -run ^TestX$\n--- old\n\tone\n\ttwo\n+++ new\n\tthree\n"

func TestParse(t *testing.T) {
	t.Parallel()
	m, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	if m.name != "the name" || m.file != "a/b.go" || m.pkg != "./a" || m.run != "^TestX$" || m.flags != nil {
		t.Errorf("header: %+v", m)
	}
	if m.old != "\tone\n\ttwo\n" || m.new != "\tthree\n" {
		t.Errorf("old %q, new %q", m.old, m.new)
	}
	if m, err = parse(strings.TrimSuffix(good, "\tthree\n")); err != nil || m.new != "" {
		t.Errorf("lines that are only dropped: new %q, %v", m.new, err)
	}
}

// TestBuildFlagsReachTheBuild: a test behind a build tag.
func TestBuildFlagsReachTheBuild(t *testing.T) {
	t.Parallel()
	m, err := parse(strings.Replace(good, "./a -run ^TestX$", "./a -tags=x,y -run ^TestX$", 1))
	if err != nil || m.run != "^TestX$" || !slices.Equal(m.flags, []string{"-tags=x,y"}) {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRotateTriesAllWithinAFewDays: whatever a day's part is, a third of them at least.
func TestRotateTriesAllWithinAFewDays(t *testing.T) {
	t.Parallel()
	for n := 1; n < 40; n++ {
		all := make([]mutant, n)
		for i := range all {
			all[i].name = string(rune('a' + i))
		}
		seen := map[string]bool{}
		for day := range 3 {
			got := rotate(all, 20000+day)
			if len(got) != n {
				t.Fatalf("%d of %d", len(got), n)
			}
			for _, m := range got[:n/3+1] {
				seen[m.name] = true
			}
		}
		if len(seen) < n-1 {
			t.Errorf("%d of %d in three days", len(seen), n)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"no old", "--- old\n", "", "no line"},
		{"no new", "+++ new\n", "", "no line"},
		{"old is empty", "\tone\n\ttwo\n", "", "old text is empty"},
		{"nothing changes", "\tthree", "\tone\n\ttwo", "equal"},
		{"no name", "name: the name\n", "", "no name"},
		{"empty name", "name: the name\n", "name:\n", "name is empty"},
		{"no file", "file: a/b.go\n", "", "no file"},
		{"no test", "test: ./a -run ^TestX$\n", "", "no test"},
		{"twice", "name: the name\n", "name: a\nname: b\n", "twice"},
		{"unknown key", "name:", "title:", "header line"},
		{"outside the tree", "a/b.go", "../b.go", "root of the module"},
		{"absolute", "a/b.go", "/a/b.go", "root of the module"},
		{"no pattern", " -run ^TestX$", "", "no -run"},
		{"another module", "./a ", "example.com/a ", "package of the module"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(strings.Replace(good, c.from, c.to, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	m, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, source, want string }{
		{"first lines", "\tone\n\ttwo\nend\n", "\tthree\nend\n"},
		{"last lines", "head\n\tone\n\ttwo\n", "head\n\tthree\n"},
		{"absent", "head\n", ""},
		{"twice", "\tone\n\ttwo\n\tone\n\ttwo\n", ""},
		{"twice with a line between", "\tone\n\ttwo\nx\n\tone\n\ttwo\n", ""},
		{"not a whole line", "x\tone\n\ttwo\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.apply(c.source)
			if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, errApplies) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestMutantsOfTheFolder: a mutant that cannot be read, or that the code has moved away from, is found here and not first when its day comes.
func TestMutantsOfTheFolder(t *testing.T) {
	t.Parallel()
	all, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two mutants are named %q", m.name)
		}
		names[m.name] = true
		source, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.apply(string(source)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if len(all) == 0 {
		t.Error("no mutant")
	}
}
