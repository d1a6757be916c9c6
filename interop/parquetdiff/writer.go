package main

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
)

// kind of a made-up field.
type kind uint8

const (
	isLeaf kind = iota
	isList
	isMap
	isGroup
)

// field is a node of a made-up schema.
type field struct {
	kind     kind
	optional bool
	children []*field // of a group, a list (its element) or a map (key and value)
	leaf     leaf
	enc      encoding.Encoding
	leaves   int // at and below this field
}

// leaf draws values of one type.
type leaf struct {
	name      string
	node      pq.Node
	encodings []encoding.Encoding
	draw      func(r *rand.Rand) pq.Value
}

// pick draws one of a few.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func number(r *rand.Rand, bits int) int64 {
	low, high := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1
	switch r.IntN(8) {
	case 0:
		return low
	case 1:
		return high
	case 2, 3:
		return int64(r.Uint64()) >> (64 - bits)
	}
	return r.Int64N(45) - 5
}

func float(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return pick(r, 0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat32, -2.25)
	}
	return r.NormFloat64() * 1e4
}

func text(r *rand.Rand) []byte {
	if r.IntN(3) > 0 {
		return []byte(pick(r, "", "a", "b", "lake", "\x00", `"quoted" \`, "é", "日本語", "prefix-1", "prefix-2", "prefix-10", strings.Repeat("x", 70)))
	}
	b := make([]byte, r.IntN(60))
	for i := range b {
		b[i] = 'a' + byte(r.IntN(9))
	}
	return b
}

func octets(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = pick(r, 0, 1, 0xff, byte(r.Uint32()))
	}
	return b
}

func leaves() []leaf {
	whole := []encoding.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaBinaryPacked, &pq.ByteStreamSplit}
	floats := []encoding.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.ByteStreamSplit}
	strs := []encoding.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaLengthByteArray, &pq.DeltaByteArray}
	fixed := []encoding.Encoding{&pq.Plain, &pq.RLEDictionary, &pq.DeltaByteArray, &pq.ByteStreamSplit}
	i32 := func(bits int) func(*rand.Rand) pq.Value {
		return func(r *rand.Rand) pq.Value { return pq.Int32Value(int32(number(r, bits))) }
	}
	i64 := func(r *rand.Rand) pq.Value { return pq.Int64Value(number(r, 64)) }
	within32 := func(low, high int64) func(*rand.Rand) pq.Value {
		return func(r *rand.Rand) pq.Value { return pq.Int32Value(int32(edge(r, low, high))) }
	}
	within64 := func(low, high int64) func(*rand.Rand) pq.Value {
		return func(r *rand.Rand) pq.Value { return pq.Int64Value(edge(r, low, high)) }
	}
	bytesOf := func(r *rand.Rand) pq.Value { return pq.ByteArrayValue(text(r)) }
	binaryOf := func(r *rand.Rand) pq.Value { return pq.ByteArrayValue(octets(r, r.IntN(40))) }
	fixedOf := func(n int) func(*rand.Rand) pq.Value {
		return func(r *rand.Rand) pq.Value { return pq.FixedLenByteArrayValue(octets(r, n)) }
	}
	small := func(bits int) func(*rand.Rand) pq.Value { // unsigned, in 32 bits
		return func(r *rand.Rand) pq.Value { return pq.Int32Value(int32(uint32(number(r, bits)) & (1<<bits - 1))) }
	}
	day := int64(86400)
	out := []leaf{
		{"bool", pq.Leaf(pq.BooleanType), []encoding.Encoding{&pq.Plain, &pq.RLE}, func(r *rand.Rand) pq.Value { return pq.BooleanValue(r.IntN(3) == 0) }},
		{"int32", pq.Leaf(pq.Int32Type), whole, i32(32)},
		{"int64", pq.Leaf(pq.Int64Type), whole, i64},
		{"int8", pq.Int(8), whole, i32(8)},
		{"int16", pq.Int(16), whole, i32(16)},
		{"uint8", pq.Uint(8), whole, small(8)},
		{"uint16", pq.Uint(16), whole, small(16)},
		{"uint32", pq.Uint(32), whole, i32(32)},
		{"uint64", pq.Uint(64), whole, i64},
		{"float", pq.Leaf(pq.FloatType), floats, func(r *rand.Rand) pq.Value { return pq.FloatValue(float32(float(r))) }},
		{"double", pq.Leaf(pq.DoubleType), floats, func(r *rand.Rand) pq.Value { return pq.DoubleValue(float(r)) }},
		{"int96", pq.Leaf(pq.Int96Type), floats[:2], int96},
		{"string", pq.String(), strs, bytesOf},
		{"enum", pq.Enum(), strs, bytesOf},
		{"bytes", pq.Leaf(pq.ByteArrayType), strs, binaryOf},
		{"uuid", pq.UUID(), fixed, fixedOf(16)},
		{"date", pq.Date(), whole, within32(-719162, 2932896)},
		{"time ms", pq.TimeAdjusted(pq.Millisecond, false), whole, within32(0, day*1000-1)},
		{"time us", pq.TimeAdjusted(pq.Microsecond, false), whole, within64(0, day*1e6-1)},
		{"time ns", pq.TimeAdjusted(pq.Nanosecond, false), whole, within64(0, day*1e9-1)},
	}
	for _, utc := range []bool{true, false} {
		out = append(out,
			leaf{"timestamp ms", pq.TimestampAdjusted(pq.Millisecond, utc), whole, within64(-1e13, 1e13)},
			leaf{"timestamp us", pq.TimestampAdjusted(pq.Microsecond, utc), whole, within64(-1e16, 1e16)},
			leaf{"timestamp ns", pq.TimestampAdjusted(pq.Nanosecond, utc), whole, within64(-9e18, 9e18)})
	}
	for _, p := range []int{1, 5, 9} {
		top := int64(math.Pow10(p)) - 1
		out = append(out, leaf{fmt.Sprintf("decimal %d in int32", p), pq.Decimal(p/2, p, pq.Int32Type), whole, within32(-top, top)})
	}
	for _, p := range []int{10, 18} {
		top := int64(math.Pow10(p)) - 1
		out = append(out, leaf{fmt.Sprintf("decimal %d in int64", p), pq.Decimal(p/2, p, pq.Int64Type), whole, within64(-top, top)})
	}
	for _, p := range []int{4, 20, 38} {
		n := []int{2, 9, 16}[p/19]
		out = append(out, leaf{fmt.Sprintf("decimal %d in %d bytes", p, n), pq.Decimal(p/2, p, pq.FixedLenByteArrayType(n)), fixed, bigDecimal(p, n)})
	}
	for _, n := range []int{1, 4, 17} {
		out = append(out, leaf{fmt.Sprintf("fixed %d", n), pq.Leaf(pq.FixedLenByteArrayType(n)), fixed, fixedOf(n)})
	}
	return out
}

// edge draws from a range, its ends often.
func edge(r *rand.Rand, low, high int64) int64 {
	switch r.IntN(4) {
	case 0:
		return pick(r, low, high, min(max(0, low), high), max(-1, low))
	case 1:
		return max(low, min(high, r.Int64N(100)-50))
	}
	return low + int64(r.Uint64N(uint64(high-low)+1))
}

// int96 is a moment between the years 1700 and 2200, where readers that go through nanoseconds agree.
func int96(r *rand.Rand) pq.Value {
	nanos := uint64(r.Int64N(86400e6)) * 1000
	return pq.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(2440588 - 98000 + r.IntN(180000))})
}

func bigDecimal(precision, n int) func(r *rand.Rand) pq.Value {
	top := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	return func(r *rand.Rand) pq.Value {
		v := new(big.Int).SetBytes(octets(r, n))
		v.Mod(v, top)
		if r.IntN(2) == 0 {
			v.Neg(v)
		}
		if v.Sign() < 0 { // two's complement
			v.Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
		}
		return pq.FixedLenByteArrayValue(v.FillBytes(make([]byte, n)))
	}
}

// draw makes up a field of at most that depth.
func draw(r *rand.Rand, all []leaf, depth int) *field {
	f := &field{optional: r.IntN(3) > 0}
	if depth > 0 {
		f.kind = pick(r, isLeaf, isLeaf, isList, isMap, isGroup)
	}
	switch f.kind {
	case isLeaf:
		f.leaf, f.leaves = pick(r, all...), 1
		f.enc = pick(r, f.leaf.encodings...)
		return f
	case isList:
		f.children = []*field{draw(r, all, depth-1)}
	case isMap:
		key := &field{leaf: pick(r, all[1], all[2], all[12]), leaves: 1} // int32, int64, string
		key.enc = pick(r, key.leaf.encodings...)
		f.children = []*field{key, draw(r, all, depth-1)}
	case isGroup:
		for range 1 + r.IntN(3) {
			f.children = append(f.children, draw(r, all, depth-1))
		}
	}
	for _, c := range f.children {
		f.leaves += c.leaves
	}
	return f
}

func (f *field) node() (n pq.Node) {
	switch f.kind {
	case isLeaf:
		n = pq.Encoded(f.leaf.node, f.enc)
	case isList:
		n = pq.List(f.children[0].node())
	case isMap:
		n = pq.Map(f.children[0].node(), f.children[1].node())
	case isGroup:
		g := pq.Group{}
		for i, c := range f.children {
			g["m"+strconv.Itoa(i)] = c.node()
		}
		n = g
	}
	if f.optional {
		n = pq.Optional(n)
	}
	return n
}

func (f *field) String() string {
	s := []string{f.leaf.name, "list", "map", "group"}[f.kind]
	if f.kind == isLeaf {
		s += "/" + f.enc.String()
	}
	if f.optional {
		s = "optional " + s
	}
	for i, c := range f.children {
		s += [3]string{"(", ", ", ", "}[min(i, 2)] + c.String()
	}
	if len(f.children) > 0 {
		s += ")"
	}
	return s
}

// shredder turns made-up values into rows with levels (Melnik et al., "Dremel", section 4.2).
type shredder struct {
	r     *rand.Rand
	cells [][]pq.Value // of the row, by leaf
	pools map[*field][]pq.Value
	null  func() bool
}

// add makes up a value of f, whose first leaf has the number leaf.
func (s *shredder) add(f *field, leaf, rep, def, depth int) {
	if f.optional {
		if s.null() {
			s.absent(f, leaf, rep, def)
			return
		}
		def++
	}
	switch f.kind {
	case isLeaf:
		s.cells[leaf] = append(s.cells[leaf], s.value(f).Level(rep, def, leaf))
	case isGroup:
		for _, c := range f.children {
			s.add(c, leaf, rep, def, depth)
			leaf += c.leaves
		}
	default:
		s.entries(f, leaf, rep, def, depth)
	}
}

// entries of a list or map.
func (s *shredder) entries(f *field, leaf, rep, def, depth int) {
	n := pick(s.r, 0, 0, 1, 2, 3, 9)
	if n == 0 {
		s.absent(f, leaf, rep, def)
		return
	}
	keys := map[string]bool{}
	for i := range n {
		again := rep
		if i > 0 {
			again = depth + 1
		}
		at := leaf
		if f.kind == isMap {
			key := s.value(f.children[0])
			if keys[key.String()] { // keys are distinct
				continue
			}
			keys[key.String()] = true
			s.cells[at] = append(s.cells[at], key.Level(again, def+1, at))
			at++
		}
		s.add(f.children[len(f.children)-1], at, again, def+1, depth+1)
	}
}

func (s *shredder) absent(f *field, leaf, rep, def int) {
	for i := range f.leaves {
		s.cells[leaf+i] = append(s.cells[leaf+i], pq.NullValue().Level(rep, def, leaf+i))
	}
}

func (s *shredder) value(f *field) pq.Value {
	pool, ok := s.pools[f]
	if !ok {
		for range pick(s.r, 0, 0, 1, 3, 40) {
			pool = append(pool, f.leaf.draw(s.r))
		}
		s.pools[f] = pool
	}
	if len(pool) > 0 {
		return pick(s.r, pool...)
	}
	return f.leaf.draw(s.r)
}

var codecs = []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Gzip, &pq.Zstd, &pq.Lz4Raw, &pq.Brotli}

// writeGo makes a random file by parquet-go; equal seeds give equal files.
func writeGo(seed uint64) (b []byte, about string, err error) {
	defer func() {
		if p := recover(); p != nil { // its way to refuse
			err = fmt.Errorf("parquet-go: %v", p)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0xd1ff))
	all := leaves()
	root := pq.Group{}
	var fields []*field
	depth := pick(r, 0, 0, 1, 2, 3)
	for i := range 1 + r.IntN(6) {
		f := draw(r, all, depth)
		fields = append(fields, f)
		root["c"+strconv.Itoa(i)] = f.node()
	}
	version, page, codec, group := 1+r.IntN(2), pick(r, 100, 1000, 1<<20), pick(r, codecs...), int64(pick(r, 50, 400, 1<<20))
	rows, nulls := pick(r, 0, 1, 9, 64, 300, 1200), pick(r, 2, 4, 50)
	options := []pq.WriterOption{
		pq.NewSchema("t", root), pq.DataPageVersion(version), pq.PageBufferSize(page), pq.Compression(codec), pq.MaxRowsPerRowGroup(group),
		pq.DataPageStatistics(r.IntN(2) == 0),
	}
	if r.IntN(3) == 0 {
		options = append(options, pq.DictionaryMaxBytes(pick(r, 16, int64(400))))
	}
	blooms := r.IntN(2) == 0
	for i, f := range fields {
		if blooms && f.kind == isLeaf && f.leaf.name != "bool" && f.leaf.name != "int96" {
			options = append(options, pq.BloomFilters(pq.SplitBlockFilter(10, "c"+strconv.Itoa(i))))
		}
	}
	about = fmt.Sprintf("%d rows, %v, v%d, pages of %d, %v, groups of %d, bloom %v", rows, fields, version, page, codec, group, blooms)
	var out bytes.Buffer
	w := pq.NewWriter(&out, options...)
	total := 0
	for _, f := range fields {
		total += f.leaves
	}
	s := shredder{r: r, cells: make([][]pq.Value, total), pools: map[*field][]pq.Value{}, null: func() bool { return r.IntN(nulls) == 0 }}
	for range rows {
		for i := range s.cells {
			s.cells[i] = s.cells[i][:0]
		}
		leaf := 0
		for _, f := range fields {
			s.add(f, leaf, 0, 0, 0)
			leaf += f.leaves
		}
		var row pq.Row
		for _, c := range s.cells {
			row = append(row, c...)
		}
		if _, err := w.WriteRows([]pq.Row{row}); err != nil {
			return nil, about, err
		}
	}
	err = w.Close()
	return out.Bytes(), about, err
}
