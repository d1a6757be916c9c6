package commit

import (
	"errors"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

func TestStagedTables(t *testing.T) {
	t.Parallel()
	schema, err := meta.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	n := NewTable{Schema: schema, Properties: map[string]string{"lakescan.projection.v": "1"}, Order: &meta.SortOrder{ID: 1, Fields: []meta.SortField{{Source: 1}}}}
	n.Order.Fields[0].Transform = identity
	l := newLake(t, fakerest.Config{})
	s, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if s.Exists || s.Metadata.Location != "s3://warehouse/db/t" || s.Metadata.Properties["lakescan.projection.v"] != "1" {
		t.Errorf("staged %+v", s.Metadata)
	}
	if _, err := l.client.Load(t.Context(), ident, false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("a staged table is seen: %v", err)
	}
	r, err := s.Commit(t.Context(), Change{Add: dataFiles("a")})
	if err != nil {
		t.Fatal(err)
	}
	l.wantLive("a:1")
	m := r.Metadata
	if m.UUID != s.Metadata.UUID || m.Properties["lakescan.projection.v"] != "1" || len(m.SortOrders) != 2 || m.DefaultSortID != 1 || m.LastColumnID != 4 {
		t.Errorf("created %+v", m)
	}
	text1, _ := SchemaJSON(schema)
	text2, _ := SchemaJSON(m.Current())
	if string(text1) != string(text2) {
		t.Errorf("schema\n%s\nwant\n%s", text2, text1)
	}
	if _, err := l.table.Stage(t.Context(), n); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("a second table of the name: %v", err)
	}
	if err := l.table.Drop(t.Context(), false); err != nil {
		t.Error(err)
	}
	if err := l.table.Drop(t.Context(), false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("dropped twice: %v", err)
	}
	// Two that were staged at once: the first commit wins.
	one, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.table.Stage(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Commit(t.Context(), Change{Add: dataFiles("one")}); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Commit(t.Context(), Change{Add: dataFiles("two")}); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("the second: %v", err)
	}
	l.wantLive("one:1")
}

func TestServersThatCannotStage(t *testing.T) {
	t.Parallel()
	l := newLake(t, fakerest.Config{NoStaging: true})
	schema, err := meta.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.table.Stage(t.Context(), NewTable{Schema: schema})
	if err != nil || !s.Exists {
		t.Fatalf("%+v, %v", s, err)
	}
	l.wantLive()
	if _, err := s.Commit(t.Context(), Change{Add: dataFiles("a")}); err != nil {
		t.Fatal(err)
	}
	l.wantLive("a:1")
}
