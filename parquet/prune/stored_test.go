package prune

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cespare/xxhash/v2"
	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/parquet/schema"
	"github.com/lakescan/lakescan/parquet/thrift"
)

func le32(v int32) []byte  { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func le64(v int64) []byte  { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
func f32(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }
func f64(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

// twos is the big-endian two's complement of v in n bytes.
func twos(v int64, n int) []byte {
	b := bytes.Repeat([]byte{byte(v >> 63)}, n)
	for i := 0; i < min(n, 8); i++ {
		b[n-1-i] = byte(v >> (8 * i))
	}
	return b
}

// plainPage joins PLAIN values.
func plainPage(p thrift.Type, values [][]byte) []byte {
	var out []byte
	for _, v := range values {
		if p == thrift.ByteArray {
			out = append(out, le32(int32(len(v)))...)
		}
		out = append(out, v...)
	}
	return out
}

// bloomOf builds header and bits of a filter of n blocks, written from BloomFilter.md and not from the code under test.
func bloomOf(n int, values [][]byte) []byte {
	// Header: 1: i32 numBytes, 2: union{1: struct BLOCK}, 3: union{1: XXHASH}, 4: union{1: UNCOMPRESSED}.
	head := []byte{0x15}
	head = binary.AppendUvarint(head, uint64(2*32*n))
	for range 3 {
		head = append(head, 0x1c, 0x1c, 0x00, 0x00)
	}
	head = append(head, 0x00)
	salts := []uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
	words := make([]uint32, 8*n)
	for _, v := range values {
		h := xxhash.Sum64(v)
		block := int((h >> 32) * uint64(n) >> 32)
		for i, s := range salts {
			words[8*block+i] |= 1 << (uint32(h) * s >> 27)
		}
	}
	for _, w := range words {
		head = binary.LittleEndian.AppendUint32(head, w)
	}
	return head
}

// evidence is every kind of evidence about one chunk with the given stored values, in rising order.
func evidence(t testing.TB, c Column, values [][]byte) *Chunk {
	t.Helper()
	bloom, err := NewBloom(bloomOf(4, values))
	if err != nil {
		t.Fatal(err)
	}
	offsets, index := &thrift.OffsetIndex{}, &thrift.ColumnIndex{Boundary: thrift.Ascending}
	for i, v := range values {
		offsets.Pages = append(offsets.Pages, thrift.PageLocation{Offset: int64(4 + 10*i), Size: 10, FirstRow: int64(i)})
		index.NullPages = append(index.NullPages, false)
		index.MinValues, index.MaxValues = append(index.MinValues, v), append(index.MaxValues, v)
		index.NullCounts = append(index.NullCounts, 0)
	}
	if err := CheckOffsets(offsets, 4, int64(10*len(values)), int64(len(values))); err != nil {
		t.Fatal(err)
	}
	pages, err := NewPages(c, offsets, index, int64(len(values)))
	if err != nil {
		t.Fatal(err)
	}
	dict := NewDictionary(c, plainPage(c.Node.Physical, values), len(values))
	if dict == nil {
		t.Fatal("no dictionary")
	}
	return &Chunk{Column: c, Pages: pages, Dictionary: dict, Bloom: bloom, Statistics: &thrift.Statistics{
		MinValue: values[0], MaxValue: values[len(values)-1], NullCount: 0, NaNCount: -1,
	}}
}

// checkEvidence runs predicates through every subset of the evaluators: no wrong proof, and statistics prove what lies outside.
func checkEvidence(t *testing.T, c *Chunk, typ arrow.DataType, values []any, lits []any) {
	t.Helper()
	col := expr.Column{ID: 1, Path: []string{"c"}, Type: typ}
	for _, l := range lits {
		lit := expr.Literal{Type: typ, Value: l}
		preds := []expr.Expr{expr.In{Col: col, Lits: []expr.Literal{lit}}, expr.In{Col: col, Lits: []expr.Literal{lit}, Negated: true}}
		for op := expr.EQ; op <= expr.GE; op++ {
			preds = append(preds, expr.Compare{Op: op, Col: col, Lit: lit})
		}
		for _, e := range preds {
			any := slices.ContainsFunc(values, func(v any) bool { return matches(e, v) })
			for bits := range 16 {
				off := Off{Statistics: bits&1 > 0, PageIndex: bits&2 > 0, Dictionary: bits&4 > 0, Bloom: bits&8 > 0}
				res := Group(e, int64(len(values)), func(int) *Chunk { return c }, off)
				proves(t, e, values, res.Verdict, fmt.Sprintf("%+v", off))
				for i, v := range values {
					if matches(e, v) && !res.Rows.Contains(int64(i)) {
						t.Fatalf("%s, %+v: row %d (%v) lost", e, off, i, v)
					}
				}
				if !off.Dictionary && !any && res.Verdict != expr.None {
					t.Errorf("%s on %v: the dictionary must prove None, got %s", e, values, verdictName(res.Verdict))
				}
			}
		}
	}
}

func TestL26_DecimalsInFourPhysicalTypes(t *testing.T) {
	t.Parallel()
	typ := &arrow.Decimal128Type{Precision: 9, Scale: 2}
	logical := thrift.Logical{Kind: thrift.LogicalDecimal, Precision: 9, Scale: 2}
	values := []int64{-999999999, -256, 0, 255, 999999999}
	lits := []any{
		big.NewInt(-1_000_000_000), big.NewInt(-999999999), big.NewInt(-1), big.NewInt(0), big.NewInt(255), big.NewInt(256),
		big.NewInt(999999999), big.NewInt(1 << 40), new(big.Int).Lsh(big.NewInt(-1), 100),
	}
	forms := map[string]struct {
		element thrift.SchemaElement
		store   func(int64) []byte
	}{
		"INT32":      {thrift.SchemaElement{Type: thrift.Int32}, func(v int64) []byte { return le32(int32(v)) }},
		"INT64":      {thrift.SchemaElement{Type: thrift.Int64}, le64},
		"FIXED(4)":   {thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 4}, func(v int64) []byte { return twos(v, 4) }},
		"FIXED(16)":  {thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 16}, func(v int64) []byte { return twos(v, 16) }},
		"BYTE_ARRAY": {thrift.SchemaElement{Type: thrift.ByteArray}, func(v int64) []byte { return twos(v, 5) }},
	}
	for name, f := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.element.Logical, f.element.Repetition = logical, thrift.Optional
			c := leafOf(t, f.element, typ)
			var stored [][]byte
			var want []any
			for _, v := range values {
				stored, want = append(stored, f.store(v)), append(want, big.NewInt(v))
			}
			checkEvidence(t, evidence(t, c, stored), typ, want, lits)
			stats := c.Metrics(thrift.Statistics{MinValue: stored[0], MaxValue: stored[4], NullCount: 0, NaNCount: -1}, 5)
			if stats.Lower.Value.(*big.Int).Int64() != values[0] || stats.Upper.Value.(*big.Int).Int64() != values[4] {
				t.Errorf("bounds %v %v", stats.Lower.Value, stats.Upper.Value)
			}
		})
	}
}

func TestL27_UUIDAndBinaryBoundsAreUnsignedBytes(t *testing.T) {
	t.Parallel()
	uuid := func(first byte) []byte { return append([]byte{first}, make([]byte, 15)...) }
	cases := map[string]struct {
		element thrift.SchemaElement
		typ     arrow.DataType
		values  [][]byte
	}{
		"uuid": {
			thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 16, Logical: thrift.Logical{Kind: thrift.LogicalUUID}},
			&arrow.FixedSizeBinaryType{ByteWidth: 16},
			[][]byte{uuid(0x01), uuid(0x7f), uuid(0x80), uuid(0xff)},
		},
		"fixed": {
			thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 2},
			&arrow.FixedSizeBinaryType{ByteWidth: 2},
			[][]byte{{0, 0}, {0, 0xff}, {0x7f, 0}, {0x80, 0}, {0xff, 0}},
		},
		"binary": {thrift.SchemaElement{Type: thrift.ByteArray}, arrow.BinaryTypes.Binary, [][]byte{{}, {0}, {0, 0xff}, {0x80}, {0xff, 0}}},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.element.Repetition = thrift.Optional
			c := leafOf(t, f.element, f.typ)
			var all, half []any
			for _, v := range f.values {
				all = append(all, v)
			}
			checkEvidence(t, evidence(t, c, f.values), f.typ, all, all)
			// Only the upper half lies in the chunk: the lower half must not be found there, and the reverse.
			n := len(f.values) / 2
			half = all[n:]
			checkEvidence(t, evidence(t, c, f.values[n:]), f.typ, half, all)
			// The deprecated statistics were kept in the order of signed bytes.
			m := c.Metrics(thrift.Statistics{Min: f.values[0], Max: f.values[1], NullCount: 0, NaNCount: -1}, 2)
			if m.Lower.Value != nil || m.Upper.Value != nil {
				t.Error("deprecated bounds of bytes were used")
			}
		})
	}
}

func TestL29_AbsentCountsAreUnknown(t *testing.T) {
	t.Parallel()
	typ := arrow.PrimitiveTypes.Int64
	c := leafOf(t, optional(thrift.Int64), typ)
	col := expr.Column{ID: 1, Type: typ}
	lit := func(v int64) expr.Literal { return expr.Literal{Type: typ, Value: v} }
	preds := map[string]expr.Expr{
		"<> 8":          expr.Compare{Op: expr.NE, Col: col, Lit: lit(8)},
		"NOT IN (8, 9)": expr.In{Col: col, Negated: true, Lits: []expr.Literal{lit(8), lit(9)}},
		"= 8":           expr.Compare{Op: expr.EQ, Col: col, Lit: lit(8)},
		"<> 7":          expr.Compare{Op: expr.NE, Col: col, Lit: lit(7)},
		"IS NULL":       expr.IsNull{Col: col},
		"IS NOT NULL":   expr.IsNull{Col: col, Negated: true},
	}
	eights := thrift.Statistics{MinValue: le64(8), MaxValue: le64(8), NaNCount: -1}
	cases := []struct {
		name  string
		nulls int64
		want  map[string]expr.Verdict
	}{
		{"count absent", -1, map[string]expr.Verdict{"<> 8": expr.None, "NOT IN (8, 9)": expr.None}},
		{"two nulls", 2, map[string]expr.Verdict{"<> 8": expr.None, "NOT IN (8, 9)": expr.None}},
		{"no null", 0, map[string]expr.Verdict{
			"<> 8": expr.None, "NOT IN (8, 9)": expr.None, "= 8": expr.All, "<> 7": expr.All,
			"IS NULL": expr.None, "IS NOT NULL": expr.All,
		}},
		{"more nulls than rows", 4, map[string]expr.Verdict{"<> 8": expr.None, "NOT IN (8, 9)": expr.None}},
	}
	for _, k := range cases {
		for name, e := range preds {
			s := eights
			s.NullCount = k.nulls
			res := Group(e, 3, func(int) *Chunk { return &Chunk{Column: c, Statistics: &s} }, Off{})
			if res.Verdict != k.want[name] {
				t.Errorf("%s, %s: want %s, got %s", k.name, name, verdictName(k.want[name]), verdictName(res.Verdict))
			}
		}
	}
	// Only an all-null chunk proves a negative comparison false without bounds.
	none := thrift.Statistics{NullCount: 3, NaNCount: -1}
	if v := Group(preds["<> 7"], 3, func(int) *Chunk { return &Chunk{Column: c, Statistics: &none} }, Off{}).Verdict; v != expr.None {
		t.Errorf("all null: %s", verdictName(v))
	}
	// A required column has no null even if nobody counted.
	required := leafOf(t, thrift.SchemaElement{Type: thrift.Int64}, typ)
	if v := Group(preds["IS NULL"], 3, func(int) *Chunk { return &Chunk{Column: required} }, Off{}).Verdict; v != expr.None {
		t.Errorf("required: %s", verdictName(v))
	}
}

func TestL31_BloomFilterOfItsOwnChunkAndType(t *testing.T) {
	t.Parallel()
	typ := arrow.PrimitiveTypes.Int64 // the table's type; the files store INT32
	c := leafOf(t, optional(thrift.Int32), typ)
	eq := func(v int64) expr.Expr {
		return expr.Compare{Op: expr.EQ, Col: expr.Column{ID: 1, Type: typ}, Lit: expr.Literal{Type: typ, Value: v}}
	}
	var filters []*Bloom
	for g := range 100 {
		var stored [][]byte
		for i := range 50 {
			stored = append(stored, le32(int32(1000*g+i)))
		}
		f, err := NewBloom(bloomOf(8, stored))
		if err != nil {
			t.Fatal(err)
		}
		filters = append(filters, f)
	}
	verdict := func(g int, e expr.Expr, off Off) expr.Verdict {
		return Group(e, 50, func(int) *Chunk { return &Chunk{Column: c, Bloom: filters[g]} }, off).Verdict
	}
	skipped := 0
	for g := range filters {
		for v := range int64(50) {
			if verdict(g, eq(int64(1000*g)+v), Off{}) != expr.Some {
				t.Fatalf("row group %d: its own value %d was not found", g, v)
			}
		}
		if verdict(g, eq(73_010), Off{}) == expr.None {
			skipped++
		}
		if verdict(g, eq(73_010), Off{Bloom: true}) != expr.Some {
			t.Fatal("switched off, a filter must not prove anything")
		}
	}
	if skipped < 90 {
		t.Errorf("only %d of 99 row groups were skipped", skipped)
	}
	if verdict(73, eq(1<<40), Off{}) != expr.None {
		t.Error("a long that no int can hold is in no int file")
	}
	if verdict(73, expr.Compare{Op: expr.GT, Col: expr.Column{ID: 1}, Lit: expr.Literal{Type: typ, Value: int64(5)}}, Off{}) != expr.Some {
		t.Error("a Bloom filter knows no order")
	}
	good := bloomOf(8, nil)
	broken := map[string][]byte{
		"empty":                {},
		"cut":                  good[:len(good)-1],
		"header cut":           good[:3],
		"size not of blocks":   append([]byte{0x15, 0x42}, good[3:]...),
		"negative size":        append([]byte{0x15, 0x01}, good[3:]...),
		"another algorithm":    slices.Concat(good[:3], []byte{0x1c, 0x2c, 0, 0}, good[7:]),
		"size beyond the file": append([]byte{0x15, 0x80, 0x80, 0x80, 0x80, 0x08}, good[3:]...),
	}
	for name, b := range broken {
		if _, err := NewBloom(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Literals that some stored form can equal must be found, in every type; those that none can equal are proved absent.
func TestBloomKeysOfEveryType(t *testing.T) {
	t.Parallel()
	us, ms := &arrow.TimestampType{Unit: arrow.Microsecond}, thrift.Logical{Kind: thrift.LogicalTimestamp, Unit: thrift.Millis}
	ns := thrift.Logical{Kind: thrift.LogicalTimestamp, Unit: thrift.Nanos}
	dec := thrift.Logical{Kind: thrift.LogicalDecimal, Precision: 20, Scale: 0}
	dec20 := &arrow.Decimal128Type{Precision: 20}
	cases := []struct {
		name   string
		e      thrift.SchemaElement
		typ    arrow.DataType
		stored []byte
		equal  any
		absent any // nil = nothing can be proved
	}{
		{"int32", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, le32(-5), int64(-5), int64(6)},
		{"int32 as long", optional(thrift.Int32), arrow.PrimitiveTypes.Int64, le32(-5), int64(-5), int64(1<<32 - 5)},
		{"uint32", thrift.SchemaElement{Type: thrift.Int32, Logical: thrift.Logical{Kind: thrift.LogicalInt, BitWidth: 32}}, arrow.PrimitiveTypes.Uint32, le32(-1), uint64(math.MaxUint32), uint64(1 << 33)},
		{"uint64", thrift.SchemaElement{Type: thrift.Int64, Logical: thrift.Logical{Kind: thrift.LogicalInt, BitWidth: 64}}, arrow.PrimitiveTypes.Uint64, le64(-1), uint64(math.MaxUint64), uint64(3)},
		{"date", thrift.SchemaElement{Type: thrift.Int32, Logical: thrift.Logical{Kind: thrift.LogicalDate}}, arrow.FixedWidthTypes.Date32, le32(9), int64(9), int64(8)},
		{"date as timestamp", thrift.SchemaElement{Type: thrift.Int32, Logical: thrift.Logical{Kind: thrift.LogicalDate}}, us, le32(-2), int64(-2 * 86400e6), int64(-2*86400e6 + 1)},
		{"milliseconds as microseconds", thrift.SchemaElement{Type: thrift.Int64, Logical: ms}, us, le64(-7), int64(-7000), int64(-7001)},
		{"nanoseconds as microseconds", thrift.SchemaElement{Type: thrift.Int64, Logical: ns}, us, le64(7001), int64(7), nil},
		{"float as double", optional(thrift.Float), arrow.PrimitiveTypes.Float64, f32(0.1), float64(float32(0.1)), 0.1},
		{"negative zero", optional(thrift.Double), arrow.PrimitiveTypes.Float64, f64(math.Copysign(0, -1)), 0.0, 1.0},
		{"zero", optional(thrift.Float), arrow.PrimitiveTypes.Float32, f32(0), math.Copysign(0, -1), 1.0},
		{"NaN", optional(thrift.Double), arrow.PrimitiveTypes.Float64, f64(math.NaN()), math.NaN(), nil},
		{"decimal INT64", thrift.SchemaElement{Type: thrift.Int64, Logical: dec}, dec20, le64(-3), big.NewInt(-3), new(big.Int).Lsh(big.NewInt(1), 64)},
		{"decimal fixed", thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 9, Logical: dec}, dec20, twos(-3, 9), big.NewInt(-3), new(big.Int).Lsh(big.NewInt(-1), 72)},
		{"decimal bytes", thrift.SchemaElement{Type: thrift.ByteArray, Logical: dec}, dec20, twos(-3, 3), big.NewInt(-3), nil},
		{"string", optional(thrift.ByteArray), arrow.BinaryTypes.String, []byte("x"), "x", "y"},
		{"fixed", thrift.SchemaElement{Type: thrift.FixedLenByteArray, TypeLength: 2}, arrow.BinaryTypes.Binary, []byte("xy"), []byte("xy"), []byte("xyz")},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.e.Repetition = thrift.Optional
			c := leafOf(t, k.e, k.typ)
			f, err := NewBloom(bloomOf(16, [][]byte{k.stored}))
			if err != nil {
				t.Fatal(err)
			}
			eq := func(v any) expr.Verdict {
				return f.leaf(expr.Compare{Op: expr.EQ, Lit: expr.Literal{Type: k.typ, Value: v}}, c)
			}
			if eq(k.equal) != expr.Some {
				t.Errorf("%v is in the file", k.equal)
			}
			if k.absent != nil && eq(k.absent) != expr.None {
				t.Errorf("%v is not in the file", k.absent)
			}
			if v, ok := c.codec().value(k.stored); !ok || !relation(v, k.equal, expr.EQ) {
				t.Errorf("stored value reads as %v", v)
			}
		})
	}
}

func TestStatisticsAreUsedOnlyWhereTheirOrderIsDefined(t *testing.T) {
	t.Parallel()
	us := &arrow.TimestampType{Unit: arrow.Microsecond}
	logical := func(p thrift.Type, l thrift.Logical) thrift.SchemaElement {
		return thrift.SchemaElement{Type: p, Logical: l, Repetition: thrift.Optional, TypeLength: 12}
	}
	newer := func(low, high []byte) thrift.Statistics { return thrift.Statistics{MinValue: low, MaxValue: high} }
	older := func(low, high []byte) thrift.Statistics { return thrift.Statistics{Min: low, Max: high} }
	cases := []struct {
		name  string
		e     thrift.SchemaElement
		typ   arrow.DataType
		order thrift.Order
		s     thrift.Statistics
		lower any // nil = not to be used
		upper any
	}{
		{"int32", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, thrift.OrderType, newer(le32(-1), le32(1)), int64(-1), int64(1)},
		{"no column order", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, thrift.OrderUndefined, newer(le32(-1), le32(1)), nil, nil},
		{"deprecated, signed", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, thrift.OrderUndefined, older(le32(-1), le32(1)), int64(-1), int64(1)},
		{"deprecated, unsigned", logical(thrift.Int32, thrift.Logical{Kind: thrift.LogicalInt, BitWidth: 32}), arrow.PrimitiveTypes.Uint32, thrift.OrderType, older(le32(-1), le32(1)), nil, nil},
		{"unsigned", logical(thrift.Int32, thrift.Logical{Kind: thrift.LogicalInt, BitWidth: 32}), arrow.PrimitiveTypes.Uint32, thrift.OrderType, newer(le32(1), le32(-1)), uint64(1), uint64(math.MaxUint32)},
		{"deprecated, string", optional(thrift.ByteArray), arrow.BinaryTypes.String, thrift.OrderType, older([]byte("a"), []byte("b")), nil, nil},
		{"string", optional(thrift.ByteArray), arrow.BinaryTypes.String, thrift.OrderType, newer([]byte("a"), []byte("b")), "a", "b"},
		{"interval", logical(thrift.FixedLenByteArray, thrift.Logical{Kind: thrift.LogicalInterval}), &arrow.FixedSizeBinaryType{ByteWidth: 12}, thrift.OrderType, newer(make([]byte, 12), make([]byte, 12)), nil, nil},
		{"INT96", optional(thrift.Int96), us, thrift.OrderType, newer(make([]byte, 12), make([]byte, 12)), nil, nil},
		{"timestamp without a unit in the file", optional(thrift.Int64), us, thrift.OrderType, newer(le64(1), le64(2)), nil, nil},
		{"float", optional(thrift.Float), arrow.PrimitiveTypes.Float64, thrift.OrderType, newer(f32(-1), f32(1)), -1.0, 1.0},
		{"float in IEEE order", optional(thrift.Float), arrow.PrimitiveTypes.Float64, thrift.OrderIEEE754, newer(f32(-1), f32(1)), -1.0, 1.0},
		{"NaN bound", optional(thrift.Double), arrow.PrimitiveTypes.Float64, thrift.OrderType, newer(f64(math.NaN()), f64(1)), nil, 1.0},
		{"half", logical(thrift.FixedLenByteArray, thrift.Logical{Kind: thrift.LogicalFloat16}), arrow.FixedWidthTypes.Float16, thrift.OrderType, newer([]byte{0, 0x3c}, []byte{0, 0x40}), 1.0, 2.0},
		{"deprecated, half", logical(thrift.FixedLenByteArray, thrift.Logical{Kind: thrift.LogicalFloat16}), arrow.FixedWidthTypes.Float16, thrift.OrderType, older([]byte{0, 0x3c}, []byte{0, 0x40}), nil, nil},
		{"lower above upper", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, thrift.OrderType, newer(le32(2), le32(1)), nil, nil},
		{"wrong length", optional(thrift.Int32), arrow.PrimitiveTypes.Int32, thrift.OrderType, newer(le64(1), le32(2)), nil, int64(2)},
		{"one bound", optional(thrift.Int64), arrow.PrimitiveTypes.Int64, thrift.OrderType, newer(nil, le64(2)), nil, int64(2)},
		{"date as timestamp", logical(thrift.Int32, thrift.Logical{Kind: thrift.LogicalDate}), us, thrift.OrderType, newer(le32(-1), le32(1)), int64(-86400e6), int64(86400e6)},
		{"date beyond the timestamp", logical(thrift.Int32, thrift.Logical{Kind: thrift.LogicalDate}), &arrow.TimestampType{Unit: arrow.Nanosecond}, thrift.OrderType, newer(le32(math.MinInt32), le32(1)), nil, int64(86400e9)},
		{"nanoseconds as microseconds", logical(thrift.Int64, thrift.Logical{Kind: thrift.LogicalTimestamp, Unit: thrift.Nanos}), us, thrift.OrderType, newer(le64(-1), le64(1999)), int64(-1), int64(1)},
		{"decimal of another scale", logical(thrift.Int32, thrift.Logical{Kind: thrift.LogicalDecimal, Precision: 5, Scale: 1}), &arrow.Decimal128Type{Precision: 5, Scale: 2}, thrift.OrderType, newer(le32(1), le32(2)), nil, nil},
		{"geometry", logical(thrift.ByteArray, thrift.Logical{Kind: thrift.LogicalGeometry}), arrow.BinaryTypes.Binary, thrift.OrderType, newer([]byte("a"), []byte("b")), nil, nil},
		{"bool", optional(thrift.Boolean), arrow.FixedWidthTypes.Boolean, thrift.OrderType, newer([]byte{0}, []byte{1}), false, true},
		{"dictionary in the output", optional(thrift.ByteArray), &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, thrift.OrderType, newer([]byte("a"), []byte("b")), "a", "b"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.s.NullCount, k.s.NaNCount = -1, -1
			if k.e.Logical.Kind == thrift.LogicalFloat16 {
				k.e.TypeLength = 2
			}
			c := leafOf(t, k.e, k.typ)
			c.Order = k.order
			m := c.Metrics(k.s, 10)
			if m.Lower.Value != k.lower || m.Upper.Value != k.upper {
				t.Errorf("want %v %v, got %v %v", k.lower, k.upper, m.Lower.Value, m.Upper.Value)
			}
		})
	}
}

func TestStatisticsBelowAListAreIgnored(t *testing.T) {
	t.Parallel()
	c := leafOf(t, thrift.SchemaElement{Type: thrift.Int32, Repetition: thrift.Repeated}, arrow.PrimitiveTypes.Int32)
	m := c.Metrics(thrift.Statistics{MinValue: le32(1), MaxValue: le32(2), NullCount: 0, NaNCount: -1}, 10)
	if m != Unknown(10) {
		t.Errorf("%+v", m)
	}
}

func TestBrokenPageIndexIsIgnored(t *testing.T) {
	t.Parallel()
	c := leafOf(t, optional(thrift.Int32), arrow.PrimitiveTypes.Int32)
	sound := func() (*thrift.OffsetIndex, *thrift.ColumnIndex) {
		return &thrift.OffsetIndex{Pages: []thrift.PageLocation{{Offset: 4, Size: 10}, {Offset: 14, Size: 10, FirstRow: 5}, {Offset: 30, Size: 10, FirstRow: 8}}},
			&thrift.ColumnIndex{
				NullPages: []bool{false, true, false}, MinValues: [][]byte{le32(1), {}, le32(3)},
				MaxValues: [][]byte{le32(2), {}, le32(4)}, Boundary: thrift.Ascending, NullCounts: []int64{1, 3, 0},
			}
	}
	check := func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) error {
		if err := CheckOffsets(o, 4, 36, 10); err != nil {
			return err
		}
		_, err := NewPages(c, o, x, 10)
		return err
	}
	if err := check(sound()); err != nil {
		t.Fatal(err)
	}
	faults := map[string]func(*thrift.OffsetIndex, *thrift.ColumnIndex){
		"no pages":                 func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages = nil },
		"first row not 0":          func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[0].FirstRow = 1 },
		"rows fall":                func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[2].FirstRow = 5 },
		"rows beyond the group":    func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[2].FirstRow = 10 },
		"pages overlap":            func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[1].Offset = 13 },
		"page before the chunk":    func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[0].Offset = 3 },
		"page beyond the chunk":    func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[2].Size = 11 },
		"offset overflows":         func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[2].Offset = math.MaxInt64 - 1 },
		"no size":                  func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { o.Pages[2].Size = 0 },
		"fewer null flags":         func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NullPages = x.NullPages[:2] },
		"fewer bounds":             func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.MinValues = x.MinValues[:2] },
		"more null counts":         func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NullCounts = append(x.NullCounts, 0) },
		"order broken":             func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.MinValues[2], x.MaxValues[2] = le32(0), le32(0) },
		"other order claimed":      func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.Boundary = thrift.Descending },
		"nulls beyond the page":    func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NullCounts[0] = 6 },
		"null page with few nulls": func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NullCounts[1] = 2 },
		"negative number of nulls": func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NullCounts[0] = -1 },
		"fewer NaN counts":         func(o *thrift.OffsetIndex, x *thrift.ColumnIndex) { x.NaNCounts = []int64{0} },
	}
	for name, f := range faults {
		o, x := sound()
		f(o, x)
		if check(o, x) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// Unordered pages and a missing null count are allowed.
	o, x := sound()
	x.MinValues[2], x.MaxValues[2], x.Boundary, x.NullCounts = le32(0), le32(0), thrift.Unordered, nil
	if err := check(o, x); err != nil {
		t.Error(err)
	}
}

func TestBrokenDictionaryIsIgnored(t *testing.T) {
	t.Parallel()
	str, i32 := leafOf(t, optional(thrift.ByteArray), arrow.BinaryTypes.String), leafOf(t, optional(thrift.Int32), arrow.PrimitiveTypes.Int32)
	cases := []struct {
		name string
		c    Column
		b    []byte
		n    int
	}{
		{"more entries than bytes", i32, le32(1), 2},
		{"length cut", str, []byte{1, 0, 0}, 1},
		{"length beyond the page", str, []byte{5, 0, 0, 0, 'a'}, 1},
		{"huge length", str, []byte{0xff, 0xff, 0xff, 0xff}, 1},
		{"negative number of entries", str, nil, -1},
		{"too many entries", i32, make([]byte, 4*(MaxDictionary+1)), MaxDictionary + 1},
	}
	for _, k := range cases {
		if NewDictionary(k.c, k.b, k.n) != nil {
			t.Errorf("%s: accepted", k.name)
		}
	}
	if d := NewDictionary(str, []byte{1, 0, 0, 0, 'a', 0, 0, 0, 0}, 2); d == nil || len(d.values) != 2 {
		t.Error("a sound dictionary was refused")
	}
}

func TestConstantColumns(t *testing.T) {
	t.Parallel()
	typ := arrow.PrimitiveTypes.Int32
	seven, null := expr.Literal{Type: typ, Value: int64(7)}, expr.Literal{Type: typ}
	col := expr.Column{ID: 1, Type: typ}
	eq := expr.Compare{Op: expr.EQ, Col: col, Lit: seven}
	cases := []struct {
		name string
		c    Chunk
		e    expr.Expr
		want expr.Verdict
	}{
		{"equal", Chunk{Constant: &seven}, eq, expr.All},
		{"equal, parent may be absent", Chunk{Constant: &seven, ConstantNullable: true}, eq, expr.Some},
		{"not null", Chunk{Constant: &seven}, expr.IsNull{Col: col}, expr.None},
		{"null", Chunk{Constant: &null}, expr.IsNull{Col: col}, expr.All},
		{"null never equals", Chunk{Constant: &null}, eq, expr.None},
	}
	for _, k := range cases {
		if got := Group(k.e, 5, func(int) *Chunk { return &k.c }, Off{}).Verdict; got != k.want {
			t.Errorf("%s: want %s, got %s", k.name, verdictName(k.want), verdictName(got))
		}
		if got := Group(k.e, 5, func(int) *Chunk { return nil }, Off{}).Verdict; got != expr.Some {
			t.Errorf("%s: nothing is known of an absent column, got %s", k.name, verdictName(got))
		}
	}
}

func TestUsesNamesOnlyWhatCouldProveSomething(t *testing.T) {
	t.Parallel()
	col := func(id int) expr.Column { return expr.Column{ID: id, Type: arrow.PrimitiveTypes.Int32} }
	lit := expr.Literal{Type: arrow.PrimitiveTypes.Int32, Value: int64(1)}
	e := expr.Or{
		expr.And{expr.Compare{Op: expr.EQ, Col: col(1), Lit: lit}, expr.Compare{Op: expr.LT, Col: col(2), Lit: lit}},
		expr.In{Col: col(3), Lits: []expr.Literal{lit}, Negated: true},
		expr.IsNull{Col: col(4)},
		expr.Match{Col: col(5)},
	}
	pages, dict, bloom := Uses(e)
	if fmt.Sprint(pages, dict, bloom) != "map[1:true 2:true 3:true 4:true] map[1:true 2:true 3:true] map[1:true 2:false 3:false]" {
		t.Error(pages, dict, bloom)
	}
}

func FuzzEvidence(f *testing.F) {
	f.Add(bloomOf(1, [][]byte{{1}}), uint8(0))
	f.Add([]byte{1, 0, 0, 0, 'a'}, uint8(6))
	f.Fuzz(func(t *testing.T, b []byte, p uint8) {
		if f, err := NewBloom(b); err == nil {
			f.MayContain(xxhash.Sum64(b))
		}
		e := thrift.SchemaElement{Name: "c", HasType: true, Type: thrift.Type(p % 8), TypeLength: 3, Converted: thrift.NoConverted}
		tree, err := schema.New([]thrift.SchemaElement{{Name: "r", NumChildren: 1, Type: thrift.NoType, Converted: thrift.NoConverted}, e})
		if err != nil {
			t.Fatal(err)
		}
		c := Column{Node: tree.Leaves[0], Type: tree.Leaves[0].Arrow()}
		NewDictionary(c, b, len(b)/2)
		c.codec().value(b)
	})
}
