package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
)

// docs/cli.md is what the commands say of themselves.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	got := reference((&app{}).root())
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is not what the commands say: run make docs (%v)", path, err)
	}
}

// Every command explains itself, with three examples, and every setting has a command that takes its flag.
func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	flags := map[string]bool{}
	for _, c := range append(commandsOf(root), root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		if c.Name() == "completion" {
			continue
		}
		if c.Short == "" || strings.Count(c.Long, "\n  lakescan ") < 3 {
			t.Errorf("%s needs a short text and three examples", c.CommandPath())
		}
		if c.Flags().Lookup("out") != nil && c.Flags().Lookup("output") == nil {
			t.Errorf("%s has --out without -o", c.CommandPath())
		}
	}
	for _, s := range config.Settings() {
		if s.Flag != "" && !flags[s.Flag] {
			t.Errorf("no command takes --%s", s.Flag)
		}
	}
}

// Completion of every shell is generated without a fault.
func TestCompletion(t *testing.T) {
	t.Parallel()
	root := (&app{}).root()
	root.InitDefaultCompletionCmd()
	for _, gen := range []func(*strings.Builder) error{
		func(b *strings.Builder) error { return root.GenBashCompletionV2(b, true) },
		func(b *strings.Builder) error { return root.GenZshCompletion(b) },
		func(b *strings.Builder) error { return root.GenFishCompletion(b, true) },
		func(b *strings.Builder) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var b strings.Builder
		if err := gen(&b); err != nil || b.Len() < 1000 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
}

func TestParseSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list    string
		columns []string
		aggs    []lakescan.Aggregate
		bad     bool
	}{
		{"", nil, nil, false},
		{" * ", nil, nil, false},
		{"a, b.c ,\"x,y\".z", []string{"a", "b.c", `"x,y".z`}, nil, false},
		{"count(*), MAX( a.b )", nil, []lakescan.Aggregate{{Func: "count"}, {Func: "max", Column: "a.b"}}, false},
		{`"count(x)"`, []string{`"count(x)"`}, nil, false},
		{"a,,b", nil, nil, true},
		{"a,", nil, nil, true},
		{"a,count(*)", nil, nil, true},
	} {
		columns, aggs, err := parseSelect(c.list)
		if (err != nil) != c.bad || !slices.Equal(columns, c.columns) || !reflect.DeepEqual(aggs, c.aggs) {
			t.Errorf("%q: %v, %v, %v", c.list, columns, aggs, err)
		}
	}
}

func TestParseAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	berlin := time.FixedZone("CEST", 7200)
	for _, c := range []struct {
		text  string
		zone  *time.Location
		given bool
		want  string
	}{
		{"2026-08-01T00:00Z", time.UTC, false, "2026-08-01T00:00:00Z"},
		{"2026-08-01T00:00:00.5+02:00", time.UTC, false, "2026-07-31T22:00:00.5Z"},
		{"2026-08-01 01:02Z", time.UTC, false, "2026-08-01T01:02:00Z"},
		{"2026-08-01Z", time.UTC, false, "2026-08-01T00:00:00Z"},
		{"-1h30m", time.UTC, false, "2026-08-01T10:30:00Z"},
		{"2026-08-01T01:00", berlin, true, "2026-07-31T23:00:00Z"},
		{"2026-08-01", berlin, true, "2026-07-31T22:00:00Z"},
		{"2026-08-01T01:00", berlin, false, ""},
		{"-1 day", time.UTC, false, ""},
		{"now", time.UTC, true, ""},
	} {
		got, err := parseAt(c.text, now, c.zone, c.given)
		if (err != nil) != (c.want == "") || err == nil && got.UTC().Format(time.RFC3339Nano) != c.want {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
}

func TestWantsJSONErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		env  string
		want bool
	}{
		{"scan a.b", "", false},
		{"scan a.b -o json", "", true},
		{"scan a.b -ondjson", "", true},
		{"scan a.b --output=JSON", "", true},
		{"scan a.b -o json --error-format text", "", false},
		{"scan a.b --error-format=json", "", true},
		{"scan a.b -- -o json", "", false},
		{"scan a.b", "LAKESCAN_OUTPUT=ndjson", true},
		{"scan a.b -o csv", "LAKESCAN_OUTPUT=ndjson", false},
		{"scan a.b", "LAKESCAN_ERROR_FORMAT=json", true},
	} {
		if got := wantsJSONErrors(strings.Fields(c.args), []string{c.env}); got != c.want {
			t.Errorf("%s (%s): %v", c.args, c.env, got)
		}
	}
}
