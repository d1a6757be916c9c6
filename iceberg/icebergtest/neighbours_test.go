package icebergtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/internal/parquetfile"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/parquet"
)

// The tests of this file are of faults related to those that users reported (TestN_KIND1_…).

// A column is renamed and its name given to another: a delete written before is on the old column, one written after on its id.
func TestN_DEL1_KeyRenamedAndItsNameReused(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"},{"k":3,"v":"c"}]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":1}]`, k))
	b.Schema(`[{"id":1,"name":"old","required":false,"type":"long"},{"id":2,"name":"v","required":false,"type":"string"},{"id":3,"name":"k","required":false,"type":"long"}]`)
	old, reused := Field(1, "old", i64), Field(3, "k", i64)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"old":4,"v":"d","k":2},{"old":5,"v":"e","k":1}]`, old, v, reused))
	wantRows(t, b, where("v", ""), rowsOf("b", "c", "d", "e")...)
	b.Commit("delete", b.Equality(`[{"old":2}]`, old), b.Equality(`[{"k":1}]`, reused))
	wantRows(t, b, where("v", ""), rowsOf("c", "d")...)
	wantRows(t, b, where("v", "k IS NULL"), rowsOf("c")...)
}

// One position-delete file names two data files; one of these is rewritten without its deleted rows, its old path is added again
// later. The deletes act on the other still, and on no row that came after them.
func TestN_DEL2_PositionFileOverARewrittenFile(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	one := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"}]`, k, v)
	two := b.Parquet(parquetfile.Options{}, `[{"k":3,"v":"c"},{"k":4,"v":"d"}]`, k, v)
	b.Commit("append", one, two)
	del := b.Positions(one.Path, 0, two.Path, 1)
	b.Commit("delete", del)
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/b", "3/c")...)
	b.Replace()
	rewritten := b.Parquet(parquetfile.Options{}, `[{"k":2,"v":"b"}]`, k, v)
	two.Sequence, del.Sequence = 1, 2
	b.Commit("replace", rewritten, two, del)
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/b", "3/c")...)
	b.Commit("append", one) // the same object again, younger than the deletes
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/b", "3/c", "1/a", "2/b")...)
}

// Delete and data files were written before and after the key column was widened; keys are equal as numbers, also negative ones.
func TestN_DEL3_KeyWidenedBetweenDataAndDelete(t *testing.T) {
	t.Parallel()
	narrow := Field(1, "k", i32)
	b := New(t, "s3://b/t", 2)
	b.Schema(strings.Replace(kv, "long", "int", 1))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":-1,"v":"a"},{"k":7,"v":"b"},{"k":9,"v":"c"}]`, narrow, v))
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":-1,"v":"d"},{"k":4294967295,"v":"e"},{"k":9,"v":"f"}]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":-1}]`, k), b.Equality(`[{"k":9}]`, narrow))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("7/b", "4294967295/e")...)
}

// Positions come unsorted, several times, in several files, under a limit and beside a filter on another column.
func TestN_POS1_UnsortedRepeatedPositionsUnderALimit(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"k":%d,"v":"%c"}`, i, 'a'+i%2))
	}
	data := b.Parquet(parquetfile.Options{GroupRows: 10, Plain: true, PageBytes: 32}, "["+strings.Join(rows, ",")+"]", k, v)
	b.Commit("append", data)
	b.Commit("delete", b.Positions(data.Path, 9, data.Path, 0, data.Path, 9), b.Positions(data.Path, 10, data.Path, 0))
	b.Commit("delete", b.Positions(data.Path, 9, data.Path, 39))
	for limit, want := range map[int64][]string{1: {"1"}, 8: {"1", "2", "3", "4", "5", "6", "7", "8"}, 9: {"1", "2", "3", "4", "5", "6", "7", "8", "11"}} {
		for i := range want {
			want[i] = `{"k":` + strings.Trim(want[i], `{}"k:`) + `}`
		}
		wantRows(t, b, iceberg.ScanSpec{Columns: []string{"k"}, Limit: limit}, want...)
	}
	wantRows(t, b, where("k,_pos", "v = 'b' AND k > 35"), `{"_pos":37,"k":37}`)
}

// A filter on _pos is one on absolute positions.
func TestN_POS2_FilterOnThePosition(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"k":%d,"v":"x"}`, 100+i))
	}
	data := b.Parquet(parquetfile.Options{GroupRows: 10}, "["+strings.Join(rows, ",")+"]", k, v)
	b.Commit("append", data)
	b.Commit("delete", b.Positions(data.Path, 20))
	spec := where("k", "k >= 119 AND _pos <= 21")
	got, err := b.Rows(t, spec)
	if err != nil { // a refusal must say that it is the column
		if !strings.Contains(err.Error(), "_pos") || len(got) > 0 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		return
	}
	wantRows(t, b, spec, `{"k":119}`, `{"k":121}`)
}

// A branch whose snapshot has expired hurts only who asks for it.
func TestN_META1_BranchWithoutItsSnapshot(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v))
	b.EditMetadata = func(doc map[string]any) {
		doc["refs"].(map[string]any)["audit"] = map[string]any{"snapshot-id": 99, "type": "branch"}
		doc["snapshot-log"] = append([]any{map[string]any{"snapshot-id": 98, "timestamp-ms": 1_500_000_000_000}}, doc["snapshot-log"].([]any)...)
	}
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/a")...)
	rows, err := b.Rows(t, iceberg.ScanSpec{Version: iceberg.Version{Ref: "audit"}})
	if err == nil || len(rows) > 0 || !strings.Contains(err.Error(), "99") || !errors.Is(err, iceberg.ErrNoSuchSnapshot) && !errors.Is(err, iceberg.ErrInvalidMetadata) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// Lists of version 1 may leave all counts out, and entries of later versions may be EXISTING with numbers older than the manifest.
func TestN_META2_CountsLeftOutAndExistingEntries(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 1)
	b.Schema(kv)
	b.EditList = func(a *Avro) {
		for _, r := range a.Records {
			for _, key := range []string{"added_files_count", "existing_files_count", "deleted_files_count", "added_rows_count", "existing_rows_count", "deleted_rows_count"} {
				delete(r, key)
			}
		}
	}
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/a")...)
	wantRows(t, b, iceberg.ScanSpec{Limit: 1}, rowsOf("1/a")...)
	b = New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":8,"v":"z"}]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":1}]`, k)) // sequence 2
	moved := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"old"},{"k":2,"v":"b"}]`, k, v)
	moved.Sequence = 1
	moved.Edit = func(e map[string]any) { e["status"] = 0 }
	b.EditList = func(a *Avro) { // as writers count an EXISTING entry
		last := a.Records[len(a.Records)-1]
		last["added_files_count"], last["existing_files_count"], last["added_rows_count"], last["existing_rows_count"], last["min_sequence_number"] = int64(0), int64(1), int64(0), int64(2), int64(1)
	}
	b.Commit("replace", moved)
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("8/z", "2/b")...)
}

// The name mapping reaches structs in lists and maps, and lists in lists.
func TestN_RES1_NameMappingBelowLists(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"l","required":false,"type":{"type":"list","element-id":2,"element-required":false,"element":{"type":"struct","fields":[
			{"id":3,"name":"x","required":false,"type":"long"},{"id":4,"name":"new","required":false,"type":"string"}]}}},
		{"id":5,"name":"ll","required":false,"type":{"type":"list","element-id":6,"element-required":false,"element":{"type":"list","element-id":7,"element-required":false,"element":"int"}}}]`)
	b.Properties["schema.name-mapping.default"] = `[{"field-id":1,"names":["l"],"fields":[{"field-id":2,"names":["element"],"fields":[{"field-id":3,"names":["y","x"]}]}]},
		{"field-id":5,"names":["LL","ll"],"fields":[{"field-id":6,"names":["element"],"fields":[{"field-id":7,"names":["element"]}]}]}]`
	b.Commit("append", b.Parquet(parquetfile.Options{NoIDs: true}, `[{"l":[{"y":1,"z":9},null,{"y":null,"z":8}],"ll":[[1,null],[],null]},{"l":[],"ll":null}]`,
		Field(0, "l", arrow.ListOf(arrow.StructOf(Field(0, "y", i32), Field(0, "z", i32)))), Field(0, "ll", arrow.ListOf(arrow.ListOf(i32)))))
	wantRows(t, b, iceberg.ScanSpec{}, `{"l":[{"new":null,"x":1},null,{"new":null,"x":null}],"ll":[[1,null],[],null]}`, `{"l":[],"ll":null}`)
}

// Below a map's value a child is renamed, one is added with a default, one is widened, and the order changes.
func TestN_RES2_EvolutionBelowAMap(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 3)
	mapped := func(children string) string {
		return `[{"id":1,"name":"m","required":false,"type":{"type":"map","key-id":2,"key":"string","value-id":3,"value-required":false,"value":{"type":"struct","fields":[` + children + `]}}}]`
	}
	column := func(f ...arrow.Field) arrow.Field {
		return Field(1, "m", arrow.MapOfFields(withoutNull(Field(2, "key", str)), Field(3, "value", arrow.StructOf(f...))))
	}
	b.Schema(mapped(`{"id":4,"name":"a","required":false,"type":"int"},{"id":5,"name":"b","required":false,"type":"float"}`))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"m":[{"key":"p","value":{"a":1,"b":0.5}},{"key":"q","value":null}]},{"m":null}]`, column(Field(4, "a", i32), Field(5, "b", arrow.PrimitiveTypes.Float32))))
	b.Schema(mapped(`{"id":6,"name":"a","required":false,"type":"string","initial-default":"d"},{"id":5,"name":"b","required":false,"type":"double"},{"id":4,"name":"was_a","required":false,"type":"long"}`))
	wantRows(t, b, iceberg.ScanSpec{}, `{"m":[{"key":"p","value":{"a":"d","b":0.5,"was_a":1}},{"key":"q","value":null}]}`, `{"m":null}`)
}

func withoutNull(f arrow.Field) arrow.Field {
	f.Nullable = false
	return f
}

// A column may be called a.b beside a struct a with a field b, and the names of a struct's fields may differ by case alone.
func TestN_NAM1_DotsAndCaseBelowStructs(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"a","required":false,"type":{"type":"struct","fields":[{"id":2,"name":"x","required":false,"type":"int"},{"id":3,"name":"X","required":false,"type":"int"}]}},
		{"id":4,"name":"d.e","required":false,"type":"int"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"a":{"x":1,"X":2},"d.e":3},{"a":{"x":2,"X":1},"d.e":4}]`, Field(1, "a", arrow.StructOf(Field(2, "x", i32), Field(3, "X", i32))), Field(4, "d.e", i32)))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"d.e":5}]`, Field(4, "d.e", i32)))
	wantRows(t, b, where("a.X", "a.x = 1"), `{"a":{"X":2}}`)
	wantRows(t, b, where("a.x", "a.X = 1"), `{"a":{"x":2}}`)
	wantRows(t, b, where("d.e", `"d.e" >= 4`), `{"d.e":4}`, `{"d.e":5}`)
	if rows, err := b.Rows(t, where("A.x", `A.x = 1`)); err != nil || len(rows) != 1 {
		t.Errorf("the struct's name folds, its field is exact: %q, %v", rows, err)
	}
	b.Schema(`[{"id":7,"name":"Ab","required":false,"type":"int"},{"id":8,"name":"aB","required":false,"type":"int"}]`)
	for _, spec := range []iceberg.ScanSpec{where("ab", ""), where("Ab", "AB = 1"), where("Ab", "ab IS NULL")} {
		if rows, err := b.Rows(t, spec); err == nil || !strings.Contains(err.Error(), "Ab") || !strings.Contains(err.Error(), "aB") {
			t.Errorf("an ambiguous name: %q, %v", rows, err)
		}
	}
}

// Case folds beyond ASCII are those of Unicode, one letter for one: the Kelvin sign is a k, a dotted capital I is no i.
func TestN_NAM2_FoldsBeyondASCII(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"größe","required":false,"type":"int"},{"id":2,"name":"İd","required":false,"type":"int"},{"id":3,"name":"id","required":false,"type":"int"}]`)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"größe":1,"İd":2,"id":3}]`, Field(1, "größe", i32), Field(2, "İd", i32), Field(3, "id", i32)))
	wantRows(t, b, where("größe", `"GRÖßE" = 1`), `{"größe":1}`)
	wantRows(t, b, where("id", `ID = 3`), `{"id":3}`)
	wantRows(t, b, where("İd", `"İd" = 2`), `{"İd":2}`)
	if rows, err := b.Rows(t, where("groesse", "")); err == nil {
		t.Errorf("another name found %q", rows)
	}
	sensitive := where("größe", `"GRÖßE" = 1`)
	sensitive.CaseSensitive = true
	if rows, err := b.Rows(t, sensitive); err == nil {
		t.Errorf("case-sensitive found %q", rows)
	}
}

func float64Bytes(f float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
}

// Zeros of both signs are one value, whichever of them a writer put into its bounds; NaN among the bounds makes them useless.
func TestN_PRU1_ZeroAndNaNBounds(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"x","required":false,"type":"double"},{"id":2,"name":"n","required":false,"type":"int"}]`)
	x, n := Field(1, "x", arrow.PrimitiveTypes.Float64), Field(2, "n", i32)
	file := func(rows string, low, high float64, nans int64) File {
		f := b.Parquet(parquetfile.Options{NoStatistics: true}, rows, x, n)
		f.Lower, f.Upper, f.Values, f.Nulls, f.NaNs = map[int][]byte{1: float64Bytes(low)}, map[int][]byte{1: float64Bytes(high)}, map[int]int64{1: f.Rows}, map[int]int64{1: 0}, map[int]int64{1: nans}
		if nans < 0 {
			f.NaNs = nil
		}
		return f
	}
	negative := math.Copysign(0, -1)
	b.Commit("append", file(`[{"x":-0.0,"n":1}]`, negative, negative, 0), file(`[{"x":0.0,"n":2}]`, 0, 0, 0), file(`[{"x":-1.0,"n":3},{"x":-0.0,"n":4}]`, -1, negative, 0),
		file(`[{"x":0.0,"n":5},{"x":1.0,"n":6}]`, 0, 1, -1), file(`[{"x":5.0,"n":7},{"x":-5.0,"n":8}]`, math.NaN(), math.NaN(), -1))
	for filter, want := range map[string][]int{
		"x = 0": {1, 2, 4, 5}, "x = -0.0": {1, 2, 4, 5}, "x < 0": {3, 8}, "x > 0": {6, 7}, "x >= 0.0": {1, 2, 4, 5, 6, 7}, "x <= -0.0": {1, 2, 3, 4, 5, 8}, "x <> 0": {3, 6, 7, 8}, "x IN (5, -5)": {7, 8}, "x NOT IN (0, 1)": {3, 7, 8},
	} {
		var rows []string
		for _, n := range want {
			rows = append(rows, fmt.Sprintf(`{"n":%d}`, n))
		}
		wantRows(t, b, where("n", filter), rows...)
	}
}

// Bounds of strings that a writer cut: prefix filters at, above and below the cut, in the last code point, and a lower bound that is
// empty.
func TestN_PRU2_CutStringBounds(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	file := func(key int, value, low, high string) File {
		f := b.Parquet(parquetfile.Options{NoStatistics: true}, fmt.Sprintf(`[{"k":%d,"v":"%s"}]`, key, value), k, v)
		f.Lower, f.Values, f.Nulls = map[int][]byte{2: []byte(low)}, map[int]int64{2: 1}, map[int]int64{2: 0}
		if high != "" {
			f.Upper = map[int][]byte{2: []byte(high)}
		}
		return f
	}
	b.Commit("append", file(1, "abcdef", "abc", "abd"), file(2, "abcé", "abc", "abcê"), file(3, "zz", "", ""), file(4, "abc", "ab", "ac"), file(5, "\U0010ffff", "\U0010ffff", ""))
	for filter, want := range map[string]string{
		"v LIKE 'abcd%'": "1", "v LIKE 'abc%'": "124", "v LIKE 'abcde_'": "1", "v = 'abcé'": "2", "v > 'abc'": "1235", "v < 'abcdeg'": "14", "v >= 'abd'": "35", "v NOT LIKE 'abc%'": "35", "v <> 'abc'": "1235",
		"v IN ('zz', 'abcdef')": "13", "v BETWEEN 'abce' AND 'abcz'": "",
	} {
		var rows []string
		for _, c := range want {
			rows = append(rows, fmt.Sprintf(`{"k":%c}`, c))
		}
		wantRows(t, b, where("k", filter), rows...)
	}
}

// A partition field is dropped, its name given to another transform of another column, and later to the first one again.
func TestN_PART1_FieldDroppedAndItsNameReused(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"a","required":false,"type":"int"},{"id":3,"name":"b","required":false,"type":"int"}]`)
	a, bb := Field(2, "a", i32), Field(3, "b", i32)
	b.ReplaceSpec(0, PartitionField{ID: 1000, Source: 2, Name: "p", Transform: "identity", Avro: `"int"`})
	put := func(spec int, key, av, bv int, p any) {
		f := b.Parquet(parquetfile.Options{NoStatistics: true}, fmt.Sprintf(`[{"k":%d,"a":%d,"b":%d}]`, key, av, bv), k, a, bb)
		f.Spec, f.Partition = spec, map[string]any{"p": p}
		b.Commit("append", f)
	}
	put(0, 1, 1, 7, 1)
	put(b.Spec(PartitionField{ID: 1001, Source: 3, Name: "p", Transform: "identity", Avro: `"int"`}), 2, 7, 1, 1)
	put(b.Spec(PartitionField{ID: 1000, Source: 2, Name: "p_old", Transform: "void", Avro: `"int"`}, PartitionField{ID: 1002, Source: 2, Name: "p", Transform: "truncate[10]", Avro: `"int"`}), 3, 11, 1, 10)
	del := b.Equality(`[{"b":1}]`, bb)
	for filter, want := range map[string][]string{
		"a = 1": {`{"k":1}`}, "a = 7": {`{"k":2}`}, "b = 1": {`{"k":2}`, `{"k":3}`}, "b = 7": {`{"k":1}`}, "a = 11": {`{"k":3}`}, "a = 10": nil, "a > 1": {`{"k":2}`, `{"k":3}`}, "a <> 1 AND b <> 7": {`{"k":2}`, `{"k":3}`},
	} {
		wantRows(t, b, where("k", filter), want...)
	}
	del.Spec, del.Partition = 1, map[string]any{"p": 1} // spec 0 has a tuple of the same text
	b.Commit("delete", del)
	wantRows(t, b, where("k", ""), `{"k":1}`, `{"k":3}`)
}

// An int column is bucketed, then widened to long: its bucket is the same, so pruning by it finds old and new files.
func TestN_PART2_BucketOfAWidenedColumn(t *testing.T) {
	t.Parallel()
	// Buckets of 16 by the specification's hash: 34 -> 2017239379 (Appendix B), 2017239379 & 0x7fffffff mod 16 = 3.
	b := New(t, "s3://b/t", 2)
	b.Schema(strings.Replace(kv, "long", "int", 1))
	b.ReplaceSpec(0, PartitionField{ID: 1000, Source: 1, Name: "kb", Transform: "bucket[16]", Avro: `"int"`})
	narrow := Field(1, "k", i32)
	in := func(f File, bucket any) File {
		f.Partition = map[string]any{"kb": bucket}
		return f
	}
	b.Commit("append", in(b.Parquet(parquetfile.Options{NoStatistics: true}, `[{"k":34,"v":"old"}]`, narrow, v), 3))
	b.Schema(kv)
	b.Commit("append", in(b.Parquet(parquetfile.Options{NoStatistics: true}, `[{"k":34,"v":"new"}]`, k, v), 3))
	b.Commit("append", in(b.Parquet(parquetfile.Options{NoStatistics: true}, `[{"k":null,"v":"none"}]`, k, v), nil))
	wantRows(t, b, where("v", "k = 34"), rowsOf("old", "new")...)
	wantRows(t, b, where("v", "k IN (34, 35, 9999999999)"), rowsOf("old", "new")...)
	wantRows(t, b, where("v", "k <> 35"), rowsOf("old", "new")...)
	wantRows(t, b, where("v", "k = 35"))
}

// Nanoseconds in the file under a column of microseconds round down, before the epoch too, and filters see the column's values.
func TestN_TYP1_NanosecondsUnderMicroseconds(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"ts","required":false,"type":"timestamp"}]`)
	ts := Field(2, "ts", &arrow.TimestampType{Unit: arrow.Nanosecond})
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"ts":"1969-12-31 23:59:59.999999001"},{"k":2,"ts":"1970-01-01 00:00:00.000001999"},{"k":3,"ts":"1970-01-01 00:00:00.000002"},{"k":4,"ts":null}]`, k, ts))
	wantRows(t, b, where("k", "ts = TIMESTAMP '1969-12-31 23:59:59.999999'"), `{"k":1}`)
	wantRows(t, b, where("k", "ts < TIMESTAMP '1970-01-01 00:00:00'"), `{"k":1}`)
	wantRows(t, b, where("k", "ts = TIMESTAMP '1970-01-01 00:00:00.000001'"), `{"k":2}`)
	wantRows(t, b, where("k", "ts > TIMESTAMP '1970-01-01 00:00:00.000001'"), `{"k":3}`)
}

// A decimal gets more digits and its physical form changes with them; dates become timestamps, long before the epoch. Statistics of the
// old files are read as what they are.
func TestN_TYP2_WidenedDecimalsAndDates(t *testing.T) {
	t.Parallel()
	dec := func(p int32) arrow.Field { return Field(2, "d", &arrow.Decimal128Type{Precision: p, Scale: 2}) }
	b := New(t, "s3://b/t", 3)
	schema := func(d, at string) string {
		return `[{"id":1,"name":"k","required":false,"type":"long"},{"id":2,"name":"d","required":false,"type":"` + d + `"},{"id":3,"name":"at","required":false,"type":"` + at + `"}]`
	}
	b.Schema(schema("decimal(9,2)", "date"))
	narrow := b.Parquet(parquetfile.Options{}, `[{"k":1,"d":"-12345.67","at":"1600-02-29"},{"k":2,"d":"0.01","at":"1969-12-31"}]`, k, dec(9), Field(3, "at", arrow.FixedWidthTypes.Date32))
	day := func(n int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	narrow.Lower, narrow.Upper = map[int][]byte{2: {0xed, 0x29, 0x79}, 3: day(-135081)}, map[int][]byte{2: {1}, 3: day(-1)} // -1234567 in three bytes
	narrow.Values, narrow.Nulls = map[int]int64{2: 2, 3: 2}, map[int]int64{2: 0, 3: 0}
	b.Commit("append", narrow)
	b.Schema(schema("decimal(30,2)", "timestamp"))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":3,"d":"1234567890123456789012345678.90","at":"1600-02-29 00:00:00.000001"},{"k":4,"d":"-0.01","at":"1970-01-01 00:00:00"}]`, k, dec(30), Field(3, "at", &arrow.TimestampType{Unit: arrow.Microsecond})))
	for filter, want := range map[string]string{
		"d < -1": "1", "d = -12345.67": "1", "d > 0": "23", "d > 1000000000000": "3", "d >= -0.01": "234", "at < TIMESTAMP '1600-03-01 00:00:00'": "13", "at = TIMESTAMP '1600-02-29 00:00:00'": "1",
		"at > TIMESTAMP '1969-12-30 23:59:59'": "24", "at <> TIMESTAMP '1969-12-31 00:00:00'": "134",
	} {
		var rows []string
		for _, c := range want {
			rows = append(rows, fmt.Sprintf(`{"k":%c}`, c))
		}
		wantRows(t, b, where("k", filter), rows...)
	}
}

// Keys are bytes: percent signs, plus, spaces, question marks, hashes and two slashes in a row are part of them, in data and deletes.
func TestN_PATH1_KeysAreTakenLiterally(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a%2Fb", "a b+c", "p=%20/x", "q?versionId=1#frag", "//twice", "ümlaut/日本", "a&b;c=d", "semi:colon@at", "trailing/."} {
		b := New(t, "s3://b/t", 2)
		b.Schema(kv)
		data := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"}]`, k, v)
		raw, _, err := b.Store.Read(t.Context(), mustLocation(t, data.Path), whole, nil, readOptions)
		if err != nil {
			t.Fatal(err)
		}
		data.Path = b.Put("data/"+name+".parquet", slices.Clone(raw))
		decoy := b.Parquet(parquetfile.Options{}, `[{"k":9,"v":"z"}]`, k, v) // where a decoding reader would look
		raw, _, _ = b.Store.Read(t.Context(), mustLocation(t, decoy.Path), whole, nil, readOptions)
		for from, to := range map[string]string{"%2F": "/", "%20": " ", "+": " ", "//": "/"} {
			if strings.Contains(name, from) {
				b.Put("data/"+strings.ReplaceAll(name, from, to)+".parquet", slices.Clone(raw))
			}
		}
		b.Commit("append", data)
		b.Commit("delete", b.Positions(data.Path, 0))
		wantRows(t, b, iceberg.ScanSpec{}, rowsOf("2/b")...)
	}
}

// Schemes fold, buckets and keys do not: a delete for another bucket, or for a key that differs by case or a slash, is not ours.
func TestN_PATH2_DeletesForNearlyTheSamePath(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	data := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"},{"k":2,"v":"b"}]`, k, v)
	b.Commit("append", data)
	for _, other := range []string{strings.Replace(data.Path, "s3://b/", "s3://B/", 1), strings.Replace(data.Path, "/data/", "//data/", 1), strings.ToUpper(data.Path), data.Path + " ", strings.Replace(data.Path, "s3://", "gs://", 1)} {
		b.Commit("delete", b.Positions(other, 0))
	}
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/a", "2/b")...)
	b.Commit("delete", b.Positions(strings.Replace(data.Path, "s3://", "s3n://", 1), 1))
	wantRows(t, b, iceberg.ScanSpec{}, rowsOf("1/a")...)
}

// A limit counts rows that live: files whose rows are all deleted, filtered or absent do not end the plan.
func TestN_PLAN1_LimitBehindDeadFiles(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":7,"v":"alive"},{"k":8,"v":"too"}]`, k, v))
	for range 30 {
		b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"dead"},{"k":1,"v":"dead"}]`, k, v))
	}
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[]`, k, v))
	b.Commit("delete", b.Equality(`[{"k":1}]`, k))
	wantRows(t, b, iceberg.ScanSpec{Limit: 2}, rowsOf("7/alive", "8/too")...)
	wantRows(t, b, iceberg.ScanSpec{Limit: 2, StopsEarly: true}, rowsOf("7/alive", "8/too")...)
	spec := where("v", "k = 8")
	spec.Limit = 1
	wantRows(t, b, spec, rowsOf("too")...)
}

// Record counts that a writer left at zero, or wrote too high, change the order of work at most, never the rows of a limit.
func TestN_PLAN2_LimitOverWrongRecordCounts(t *testing.T) {
	t.Parallel()
	for _, wrong := range []int64{0, 1, 1 << 40} {
		b := New(t, "s3://b/t", 2)
		b.Schema(kv)
		b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":2,"v":"b"},{"k":3,"v":"c"}]`, k, v))
		f := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v)
		f.Rows = wrong
		b.Commit("append", f)
		rows, err := b.Rows(t, iceberg.ScanSpec{Limit: 3})
		if err != nil { // refusing what contradicts itself is right too
			if !strings.Contains(err.Error(), f.Path) {
				t.Errorf("%d: the error does not name the file: %v", wrong, err)
			}
			continue
		}
		slices.Sort(rows)
		if want := rowsOf("1/a", "2/b", "3/c"); !slices.Equal(rows, want) {
			t.Errorf("record count %d: rows %q", wrong, rows)
		}
	}
}

// Scans of one table share nothing that one can spoil for another: different filters, columns, versions, limits, at once.
func TestN_LIVE1_DifferentScansOfOneTableAtOnce(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	var ids []int64
	for i := range 12 {
		ids = append(ids, b.Commit("append", b.Parquet(parquetfile.Options{}, fmt.Sprintf(`[{"k":%d,"v":"a"},{"k":%d,"v":"b"}]`, 2*i, 2*i+1), k, v)))
	}
	b.Commit("delete", b.Equality(`[{"k":3}]`, k))
	location := b.Save()
	specs := []iceberg.ScanSpec{{}, where("k", "k < 10"), where("v", "k = 3"), where("k", "v = 'b'"), {Version: iceberg.Version{Snapshot: ids[3]}}, {Limit: 3}}
	want := make([][]string, len(specs))
	for i, s := range specs {
		var err error
		if want[i], err = Rows(t.Context(), b.Store, location, s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			got, err := Rows(t.Context(), b.Store, location, specs[i%len(specs)])
			if err != nil || !slices.Equal(got, want[i%len(specs)]) {
				t.Errorf("spec %d: %q, %v; alone %q", i%len(specs), got, err, want[i%len(specs)])
			}
		})
	}
	wg.Wait()
}

// A file that is gone ends the scan that needs it, with its name and after no row that follows it; it does not hurt who stops before,
// nor who prunes it.
func TestN_LIVE2_AFileIsGone(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	file := func(key int) File {
		f := b.Parquet(parquetfile.Options{}, fmt.Sprintf(`[{"k":%d,"v":"x"}]`, key), k, v)
		bound := binary.LittleEndian.AppendUint64(nil, uint64(key))
		f.Lower, f.Upper, f.Values, f.Nulls = map[int][]byte{1: bound}, map[int][]byte{1: bound}, map[int]int64{1: 1}, map[int]int64{1: 0}
		return f
	}
	gone := file(2)
	gone.Path += ".gone"
	b.Commit("append", file(1), gone, file(3))
	got, err := b.Rows(t, iceberg.ScanSpec{})
	if !errors.Is(err, object.ErrNotFound) || !strings.Contains(err.Error(), gone.Path) || len(got) > 1 {
		t.Errorf("rows %q, error %v", got, err)
	}
	wantRows(t, b, iceberg.ScanSpec{Limit: 1}, rowsOf("1/x")...)
	for filter, want := range map[string]string{"k = 3": "3/x", "k < 2": "1/x"} {
		spec := where("", filter)
		if got, err := b.Rows(t, spec); err != nil || !slices.Equal(got, rowsOf(want)) {
			t.Errorf("%s: rows %q, error %v", filter, got, err)
		}
	}
}

// An encrypted footer has its own magic, and a plain footer may tell that columns are encrypted: both are refused by name.
func TestN_CAP1_ParquetEncryptionIsNamed(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 2)
	b.Schema(kv)
	f := b.Parquet(parquetfile.Options{}, `[{"k":1,"v":"a"}]`, k, v)
	raw, _, err := b.Store.Read(t.Context(), mustLocation(t, f.Path), whole, nil, readOptions)
	if err != nil {
		t.Fatal(err)
	}
	raw = slices.Clone(raw)
	copy(raw, "PARE")
	copy(raw[len(raw)-4:], "PARE")
	b.Store.Put(f.Path, raw)
	b.Commit("append", f)
	rows, err := b.Rows(t, iceberg.ScanSpec{})
	if len(rows) > 0 || !errors.Is(err, parquet.ErrUnsupported) || !strings.Contains(strings.ToLower(err.Error()), "encrypt") || !strings.Contains(err.Error(), f.Path) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// A struct may hold a field that cannot be read; its other fields can, and so can a table whose old schema held one.
func TestN_CAP2_UnreadableSiblings(t *testing.T) {
	t.Parallel()
	b := New(t, "s3://b/t", 3)
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":9,"name":"gone","required":false,"type":"geography"},
		{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"x","required":false,"type":"int"},{"id":5,"name":"g","required":false,"type":"int256"}]}}]`)
	inner := Field(3, "s", arrow.StructOf(Field(4, "x", i32)))
	b.Commit("append", b.Parquet(parquetfile.Options{}, `[{"k":1,"s":{"x":1}},{"k":2,"s":{"x":2}}]`, k, inner))
	wantRows(t, b, where("s.x", "s.x > 1"), `{"s":{"x":2}}`)
	for _, columns := range []string{"s", "s.g", "k,gone"} {
		rows, err := b.Rows(t, where(columns, ""))
		if u, ok := errors.AsType[*iceberg.UnsupportedError](err); !ok || len(rows) > 0 || !strings.Contains(u.Ability, "int256") && !strings.Contains(u.Ability, "geography") {
			t.Errorf("%s: %d rows, %v", columns, len(rows), err)
		}
	}
	b.Schema(`[{"id":1,"name":"k","required":false,"type":"long"},{"id":3,"name":"s","required":false,"type":{"type":"struct","fields":[{"id":4,"name":"x","required":false,"type":"int"}]}}]`)
	wantRows(t, b, iceberg.ScanSpec{}, `{"k":1,"s":{"x":1}}`, `{"k":2,"s":{"x":2}}`)
}

var (
	whole       = object.Whole
	readOptions = object.ReadOptions{}
)

func mustLocation(t testing.TB, path string) object.Location {
	t.Helper()
	loc, err := object.ParseLocation(path)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
