package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakescan/lakescan/expr"
	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/parquet/write"
)

// A generated table has the columns i1 i2 i3 (64-bit integers), d1 d2 (doubles), dt, ts, s1 s2 and cat (strings), about 40 bytes a row with
// zstd, two row groups a file or more. Every file has the same bytes under a name of its own, so a table of any number of files costs the
// memory of one; a client cannot tell.
const bytesPerRow = 39.5

// body is one data file.
type body struct {
	data    []byte
	rows    int64
	check   int64 // sum of i1
	columns map[int]int64
}

// lakeTable is a table ready to be served.
type lakeTable struct {
	Target string `json:"target"` // location of its metadata
	Within string `json:"within"` // prefix of its data files
	Rows   int64  `json:"rows"`
	Check  int64  `json:"check"`
	Bytes  int64  `json:"bytes"` // of all data files
}

type lakeColumn struct {
	name string
	json string // Iceberg's type
	kind arrow.DataType
}

var lakeColumns = []lakeColumn{
	{"i1", "long", arrow.PrimitiveTypes.Int64},
	{"i2", "long", arrow.PrimitiveTypes.Int64},
	{"i3", "long", arrow.PrimitiveTypes.Int64},
	{"d1", "double", arrow.PrimitiveTypes.Float64},
	{"d2", "double", arrow.PrimitiveTypes.Float64},
	{"dt", "date", arrow.FixedWidthTypes.Date32},
	{"ts", "timestamptz", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{"s1", "string", arrow.BinaryTypes.String},
	{"s2", "string", arrow.BinaryTypes.String},
	{"cat", "string", arrow.BinaryTypes.String},
}

func lakeSchema() *arrow.Schema {
	fields := make([]arrow.Field, len(lakeColumns))
	for i, c := range lakeColumns {
		fields[i] = arrow.Field{Name: c.name, Type: c.kind, Nullable: true, Metadata: arrow.NewMetadata([]string{expr.FieldIDKey}, []string{strconv.Itoa(i + 1)})}
	}
	return arrow.NewSchema(fields, nil)
}

// makeBody writes a data file of about size bytes; the same size gives the same bytes.
func makeBody(ctx context.Context, size int) (*body, error) {
	rows := max(int(float64(size)/bytesPerRow), 64)
	o := write.DefaultOptions()
	o.Codec, o.RowGroupRows = "zstd", int64(min(max(rows/2, 64), 122_880))
	var out bytes.Buffer
	out.Grow(size + size/8)
	w, err := write.New(&out, lakeSchema(), o)
	if err != nil {
		return nil, err
	}
	b := &body{columns: map[int]int64{}}
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for done := 0; done < rows; {
		n := min(rows-done, 16_384)
		rec := makeRows(r, done, n)
		b.check += sumFirst(rec)
		err := w.Write(ctx, rec)
		rec.Release()
		if err != nil {
			w.Abort()
			return nil, err
		}
		done += n
	}
	res, err := w.Close(ctx)
	if err != nil {
		return nil, err
	}
	b.data, b.rows = out.Bytes(), res.Rows
	for _, c := range res.Columns {
		b.columns[c.FieldID] += c.Size
	}
	return b, nil
}

var words = []string{"amber", "basalt", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper", "kelp", "larch", "moraine", "nettle", "osprey", "pumice"}

func makeRows(r *rand.Rand, from, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, lakeSchema())
	defer b.Release()
	for i := range n {
		id := int64(from + i)
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.Int64Builder).Append(r.Int64N(1 << 40))
		b.Field(2).(*array.Int64Builder).Append(r.Int64N(1000))
		b.Field(3).(*array.Float64Builder).Append(r.NormFloat64())
		b.Field(4).(*array.Float64Builder).Append(float64(r.IntN(100_000)) / 100)
		b.Field(5).(*array.Date32Builder).Append(arrow.Date32(20_000 + id/1000))
		b.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + id*1_000_003))
		b.Field(7).(*array.StringBuilder).Append(words[r.IntN(16)] + "-" + strconv.FormatUint(r.Uint64N(1<<36), 36))
		b.Field(8).(*array.StringBuilder).Append(words[r.IntN(16)] + " " + words[r.IntN(16)] + " " + strconv.Itoa(r.IntN(1000)))
		b.Field(9).(*array.StringBuilder).Append(words[r.IntN(16)])
	}
	return b.NewRecordBatch()
}

const lakeBucket = "lab"

// makeTable writes the metadata of a table of n files with b's bytes; put stores an object.
func makeTable(name string, n int, b *body, put func(key string, data []byte)) (*lakeTable, error) {
	location := "s3://" + lakeBucket + "/" + name
	fields := make([]map[string]any, len(lakeColumns))
	for i, c := range lakeColumns {
		fields[i] = map[string]any{"id": i + 1, "name": c.name, "required": false, "type": c.json}
	}
	schema := map[string]any{"type": "struct", "schema-id": 0, "fields": fields}
	const snapshot, sequence, stamp = 1, 1, 1_700_000_000_000
	doc := map[string]any{
		"format-version": 2, "table-uuid": "5a1c2f0e-7d3b-4b0a-9b1d-0c7a6f2e9d10", "location": location, "last-updated-ms": stamp, "last-column-id": len(lakeColumns),
		"schemas": []any{schema}, "current-schema-id": 0, "partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{}}}, "default-spec-id": 0,
		"last-partition-id": 999, "last-sequence-number": sequence, "properties": map[string]string{},
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	table, err := meta.Parse(text, location)
	if err != nil {
		return nil, err
	}
	schemaText, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := manifest.NewWriter(&out, manifest.WriterConfig{Version: 2, Table: table, Spec: table.Spec(0), SchemaJSON: schemaText})
	if err != nil {
		return nil, err
	}
	for i := range n {
		f := manifest.NewFile(fmt.Sprintf("%s/data/%05d.parquet", location, i), b.rows, int64(len(b.data)))
		f.Snapshot, f.ColumnSizes = snapshot, b.columns
		if err := w.Append(&f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	entry, err := w.File(location+"/metadata/m0.avro", snapshot, sequence)
	if err != nil {
		return nil, err
	}
	put(name+"/metadata/m0.avro", bytes.Clone(out.Bytes()))
	out.Reset()
	if err := manifest.WriteList(&out, manifest.ListConfig{Version: 2, Snapshot: snapshot, Sequence: sequence}, []manifest.File{entry}); err != nil {
		return nil, err
	}
	put(name+"/metadata/snap-1.avro", out.Bytes())
	doc["current-snapshot-id"] = snapshot
	doc["snapshots"] = []any{map[string]any{
		"snapshot-id": snapshot, "sequence-number": sequence, "timestamp-ms": stamp, "manifest-list": location + "/metadata/snap-1.avro",
		"summary": map[string]string{"operation": "append"}, "schema-id": 0,
	}}
	if text, err = json.Marshal(doc); err != nil {
		return nil, err
	}
	put(name+"/metadata/v1.metadata.json", text)
	return &lakeTable{
		Target: location + "/metadata/v1.metadata.json", Within: location + "/data/", Rows: int64(n) * b.rows, Check: int64(n) * b.check, Bytes: int64(n) * int64(len(b.data)),
	}, nil
}
