package variant

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	oracle "github.com/apache/arrow-go/v18/parquet/variant"
)

// shape is how a variant is shredded; nil = not at all.
type shape struct {
	kind   string // "int32", "string", "double", "list", "object"
	elem   *shape
	fields map[string]*shape
	hidden bool // no value column
}

func (s *shape) typ() arrow.DataType {
	var fields []arrow.Field
	if s == nil || !s.hidden {
		fields = append(fields, arrow.Field{Name: ValueName, Type: arrow.BinaryTypes.Binary, Nullable: true})
	}
	if s != nil {
		var t arrow.DataType
		switch s.kind {
		case "int32":
			t = arrow.PrimitiveTypes.Int32
		case "string":
			t = arrow.BinaryTypes.String
		case "double":
			t = arrow.PrimitiveTypes.Float64
		case "list":
			t = arrow.ListOf(s.elem.typ())
		case "object":
			var sub []arrow.Field
			for _, n := range slices.Sorted(maps.Keys(s.fields)) {
				sub = append(sub, arrow.Field{Name: n, Type: s.fields[n].typ()})
			}
			slices.Reverse(sub) // the file's order need not be that of names
			t = arrow.StructOf(sub...)
		}
		fields = append(fields, arrow.Field{Name: TypedName, Type: t, Nullable: true})
	}
	return arrow.StructOf(fields...)
}

// missing stands for a field that an object does not have.
type missing struct{}

// store writes one value the way a writer shreds it (VariantShredding.md), apart from the code under test.
func (s *shape) store(t *testing.T, b *array.StructBuilder, meta oracle.Metadata, v any) {
	b.Append(true)
	var value *array.BinaryBuilder
	var typed array.Builder
	for i, f := range b.Type().(*arrow.StructType).Fields() {
		switch f.Name {
		case ValueName:
			value = b.FieldBuilder(i).(*array.BinaryBuilder)
		case TypedName:
			typed = b.FieldBuilder(i)
		}
	}
	rest := func(v any) {
		if v == (missing{}) {
			if value != nil {
				value.AppendNull()
			}
			return
		}
		enc := oracle.NewBuilderFromMeta(meta)
		if err := enc.Append(v); err != nil {
			t.Fatal(err)
		}
		value.Append(enc.BuildWithoutMeta())
	}
	if s == nil {
		rest(v)
		return
	}
	switch x := v.(type) {
	case int32:
		if s.kind == "int32" {
			typed.(*array.Int32Builder).Append(x)
			rest(missing{})
			return
		}
	case string:
		if s.kind == "string" {
			typed.(*array.StringBuilder).Append(x)
			rest(missing{})
			return
		}
	case float64:
		if s.kind == "double" {
			typed.(*array.Float64Builder).Append(x)
			rest(missing{})
			return
		}
	case []any:
		if s.kind == "list" {
			l := typed.(*array.ListBuilder)
			l.Append(true)
			for _, e := range x {
				s.elem.store(t, l.ValueBuilder().(*array.StructBuilder), meta, e)
			}
			rest(missing{})
			return
		}
	case map[string]any:
		if s.kind == "object" {
			s.storeObject(t, typed.(*array.StructBuilder), meta, x, rest)
			return
		}
	}
	typed.AppendNull()
	rest(v)
}

func (s *shape) storeObject(t *testing.T, b *array.StructBuilder, meta oracle.Metadata, x map[string]any, rest func(any)) {
	b.Append(true)
	left := maps.Clone(x)
	for i, f := range b.Type().(*arrow.StructType).Fields() {
		var v any = missing{}
		if e, ok := x[f.Name]; ok {
			v = e
			delete(left, f.Name)
		}
		s.fields[f.Name].store(t, b.FieldBuilder(i).(*array.StructBuilder), meta, v)
	}
	if len(left) == 0 || s.hidden {
		rest(missing{})
		return
	}
	rest(left)
}

func randomShape(r *rand.Rand, depth int) *shape {
	s := &shape{hidden: r.IntN(6) == 0}
	switch n := r.IntN(8); {
	case n < 2 || depth == 0 && n > 4:
		return nil
	case n == 2:
		s.kind = "int32"
	case n == 3:
		s.kind = "string"
	case n == 4:
		s.kind = "double"
	case n == 5:
		s.kind, s.elem = "list", randomShape(r, depth-1)
	default:
		s.kind, s.fields = "object", map[string]*shape{}
		for range 1 + r.IntN(3) {
			s.fields[randomName(r)] = randomShape(r, depth-1)
		}
	}
	return s
}

func randomName(r *rand.Rand) string { return string(rune('a' + r.IntN(6))) }

// randomValue fits the shape where the shape has no place for another.
func randomValue(r *rand.Rand, s *shape, depth int) any {
	kind := ""
	if s != nil && (s.hidden || r.IntN(2) == 0) {
		kind = s.kind
	}
	n := r.IntN(9)
	if depth <= 0 {
		n = r.IntN(7)
	}
	switch {
	case kind == "int32", kind == "" && n == 0:
		return int32(r.IntN(1 << 20))
	case kind == "string", kind == "" && n == 1:
		return strings.Repeat("x", []int{0, 3, 63, 64, 300}[r.IntN(5)])
	case kind == "double", kind == "" && n == 2:
		return r.Float64()
	case kind == "" && n == 3:
		return nil
	case kind == "" && n == 4:
		return r.IntN(2) == 0
	case kind == "" && n == 5:
		return int64(r.Uint64())
	case kind == "" && n == 6:
		return []byte{1, byte(r.IntN(256))}
	case kind == "list", kind == "" && n == 7:
		out := []any{}
		for range []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 300}[r.IntN(13)] {
			var elem *shape
			if s != nil {
				elem = s.elem
			}
			out = append(out, randomValue(r, elem, depth-2))
		}
		return out
	}
	out := map[string]any{}
	if s != nil && s.kind == "object" {
		for n, f := range s.fields {
			if r.IntN(2) == 0 {
				out[n] = randomValue(r, f, depth-1)
			}
		}
		if s.hidden {
			return out
		}
	}
	for range r.IntN(3) {
		n := randomName(r)
		var f *shape
		if s != nil && s.kind == "object" {
			f = s.fields[n]
		}
		out[n] = randomValue(r, f, depth-1)
	}
	return out
}

// plain turns the oracle's view of a value into the Go values of this test.
func plain(v oracle.Value) any {
	switch x := v.Value().(type) {
	case oracle.ArrayValue:
		out := []any{}
		for e := range x.Values() {
			out = append(out, plain(e))
		}
		return out
	case oracle.ObjectValue:
		out := map[string]any{}
		for k, e := range x.Values() {
			out[k] = plain(e)
		}
		return out
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int64:
		return x
	default:
		return x
	}
}

// small makes integers comparable: an unshredded writer picks the width that fits.
func small(v any) any {
	switch x := v.(type) {
	case int32:
		return int64(x)
	case []any:
		out := []any{}
		for _, e := range x {
			out = append(out, small(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			out[k] = small(e)
		}
		return out
	}
	return v
}

func TestRandomShreddedValuesComeBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomShape(r, 3)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		st := s.typ().(*arrow.StructType)
		typ := arrow.StructOf(slices.Concat([]arrow.Field{{Name: MetadataName, Type: arrow.BinaryTypes.Binary}}, st.Fields())...)
		b := array.NewStructBuilder(mem, typ)
		var values []any
		for range 1 + r.IntN(5) {
			if r.IntN(6) == 0 {
				b.AppendNull()
				values = append(values, missing{})
				continue
			}
			v := randomValue(r, s, 3)
			values = append(values, v)
			var enc oracle.Builder
			for _, n := range "abcdef" {
				if r.IntN(3) > 0 || inUse(v, string(n)) {
					enc.AddKey(string(n))
				}
			}
			if err := enc.Append(v); err != nil {
				t.Fatal(err)
			}
			whole, err := enc.Build()
			if err != nil {
				t.Fatal(err)
			}
			storeRow(t, s, b, whole.Metadata(), v)
		}
		stored := b.NewStructArray()
		b.Release()
		var out arrow.DataType = Storage
		if seed%2 == 0 {
			out = extensions.NewDefaultVariantType()
		}
		got, err := Rebuild(mem, stored, out)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkValues(t, seed, got, values)
		got.Release()
		stored.Release()
		mem.AssertSize(t, 0)
	}
}

func inUse(v any, name string) bool {
	switch x := v.(type) {
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return inUse(e, name) })
	case map[string]any:
		_, ok := x[name]
		return ok || slices.ContainsFunc(slices.Collect(maps.Values(x)), func(e any) bool { return inUse(e, name) })
	}
	return false
}

// storeRow puts a value behind the metadata of the outer struct.
func storeRow(t *testing.T, s *shape, b *array.StructBuilder, meta oracle.Metadata, v any) {
	b.FieldBuilder(0).(*array.BinaryBuilder).Append(meta.Bytes())
	inner := array.NewStructBuilder(memory.DefaultAllocator, s.typ().(*arrow.StructType))
	defer inner.Release()
	s.store(t, inner, meta, v)
	row := inner.NewStructArray()
	defer row.Release()
	b.Append(true)
	for i := range row.NumField() {
		copyValue(b.FieldBuilder(i+1), row.Field(i), 0)
	}
}

// copyValue appends a[i].
func copyValue(b array.Builder, a arrow.Array, i int) {
	if a.IsNull(i) {
		b.AppendNull()
		return
	}
	switch a := a.(type) {
	case *array.Binary:
		b.(*array.BinaryBuilder).Append(a.Value(i))
	case *array.Int32:
		b.(*array.Int32Builder).Append(a.Value(i))
	case *array.String:
		b.(*array.StringBuilder).Append(a.Value(i))
	case *array.Float64:
		b.(*array.Float64Builder).Append(a.Value(i))
	case *array.Struct:
		b.(*array.StructBuilder).Append(true)
		for k := range a.NumField() {
			copyValue(b.(*array.StructBuilder).FieldBuilder(k), a.Field(k), i)
		}
	case *array.List:
		b.(*array.ListBuilder).Append(true)
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			copyValue(b.(*array.ListBuilder).ValueBuilder(), a.ListValues(), int(k))
		}
	}
}

func checkValues(t *testing.T, seed uint64, got arrow.Array, values []any) {
	t.Helper()
	storage, ok := got.(*array.Struct)
	if !ok {
		storage = got.(array.ExtensionArray).Storage().(*array.Struct)
	}
	for i, want := range values {
		if want == (missing{}) {
			if !storage.IsNull(i) {
				t.Fatalf("seed %d: row %d must be null", seed, i)
			}
			continue
		}
		meta, value := storage.Field(0).(*array.Binary).Value(i), storage.Field(1).(*array.Binary).Value(i)
		v, err := oracle.New(meta, value)
		if err != nil {
			t.Fatalf("seed %d: row %d, the oracle refuses %x %x: %v", seed, i, meta, value, err)
		}
		if !reflect.DeepEqual(small(plain(v)), small(want)) {
			t.Fatalf("seed %d: row %d: want %v, got %v", seed, i, want, plain(v))
		}
	}
}

// Objects put together must be byte for byte what another encoder makes of the same fields.
func TestRebuiltBytesAreCanonical(t *testing.T) {
	t.Parallel()
	s := &shape{kind: "object", fields: map[string]*shape{"b": {kind: "string"}, "d": {kind: "double"}}}
	v := map[string]any{"a": true, "b": strings.Repeat("y", 70), "c": nil, "d": 1.5}
	var enc oracle.Builder
	for _, n := range "abcd" {
		enc.AddKey(string(n))
	}
	if err := enc.Append(v); err != nil {
		t.Fatal(err)
	}
	whole, err := enc.Build()
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(slices.Concat([]arrow.Field{{Name: MetadataName, Type: arrow.BinaryTypes.Binary}}, s.typ().(*arrow.StructType).Fields())...))
	storeRow(t, s, b, whole.Metadata(), v)
	got, err := Rebuild(memory.DefaultAllocator, b.NewStructArray(), Storage)
	if err != nil {
		t.Fatal(err)
	}
	value := got.(*array.Struct).Field(1).(*array.Binary).Value(0)
	n, err := Size(value)
	if err != nil || n != len(value) {
		t.Errorf("size %d of %d bytes: %v", n, len(value), err)
	}
	fs, err := fields(nil, mustParse(t, whole.Metadata().Bytes()), value)
	if err != nil {
		t.Fatal(err)
	}
	ofs, err := fields(nil, mustParse(t, whole.Metadata().Bytes()), whole.Bytes())
	if err != nil || !reflect.DeepEqual(fs, ofs) || len(value) != len(whole.Bytes()) {
		t.Errorf("fields %v\n  not %v (%v)", fs, ofs, err)
	}
}

func mustParse(t *testing.T, b []byte) Metadata {
	t.Helper()
	m, err := ParseMetadata(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// one makes a stored variant of a single row.
func one(t *testing.T, fields []arrow.Field, json string) *array.Struct {
	t.Helper()
	fields = slices.Concat([]arrow.Field{{Name: MetadataName, Type: arrow.BinaryTypes.Binary, Nullable: true}}, fields)
	a, _, err := array.FromJSON(memory.DefaultAllocator, arrow.StructOf(fields...), strings.NewReader("["+json+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return a.(*array.Struct)
}

func TestInvalidShreddingIsRefused(t *testing.T) {
	t.Parallel()
	bin, i32 := arrow.BinaryTypes.Binary, arrow.PrimitiveTypes.Int32
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	group := func(t arrow.DataType) arrow.DataType {
		return arrow.StructOf(field(ValueName, bin), field(TypedName, t))
	}
	prim := []arrow.Field{field(ValueName, bin), field(TypedName, i32)}
	object := []arrow.Field{field(ValueName, bin), field(TypedName, arrow.StructOf(field("a", group(i32))))}
	const meta = `"metadata":"AQEAAWE="` // version 1, one name: a
	cases := []struct {
		name   string
		fields []arrow.Field
		json   string
		want   error
	}{
		{"value beside a number", prim, `{` + meta + `,"value":"DAE=","typed_value":1}`, ErrCorrupt},
		{"number beside an object", object, `{` + meta + `,"value":"DAE=","typed_value":{"a":null}}`, ErrCorrupt},
		{"no metadata", prim, `{"metadata":null,"value":null,"typed_value":1}`, ErrCorrupt},
		{"metadata of another version", prim, `{"metadata":"AgA=","value":null,"typed_value":1}`, ErrCorrupt},
		{"metadata cut", prim, `{"metadata":"AQEA","value":null,"typed_value":1}`, ErrCorrupt},
		{"value cut", prim, `{` + meta + `,"value":"FAE=","typed_value":null}`, ErrCorrupt},
		{"empty value", prim, `{` + meta + `,"value":"","typed_value":null}`, ErrCorrupt},
		{"unknown primitive", prim, `{` + meta + `,"value":"/AA=","typed_value":null}`, ErrUnsupported},
		{"field id without a name", object, `{` + meta + `,"value":"AgEFAAEA","typed_value":{"a":{"value":null,"typed_value":1}}}`, ErrCorrupt},
		{"shredded field only in the value", object, `{` + meta + `,"value":"AgEAAAEA","typed_value":{"a":{"value":null,"typed_value":null}}}`, ErrCorrupt},
		{"unsigned", []arrow.Field{field(TypedName, arrow.PrimitiveTypes.Uint32)}, `{` + meta + `,"typed_value":1}`, ErrUnsupported},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, err := Rebuild(memory.DefaultAllocator, one(t, c.fields, c.json), Storage); !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v, %v", c.want, got, err)
			}
		})
	}
}

func TestUnshreddedColumnsAreNotCopied(t *testing.T) {
	t.Parallel()
	a := one(t, []arrow.Field{{Name: ValueName, Type: arrow.BinaryTypes.Binary, Nullable: true}}, `{"metadata":"AQA=","value":"AA=="},null`)
	got, err := Rebuild(memory.DefaultAllocator, a, Storage)
	if err != nil {
		t.Fatal(err)
	}
	if s := got.(*array.Struct); s.Field(1).Data().Buffers()[2] != a.Field(1).Data().Buffers()[2] || !s.IsNull(1) {
		t.Error("the value bytes were copied, or a null was lost")
	}
}

func TestMissingNamesAreAddedToTheMetadata(t *testing.T) {
	t.Parallel()
	i32 := arrow.PrimitiveTypes.Int32
	group := arrow.StructOf(arrow.Field{Name: TypedName, Type: i32, Nullable: true})
	typed := arrow.StructOf(arrow.Field{Name: "a", Type: group}, arrow.Field{Name: "b", Type: group})
	a := one(t, []arrow.Field{{Name: TypedName, Type: typed, Nullable: true}}, `{"metadata":"AQEAAWI=","typed_value":{"a":{"typed_value":1},"b":{"typed_value":2}}}`)
	got, err := Rebuild(memory.DefaultAllocator, a, Storage)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, 0, got, []any{map[string]any{"a": int32(1), "b": int32(2)}})
}

func FuzzRebuild(f *testing.F) {
	f.Add([]byte("\x01\x01\x00\x01a"), []byte("\x02\x01\x00\x00\x01\x00"))
	f.Add([]byte("\x11\x02\x00\x01\x02ab"), []byte("\x03\x02\x00\x01\x02\x00\x00"))
	f.Fuzz(func(t *testing.T, meta, value []byte) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		group := arrow.StructOf(arrow.Field{Name: ValueName, Type: arrow.BinaryTypes.Binary, Nullable: true})
		typed := arrow.StructOf(arrow.Field{Name: "a", Type: group}, arrow.Field{Name: "z", Type: group})
		b := array.NewStructBuilder(mem, arrow.StructOf(arrow.Field{Name: MetadataName, Type: arrow.BinaryTypes.Binary},
			arrow.Field{Name: ValueName, Type: arrow.BinaryTypes.Binary, Nullable: true}, arrow.Field{Name: TypedName, Type: typed, Nullable: true}))
		b.Append(true)
		b.FieldBuilder(0).(*array.BinaryBuilder).Append(meta)
		b.FieldBuilder(1).(*array.BinaryBuilder).Append(value)
		b.FieldBuilder(2).(*array.StructBuilder).Append(true)
		for i := range 2 {
			g := b.FieldBuilder(2).(*array.StructBuilder).FieldBuilder(i).(*array.StructBuilder)
			g.Append(true)
			g.FieldBuilder(0).(*array.BinaryBuilder).Append(value)
		}
		stored := b.NewStructArray()
		b.Release()
		got, err := Rebuild(mem, stored, Storage)
		if err == nil {
			out := got.(*array.Struct).Field(1).(*array.Binary).Value(0)
			if n, err := Size(out); err != nil || n != len(out) || out[0]&3 != basicObject {
				t.Errorf("%x is no object: %v", out, err)
			}
			got.Release()
		} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
			t.Error(err)
		}
		stored.Release()
		mem.AssertSize(t, 0)
	})
}
