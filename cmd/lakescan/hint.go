package main

import (
	"context"
	"errors"
	"fmt"
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
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() + ": " + e.hint }
func (e *hintedError) Unwrap() error { return e.err }

// hintTable names the nearest tables beside an error that a table does not exist: one listing, of at most a second, and none of
// what goes wrong in it is told.
func (s *session) hintTable(ctx context.Context, target string, err error) error {
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
	near := s.nearTables(ctx, catalog, at.Ident)
	if len(near) == 0 {
		return err
	}
	return &hintedError{err, fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))}
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
	near := expr.Nearest(last, names)
	for i, n := range near {
		near[i] = meta.Ident{Namespace: append(append([]string{}, parent...), n), Name: want.Name}.String()
	}
	return near
}
