package main

import (
	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/failpoints"
)

// debugCmd is hidden: what it prints is for those who test lakescan.
func (a *app) debugCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "debug", Short: "for those who test lakescan", Hidden: true, Args: noSuchCommand}
	points := &cobra.Command{
		Use: "failpoints", Short: "list the named faults of this build", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			s := &session{app: a}
			return s.withRows(cmd, func(w *rowWriter) error {
				for _, p := range failpoints.Names() {
					if err := w.add(p); err != nil {
						return err
					}
				}
				return nil
			}, textColumns("name")...)
		},
	}
	a.addSettings(points.Flags(), config.Connect)
	a.addOutput(points)
	cmd.AddCommand(points)
	return cmd
}
