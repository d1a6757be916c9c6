package prune

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/expr/exprtest"
	"github.com/lakescan/lakescan/expr/transform"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
)

// A table of one column of every Iceberg type, and a struct.
var typeNames = []string{
	"boolean", "int", "long", "float", "double", "decimal(3, 1)", "decimal(38, 10)", "date", "time", "timestamp", "timestamptz",
	"timestamp_ns", "string", "uuid", "fixed[2]", "binary",
}

func makeTable(t testing.TB, specs ...[]map[string]any) *meta.Metadata {
	t.Helper()
	var fields []any
	for i, n := range typeNames {
		fields = append(fields, map[string]any{"id": i + 1, "name": fmt.Sprintf("c%d", i+1), "required": false, "type": n})
	}
	fields = append(fields, map[string]any{"id": 50, "name": "s", "required": false, "type": map[string]any{"type": "struct", "fields": []any{
		map[string]any{"id": 51, "name": "ts", "required": false, "type": "timestamp"}, map[string]any{"id": 52, "name": "user.id", "required": false, "type": "string"},
	}}})
	var list []any
	for i, s := range specs {
		list = append(list, map[string]any{"spec-id": i, "fields": s})
	}
	if list == nil {
		list = []any{map[string]any{"spec-id": 0, "fields": []any{}}}
	}
	doc, err := json.Marshal(map[string]any{
		"format-version": 2, "location": "s3://b/t", "schemas": []any{map[string]any{"type": "struct", "schema-id": 0, "fields": fields}},
		"current-schema-id": 0, "partition-specs": list, "default-spec-id": 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := meta.Parse(doc, "t")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func field(source, id int, name, transform string) map[string]any {
	return map[string]any{"source-id": source, "field-id": id, "name": name, "transform": transform}
}

// encode is the binary single-value form.
func encode(t arrow.DataType, v any) []byte {
	switch x := v.(type) {
	case bool:
		if x {
			return []byte{1}
		}
		return []byte{0}
	case int64:
		if id := t.ID(); id == arrow.INT32 || id == arrow.DATE32 {
			return binary.LittleEndian.AppendUint32(nil, uint32(x))
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(x))
	case float64:
		if t.ID() == arrow.FLOAT32 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case *big.Int:
		return transform.TwosComplement(x)
	case string:
		return []byte(x)
	}
	return append([]byte{}, v.([]byte)...)
}

// metricOf computes the exact metrics of a column.
func metricOf(t arrow.DataType, values []any) manifest.Metric {
	m := manifest.Metric{Values: int64(len(values))}
	if !hasNaN(t) {
		m.NaNs = -1
	}
	var lo, up *expr.Literal
	for _, v := range values {
		l := expr.Literal{Type: t, Value: v}
		if v == nil {
			m.Nulls++
			continue
		}
		if f, ok := v.(float64); ok && f != f {
			m.NaNs++
			continue
		}
		if lo == nil || l.Compare(*lo) < 0 {
			lo = &l
		}
		if up == nil || l.Compare(*up) > 0 {
			up = &l
		}
	}
	if lo != nil {
		m.Lower, m.Upper = encode(t, lo.Value), encode(t, up.Value)
	}
	return m
}

// weaken drops counts and bounds, cuts bounds of text and bytes, and moves others outwards: all that writers may do.
func weaken(r *rand.Rand, t arrow.DataType, m manifest.Metric) manifest.Metric {
	for _, n := range []*int64{&m.Values, &m.Nulls, &m.NaNs} {
		if r.IntN(3) == 0 {
			*n = -1
		}
	}
	if r.IntN(4) == 0 {
		m.Lower = nil
	}
	if r.IntN(4) == 0 {
		m.Upper = nil
	}
	if id := t.ID(); id == arrow.STRING || id == arrow.BINARY {
		if len(m.Lower) > 1 && r.IntN(2) == 0 {
			m.Lower = cutLower(t, m.Lower)
		}
		if len(m.Upper) > 1 && r.IntN(2) == 0 {
			m.Upper = cutUpper(t, m.Upper)
		}
	}
	if r.IntN(8) == 0 && m.Lower != nil { // nonsense of a wrong length
		m.Lower = append(m.Lower, make([]byte, 17)...)
		if id := t.ID(); id == arrow.STRING || id == arrow.BINARY {
			m.Lower = nil
		}
	}
	if r.IntN(8) == 0 && hasNaN(t) {
		m.Upper = encode(t, math.NaN())
	}
	return m
}

func cutLower(t arrow.DataType, b []byte) []byte {
	n := len(b) - 1
	for t.ID() == arrow.STRING && !utf8.Valid(b[:n]) {
		n--
	}
	return b[:n]
}

// cutUpper cuts and raises the last byte; nil if it cannot be raised.
func cutUpper(t arrow.DataType, b []byte) []byte {
	b = append([]byte{}, b[:len(b)-1]...)
	for i := len(b) - 1; i >= 0; i-- {
		if limit := byte(0xff); t.ID() == arrow.STRING && b[i] >= 0x7f || b[i] == limit {
			continue
		}
		b[i]++
		return b[:i+1]
	}
	return nil
}

type world struct {
	table *meta.Metadata
	cols  []exprtest.Column
	ids   []int
}

func newWorld(t testing.TB, specs ...[]map[string]any) world {
	w := world{table: makeTable(t, specs...)}
	for _, f := range w.table.Current().Fields {
		if f.Type.Kind == meta.Struct {
			continue
		}
		w.cols = append(w.cols, exprtest.Column{Path: []string{f.Name}, Type: f.Type.Arrow()})
		w.ids = append(w.ids, f.ID)
	}
	return w
}

// rows are random values of every column.
func (w world) rows(r *rand.Rand, n int) []map[int]any {
	out := make([]map[int]any, n)
	nulls := r.IntN(4)
	for i := range out {
		out[i] = map[int]any{}
		for j, c := range w.cols {
			if r.IntN(4) >= nulls {
				out[i][w.ids[j]] = exprtest.Random(r, c.Type)
			}
		}
	}
	return out
}

func column(rows []map[int]any, id int) []any {
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i] = row[id]
	}
	return out
}

func selected(e expr.Expr, row map[int]any) bool {
	if e == nil {
		return true
	}
	return exprtest.Evaluate(e, func(c expr.Column) exprtest.Value { return exprtest.Value{Type: c.Type, Value: row[c.ID]} }) == exprtest.True
}

// bind makes a bound random filter over at most three columns.
func (w world) filter(t *testing.T, r *rand.Rand) expr.Expr {
	var cols []exprtest.Column
	for range 1 + r.IntN(3) {
		cols = append(cols, w.cols[r.IntN(len(w.cols))])
	}
	for {
		e, err := expr.Bind(exprtest.Tree(r, cols, 2), w.table.Current().Arrow(), expr.BindOptions{})
		if err == nil {
			return e
		}
	}
}

// For random files and filters: what is proved from true metrics holds for the rows, and weakened metrics prove no more.
func TestP2_VerdictsAreProofs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		tally := map[expr.Verdict]int{}
		for range 150 {
			e := w.filter(t, r)
			rows := w.rows(r, r.IntN(4))
			exact := evaluate(e, rows, func(typ arrow.DataType, m manifest.Metric) manifest.Metric { return m })
			weak := evaluate(e, rows, func(typ arrow.DataType, m manifest.Metric) manifest.Metric { return weaken(r, typ, m) })
			tally[exact]++
			judge(t, seed, e, rows, exact)
			judge(t, seed, e, rows, weak)
			if weak != expr.Some && weak != exact && len(rows) > 0 {
				t.Errorf("seed %d: %s over %v: weakened metrics prove %v, true ones %v", seed, e, rows, weak, exact)
			}
		}
		if tally[expr.None] < 10 || tally[expr.All] < 5 || tally[expr.Some] < 10 {
			t.Errorf("seed %d: verdicts %v", seed, tally)
		}
	}
}

func evaluate(e expr.Expr, rows []map[int]any, change func(arrow.DataType, manifest.Metric) manifest.Metric) expr.Verdict {
	known := map[int]Evidence{}
	return Evaluate(e, func(c expr.Column) Evidence {
		if ev, ok := known[c.ID]; ok {
			return ev
		}
		ev := FromMetric(c.Type, change(c.Type, metricOf(c.Type, column(rows, c.ID))), int64(len(rows)))
		known[c.ID] = ev
		return ev
	})
}

func judge(t *testing.T, seed uint64, e expr.Expr, rows []map[int]any, v expr.Verdict) {
	t.Helper()
	for _, row := range rows {
		if got := selected(e, row); v == expr.None && got || v == expr.All && !got {
			t.Errorf("seed %d: %s is %v of %v, the verdict was %v (None %v, All %v)", seed, e, got, row, v, expr.None, expr.All)
		}
	}
}

// file is a model of a data file: its rows share one partition.
type file struct {
	rows  []map[int]any
	tuple map[int]expr.Literal
}

// Random specs, rows and filters: with each kind of pruning alone and with all together the same rows are selected.
func TestP1_PrunedRowsAreUnprunedRows(t *testing.T) {
	t.Parallel()
	transforms := []string{"identity", "bucket[3]", "truncate[2]", "truncate[10]", "year", "month", "day", "hour", "void", "zorder"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		var spec []map[string]any
		plain := newWorld(t)
		for i := range r.IntN(4) {
			source := r.IntN(len(plain.cols))
			tr := transforms[r.IntN(len(transforms))]
			if _, ok := transform.Parse(tr).Apply(expr.Literal{Type: plain.cols[source].Type, Value: exprtest.Random(r, plain.cols[source].Type)}); ok || tr == "zorder" {
				spec = append(spec, field(plain.ids[source], 1000+i, fmt.Sprintf("p%d", i), tr))
			}
		}
		if spec == nil {
			spec = []map[string]any{}
		}
		w := newWorld(t, spec)
		for range 25 {
			w.checkPruning(t, seed, r)
		}
	}
}

func (w world) checkPruning(t *testing.T, seed uint64, r *rand.Rand) {
	spec := w.table.Spec(0)
	e := w.filter(t, r)
	f := New(e, w.table, w.table.Current())
	files := w.split(r, spec, w.rows(r, 1+r.IntN(8)))
	m := summaries(w.table, spec, files)
	if r.IntN(6) == 0 {
		m.Partitions = nil
	}
	keepManifest := f.Manifest(spec, &m)
	for _, file := range files {
		residual := f.Residual(spec, file.tuple)
		v := Evaluate(residual, func(c expr.Column) Evidence {
			return FromMetric(c.Type, weaken(r, c.Type, metricOf(c.Type, column(file.rows, c.ID))), int64(len(file.rows)))
		})
		for _, row := range file.rows {
			want := selected(e, row)
			if want && !keepManifest {
				t.Errorf("seed %d: %s selects %v, but its manifest was skipped", seed, e, row)
			}
			if got := selected(residual, row); got != want {
				t.Errorf("seed %d: %s is %v of %v in partition %v, its residual %s is %v", seed, e, want, row, file.tuple, residual, got)
			}
			if v == expr.None && want || v == expr.All && !want {
				t.Errorf("seed %d: %s is %v of %v, the file's verdict was %v", seed, e, want, row, v)
			}
		}
	}
}

// split groups rows into files by their partition, sometimes by the partition that an old writer would have given.
func (w world) split(r *rand.Rand, spec *meta.Spec, rows []map[int]any) []file {
	var files []file
	byKey := map[string]int{}
	for _, row := range rows {
		tuple, key := map[int]expr.Literal{}, ""
		for _, p := range spec.Fields {
			src, _ := w.table.Field(p.Sources[0])
			v, ok := p.Transform.Apply(expr.Literal{Type: src.Type.Arrow(), Value: row[p.Sources[0]]})
			if !ok && p.Transform.Kind != transform.Unknown {
				return files // the value has no partition: no such row
			}
			if n, isInt := v.Value.(int64); isInt && n < 0 && p.Transform.Kind >= transform.Year && p.Transform.Kind <= transform.Hour && src.Type.Kind != meta.Date && r.IntN(2) == 0 {
				v.Value = n + 1
			}
			if p.Transform.Kind == transform.Void {
				continue
			}
			tuple[p.FieldID] = v
			key += fmt.Sprintf("%v|", v.Value)
		}
		i, ok := byKey[key]
		if !ok {
			i = len(files)
			byKey[key] = i
			files = append(files, file{tuple: tuple})
		}
		files[i].rows = append(files[i].rows, row)
	}
	return files
}

// summaries are the partition summaries of a manifest of these files.
func summaries(m *meta.Metadata, spec *meta.Spec, files []file) manifest.File {
	out := manifest.File{Partitions: []manifest.Summary{}}
	for _, p := range spec.Fields {
		t := manifest.PartitionType(m, nil, p)
		var values []any
		for _, f := range files {
			values = append(values, f.tuple[p.FieldID].Value)
		}
		if t == nil {
			out.Partitions = append(out.Partitions, manifest.Summary{ContainsNull: true, ContainsNaN: manifest.Unsaid})
			continue
		}
		metric := metricOf(t, values)
		s := manifest.Summary{ContainsNull: metric.Nulls > 0, ContainsNaN: manifest.No, Lower: metric.Lower, Upper: metric.Upper}
		if metric.NaNs > 0 {
			s.ContainsNaN = manifest.Yes
		}
		out.Partitions = append(out.Partitions, s)
	}
	return out
}

func bound(t testing.TB, m *meta.Metadata, text string) expr.Expr {
	t.Helper()
	e, err := expr.Bind(expr.MustParse(text), m.Current().Arrow(), expr.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestL29_AbsentCountsAreUnknown(t *testing.T) {
	t.Parallel()
	m := makeTable(t)
	eight := encode(arrow.PrimitiveTypes.Int32, int64(8))
	for _, c := range []struct {
		filter string
		metric manifest.Metric
		want   expr.Verdict
	}{
		{"c2 <> 8", manifest.Metric{Values: 3, Nulls: 2, NaNs: -1, Lower: eight, Upper: eight}, expr.None},
		{"c2 = 8", manifest.Metric{Values: 3, Nulls: 2, NaNs: -1, Lower: eight, Upper: eight}, expr.Some},
		{"c2 NOT IN (8, 9)", manifest.Metric{Values: 3, Nulls: 2, NaNs: -1, Lower: eight, Upper: eight}, expr.None},
		{"c2 NOT IN (7, 9)", manifest.Metric{Values: 3, Nulls: 2, NaNs: -1, Lower: eight, Upper: eight}, expr.Some},
		{"c2 NOT IN (7, 9)", manifest.Metric{Values: 3, Nulls: 0, NaNs: -1, Lower: eight, Upper: eight}, expr.All},
		{"c2 = 8", manifest.Metric{Values: -1, Nulls: -1, NaNs: -1, Lower: eight, Upper: eight}, expr.Some},
		{"c2 = 8", manifest.Metric{Values: -1, Nulls: 0, NaNs: -1, Lower: eight, Upper: eight}, expr.All},
		{"c2 IS NULL", manifest.Metric{Values: -1, Nulls: -1, NaNs: -1}, expr.Some},
		{"c2 IS NULL", manifest.Metric{Values: 3, Nulls: 0, NaNs: -1}, expr.None},
		{"c2 IS NULL", manifest.Metric{Values: 3, Nulls: 3, NaNs: -1}, expr.All},
		{"c2 IS NULL", manifest.Metric{Values: -1, Nulls: 3, NaNs: -1}, expr.Some},
		{"c2 = 5", manifest.Metric{Values: 3, Nulls: 3, NaNs: -1}, expr.None},
		{"c2 IS NULL", manifest.Metric{Values: 0, Nulls: 0, NaNs: -1}, expr.Some}, // contradicts three rows
		{"c5 > 1.5", manifest.Metric{Values: 3, Nulls: 0, NaNs: -1, Upper: encode(arrow.PrimitiveTypes.Float64, 1.0)}, expr.Some},
		{"c5 > 1.5", manifest.Metric{Values: 3, Nulls: 0, NaNs: 0, Upper: encode(arrow.PrimitiveTypes.Float64, 1.0)}, expr.None},
		{"c5 < 1.5", manifest.Metric{Values: 3, Nulls: 1, NaNs: 2}, expr.None},
		{"c5 IS NAN", manifest.Metric{Values: 3, Nulls: 0, NaNs: -1}, expr.Some},
		{"c5 IS NAN", manifest.Metric{Values: 3, Nulls: 0, NaNs: 0}, expr.None},
	} {
		e := bound(t, m, c.filter)
		got := Evaluate(e, func(col expr.Column) Evidence { return FromMetric(col.Type, c.metric, 3) })
		if got != c.want {
			t.Errorf("%s with %+v: %v, want %v", c.filter, c.metric, got, c.want)
		}
	}
}

// Uuid bounds are 16 big-endian bytes, compared unsigned; binary and fixed likewise.
func TestL27_BytesCompareUnsigned(t *testing.T) {
	t.Parallel()
	m := makeTable(t, []map[string]any{field(14, 1000, "u", "identity"), field(16, 1001, "b", "identity"), field(15, 1002, "f", "identity")})
	low := append([]byte{0x7f}, make([]byte, 15)...)
	high := append([]byte{0x80}, make([]byte, 15)...)
	for _, c := range []struct {
		filter       string
		lower, upper []byte
		want         expr.Verdict
	}{
		{"c14 = UUID '80000000-0000-0000-0000-000000000000'", high, high, expr.All},
		{"c14 >= UUID '80000000-0000-0000-0000-000000000000'", low, low, expr.None},
		{"c14 >= UUID '80000000-0000-0000-0000-000000000000'", high, high, expr.All},
		{"c14 < UUID '80000000-0000-0000-0000-000000000000'", low, low, expr.All},
		{"c14 < UUID '80000000-0000-0000-0000-000000000000'", low, high, expr.Some},
		{"c14 < UUID '80000000-0000-0000-0000-000000000000'", high[:17-1], append(high, 0), expr.None}, // an upper bound of 17 bytes is dropped
		{"c16 >= X'ff'", []byte{0}, []byte{0x7f}, expr.None},
		{"c16 >= X'00'", []byte{0}, []byte{0xff}, expr.All},
		{"c15 = X'00ff'", []byte{0, 0xff}, []byte{0, 0xff}, expr.All},
	} {
		e := bound(t, m, c.filter)
		metric := manifest.Metric{Values: 2, Nulls: 0, NaNs: -1, Lower: c.lower, Upper: c.upper}
		if got := Evaluate(e, func(col expr.Column) Evidence { return FromMetric(col.Type, metric, 2) }); got != c.want {
			t.Errorf("%s in [%x, %x]: %v, want %v", c.filter, c.lower, c.upper, got, c.want)
		}
	}
	f := New(bound(t, m, "c16 = X'00ff' AND c15 = X'ff00'"), m, m.Current())
	yes := map[int]expr.Literal{1001: {Type: arrow.BinaryTypes.Binary, Value: []byte{0, 0xff}}, 1002: {Type: &arrow.FixedSizeBinaryType{ByteWidth: 2}, Value: []byte{0xff, 0}}}
	if got := f.Residual(m.Spec(0), yes); got != expr.Bool(true) {
		t.Errorf("residual %v", got)
	}
	yes[1001] = expr.Literal{Type: arrow.BinaryTypes.Binary, Value: []byte{0}}
	if got := f.Residual(m.Spec(0), yes); got != expr.Bool(false) {
		t.Errorf("residual %v", got)
	}
}

// Decimal bounds are two's complement, big-endian, of any length.
func TestL26_DecimalBounds(t *testing.T) {
	t.Parallel()
	dec := &arrow.Decimal128Type{Precision: 38, Scale: 10}
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{[]byte{0}, "0"},
		{[]byte{0xff}, "-1"},
		{[]byte{0, 0, 0, 5}, "5"},
		{[]byte{0xff, 0xff, 0x38}, "-200"},
		{[]byte{0x7f, 0xff}, "32767"},
		{append([]byte{0x80}, make([]byte, 15)...), "-170141183460469231731687303715884105728"},
	} {
		l, ok := Bound(dec, c.b)
		if !ok || l.Value.(*big.Int).String() != c.want {
			t.Errorf("%x: %v %v, want %s", c.b, l.Value, ok, c.want)
		}
	}
	for _, b := range [][]byte{nil, {}, make([]byte, 17)} {
		if l, ok := Bound(dec, b); ok {
			t.Errorf("%x: %v", b, l.Value)
		}
	}
}

func TestBoundsOfWidenedColumns(t *testing.T) {
	t.Parallel()
	le32, le64 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }, func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	ns, us := &arrow.TimestampType{Unit: arrow.Nanosecond}, &arrow.TimestampType{Unit: arrow.Microsecond}
	for _, c := range []struct {
		t    arrow.DataType
		b    []byte
		want any
	}{
		{arrow.PrimitiveTypes.Int64, le32(math.MaxUint32), int64(-1)},
		{arrow.PrimitiveTypes.Int64, le64(7), int64(7)},
		{arrow.PrimitiveTypes.Int32, le64(7), nil},
		{arrow.PrimitiveTypes.Float64, le32(math.Float32bits(1.5)), 1.5},
		{arrow.PrimitiveTypes.Float32, le64(0), nil},
		{us, le32(2), int64(2 * 86400e6)},
		{ns, le32(math.MaxUint32), int64(-86400e9)},
		{us, le64(9), int64(9)},
		{arrow.FixedWidthTypes.Date32, le32(9), int64(9)},
		{arrow.FixedWidthTypes.Date32, le64(9), nil},
		{arrow.PrimitiveTypes.Float64, le64(math.Float64bits(math.NaN())), nil},
		{arrow.FixedWidthTypes.Boolean, []byte{1}, true},
		{arrow.FixedWidthTypes.Boolean, []byte{0, 0}, nil},
		{arrow.BinaryTypes.String, []byte{}, ""},
		{arrow.BinaryTypes.String, nil, nil},
		{arrow.FixedWidthTypes.Time64us, le64(3), int64(3)},
		{arrow.Null, le64(3), nil},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, []byte{1, 2, 3}, nil},
	} {
		l, ok := Bound(c.t, c.b)
		if ok != (c.want != nil) || ok && l.Value != c.want {
			t.Errorf("%s %x: %v %v, want %v", c.t, c.b, l.Value, ok, c.want)
		}
	}
	e := FromMetric(arrow.PrimitiveTypes.Int64, manifest.Metric{Values: -1, Nulls: -1, NaNs: -1, Lower: le64(9), Upper: le64(3)}, 5)
	if e.Lower.Value != nil || e.Upper.Value != nil {
		t.Errorf("bounds that cross were kept: %+v", e)
	}
}

// Timestamps at the edges of partitions, one microsecond before and after: the partition that holds the value is kept.
func TestL32_TimestampsAtPartitionEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ transform, edge string }{{"year", "2021-01-01 00:00:00"}, {"month", "2021-03-01 00:00:00"}, {"day", "2021-03-28 00:00:00"}, {"hour", "2021-03-28 02:00:00"}, {"day", "1969-12-31 00:00:00"}, {"hour", "1970-01-01 00:00:00"}} {
		for source, name := range map[int]string{10: "TIMESTAMP", 11: "TIMESTAMPTZ"} {
			m := makeTable(t, []map[string]any{field(source, 1000, "p", c.transform)})
			edge := bound(t, m, fmt.Sprintf("c%d = %s '%s%s'", source, name, c.edge, map[int]string{10: "", 11: "Z"}[source])).(expr.Compare).Lit
			for off := int64(-1); off <= 1; off++ {
				v := expr.Literal{Type: edge.Type, Value: edge.Value.(int64) + off}
				p, _ := transform.Parse(c.transform).Apply(v)
				for op := expr.EQ; op <= expr.GE; op++ {
					for lit := int64(-1); lit <= 1; lit++ {
						e := expr.Compare{Op: op, Col: expr.Column{Path: []string{"x"}, ID: source, Type: edge.Type}, Lit: expr.Literal{Type: edge.Type, Value: edge.Value.(int64) + lit}}
						residual := New(e, m, m.Current()).Residual(m.Spec(0), map[int]expr.Literal{1000: p})
						row := map[int]any{source: v.Value}
						if selected(e, row) != selected(residual, row) {
							t.Errorf("%s(%s%+d): %s became %s", c.transform, c.edge, off, e, residual)
						}
					}
				}
			}
		}
	}
}

// Spec (r, s): summaries of r lie far above those of s. r is dropped from the schema; its slot stays.
func TestL34_DroppedSourceKeepsItsSlot(t *testing.T) {
	t.Parallel()
	spec := []any{
		map[string]any{"source-id": 1, "field-id": 1000, "name": "r", "transform": "identity"},
		map[string]any{"source-id": 2, "field-id": 1001, "name": "s", "transform": "identity"},
		map[string]any{"source-id": 3, "field-id": 1002, "name": "t", "transform": "identity"},
	}
	f := func(id int, name string) any {
		return map[string]any{"id": id, "name": name, "required": false, "type": "int"}
	}
	doc, _ := json.Marshal(map[string]any{
		"format-version": 2, "location": "x", "current-schema-id": 1, "default-spec-id": 0,
		"schemas": []any{
			map[string]any{"type": "struct", "schema-id": 0, "fields": []any{f(1, "r"), f(2, "s"), f(3, "t")}},
			map[string]any{"type": "struct", "schema-id": 1, "fields": []any{f(1, "r"), f(3, "t")}},
			map[string]any{"type": "struct", "schema-id": 2, "fields": []any{f(2, "s"), f(3, "t")}},
		},
		"partition-specs": []any{map[string]any{"spec-id": 0, "fields": spec}},
	})
	m, err := meta.Parse(doc, "t")
	if err != nil {
		t.Fatal(err)
	}
	four := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	file := &manifest.File{Partitions: []manifest.Summary{{Lower: four(1000), Upper: four(2000)}, {Lower: four(1), Upper: four(9)}, {Lower: four(50), Upper: four(60)}}}
	for _, c := range []struct {
		schema int
		filter string
		keep   bool
	}{{2, "s = 5", true}, {2, "s = 1500", false}, {2, "t = 55", true}, {1, "t = 55", true}, {1, "t = 5", false}, {1, "r = 1500", true}, {1, "r = 5", false}} {
		s := m.Schema(c.schema)
		e, err := expr.Bind(expr.MustParse(c.filter), s.Arrow(), expr.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := New(e, m, s).Manifest(m.Spec(0), file); got != c.keep {
			t.Errorf("schema %d, %s: kept %v", c.schema, c.filter, got)
		}
	}
	short := &manifest.File{Partitions: file.Partitions[1:]}
	if e, _ := expr.Bind(expr.MustParse("s = 1500"), m.Schema(2).Arrow(), expr.BindOptions{}); !New(e, m, m.Schema(2)).Manifest(m.Spec(0), short) {
		t.Error("pruned by slots that cannot be told")
	}
}

func TestL35_SourcesInsideStructs(t *testing.T) {
	t.Parallel()
	m := makeTable(t, []map[string]any{field(51, 1000, "s.ts_year", "year"), field(52, 1001, "s.user.id_bucket", "bucket[4]")})
	e := bound(t, m, `s.ts >= TIMESTAMP '2021-01-01 00:00:00' AND s."user.id" = 'ann'`)
	f := New(e, m, m.Current())
	bucket, _ := transform.Parse("bucket[4]").Apply(expr.Lit("ann"))
	tuple := func(year int64, b int64) map[int]expr.Literal {
		return map[int]expr.Literal{1000: {Type: arrow.PrimitiveTypes.Int32, Value: year}, 1001: {Type: arrow.PrimitiveTypes.Int32, Value: b}}
	}
	if r := f.Residual(m.Spec(0), tuple(50, bucket.Value.(int64))); r != expr.Bool(false) {
		t.Errorf("2020: %v", r)
	}
	if r := f.Residual(m.Spec(0), tuple(51, (bucket.Value.(int64)+1)%4)); r != expr.Bool(false) {
		t.Errorf("another bucket: %v", r)
	}
	if r := f.Residual(m.Spec(0), tuple(51, bucket.Value.(int64))); r.String() != `s."user.id" = 'ann'` {
		t.Errorf("residual %v", r)
	}
	if got := f.Columns(); len(got) != 2 || got[0] != 51 || got[1] != 52 {
		t.Errorf("columns %v", got)
	}
}

// An unpartitioned file mixes dt a and b; files after identity(dt) do not; month to day.
func TestL37_ResidualFollowsTheFilesOwnSpec(t *testing.T) {
	t.Parallel()
	m := makeTable(t, []map[string]any{}, []map[string]any{field(13, 1000, "dt", "identity")}, []map[string]any{field(10, 1001, "m", "month")}, []map[string]any{field(10, 1002, "d", "day")})
	f := New(bound(t, m, "c13 = 'a'"), m, m.Current())
	a := expr.Literal{Type: arrow.BinaryTypes.String, Value: "a"}
	if r := f.Residual(m.Spec(0), nil); r == nil || r.String() != "c13 = 'a'" {
		t.Errorf("unpartitioned: %v", r)
	}
	if r := f.Residual(m.Spec(1), map[int]expr.Literal{1000: a}); r != expr.Bool(true) {
		t.Errorf("dt=a: %v", r)
	}
	if r := f.Residual(m.Spec(1), map[int]expr.Literal{1000: {Type: a.Type, Value: "b"}}); r != expr.Bool(false) {
		t.Errorf("dt=b: %v", r)
	}
	if r := f.Residual(m.Spec(1), map[int]expr.Literal{1000: {Type: a.Type}}); r != expr.Bool(false) {
		t.Errorf("dt=null: %v", r)
	}
	g := New(bound(t, m, "c10 >= TIMESTAMP '2021-03-15 00:00:00'"), m, m.Current())
	month := expr.Literal{Type: arrow.PrimitiveTypes.Int32, Value: int64(51*12 + 2)}
	if r := g.Residual(m.Spec(2), map[int]expr.Literal{1001: month}); r == expr.Bool(true) || r == expr.Bool(false) {
		t.Errorf("month of March: %v", r)
	}
	day := expr.Literal{Type: arrow.FixedWidthTypes.Date32, Value: int64(18701)} // 2021-03-15
	if r := g.Residual(m.Spec(3), map[int]expr.Literal{1002: day}); r != expr.Bool(true) {
		t.Errorf("day of 15 March: %v", r)
	}
}

func TestUnusedPartsAreNamed(t *testing.T) {
	t.Parallel()
	m := makeTable(t)
	f := New(bound(t, m, "c13 LIKE '%x' AND c2 = 5 AND c13 LIKE 'a%b' AND c2 < c3"), m, m.Current())
	got := ""
	for _, e := range f.Unused() {
		got += e.String() + ";"
	}
	if got != "c13 LIKE '%x';c2 < c3;" {
		t.Error(got)
	}
}

// FuzzBound: no bytes make a panic, and what is decoded is of the type that comparisons need.
func FuzzBound(f *testing.F) {
	m := makeTable(f)
	f.Add([]byte{1, 2, 3, 4})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, c := range m.Current().Fields[:len(typeNames)] {
			typ := c.Type.Arrow()
			if l, ok := Bound(typ, b); ok {
				l.Compare(l)
			}
			FromMetric(typ, manifest.Metric{Lower: b, Upper: b, Values: 1}, 1)
		}
	})
}

// A date's bound that does not fit the timestamp which the column became is no bound.
func TestBoundOfAPromotedDateThatOverflows(t *testing.T) {
	t.Parallel()
	for days, ok := range map[int32]bool{0: true, 106_751: true, 106_752: false, -106_751: true, -106_753: false, math.MaxInt32: false, math.MinInt32: false} {
		b := binary.LittleEndian.AppendUint32(nil, uint32(days))
		l, got := Bound(arrow.FixedWidthTypes.Timestamp_ns, b)
		if got != ok || ok && l.Value.(int64) != int64(days)*86400*1e9 {
			t.Errorf("day %d: %v, %v", days, l.Value, got)
		}
		if l, got := Bound(arrow.FixedWidthTypes.Timestamp_us, b); days != math.MaxInt32 && days != math.MinInt32 && !got || got && l.Value.(int64) != int64(days)*86400*1e6 {
			t.Errorf("day %d in microseconds: %v, %v", days, l.Value, got)
		}
	}
}
