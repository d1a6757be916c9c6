package icebergtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// Catalog is what a catalog backend offers to readers.
type Catalog interface {
	meta.Backend
	Tables(ctx context.Context, namespace []string) iter.Seq2[meta.Ident, error]
	Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error]
}

// Writer is what a catalog backend that can be written to offers beyond Post.
type Writer interface {
	Create(ctx context.Context, namespace []string, name string, body []byte) (*meta.Metadata, error)
	Drop(ctx context.Context, id meta.Ident, purge bool) error
}

// Suite describes a backend to TestCatalog.
type Suite struct {
	// Open returns an empty catalog, closed by the test's end, and a function that puts a table into it, with its namespaces:
	// the table has no snapshot, the schema of Marker, and the property marker.
	Open func(t *testing.T) (c Catalog, place func(id meta.Ident, marker string))
	// Names are parts of names beside plain ones that the backend can hold.
	Names []string
	// Lenient: a namespace that does not exist lists as empty, since the backend cannot tell.
	Lenient bool
	// ImplicitNamespaces: a table may be created in a namespace that does not exist.
	ImplicitNamespaces bool
}

// SchemaJSON is the schema of placed tables.
const SchemaJSON = `{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"v","required":false,"type":"string"}]}`

// CreateRequest is the body of a request that creates a table as placed ones are.
func CreateRequest(name, marker string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"schema":%s,"properties":{"marker":%q}}`, name, SchemaJSON, marker)
}

// MetadataJSON is the metadata document of such a table.
func MetadataJSON(location, marker string) []byte {
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":%q,"last-sequence-number":0,"last-updated-ms":1700000000000,
		"last-column-id":2,"current-schema-id":0,"schemas":[%s],"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,
		"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],"properties":{"marker":%q},"snapshots":[]}`, location, SchemaJSON, marker)
}

// TestCatalog is the suite that every backend passes.
func TestCatalog(t *testing.T, s Suite) {
	t.Run("load", s.load)
	t.Run("missing", s.missing)
	t.Run("listing", s.listing)
	t.Run("names", s.names)
	t.Run("contexts", s.contexts)
	t.Run("concurrent", s.concurrent)
	t.Run("commit", s.commit)
	t.Run("create and drop", s.createAndDrop)
}

func ident(name string, namespace ...string) meta.Ident {
	return meta.Ident{Namespace: namespace, Name: name}
}

func wantMarker(t *testing.T, c Catalog, id meta.Ident, marker string) *meta.Metadata {
	t.Helper()
	for _, all := range []bool{false, true} {
		m, err := c.Load(t.Context(), id, all)
		if err != nil {
			t.Errorf("load %v: %v", id, err)
			return nil
		}
		if m.Properties["marker"] != marker {
			t.Errorf("%v is the table marked %q, want %q", id, m.Properties["marker"], marker)
		}
		if s := m.Current(); s == nil || len(s.Fields) != 2 || s.Fields[0].Name != "k" || s.Fields[1].Name != "v" || m.HasSnapshot {
			t.Errorf("%v: schema %+v, snapshot %v", id, s, m.HasSnapshot)
		}
		if !all {
			continue
		}
		return m
	}
	return nil
}

func (s Suite) load(t *testing.T) {
	c, place := s.Open(t)
	place(ident("t", "a"), "one")
	place(ident("t", "a", "b"), "two")
	place(ident("u", "a"), "three")
	wantMarker(t, c, ident("t", "a"), "one")
	wantMarker(t, c, ident("t", "a", "b"), "two")
	wantMarker(t, c, ident("u", "a"), "three")
	wantMarker(t, c, ident("t", "a"), "one")
}

func (s Suite) missing(t *testing.T) {
	c, place := s.Open(t)
	place(ident("t", "a"), "one")
	for _, id := range []meta.Ident{ident("zz", "a"), ident("t", "a", "b"), ident("t", "zz"), ident("T", "a"), ident("", "a"), ident("t", "a", "")} {
		m, err := c.Load(t.Context(), id, false)
		if m != nil || !errors.Is(err, meta.ErrNoSuchTable) && !errors.Is(err, meta.ErrNoSuchNamespace) {
			t.Errorf("load %v: %v, error %v", id, m, err)
		}
		if e, ok := errors.AsType[*meta.Error](err); !ok || !reflect.DeepEqual(e.Ident, id) {
			t.Errorf("the error does not name %v: %v", id, err)
		}
	}
	for _, err := range c.Tables(t.Context(), []string{"zz"}) {
		if err == nil || !errors.Is(err, meta.ErrNoSuchNamespace) {
			t.Errorf("tables of a namespace that does not exist: %v", err)
		}
	}
	if n, err := count(c.Tables(t.Context(), []string{"zz"})); s.Lenient && (n != 0 || err != nil) || !s.Lenient && err == nil {
		t.Errorf("tables of a namespace that does not exist: %d, %v", n, err)
	}
}

func count[T any](l iter.Seq2[T, error]) (n int, err error) {
	for _, err := range l {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s Suite) listing(t *testing.T) {
	c, place := s.Open(t)
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("t%d", i)
		place(ident(name, "a", "b"), name)
		want = append(want, "a.b."+name)
	}
	place(ident("deep", "a", "c", "d"), "deep")
	place(ident("other", "x"), "other")
	tables := func(ns ...string) (out []string) {
		for id, err := range c.Tables(t.Context(), ns) {
			if err != nil {
				t.Fatalf("tables of %v: %v", ns, err)
			}
			out = append(out, id.String())
		}
		slices.Sort(out)
		return out
	}
	namespaces := func(parent ...string) (out []string) {
		for ns, err := range c.Namespaces(t.Context(), parent) {
			if err != nil {
				t.Fatalf("namespaces of %v: %v", parent, err)
			}
			out = append(out, meta.Ident{Namespace: ns}.String())
		}
		slices.Sort(out)
		return out
	}
	for _, c := range []struct{ got, want []string }{
		{tables("a", "b"), want},
		{tables("x"), []string{"x.other"}},
		{tables("a", "c", "d"), []string{"a.c.d.deep"}},
		{namespaces(), []string{"a.", "x."}},
		{namespaces("a"), []string{"a.b.", "a.c."}},
		{namespaces("x"), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("listed %v, want %v", c.got, c.want)
		}
	}
	seen := 0
	for range c.Tables(t.Context(), []string{"a", "b"}) {
		if seen++; seen == 2 {
			break
		}
	}
	if seen != 2 {
		t.Errorf("a range that was left after two saw %d", seen)
	}
}

func (s Suite) names(t *testing.T) {
	c, place := s.Open(t)
	var ids []meta.Ident
	for _, n := range s.Names {
		ids = append(ids, ident(n, "plain"), ident("plain", n), ident(n, n, n))
	}
	for i, id := range ids {
		place(id, fmt.Sprint(i))
	}
	for i, id := range ids {
		wantMarker(t, c, id, fmt.Sprint(i))
		found := false
		for got, err := range c.Tables(t.Context(), id.Namespace) {
			if err != nil {
				t.Errorf("tables of %q: %v", id.Namespace, err)
			}
			found = found || reflect.DeepEqual(got, id)
		}
		if !found {
			t.Errorf("%v is not listed in its namespace", id)
		}
	}
}

func (s Suite) contexts(t *testing.T) {
	c, place := s.Open(t)
	place(ident("t", "a"), "one")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Load(gone, ident("t", "a"), false); !errors.Is(err, context.Canceled) {
		t.Errorf("load under a context that has ended: %v", err)
	}
	if _, err := count(c.Tables(gone, []string{"a"})); !errors.Is(err, context.Canceled) {
		t.Errorf("listing under a context that has ended: %v", err)
	}
	wantMarker(t, c, ident("t", "a"), "one") // nothing was kept of it
}

func (s Suite) concurrent(t *testing.T) {
	c, place := s.Open(t)
	for i := range 4 {
		place(ident(fmt.Sprint("t", i), "a"), fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 8 {
				n := (g + i) % 4
				m, err := c.Load(t.Context(), ident(fmt.Sprint("t", n), "a"), i%2 == 0)
				if err != nil || m.Properties["marker"] != fmt.Sprint(n) {
					t.Errorf("load of t%d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func (s Suite) commit(t *testing.T) {
	c, place := s.Open(t)
	id := ident("t", "a")
	place(id, "one")
	m := wantMarker(t, c, id, "one")
	if m == nil {
		return
	}
	post := func(uuid, value string) (*meta.Metadata, error) {
		return c.Post(t.Context(), id, fmt.Appendf(nil, `{"requirements":[{"type":"assert-table-uuid","uuid":%q}],"updates":[{"action":"set-properties","updates":{"added":%q}}]}`, uuid, value))
	}
	if _, writes := c.(Writer); !writes {
		if _, err := post(m.UUID, "x"); !errors.Is(err, meta.ErrUnsupported) {
			t.Errorf("commit to a read-only catalog: %v", err)
		}
		return
	}
	after, err := post(m.UUID, "first")
	if err != nil {
		t.Fatal(err)
	}
	if after.Properties["added"] != "first" || after.Properties["marker"] != "one" {
		t.Errorf("properties after the commit %v", after.Properties)
	}
	if _, err := post("00000000-0000-4000-8000-000000000000", "second"); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("a requirement that does not hold: %v", err)
	}
	if m, err = c.Load(t.Context(), id, false); err != nil || m.Properties["added"] != "first" {
		t.Errorf("loaded %v, %v", m.Properties, err)
	}
	if _, err := c.Post(t.Context(), ident("zz", "a"), []byte(`{"requirements":[],"updates":[]}`)); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("commit to a table that does not exist: %v", err)
	}
}

func (s Suite) createAndDrop(t *testing.T) {
	c, place := s.Open(t)
	w, ok := c.(Writer)
	if !ok {
		t.Skip("a read-only catalog")
	}
	place(ident("there", "a"), "one") // and its namespace
	m, err := w.Create(t.Context(), []string{"a"}, "made", CreateRequest("made", "m"))
	if err != nil || m.Properties["marker"] != "m" || m.UUID == "" || m.Location == "" {
		t.Fatalf("create: %+v, %v", m, err)
	}
	if loaded := wantMarker(t, c, ident("made", "a"), "m"); loaded != nil && loaded.UUID != m.UUID {
		t.Errorf("loaded %s, created %s", loaded.UUID, m.UUID)
	}
	if _, err := w.Create(t.Context(), []string{"a"}, "made", CreateRequest("made", "n")); !errors.Is(err, meta.ErrConflict) {
		t.Errorf("created twice: %v", err)
	}
	if s.ImplicitNamespaces {
		t.Log("namespaces come into being with their first table")
	} else if _, err := w.Create(t.Context(), []string{"zz"}, "made", CreateRequest("made", "n")); !errors.Is(err, meta.ErrNoSuchNamespace) {
		t.Errorf("create in a namespace that does not exist: %v", err)
	}
	if err := w.Drop(t.Context(), ident("made", "a"), false); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(t.Context(), ident("made", "a"), false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("load of a dropped table: %v", err)
	}
	if err := w.Drop(t.Context(), ident("made", "a"), false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("dropped twice: %v", err)
	}
}
