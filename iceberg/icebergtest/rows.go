package icebergtest

import (
	"context"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// Rows saves the table and scans it, by planner and source, without look-ahead; each row is its JSON object.
func (b *Table) Rows(t testing.TB, spec iceberg.ScanSpec) ([]string, error) {
	t.Helper()
	return Rows(t.Context(), b.Store, b.Save(), spec)
}

// Rows scans the table of a metadata file.
func Rows(ctx context.Context, store object.Store, metadata string, spec iceberg.ScanSpec) (rows []string, err error) {
	c, err := iceberg.Open(ctx, iceberg.CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) { return store, nil }})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	table, err := c.LoadLocation(ctx, metadata)
	if err != nil {
		return nil, err
	}
	plan, err := table.Plan(ctx, spec)
	if err != nil {
		return nil, err
	}
	full, err := table.Schema(spec.Version)
	if err != nil {
		return nil, err
	}
	cfg := source.Config{Store: store, Schema: plan.Schema(), Table: full, Defaults: plan.Defaults(), Depth: source.Off, NoPrune: spec.NoPrune, Limit: spec.Limit}
	r, err := source.Open(ctx, plan.Tasks(ctx), cfg)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for b, err := range r.All() {
		if err != nil {
			return rows, err
		}
		for i := range b.Record.NumRows() {
			row := b.Record.NewSlice(i, i+1)
			text, err := row.MarshalJSON()
			row.Release()
			if err != nil {
				return rows, err
			}
			rows = append(rows, strings.TrimSpace(string(text[1:len(text)-1]))) // without the list around it
		}
	}
	return rows, nil
}
