package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/lakescan/lakescan/parquet"
	"github.com/lakescan/lakescan/parquet/rowsel"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	pqenc "github.com/parquet-go/parquet-go/encoding"
)

// matrixType is a physical type with values of it.
type matrixType struct {
	name      string
	typ       pq.Type
	encodings []pqenc.Encoding
	value     func(rnd *rand.Rand) pq.Value
}

func fixedType(n int) matrixType {
	encs := []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaByteArray, &pq.ByteStreamSplit}
	return matrixType{fmt.Sprintf("fixed%d", n), pq.FixedLenByteArrayType(n), encs, func(rnd *rand.Rand) pq.Value {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.IntN(4))
		}
		return pq.FixedLenByteArrayValue(b)
	}}
}

func matrixTypes() []matrixType {
	numbers := []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaBinaryPacked, &pq.ByteStreamSplit}
	floats := []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.ByteStreamSplit}
	return []matrixType{
		{"bool", pq.BooleanType, []pqenc.Encoding{&pq.Plain, &pq.RLE}, func(rnd *rand.Rand) pq.Value { return pq.BooleanValue(rnd.IntN(3) == 0) }},
		{"int32", pq.Int32Type, numbers, func(rnd *rand.Rand) pq.Value { return pq.Int32Value(rnd.Int32() >> rnd.IntN(32)) }},
		{"int64", pq.Int64Type, numbers, func(rnd *rand.Rand) pq.Value { return pq.Int64Value(int64(rnd.Uint64()) >> rnd.IntN(64)) }},
		{"int96", pq.Int96Type, []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary}, func(rnd *rand.Rand) pq.Value {
			return pq.Int96Value(deprecated.Int96{rnd.Uint32(), uint32(rnd.IntN(1000)), uint32(2440588 + rnd.IntN(20000) - 10000)})
		}},
		{"float", pq.FloatType, floats, func(rnd *rand.Rand) pq.Value { return pq.FloatValue(float32(rnd.IntN(50)) / 8) }},
		{"double", pq.DoubleType, floats, func(rnd *rand.Rand) pq.Value {
			return pq.DoubleValue(math.Float64frombits(rnd.Uint64() >> rnd.IntN(4)))
		}},
		{"bytes", pq.ByteArrayType, []pqenc.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaLengthByteArray, &pq.DeltaByteArray}, func(rnd *rand.Rand) pq.Value {
			n := []int{3, 20, 70, 300}[rnd.IntN(4)]
			return pq.ByteArrayValue(bytes.Repeat([]byte{byte('a' + rnd.IntN(3))}, rnd.IntN(n)))
		}},
		fixedType(1), fixedType(4), fixedType(16), fixedType(17),
	}
}

// nullPatterns say which rows are null.
var nullPatterns = map[string]func(rnd *rand.Rand, i int) bool{
	"none":   func(*rand.Rand, int) bool { return false },
	"all":    func(*rand.Rand, int) bool { return true },
	"7th":    func(_ *rand.Rand, i int) bool { return i%7 == 0 },
	"half":   func(rnd *rand.Rand, _ int) bool { return rnd.IntN(2) == 0 },
	"most":   func(rnd *rand.Rand, _ int) bool { return rnd.IntN(50) != 0 },
	"begin":  func(_ *rand.Rand, i int) bool { return i < 600 },
	"ranges": func(_ *rand.Rand, i int) bool { return i/200%2 == 1 },
}

const matrixRows = 1500

// writeMatrix makes a file of one column by parquet-go.
func writeMatrix(values []pq.Value, typ pq.Type, enc pqenc.Encoding, codec compress.Codec, optional bool, version, pageBytes int) (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // its way to refuse an encoding
			err = fmt.Errorf("%v", p)
		}
	}()
	node := pq.Encoded(pq.Leaf(typ), enc)
	if optional {
		node = pq.Optional(node)
	}
	var out bytes.Buffer
	w := pq.NewWriter(&out, pq.NewSchema("t", pq.Group{"c": node}), pq.DataPageVersion(version), pq.PageBufferSize(pageBytes), pq.Compression(codec))
	rows := make([]pq.Row, len(values))
	for i, v := range values {
		def := 0
		if optional && !v.IsNull() {
			def = 1
		}
		rows[i] = pq.Row{v.Level(0, def, 0)}
	}
	for len(rows) > 0 { // in pieces, so that pages end
		n := min(len(rows), 100)
		if _, err := w.WriteRows(rows[:n]); err != nil {
			return nil, err
		}
		rows = rows[n:]
	}
	err = w.Close()
	return out.Bytes(), err
}

// TestMatrix reads every type, encoding, page version and null pattern that parquet-go writes, in one piece, in windows, and
// by selections (Q1, Q2, Q3).
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, mt := range matrixTypes() {
		for _, enc := range mt.encodings {
			t.Run(fmt.Sprintf("%s/%v", mt.name, enc), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(11, 12))
				for pattern, null := range nullPatterns {
					for _, version := range []int{1, 2} {
						matrixCase(t, rnd, mt, enc, pattern, null, version)
					}
				}
			})
		}
	}
}

var matrixCodecs = []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Gzip, &pq.Zstd, &pq.Lz4Raw, &pq.Brotli}

func matrixCase(t *testing.T, rnd *rand.Rand, mt matrixType, enc pqenc.Encoding, pattern string, null func(*rand.Rand, int) bool, version int) {
	t.Helper()
	values := make([]pq.Value, matrixRows)
	distinct := make([]pq.Value, 40)
	for i := range distinct {
		distinct[i] = mt.value(rnd)
	}
	for i := range values {
		switch {
		case null(rnd, i):
		case rnd.IntN(2) == 0:
			values[i] = distinct[rnd.IntN(len(distinct))]
		default:
			values[i] = mt.value(rnd)
		}
	}
	codec := matrixCodecs[rnd.IntN(len(matrixCodecs))]
	pageBytes := []int{300, 1 << 20}[rnd.IntN(2)]
	optional := pattern != "none" || rnd.IntN(2) == 0
	name := fmt.Sprintf("nulls %s, v%d, %v, pages of %d, optional %v", pattern, version, codec, pageBytes, optional)
	b, err := writeMatrix(values, mt.typ, enc, codec, optional, version, pageBytes)
	if err != nil {
		t.Skipf("%s: not written: %v", name, err)
	}
	for _, o := range []parquet.Options{{}, {UnitBytes: 1, BatchRows: 50}, {UnitBytes: 3000}} {
		o, leaks := checked(t, o)
		at := 0
		err := scan(t.Context(), b, all, o, func(rec arrow.RecordBatch) error {
			for i := range int(rec.NumRows()) {
				if err := sameValue(rec.Column(0), i, values[at]); err != nil {
					return fmt.Errorf("row %d: %w", at, err)
				}
				at++
			}
			return nil
		})
		if err != nil || at != len(values) {
			t.Fatalf("%s: %d rows: %v", name, at, err)
		}
		leaks()
	}
	matrixSelection(t, rnd, name, b, values)
}

func matrixSelection(t *testing.T, rnd *rand.Rand, name string, b []byte, values []pq.Value) {
	t.Helper()
	f, _, err := parquet.ParseFooter(b, int64(len(b)), 0)
	if err != nil {
		t.Fatal(err)
	}
	o, leaks := checked(t, parquet.Options{UnitBytes: 5000})
	r, err := f.Bind(all(f.Schema()), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if rnd.IntN(2) == 0 {
		r.Prune(0, whole(b))
	}
	sel := randomSelection(rnd, int64(len(values)))
	var want []pq.Value
	for from, to := range sel.Ranges(int64(len(values))) {
		want = append(want, values[from:to]...)
	}
	at := 0
	err = scanGroup(t.Context(), r, 0, rowsel.Selection(sel), whole(b), func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			if err := sameValue(rec.Column(0), i, want[at]); err != nil {
				return fmt.Errorf("selected row %d: %w", at, err)
			}
			at++
		}
		return nil
	})
	if err != nil || at != len(want) {
		t.Fatalf("%s: selection %v: %d rows of %d: %v", name, sel, at, len(want), err)
	}
	leaks()
}

// sameValue compares a slot with what was written.
func sameValue(a arrow.Array, i int, want pq.Value) error {
	if a.IsNull(i) != want.IsNull() {
		return fmt.Errorf("null %v; want %v", a.IsNull(i), want)
	}
	if want.IsNull() {
		return nil
	}
	ok := false
	switch a := a.(type) {
	case *array.Boolean:
		ok = a.Value(i) == want.Boolean()
	case *array.Int32:
		ok = a.Value(i) == want.Int32()
	case *array.Int64:
		ok = a.Value(i) == want.Int64()
	case *array.Float32:
		ok = math.Float32bits(a.Value(i)) == math.Float32bits(want.Float())
	case *array.Float64:
		ok = math.Float64bits(a.Value(i)) == math.Float64bits(want.Double())
	case *array.Binary:
		ok = bytes.Equal(a.Value(i), want.ByteArray())
	case *array.FixedSizeBinary:
		ok = bytes.Equal(a.Value(i), want.ByteArray())
	case *array.Timestamp: // INT96
		x := want.Int96()
		nanos := int64(binary.LittleEndian.Uint64(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, x[0]), x[1])))
		ok = int64(a.Value(i)) == (int64(x[2])-2440588)*86400e6+nanos/1000
	}
	if !ok {
		return fmt.Errorf("%s; want %v", a.ValueStr(i), want)
	}
	return nil
}
