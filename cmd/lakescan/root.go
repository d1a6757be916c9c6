package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/internal/exit"
)

const rootLong = `lakescan scans Iceberg tables and Parquet files on S3 with look-ahead.

  lakescan demo                                               a real query, no server to install
  lakescan query "select region, sum(fare) from demo.trips group by region"
  lakescan scan demo.trips --select region,fare --where "fare > 40" --limit 10

TARGET is ns.table, catalog.ns.table, with quotes around a part that holds a dot ("a.b".t), a Parquet file, folder or glob
(s3://bucket/path/*.parquet, or on this machine), or the location of a *.metadata.json.

Each flag may also be a variable (LAKESCAN_ and the flag in capitals) or a key of lakescan.yaml; "lakescan config show" tells
where a value comes from. Exit codes: 0 ok, 1 failed, 2 usage, 3 partial, 4 not found, 5 denied, 6 unavailable, 7 unsupported,
8 corrupt, 9 limit, 130 interrupted.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "lakescan",
		Short:             "scan Iceberg tables and Parquet files on S3 with look-ahead",
		Long:              rootLong,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = readVersion().text()
	root.SetVersionTemplate("{{.Version}}")
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	a.addSettings(root.PersistentFlags(), config.Process)
	root.PersistentFlags().BoolP("quiet", "q", false, "no progress, no hints")
	root.PersistentFlags().CountP("verbose", "v", "log to stderr; twice for a line per request")
	root.PersistentFlags().Bool("debug", false, "log everything, and the whole chain of an error")
	root.AddGroup(&cobra.Group{ID: "read", Title: "Reading:"}, &cobra.Group{ID: "look", Title: "Looking:"}, &cobra.Group{ID: "other", Title: "Other:"})
	root.AddCommand(a.queryCmd(), a.scanCmd())
	root.AddCommand(a.tablesCmd(), a.namespacesCmd(), a.describeCmd())
	root.AddCommand(a.metadataCmds()...)
	root.AddCommand(a.inspectCmds()...)
	root.AddCommand(a.demoCmd(), a.benchCmd(), a.configCmd(), a.versionCmd(), a.docsCmd(), a.debugCmd())
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	a.addCompletion(root)
	return root
}

// noSuchCommand names the nearest command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	e := exit.Usagef("no command %q", args[0])
	if near := expr.Nearest(args[0], names); len(near) > 0 {
		return e.WithHint("did you mean lakescan %s?", near[0])
	}
	return e.WithHint("lakescan --help")
}

// badValue is pflag's text for a value that a flag cannot take.
var badValue = regexp.MustCompile(`^invalid argument (".*") for "(?:-., )?(--[a-z-]+)" flag: (.*)$`)

func kindOfValue(cause string) string {
	switch {
	case strings.Contains(cause, "ParseInt"):
		return "a whole number"
	case strings.Contains(cause, "ParseBool"):
		return "true or false"
	case strings.Contains(cause, "is not one of"):
		return cause[strings.Index(cause, "one of"):]
	}
	return "accepted: " + cause
}

// flagError names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	e := exit.Usagef("%v", err).WithHint("%s --help", cmd.CommandPath())
	if m := badValue.FindStringSubmatch(err.Error()); m != nil {
		e.Msg = fmt.Sprintf("%s: %s is not %s", m[2], m[1], kindOfValue(m[3]))
		return e
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := expr.Nearest(name, names); len(near) > 0 {
		return e.WithHint("did you mean --%s?", near[0])
	}
	return e
}

// addSettings makes a flag of every setting of the groups. Their values are checked by config, for all sources alike.
func (a *app) addSettings(flags *pflag.FlagSet, groups ...config.Group) {
	flags.SortFlags = false
	for _, s := range config.Settings() {
		for _, g := range groups {
			if s.Group != g || s.Flag == "" {
				continue
			}
			v := &text{list: s.List, def: s.Default, kind: "string"}
			if s.Switch {
				v.kind = "bool"
			}
			f := flags.VarPF(v, s.Flag, shorthand[s.Flag], s.Usage)
			if s.Switch {
				f.NoOptDefVal = "true"
			}
			if s.Key == config.KeyPager {
				f.NoOptDefVal = "auto"
			}
		}
	}
}

var shorthand = map[string]string{"output": "o"}

// text is a flag's value before config reads it.
type text struct {
	list bool
	def  string
	kind string
	set  []string
}

func (t *text) String() string {
	if len(t.set) == 0 {
		return t.def
	}
	return strings.Join(t.set, "\n")
}

func (t *text) Set(s string) error {
	if !t.list {
		t.set = nil
	}
	t.set = append(t.set, s)
	return nil
}

func (t *text) Type() string { return t.kind }
