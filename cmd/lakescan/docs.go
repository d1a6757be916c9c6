package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakescan/lakescan/config"
)

// docsCmd is hidden: it writes docs/cli.md out of the commands themselves.
func (a *app) docsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "docs", Short: "write the manual", Hidden: true, Args: noSuchCommand}
	cmd.AddCommand(&cobra.Command{
		Use: "markdown", Short: "the reference as markdown, on stdout", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.stdout, reference(cmd.Root()))
			return err
		},
	})
	cmd.AddCommand(a.manCmd())
	return cmd
}

// reference is docs/cli.md.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Command line\n\nMade from the commands by `make docs`; a test compares. Data goes to stdout, everything else to stderr.\n\n")
	b.WriteString("```\n" + root.Long + "\n```\n\n")
	b.WriteString("## Settings\n\nEach is a flag, a variable, and a key of `lakescan.yaml` (working folder) or `$XDG_CONFIG_HOME/lakescan/config.yaml`.\n\n| flag | variable | key | default | |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range config.Settings() {
		flag := "-"
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		def := s.Default
		if def == "" {
			def = "-"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s | %s |\n", flag, s.Env(), s.Key, def, strings.ReplaceAll(strings.ReplaceAll(s.Usage, "`", ""), "|", `\|`))
	}
	b.WriteString("\n## Flags of every command\n\n" + flagTable(root.PersistentFlags(), func(*pflag.Flag) bool { return true }))
	for _, c := range commandsOf(root) {
		b.WriteString("\n## " + c.CommandPath() + "\n\n")
		b.WriteString("```\n" + c.UseLine() + "\n\n" + strings.TrimSpace(longOf(c)) + "\n```\n")
		own := flagTable(c.LocalNonPersistentFlags(), func(f *pflag.Flag) bool { return !isSetting(f) && f.Name != "help" })
		if own != "" {
			b.WriteString("\n" + own)
		}
		if names := settingFlags(c); names != "" {
			b.WriteString("\nSettings: " + names + "\n")
		}
	}
	return b.String()
}

func longOf(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short
}

// commandsOf lists the visible commands, parents first.
func commandsOf(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" || c.Name() == "completion" {
			continue
		}
		out = append(out, sub)
		out = append(out, commandsOf(sub)...)
	}
	return out
}

func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(*text)
	return ok
}

// changedSettings are the settings that were given as flags.
func changedSettings(c *cobra.Command) (out []*pflag.Flag) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if isSetting(f) && f.Changed {
			out = append(out, f)
		}
	})
	return out
}

func settingFlags(c *cobra.Command) string {
	var names []string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, "`--"+f.Name+"`")
		}
	})
	return strings.Join(names, ", ")
}

func flagTable(flags *pflag.FlagSet, keep func(*pflag.Flag) bool) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || !keep(f) || isSetting(f) {
			return
		}
		arg, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if arg != "" {
			name += " " + arg
		}
		fmt.Fprintf(&b, "| %s` | %s |\n", name, strings.ReplaceAll(usage, "|", `\|`))
	})
	if b.Len() == 0 {
		return ""
	}
	return "| flag | |\n| --- | --- |\n" + b.String()
}
