package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/config"
)

// addCompletion completes targets of commands that take one, columns of --select, and the names of catalogs. A shell asks by running
// this program, which then says nothing that is no completion.
func (a *app) addCompletion(root *cobra.Command) {
	for _, c := range commandsOf(root) {
		if strings.Contains(c.Use, " TARGET") || strings.Contains(c.Use, " TABLE") {
			c.ValidArgsFunction = a.completeTarget
		}
		if strings.Contains(c.Use, "[NS]") {
			c.ValidArgsFunction = a.completeNamespace
		}
		if c.Flags().Lookup("select") != nil {
			_ = c.RegisterFlagCompletionFunc("select", a.completeColumns)
		}
		if c.Flags().Lookup("ref") != nil {
			_ = c.RegisterFlagCompletionFunc("ref", a.completeRef)
		}
	}
	_ = root.RegisterFlagCompletionFunc("catalog", a.completeCatalog)
}

// asked opens a client for one question; any failure is no completion.
func (a *app) asked(cmd *cobra.Command, ask func(ctx context.Context, c *lakescan.Client) []string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), namesWithin)
	defer cancel()
	if a.setup(cmd) != nil {
		return nil
	}
	client, err := lakescan.Open(ctx, a.cfg.Client(a.log))
	if err != nil {
		return nil
	}
	defer client.Close()
	return ask(ctx, client)
}

func (a *app) completeTarget(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if strings.ContainsAny(word, "/*?[") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	found := a.asked(cmd, func(ctx context.Context, c *lakescan.Client) []string { return newNames(c).targets(ctx, word) })
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault // files
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeNamespace(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.asked(cmd, func(ctx context.Context, c *lakescan.Client) []string {
		return startingWith(newNames(c).namespaces(ctx), word)
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeColumns completes the last item of a list.
func (a *app) completeColumns(cmd *cobra.Command, args []string, list string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cut := strings.LastIndexByte(list, ',') + 1
	found := a.asked(cmd, func(ctx context.Context, c *lakescan.Client) []string {
		return startingWith(newNames(c).columns(ctx, args[0]), list[cut:])
	})
	for i := range found {
		found[i] = list[:cut] + found[i]
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeRef(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.asked(cmd, func(ctx context.Context, c *lakescan.Client) []string {
		t, err := c.Table(ctx, args[0])
		if err != nil {
			return nil
		}
		return startingWith(sortedKeys(t.Metadata().Refs), word)
	}), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeCatalog(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if a.setup(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return startingWith(append(sortedKeys(a.cfg.Client(a.log).Catalogs), strings.ToLower(a.cfg.Text(config.KeyCatalog))), word), cobra.ShellCompDirectiveNoFileComp
}
