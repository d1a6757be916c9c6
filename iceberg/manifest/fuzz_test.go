package manifest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/lakescan/lakescan/iceberg/avro"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/usage"
)

// FuzzManifest: no panic, errors of a class, memory in proportion to the file and what it unpacks to, by the same reasons as in
// package avro.
func FuzzManifest(f *testing.F) {
	m := table(f, 3)
	e := NewFile("s3://b/f", 3, 1)
	e.Values, e.Lower = map[int]int64{1: 3}, map[int][]byte{1: {1, 2, 3, 4}}
	f.Add(write(f, m, 2, false, "null", e, e))
	f.Add(write(f, m, 0, true, "deflate", Written{Content: PositionDeletes, Path: "d", Referenced: "f", SortOrder: -1, Sequence: 1}))
	var list bytes.Buffer
	if err := WriteList(&list, ListConfig{Version: 3}, []File{{Path: "m", Partitions: []Summary{{Lower: []byte{1}}}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(list.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		plain := 0
		if c, err := avro.Open(data); err == nil {
			var blocks avro.Blocks
			if !blocks.Unpack(c, math.MaxInt) { // how far the last one came is not known
				plain = avro.MaxBlock
			}
			plain += blocks.Size()
		}
		got := usage.Allocated(func() { readAll(t, m, data) })
		if most := uint64(len(data)+plain)*2000 + 1<<20; got > most {
			t.Errorf("%d bytes allocated for %d, which unpack to %d", got, len(data), plain)
		}
	})
}

// readAll reads the bytes as a list and as manifests.
func readAll(t *testing.T, m *meta.Metadata, data []byte) {
	check := func(err error) {
		if err != nil && !errors.Is(err, meta.ErrInvalidMetadata) && !errors.Is(err, meta.ErrUnsupported) {
			t.Fatalf("untyped error %v", err)
		}
	}
	_, err := ReadList(data, "l")
	check(err)
	for spec := range 3 {
		r, err := NewDecoder(m, Projection{Metrics: []int{1}, Sizes: []int{1, 2}}).Open(data, &File{Path: "m", SpecID: spec, FirstRowID: 5, Deletes: spec == 0}, nil)
		check(err)
		for err == nil {
			var e *Entry
			if e, err = r.Next(); err == nil {
				e.Partition()
				e.Metric(0)
			}
		}
		if err != io.EOF {
			check(err)
		}
	}
}
