package iceberg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/internal/icetable"
	"github.com/lakescan/lakescan/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A list without its version key is read by what it holds.
func TestL10_ListWithoutVersionKey(t *testing.T) {
	t.Parallel()
	for _, version := range []int{2, 3} {
		b := icetable.New(t, version, kv...)
		b.Codec = "null"
		b.Commit("append", dataIn(0, data("f", 4)))
		d := positions("x", at+"f")
		if version == 3 {
			d = vectorOf("dv", at+"f", 4)
		}
		b.Commit("delete", deletesIn(0, d))
		table, _ := load(t, b)
		before := scan(t, table, "")
		path := b.Snapshot()["manifest-list"].(string)
		loc, _ := object.ParseLocation(path)
		list, _, err := b.Store.Read(t.Context(), loc, object.Whole, nil, object.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stripped := bytes.Replace(list, []byte("format-version"), []byte("xormat-version"), 1)
		if bytes.Equal(stripped, list) {
			t.Fatal("the key is not there")
		}
		b.Store.Put(path, stripped)
		table, _ = load(t, b)
		if got := scan(t, table, ""); !slices.Equal(got, before) || got[0] == "f" {
			t.Errorf("v%d: %q, was %q", version, got, before)
		}
	}
}

func TestL41_ManifestsOfVersion1(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 1, kv...)
	b.Commit("append", dataIn(0, data("f", 4), data("g", 4)))
	inline := []string{b.Files()[0].Path}
	for name, c := range map[string]struct {
		change map[string]any
		want   []string
	}{
		"list":           {nil, []string{"f", "g"}},
		"inline":         {map[string]any{"manifests": inline, "manifest-list": nil}, []string{"f", "g"}},
		"both":           {map[string]any{"manifests": []string{"nowhere"}}, []string{"f", "g"}},
		"empty inline":   {map[string]any{"manifests": []string{}, "manifest-list": nil}, nil},
		"inline, absent": {map[string]any{"manifest-list": nil, "manifests": nil}, nil},
	} {
		s := b.Snapshot()
		old := map[string]any{}
		for k, v := range c.change {
			old[k] = s[k]
			if s[k] = v; v == nil {
				delete(s, k)
			}
		}
		table, _ := load(t, b)
		if got := scan(t, table, ""); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		for k, v := range old {
			if s[k] = v; v == nil {
				delete(s, k)
			}
		}
	}
}

func TestL45_NothingToRead(t *testing.T) {
	t.Parallel()
	gone := data("gone", 4)
	gone.Status = manifest.Deleted
	for name, build := range map[string]func(b *icetable.Table){
		"no snapshot":          func(*icetable.Table) {},
		"no manifests":         func(b *icetable.Table) { b.Commit("delete") },
		"only deleted entries": func(b *icetable.Table) { b.Commit("delete", dataIn(0, gone)) },
		"deleted, counts unknown": func(b *icetable.Table) {
			m := dataIn(0, gone)
			m.Change = func(f *manifest.File) { f.AddedFiles, f.ExistingFiles = 1, 1 }
			b.Commit("delete", m)
		},
	} {
		b := icetable.New(t, 2, kv...)
		build(b)
		table, _ := load(t, b)
		p := planned(t, table, ScanSpec{})
		if got := mustTasks(t, p); len(got) != 0 || p.Schema().NumFields() != len(kv) || !p.Counts().Complete {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := icetable.New(t, 2, kv...)
	b.Commit("append", dataIn(0, data("empty", 0)))
	table, _ := load(t, b)
	if got := mustTasks(t, planned(t, table, ScanSpec{})); len(got) != 1 || got[0].Rows != 0 {
		t.Errorf("a file of no rows: %v", got)
	}
}

func TestL15_ReaddedNamesAreOtherColumns(t *testing.T) {
	t.Parallel()
	s := func(id, x int) icetable.Field {
		return icetable.Field{ID: id, Name: "s", Type: map[string]any{"type": "struct", "fields": []any{map[string]any{"id": x, "name": "x", "required": false, "type": "int"}}}}
	}
	b := icetable.New(t, 2, kv[0], s(10, 11))
	b.Schemas = append(b.Schemas, []icetable.Field{{ID: 1, Name: "renamed", Type: "long"}, s(20, 21)})
	b.Commit("append", dataIn(0, data("f", 1)))
	table, _ := load(t, b)
	p := planned(t, table, ScanSpec{Columns: []string{"s.x", "renamed"}})
	f := p.Schema().Field(0)
	outer, _ := expr.FieldID(f)
	inner, _ := expr.FieldID(f.Type.(*arrow.StructType).Field(0))
	key, _ := expr.FieldID(p.Schema().Field(1))
	if outer != 20 || inner != 21 || key != 1 {
		t.Errorf("ids %d %d %d", outer, inner, key)
	}
	if _, err := table.Plan(t.Context(), ScanSpec{Columns: []string{"k"}}); !errors.Is(err, expr.ErrBind) {
		t.Errorf("the old name: %v", err)
	}
}

func TestL17_SchemaOfTheVersionRead(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, icetable.Field{ID: 1, Name: "a", Type: "int"}, icetable.Field{ID: 2, Name: "b", Type: "int"})
	b.Commit("append", dataIn(0, data("f", 1)))
	b.Schemas = append(b.Schemas, []icetable.Field{{ID: 1, Name: "a", Type: "long"}, {ID: 3, Name: "c", Type: "int"}})
	b.Refs = map[string]any{"main": map[string]any{"snapshot-id": 1, "type": "branch"}, "tag": map[string]any{"snapshot-id": 1, "type": "tag"}, "branch": map[string]any{"snapshot-id": 1, "type": "branch"}}
	table, _ := load(t, b)
	for name, c := range map[string]struct {
		v    Version
		want string
	}{
		"plain": {Version{}, "a int64, c int32"}, "branch": {Version{Ref: "branch"}, "a int64, c int32"}, "tag": {Version{Ref: "tag"}, "a int32, b int32"},
		"id": {Version{Snapshot: 1}, "a int32, b int32"}, "time": {Version{AsOf: time.UnixMilli(1500)}, "a int32, b int32"},
	} {
		var got []string
		for _, f := range planned(t, table, ScanSpec{Version: c.v}).Schema().Fields() {
			got = append(got, f.Name+" "+f.Type.String())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// A file without its identity partition column: the tuple gives the value, to the output and to the filter.
func TestL18_IdentityPartitionsAreConstants(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	b.Specs = [][]icetable.PartitionField{{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}, {Source: 1, ID: 1001, Name: "kb", Transform: "bucket[4]"}}}
	b.Commit("append", dataIn(0, data("p7", 4, 1000, int64(7), 1001, int64(1)), data("p-null", 4, 1000, nil, 1001, int64(1))))
	table, _ := load(t, b)
	got := mustTasks(t, planned(t, table, ScanSpec{Columns: []string{"p", "v"}}))
	if c := got[0].Constants; len(c) != 1 || c[3].Value != int64(7) || c[3].Type.ID() != arrow.INT32 {
		t.Errorf("%v", c)
	}
	if c, ok := got[1].Constants[3]; !ok || c.Value != nil {
		t.Errorf("null: %v %v", c, ok)
	}
	wantLines(t, scan(t, table, "p = 7"), "p7")
	wantLines(t, scan(t, table, "p IS NULL"), "p-null")
	wantLines(t, scan(t, table, "p <> 7"))
	wantLines(t, scan(t, table, "p <= 7 OR v = 'x'"), "p7", "p-null where v = 'x'")
}

// A column with a default that old files lack: it is known to the scan, and nothing is pruned by its absence.
func TestL21_DefaultsAndAbsentColumns(t *testing.T) {
	t.Parallel()
	fields := append(kv[:len(kv):len(kv)], icetable.Field{ID: 6, Name: "c", Type: "int", Initial: []byte("9")},
		icetable.Field{ID: 7, Name: "s", Initial: []byte("{}"), Type: map[string]any{"type": "struct", "fields": []any{map[string]any{"id": 8, "name": "d", "required": false, "type": "date", "initial-default": "2024-02-29"}}}})
	b := icetable.New(t, 3, fields...)
	old := data("old", 4)
	old.Values, old.Nulls = map[int]int64{1: 4}, map[int]int64{1: 0}
	b.Commit("append", dataIn(0, old))
	table, _ := load(t, b)
	for _, filter := range []string{"c = 9", "c IS NULL", "c > 100", "s.d IS NOT NULL"} {
		p := planned(t, table, ScanSpec{Columns: []string{"k"}, Filter: expr.MustParse(filter)})
		if d := p.Defaults(); d[6].Value != int64(9) || d[7].Value == nil || d[8].Value != int64(19782) {
			t.Errorf("defaults %v", d)
		}
		if got := mustTasks(t, p); len(got) != 1 || got[0].Filter == nil {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestL23_NamesAndCase(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, icetable.Field{ID: 1, Name: "id", Type: "int"}, icetable.Field{ID: 2, Name: "ID", Type: "int"}, icetable.Field{ID: 3, Name: "Other", Type: "int"},
		icetable.Field{ID: 4, Name: "a.b", Type: "int"}, icetable.Field{ID: 5, Name: "_file", Type: "int"},
		icetable.Field{ID: 6, Name: "st", Type: map[string]any{"type": "struct", "fields": []any{map[string]any{"id": 7, "name": "x.y", "required": false, "type": "int"}, map[string]any{"id": 8, "name": "z", "required": false, "type": "int"}}}})
	table, _ := load(t, b)
	for _, c := range []struct {
		name      string
		sensitive bool
		want      int // field id of the leaf; 0 = error
	}{
		{"id", false, 1},
		{"ID", false, 2},
		{"Id", false, 0},
		{"Id", true, 0},
		{"id", true, 1},
		{"other", false, 3},
		{"other", true, 0},
		{"a.b", false, 4},
		{"A.B", false, 4},
		{"st.x.y", false, 7},
		{"st.z", true, 8},
		{"ST.Z", false, 8},
		{"ST.Z", true, 0},
		{"_file", false, 5},
		{"nope", false, 0},
		{"st.nope", false, 0},
		{"", false, 0},
		{".", false, 0},
	} {
		p, err := table.Plan(t.Context(), ScanSpec{Columns: []string{c.name}, CaseSensitive: c.sensitive})
		var selectErr *SelectError
		if c.want == 0 {
			if !errors.As(err, &selectErr) || !errors.Is(err, expr.ErrBind) {
				t.Errorf("%q: %v", c.name, err)
			}
		} else if err != nil {
			t.Errorf("%q: %v", c.name, err)
		} else if len(p.columns.leaves) != 1 || p.columns.leaves[0] != c.want {
			t.Errorf("%q: leaves %v, want %d", c.name, p.columns.leaves, c.want)
		}
		_, ferr := table.Plan(t.Context(), ScanSpec{Filter: expr.IsNull{Col: expr.Col(strings.Split(c.name, ".")...)}, CaseSensitive: c.sensitive})
		if !strings.Contains(c.name, ".") && (ferr == nil) != (c.want != 0) {
			t.Errorf("filter on %q: %v", c.name, ferr)
		}
	}
}

func TestSelectedFieldsOfOneStructAreOneColumn(t *testing.T) {
	t.Parallel()
	in := func(id int, name string) any {
		return map[string]any{"id": id, "name": name, "required": false, "type": "int"}
	}
	b := icetable.New(t, 2, kv[0], icetable.Field{ID: 6, Name: "s", Type: map[string]any{"type": "struct", "fields": []any{in(7, "a"), in(8, "b"), in(9, "c")}}}, kv[1])
	table, _ := load(t, b)
	for want, names := range map[string][]string{"v utf8; s struct<a: int32, c: int32>; k int64": {"v", "s.c", "k", "s.a", "v"}, "s struct<a: int32, b: int32, c: int32>": {"s.a", "s"}} {
		var got []string
		for _, f := range planned(t, table, ScanSpec{Columns: names}).Schema().Fields() {
			text := f.Type.String()
			if st, ok := f.Type.(*arrow.StructType); ok {
				var in []string
				for _, c := range st.Fields() {
					in = append(in, c.Name+": "+c.Type.String())
				}
				text = "struct<" + strings.Join(in, ", ") + ">"
			}
			got = append(got, f.Name+" "+text)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%v: %v", names, got)
		}
	}
}

func TestMetadataColumns(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 3, kv...)
	b.Specs = [][]icetable.PartitionField{{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}}, {{Source: 1, ID: 1001, Name: "kb", Transform: "bucket[4]"}, {Source: 3, ID: 1002, Name: "gone", Transform: "void"}}}
	b.Commit("append", dataIn(0, data("f", 10, 1000, int64(1)), data("g", 20, 1000, int64(2))))
	table, _ := load(t, b)
	p := planned(t, table, ScanSpec{Columns: []string{"_row_id", "k", "_partition", "_file", "_pos", "_spec_id", "_last_updated_sequence_number"}, Filter: expr.MustParse("p = 2")})
	var ids []int
	for _, f := range p.Schema().Fields() {
		id, _ := expr.FieldID(f)
		ids = append(ids, id)
	}
	if !slices.Equal(ids, []int{2147483540, 1, 2147483642, 2147483646, 2147483645, 2147483643, 2147483539}) {
		t.Errorf("ids %v", ids)
	}
	if st := p.Schema().Field(2).Type.(*arrow.StructType); st.NumFields() != 2 || st.Field(0).Name != "p" || st.Field(1).Name != "kb" {
		t.Errorf("partition %v", st)
	}
	// First row ids count the files that the filter drops.
	if got := mustTasks(t, p); len(got) != 1 || got[0].FirstRowID != 10 || got[0].SpecID != 0 || got[0].Partition[1000].Value != int64(2) || got[0].DataSequence != 1 {
		t.Errorf("%+v", got)
	}
}

// What is unsupported is refused by the ability needed, before the first row, and only if it is needed.
func TestL57_RefusalsByTheAbilityNeeded(t *testing.T) {
	t.Parallel()
	orc, secret := data("f.orc", 4, 1000, int64(2)), data("f.enc", 4, 1000, int64(2))
	orc.Format, secret.KeyMetadata = manifest.ORC, []byte{1}
	part := []icetable.PartitionField{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}}
	fields := append(kv[:len(kv):len(kv)], icetable.Field{ID: 20, Name: "geo", Type: "geography"}, icetable.Field{ID: 21, Name: "future", Type: "int256"},
		icetable.Field{ID: 22, Name: "var", Type: "variant"}, icetable.Field{ID: 23, Name: "nothing", Type: "unknown"}, icetable.Field{ID: 24, Name: "wkb", Type: "geometry"})
	for _, c := range []struct {
		name    string
		entry   manifest.Written
		spec    ScanSpec
		extra   map[string]any
		refused string // empty = not
	}{
		{"ORC file", orc, ScanSpec{Columns: []string{"k"}}, nil, "ORC"},
		{"ORC file pruned", orc, ScanSpec{Columns: []string{"k"}, Filter: expr.MustParse("p = 1")}, nil, ""},
		{"encrypted file", secret, ScanSpec{Columns: []string{"k"}}, nil, "encrypted"},
		{"encrypted file pruned", secret, ScanSpec{Columns: []string{"k"}, Filter: expr.MustParse("p = 1")}, nil, ""},
		{"geography selected", data("f", 1), ScanSpec{Columns: []string{"geo"}}, nil, "geography"},
		{"all columns", data("f", 1), ScanSpec{}, nil, "geography"},
		{"future type selected", data("f", 1), ScanSpec{Columns: []string{"future"}}, nil, "int256"},
		{"future type filtered", data("f", 1), ScanSpec{Columns: []string{"k"}, Filter: expr.MustParse("future IS NULL")}, nil, "int256"},
		{"unselected", data("f", 1), ScanSpec{Columns: []string{"k", "var", "nothing", "wkb"}}, nil, ""},
		{"filter on a variant", data("f", 1), ScanSpec{Columns: []string{"k"}, Filter: expr.MustParse("var IS NULL")}, nil, "variant"},
		{"keys merely listed", data("f", 1), ScanSpec{Columns: []string{"k"}}, map[string]any{"encryption-keys": []any{map[string]string{"key-id": "a"}}}, ""},
	} {
		b := icetable.New(t, 3, fields...)
		b.Specs = [][]icetable.PartitionField{part}
		b.Extra = c.extra
		b.Commit("append", dataIn(0, data("first", 4, 1000, int64(1))))
		b.Commit("append", dataIn(0, data("second", 4, 1000, int64(1)), c.entry))
		table, _ := load(t, b)
		p, err := table.Plan(t.Context(), c.spec)
		n := 0
		if err == nil {
			for range p.Tasks(t.Context()) {
				n++
			}
			_, err = tasksOf(t.Context(), p)
		}
		var unsupported *UnsupportedError
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refused != "" && (!errors.As(err, &unsupported) || !strings.Contains(unsupported.Ability, c.refused)):
			t.Errorf("%s: %v", c.name, err)
		case c.refused != "" && n > 1:
			t.Errorf("%s: %d tasks before the refusal", c.name, n-1)
		}
	}
	b := icetable.New(t, 2, kv...)
	b.Commit("append", dataIn(0, data("f", 1)))
	b.Snapshot()["key-id"] = "secret"
	table, _ := load(t, b)
	if _, err := tasksOf(t.Context(), planned(t, table, ScanSpec{})); !errors.Is(err, ErrUnsupported) {
		t.Errorf("encrypted list: %v", err)
	}
	c, _ := Open(t.Context(), CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) { return b.Store, nil }})
	defer c.Close()
	b.Store.Put("s3://b/v4.metadata.json", []byte(`{"format-version":4}`))
	if _, err := c.LoadLocation(t.Context(), "s3://b/v4.metadata.json"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("version 4: %v", err)
	}
}

// manyManifests is a table of n manifests of one file of ten rows each.
func manyManifests(t testing.TB, n int) *icetable.Table {
	b := icetable.New(t, 2, kv...)
	var ms []icetable.Manifest
	for i := range n {
		e := data(fmt.Sprintf("f%d", i), 10)
		e.Lower, e.Upper = map[int][]byte{1: icetable.Bound(arrow.PrimitiveTypes.Int64, int64(i))}, map[int][]byte{1: icetable.Bound(arrow.PrimitiveTypes.Int64, int64(i))}
		e.Nulls, e.Values = map[int]int64{1: 0}, map[int]int64{1: 10}
		ms = append(ms, dataIn(0, e))
	}
	b.Commit("append", ms...)
	return b
}

func TestL73_LimitStopsPlanning(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 800)
	table, store := load(t, b)
	for _, c := range []struct {
		name string
		spec ScanSpec
		pull int // tasks that the consumer takes; 0 = all
		most int // manifests read
	}{
		{"limit 10", ScanSpec{Limit: 10}, 0, 1},
		{"limit 35", ScanSpec{Limit: 35}, 0, 8},
		{"limit with a filter, satisfied by the third file", ScanSpec{Limit: 10, Filter: expr.MustParse("v = 'x'")}, 3, 8},
		{"limit with a filter that the metrics prove", ScanSpec{Limit: 10, Filter: expr.MustParse("k >= 0")}, 0, 1},
		{"stops early", ScanSpec{StopsEarly: true}, 1, 2},
		{"no limit", ScanSpec{}, 0, 800},
	} {
		store.reset()
		p := planned(t, table, c.spec)
		n := 0
		for _, err := range p.Tasks(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == c.pull {
				break
			}
		}
		if got := store.count("/metadata/m"); got > c.most || got == 0 {
			t.Errorf("%s: %d manifests read, want at most %d", c.name, got, c.most)
		}
		if got := store.count("snap-"); got > 1 {
			t.Errorf("%s: the list was read %d times", c.name, got)
		}
		table.catalog.cache.Close() // the next one starts cold
		table, store = load(t, b)
	}
	d := manyManifests(t, 50)
	d.Commit("delete", deletesIn(0, equality("e", []int64{1})))
	table, _ = load(t, d)
	if got := mustTasks(t, planned(t, table, ScanSpec{Limit: 10})); len(got) != 50 {
		t.Errorf("limit with deletes: %d tasks, a delete may take every row", len(got))
	}
}

// A manifest that the cache holds is not asked for again.
func TestManifestsAreCached(t *testing.T) {
	t.Parallel()
	table, store := load(t, manyManifests(t, 20))
	mustTasks(t, planned(t, table, ScanSpec{}))
	store.reset()
	p := planned(t, table, ScanSpec{})
	if got := mustTasks(t, p); len(got) != 20 || store.count("") != 0 || p.Counts().ManifestsCached != 20 {
		t.Errorf("%d tasks, %d reads, %+v", len(got), store.count(""), p.Counts())
	}
}

// Only manifests that can match are read, each once.
func TestPlanReadsWhatCanMatch(t *testing.T) {
	t.Parallel()
	b := icetable.New(t, 2, kv...)
	b.Specs[0] = []icetable.PartitionField{{Source: 3, ID: 1000, Name: "p", Transform: "identity"}}
	var ms []icetable.Manifest
	for i := range 44 {
		ms = append(ms, dataIn(0, data(fmt.Sprintf("a%d", i), 10, 1000, int64(2*i)), data(fmt.Sprintf("b%d", i), 10, 1000, int64(2*i+1))))
	}
	b.Commit("append", ms...)
	table, store := load(t, b)
	p := planned(t, table, ScanSpec{Filter: expr.MustParse("p IN (6, 11) AND v LIKE '%x'")})
	var got []string
	for _, task := range mustTasks(t, p) {
		got = append(got, render(task))
	}
	wantLines(t, got, "a3 where v LIKE '%x'", "b5 where v LIKE '%x'")
	c := p.Counts()
	if store.count("/metadata/m") != 2 || c.Manifests != 44 || c.ManifestsRead != 2 || c.ManifestsSkipped[1] != 42 || c.FilesPruned[1] != 2 || c.Tasks != 2 || c.TaskRows != 20 {
		t.Errorf("%d reads, %+v", store.count("/metadata/m"), c)
	}
	e, err := p.Explain(t.Context())
	if err != nil || e.Counts.Tasks != 2 || len(e.NotPruning) != 1 || e.NotPruning[0] != "v LIKE '%x'" || e.Snapshot != 1 || e.Ref != "main" || e.TableColumns != 5 {
		t.Errorf("%+v %v", e, err)
	}
	if all := mustTasks(t, planned(t, table, ScanSpec{Filter: expr.MustParse("p IN (6, 11)"), NoPrune: true})); len(all) != 88 || all[0].Filter == nil {
		t.Errorf("without pruning: %d tasks", len(all))
	}
}

// Plans share nothing but the cache: many at once give the same tasks.
func TestL40_ConcurrentPlansAgree(t *testing.T) {
	t.Parallel()
	table, _ := load(t, manyManifests(t, 64))
	p := planned(t, table, ScanSpec{Filter: expr.MustParse("k >= 10 AND k < 40 AND v <> 'x'")})
	want := mustTasks(t, p)
	if len(want) != 30 {
		t.Fatal(len(want))
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				got, err := tasksOf(t.Context(), p)
				if err != nil || len(got) != len(want) {
					t.Errorf("%d tasks, %v", len(got), err)
					return
				}
				for i := range got {
					if render(got[i]) != render(want[i]) || got[i].Ordinal != i {
						t.Errorf("task %d: %s", i, render(got[i]))
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// Each call obeys its own context, and none is kept.
func TestL78_ContextsAreNotKept(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 100)
	c, err := Open(t.Context(), CatalogConfig{NewStore: func(object.Credentials) (object.Store, error) { return b.Store, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	table, err := c.LoadLocation(ctx, b.Save())
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if got := mustTasks(t, planned(t, table, ScanSpec{})); len(got) != 100 {
		t.Fatal(len(got))
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err = range planned(t, table, ScanSpec{StopsEarly: true}).Tasks(ctx) {
		if n++; n == 30 {
			cancel()
		}
	}
	if n != 31 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled at 30: %d steps, %v", n, err)
	}
}

// What is missing fails the plan and is named, with its snapshot.
func TestMissingManifests(t *testing.T) {
	t.Parallel()
	b := manyManifests(t, 5)
	for _, gone := range []string{b.Files()[3].Path, b.Snapshot()["manifest-list"].(string)} {
		loc, _ := object.ParseLocation(gone)
		if err := b.Store.Delete(t.Context(), loc); err != nil {
			t.Fatal(err)
		}
		table, _ := load(t, b)
		_, err := tasksOf(t.Context(), planned(t, table, ScanSpec{}))
		if !errors.Is(err, object.ErrNotFound) || !strings.Contains(err.Error(), gone) || !strings.Contains(err.Error(), "snapshot 1") {
			t.Errorf("%s: %v", gone, err)
		}
	}
}
