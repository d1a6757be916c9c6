package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// NewTable is a table to be created, of format version 2.
type NewTable struct {
	Schema     *meta.Schema // ids are proposals: the catalog may give its own
	Spec       *meta.Spec   // nil = unpartitioned
	Order      *meta.SortOrder
	Location   string // empty = the catalog's choice
	Properties map[string]string
}

// creator is implemented by backends that can create tables.
type creator interface {
	Create(ctx context.Context, namespace []string, name string, body []byte) (*meta.Metadata, error)
}

// dropper is implemented by backends that can drop tables.
type dropper interface {
	Drop(ctx context.Context, id meta.Ident, purge bool) error
}

// Staged is a table that the catalog has prepared, with its location and ids, but that nobody sees before its first commit.
// From a server that cannot stage, the table exists already, without a snapshot: readers must take it for absent.
type Staged struct {
	Table    *Table
	Metadata *meta.Metadata
	Exists   bool // the server could not stage
}

// Stage prepares a table. A table of that name is meta.ErrConflict.
func (t *Table) Stage(ctx context.Context, n NewTable) (*Staged, error) {
	c, ok := t.Backend.(creator)
	if !ok {
		return nil, unsupported("creating tables in this catalog", t.Ident)
	}
	body, err := n.request(t.Ident.Name)
	if err != nil {
		return nil, err
	}
	body["stage-create"] = true
	m, err := t.create(ctx, c, body)
	if err == nil {
		return &Staged{Table: t, Metadata: m}, nil
	}
	if !errors.Is(err, meta.ErrUnsupported) {
		return nil, err
	}
	delete(body, "stage-create")
	if m, err = t.create(ctx, c, body); err != nil {
		return nil, err
	}
	return &Staged{Table: t, Metadata: m, Exists: true}, nil
}

func (t *Table) create(ctx context.Context, c creator, body jsonMap) (*meta.Metadata, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.Create(ctx, t.Ident.Namespace, t.Ident.Name, text)
}

func (n NewTable) request(name string) (jsonMap, error) {
	schema, err := SchemaJSON(n.Schema)
	if err != nil {
		return nil, err
	}
	properties := map[string]string{"format-version": "2"}
	for k, v := range n.Properties {
		properties[k] = v
	}
	if properties["format-version"] != "2" {
		return nil, fmt.Errorf("commit: tables are created in format version 2, not %s", properties["format-version"])
	}
	out := jsonMap{"name": name, "schema": json.RawMessage(schema), "properties": properties}
	if n.Location != "" {
		out["location"] = n.Location
	}
	if n.Spec != nil {
		out["partition-spec"] = specJSON(n.Spec)
	}
	if n.Order != nil {
		out["write-order"] = orderJSON(*n.Order)
	}
	return out, nil
}

// Commit publishes the first snapshot, and with it the table.
func (s *Staged) Commit(ctx context.Context, c Change) (*Result, error) {
	p, err := s.Table.newPublish(s.Metadata, c)
	if err != nil {
		return nil, err
	}
	if !s.Exists {
		if p.creates, err = creates(s.Metadata); err != nil {
			return nil, err
		}
	}
	return p.run(ctx, s.Metadata)
}

// creates are the updates that make the staged table out of nothing.
func creates(m *meta.Metadata) ([]jsonMap, error) {
	schema, spec := m.Current(), m.Spec(m.DefaultSpecID)
	if schema == nil || spec == nil {
		return nil, meta.Invalidf(m.File, "a staged table without schema or spec")
	}
	text, err := SchemaJSON(schema)
	if err != nil {
		return nil, err
	}
	order := jsonMap{"order-id": 0, "fields": []jsonMap{}}
	for _, o := range m.SortOrders {
		if o.ID == m.DefaultSortID {
			order = orderJSON(o)
		}
	}
	return []jsonMap{
		{"action": "assign-uuid", "uuid": m.UUID},
		{"action": "upgrade-format-version", "format-version": m.FormatVersion},
		{"action": "add-schema", "schema": json.RawMessage(text), "last-column-id": m.LastColumnID},
		{"action": "set-current-schema", "schema-id": -1},
		{"action": "add-spec", "spec": specJSON(spec)},
		{"action": "set-default-spec", "spec-id": -1},
		{"action": "add-sort-order", "sort-order": order},
		{"action": "set-default-sort-order", "sort-order-id": -1},
		{"action": "set-location", "location": m.Location},
		setProperties(m.Properties),
	}, nil
}

// Drop removes the table from its catalog. Its files stay, unless purge asks the catalog to delete them.
func (t *Table) Drop(ctx context.Context, purge bool) error {
	d, ok := t.Backend.(dropper)
	if !ok {
		return unsupported("dropping tables of this catalog", t.Ident)
	}
	return d.Drop(ctx, t.Ident, purge)
}
