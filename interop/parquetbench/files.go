package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// kind is a family of files; spec is one of them.
type spec struct {
	name  string
	kind  string // lineitem, log, wide, nested
	rows  int
	group int64 // rows of a row group
	codec compress.Compression
	v2    bool // version 2 pages, delta and split encodings
	page  int64
	index bool
	plain bool  // no dictionaries
	batch int64 // values between looks at the page's size; 0 = many
}

const chunkRows = 65536

// write makes the file, the same bytes every time.
func write(s spec) ([]byte, error) {
	gen := generators[s.kind]
	schema := gen.schema
	opts := []parquet.WriterProperty{
		parquet.WithCompression(s.codec), parquet.WithMaxRowGroupLength(s.group), parquet.WithStats(true),
		parquet.WithBatchSize(cmp.Or(s.batch, chunkRows)),
	}
	if s.page > 0 {
		opts = append(opts, parquet.WithDataPageSize(s.page))
	}
	if s.v2 {
		opts = append(opts, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false))
		for _, f := range schema.Fields() {
			switch f.Type.ID() {
			case arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIMESTAMP:
				opts = append(opts, parquet.WithEncodingFor(f.Name, parquet.Encodings.DeltaBinaryPacked))
			case arrow.STRING:
				opts = append(opts, parquet.WithEncodingFor(f.Name, parquet.Encodings.DeltaLengthByteArray))
			case arrow.FLOAT64:
				opts = append(opts, parquet.WithEncodingFor(f.Name, parquet.Encodings.ByteStreamSplit))
			}
		}
	}
	if s.plain {
		opts = append(opts, parquet.WithDictionaryDefault(false))
	}
	if s.index {
		opts = append(opts, parquet.WithPageIndexEnabled(true))
	}
	opts = append(opts, parquet.WithStoreDecimalAsInteger(true))
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(opts...), pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for at := 0; at < s.rows; at += chunkRows {
		rec := gen.record(rnd, at, min(chunkRows, s.rows-at))
		err := w.WriteBuffered(rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

type generator struct {
	schema *arrow.Schema
	fill   func(rnd *rand.Rand, b *array.RecordBuilder, row int)
}

func (g generator) record(rnd *rand.Rand, from, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, g.schema)
	defer b.Release()
	for i := range n {
		g.fill(rnd, b, from+i)
	}
	return b.NewRecordBatch()
}

var generators = map[string]generator{"lineitem": lineitem(), "log": logs(), "wide": wide(), "nested": nestedRows()}

func field(name string, t arrow.DataType, nullable bool) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: nullable}
}

var words = func() []string {
	rnd := rand.New(rand.NewPCG(9, 9))
	out := make([]string, 2000)
	for i := range out {
		n := 3 + rnd.IntN(8)
		w := make([]byte, n)
		for k := range w {
			w[k] = byte('a' + rnd.IntN(26))
		}
		out[i] = string(w)
	}
	return out
}()

func sentence(rnd *rand.Rand, n int) string {
	b := make([]byte, 0, 8*n)
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, words[rnd.IntN(len(words))]...)
	}
	return string(b)
}

// lineitem is TPC-H's table in shape: keys, small numbers, decimals, dates, short strings of few values, a comment.
func lineitem() generator {
	dec := &arrow.Decimal128Type{Precision: 15, Scale: 2}
	date, str := arrow.FixedWidthTypes.Date32, arrow.BinaryTypes.String
	i64, i32 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32
	schema := arrow.NewSchema([]arrow.Field{
		field("l_orderkey", i64, true), field("l_partkey", i64, true), field("l_suppkey", i64, true), field("l_linenumber", i32, true),
		field("l_quantity", dec, true), field("l_extendedprice", dec, true), field("l_discount", dec, true), field("l_tax", dec, true),
		field("l_returnflag", str, true), field("l_linestatus", str, true),
		field("l_shipdate", date, true), field("l_commitdate", date, true), field("l_receiptdate", date, true),
		field("l_shipinstruct", str, true), field("l_shipmode", str, true), field("l_comment", str, true),
	}, nil)
	flags, status := []string{"A", "N", "R"}, []string{"F", "O"}
	instruct := []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	mode := []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
	return generator{schema, func(rnd *rand.Rand, b *array.RecordBuilder, row int) {
		i64s := func(i int, v int64) { b.Field(i).(*array.Int64Builder).Append(v) }
		decs := func(i int, v int64) { b.Field(i).(*array.Decimal128Builder).Append(decimal128.FromI64(v)) }
		dates := func(i int, v int) { b.Field(i).(*array.Date32Builder).Append(arrow.Date32(v)) }
		strs := func(i int, v string) { b.Field(i).(*array.StringBuilder).Append(v) }
		i64s(0, int64(row/4*4+1))
		i64s(1, rnd.Int64N(200000))
		i64s(2, rnd.Int64N(10000))
		b.Field(3).(*array.Int32Builder).Append(int32(row%7 + 1))
		decs(4, int64(1+rnd.IntN(50))*100)
		decs(5, 90000+rnd.Int64N(10000000))
		decs(6, rnd.Int64N(11))
		decs(7, rnd.Int64N(9))
		strs(8, flags[rnd.IntN(3)])
		strs(9, status[rnd.IntN(2)])
		day := 8036 + rnd.IntN(2500)
		dates(10, day)
		dates(11, day+rnd.IntN(60)-30)
		dates(12, day+1+rnd.IntN(30))
		strs(13, instruct[rnd.IntN(4)])
		strs(14, mode[rnd.IntN(7)])
		strs(15, sentence(rnd, 2+rnd.IntN(5)))
	}}
}

// logs is a web server's log: rising timestamps, many nulls, long strings.
func logs() generator {
	ts := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	str, i32, i64, f64 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64
	schema := arrow.NewSchema([]arrow.Field{
		field("ts", ts, true), field("host", str, true), field("level", str, true), field("status", i32, true), field("bytes", i64, true),
		field("duration", f64, true), field("user", str, true), field("path", str, true), field("message", str, true),
		field("trace", str, true), field("cached", arrow.FixedWidthTypes.Boolean, true), field("error", str, true),
	}, nil)
	levels := []string{"DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"}
	return generator{schema, func(rnd *rand.Rand, b *array.RecordBuilder, row int) {
		strs := func(i int, v string) { b.Field(i).(*array.StringBuilder).Append(v) }
		b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(1700000000000000 + int64(row)*997 + rnd.Int64N(500)))
		strs(1, fmt.Sprintf("host-%03d.example.com", rnd.IntN(200)))
		strs(2, levels[rnd.IntN(len(levels))])
		b.Field(3).(*array.Int32Builder).Append([]int32{200, 200, 200, 304, 404, 500}[rnd.IntN(6)])
		if rnd.IntN(10) == 0 {
			b.Field(4).AppendNull()
		} else {
			b.Field(4).(*array.Int64Builder).Append(rnd.Int64N(1 << 20))
		}
		b.Field(5).(*array.Float64Builder).Append(rnd.ExpFloat64() * 20)
		if rnd.IntN(3) == 0 {
			b.Field(6).AppendNull()
		} else {
			strs(6, fmt.Sprintf("user%d", rnd.IntN(50000)))
		}
		strs(7, "/api/v1/"+words[rnd.IntN(40)]+"/"+words[rnd.IntN(len(words))])
		strs(8, sentence(rnd, 6+rnd.IntN(10)))
		strs(9, fmt.Sprintf("%016x%016x", rnd.Uint64(), rnd.Uint64()))
		b.Field(10).(*array.BooleanBuilder).Append(rnd.IntN(4) == 0)
		if rnd.IntN(20) == 0 {
			strs(11, sentence(rnd, 12))
		} else {
			b.Field(11).AppendNull()
		}
	}}
}

// wide has 200 numeric columns, a tenth of them with nulls.
func wide() generator {
	var fields []arrow.Field
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32}
	for i := range 200 {
		fields = append(fields, field(fmt.Sprintf("c%03d", i), types[i%4], true))
	}
	return generator{arrow.NewSchema(fields, nil), func(rnd *rand.Rand, b *array.RecordBuilder, row int) {
		for i := range 200 {
			if i%10 == 7 && rnd.IntN(5) == 0 {
				b.Field(i).AppendNull()
				continue
			}
			switch f := b.Field(i).(type) {
			case *array.Int64Builder:
				f.Append(int64(row) + rnd.Int64N(1<<30))
			case *array.Float64Builder:
				f.Append(rnd.NormFloat64())
			case *array.Int32Builder:
				f.Append(rnd.Int32N(1 << 20))
			case *array.Float32Builder:
				f.Append(rnd.Float32())
			}
		}
	}}
}

// nestedRows has a list of numbers, a list of structs and a map.
func nestedRows() generator {
	item := arrow.StructOf(field("k", arrow.PrimitiveTypes.Int64, true), field("s", arrow.BinaryTypes.String, true))
	schema := arrow.NewSchema([]arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64, true), field("l", arrow.ListOf(arrow.PrimitiveTypes.Int64), true),
		field("ls", arrow.ListOf(item), true), field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), true),
		field("st", item, true),
	}, nil)
	return generator{schema, func(rnd *rand.Rand, b *array.RecordBuilder, row int) {
		b.Field(0).(*array.Int64Builder).Append(int64(row))
		one := func(sb *array.StructBuilder) {
			sb.Append(true)
			sb.FieldBuilder(0).(*array.Int64Builder).Append(rnd.Int64N(1000))
			sb.FieldBuilder(1).(*array.StringBuilder).Append(words[rnd.IntN(300)])
		}
		l := b.Field(1).(*array.ListBuilder)
		if rnd.IntN(10) == 0 {
			l.AppendNull()
		} else {
			l.Append(true)
			for range rnd.IntN(6) {
				l.ValueBuilder().(*array.Int64Builder).Append(rnd.Int64N(1 << 40))
			}
		}
		ls := b.Field(2).(*array.ListBuilder)
		ls.Append(true)
		for range rnd.IntN(4) {
			one(ls.ValueBuilder().(*array.StructBuilder))
		}
		m := b.Field(3).(*array.MapBuilder)
		m.Append(true)
		for range rnd.IntN(3) {
			m.KeyBuilder().(*array.StringBuilder).Append(words[rnd.IntN(50)])
			m.ItemBuilder().(*array.Float64Builder).Append(rnd.Float64())
		}
		one(b.Field(4).(*array.StructBuilder))
	}}
}
