package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryCaseHasATest is the cheap form of make cases: sources are read, nothing is run.
func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ok, err := show(t.Context(), &out, "../..", "", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "MISSING") {
				t.Error(strings.TrimSpace(line))
			}
		}
	}
}

func TestCarried(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"TestL12_PositionsAreAbsolute":       "L12 ",
		"TestL61_I11_SwappedObjectIsAnError": "L61 I11 ",
		"TestI09_ReadStartsNoGoroutine":      "I9 ",
		"FuzzP9_Paths":                       "P9 ",
		"TestN_DEL1_RenamedKey":              "DEL",
		"TestL2x_No":                         "",
		"TestLists":                          "",
		"TestPagesOfL12":                     "",
	} {
		ids, kind := carried(name)
		got := kind
		for _, id := range ids {
			got += id + " "
		}
		if got != want {
			t.Errorf("%s carries %q, want %q", name, got, want)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	results, said, err := collect(strings.NewReader(`
{"Action":"run","Package":"m/a","Test":"TestL01_A"}
{"Action":"output","Package":"m/a","Test":"TestL01_A/sub","Output":"why\n"}
{"Action":"fail","Package":"m/a","Test":"TestL01_A/sub"}
{"Action":"fail","Package":"m/a","Test":"TestL01_A"}
{"Action":"pass","Package":"m/a","Test":"TestL02_B"}
{"Action":"skip","Package":"m/b","Test":"TestL03_C"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if said["m/a TestL01_A"] != "why\n" || len(said) != 1 {
		t.Errorf("said: %q", said)
	}
	rows := []row{
		{item: item{ID: "L01"}, Tests: []test{{Result: results["m/a TestL01_A"]}, {Result: "pass"}}, Want: 1},
		{item: item{ID: "L02"}, Tests: []test{{Result: results["m/a TestL02_B"]}}, Want: 1},
		{item: item{ID: "L03"}, Tests: []test{{Result: results["m/b TestL03_C"]}}, Want: 1},
		{item: item{ID: "L04"}, Tests: []test{{Servers: true}}, Want: 1},
		{item: item{ID: "N"}, Tests: []test{{Result: "pass"}}, Want: 2},
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.result())
	}
	if want := []string{"FAIL", "pass", "SKIP", "MISSING", "MISSING"}; !slices.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
	if write(&bytes.Buffer{}, rows[:1]) || !write(&bytes.Buffer{}, rows[1:2]) {
		t.Error("a failed test must fail the table, a passed one not")
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, body := range map[string]string{
		"go.mod":           "module m\n",
		"a/a_test.go":      "package a\nfunc TestL01_A(t *testing.T) {}\nfunc (x) TestL02_Method() {}\n",
		"a/b_test.go":      "//go:build integration\n\npackage a\nfunc TestL03_C(t *testing.T) {}\n",
		"a/c_test.go":      "//go:build duckdb_arrow\n\npackage a\nfunc FuzzP9_D(f *testing.F) {}\n",
		"nest/go.mod":      "module n\n",
		"nest/x/x_test.go": "package x\nfunc TestL04_D(t *testing.T) {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests, err := scanTests(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []test{
		{Name: "TestL01_A", Package: "a"},
		{Name: "TestL03_C", Package: "a", Servers: true},
		{Name: "FuzzP9_D", Package: "a"},
		{Name: "TestL04_D", Package: "nest/x", Servers: true},
	}
	if !slices.Equal(tests, want) {
		t.Errorf("got  %v\nwant %v", tests, want)
	}
	c, err := parseCatalogue("neighbours DEL\nL01 DEL a\nI9 LOOK b\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := agrees(c, reportedCases("## Deletes (DEL)\n| L01 | x |\n")); err != nil {
		t.Error(err)
	}
	if err := agrees(c, reportedCases("## Deletes (DEL)\n| L01 | x |\n| L02 | x |\n")); err == nil {
		t.Error("a report that the catalogue lacks goes unnoticed")
	}
	if _, unknown := table(c, tests); !slices.Equal(unknown, []string{"L03", "L04", "P9"}) {
		t.Errorf("unknown: %v", unknown)
	}
}
