package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/query/duckdb"
)

// release is set by the linker in release builds; otherwise the module's version counts.
var release = ""

// buildVersion is what `version -o json` prints; documented in docs/json.md.
type buildVersion struct {
	Version string   `json:"version"`
	Commit  string   `json:"commit"`
	Dirty   bool     `json:"dirty"`
	Date    string   `json:"date"` // of the commit
	Go      string   `json:"go"`
	Arrow   string   `json:"arrow_go"`
	Minio   string   `json:"minio_go"`
	SQL     string   `json:"sql"`
	Tags    []string `json:"tags"`
	Target  string   `json:"target"`
}

func readVersion() buildVersion {
	v := buildVersion{Version: release, Go: runtime.Version(), SQL: "none", Tags: []string{}, Target: runtime.GOOS + "/" + runtime.GOARCH}
	if duckdb.Version != "" {
		v.SQL = "duckdb " + duckdb.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = strings.Trim(info.Main.Version, "()")
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		case "vcs.time":
			v.Date = s.Value
		case "-tags":
			v.Tags = strings.FieldsFunc(s.Value, func(r rune) bool { return r == ',' })
		}
	}
	for _, d := range info.Deps {
		switch {
		case strings.HasPrefix(d.Path, "github.com/apache/arrow-go/"):
			v.Arrow = d.Version
		case strings.HasPrefix(d.Path, "github.com/minio/minio-go/"):
			v.Minio = d.Version
		}
	}
	return v
}

func (a *app) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "version, commit and what is linked in", GroupID: "other", Args: cobra.NoArgs,
		Long: "Prints version, commit, and the versions of what is linked in.\n\n  lakescan version\n  lakescan version -o json\n  lakescan version -o json | jq -r .commit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			v := readVersion()
			if f := a.cfg.Text(config.KeyOutput); f == "json" || f == "ndjson" {
				_, err := a.stdout.Write(append(mustJSON(v), '\n'))
				return err
			}
			_, err := a.stdout.Write([]byte(v.text()))
			return err
		},
	}
	cmd.Flags().StringP("output", "o", "auto", "`format`: table (text), json")
	return cmd
}

// text is what people read.
func (v buildVersion) text() string {
	commit := v.Commit
	if v.Dirty {
		commit += " (changed)"
	}
	return "lakescan " + v.Version + "\ncommit: " + orNone(commit) + "\ndate: " + orNone(v.Date) + "\ngo: " + v.Go + " " + v.Target +
		"\narrow-go: " + orNone(v.Arrow) + "\nminio-go: " + orNone(v.Minio) + "\nsql: " + v.SQL + "\ntags: " + orNone(strings.Join(v.Tags, " ")) + "\n"
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
