package parquet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

const corpus = "../../shared/corpus/parquet"

func corpusFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, "*.parquet*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus not found: %v", err)
	}
	return files
}

func readCorpus(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every fact kept from a footer equals what parquet-go reads from it.
func TestFooter_EqualsOtherReader(t *testing.T) {
	t.Parallel()
	for _, path := range corpusFiles(t) {
		name := filepath.Base(path)
		if strings.Contains(name, "bad") || strings.Contains(name, "encrypted") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := readCorpus(t, name)
			f, missing, err := ParseFooter(b, int64(len(b)), 0)
			if err != nil || missing != 0 {
				t.Fatalf("ParseFooter: %v, missing %d", err, missing)
			}
			other, err := pq.OpenFile(bytes.NewReader(b), int64(len(b)), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
			if err != nil {
				t.Skip(err)
			}
			compareFooter(t, f, other.Metadata())
		})
	}
}

func compareFooter(t *testing.T, f *Footer, want *format.FileMetaData) {
	if f.NumRows() != want.NumRows && want.NumRows != 0 || f.RowGroups() != len(want.RowGroups) || f.meta.CreatedBy != want.CreatedBy {
		t.Fatalf("rows %d groups %d by %q; want %d, %d, %q", f.NumRows(), f.RowGroups(), f.meta.CreatedBy, want.NumRows, len(want.RowGroups), want.CreatedBy)
	}
	for i := range want.Schema {
		g, w := &f.meta.Schema[i], &want.Schema[i]
		if g.Name != w.Name || g.NumChildren != w.NumChildren.V || g.HasType != w.Type.Valid || g.HasType && int(g.Type) != int(w.Type.V) ||
			g.FieldID != w.FieldID || g.TypeLength != w.TypeLength.V || int(g.Repetition) != int(w.RepetitionType.V) {
			t.Errorf("schema element %d: %+v; want %+v", i, g, w)
		}
		if (g.Logical.Kind != 0) != (w.LogicalType.Value != nil) {
			if !strings.Contains(w.Name, "unknown") {
				t.Errorf("schema element %d: logical %v; want %v", i, g.Logical, w.LogicalType)
			}
		}
	}
	for rg := range want.RowGroups {
		if f.Rows(rg) != want.RowGroups[rg].NumRows {
			t.Errorf("row group %d: %d rows; want %d", rg, f.Rows(rg), want.RowGroups[rg].NumRows)
		}
		for i := range want.RowGroups[rg].Columns {
			g, w := f.Chunk(rg, i), &want.RowGroups[rg].Columns[i]
			m := &w.MetaData
			if g.NumValues != m.NumValues || g.CompressedSize != m.TotalCompressedSize || g.UncompressedSize != m.TotalUncompressedSize ||
				g.DataPageOffset != m.DataPageOffset || g.DictionaryOffset != m.DictionaryPageOffset || int(g.Codec) != int(m.Codec) ||
				g.BloomOffset != m.BloomFilterOffset || g.BloomLength != m.BloomFilterLength ||
				g.OffsetIndexOffset != w.OffsetIndexOffset || g.OffsetIndexLength != w.OffsetIndexLength ||
				g.ColumnIndexOffset != w.ColumnIndexOffset || g.ColumnIndexLength != w.ColumnIndexLength {
				t.Errorf("chunk %d,%d: %+v; want %+v", rg, i, g, w)
			}
			s, ok, err := f.meta.Statistics(g)
			if err != nil {
				t.Errorf("chunk %d,%d: %v", rg, i, err)
			}
			if ok && (!bytes.Equal(s.MinValue, m.Statistics.MinValue) || !bytes.Equal(s.MaxValue, m.Statistics.MaxValue) || max(s.NullCount, 0) != m.Statistics.NullCount) {
				t.Errorf("chunk %d,%d: statistics %+v; want %+v", rg, i, s, m.Statistics)
			}
			if p := strings.Join(f.tree.Leaves[i].Path(), "."); p != strings.Join(m.PathInSchema, ".") {
				t.Errorf("leaf %d: path %s; want %s", i, p, m.PathInSchema)
			}
		}
	}
}

func TestFooter_ShortTailSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := readCorpus(t, "own-codec-zstd-v1.parquet")
	for n := range len(b) + 1 {
		f, missing, err := ParseFooter(b[len(b)-n:], int64(len(b)), 0)
		switch {
		case err != nil:
			t.Fatalf("tail of %d: %v", n, err)
		case (f == nil) == (missing == 0):
			t.Fatalf("tail of %d: footer %v, missing %d", n, f, missing)
		case missing > 0:
			if n >= 8 {
				if f, _, err = ParseFooter(b[len(b)-n-int(missing):], int64(len(b)), 0); f == nil || err != nil {
					t.Fatalf("tail of %d and %d: %v", n, missing, err)
				}
			}
		}
	}
}

func TestFooter_BadFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"own-bad-empty-file.parquet":                              ErrCorrupt,
		"own-bad-footer-length-zero.parquet":                      ErrCorrupt,
		"own-bad-footer-zeroed.parquet":                           ErrCorrupt,
		"own-bad-half.parquet":                                    ErrCorrupt,
		"own-bad-magic-twice.parquet":                             ErrCorrupt,
		"own-bad-not-parquet.parquet":                             ErrCorrupt,
		"pt-enc-uniform_encryption.parquet.encrypted":             ErrUnsupported,
		"pt-enc-encrypt_columns_and_footer_ctr.parquet.encrypted": ErrUnsupported,
	} {
		b := readCorpus(t, name)
		f, _, err := ParseFooter(b, int64(len(b)), 0)
		if f != nil || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v; want %v", name, f, err, want)
		}
	}
}

func FuzzFooter(f *testing.F) {
	for _, path := range corpusFiles(f) {
		if b, err := os.ReadFile(path); err == nil && len(b) < 1<<16 {
			f.Add(b[max(0, len(b)-4096):])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		foot, _, err := ParseFooter(b, int64(len(b))+1000, 0)
		if err != nil || foot == nil {
			return
		}
		foot.Schema()
		for rg := range foot.RowGroups() {
			for i := range foot.tree.Leaves {
				_, _, _ = foot.ChunkRange(rg, i)
				foot.Statistics(rg, i)
				foot.IndexRange(rg, i)
				foot.BloomRange(rg, i)
			}
		}
	})
}
