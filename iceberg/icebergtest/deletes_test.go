package icebergtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/source/deletes"
)

var (
	i32 = arrow.PrimitiveTypes.Int32
	i64 = arrow.PrimitiveTypes.Int64
	str = arrow.BinaryTypes.String
)

const kv = `[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"v","required":false,"type":"string"}]`

var k, v = Field(1, "k", i64), Field(2, "v", str)

// wantRows scans with pruning and without, and compares; a row is written k, or k/v.
func wantRows(t *testing.T, b *Table, spec iceberg.ScanSpec, want ...string) {
	t.Helper()
	for _, spec.NoPrune = range []bool{false, true} {
		got, err := b.Rows(t, spec)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			show := func(rows []string) string {
				return fmt.Sprintf("%d: %s", len(rows), strings.Join(rows[:min(len(rows), 12)], " "))
			}
			t.Errorf("rows (no pruning: %v)\n%s\nwant\n%s", spec.NoPrune, show(got), show(want))
		}
	}
}

func rowsOf(pairs ...string) []string {
	var out []string
	for _, p := range pairs {
		key, value, both := strings.Cut(p, "/")
		switch {
		case !both:
			out = append(out, fmt.Sprintf(`{"v":%q}`, key))
		case key == "null":
			out = append(out, fmt.Sprintf(`{"k":null,"v":%q}`, value))
		default:
			out = append(out, fmt.Sprintf(`{"k":%s,"v":%q}`, key, value))
		}
	}
	return out
}

func TestL01_KeyNotSelectedOrDropped(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"},{"k":3,"v":"c"},{"k":4,"v":"d"}]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":2}]`, k))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/a", "3/c", "4/d")...)
	wantRows(t, b, iceberg.ScanSpec{Columns: []string{"v"}}, rowsOf("a", "c", "d")...)
	b.Schema(`[{"id":2,"name":"v","required":false,"type":"string"}]`)
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("a", "c", "d")...)
	// The name comes back for another column: the delete is on the old one.
	b.Schema(`[{"id":2,"name":"v","required":false,"type":"string"},{"id":9,"name":"k","required":false,"type":"long"}]`)
	wantRows(t, b, iceberg.ScanSpec{}, `{"k":null,"v":"a"}`, `{"k":null,"v":"c"}`, `{"k":null,"v":"d"}`)
}

func TestL02_NullKeysAndMissingColumns(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][]string{"5": {"null/n", "0/z", "null/old"}, "0": {"null/n", "5/f", "null/old"}, "null": {"0/z", "5/f"}} {
		b := New(t, "s3://b/t", 2)
		b.Schema(`[{"id":2,"name":"v","required":false,"type":"string"}]`)
		b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"v":"old"}]`, v)) // older than the key column
		b.Schema(kv)
		b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":null,"v":"n"},{"k":0,"v":"z"},{"k":5,"v":"f"}]`, k, v))
		b.Commit("delete", b.Equality(fmt.Sprintf(`[{"k":%s}]`, key), k))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf(want...)...)
	}
	// A column with a default is that default in old files, for deletes too.
	b := New(t, "s3://b/t", 3)
	b.Schema(`[{"id":2,"name":"v","required":false,"type":"string"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"v":"old"}]`, v))
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long","initial-default":7},{"id":2,"name":"v","required":false,"type":"string"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":7,"v":"seven"},{"k":8,"v":"eight"}]`, k, v))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("7/old", "7/seven", "8/eight")...)
	b.Commit("delete", b.Equality(`[{"k":7}]`, k))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("8/eight")...)
}

func TestL03_CommittedTogether(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"older"},{"k":2,"v":"other"}]`, k, v))
	data := b.Parquet(parquetfile.Options{}, `[{"k":9,"v":"position 0"},{"k":1,"v":"together"}]`, k, v)
	b.Commit("overwrite", data, b.Equality(`[{"k":1}]`, k), b.Positions(data.Path, 0))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/other", "1/together")...)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"younger"}]`, k, v))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/other", "1/together", "1/younger")...)
}

func TestL06_AFilterDetachesNoDelete(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"v","required":false,"type":"string"},{"id":3,"name":"flag","required":false,"type":"boolean"}]`)
	flag := Field(3, "flag", arrow.FixedWidthTypes.Boolean)
	data := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a","flag":true},{"k":2,"v":"b","flag":false},{"k":3,"v":null,"flag":false},{"k":4,"v":null,"flag":true}]`, k, v, flag)
	b.Commit("append", data)
	b.Commit("delete", b.Positions(data.Path, 1), b.Equality(`[{"k":4}]`, k))
	for filter, want := range map[string][]string{"": {`{"k":1}`, `{"k":3}`}, "flag = false": {`{"k":3}`}, "v IS NULL": {`{"k":3}`}, "flag = true": {`{"k":1}`}, "k >= 2": {`{"k":3}`}} {
		spec := iceberg.ScanSpec{Columns: []string{"k"}}
		if filter != "" {
			spec.Filter = expr.MustParse(filter)
		}
		wantRows(t, b, spec, want...)
	}
}

// vectorBlob by the library.
func vectorBlob(t testing.TB, rows ...uint64) []byte {
	t.Helper()
	bitmap := roaring64.New()
	bitmap.AddMany(rows)
	raw, err := bitmap.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	body := append([]byte{0xd1, 0xd3, 0x39, 0x64}, raw...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}

func vectorFile(path string, data File, offset, size int64, rows int64) File {
	return File{Content: PositionDeletes, Format: "PUFFIN", Path: path, Rows: rows, Size: offset + size, Referenced: data.Path, Blob: [2]int64{offset, size}}
}

func TestL08_DeletionVectors(t *testing.T) {
	t.Parallel()
	build := func() (*Table, File, File) {
		b := New(t, "s3://b/t", 3)
		b.Schema(kv)
		one := b.Parquet(parquetfile.Options{}, `[{"k":0,"v":"a"},{"k":1,"v":"b"},{"k":2,"v":"c"}]`, k, v)
		two := b.Parquet(parquetfile.Options{}, `[{"k":10,"v":"a"},{"k":11,"v":"b"}]`, k, v)
		b.Commit("append", one, two)
		return b, one, two
	}
	t.Run("two blobs", func(t *testing.T) {
		t.Parallel()
		b, one, two := build()
		x, y := vectorBlob(t, 0, 2), vectorBlob(t, 1)
		path := b.Put("data/v.puffin", slices.Concat([]byte("PFA1"), x, y))
		b.Commit("delete", vectorFile(path, one, 4, int64(len(x)), 2), vectorFile(path, two, int64(4+len(x)), int64(len(y)), 1))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/b", "10/a")...)
	})
	t.Run("a bare blob", func(t *testing.T) {
		t.Parallel()
		b, one, _ := build()
		x := vectorBlob(t, 1)
		b.Commit("delete", vectorFile(b.Put("data/v.bin", x), one, 0, int64(len(x)), 1))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf("0/a", "2/c", "10/a", "11/b")...)
	})
	t.Run("a vector replaces older position deletes", func(t *testing.T) {
		t.Parallel()
		b := New(t, "s3://b/t", 2)
		b.Schema(kv)
		one := b.Parquet(parquetfile.Options{}, `[{"k":0,"v":"a"},{"k":1,"v":"b"},{"k":2,"v":"c"}]`, k, v)
		b.Commit("append", one)
		b.Commit("delete", b.Positions(one.Path, 0))
		b.Version = 3
		x := vectorBlob(t, 1)
		b.Commit("delete", vectorFile(b.Put("data/v.bin", x), one, 0, int64(len(x)), 1))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf("0/a", "2/c")...)
	})
	for name, broken := range map[string]func(b *Table, one File) File{
		"CRC": func(b *Table, one File) File {
			x := vectorBlob(t, 1)
			x[len(x)-1]++
			return vectorFile(b.Put("data/v.bin", x), one, 0, int64(len(x)), 1)
		},
		"cardinality": func(b *Table, one File) File {
			x := vectorBlob(t, 1)
			return vectorFile(b.Put("data/v.bin", x), one, 0, int64(len(x)), 2)
		},
		"position beyond the file": func(b *Table, one File) File {
			x := vectorBlob(t, 3)
			return vectorFile(b.Put("data/v.bin", x), one, 0, int64(len(x)), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, one, _ := build()
			b.Commit("delete", broken(b, one))
			rows, err := b.Rows(t, iceberg.ScanSpec{})
			e, ok := errors.AsType[*deletes.Error](err)
			if !ok || !errors.Is(err, deletes.ErrCorrupt) || e.File != "s3://b/t/data/v.bin" || e.Data != one.Path || len(rows) > 0 {
				t.Errorf("%d rows, error %v", len(rows), err)
			}
		})
	}
	t.Run("two vectors for one file", func(t *testing.T) {
		t.Parallel()
		b, one, _ := build()
		x := vectorBlob(t, 1)
		b.Commit("delete", vectorFile(b.Put("data/v1.bin", x), one, 0, int64(len(x)), 1), vectorFile(b.Put("data/v2.bin", x), one, 0, int64(len(x)), 1))
		if _, err := b.Rows(t, iceberg.ScanSpec{}); !errors.Is(err, iceberg.ErrInvalidMetadata) || !strings.Contains(err.Error(), "v1.bin") || !strings.Contains(err.Error(), "v2.bin") {
			t.Errorf("error %v", err)
		}
	})
}

func TestL09_NoDeleteIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		del  func(b *Table, data File) File
		want error
	}{
		"ORC positions": {func(b *Table, _ File) File {
			return File{Content: PositionDeletes, Format: "ORC", Path: b.Put("data/d.orc", []byte("ORC...")), Rows: 1, Size: 6}
		}, iceberg.ErrUnsupported},
		"Avro equality": {func(b *Table, _ File) File {
			return File{Content: EqualityDeletes, Format: "AVRO", Path: b.Put("data/d.orc", []byte("Obj...")), Rows: 1, Size: 6, EqualityIDs: []int{1}}
		}, iceberg.ErrUnsupported},
		"encrypted": {func(b *Table, data File) File {
			f := b.Positions(data.Path, 0)
			f.Edit = func(e map[string]any) { e["data_file"].(map[string]any)["key_metadata"] = []byte("key") }
			return f
		}, iceberg.ErrUnsupported},
		"gone": {func(b *Table, _ File) File {
			return File{Content: PositionDeletes, Path: "s3://b/t/data/gone.parquet", Rows: 1, Size: 600}
		}, nil},
		"unknown key": {func(b *Table, _ File) File {
			return b.Equality(`[{"z":1}]`, Field(77, "z", i64))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := New(t, "s3://b/t", 2)
			b.Schema(kv)
			data := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v)
			b.Commit("append", data)
			del := c.del(b, data)
			b.Commit("delete", del)
			rows, err := b.Rows(t, iceberg.ScanSpec{})
			if err == nil || len(rows) > 0 || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), del.Path) {
				t.Errorf("%d rows, error %v", len(rows), err)
			}
		})
	}
	// Only equality deletes, and only a vector, are applied.
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":1}]`, k))
	wantRows(t, b, iceberg.ScanSpec{})
}

func TestL12_PositionsStayAbsolute(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"}]`)
	var rows bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&rows, `{"k":%d},`, i)
	}
	data := b.Parquet(parquetfile.Options{GroupRows: 100, PageBytes: 100, Plain: true}, "["+strings.TrimSuffix(rows.String(), ",")+"]", k)
	b.Commit("append", data)
	dead := []int{0, 99, 100, 150, 299}
	var pairs []any
	for _, p := range dead {
		pairs = append(pairs, data.Path, p)
	}
	b.Commit("delete", b.Positions(pairs...))
	for filter, keep := range map[string]func(i int) bool{
		"k < 100 OR k >= 200": func(i int) bool { return i < 100 || i >= 200 }, // the middle row group is skipped
		"k >= 100":            func(i int) bool { return i >= 100 },
		"k >= 149":            func(i int) bool { return i >= 149 }, // pages are skipped
		"k = 299":             func(i int) bool { return i == 299 },
	} {
		var want []string
		for i := range 300 {
			if keep(i) && !slices.Contains(dead, i) {
				want = append(want, fmt.Sprintf(`{"_pos":%d,"k":%d}`, i, i))
			}
		}
		wantRows(t, b, iceberg.ScanSpec{Columns: []string{"k", "_pos"}, Filter: expr.MustParse(filter)}, want...)
	}
}

func TestL47_SchemesOfOneStore(t *testing.T) {
	t.Parallel()
	for _, schemes := range [][2]string{{"s3a", "s3a"}, {"s3a", "s3"}, {"s3", "s3a"}, {"s3n", "s3"}} {
		b := New(t, "s3://b/t", 2)
		b.Schema(kv)
		data := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"}]`, k, v)
		recorded := strings.Replace(data.Path, "s3://", schemes[0]+"://", 1)
		raw := data
		data.Path = recorded
		b.Commit("append", data)
		b.Commit("delete", b.Positions(strings.Replace(raw.Path, "s3://", schemes[1]+"://", 1), 0))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/b")...)
	}
}

func TestL13_ManySmallEqualityFiles(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	var rows bytes.Buffer
	var want []string
	for i := range 1000 {
		fmt.Fprintf(&rows, `{"k":%d,"v":"x"},`, i)
		if i >= 200 {
			want = append(want, fmt.Sprintf(`{"k":%d,"v":"x"}`, i))
		}
	}
	b.Commit("append", b.Parquet(parquetfile.Options{}, "["+strings.TrimSuffix(rows.String(), ",")+"]", k, v))
	for i := range 200 {
		b.Commit("delete", b.Equality(fmt.Sprintf(`[{"k":%d}]`, i), k))
	}
	wantRows(t, b, iceberg.ScanSpec{}, want...)
}
