package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/internal/lab"
	"github.com/lakescan/lakescan/internal/lab/report"
)

func (a *app) benchReportCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "report DIR|FILE...", Short: "one page, plots and tables of results", Args: someArgs("a folder of results", "lakescan bench report out/smoke"),
		Long: "Makes report.html (opens without a network), plots/*.png in light and dark, cells.csv and samples.csv of a folder of results, or of the\nfolder of a samples.jsonl.\n\n  lakescan bench report out/smoke\n  lakescan bench report out/smoke -o docs/report/smoke\n  lakescan bench report out/*",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			to, _ := cmd.Flags().GetString("dir")
			if to != "" && len(args) > 1 {
				return exit.Usagef("--dir is one folder, and %d results were given", len(args))
			}
			for _, from := range args {
				if err := a.benchReport(from, to); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringP("dir", "o", "", "`folder` of the report (default: beside the samples)")
	return cmd
}

func (a *app) benchReport(from, to string) error {
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		from = filepath.Dir(from)
	}
	if to == "" {
		to = from
	}
	page, err := report.Write(from, to)
	if err != nil {
		return reportError(err)
	}
	text, err := report.Summary(from)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\nreport: %s\n", text, page)
	return err
}

// reportError gives folders that hold nothing of use the class of wrong usage.
func reportError(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, report.ErrNoSamples) || errors.Is(err, report.ErrNothingInCommon) {
		return exit.Usagef("%v", err).WithHint("a folder of results holds %s and %s", lab.RunFile, lab.SamplesFile)
	}
	return err
}

func (a *app) benchCmpCmd() *cobra.Command {
	return &cobra.Command{
		Use: "cmp A B", Short: "compare two folders of results", Args: cobra.ExactArgs(2),
		Long: "Pairs the runs of two folders by cell and round: median ratio of wall times (below 1: B is faster) with a bootstrap interval, requests beside.\n\n  lakescan bench cmp out/before out/after\n  lakescan bench cmp /tmp/main /tmp/branch\n  lakescan bench cmp out/a out/a-again",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setup(cmd); err != nil {
				return err
			}
			list, err := report.Compare(args[0], args[1])
			if err != nil {
				return reportError(err)
			}
			_, err = io.WriteString(a.stdout, report.CompareText(list))
			return err
		},
	}
}
