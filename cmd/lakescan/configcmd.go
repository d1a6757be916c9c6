package main

import (
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
)

func (a *app) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "show the configuration and where it comes from", GroupID: "other", Args: noSuchCommand,
		Long: "Shows what is set, with its origin; show --all has what is at its default too.\n\n  lakescan config show\n  lakescan config show --all -o json\n  lakescan config path",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &cobra.Command{
		Use: "show", Short: "every value with its origin; secrets are masked", Args: cobra.NoArgs,
		Long: `Prints what is set, and by which flag, variable or file; --all also what is at its default. Secrets are masked.

  lakescan config show
  lakescan config show --all
  lakescan config show --profile lake`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			all, _ := cmd.Flags().GetBool("all")
			s := &session{app: a}
			return s.withRows(cmd, func(w *rowWriter) error {
				for _, e := range a.cfg.Entries(all) {
					if err := w.add(e.Key, e.Value, e.Origin, textOrNull(e.Note)); err != nil {
						return err
					}
				}
				return nil
			}, textColumns("key", "value", "origin", "note")...)
		},
	}
	show.Flags().Bool("all", false, "also what is at its default")
	path := &cobra.Command{
		Use: "path", Short: "the files that were looked for", Args: cobra.NoArgs,
		Long: "Lists the files that were looked for, in the order of their layers, and whether they exist.\n\n  lakescan config path\n  lakescan config path -o csv\n  lakescan config path -x",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			s := &session{app: a}
			return s.withRows(cmd, func(w *rowWriter) error {
				for _, f := range a.cfg.Files() {
					if err := w.add(f.Path, f.Found); err != nil {
						return err
					}
				}
				return nil
			}, col("file", typeText), col("found", typeFlag))
		},
	}
	for _, c := range []*cobra.Command{show, path} {
		a.addSettings(c.Flags(), config.Connect, config.Read)
		a.addOutput(c)
		cmd.AddCommand(c)
	}
	return cmd
}
