package dir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
)

const table = "s3://b/wh/db/t"

func document(uuid string) []byte {
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":%q,"location":"x","schemas":[{"schema-id":0,"fields":[]}],"current-schema-id":0,"partition-specs":[]}`, uuid)
}

// folder holds metadata files by name; the document's uuid is its name. A key "hint" is the version hint.
func folder(files ...string) *mem.Store {
	s := mem.New()
	for _, f := range files {
		if hint, ok := strings.CutPrefix(f, "hint="); ok {
			s.Put(table+"/metadata/version-hint.text", []byte(hint))
			continue
		}
		s.Put(table+"/metadata/"+f, document(f))
	}
	return s
}

// noList hides the listing.
type noList struct{ object.Store }

func TestL44_WhichMetadataFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []string
		want  string // name of the file; empty = an error that holds text
		text  string
	}{
		{"hint", []string{"hint=2", "v1.metadata.json", "v2.metadata.json"}, "v2.metadata.json", "says 2"},
		{"hint with a line feed", []string{"hint=2\n", "v2.metadata.json"}, "v2.metadata.json", ""},
		{"stale hint", []string{"hint=1", "v1.metadata.json", "v2.metadata.json", "v3.metadata.json"}, "v3.metadata.json", "3 is the newest"},
		{"stale hint, gap", []string{"hint=1", "v1.metadata.json", "v3.metadata.json"}, "v1.metadata.json", ""},
		{"dangling hint", []string{"hint=9", "v1.metadata.json", "v2.metadata.json"}, "v2.metadata.json", `since version-hint.text says "9"`},
		{"no hint", []string{"v1.metadata.json", "v2.metadata.json"}, "v2.metadata.json", "without version-hint.text"},
		{"no hint, ten after nine", []string{"v9.metadata.json", "v10.metadata.json"}, "v10.metadata.json", ""},
		{"no hint, unique names", []string{"00001-a.metadata.json", "00003-b.metadata.json", "00002-c.metadata.json"}, "00003-b.metadata.json", ""},
		{"gzip spellings by hint", []string{"hint=1", "v1.gz.metadata.json", "v2.metadata.json.gz", "v3.metadata.json", "v4.gz.metadata.json"}, "v4.gz.metadata.json", ""},
		{"gzip spellings by list", []string{"v1.metadata.json", "v2.gz.metadata.json", "00003-x.metadata.json.gz"}, "00003-x.metadata.json.gz", ""},
		{"hint is a name", []string{"hint=v2.metadata.json", "v2.metadata.json", "v3.metadata.json"}, "v3.metadata.json", ""},
		{"hint is a unique name", []string{"hint=00001-a.metadata.json", "00001-a.metadata.json", "00002-b.metadata.json"}, "00002-b.metadata.json", ""},
		{"empty hint", []string{"hint=", "v2.metadata.json"}, "v2.metadata.json", ""},
		{"nonsense hint", []string{"hint=\x00\x01", "v2.metadata.json"}, "v2.metadata.json", ""},
		{"two of the highest version", []string{"00002-a.metadata.json", "00002-b.metadata.json", "00001-c.metadata.json"}, "", "00002-a.metadata.json, 00002-b.metadata.json"},
		{"other files", []string{"hint=5", "snap-1.avro", "v1.metadata.json.tmp", "x-v9.metadata.json"}, "", "no *.metadata.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, location := range []string{table, table + "/"} {
				m, err := At(folder(c.files...), location).Load(t.Context(), meta.Ident{Name: "t"}, false)
				if c.want == "" {
					if err == nil || !strings.Contains(err.Error(), c.text) || !errors.Is(err, meta.ErrInvalidMetadata) && !errors.Is(err, meta.ErrNoSuchTable) {
						t.Fatalf("error %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if m.UUID != c.want || m.File != table+"/metadata/"+c.want || !strings.Contains(m.How, c.text) {
					t.Errorf("read %s (%s)", m.File, m.How)
				}
			}
		})
	}
}

func TestStoresThatCannotList(t *testing.T) {
	t.Parallel()
	if m, err := At(noList{folder("hint=1", "v1.metadata.json")}, table).Load(t.Context(), meta.Ident{}, false); err != nil || m.UUID != "v1.metadata.json" {
		t.Errorf("with a hint: %v", err)
	}
	if _, err := At(noList{folder("v1.metadata.json")}, table).Load(t.Context(), meta.Ident{}, false); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("without: %v", err)
	}
}

func TestWarehouse(t *testing.T) {
	t.Parallel()
	s := folder("v1.metadata.json")
	s.Put("s3://b/wh/db/deep/u/metadata/v1.metadata.json", document("u"))
	s.Put("s3://b/wh/top/metadata/v1.metadata.json", document("top"))
	s.Put("s3://b/wh/db/t/data/f.parquet", nil)
	s.Put("s3://b/wh/plain/file.txt", nil)
	c := New(s, "s3://b/wh/")
	if m, err := c.Load(t.Context(), meta.Ident{Namespace: []string{"db", "deep"}, Name: "u"}, false); err != nil || m.UUID != "u" {
		t.Errorf("load: %v", err)
	}
	if _, err := c.Load(t.Context(), meta.Ident{Namespace: []string{"db"}, Name: "nope"}, false); !errors.Is(err, meta.ErrNoSuchTable) {
		t.Errorf("missing table: %v", err)
	}
	names := func(parent ...string) (tables, spaces []string) {
		for id, err := range c.Tables(t.Context(), parent) {
			if err != nil {
				t.Fatal(err)
			}
			tables = append(tables, id.String())
		}
		for ns, err := range c.Namespaces(t.Context(), parent) {
			if err != nil {
				t.Fatal(err)
			}
			spaces = append(spaces, strings.Join(ns, "."))
		}
		return tables, spaces
	}
	if ts, ns := names(); !slices.Equal(ts, []string{"top"}) || !slices.Equal(ns, []string{"db"}) {
		t.Errorf("top level: %v %v", ts, ns)
	}
	if ts, ns := names("db"); !slices.Equal(ts, []string{"db.t"}) || !slices.Equal(ns, []string{"db.deep"}) {
		t.Errorf("db: %v %v", ts, ns)
	}
	if _, err := c.Post(t.Context(), meta.Ident{Name: "t"}, nil); !errors.Is(err, meta.ErrUnsupported) {
		t.Errorf("post: %v", err)
	}
}

func TestIsMetadataFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"s3://b/t/metadata/v1.metadata.json": true, "/x/00001-a.gz.metadata.json": true, "/x/v1.metadata.json.gz": true, "odd.json": true,
		"s3://b/t": false, "s3://b/t/": false, "s3://b/t.parquet": false,
	} {
		if IsMetadataFile(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// FuzzHint: no hint makes a panic, a hang, or another table's file.
func FuzzHint(f *testing.F) {
	f.Add("1")
	f.Add("../../other/v1.metadata.json")
	f.Add("99999999999999999999")
	f.Fuzz(func(t *testing.T, hint string) {
		s := folder("v1.metadata.json")
		s.Put(table+"/metadata/version-hint.text", []byte(hint))
		m, err := At(s, table).Load(context.Background(), meta.Ident{}, false)
		if err == nil && m.UUID != "v1.metadata.json" {
			t.Fatalf("read %s", m.File)
		}
	})
}
