package lakescan_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakescan/lakescan"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/internal/fakes3"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/source"
)

// TestP12_CorpusTables walks every Iceberg case of the corpus: tables of other writers with results that other readers agree on. Each is read from local
// files and over S3, at several depths, with pruning and without; rows must be equal in all of them. `go test -run CorpusTables -v .` prints the table.
func TestP12_CorpusTables(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	s3 := corpusOnS3(t, m)
	for _, c := range m.Select(canon.Iceberg) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			table, ok := m.Table(c.Table)
			if !ok {
				t.Fatalf("no table %s", c.Table)
			}
			var first string
			for _, place := range []corpusPlace{{name: "file", root: m.Folder}, s3} {
				for _, depth := range []source.Depth{source.Off, 1, 8, source.Auto} {
					for _, noPrune := range []bool{false, true} {
						if testing.Short() && (depth != 8 || noPrune) { // the race detector makes each scan some fifty times dearer
							continue
						}
						how := fmt.Sprintf("%s, depth %v, pruning %v", place.name, depth, !noPrune)
						got := readCase(t, c, table, place, depth, noPrune)
						if msg := judge(c, got); msg != "" {
							t.Errorf("%s: %s", how, msg)
						}
						if in := strings.Join(got.rows, "\n"); first == "" {
							first = in
						} else if in != first && got.err == nil {
							t.Errorf("%s: rows come in another order than at first", how)
						}
					}
				}
			}
			for _, layout := range []source.Strings{source.StringsView, source.StringsDictionary} {
				got := readCase(t, c, table, corpusPlace{name: "file", root: m.Folder}, 8, false, lakescan.StringsAs(layout))
				if msg := judge(c, got); msg != "" {
					t.Errorf("strings as %d: %s", layout, msg)
				}
				if got.err == nil && strings.Join(got.rows, "\n") != first {
					t.Errorf("strings as %d: other rows or another order", layout)
				}
			}
		})
	}
}

type corpusPlace struct {
	name, root string // root of the corpus as a location
	cfg        lakescan.Config
}

type corpusAnswer struct {
	facts canon.Facts
	rows  []string
	err   error
}

func readCase(t *testing.T, c canon.Case, table canon.TableInfo, place corpusPlace, depth source.Depth, noPrune bool, more ...lakescan.ScanOption) corpusAnswer {
	cfg := place.cfg
	cfg.Memory = 256 << 20
	folder := place.root + "/" + table.Folder
	cfg.Map = []object.Mapping{{From: table.LocationPrefix, To: folder}, {From: "./" + table.LocationPrefix, To: folder}}
	client, err := lakescan.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	opts := append([]lakescan.ScanOption{lakescan.MaxFilesToPrefetch(depth)}, more...)
	if noPrune {
		opts = append(opts, lakescan.NoPrune())
	}
	if c.SnapshotID != nil {
		opts = append(opts, lakescan.AtSnapshot(*c.SnapshotID))
	}
	if c.Ref != "" {
		opts = append(opts, lakescan.AtRef(c.Ref))
	}
	if c.Where != "" {
		e, err := expr.Parse(c.Where)
		if err != nil {
			t.Fatalf("filter %q: %v", c.Where, err)
		}
		opts = append(opts, lakescan.Where(e))
	}
	if len(c.Extra) > 0 {
		var names []string
		for _, f := range c.Expected.Schema {
			names = append(names, f.Name)
		}
		opts = append(opts, lakescan.Columns(names...))
	}
	r, err := client.Scan(t.Context(), folder+"/"+c.MetadataFile, opts...)
	if err != nil {
		return corpusAnswer{err: err}
	}
	defer r.Close()
	out := canon.NewTable(r.Schema(), canon.KeyOrder)
	for b, err := range r.All() {
		if err != nil {
			return corpusAnswer{rows: out.Rows(), err: err}
		}
		if err := out.Add(b.Record); err != nil {
			return corpusAnswer{err: err}
		}
	}
	return corpusAnswer{facts: out.Facts(), rows: out.Rows()}
}

// judge returns what is wrong with an answer; "" = nothing.
func judge(c canon.Case, got corpusAnswer) string {
	want := c.Expected
	if got.err != nil {
		if want.Outcome == canon.Rows {
			return got.err.Error()
		}
		if want.ErrorClass != "" && !isAny(got.err, errorClasses[want.ErrorClass]) {
			return fmt.Sprintf("error of another class than %s: %v", want.ErrorClass, got.err)
		}
		return ""
	}
	if want.Outcome == canon.Error {
		return fmt.Sprintf("%d rows, want an error of class %s", len(got.rows), want.ErrorClass)
	}
	if diff := want.Facts.Diff(got.facts, true); len(diff) > 0 {
		return strings.Join(diff, "\n")
	}
	return ""
}

var errorClasses = map[string][]error{
	"corrupt":     {parquet.ErrCorrupt, meta.ErrInvalidMetadata, object.ErrChanged, object.ErrRange},
	"unsupported": {parquet.ErrUnsupported, meta.ErrUnsupported},
	"not-found":   {object.ErrNotFound, meta.ErrNoSuchSnapshot, meta.ErrNoSuchRef},
	"limit":       {parquet.ErrTooLarge},
}

func isAny(err error, classes []error) bool {
	for _, class := range classes {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// corpusOnS3 serves the tables from an S3 server of the test's own.
func corpusOnS3(t *testing.T, m *canon.Manifest) corpusPlace {
	t.Helper()
	keys := fakes3.Keys{ID: "corpus", Secret: "corpus-secret"}
	server := fakes3.New(fakes3.Config{Keys: []fakes3.Keys{keys}, Region: "us-east-1"}, "corpus")
	root := filepath.Join(m.Folder, "iceberg")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.Folder, path)
		server.Put("corpus", "root/"+filepath.ToSlash(rel), body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return corpusPlace{name: "s3", root: "s3://corpus/root", cfg: lakescan.Config{S3: lakescan.S3Config{
		Access: object.Access{Endpoint: fakes3.Start(t, server), Region: "us-east-1", KeyID: keys.ID, Secret: keys.Secret, PathStyle: true},
	}}}
}
