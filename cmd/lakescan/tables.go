package main

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/exit"
)

func (a *app) tablesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tables [NS]", Short: "list tables, of one namespace or of all", GroupID: "look", Args: atMostOne,
		Long: `Lists tables, page by page as the catalog gives them.

  lakescan tables
  lakescan tables demo
  lakescan tables prod.sales -o ndjson | head -3

NS is a namespace, or catalog.namespace. Without it all namespaces are walked. A table need not be listed to be read.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(cmd, args, func(ctx context.Context, s *session, catalog string, ns []string, w *rowWriter) error {
				return s.listTables(ctx, catalog, ns, len(args) == 0, w)
			}, "namespace", "table")
		},
	}
	a.addListing(cmd)
	return cmd
}

func (a *app) namespacesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "namespaces [NS]", Short: "list namespaces, of the top level or below one", GroupID: "look", Args: atMostOne,
		Long: `Lists the namespaces of a catalog, or those below one.

  lakescan namespaces
  lakescan namespaces sales
  lakescan namespaces --uri http://127.0.0.1:8181 -o csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.list(cmd, args, func(ctx context.Context, s *session, catalog string, ns []string, w *rowWriter) error {
				for child, err := range s.client.Namespaces(ctx, catalog, ns) {
					if err != nil {
						return err
					}
					if err := w.add(joinName(child)); err != nil {
						return err
					}
				}
				return nil
			}, "namespace")
		},
	}
	a.addListing(cmd)
	return cmd
}

func (a *app) addListing(cmd *cobra.Command) {
	a.addSettings(cmd.Flags(), config.Connect)
	a.addOutput(cmd)
	cmd.Flags().String("timeout", "none", "give up after this `duration` (exit code 9)")
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes one name, and %q is a second one", cmd.CommandPath(), args[1])
	}
	return nil
}

// list runs a listing whose columns are texts.
func (a *app) list(cmd *cobra.Command, args []string, fill func(context.Context, *session, string, []string, *rowWriter) error, columns ...string) error {
	return a.withClient(cmd, func(ctx context.Context, s *session) error {
		catalog, ns, err := s.namespace(args)
		if err != nil {
			return err
		}
		return s.withRows(cmd, func(w *rowWriter) error { return fill(ctx, s, catalog, ns, w) }, textColumns(columns...)...)
	})
}

// namespace reads [catalog.]ns.
func (s *session) namespace(args []string) (catalog string, ns []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	if ns, err = lakescan.SplitName(args[0]); err != nil {
		return "", nil, err
	}
	if slices.Contains(s.cfg.Catalogs(), ns[0]) {
		return ns[0], ns[1:], nil
	}
	return "", ns, nil
}

func (s *session) listTables(ctx context.Context, catalog string, ns []string, all bool, w *rowWriter) error {
	if len(ns) > 0 || !all {
		if err := addIdents(w, s.client.Tables(ctx, catalog, ns)); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	for child, err := range s.client.Namespaces(ctx, catalog, ns) {
		if err != nil {
			return err
		}
		if err := s.listTables(ctx, catalog, child, true, w); err != nil {
			return err
		}
	}
	return nil
}

func addIdents(w *rowWriter, idents iter.Seq2[iceberg.Ident, error]) error {
	for id, err := range idents {
		if err != nil {
			return err
		}
		if err := w.add(joinName(id.Namespace), id.Name); err != nil {
			return err
		}
	}
	return nil
}

// joinName writes the parts of a name as a target takes them.
func joinName(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	last := len(parts) - 1
	return strings.TrimPrefix(iceberg.Ident{Namespace: parts[:last], Name: parts[last]}.String(), ".")
}
