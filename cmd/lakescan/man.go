package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakescan/lakescan/internal/exit"
)

// manCmd writes a page a command, for releases.
func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "manual pages, a file a command", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exit.Usagef("%v", err)
			}
			for _, c := range append([]*cobra.Command{cmd.Root()}, commandsOf(cmd.Root())...) {
				name := strings.ReplaceAll(c.CommandPath(), " ", "-")
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(manPage(c, name)), 0o644); err != nil {
					return fmt.Errorf("manual: %w", err)
				}
			}
			return nil
		},
	}
}

// manPage is one page in the man macros. Texts are kept as they stand: the examples in them are laid out by hand.
func manPage(c *cobra.Command, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"lakescan\" \"lakescan manual\"\n.nh\n", strings.ToUpper(name))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(longOf(c))))
	options := func(title string, flags *pflag.FlagSet) {
		first := true
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if first {
				fmt.Fprintf(&b, ".SH %s\n", title)
				first = false
			}
			arg, usage := pflag.UnquoteUsage(f)
			head := "\\-\\-" + roff(f.Name)
			if f.Shorthand != "" {
				head = "\\-" + f.Shorthand + ", " + head
			}
			if arg != "" {
				head += " \\fI" + roff(arg) + "\\fR"
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", head, roff(usage))
		})
	}
	options("OPTIONS", c.LocalNonPersistentFlags())
	options("OPTIONS OF EVERY COMMAND", c.Root().PersistentFlags())
	var also []string
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, fmt.Sprintf(".BR %s (1)", roff(strings.ReplaceAll(sub.CommandPath(), " ", "-"))))
		}
	}
	if c.HasParent() {
		also = append(also, fmt.Sprintf(".BR %s (1)", roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))))
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(also, ",\n") + "\n")
	}
	return b.String()
}

// roff escapes a text: backslashes, hyphens that are meant as such, and lines that would be requests.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
