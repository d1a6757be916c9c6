package meta

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lakescan/lakescan/internal/usage"
)

// FuzzParse: no panic, errors of a class, memory in proportion to the text, and every accepted document can be asked everything.
func FuzzParse(f *testing.F) {
	f.Add(doc(f, 1, nil))
	f.Add(doc(f, 2, map[string]any{"current-snapshot-id": 1, "snapshots": []any{snapshot(1, 0, 1, 0)}}))
	f.Add([]byte(`{"format-version":3,"location":"x","schemas":[],"snapshots":[{"snapshot-id":18446744073709551615}]}`))
	real, err := filepath.Glob("../../../shared/corpus/iceberg/*/metadata/*.metadata.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range real {
		if b, err := os.ReadFile(name); err == nil && len(b) < 4<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := int64(len(data))
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			n, _ := io.Copy(io.Discard, io.LimitReader(z, 1<<24))
			if n == 1<<24 {
				t.Skip("a bomb: TestL43 has it")
			}
			text += n
		}
		if got, most := usage.Allocated(func() { ask(t, data) }), uint64(text)*400+1<<18; got > most {
			t.Errorf("%d bytes allocated for %d", got, text)
		}
	})
}

// ask parses a document and asks for everything in it.
func ask(t *testing.T, data []byte) {
	m, err := Parse(data, "f")
	if err != nil {
		if !errors.Is(err, ErrInvalidMetadata) && !errors.Is(err, ErrUnsupported) {
			t.Fatalf("untyped error %v", err)
		}
		return
	}
	m.Select(Version{})
	m.Select(Version{AsOf: time.UnixMilli(1)})
	m.Current().Arrow()
	for _, f := range m.Current().Fields {
		f.Default()
	}
	m.Statistics()
	m.MetadataLog()
	for range m.Snapshots() {
	}
}
