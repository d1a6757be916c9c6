package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakescan/lakescan/iceberg/manifest"
)

// planFields are the ten columns of the planning table.
func planFields() []field {
	types := []string{"long", "long", "long", "double", "double", "string", "string", "string", "date", "date"}
	out := make([]field, len(types))
	for i, t := range types {
		out[i] = field{ID: i + 1, Name: "c" + strconv.Itoa(i+1), Type: t}
	}
	return out
}

// planTable writes manifests of entries data files, which do not exist, in all: counts, sizes and bounds of ten columns each.
// c1 holds 1000 n to 1000 n + 999 in the n-th file, so that c1 < 3000 keeps three.
func planTable(dir, base string, entries, manifests int) (string, error) {
	b, err := newBuilder(dir, base, planFields())
	if err != nil {
		return "", err
	}
	var files []manifest.File
	for m := range manifests {
		list := make([]manifest.Written, 0, entries/manifests)
		for i := range entries / manifests {
			list = append(list, planEntry(base, m*(entries/manifests)+i))
		}
		f, err := b.manifest(false, list)
		if err != nil {
			return "", err
		}
		files = append(files, f)
	}
	if err := b.commit("append", files...); err != nil {
		return "", err
	}
	return b.save()
}

func planEntry(base string, n int) manifest.Written {
	e := manifest.NewFile(fmt.Sprintf("%s/data/%08d-5f0a9a3c-1f0e-4d0a-9d5e-%012d.parquet", base, n, n), 100_000, 5_200_000)
	e.ColumnSizes, e.Values, e.Nulls, e.SplitOffsets = map[int]int64{}, map[int]int64{}, map[int]int64{}, []int64{4}
	e.Lower, e.Upper = map[int][]byte{}, map[int][]byte{}
	for _, f := range planFields() {
		e.ColumnSizes[f.ID], e.Values[f.ID], e.Nulls[f.ID] = 500_000+int64(n), 100_000, 0
		var lo, up []byte
		switch f.Type {
		case "long":
			lo, up = binary.LittleEndian.AppendUint64(nil, uint64(n)*1000), binary.LittleEndian.AppendUint64(nil, uint64(n)*1000+999)
		case "double":
			lo = binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n)))
			up = binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(n)+100.5))
		case "string":
			lo, up = fmt.Appendf(nil, "a%07d", n), fmt.Appendf(nil, "z%07d", n)
		case "date":
			lo, up = binary.LittleEndian.AppendUint32(nil, uint32(20000+n/1000)), binary.LittleEndian.AppendUint32(nil, uint32(20001+n/1000))
		}
		e.Lower[f.ID], e.Upper[f.ID] = lo, up
	}
	return e
}

// snapshotTable writes metadata with that many snapshots and nothing else.
func snapshotTable(dir, base string, snapshots int) (string, error) {
	b, err := newBuilder(dir, base, planFields())
	if err != nil {
		return "", err
	}
	for id := range int64(snapshots) {
		b.add(id+1, "append", fmt.Sprintf("%s/metadata/snap-%019d-1-5f0a9a3c-1f0e-4d0a-9d5e-%012d.avro", base, id, id))
	}
	return b.save()
}

// rowFields are the columns of the tables with deletes.
func rowFields() []field {
	return []field{{ID: 1, Name: "id", Type: "long"}, {ID: 2, Name: "value", Type: "double"}}
}

func withID(f arrow.Field, id int) arrow.Field {
	f.Metadata = arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{strconv.Itoa(id)})
	return f
}

// parquetFile writes a record in row groups of 122,880 rows, zstd.
func (b *builder) parquetFile(name string, fields []arrow.Field, columns []arrow.Array) (string, int64, error) {
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
	defer rec.Release()
	var out bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithMaxRowGroupLength(122_880), parquet.WithStats(true))
	w, err := pqarrow.NewFileWriter(rec.Schema(), &out, props, pqarrow.NewArrowWriterProperties())
	if err != nil {
		return "", 0, err
	}
	if err := w.Write(rec); err != nil {
		return "", 0, err
	}
	if err := w.Close(); err != nil {
		return "", 0, err
	}
	path, err := b.put(name, out.Bytes())
	return path, int64(out.Len()), err
}

func longs(n int, value func(i int) int64) arrow.Array {
	l := array.NewInt64Builder(memory.DefaultAllocator)
	defer l.Release()
	l.Reserve(n)
	for i := range n {
		l.UnsafeAppend(value(i))
	}
	return l.NewArray()
}

// dataFiles writes and commits that many files of rows; ids count up over all of them. It returns their paths.
func (b *builder) dataFiles(files, rows int) ([]string, error) {
	var entries []manifest.Written
	var paths []string
	for f := range files {
		values := array.NewFloat64Builder(memory.DefaultAllocator)
		for i := range rows {
			values.Append(float64(i) / 7)
		}
		id := longs(rows, func(i int) int64 { return int64(f*rows + i) })
		path, size, err := b.parquetFile(fmt.Sprintf("data/d%05d.parquet", f), []arrow.Field{
			withID(arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, 1),
			withID(arrow.Field{Name: "value", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, 2),
		}, []arrow.Array{id, values.NewArray()})
		if err != nil {
			return nil, err
		}
		e := manifest.NewFile(path, int64(rows), size)
		e.Values, e.Nulls = map[int]int64{1: int64(rows)}, map[int]int64{1: 0}
		e.Lower = map[int][]byte{1: binary.LittleEndian.AppendUint64(nil, uint64(f*rows))}
		e.Upper = map[int][]byte{1: binary.LittleEndian.AppendUint64(nil, uint64(f*rows+rows-1))}
		entries, paths = append(entries, e), append(paths, path)
	}
	m, err := b.manifest(false, entries)
	if err != nil {
		return nil, err
	}
	return paths, b.commit("append", m)
}

// positionTable has files of rows each, of which every second row is deleted by position, in one delete file a data file.
func positionTable(dir, base string, files, rows int) (string, error) {
	b, err := newBuilder(dir, base, rowFields())
	if err != nil {
		return "", err
	}
	paths, err := b.dataFiles(files, rows)
	if err != nil {
		return "", err
	}
	var entries []manifest.Written
	for f, path := range paths {
		names := array.NewStringBuilder(memory.DefaultAllocator)
		for range rows / 2 {
			names.Append(path)
		}
		pos := longs(rows/2, func(i int) int64 { return 2 * int64(i) })
		deletes, size, err := b.parquetFile(fmt.Sprintf("data/p%05d.parquet", f), []arrow.Field{
			withID(arrow.Field{Name: "file_path", Type: arrow.BinaryTypes.String}, 2147483546),
			withID(arrow.Field{Name: "pos", Type: arrow.PrimitiveTypes.Int64}, 2147483545),
		}, []arrow.Array{names.NewArray(), pos})
		if err != nil {
			return "", err
		}
		e := manifest.NewFile(deletes, int64(rows/2), size)
		e.Content = manifest.PositionDeletes
		e.Lower = map[int][]byte{2147483546: []byte(path)}
		e.Upper = map[int][]byte{2147483546: []byte(path)}
		entries = append(entries, e)
	}
	m, err := b.manifest(true, entries)
	if err != nil {
		return "", err
	}
	if err := b.commit("delete", m); err != nil {
		return "", err
	}
	return b.save()
}

// equalityTable has rows in four files, and commits equality-delete files of keys random ids each.
func equalityTable(dir, base string, rows, commits, keys int) (string, error) {
	b, err := newBuilder(dir, base, rowFields())
	if err != nil {
		return "", err
	}
	if _, err := b.dataFiles(4, rows/4); err != nil {
		return "", err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for c := range commits {
		id := longs(keys, func(int) int64 { return r.Int64N(int64(rows)) })
		path, size, err := b.parquetFile(fmt.Sprintf("data/e%05d.parquet", c), []arrow.Field{
			withID(arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, 1),
		}, []arrow.Array{id})
		if err != nil {
			return "", err
		}
		e := manifest.NewFile(path, int64(keys), size)
		e.Content, e.EqualityIDs = manifest.EqualityDeletes, []int64{1}
		m, err := b.manifest(true, []manifest.Written{e})
		if err != nil {
			return "", err
		}
		if err := b.commit("delete", m); err != nil {
			return "", err
		}
	}
	return b.save()
}

// smallTable has files of rows each, in a manifest each.
func smallTable(dir, base string, files, rows int) (string, error) {
	b, err := newBuilder(dir, base, rowFields())
	if err != nil {
		return "", err
	}
	paths, err := b.dataFiles(1, rows)
	if err != nil {
		return "", err
	}
	data, err := readFile(filepath.Join(dir, "data", filepath.Base(paths[0])))
	if err != nil {
		return "", err
	}
	b.current, b.snapshots = nil, nil
	var list []manifest.File
	for f := range files {
		path, err := b.put(fmt.Sprintf("data/s%05d.parquet", f), data)
		if err != nil {
			return "", err
		}
		m, err := b.manifest(false, []manifest.Written{manifest.NewFile(path, int64(rows), int64(len(data)))})
		if err != nil {
			return "", err
		}
		list = append(list, m)
	}
	if err := b.commit("append", list...); err != nil {
		return "", err
	}
	return b.save()
}
