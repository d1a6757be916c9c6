package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// writeParquet writes rows with arrow-go, in several row groups and small pages, anonymous = without field ids, and returns the file's size.
func writeParquet(r *rand.Rand, path string, rows []map[int]any, t *Type, anonymous bool) (int64, error) {
	n := max(1, len(rows))
	group := []int{n, max(1, n/2), max(1, n/3), max(1, n/5)}[r.IntN(4)]
	props := parquet.NewWriterProperties(
		parquet.WithMaxRowGroupLength(int64(group)),
		parquet.WithDataPageSize([]int64{64, 512, 1 << 20}[r.IntN(3)]),
		parquet.WithBatchSize([]int64{5, 20, 1024}[r.IntN(3)]),
		parquet.WithPageIndexEnabled(r.IntN(3) > 0),
		parquet.WithDictionaryDefault(r.IntN(2) == 0),
		parquet.WithStats(r.IntN(6) > 0),
		parquet.WithCompression([]compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip}[r.IntN(4)]),
		parquet.WithDataPageVersion([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}[r.IntN(2)]),
	)
	var buf bytes.Buffer
	arrowProps := pqarrow.DefaultWriterProps()
	if r.IntN(2) == 0 {
		arrowProps = pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())
	}
	w, err := pqarrow.NewFileWriter(arrowSchema(t, !anonymous), &buf, props, arrowProps)
	if err != nil {
		return 0, err
	}
	rec := arrowRecord(rows, t, !anonymous)
	defer rec.Release()
	for at := 0; at < len(rows); at += group {
		part := rec.NewSlice(int64(at), int64(min(at+group, len(rows))))
		err := w.Write(part)
		part.Release()
		if err != nil {
			return 0, err
		}
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	return int64(buf.Len()), os.WriteFile(path, buf.Bytes(), 0o644)
}

// metrics are the per-column figures of a manifest entry, by field id.
type metrics struct {
	values, nulls, nans map[int]int64
	lower, upper        map[int][]byte
}

// measure computes the metrics of rows, as rich as mode says: 0 none, 1 counts, 2 all with bounds cut to 16, 3 all whole, 4 a random part of them.
func measure(r *rand.Rand, rows []map[int]any, t *Type, mode int) metrics {
	m := metrics{map[int]int64{}, map[int]int64{}, map[int]int64{}, map[int][]byte{}, map[int][]byte{}}
	if mode == 0 {
		return m
	}
	for _, c := range columns(t, nil) {
		f := c.field()
		if !f.Type.primitive() || mode == 4 && r.IntN(3) == 0 {
			continue
		}
		var lo, hi any
		var nulls, nans int64
		for _, row := range rows {
			v := dig(row, c.Path)
			if v == nil {
				nulls++
				continue
			}
			if x, ok := v.(float64); ok && math.IsNaN(x) {
				nans++
				continue
			}
			if lo == nil || orderBounds(v, lo, f.Type) < 0 {
				lo = v
			}
			if hi == nil || orderBounds(v, hi, f.Type) > 0 {
				hi = v
			}
		}
		if mode != 4 || r.IntN(4) > 0 {
			m.values[f.ID], m.nulls[f.ID] = int64(len(rows)), nulls
		}
		if f.Type.floating() && (mode != 4 || r.IntN(3) > 0) {
			m.nans[f.ID] = nans
		}
		if lo == nil || mode == 1 {
			continue
		}
		low, high := bound(lo, f.Type), bound(hi, f.Type)
		if mode != 3 && (f.Type.Kind == String || f.Type.Kind == Binary) {
			low, high = cutBounds(lo.(string), hi.(string), f.Type.Kind == String)
		}
		if mode != 4 || r.IntN(5) > 0 {
			m.lower[f.ID] = low
		}
		if high != nil && (mode != 4 || r.IntN(5) > 0) {
			m.upper[f.ID] = high
		}
	}
	return m
}

// orderBounds is compare, with -0.0 before 0.0 as the specification wants of bounds.
func orderBounds(a, b any, t *Type) int {
	if x, ok := a.(float64); ok && x == 0 && b.(float64) == 0 {
		return compareSigns(math.Signbit(b.(float64)), math.Signbit(x))
	}
	return compare(a, t, b, t)
}

func compareSigns(b, a bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// cutBounds cuts to 16 characters (bytes of binary); an upper bound is raised at its last place that can be, or left out.
func cutBounds(lo, hi string, text bool) (low, high []byte) {
	if text {
		l, h := []rune(lo), []rune(hi)
		low = []byte(string(l[:min(16, len(l))]))
		if len(h) <= 16 {
			return low, []byte(hi)
		}
		h = h[:16]
		for i := len(h) - 1; i >= 0; i-- {
			if next := h[i] + 1; next <= 0x10ffff && (next < 0xd800 || next > 0xdfff) {
				h[i] = next
				return low, []byte(string(h[:i+1]))
			}
		}
		return low, nil
	}
	low = []byte(lo[:min(16, len(lo))])
	if len(hi) <= 16 {
		return low, []byte(hi)
	}
	h := []byte(hi[:16])
	for i := len(h) - 1; i >= 0; i-- {
		if h[i] < 255 {
			h[i]++
			return low, h[:i+1]
		}
	}
	return low, nil
}
