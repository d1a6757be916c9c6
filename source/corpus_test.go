package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/internal/canon"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/source/resolve"
)

// flatSchema is the file's schema with ids, without nested columns.
func flatSchema(b []byte) (*arrow.Schema, error) {
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for _, f := range resolve.MakeIDs(f.Schema()).Fields() {
		if _, nested := f.Type.(arrow.NestedType); !nested {
			fields = append(fields, f)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// TestCorpusAtEveryDepth reads every file of other writers through the whole scan, at depth 0, 1 and auto, with and without
// pruning, in batches of several sizes, and compares with what independent readers say.
func TestCorpusAtEveryDepth(t *testing.T) {
	t.Parallel()
	m := canon.Corpus(t)
	for _, c := range m.Select(canon.ParquetGood, canon.ParquetBad) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			b, err := m.File(c)
			if err != nil {
				t.Fatal(err)
			}
			store := mem.New()
			info := store.Put("s3://corpus/"+c.ID+".parquet", b)
			for i, rows := range []int{0, 1, 7, 4096} {
				for _, d := range []Depth{Off, 1, Auto} {
					if testing.Short() && (i+int(d))%3 != 0 {
						continue
					}
					size := info
					if i%2 == 1 {
						size.Size = -1
					}
					checkCorpus(t, c, b, store, size, d, func(cfg *Config) {
						cfg.BatchRows = rows
						cfg.NoPrune = i == 2
						cfg.FooterTail = []int64{0, 8, 100, 1 << 20}[i]
						cfg.partBytes = []int64{0, 1, 2000, -1}[i] // row groups whole, and as if they were huge
					})
				}
			}
		})
	}
}

func checkCorpus(t *testing.T, c canon.Case, b []byte, store object.Store, info object.Info, d Depth, change func(*Config)) {
	t.Helper()
	g := newRig(t, 8, 512<<20, nil, store)
	defer g.check()
	schema, err := flatSchema(b)
	if err != nil {
		schema = arrow.NewSchema(nil, nil) // the scan must say so too
	}
	got, err := g.table(schema, List([]object.Info{info}, nil), d, change)
	what := fmt.Sprintf("depth %v, size %d", d, info.Size)
	switch {
	case err != nil && c.Expected.Outcome == canon.Rows:
		t.Fatalf("%s: %v", what, err)
	case err == nil && c.Expected.Outcome == canon.Error:
		if strings.HasPrefix(c.ID, "pt-variant") || c.ID == "pt-bad-45185" {
			t.Skip("the fault lies in a nested column")
		}
		t.Fatalf("%s: no error", what)
	case err != nil:
		class := map[string]error{"corrupt": parquet.ErrCorrupt, "unsupported": parquet.ErrUnsupported, "limit": parquet.ErrTooLarge, "": err}[c.Expected.ErrorClass]
		if !errors.Is(err, class) {
			t.Fatalf("%s: error of another class than %q: %v", what, c.Expected.ErrorClass, err)
		}
		return
	}
	if schema.NumFields() == 0 {
		return
	}
	facts, want := got.Facts(), c.Expected.Facts
	if len(facts.Schema) < len(want.Schema) { // some columns are nested
		want.RowsSHA256, want.RowsInOrderSHA256, want.FirstRows = "", "", nil
		absent := func(name string) bool {
			return !slices.ContainsFunc(facts.Schema, func(f canon.FieldFacts) bool { return f.Name == name })
		}
		want.Schema = slices.DeleteFunc(slices.Clone(want.Schema), func(f canon.FieldFacts) bool { return absent(f.Name) })
		want.Columns = slices.DeleteFunc(slices.Clone(want.Columns), func(f canon.ColumnFacts) bool { return absent(f.Name) })
	}
	if diff := want.Diff(facts, false); len(diff) > 0 {
		t.Errorf("%s:\n%s", what, strings.Join(diff, "\n"))
	}
}
