package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// hintTime bounds the listing behind a hint, and hintNames how many names it looks at.
const (
	hintTime  = time.Second
	hintNames = 10_000
)

// hintedError is an error and what to try; exit codes see through it.
type hintedError struct {
	err  error
	text string // instead of err's own; "" = that
	hint string // "" = none
}

func (e *hintedError) Error() string {
	text := cmp.Or(e.text, e.err.Error())
	if e.hint != "" {
		text += ": " + e.hint
	}
	return text
}

func (e *hintedError) Unwrap() error { return e.err }

// hintTable names the nearest tables beside an error that a table does not exist: one listing, of at most a second, and none of
// what goes wrong in it is told.
func (s *session) hintTable(ctx context.Context, target string, err error) error {
	if bare, ok := errors.AsType[*lakescan.TargetError](err); ok {
		if here := hereAs(bare.Target); here != "" {
			return &hintedError{err: err, hint: here}
		}
		return s.hintNamespace(ctx, bare.Target, err)
	}
	if !errors.Is(err, meta.ErrNoSuchTable) && !errors.Is(err, meta.ErrNoSuchNamespace) {
		return err
	}
	var at *meta.Error
	if !errors.As(err, &at) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	catalog := ""
	if parts, perr := lakescan.SplitName(target); perr == nil && len(parts) > len(at.Ident.Namespace)+1 {
		catalog = parts[0]
	}
	clear := &hintedError{err: err, text: "no such table " + at.Ident.String() + s.inCatalog(catalog)}
	if clear.hint = hereAs(at.Ident.String()); clear.hint != "" {
		return clear
	}
	if c := s.cfg.Client(s.log).Catalog; catalog == "" && c.URI == "" && c.Warehouse == "" {
		clear.text, clear.hint = at.Ident.String(), "no catalog is configured; --uri, LAKESCAN_URI or lakescan.yaml names one"
		return clear
	}
	if n := len(at.Ident.Namespace); n > 1 && slices.Contains(verbsOfTables, at.Ident.Name) {
		table := meta.Ident{Namespace: at.Ident.Namespace[:n-1], Name: at.Ident.Namespace[n-1]}
		clear.hint = "lakescan " + at.Ident.Name + " " + table.String() + " lists them"
		return clear
	}
	if near := s.nearTables(ctx, catalog, at.Ident); len(near) > 0 {
		clear.hint = fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	return clear
}

// verbsOfTables list what other engines have as metadata tables.
var verbsOfTables = []string{"snapshots", "history", "refs", "manifests", "files", "partitions"}

// hereAs says how to write the name of a local file or folder that was taken for a table's.
func hereAs(name string) string {
	st, err := os.Stat(name)
	switch {
	case err != nil || strings.ContainsRune(name, '/'):
		return ""
	case st.IsDir():
		return "the folder of that name is " + name + "/"
	}
	return "the file of that name is ./" + name
}

// inCatalog names the catalog that was asked, with its address where it is the default one.
func (s *session) inCatalog(name string) string {
	c := s.cfg.Client(s.log)
	if name == "" || name == c.CatalogName {
		if c.Catalog.URI == "" {
			return ""
		}
		return " in catalog " + cmp.Or(c.CatalogName, "default") + " (" + c.Catalog.URI + ")"
	}
	return " in catalog " + name
}

// hintNamespace finds a table that was named without its namespace: a listing of the namespaces and of each of the first few, within a second.
func (s *session) hintNamespace(ctx context.Context, name string, err error) error {
	if parts, perr := lakescan.SplitName(name); perr != nil || len(parts) != 1 || strings.ContainsAny(name, "/*?[") {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	var found []string
	seen := 0
	for ns, lerr := range s.client.Namespaces(ctx, "", nil) {
		if seen++; lerr != nil || seen > 20 {
			break
		}
		for id, lerr := range s.client.Tables(ctx, "", ns) {
			if lerr != nil {
				break
			}
			if strings.EqualFold(id.Name, name) {
				found = append(found, id.String())
			}
		}
	}
	if len(found) == 0 {
		return err
	}
	return &hintedError{err: err, hint: fmt.Sprintf("did you mean %s?", strings.Join(found, " or "))}
}

func (s *session) nearTables(ctx context.Context, catalog string, want meta.Ident) []string {
	var names []string
	for id, err := range s.client.Tables(ctx, catalog, want.Namespace) {
		if err != nil || len(names) == hintNames {
			break
		}
		names = append(names, id.Name)
	}
	if len(names) == 0 {
		return s.nearNamespaces(ctx, catalog, want)
	}
	near := expr.Nearest(want.Name, names)
	for i, n := range near {
		near[i] = meta.Ident{Namespace: want.Namespace, Name: n}.String()
	}
	return near
}

func (s *session) nearNamespaces(ctx context.Context, catalog string, want meta.Ident) []string {
	if len(want.Namespace) == 0 {
		return nil
	}
	parent, last := want.Namespace[:len(want.Namespace)-1], want.Namespace[len(want.Namespace)-1]
	var names []string
	for ns, err := range s.client.Namespaces(ctx, catalog, parent) {
		if err != nil || len(names) == hintNames {
			break
		}
		names = append(names, ns[len(ns)-1])
	}
	var near []string
	for _, n := range expr.Nearest(last, names) {
		ns := append(slices.Clone(parent), n)
		var tables []string
		for id, err := range s.client.Tables(ctx, catalog, ns) {
			if err != nil || len(tables) == hintNames {
				break
			}
			tables = append(tables, id.Name)
		}
		for _, t := range expr.Nearest(want.Name, tables) {
			near = append(near, meta.Ident{Namespace: ns, Name: t}.String())
		}
	}
	return near
}
