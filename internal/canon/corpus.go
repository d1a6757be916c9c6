package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kinds of a Case.
const (
	ParquetGood     = "parquet-good"
	ParquetBad      = "parquet-bad"
	Iceberg         = "iceberg"
	IcebergMetadata = "iceberg-metadata"
	Blob            = "blob"
)

// Outcomes of a Case.
const (
	Rows        = "rows"          // these rows, no error
	Error       = "error"         // an error, and no wrong rows before it
	ErrorOrRows = "error-or-rows" // a clean error or exactly these rows
	OK          = "ok"            // metadata that must parse
	ErrorOrOK   = "error-or-ok"   // metadata that may parse
	Positions   = "positions"     // a bitmap
	Puffin      = "puffin"        // blobs of a Puffin file
)

// Manifest is the corpus's list of cases and tables.
type Manifest struct {
	Folder string      `json:"-"` // where the corpus lies
	Cases  []Case      `json:"cases"`
	Tables []TableInfo `json:"tables"`
}

// Case is one file or one question about a table, with what a reader must answer.
type Case struct {
	ID           string   `json:"id"`
	Kind         string   `json:"kind"`
	Path         string   `json:"path"` // of a file, below Folder
	Bytes        int64    `json:"bytes"`
	SHA256       string   `json:"sha256"`
	Table        string   `json:"table"`         // of Kind Iceberg: the name in Tables
	MetadataFile string   `json:"metadata_file"` // below the table's folder
	SnapshotID   *int64   `json:"snapshot_id,string"`
	Ref          string   `json:"ref"`
	Where        string   `json:"where"`
	Extra        []string `json:"extra_columns"`
	Tags         []string `json:"tags"`
	Exercises    string   `json:"exercises"`
	Note         string   `json:"note"`
	Expected     Expected `json:"expected"`
}

// Expected is the right answer. The fields behind Facts are for blobs and metadata only.
type Expected struct {
	Outcome    string `json:"outcome"`
	ErrorClass string `json:"error_class"` // corrupt, unsupported, not-found or limit
	Facts

	Cardinality     int64           `json:"cardinality"`
	First           []string        `json:"first"`
	Min             string          `json:"min"`
	Max             string          `json:"max"`
	PositionsSHA256 string          `json:"positions_sha256"`
	Properties      json.RawMessage `json:"properties"`
	Blobs           json.RawMessage `json:"blobs"`
	FormatVersion   int             `json:"format_version"`
	Location        string          `json:"location"`
	TableUUID       string          `json:"table_uuid"`
	CurrentSnapshot *int64          `json:"current_snapshot_id"`
	CurrentSchema   *int            `json:"current_schema_id"`
	Snapshots       json.RawMessage `json:"snapshots"`
}

// TableInfo is one table's folder; recorded paths begin with LocationPrefix.
type TableInfo struct {
	Name             string   `json:"name"`
	Folder           string   `json:"folder"` // below the corpus
	LocationPrefix   string   `json:"location_prefix"`
	RecordedLocation string   `json:"recorded_location"`
	FormatVersion    int      `json:"format_version"`
	Exercises        string   `json:"exercises"`
	Tags             []string `json:"tags"`
}

// TB is the part of testing.TB that Corpus needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Corpus loads the manifest for a test and fails the test if there is none.
func Corpus(tb TB) *Manifest {
	tb.Helper()
	folder, err := FindCorpus()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	m, err := LoadManifest(folder)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return m
}

// FindCorpus returns the corpus's folder: LAKESCAN_CORPUS, else ../shared/corpus beside the repository that holds the
// working directory.
func FindCorpus() (string, error) {
	if dir := os.Getenv("LAKESCAN_CORPUS"); dir != "" {
		return dir, nil
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; at = filepath.Dir(at) {
		dir := filepath.Join(at, "..", "shared", "corpus")
		_, top := os.Stat(filepath.Join(at, "go.mod"))
		if _, err := os.Stat(filepath.Join(dir, "manifest.json")); top == nil && err == nil {
			return dir, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("canon: no corpus at ../shared/corpus beside the repository; set LAKESCAN_CORPUS")
		}
	}
}

// LoadManifest reads manifest.json of a corpus folder.
func LoadManifest(folder string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	m := &Manifest{Folder: folder}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("canon: %s: %w", folder, err)
	}
	return m, nil
}

// Select returns the cases of any of the kinds, in the manifest's order.
func (m *Manifest) Select(kinds ...string) []Case {
	var out []Case
	for _, c := range m.Cases {
		if slices.Contains(kinds, c.Kind) {
			out = append(out, c)
		}
	}
	return out
}

// File returns the bytes of a case's file.
func (m *Manifest) File(c Case) ([]byte, error) {
	return os.ReadFile(filepath.Join(m.Folder, filepath.FromSlash(c.Path)))
}

// Table finds a table by name.
func (m *Manifest) Table(name string) (TableInfo, bool) {
	i := slices.IndexFunc(m.Tables, func(t TableInfo) bool { return t.Name == name })
	if i < 0 {
		return TableInfo{}, false
	}
	return m.Tables[i], true
}

// Has tells if the case carries the tag.
func (c Case) Has(tag string) bool { return slices.Contains(c.Tags, tag) }

// Diff compares got with what want states and lists every difference; facts that want leaves out are not compared.
// An empty list means equal. With typeNames off only rows, values and column names count, not the names of types.
func (want Facts) Diff(got Facts, typeNames bool) []string {
	var out []string
	differ := func(what string, want, got any) {
		if want != got {
			out = append(out, fmt.Sprintf("%s: want %v, got %v", what, want, got))
		}
	}
	differ("rows", want.NumRows, got.NumRows)
	if want.RowsSHA256 != "" {
		differ("rows_sha256", want.RowsSHA256, got.RowsSHA256)
	}
	if want.RowsInOrderSHA256 != "" {
		differ("rows_in_order_sha256", want.RowsInOrderSHA256, got.RowsInOrderSHA256)
	}
	if want.Schema != nil {
		differ("columns", len(want.Schema), len(got.Schema))
	}
	for i := range min(len(want.Schema), len(got.Schema)) {
		w, g := want.Schema[i], got.Schema[i]
		differ(fmt.Sprintf("column %d name", i), w.Name, g.Name)
		if typeNames {
			differ(fmt.Sprintf("column %q type", w.Name), w.Type, g.Type)
			if w.Nullable != nil && g.Nullable != nil {
				differ(fmt.Sprintf("column %q nullable", w.Name), *w.Nullable, *g.Nullable)
			}
		}
	}
	for i := range min(len(want.Columns), len(got.Columns)) {
		out = append(out, want.Columns[i].diff(got.Columns[i])...)
	}
	if len(out) > 0 && want.RowsInOrderSHA256 != "" && !slices.Equal(want.FirstRows, got.FirstRows) {
		out = append(out, fmt.Sprintf("first rows:\nwant %s\ngot  %s", strings.Join(want.FirstRows, "\n     "), strings.Join(got.FirstRows, "\n     ")))
	}
	return out
}

func (want ColumnFacts) diff(got ColumnFacts) []string {
	var out []string
	differ := func(what, want, got string) {
		if want != got {
			out = append(out, fmt.Sprintf("column %s: want %s, got %s", what, want, got))
		}
	}
	num := func(n *int64) string {
		if n == nil {
			return "absent"
		}
		return fmt.Sprint(*n)
	}
	text := func(s *string) string {
		if s == nil {
			return "absent"
		}
		return strings.Trim(*s, `"`)
	}
	name := fmt.Sprintf("%q ", want.Name)
	differ(name+"nulls", num(&want.NullCount), num(&got.NullCount))
	differ(name+"distinct", num(&want.Distinct), num(&got.Distinct))
	differ(name+"sha256", want.SHA256, got.SHA256)
	differ(name+"min", text(want.Min), text(got.Min))
	differ(name+"max", text(want.Max), text(got.Max))
	differ(name+"sum", text(want.Sum), text(got.Sum))
	differ(name+"NaNs", num(want.NaNCount), num(got.NaNCount))
	differ(name+"trues", num(want.TrueCount), num(got.TrueCount))
	return out
}
