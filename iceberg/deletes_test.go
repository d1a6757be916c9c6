package iceberg

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/internal/icetable"
)

var kv = []icetable.Field{{ID: 1, Name: "k", Type: "long"}, {ID: 2, Name: "v", Type: "string"}, {ID: 3, Name: "p", Type: "int"}, {ID: 4, Name: "q", Type: "int"}, {ID: 5, Name: "f", Type: "double"}}

const at = "s3://bucket/table/data/"

func data(name string, rows int64, tuple ...any) manifest.Written {
	return icetable.Data(at+name, rows, icetable.Tuple(tuple...))
}

func positions(name, referenced string, tuple ...any) manifest.Written {
	w := data(name, 2, tuple...)
	w.Content, w.Referenced = manifest.PositionDeletes, referenced
	return w
}

func equality(name string, ids []int64, tuple ...any) manifest.Written {
	w := data(name, 2, tuple...)
	w.Content, w.EqualityIDs = manifest.EqualityDeletes, ids
	return w
}

func vectorOf(name, referenced string, offset int64) manifest.Written {
	w := data(name, 3)
	w.Content, w.Referenced, w.Format, w.BlobOffset, w.BlobSize = manifest.PositionDeletes, referenced, manifest.Puffin, offset, 40
	return w
}

func dataIn(spec int, entries ...manifest.Written) icetable.Manifest {
	return icetable.Manifest{Spec: spec, Entries: entries}
}

func deletesIn(spec int, entries ...manifest.Written) icetable.Manifest {
	return icetable.Manifest{Spec: spec, Deletes: true, Entries: entries}
}

// One commit holds a data file, an equality delete on its key and position deletes on its rows; one file is older.
func TestL03_SequenceNumbersDecide(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	b.Commit("append", dataIn(0, data("old", 4)))
	b.Commit("overwrite", dataIn(0, data("new", 4)), deletesIn(0, equality("e", []int64{1}), positions("p-any", ""), positions("p-new", at+"new")))
	b.Commit("append", dataIn(0, data("later", 4)))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "later", "new pos p-new pos p-any", "old pos p-any eq(k) e")
}

func TestL04_ScopeOfDeletes(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	b.Specs = [][]icetable.PartitionField{
		{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}},
		{{Source: 4, ID: 1001, Name: "q", Transform: "identity"}, {Source: 3, ID: 1000, Name: "p", Transform: "identity"}},
		{{Source: 3, ID: 1000, Name: "p", Transform: "void"}},
		{},
	}
	b.Commit("append", dataIn(0, data("p1", 4, 1000, int64(1)), data("p2", 4, 1000, int64(2)), data("p-null", 4, 1000, nil)),
		dataIn(1, data("p1q2", 4, 1000, int64(1), 1001, int64(2)), data("p2q1", 4, 1000, int64(2), 1001, int64(1))), dataIn(3, data("whole", 4)))
	b.Commit("delete", deletesIn(0, equality("e-p1", []int64{1}, 1000, int64(1)), equality("e-null", []int64{1}, 1000, nil)))
	b.Commit("delete", deletesIn(1, equality("e-p1q2", []int64{1}, 1001, int64(2), 1000, int64(1)), positions("x-p2q1", "", 1000, int64(2), 1001, int64(1))))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "p1 eq(k) e-p1", "p2", "p-null eq(k) e-null", "p1q2 eq(k) e-p1q2", "p2q1 pos x-p2q1", "whole")

	// A spec without partitions makes its equality deletes global, whatever its id; so does one of void fields alone.
	b.Commit("delete", deletesIn(3, equality("e-all", []int64{2}), positions("x-whole", "")), deletesIn(2, equality("e-void", []int64{2, 1})))
	table, _ = load(t, b)
	global := " eq(k,v) e-void eq(v) e-all"
	wantLines(t, scan(t, table, ""), "p1"+global+" eq(k) e-p1", "p2"+global, "p-null"+global+" eq(k) e-null", "p1q2"+global+" eq(k) e-p1q2", "p2q1 pos x-p2q1"+global,
		"whole pos x-whole"+global)
}

// A filter neither reaches nor detaches deletes.
func TestL06_FiltersLeaveDeletesAlone(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	b.Specs[0] = []icetable.PartitionField{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}}
	d := equality("e", []int64{1}, 1000, int64(1))
	d.Lower, d.Upper = map[int][]byte{2: []byte("a")}, map[int][]byte{2: []byte("b")}
	b.Commit("append", dataIn(0, data("f", 4, 1000, int64(1)), data("g", 4, 1000, int64(2))))
	b.Commit("delete", deletesIn(0, d, positions("x", at+"f", 1000, int64(1))))
	table, _ := load(t, b)
	for filter, left := range map[string]string{"": "", "v = 'zzz'": " where v = 'zzz'", "v IS NULL": " where v IS NULL", "p = 1": "", "k < 5 AND p < 2": " where k < 5"} {
		got := scan(t, table, filter)
		if len(got) == 0 || got[0] != "f pos x eq(k) e"+left {
			t.Errorf("%s: %q", filter, got)
		}
	}
	wantLines(t, scan(t, table, "p = 2"), "g")
}

func TestL08_DeletionVectors(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 3, kv...)
	b.Commit("append", dataIn(0, data("f", 4), data("g", 4)))
	b.Commit("delete", deletesIn(0, positions("x", ""), positions("x-f", at+"f")))
	b.Commit("delete", deletesIn(0, vectorOf("dv.puffin", at+"f", 100)))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "f vector dv.puffin@100+40", "g pos x")

	two := icetable.New(t, 3, kv...)
	two.Commit("append", dataIn(0, data("f", 4), data("g", 4), data("h", 4)))
	two.Commit("delete", deletesIn(0, vectorOf("dv.puffin", at+"g", 200), vectorOf("dv.puffin", at+"f", 100), vectorOf("dv2.puffin", at+"h", 4)))
	table, _ = load(t, two)
	tasks := mustTasks(t, planned(t, table, ScanSpec{}))
	if n := tasks[1].Deletes.Vector.Neighbours; len(n) != 2 || n[0] != tasks[0].Deletes.Vector || n[1] != tasks[1].Deletes.Vector || tasks[2].Deletes.Vector.Neighbours != nil {
		t.Errorf("neighbours %v", n)
	}

	// A file that came after the vector is not its file.
	b.Commit("append", dataIn(0, data("f", 4)))
	table, _ = load(t, b)
	wantLines(t, scan(t, table, ""), "f", "f vector dv.puffin@100+40", "g pos x")

	b.Commit("delete", deletesIn(0, vectorOf("dv2.puffin", at+"f", 4)))
	table, _ = load(t, b)
	_, err := tasksOf(t.Context(), planned(t, table, ScanSpec{}))
	if !errors.Is(err, ErrInvalidMetadata) || !strings.Contains(err.Error(), "two deletion vectors") {
		t.Errorf("two vectors: %v", err)
	}

	c := icetable.New(t, 3, kv...)
	bad := vectorOf("dv.puffin", at+"f", -1)
	c.Commit("append", dataIn(0, data("f", 4)), deletesIn(0, bad))
	table, _ = load(t, c)
	if _, err := tasksOf(t.Context(), planned(t, table, ScanSpec{})); !errors.Is(err, ErrInvalidMetadata) {
		t.Errorf("vector without offset: %v", err)
	}
}

// What cannot be applied is refused by name, once it would apply to a file that is read; never passed over.
// A vector applies to data of its own commit: a writer may add a file and delete rows of it in one step.
func TestL08_VectorOfTheDatasOwnCommit(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 3, kv...)
	b.Commit("overwrite", dataIn(0, data("new", 10), data("other", 10)), deletesIn(0, vectorOf("dv", at+"new", 4)))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "new vector dv@4+40", "other")
}

func TestL09_DeletesThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	orc, secret, floats := positions("x.orc", at+"f"), equality("e.enc", []int64{1}), equality("e.float", []int64{5})
	orc.Format, secret.KeyMetadata = manifest.ORC, []byte{1}
	eqOrc := equality("e.orc", []int64{1})
	eqOrc.Format = manifest.ORC
	foreignVector := vectorOf("dv", at+"f", 4)
	foreignVector.KeyMetadata = []byte{1}
	anyOrc := positions("any.orc", "")
	anyOrc.Format = manifest.Avro
	for _, d := range []manifest.Written{orc, secret, floats, eqOrc, foreignVector, anyOrc} {
		b := icetable.New(t, 3, kv...)
		b.Commit("append", dataIn(0, data("f", 4)))
		b.Commit("delete", deletesIn(0, d))
		table, _ := load(t, b)
		tasks, err := tasksOf(t.Context(), planned(t, table, ScanSpec{}))
		if !errors.Is(err, ErrUnsupported) || len(tasks) > 0 {
			t.Errorf("%s: %d tasks, %v", d.Path, len(tasks), err)
		}
	}
	b := icetable.New(t, 3, kv...)
	b.Commit("append", dataIn(0, data("g", 4)))
	b.Commit("delete", deletesIn(0, orc)) // for f, which is no more
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "g")
	for name, ids := range map[string][]int64{"unknown id": {77}, "no ids": {}} {
		c := icetable.New(t, 2, kv...)
		c.Commit("append", dataIn(0, data("f", 4)))
		c.Commit("delete", deletesIn(0, equality("e", ids)))
		table, _ := load(t, c)
		if _, err := tasksOf(t.Context(), planned(t, table, ScanSpec{})); !errors.Is(err, ErrInvalidMetadata) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Recorded paths are compared; s3, s3a and s3n open the same object, so they match each other.
func TestL47_SchemesOfOneStoreMatch(t *testing.T) {
	t.Parallel()
	for _, data3 := range []string{"s3", "s3a", "s3n"} {
		for _, delete3 := range []string{"s3", "s3a", "s3n"} {
			b := icetable.New(t, 3, kv...)
			path := "://bucket/table/data/f"
			b.Commit("append", dataIn(0, icetable.Data(data3+path, 4, nil), icetable.Data("gs"+path, 4, nil)))
			b.Commit("delete", deletesIn(0, positions("x", delete3+path)))
			table, _ := load(t, b)
			got := mustTasks(t, planned(t, table, ScanSpec{}))
			if len(got[0].Deletes.Positions) != 1 || len(got[1].Deletes.Positions) != 0 {
				t.Errorf("%s by %s: %v", data3, delete3, got)
			}
			if got[0].File.Location.Recorded != data3+path {
				t.Errorf("recorded location became %s", got[0].File.Location.Recorded)
			}
		}
	}
}

// A position file whose bounds on file_path are equal belongs to one file; a cut upper bound would have been raised.
func TestPositionFilesByTheirBounds(t *testing.T) {
	t.Parallel()
	one, many := positions("one", ""), positions("many", "")
	one.Lower, one.Upper = map[int][]byte{2147483546: []byte(at + "f")}, map[int][]byte{2147483546: []byte(at + "f")}
	many.Lower, many.Upper = map[int][]byte{2147483546: []byte(at + "f")}, map[int][]byte{2147483546: []byte(at + "g")}
	b := icetable.New(t, 2, kv...)
	b.Commit("append", dataIn(0, data("f", 4), data("g", 4)))
	b.Commit("delete", deletesIn(0, one, many))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "f pos one pos many", "g pos many")
}

// The key of an equality delete is found by id: selected or not, dropped, nested; in ascending order of ids.
func TestL01_KeysAreFoundByID(t *testing.T) {
	t.Parallel()
	nested := icetable.Field{ID: 10, Name: "s", Type: map[string]any{"type": "struct", "fields": []any{
		map[string]any{"id": 11, "name": "a", "required": false, "type": "string"}, map[string]any{"id": 12, "name": "b", "required": false, "type": "date"},
	}}}
	b := icetable.New(t, 2, append(kv[:len(kv):len(kv)], nested)...)
	b.Commit("append", dataIn(0, data("f", 4)))
	b.Commit("delete", deletesIn(0, equality("e", []int64{12, 1})))
	b.Schemas = append(b.Schemas, []icetable.Field{kv[1], nested}) // k is dropped
	table, _ := load(t, b)
	p := planned(t, table, ScanSpec{Columns: []string{"v"}})
	g := mustTasks(t, p)[0].Deletes.Equality
	if len(g) != 1 || len(g[0].Key) != 2 || g[0].Key[0].Name != "k" || g[0].Key[0].Type.ID() != arrow.INT64 {
		t.Fatalf("%+v", g)
	}
	st, ok := g[0].Key[1].Type.(*arrow.StructType)
	if !ok || st.NumFields() != 1 || st.Field(0).Name != "b" || g[0].Key[1].Name != "s" {
		t.Errorf("nested key %v", g[0].Key[1])
	}
	if p.Schema().NumFields() != 1 {
		t.Errorf("output %v", p.Schema())
	}
}

// Deletes that are older than all data are neither attached nor refused.
func TestOldDeletesAreDropped(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	orc := equality("e.orc", []int64{1})
	orc.Format = manifest.ORC
	b.Commit("delete", deletesIn(0, orc, positions("x", "")))
	b.Commit("append", dataIn(0, data("f", 4)))
	table, _ := load(t, b)
	wantLines(t, scan(t, table, ""), "f")
}

// 5 000 delete files and 20 000 data files of one partition: the lists are shared, not made for each pair.
func TestL13_ManyDeletesTimesManyFiles(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	var files, dels []manifest.Written
	for i := range 20_000 {
		files = append(files, data(fmt.Sprintf("f%d", i), 1))
	}
	for i := range 5_000 {
		dels = append(dels, positions(fmt.Sprintf("x%d", i), ""), equality(fmt.Sprintf("e%d", i), []int64{1}))
	}
	b.Commit("append", dataIn(0, files...))
	b.Commit("delete", deletesIn(0, dels...))
	table, _ := load(t, b)
	start := time.Now()
	tasks := mustTasks(t, planned(t, table, ScanSpec{}))
	if len(tasks) != 20_000 || len(tasks[7].Deletes.Positions) != 5000 || len(tasks[7].Deletes.Equality) != 1 || len(tasks[7].Deletes.Equality[0].Files) != 5000 {
		t.Fatal(len(tasks), len(tasks[7].Deletes.Positions))
	}
	if &tasks[0].Deletes.Positions[0] != &tasks[19_999].Deletes.Positions[0] || tasks[0].Deletes.Equality[0] != tasks[19_999].Deletes.Equality[0] {
		t.Error("the lists are not shared")
	}
	t.Logf("planned in %s", time.Since(start))
}
