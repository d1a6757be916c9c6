package rest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/fakerest"
)

// metadata of an empty table, with the snapshots of ids; the last is current.
func metadata(snapshots ...int64) []byte {
	var list, refs string
	current := "null"
	for i, id := range snapshots {
		list += fmt.Sprintf(`{"snapshot-id":%d,"timestamp-ms":%d,"sequence-number":%d,"manifest-list":"s3://b/t/m%d.avro","summary":{"operation":"append"},"schema-id":0},`, id, 1000+i, i+1, id)
		current = fmt.Sprint(id)
		refs = fmt.Sprintf(`"main":{"snapshot-id":%d,"type":"branch"}`, id)
	}
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://b/t","last-sequence-number":%d,
"last-updated-ms":2000,"last-column-id":1,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":false,"type":"int"}]}],
"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],
"properties":{},"current-snapshot-id":%s,"refs":{%s},"snapshots":[%s]}`, len(snapshots), current, refs, strings.TrimSuffix(list, ","))
}

func open(t testing.TB, s http.Handler, props map[string]string) *Client {
	t.Helper()
	c, err := tryOpen(t, s, props)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryOpen(t testing.TB, s http.Handler, props map[string]string) (*Client, error) {
	c, err := Open(t.Context(), Config{
		URI: "http://catalog.test/api", Warehouse: props["warehouse"], Properties: props,
		Transport: fakerest.Pipe(t, http.StripPrefix("/api", s)),
	})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func catalog(cfg fakerest.Config) *fakerest.Server {
	s := fakerest.New(cfg)
	if err := s.AddTable([]string{"ns"}, "t", "s3://b/t/metadata/v1.metadata.json", metadata(1, 2)); err != nil {
		panic(err)
	}
	return s
}

var nsT = meta.Ident{Namespace: []string{"ns"}, Name: "t"}

func TestConfigIsMerged(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{
		Prefix: "p", Defaults: map[string]string{"a": "default", "b": "default", "d": "default"},
		Overrides: map[string]string{"c": "override", "b": "override"}, Endpoints: []string{routeCredentials},
	})
	c := open(t, s, map[string]string{"a": "client", "b": "client", "c": "client", "warehouse": "w h"})
	got := c.Properties()
	want := map[string]string{"a": "client", "b": "override", "c": "override", "d": "default", "prefix": "p", "warehouse": "w h", "uri": "http://catalog.test/api"}
	if !maps.Equal(got, want) {
		t.Errorf("properties %v\nwant %v", got, want)
	}
	if _, err := c.Load(t.Context(), nsT, false); err != nil {
		t.Fatal(err)
	}
	log := s.Log()
	if len(log) != 2 || log[0].Query.Get("warehouse") != "w h" || log[1].Path != "/v1/p/namespaces/ns/tables/t" {
		t.Errorf("requests %+v", log)
	}
}

func TestLoadIsOneRequestAndValidated(t *testing.T) {
	t.Parallel()
	s := catalog(fakerest.Config{})
	c := open(t, s, nil)
	first, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.LoadTable(t.Context(), nsT, true)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Error("a validated table is not used again")
	}
	count := func(tb *Table) (n int) {
		for range tb.Metadata.Snapshots() {
			n++
		}
		return n
	}
	if count(first) != 1 || count(all) != 2 {
		t.Errorf("snapshots: refs %d, all %d", count(first), count(all))
	}
	if err := s.AddTable([]string{"ns"}, "t", "s3://b/t/metadata/v2.metadata.json", metadata(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	newer, err := c.LoadTable(t.Context(), nsT, false)
	if err != nil || newer == first || newer.MetadataLocation != "s3://b/t/metadata/v2.metadata.json" {
		t.Errorf("a changed table: %+v, %v", newer, err)
	}
	var status []int
	for _, r := range s.Log()[1:] {
		status = append(status, r.Status)
		if r.Header.Get("X-Iceberg-Access-Delegation") != "vended-credentials" {
			t.Error("no delegation header")
		}
	}
	if !slices.Equal(status, []int{200, 304, 200, 200}) {
		t.Errorf("statuses %v", status)
	}
}

func TestL70_NamesOnTheWire(t *testing.T) {
	t.Parallel()
	ids := []meta.Ident{
		{Namespace: []string{"a"}, Name: "t"},
		{Namespace: []string{"a", "b"}, Name: "t"},
		{Namespace: []string{"a.b"}, Name: "t"},
		{Namespace: []string{"a"}, Name: "x/y"},
		{Namespace: []string{"a b", "c+d"}, Name: "e%20f"},
		{Namespace: []string{"é"}, Name: "../.."},
		{Namespace: []string{".."}, Name: "."},
		{Namespace: []string{"a?b#c"}, Name: `q"\`},
	}
	for _, cfg := range []fakerest.Config{{}, {Prefix: "ws|1"}, {Prefix: "a/b"}, {Prefix: "p%7Cq"}, {Separator: "%2E"}, {Separator: "%2C"}} {
		sent := encodeTestPrefix(cfg.Prefix)
		served := cfg
		served.Prefix = sent
		s := fakerest.New(served)
		for i, id := range ids {
			if err := s.AddTable(id.Namespace, id.Name, fmt.Sprintf("loc%d", i), metadata()); err != nil {
				t.Fatal(err)
			}
		}
		override := cfg.Prefix
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/config" && override != "" { // the server names its prefix raw, and is asked for it encoded
				fmt.Fprintf(w, `{"defaults":{},"overrides":{"prefix":%q}}`, override)
				return
			}
			s.ServeHTTP(w, r)
		})
		c := open(t, h, nil)
		for i, id := range ids {
			tb, err := c.LoadTable(t.Context(), id, false)
			if cfg.Separator == "%2E" && id.Namespace[0] == ".." { // no path can say it: sent plainly it is a step upwards
				if !errors.Is(err, meta.ErrNoSuchTable) {
					t.Errorf("%v under separator %s: %v", id, cfg.Separator, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("prefix %q separator %q: %v: %v", cfg.Prefix, cfg.Separator, id, err)
				continue
			}
			if want := fmt.Sprintf("loc%d", i); tb.MetadataLocation != want {
				t.Errorf("%v loaded %s, want %s", id, tb.MetadataLocation, want)
			}
			found := false
			for got, err := range c.Tables(t.Context(), id.Namespace) {
				if err != nil {
					t.Error(err)
				}
				found = found || reflect.DeepEqual(got, id)
			}
			if !found {
				t.Errorf("%v is not listed in its namespace", id)
			}
		}
		if _, err := c.LoadTable(t.Context(), meta.Ident{Namespace: []string{"a", ""}, Name: "t"}, false); !errors.Is(err, meta.ErrNoSuchTable) {
			t.Errorf("empty part: %v", err)
		}
	}
}

// encodeTestPrefix is what each prefix of the table above must look like on the wire.
func encodeTestPrefix(p string) string {
	return map[string]string{"": "", "ws|1": "ws%7C1", "a/b": "a/b", "p%7Cq": "p%7Cq"}[p]
}

func TestServerSidePlanningIsRefused(t *testing.T) {
	t.Parallel()
	for mode, refuse := range map[string]bool{"server": true, "client": false, "": false} {
		c := open(t, catalog(fakerest.Config{TableConfig: func([]string, string) map[string]string {
			return map[string]string{"scan-planning-mode": mode}
		}}), nil)
		if _, err := c.Load(t.Context(), nsT, false); errors.Is(err, meta.ErrUnsupported) != refuse {
			t.Errorf("%q: %v", mode, err)
		}
	}
}
