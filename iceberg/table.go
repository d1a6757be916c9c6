package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
)

// Table is one table as it was when it was loaded; immutable. Refresh loads it anew.
type Table struct {
	catalog *Catalog
	backend meta.Backend
	ident   Ident
	meta    *meta.Metadata
	store   object.Store
	all     bool // meta holds all snapshots that exist
}

// open makes the table's store, with the keys that its catalog gives out.
func (t *Table) open() (err error) {
	var keys object.Credentials
	if v, ok := t.backend.(meta.Vendor); ok {
		keys = v.Credentials(t.ident)
	}
	t.store, err = t.catalog.cfg.NewStore(keys)
	return err
}

// Ident is the name that the table was loaded by.
func (t *Table) Ident() Ident { return t.ident }

// Metadata is the table's metadata. A REST catalog may have left out snapshots that no branch or tag names.
func (t *Table) Metadata() *Metadata { return t.meta }

// Store opens the table's own locations.
func (t *Table) Store() object.Store { return t.store }

// Backend is the catalog's, for commits.
func (t *Table) Backend() meta.Backend { return t.backend }

// Refresh loads the table as it is now. A table of another uuid under the same name is an error.
func (t *Table) Refresh(ctx context.Context) (*Table, error) {
	m, err := t.backend.Load(ctx, t.ident, t.all)
	if err != nil {
		return nil, err
	}
	return t.with(m, t.all)
}

func (t *Table) with(m *meta.Metadata, all bool) (*Table, error) {
	if m.UUID != t.meta.UUID {
		return nil, &meta.Error{Op: "refresh table", Ident: t.ident, Err: fmt.Errorf("%w: it is another table now: uuid %q, was %q", ErrConflict, m.UUID, t.meta.UUID)}
	}
	next := *t
	next.meta, next.all = m, all
	return &next, nil
}

// WithAllSnapshots is the table with every snapshot that exists; at most one request. The table may have moved on.
func (t *Table) WithAllSnapshots(ctx context.Context) (*Table, error) {
	if t.all {
		return t, nil
	}
	m, err := t.backend.Load(ctx, t.ident, true)
	if err != nil {
		return nil, err
	}
	return t.with(m, true)
}

// Select resolves a version: its snapshot (nil = the table has none) and the schema to read it with. It asks the catalog
// for all snapshots if the one that is wanted has not come with the table; the table returned is the one that has it.
func (t *Table) Select(ctx context.Context, v Version) (*Table, meta.Selection, error) {
	sel, err := t.meta.Select(v)
	if errors.Is(err, ErrNoSuchSnapshot) && !t.all {
		full, ferr := t.WithAllSnapshots(ctx)
		if ferr != nil {
			return nil, sel, ferr
		}
		t = full
		sel, err = t.meta.Select(v)
	}
	if err != nil {
		return nil, sel, &meta.Error{Op: "read table", Ident: t.ident, Err: err}
	}
	return t, sel, nil
}
