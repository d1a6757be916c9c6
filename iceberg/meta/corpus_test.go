package meta

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const corpus = "../../../shared/corpus"

type corpusCase struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Table    string `json:"table"`
	File     string `json:"metadata_file"`
	Snapshot string `json:"snapshot_id"`
	Ref      string `json:"ref"`
	Where    string `json:"where"`
	Extra    []any  `json:"extra_columns"`
	Expected struct {
		Outcome         string `json:"outcome"`
		Class           string `json:"error_class"`
		FormatVersion   int    `json:"format_version"`
		UUID            string `json:"table_uuid"`
		Location        string `json:"location"`
		CurrentSchema   int    `json:"current_schema_id"`
		CurrentSnapshot *int64 `json:"current_snapshot_id"`
		Snapshots       int    `json:"snapshots"`
		Schema          []struct{ Name, Type string }
	} `json:"expected"`
}

func corpusCases(t *testing.T, kind string) []corpusCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases []corpusCase }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Cases, func(c corpusCase) bool { return c.Kind != kind })
}

func TestCorpusMetadataFiles(t *testing.T) {
	t.Parallel()
	cases := corpusCases(t, "iceberg-metadata")
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(corpus, c.Path))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(data, c.Path)
			want := c.Expected
			switch want.Outcome {
			case "error":
				if !errors.Is(err, ErrInvalidMetadata) {
					t.Fatalf("error %v, want ErrInvalidMetadata", err)
				}
				return
			case "error-or-ok":
				if err != nil && !errors.Is(err, ErrInvalidMetadata) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.FormatVersion != want.FormatVersion || m.UUID != want.UUID || m.Location != want.Location || m.CurrentSchemaID != want.CurrentSchema {
				t.Errorf("got v%d %s %s schema %d", m.FormatVersion, m.UUID, m.Location, m.CurrentSchemaID)
			}
			if want.CurrentSnapshot != nil && (m.HasSnapshot != (*want.CurrentSnapshot != -1) || m.HasSnapshot && m.CurrentSnapshot != *want.CurrentSnapshot) {
				t.Errorf("current snapshot %d %v, want %d", m.CurrentSnapshot, m.HasSnapshot, *want.CurrentSnapshot)
			}
			n := 0
			for _, err := range m.Snapshots() {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != want.Snapshots {
				t.Errorf("%d snapshots, want %d", n, want.Snapshots)
			}
		})
	}
}

// Each table case names a document, a version, and the columns that its schema must have.
func TestCorpusTablesSelectSnapshotAndSchema(t *testing.T) {
	t.Parallel()
	for _, c := range corpusCases(t, "iceberg") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(corpus, "iceberg", c.Table, c.File))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(data, c.File)
			if err != nil {
				t.Fatal(err)
			}
			v := Version{Ref: c.Ref}
			if c.Snapshot != "" {
				if v.Snapshot, err = ParseSnapshotID(c.Snapshot); err != nil {
					t.Fatal(err)
				}
			}
			got, err := m.Select(v)
			if err != nil {
				t.Fatal(err)
			}
			if v.Snapshot != 0 && got.Snapshot.ID != v.Snapshot {
				t.Errorf("snapshot %d", got.Snapshot.ID)
			}
			if c.Where != "" || c.Expected.Outcome == "error" {
				return
			}
			want := c.Expected.Schema[:len(c.Expected.Schema)-len(c.Extra)]
			var names, wantNames []string
			for _, f := range got.Schema.Fields {
				names = append(names, f.Name)
				if err := f.Refusal(); err != nil {
					t.Error(err)
				}
			}
			for _, f := range want {
				wantNames = append(wantNames, f.Name)
			}
			if !slices.Equal(names, wantNames) {
				t.Errorf("columns %v, want %v", names, wantNames)
			}
		})
	}
}

func TestSnapshotIDsAbove63Bits(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(corpus, "iceberg/di-equality_delete_extra_column/metadata/vfinal.metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(data, "x")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select(Version{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strconv.FormatUint(uint64(s.Snapshot.ID), 10); got != "9876543210123456789" {
		t.Errorf("current snapshot %s", got)
	}
	if !strings.Contains(s.Snapshot.ManifestList, "9876543210123456789") {
		t.Errorf("manifest list %s", s.Snapshot.ManifestList)
	}
	if s.Snapshot.Parent != 2904628372548660858 {
		t.Errorf("parent %d", s.Snapshot.Parent)
	}
}
