package iceberg

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/file"
)

const corpusDir = "../../shared/corpus"

type corpusCase struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Table    string   `json:"table"`
	File     string   `json:"metadata_file"`
	Snapshot string   `json:"snapshot_id"`
	Ref      string   `json:"ref"`
	Where    string   `json:"where"`
	Extra    []string `json:"extra_columns"`
	Expected struct {
		Outcome string `json:"outcome"`
		Class   string `json:"error_class"`
		Rows    int64  `json:"num_rows"`
		Schema  []struct {
			Name     string
			Nullable bool
		} `json:"schema"`
	} `json:"expected"`
}

type corpusTable struct {
	Name   string `json:"name"`
	Folder string `json:"folder"`
	Prefix string `json:"location_prefix"`
}

func loadCorpus(t testing.TB) (cases []corpusCase, tables map[string]corpusTable) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpusDir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases  []corpusCase
		Tables []corpusTable
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	tables = map[string]corpusTable{}
	for _, c := range all.Tables {
		tables[c.Name] = c
	}
	return slices.DeleteFunc(all.Cases, func(c corpusCase) bool { return c.Kind != "iceberg" }), tables
}

// corpusCatalog serves one table of the corpus from its folder.
func corpusCatalog(t testing.TB, table corpusTable) *Catalog {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(corpusDir, table.Folder))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) {
		s, err := file.New(file.Config{})
		return object.Mapped(s, []object.Mapping{{From: table.Prefix, To: folder}}), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (c corpusCase) version(t testing.TB) Version {
	t.Helper()
	v := Version{Ref: c.Ref}
	if c.Snapshot != "" {
		var err error
		if v.Snapshot, err = meta.ParseSnapshotID(c.Snapshot); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// Every case of the corpus plans: right columns, the expected class of error, and as many rows as its manifests and vectors
// tell without a data file.
func TestCorpusPlans(t *testing.T) {
	t.Parallel()
	cases, tables := loadCorpus(t)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			table := tables[c.Table]
			cat := corpusCatalog(t, table)
			tab, err := cat.LoadLocation(t.Context(), table.Prefix+"/"+c.File)
			if err != nil {
				t.Fatal(err)
			}
			spec := ScanSpec{Version: c.version(t)}
			if c.Where != "" {
				if spec.Filter, err = expr.Parse(c.Where); err != nil {
					t.Fatal(err)
				}
			}
			if c.Extra != nil {
				for _, f := range c.Expected.Schema {
					spec.Columns = append(spec.Columns, f.Name)
				}
			}
			p, err := tab.Plan(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			rows, exact := int64(0), true
			for task, err := range p.Tasks(t.Context()) {
				if err != nil {
					checkCorpusError(t, c, err)
					return
				}
				rows += task.Rows
				if v := task.Deletes.Vector; v != nil {
					rows -= v.Cardinality
				}
				exact = exact && task.Deletes.Positions == nil && task.Deletes.Equality == nil && task.Filter == nil
			}
			if c.Expected.Outcome == "error" {
				t.Fatalf("no error, want one of class %s", c.Expected.Class)
			}
			if exact && rows != c.Expected.Rows || rows < c.Expected.Rows {
				t.Errorf("%d rows (exact %v), want %d", rows, exact, c.Expected.Rows)
			}
			if counts := p.Counts(); !counts.Complete || counts.TaskRows < rows {
				t.Errorf("%+v", counts)
			}
			checkCorpusSchema(t, c, p)
		})
	}
}

func checkCorpusError(t *testing.T, c corpusCase, err error) {
	t.Helper()
	classes := map[string]error{"not-found": object.ErrNotFound, "unsupported": ErrUnsupported, "corrupt": ErrInvalidMetadata}
	if c.Expected.Outcome == "rows" || !errors.Is(err, classes[c.Expected.Class]) {
		t.Errorf("%v, want %s %s", err, c.Expected.Outcome, c.Expected.Class)
	}
}

func checkCorpusSchema(t *testing.T, c corpusCase, p *Plan) {
	t.Helper()
	if len(c.Expected.Schema) == 0 {
		return
	}
	if p.Schema().NumFields() != len(c.Expected.Schema) {
		t.Errorf("%d columns, want %d", p.Schema().NumFields(), len(c.Expected.Schema))
		return
	}
	for i, f := range c.Expected.Schema {
		if got := p.Schema().Field(i); got.Name != f.Name {
			t.Errorf("column %d is %q, want %q", i, got.Name, f.Name)
		}
	}
}
